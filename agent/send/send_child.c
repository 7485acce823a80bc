/* See send_child.h. One thread, which reads no frames while it waits for the receiver: they wait in the agent. */
#include "agent/send/send_child.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/send/send_tables.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/send_retry.h"

#define TIMEOUT (30 * NS_PER_S)
#define PAUSE_MOST (10 * NS_PER_S)
#define SAMPLES_MOST 60000
#define READ_BYTES 65536
#define LOOK_MS 500
#define DROPPED_LOG_EVERY (600 * NS_PER_S)

struct child_state {
  const struct schema *schema;
  struct cloudwatch *cloudwatch;
  struct send_tables *tables;
  struct send_http *http;
  struct send_request request;
  struct send_retry retry;
  int64_t gather_ns, gathered; /* the last time that was sent of, in multiples */
  struct send_sample *samples;
  size_t count, room;
  uint64_t sequence, taken; /* of the last frame that was read, and taken */
  struct buffer input;
  bool ended; /* the input */
  int64_t failing_ns;
  uint64_t dropped; /* and not logged */
  int64_t dropped_logged_ns;
};

/* ---- frames ---- */

static void
add_sample (void *context, const struct send_sample *sample)
{
  struct child_state *state = context;

  if (state->count == state->room) {
    state->room = state->room ? 2 * state->room : 256;
    state->samples = memory_resize (state->samples, state->room, sizeof *state->samples);
  }
  state->samples[state->count++] = *sample;
}

static struct table *
next_table (void *context, size_t group)
{
  struct child_state *state = context;
  struct table *table = send_tables_next (state->tables, group);

  table_begin (table);
  return table;
}

static void
take_frame (struct child_state *state, const char *bytes, size_t length)
{
  struct frame_sink sink = { .context = state, .take = next_table };
  struct frame_header header;
  struct error error;

  if (frame_read_header (bytes, length, &header, &error) < 0 ||
      frame_read_tables (bytes, length, &header, state->schema, &sink, &error) < 0) {
    log_warning ("send cloudwatch: a frame is left out: %s", error.text);
    return;
  }
  state->sequence = header.sequence;
  send_tables_give (state->tables, header.wall_ns, add_sample, state);
}

static void
take_frames (struct child_state *state)
{
  struct buffer *input = &state->input;
  uint32_t length;
  size_t at = 0;

  for (; input->length - at >= sizeof length; at += sizeof length + length) {
    memcpy (&length, input->data + at, sizeof length);
    if (input->length - at - sizeof length < length)
      break;
    take_frame (state, input->data + at + sizeof length, length);
  }
  if (at)
    memmove (input->data, input->data + at, input->length - at);
  input->length -= at;
}

/* What is there within a moment. */
static void
read_input (struct child_state *state)
{
  struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
  ssize_t got;

  if (poll (&input, 1, LOOK_MS) <= 0)
    return;
  got = read (STDIN_FILENO, buffer_reserve (&state->input, READ_BYTES), READ_BYTES);
  state->ended = got == 0 || (got < 0 && errno != EINTR);
  state->input.length += got > 0 ? (size_t) got : 0;
  take_frames (state);
}

/* Nobody reads it: the input has ended too. */
static void
report (struct child_state *state)
{
  if (write (STDOUT_FILENO, &state->taken, sizeof state->taken) < 0)
    state->ended = true;
}

/* ---- posting ---- */

/* False: the input has ended. */
static bool
rest (int64_t ns)
{
  struct pollfd input = { .fd = STDIN_FILENO, .events = POLLRDHUP };

  return poll (&input, 1, (int) (ns / NS_PER_MS)) == 0;
}

static enum send_verdict
post_once (struct child_state *state, struct send_answer *answer)
{
  struct send_request *request = &state->request;

  *answer = (struct send_answer){ .status = 200 };
  if (!request->body.length)
    return cloudwatch_judge (state->cloudwatch, answer);
  answer->status = 0;
  if (cloudwatch_prepare (state->cloudwatch, request, answer) < 0)
    return SEND_AGAIN;
  send_http_post (state->http, request, answer);
  return answer->status ? cloudwatch_judge (state->cloudwatch, answer) : SEND_AGAIN;
}

