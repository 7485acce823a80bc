/* Prometheus' remote write, 2.0 where the receiver takes it, else 1.0: protobuf in one snappy block.
 *
 * Which one it takes shows in its answers. One of 2.0 says in headers how many samples it wrote; one that takes 1.0 alone
 * refuses the media type (415, or 400 as older ones do), or does not look at it and finds an empty request, which it takes
 * without such headers. Then the same is sent as 1.0, and all that comes; 2.0 is tried again after an hour. */
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/send/remote_write.h"
#include "aggregator/send/send_options.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define TRY_2_EVERY (3600 * NS_PER_S)
#define STATE_EVERY (600 * NS_PER_S) /* metadata in 1.0 */

enum { FORM_1, FORM_2 };

struct remote_write {
  int protocol;         /* the option's */
  size_t form;          /* of the request at hand */
  bool takes_2;         /* it has said so */
  int64_t refused_2_ns; /* when it did not take 2.0; 0: that is not known */
  uint64_t requests;    /* of 2.0: their numbers */
  struct buffer body, rest;
};

static void *
remote_write_open (const struct send_setting *setting)
{
  const struct remote_write_options *own = setting->own;
  struct remote_write *state = memory_new (1, sizeof *state);

  state->protocol = own->protocol;
  return state;
}

static void
remote_write_close (void *context)
{
  struct remote_write *state = context;

  buffer_free (&state->body);
  buffer_free (&state->rest);
  free (state);
}

static size_t
choose_form (struct remote_write *state, int64_t now_ns)
{
  if (state->refused_2_ns && now_ns >= state->refused_2_ns + TRY_2_EVERY)
    state->refused_2_ns = 0;
  if (state->protocol != PROTOCOL_AUTO)
    return state->protocol == PROTOCOL_1 ? FORM_1 : FORM_2;
  return state->refused_2_ns ? FORM_1 : FORM_2;
}

static const char *const headers_1[] = { "Content-Type: application/x-protobuf", "Content-Encoding: snappy",
                                         "X-Prometheus-Remote-Write-Version: 0.1.0", NULL };
static const char *const headers_2[] = { "Content-Type: application/x-protobuf;proto=io.prometheus.write.v2.Request",
                                         "Content-Encoding: snappy", "X-Prometheus-Remote-Write-Version: 2.0.0", NULL };

static void
set_form (struct send_request *request, size_t form)
{
  request->form = form == FORM_1 ? "1.0" : "2.0";
  memcpy (request->headers, form == FORM_1 ? headers_1 : headers_2, sizeof headers_1);
}

static void
remote_write_pack (void *context, const struct send_load *load, struct send_request *request)
{
  struct remote_write *state = context;
  int64_t now_ns = clock_monotonic ();
  size_t packed;
  char *to;

  buffer_clear (&state->body);
  state->form = choose_form (state, now_ns);
  set_form (request, state->form);
  if (state->form == FORM_2)
    request_put (&state->body, load->samples, load->count, ++state->requests, &state->rest);
  else
    write_request_put (&state->body, load->samples, load->count, now_ns - STATE_EVERY, now_ns);
  request->count = load->count;
  packed = snappy_max_compressed_length (state->body.length);
  to = buffer_reserve (&request->body, packed);
  if (snappy_compress (state->body.data, state->body.length, to, &packed) != SNAPPY_OK)
    abort (); /* it has no other reason than too little room */
  request->body.length = packed;
}

static bool
is_good (long status)
{
  return status >= 200 && status < 300;
}

/* A receiver that was seen to take 2.0 means the samples when it says 400. */
static bool
takes_no_2 (const struct remote_write *state, const struct send_answer *answer)
{
  return answer->status == 415 ||
         (!answer->counted && (is_good (answer->status) || (answer->status == 400 && !state->takes_2)));
}

static enum send_verdict
use_1 (struct remote_write *state, struct send_answer *answer)
{
  long status = answer->status;

  if (state->protocol == PROTOCOL_2) {
    snprintf (answer->text, sizeof answer->text, "it takes no remote write 2.0, which `protocol` asks for");
    return SEND_AGAIN;
  }
  snprintf (answer->text, sizeof answer->text, "it takes no remote write 2.0 (%ld%s), and gets 1.0", status,
            is_good (status) ? ", and nothing was written" : "");
  state->refused_2_ns = clock_monotonic ();
  return SEND_ANOTHER;
}

/* Redirections are no answer: the url is to be mended, and nothing is wrong with what was sent. */
static enum send_verdict
remote_write_judge (void *context, struct send_answer *answer)
{
  struct remote_write *state = context;

  if (state->form == FORM_2 && takes_no_2 (state, answer))
    return use_1 (state, answer);
  state->takes_2 |= state->form == FORM_2 && answer->counted;
  if (is_good (answer->status))
    return state->form == FORM_2 ? SEND_PART : SEND_TAKEN;
  if (answer->status < 400 || answer->status >= 500 || answer->status == 429)
    return SEND_AGAIN;
  return state->form == FORM_2 && answer->taken ? SEND_PART : SEND_REFUSED;
}

static int
remote_write_check (const struct send_options *options, const void *own, struct error *error)
{
  (void) own;
  return send_check_plain (options, error);
}

static const char *const protocols[] = { [PROTOCOL_AUTO] = "auto", [PROTOCOL_1] = "1.0", [PROTOCOL_2] = "2.0", NULL };
static const struct option options[] = {
  { "", "protocol", NULL, OPTION_CHOICE, offsetof (struct remote_write_options, protocol), "auto", .choices = protocols,
    .help = "Of remote_write: 2.0, 1.0, or 2.0 until the receiver shows that it takes 1.0 alone." },
};

const struct send_type send_remote_write = {
  .name = "remote_write",
  .schemes = "http https",
  .shared = SEND_FOR_SAMPLES SEND_FOR_HTTP,
  .own = { options, sizeof options / sizeof options[0], sizeof (struct remote_write_options) },
  .period_ns = 15 * NS_PER_S,
  .stale = true,
  .check = remote_write_check,
  .open = remote_write_open,
  .close = remote_write_close,
  .pack = remote_write_pack,
  .judge = remote_write_judge,
};
