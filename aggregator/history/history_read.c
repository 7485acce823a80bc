/* See history_read.h. Chunks are opened in order of their first number; the next line is that with the lowest number
 * of all open chunks and events. A combined report is computed from the frames that were part of it, so frames a
 * little before and after the interval are read too. */
#include "aggregator/history/history_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/combine.h"
#include "aggregator/history/history_rebuild.h"
#include "synop/array.h"
#include "synop/log.h"
#include "synop/memory.h"

#define EVENTS_AT_ONCE 256
#define TICKS_OPEN 8
#define FLUSH_EVERY 64

/* A chunk that is being read. */
struct cursor {
  const struct chunk_row *row;
  struct chunk chunk;
  size_t at; /* index of the current frame or tick */
  struct frame_header header;
  union {
    struct frame_record frame;
    struct tick_record tick;
  } record;
  int64_t number; /* of the current line */
  bool reported;  /* a broken frame of it was logged */
};

struct open_tick {
  int64_t time_ns; /* INT64_MIN: free */
  struct combine *combine;
};

struct reading {
  struct history_file *file;
  const struct history_query *query;
  const struct history_into *into;
  struct rebuild *rebuild;
  int64_t margin_ns; /* time around the interval, for frames of its combined reports */
  struct chunk_list list;
  size_t next; /* of the list */
  struct cursor **cursors;
  size_t count, capacity;
  struct event_list event_list;
  size_t event_next; /* of that list */
  struct stored_event events[EVENTS_AT_ONCE];
  size_t event_at, event_count;
  struct open_tick ticks[TICKS_OPEN];
  size_t broken;
};

static bool
is_tick (const struct cursor *cursor)
{
  return !*cursor->row->node;
}

static bool
within (const struct reading *reading, int64_t time_ns, int64_t margin_ns)
{
  int64_t from = reading->query->from_ns, to = reading->query->to_ns;

  return (from < INT64_MIN + margin_ns || time_ns >= from - margin_ns) &&
         (to > INT64_MAX - margin_ns || time_ns < to + margin_ns);
}

static void
read_log_broken (struct reading *reading, const struct chunk_row *row, const char *why)
{
  reading->broken++;
  log_warning ("chunk %" PRId64 " (%s, from %" PRIu64 " to %" PRIu64 ") is left out: %s", row->id,
               *row->node ? row->node : "ticks", row->first, row->last, why);
}

/* ---- cursors ---- */

/* Reads the current record. False: it is broken. */
static bool
cursor_read (struct cursor *cursor)
{
  size_t length, frame_length;
  const void *bytes, *frame;

  if (is_tick (cursor)) {
    bytes = chunk_message (&cursor->chunk, cursor->at, &length);
    cursor->number = INT64_MIN;
    if (tick_record_read (&cursor->record.tick, bytes, length) < 0)
      return false;
    cursor->number = cursor->record.tick.number;
    return true;
  }
  bytes = chunk_message (&cursor->chunk, 2 * cursor->at, &length);
  frame = chunk_message (&cursor->chunk, 2 * cursor->at + 1, &frame_length);
  if (frame_read_header (frame, frame_length, &cursor->header, NULL) < 0 ||
      frame_record_read (&cursor->record.frame, bytes, length, cursor->header.monotonic_ns) < 0)
    return false;
  cursor->number = cursor->record.frame.number;
  return cursor->header.sequence == cursor->row->first + cursor->at;
}

static void
cursor_drop (struct reading *reading, size_t index)
{
  chunk_free (&reading->cursors[index]->chunk);
  free (reading->cursors[index]);
  reading->cursors[index] = reading->cursors[--reading->count];
}

/* Goes to the next line of the chunk; closes it at its end. */
static void
cursor_advance (struct reading *reading, size_t index)
{
  struct cursor *cursor = reading->cursors[index];
  size_t count = is_tick (cursor) ? cursor->chunk.count : cursor->chunk.count / 2;

  if (++cursor->at < count) {
    if (cursor_read (cursor))
      return;
    read_log_broken (reading, cursor->row, "a frame is broken");
  }
  cursor_drop (reading, index);
}

static bool
wanted_node (const struct reading *reading, const char *node)
{
  const struct globs *nodes = reading->query->nodes;

  return !nodes || !nodes->count || (node && globs_match (nodes, node));
}

static bool
wanted_chunk (const struct reading *reading, const struct chunk_row *row)
{
  const struct view *view = reading->into->view;

  if (!*row->node)
    return view->tick;
  return view->tick || (view->frame && wanted_node (reading, row->node));
}

