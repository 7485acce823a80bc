/* Amazon CloudWatch: PutMetricData over HTTPS; or lines in its embedded metric format, to its agent or into files. */
#include <stdlib.h>

#include "aggregator/send/file_out.h"
#include "aggregator/send/line_socket.h"
#include "aggregator/send/send_options.h"
#include "synop/clock.h"
#include "synop/cloudwatch.h"
#include "synop/globs.h"
#include "synop/memory.h"

#define LOAD_MOST 60000
#define LOAD_BYTES ((size_t) 16 * 1024 * 1024)

enum { FORMAT_REQUEST, FORMAT_EMF };

struct own_options {
  struct cloudwatch_options cloudwatch;
  int format;
};

struct state {
  struct cloudwatch *cloudwatch;
  struct line_socket socket;
  struct file_out *file; /* NULL: lines go over the socket */
  struct buffer lines;
};

static int64_t
type_gather (const void *own)
{
  const struct own_options *options = own;

  return cloudwatch_resolution (&options->cloudwatch) * NS_PER_S;
}

static void *
type_open (const struct send_setting *setting)
{
  const struct own_options *own = setting->own;
  struct state *state = memory_new (1, sizeof *state);

  state->cloudwatch = cloudwatch_create (&own->cloudwatch, setting->options->url);
  line_socket_init (&state->socket, setting);
  if (*setting->options->folder)
    state->file = file_out_create (setting->name, setting->options, false);
  return state;
}

static void
type_close (void *context)
{
  struct state *state = context;

  cloudwatch_destroy (state->cloudwatch);
  line_socket_close (&state->socket);
  file_out_destroy (state->file);
  buffer_free (&state->lines);
  free (state);
}

static bool
type_wants (void *context, const struct send_series *series)
{
  struct state *state = context;

  return cloudwatch_wants (state->cloudwatch, series);
}

/* ---- requests ---- */

static void
type_pack (void *context, const struct send_load *load, struct send_request *request)
{
  struct state *state = context;

  cloudwatch_pack (state->cloudwatch, load->samples, load->count, request);
}

static int
type_prepare (void *context, struct send_request *request, struct send_answer *answer)
{
  struct state *state = context;

  return cloudwatch_prepare (state->cloudwatch, request, answer);
}

static enum send_verdict
type_judge (void *context, struct send_answer *answer)
{
  struct state *state = context;

  return cloudwatch_judge (state->cloudwatch, answer);
}

/* ---- lines ---- */

static enum send_verdict
type_deliver (void *context, const struct send_load *load, size_t *count, struct send_answer *answer)
{
  struct state *state = context;
  enum send_verdict verdict = SEND_TAKEN;

  (void) count;
  buffer_clear (&state->lines);
  cloudwatch_put_lines (state->cloudwatch, load->samples, load->count, &state->lines);
  if (state->lines.length)
    verdict = state->file ? file_out_write (state->file, &state->lines, answer)
                          : line_socket_write (&state->socket, &state->lines, answer);
  return verdict == SEND_TAKEN ? cloudwatch_lines_taken (state->cloudwatch, answer) : verdict;
}

/* ---- options ---- */

static int
type_check (const struct send_options *options, const void *context, struct error *error)
{
  const struct own_options *own = context;

  bool emf = own->format == FORMAT_EMF, lines = *options->folder || !send_posts (options);

  if (*options->folder && *options->url)
    return error_set (error, "folder: goes with no url");
  if (emf && !lines)
    return error_set (error, "url: must be given, tcp://127.0.0.1:25888 of CloudWatch's agent; or folder");
  if (!emf && lines)
    return error_set (error, "format: must be emf, for %s", *options->folder ? "a folder" : "a url that is no http");
  return cloudwatch_check (&own->cloudwatch, send_names (options), error);
}

static const char *
type_target (const struct send_setting *setting)
{
  return *setting->options->folder ? setting->options->folder : setting->options->url;
}

static const char *const formats[] = { [FORMAT_REQUEST] = "request", [FORMAT_EMF] = "emf", NULL };

#define FLAG(key) NULL
#define AT(member) .offset = offsetof (struct own_options, cloudwatch.member)
static const struct option options[] = {
  { "", "format", NULL, OPTION_CHOICE, offsetof (struct own_options, format), "request", .choices = formats,
    .help = "Of cloudwatch: request: posted to the service; emf: lines in its embedded metric format, to its agent, "
            "or into files." },
  CLOUDWATCH_OPTIONS ("", FLAG, AT, 0, "Of cloudwatch: "),
};

const struct send_type send_cloudwatch = {
  .name = "cloudwatch",
  .schemes = "http https tcp udp unix unixgram",
  .shared = "names labels " SEND_FOR_TLS SEND_FOR_FILES,
  .own = { options, sizeof options / sizeof options[0], sizeof (struct own_options) },
  .names = CLOUDWATCH_NAMES,
  .period_ns = 10 * NS_PER_S,
  .folds = true,
  .url_optional = true,
  .load_most = LOAD_MOST,
  .load_bytes = LOAD_BYTES,
  .gather_ns = type_gather,
  .check = type_check,
  .open = type_open,
  .close = type_close,
  .wants = type_wants,
  .pack = type_pack,
  .prepare = type_prepare,
  .judge = type_judge,
  .target = type_target,
  .deliver = type_deliver,
};
