/* See commands.h. Checks that the bytes of every chunk are whole, that every frame in it can be read by its schema,
 * that it holds the frames that its row states, and no frame twice; that every event is unchanged; and that what minutes
 * and hours were packed into is whole. */
#include "aggregator/command/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_file.h"
#include "aggregator/history/history_record.h"
#include "aggregator/history/tier_check.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"

#define EVENTS_AT_ONCE 256

struct node_sum {
  const char *node;
  uint64_t frames, sessions, missing; /* missing: between frames of a session */
  int64_t first_time, last_time;
  size_t bytes; /* packed */
};

struct check {
  struct history_file *file;
  struct buffer out;
  struct node_sum sum, total;
  uint64_t ticks, chunks, broken;
  struct chunk_row before;
  struct chunk chunk;
  struct chunk_row found; /* times and sequences of the frames that are in it */
};

static int
fault (struct check *check, const struct chunk_row *row, const char *why)
{
  char session[SESSION_TEXT_SIZE];

  session_text (row->session, session);
  check->broken++;
  log_error ("chunk %" PRId64 " (%s, session %s, from %" PRIu64 " to %" PRIu64 "): %s", row->id,
             *row->node ? row->node : "ticks", session, row->first, row->last, why);
  return -1;
}

/* ---- a chunk ---- */

static struct table *
take_nothing (void *context, size_t group)
{
  (void) context;
  (void) group;
  return NULL;
}

static void
check_find_node (struct check *check, size_t index, int64_t time_ns, int64_t number)
{
  struct chunk_row *found = &check->found;

  found->first_time = index == 0 || time_ns < found->first_time ? time_ns : found->first_time;
  found->last_time = index == 0 || time_ns > found->last_time ? time_ns : found->last_time;
  found->first_number = index == 0 ? number : found->first_number;
  found->last_number = number;
}

static int
check_found (struct check *check, const struct chunk_row *row)
{
  const struct chunk_row *found = &check->found;

  if (found->first_time != row->first_time || found->last_time != row->last_time)
    return fault (check, row, "it holds frames of other times than it should");
  if (found->first_number != row->first_number || found->last_number != row->last_number)
    return fault (check, row, "it holds frames with other numbers than it should");
  return 0;
}

static int
check_frame (struct check *check, const struct chunk_row *row, size_t index)
{
  struct frame_sink sink = { .take = take_nothing };
  struct frame_header header;
  struct frame_record record;
  struct error error;
  size_t length, frame_length;
  const void *bytes = chunk_message (&check->chunk, 2 * index, &length);
  const void *frame = chunk_message (&check->chunk, 2 * index + 1, &frame_length);
  const struct schema *schema;

  if (frame_read_header (frame, frame_length, &header, &error) < 0)
    return fault (check, row, error.text);
  if (frame_record_read (&record, bytes, length, header.monotonic_ns) < 0)
    return fault (check, row, "what is kept beside a frame is broken");
  if (strcmp (header.node, row->node) != 0 || header.session != row->session || header.sequence != row->first + index)
    return fault (check, row, "it holds another frame than it should");
  schema = history_file_schema (check->file, header.schema, &error);
  if (!schema || frame_read_tables (frame, frame_length, &header, schema, &sink, &error) < 0)
    return fault (check, row, error.text);
  check_find_node (check, index, record.time_ns, record.number);
  return 0;
}

static int
check_chunk (struct check *check, const struct chunk_row *row)
{
  bool ticks = !*row->node;
  uint64_t count = row->last - row->first + 1;
  struct error error;
  size_t bytes = 0;
  int result = history_file_read (check->file, row->id, &check->chunk, &bytes, &error);

  if (result < 0)
    return fault (check, row, error.text);
  if (result == 1) /* deleted meanwhile */
    return 0;
  if (row->last < row->first || check->chunk.count != (ticks ? 1 : 2) * count)
    return fault (check, row, "it does not hold as many frames as it should");
  for (size_t i = 0; ticks && i < count; i++) {
    struct tick_record record;
    size_t length;
    const void *record_bytes = chunk_message (&check->chunk, i, &length);
    if (tick_record_read (&record, record_bytes, length) < 0)
      return fault (check, row, "a tick is broken");
    check_find_node (check, i, record.time_ns, record.number);
  }
  for (size_t i = 0; !ticks && i < count; i++)
    if (check_frame (check, row, i) < 0)
      return -1;
  if (check_found (check, row) < 0)
    return -1;
  check->ticks += ticks ? count : 0;
  check->sum.frames += ticks ? 0 : count;
  check->sum.bytes += bytes;
  return 0;
}

/* ---- nodes ---- */

static void
print_sum (struct check *check, const struct node_sum *sum, const char *name)
{
  char from[CLOCK_TEXT_SIZE] = "-", to[CLOCK_TEXT_SIZE] = "-";

  if (sum->frames) {
    clock_text (sum->first_time, from);
    clock_text (sum->last_time, to);
    strcpy (from + 19, "Z"); /* whole seconds will do */
    strcpy (to + 19, "Z");
  }
  buffer_printf (&check->out, "%-16s %8" PRIu64 " %10" PRIu64 " %10" PRIu64 " %12zu  %-20s  %s\n", name, sum->sessions,
                 sum->frames, sum->missing, sum->bytes, from, to);
}