static void
take_chunk (struct reading *reading, const struct chunk_row *row)
{
  struct cursor *cursor;
  struct error error;
  int result;

  if (!wanted_chunk (reading, row))
    return;
  cursor = memory_new (1, sizeof *cursor);
  cursor->row = row;
  *array_add (reading->cursors, reading->count, reading->capacity) = cursor;
  result = history_file_read (reading->file, row->id, &cursor->chunk, NULL, &error);
  if (result == 0 && cursor->chunk.count == (*row->node ? 2 : 1) * (row->last - row->first + 1) && cursor_read (cursor))
    return;
  if (result != 1)
    read_log_broken (reading, row, result < 0 ? error.text : "it does not hold what it should");
  cursor_drop (reading, reading->count - 1);
}

/* The open chunk with the lowest number; SIZE_MAX: none. */
static size_t
lowest (const struct reading *reading)
{
  size_t found = SIZE_MAX;

  for (size_t i = 0; i < reading->count; i++)
    if (found == SIZE_MAX || reading->cursors[i]->number < reading->cursors[found]->number)
      found = i;
  return found;
}

static size_t
next_cursor (struct reading *reading)
{
  size_t found = lowest (reading);

  while (reading->next < reading->list.count &&
         (found == SIZE_MAX || reading->list.rows[reading->next].first_number <= reading->cursors[found]->number)) {
    take_chunk (reading, &reading->list.rows[reading->next++]);
    if (reading->into->progress)
      replay_progress_show (reading->into->progress, (double) reading->next / (double) reading->list.count);
    found = lowest (reading);
  }
  return found;
}

/* ---- ticks ---- */

static struct combine *
open_tick (struct reading *reading, int64_t time_ns)
{
  struct open_tick *oldest = &reading->ticks[0];

  for (size_t i = 0; i < TICKS_OPEN; i++) {
    if (reading->ticks[i].time_ns == time_ns)
      return reading->ticks[i].combine;
    if (reading->ticks[i].time_ns < oldest->time_ns)
      oldest = &reading->ticks[i];
  }
  oldest->time_ns = time_ns; /* a tick whose record never came, or a free one */
  if (!oldest->combine)
    oldest->combine = combine_create ();
  combine_clear (oldest->combine);
  return oldest->combine;
}

static void
show_tick (struct reading *reading, const struct tick_record *record)
{
  struct combine *combine = open_tick (reading, record->time_ns);
  struct tick_line tick = { .time_ns = record->time_ns,
                            .period_ns = record->period_ns,
                            .reporting = record->reporting,
                            .waited_for = record->waited_for,
                            .spread_ns = record->spread_ns,
                            .bound_ns = record->bound_ns,
                            .combine = combine };
  struct cluster_tick_line line = { &tick, record->expected, record->stale, record->down };

  if (within (reading, record->time_ns, 0))
    reading->into->view->tick (reading->into->state, &line);
  for (size_t i = 0; i < TICKS_OPEN; i++)
    if (reading->ticks[i].combine == combine)
      reading->ticks[i].time_ns = INT64_MIN;
}

/* ---- lines ---- */

static void
show_frame (struct reading *reading, struct cursor *cursor)
{
  const struct view *view = reading->into->view;
  const struct frame_record *record = &cursor->record.frame;
  bool part = view->tick && record->tick_period_ns && within (reading, record->time_ns, reading->margin_ns);
  bool shown = view->frame && within (reading, record->time_ns, 0) && wanted_node (reading, cursor->row->node);
  struct cluster_frame frame;
  struct error error;
  size_t length;
  const void *bytes = chunk_message (&cursor->chunk, 2 * cursor->at + 1, &length);

  if (!part && !shown)
    return;
  if (rebuild_frame (reading->rebuild, &cursor->header, record, bytes, length, &frame, &error) < 0) {
    if (!cursor->reported)
      read_log_broken (reading, cursor->row, error.text);
    cursor->reported = true;
    return;
  }
  if (part)
    combine_add (open_tick (reading, tick_nearest (record->time_ns, record->tick_period_ns)), cursor->header.node,
                 frame.schema, frame.groups);
  if (shown)
    view->frame (reading->into->state, &frame);
}

static int
refill_events (struct reading *reading, struct error *error)
{
  while (reading->event_at == reading->event_count && reading->event_next < reading->event_list.count) {
    size_t rest = reading->event_list.count - reading->event_next, next = rest < EVENTS_AT_ONCE ? rest : EVENTS_AT_ONCE;
    int count = history_file_events (reading->file, reading->event_list.rows + reading->event_next, next,
                                     reading->events, error);
    if (count < 0)
      return -1;
    reading->event_next += next;
    reading->event_at = 0;
    reading->event_count = (size_t) count;
  }
  return 0;
}