static void
begin_failing (struct child_state *state, const struct send_answer *answer)
{
  char text[512];

  send_answer_text (answer, text, sizeof text);
  if (!state->failing_ns)
    log_warning ("send cloudwatch: %s; it is tried again, and what is to be sent waits", text);
  state->failing_ns = state->failing_ns ? state->failing_ns : clock_monotonic ();
}

static void
end_failing (struct child_state *state)
{
  if (state->failing_ns)
    log_info ("send cloudwatch: it goes on, after %.1f s",
              (double) (clock_monotonic () - state->failing_ns) / NS_PER_S);
  state->failing_ns = 0;
  send_retry_done (&state->retry);
}

static void
count_dropped (struct child_state *state, const struct send_answer *answer)
{
  int64_t now_ns = clock_monotonic ();

  state->dropped += state->count - answer->taken;
  if (state->dropped_logged_ns && now_ns < state->dropped_logged_ns + DROPPED_LOG_EVERY)
    return;
  log_warning ("send cloudwatch: %s; %" PRIu64 " samples are dropped", answer->text, state->dropped);
  state->dropped_logged_ns = now_ns;
  state->dropped = 0;
}

/* A request until it is taken or refused. -1: the input has ended before. */
static int
post (struct child_state *state, struct send_answer *answer, enum send_verdict *verdict)
{
  struct send_request *request = &state->request;

  *request = (struct send_request){ .body = request->body };
  buffer_clear (&request->body);
  cloudwatch_pack (state->cloudwatch, state->samples, state->count, request);
  while ((*verdict = post_once (state, answer)) == SEND_AGAIN) {
    begin_failing (state, answer);
    report (state);
    if (state->ended || !rest (send_retry_pause (&state->retry, answer->after_ns)))
      return -1;
  }
  end_failing (state);
  report (state);
  return 0;
}

static void
post_all (struct child_state *state)
{
  enum send_verdict verdict;
  struct send_answer answer;

  do {
    if (post (state, &answer, &verdict) < 0)
      return;
  } while (verdict == SEND_ANOTHER);
  if (verdict == SEND_PART)
    count_dropped (state, &answer);
  state->count = 0;
}

/* ---- its turns ---- */

/* Those of a minute, or second, go together. */
static bool
is_due (struct child_state *state)
{
  int64_t now = clock_wall () / state->gather_ns;
  bool due = state->ended || now != state->gathered || state->count >= SAMPLES_MOST;

  if (due && state->count)
    state->gathered = now;
  return due;
}

static void
turn (struct child_state *state)
{
  read_input (state);
  if (state->count && is_due (state))
    post_all (state);
  if (!state->count) {
    state->taken = state->sequence;
    send_tables_trim (state->tables);
  }
  report (state);
}

static void
state_free (struct child_state *state)
{
  send_http_destroy (state->http);
  send_tables_destroy (state->tables);
  cloudwatch_destroy (state->cloudwatch);
  buffer_free (&state->request.body);
  buffer_free (&state->input);
  free (state->samples);
}

int
send_child_run (const struct send_settings *settings, const char *node, const struct schema *schema,
                struct error *error)
{
  const struct send_http_options to = { .url = settings->url,
                                        .bearer_file = "",
                                        .user = "",
                                        .password_file = "",
                                        .ca = settings->ca,
                                        .certificate = "",
                                        .key = "",
                                        .timeout_ns = TIMEOUT };
  struct child_state state = { .schema = schema, .retry.most_ns = PAUSE_MOST };
  int result = -1;

  state.cloudwatch = cloudwatch_create (&settings->cloudwatch, settings->url);
  state.gather_ns = cloudwatch_resolution (&settings->cloudwatch) * NS_PER_S;
  state.tables = send_tables_create (settings, node, state.cloudwatch, schema, error);
  if (state.tables) {
    state.http = send_http_create (&to);
    while (!state.ended)
      turn (&state);
    result = 0;
  }
  state_free (&state);
  return result;
}
