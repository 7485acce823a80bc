/* OTLP over HTTP: what OpenTelemetry's collector, and many others, take at /v1/metrics. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/send/otlp.h"
#include "synop/clock.h"
#include "synop/gzip.h"
#include "synop/memory.h"

struct otlp_state {
  struct otlp otlp;
  struct buffer plain;
  size_t count; /* points in the request at hand */
};

static void *
otlp_open (const struct send_setting *setting)
{
  struct otlp_state *state = memory_new (1, sizeof *state);

  otlp_init (&state->otlp, setting->options);
  return state;
}

static void
otlp_close (void *context)
{
  struct otlp_state *state = context;

  otlp_free (&state->otlp);
  buffer_free (&state->plain);
  free (state);
}

static void
otlp_pack (void *context, const struct send_load *load, struct send_request *request)
{
  struct otlp_state *state = context;

  buffer_clear (&state->plain);
  otlp_put (&state->otlp, load, &state->plain);
  state->count = load->count;
  request->headers[0] = "Content-Type: application/x-protobuf";
  if (gzip_pack (&state->plain, GZIP_FAST, &request->body, NULL) == 0)
    request->headers[1] = "Content-Encoding: gzip";
  else
    buffer_add (&request->body, state->plain.data, state->plain.length);
}

static enum send_verdict
judge_taken (const struct otlp_state *state, struct send_answer *answer)
{
  struct otlp_partial partial;

  otlp_read_partial (answer->body, answer->length, &partial);
  if (!partial.rejected)
    return SEND_TAKEN;
  answer->taken = partial.rejected < state->count ? state->count - partial.rejected : 0;
  snprintf (answer->text, sizeof answer->text, "it rejects %" PRIu64 " of %zu points: %.180s", partial.rejected,
            state->count, partial.message);
  return SEND_PART;
}

/* What is not of the samples is mended by people, and they wait: a redirection, a login, a wrong path. The specification
 * names those of 5xx that are to be tried again; of any other the same would come of the same. */
static enum send_verdict
otlp_judge (void *context, struct send_answer *answer)
{
  static const long again[] = { 401, 403, 404, 408, 429, 502, 503, 504 };
  char message[200];

  if (answer->status >= 200 && answer->status < 300)
    return judge_taken (context, answer);
  otlp_read_status (answer->body, answer->length, message, sizeof message);
  if (*message)
    snprintf (answer->text, sizeof answer->text, "%s", message);
  for (size_t i = 0; i < sizeof again / sizeof again[0]; i++)
    if (answer->status == again[i])
      return SEND_AGAIN;
  return answer->status < 400 ? SEND_AGAIN : SEND_REFUSED;
}

const struct send_type send_otlp = {
  .name = "otlp",
  .schemes = "http https",
  .shared = SEND_FOR_SAMPLES SEND_FOR_HTTP,
  .period_ns = 15 * NS_PER_S,
  .stale = true,
  .open = otlp_open,
  .close = otlp_close,
  .pack = otlp_pack,
  .judge = otlp_judge,
};