static void
check_end_node (struct check *check)
{
  struct node_sum *sum = &check->sum, *total = &check->total;

  if (sum->node && *sum->node) {
    print_sum (check, sum, sum->node);
    if (total->frames == 0 || sum->first_time < total->first_time)
      total->first_time = sum->first_time;
    if (total->frames == 0 || sum->last_time > total->last_time)
      total->last_time = sum->last_time;
    total->frames += sum->frames;
    total->sessions += sum->sessions;
    total->missing += sum->missing;
  }
  total->bytes += sum->bytes;
  *sum = (struct node_sum){ 0 };
}

/* Rows come in order of node, session and sequence. */
static void
check_take_row (struct check *check, const struct chunk_row *row)
{
  struct node_sum *sum = &check->sum;
  bool same = sum->node == row->node && check->before.session == row->session;

  if (sum->node != row->node) {
    check_end_node (check);
    *sum = (struct node_sum){ .node = row->node, .first_time = row->first_time, .last_time = row->last_time };
  }
  check->chunks++;
  sum->sessions += !same;
  if (same && *row->node && row->first <= check->before.last)
    fault (check, row, "frames are stored twice");
  else if (same && *row->node)
    sum->missing += row->first - check->before.last - 1;
  sum->first_time = row->first_time < sum->first_time ? row->first_time : sum->first_time;
  sum->last_time = row->last_time > sum->last_time ? row->last_time : sum->last_time;
  check_chunk (check, row);
  check->before = *row;
}

/* ---- events ---- */

static int
check_events (struct check *check, uint64_t *events, struct error *error)
{
  struct event_list list = { 0 };
  int result = history_file_event_list (check->file, INT64_MIN, INT64_MAX, NULL, &list, error), count;

  *events = list.count;
  for (size_t i = 0; result == 0 && i < list.count; i += EVENTS_AT_ONCE) {
    struct stored_event found[EVENTS_AT_ONCE];
    size_t rest = list.count - i;
    count =
        history_file_events (check->file, &list.rows[i], rest < EVENTS_AT_ONCE ? rest : EVENTS_AT_ONCE, found, error);
    result = count < 0 ? -1 : 0;
    while (count > 0) {
      struct stored_event *event = &found[--count];
      if (event->broken) {
        check->broken++;
        log_error ("event %" PRId64 ": it is not as it was written", event->row);
      }
      stored_event_free (event);
    }
  }
  free (list.rows);
  return result;
}

/* ---- tiers ---- */

static void
tier_fault (void *context, const char *text)
{
  struct check *check = context;

  check->broken++;
  log_error ("%s", text);
}

static int
check_file (struct check *check, const char *path, struct error *error)
{
  struct chunk_list list = { 0 };
  struct replay_progress progress;
  struct tier_check tiers;
  uint64_t events = 0;
  int64_t schemas = 0;
  int result;

  if (history_file_integrity (check->file, error) < 0 || check_events (check, &events, error) < 0 ||
      history_file_number (check->file, "SELECT count (*) FROM schemas", &schemas, error) < 0 ||
      tier_check (check->file, &tiers, check, tier_fault, error) < 0)
    return -1;
  result = history_file_all_chunks (check->file, &list, error);
  replay_progress_init (&progress, "check");
  buffer_printf (&check->out, "%-16s %8s %10s %10s %12s  %-20s  %s\n", "NODE", "SESSIONS", "FRAMES", "MISSING", "BYTES",
                 "FROM", "TO");
  for (size_t i = 0; result == 0 && i < list.count; i++) {
    check_take_row (check, &list.rows[i]);
    replay_progress_show (&progress, (double) i / (double) list.count);
  }
  check_end_node (check);
  replay_progress_end (&progress);
  free (list.rows);
  print_sum (check, &check->total, "all");
  buffer_printf (&check->out,
                 "\n%" PRIu64 " chunks, %" PRIu64 " combined reports, %" PRIu64 " events, %" PRId64 " schemas\n%" PRIu64
                 " blocks of minutes, %" PRIu64 " of hours; of %" PRIu64 " chunks they are staged, of %" PRIu64
                 " not made yet\n%s: ",
                 check->chunks, check->ticks, events, schemas, tiers.minutes, tiers.hours, tiers.staged, tiers.unfolded,
                 path);
  if (check->broken)
    buffer_printf (&check->out, "%" PRIu64 " faults\n", check->broken);
  else
    buffer_add_string (&check->out, "whole\n");
  return result;
}

int
check_run (const struct options *options)
{
  const char *path = options->file ? options->file : replay_path (options);
  struct check check = { 0 };
  struct error error;
  int code = 1;

  check.file = history_file_open (path, &error);
  if (!check.file || check_file (&check, path, &error) < 0)
    log_error ("%s", error.text);
  else
    code = check.broken ? 1 : 0;
  if (file_print (&check.out) != 0)
    code = 1;
  history_file_close (check.file);
  chunk_free (&check.chunk);
  buffer_free (&check.out);
  return code;
}