static void
give_event (const struct history_into *into, const struct stored_event *stored)
{
  const char *node = stored->node;
  bool is_job = strcmp (stored->type, JOB_LINE_TYPE) == 0;

  if (is_job && into->view->job) {
    struct job_line line;
    job_line_stored (&line, stored->time_ns, &node, stored->line, stored->length);
    into->view->job (into->state, &line);
  } else if (!is_job && into->view->event) {
    into->view->event (into->state, &(struct event){ .type = event_type (stored->type),
                                                     .wall_ns = stored->time_ns,
                                                     .node = node,
                                                     .line = stored->line,
                                                     .line_length = stored->length });
  }
}

static void
show_event (struct reading *reading)
{
  struct stored_event *event = &reading->events[reading->event_at++];
  bool shown = wanted_node (reading, event->node);

  if (shown && !event->broken)
    give_event (reading->into, event);
  if (shown && event->broken) {
    reading->broken++;
    log_warning ("event %" PRId64 " is left out: it is not as it was written", event->row);
  }
  stored_event_free (event);
}

static bool
wants_events (const struct reading *reading)
{
  return reading->into->view->event || reading->into->view->job;
}

/* 0, or 1 at the end. */
static int
show_next (struct reading *reading, struct error *error)
{
  size_t index = next_cursor (reading);
  struct cursor *cursor = index == SIZE_MAX ? NULL : reading->cursors[index];

  if (wants_events (reading) && refill_events (reading, error) < 0)
    return -1;
  if (reading->event_at < reading->event_count &&
      (!cursor || reading->events[reading->event_at].number < cursor->number)) {
    show_event (reading);
    return 0;
  }
  if (!cursor)
    return 1;
  if (is_tick (cursor))
    show_tick (reading, &cursor->record.tick);
  else
    show_frame (reading, cursor);
  cursor_advance (reading, index);
  return 0;
}

/* 0: all was shown; 1: the reader ended it. */
static int
show_all (struct reading *reading, struct error *error)
{
  const struct history_into *into = reading->into;
  bool ended = false;
  int result = 0;

  for (size_t shown = 1; result == 0 && !ended; shown++) {
    result = show_next (reading, error);
    if (into->view->flush && (result || shown % FLUSH_EVERY == 0))
      into->view->flush (into->state);
    ended = into->ended && *into->ended;
  }
  return result < 0 ? -1 : ended ? 1 : 0;
}

/* Sets the margin from the period of the ticks. */
static void
find_margin (struct reading *reading)
{
  for (size_t i = 0; i < reading->list.count; i++) {
    struct chunk chunk = { 0 };
    struct tick_record record;
    size_t length;
    if (*reading->list.rows[i].node)
      continue;
    if (history_file_read (reading->file, reading->list.rows[i].id, &chunk, NULL, NULL) == 0 && chunk.count) {
      const void *bytes = chunk_message (&chunk, 0, &length);
      if (tick_record_read (&record, bytes, length) == 0 && record.period_ns > reading->margin_ns)
        reading->margin_ns = record.period_ns;
    }
    chunk_free (&chunk);
    break;
  }
}

static int
list_chunks (struct reading *reading, struct error *error)
{
  int64_t from = reading->query->from_ns, to = reading->query->to_ns, margin;

  if (history_file_chunks (reading->file, from, to, &reading->list, error) < 0)
    return -1;
  if (!reading->into->view->tick)
    return 0;
  find_margin (reading);
  margin = reading->margin_ns;
  reading->list.count = 0;
  return history_file_chunks (reading->file, from < INT64_MIN + margin ? INT64_MIN : from - margin,
                              to > INT64_MAX - margin ? INT64_MAX : to + margin, &reading->list, error);
}

int
history_read (struct history_file *file, const struct history_query *query, const struct history_into *into,
              size_t *broken, struct error *error)
{
  struct reading reading = { .file = file, .query = query, .into = into };
  int result;

  for (size_t i = 0; i < TICKS_OPEN; i++)
    reading.ticks[i].time_ns = INT64_MIN;
  reading.rebuild = rebuild_create (file);
  result = list_chunks (&reading, error);
  if (result == 0 && wants_events (&reading))
    result = history_file_event_list (file, query->from_ns, query->to_ns, NULL, &reading.event_list, error);
  if (result == 0)
    result = show_all (&reading, error);
  while (reading.count)
    cursor_drop (&reading, reading.count - 1);
  while (reading.event_at < reading.event_count)
    stored_event_free (&reading.events[reading.event_at++]);
  for (size_t i = 0; i < TICKS_OPEN; i++)
    combine_destroy (reading.ticks[i].combine);
  rebuild_destroy (reading.rebuild);
  free (reading.cursors);
  free (reading.list.rows);
  free (reading.event_list.rows);
  *broken = reading.broken;
  return result;
}
