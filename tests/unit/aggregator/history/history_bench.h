/* A history in a scratch folder, and frames of made-up nodes for it: for the tests of the history. */
#ifndef SYNOP_TESTS_HISTORY_BENCH_H
#define SYNOP_TESTS_HISTORY_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "aggregator/history/history.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/history_read.h"
#include "aggregator/history/history_record.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "tests/unit/test_folder.h"

static const struct metric made_metrics[] = {
  { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Bytes." },
  { "level", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = "Level." },
};
static const struct group made_group = {
  "made", "system_data", "device", "devices", "total", 0, "A group.", GROUP_METRICS (made_metrics)
};
static const struct group *const made_groups[] = { &made_group };

#define MADE_TIME (clock_wall () / NS_PER_S * NS_PER_S - 3600 * NS_PER_S) /* of the first frame: an hour ago */

struct scratch {
  char folder[TEST_FOLDER_SIZE], path[128];
  struct schema *schema;
  struct history *history;
  int64_t start_ns;
  bool stand_still;        /* frames are sampled at one instant */
  struct event events[64]; /* told */
  char texts[64][512];
  size_t event_count;
};

static inline struct history_options
scratch_options (const struct scratch *scratch)
{
  return (struct history_options){ .path = scratch->path,
                                   .max_age_ns = 30 * 86400 * NS_PER_S,
                                   .max_size = UINT64_C (1) << 33,
                                   .chunk_frames = 16,
                                   .chunk_ns = 3600 * NS_PER_S, /* tests flush */
                                   .queue_bytes = 64 << 20,
                                   .retry_ns = NS_PER_MS };
}

static inline void
scratch_open (struct scratch *scratch)
{
  struct history_options options = scratch_options (scratch);

  scratch->history = history_create (&options);
}

static inline void
scratch_close (struct scratch *scratch)
{
  history_destroy (scratch->history);
  scratch->history = NULL;
}

static inline int
scratch_create (void **state)
{
  struct scratch *scratch = memory_new (1, sizeof *scratch);

  test_folder_make (scratch->folder);
  snprintf (scratch->path, sizeof scratch->path, "%s/history.db", scratch->folder);
  scratch->schema = schema_create (made_groups, 1);
  scratch->start_ns = MADE_TIME;
  *state = scratch;
  return 0;
}

static inline int
scratch_destroy (void **state)
{
  struct scratch *scratch = *state;

  history_destroy (scratch->history);
  schema_destroy (scratch->schema);
  test_folder_remove (scratch->folder);
  free (scratch);
  return 0;
}

/* The bytes of a frame depend on nothing but these. */
static inline void
made_frame (const struct scratch *scratch, struct buffer *out, const char *node, uint64_t session, uint64_t sequence)
{
  struct frame_header header = { .session = session,
                                 .sequence = sequence,
                                 .monotonic_ns = (int64_t) (scratch->stand_still ? 31 : sequence) * NS_PER_S,
                                 .wall_ns = scratch->start_ns + (int64_t) sequence * NS_PER_S };
  struct table table;
  const struct table *tables[] = { &table };

  strcpy (header.node, node);
  memcpy (header.schema, scratch->schema->hash, SCHEMA_HASH_SIZE);
  table_init (&table, &made_group);
  table_add_row (&table, "d0", 2);
  table_add_row (&table, "d1", 2);
  table_set_uint (&table, 0, 0, sequence * sequence);
  table_set_uint (&table, 1, 0, sequence * 1000);
  table_set_uint (&table, TABLE_NODE, 1, session % 100 + sequence % 3);
  frame_write (out, &header, scratch->schema, tables, 1);
  table_free (&table);
}

struct take_made {
  struct table tables[2]; /* now, before */
  size_t at;
};

static inline struct table *
take_made (void *context, size_t group)
{
  struct take_made *made = context;

  (void) group;
  table_init (&made->tables[made->at], &made_group);
  return &made->tables[made->at];
}

/* Puts a frame as the core does; `before` is the sequence number of the one that it is compared with, 0: none. */
static inline void
put_made (struct scratch *scratch, const char *node, uint64_t session, uint64_t sequence, uint64_t before, bool late)
{
  struct take_made made = { 0 };
  struct frame_sink sink = { .context = &made, .take = take_made };
  struct report_group pairs[2] = { { &made.tables[0],
                                     before ? &made.tables[1] : NULL } }; /* a schema may have another */
  struct frame_header header, header_before;
  struct buffer frame = { 0 }, frame_before = { 0 };
  struct cluster_frame put = { .header = &header,
                               .time_ns = scratch->start_ns + (int64_t) sequence * NS_PER_S + 17,
                               .bound_ns = 1000 + (int64_t) sequence,
                               .drift_ppb = sequence % 5 ? 77 : INT64_MIN,
                               .probe_age_ms = sequence % 4 ? 12 : -1,
                               .late = late,
                               .tick_period_ns = late ? 0 : NS_PER_S,
                               .schema = scratch->schema,
                               .groups = pairs };

  made_frame (scratch, &frame, node, session, sequence);
  assert_int_equal (frame_read_header (frame.data, frame.length, &header, NULL), 0);
  assert_int_equal (frame_read_tables (frame.data, frame.length, &header, scratch->schema, &sink, NULL), 0);
  if (before) {
    made.at = 1;
    made_frame (scratch, &frame_before, node, session, before);
    assert_int_equal (frame_read_header (frame_before.data, frame_before.length, &header_before, NULL), 0);
    assert_int_equal (
        frame_read_tables (frame_before.data, frame_before.length, &header_before, scratch->schema, &sink, NULL), 0);
  }
  put.bytes = frame.data;
  put.length = frame.length;
  history_put_frame (scratch->history, &put);
  table_free (&made.tables[0]);
  if (before)
    table_free (&made.tables[1]);
  buffer_free (&frame);
  buffer_free (&frame_before);
}

static inline void
put_range (struct scratch *scratch, const char *node, uint64_t session, uint64_t first, uint64_t last)
{
  for (uint64_t i = first; i <= last; i++)
    put_made (scratch, node, session, i, i == first ? 0 : i - 1, false);
}

/* ---- what came out ---- */

static inline void
see_event (void *context, const struct event *event)
{
  struct scratch *scratch = context;
  size_t at = scratch->event_count++ % 64;

  scratch->events[at] = *event;
  snprintf (scratch->texts[at], sizeof scratch->texts[at], "%s", event->text ? event->text : "");
}

static inline const struct event *
last_event (const struct scratch *scratch)
{
  return &scratch->events[(scratch->event_count - 1) % 64];
}

static inline const char *
last_text (const struct scratch *scratch)
{
  return scratch->texts[(scratch->event_count - 1) % 64];
}

static inline void
poll_events (struct scratch *scratch)
{
  history_poll (scratch->history, 1, scratch, see_event);
}

struct counted {
  struct scratch *scratch;
  uint64_t seen[4][4096]; /* how often: by session below 4 and sequence below 4096 */
  size_t frames, events;
};

static inline void
count_frame (void *context, const struct cluster_frame *frame)
{
  struct counted *counted = context;
  struct buffer made = { 0 };

  assert_true (frame->header->session < 4 && frame->header->sequence < 4096);
  counted->seen[frame->header->session][frame->header->sequence]++;
  counted->frames++;
  made_frame (counted->scratch, &made, frame->header->node, frame->header->session, frame->header->sequence);
  assert_int_equal (made.length, frame->length);
  assert_memory_equal (made.data, frame->bytes, made.length);
  assert_true (frame->time_ns == counted->scratch->start_ns + (int64_t) frame->header->sequence * NS_PER_S + 17);
  buffer_free (&made);
}

static inline void
count_event (void *context, const struct event *event)
{
  struct counted *counted = context;

  (void) event;
  counted->events++;
}

static inline void
count_job (void *context, const struct job_line *line)
{
  struct counted *counted = context;

  (void) line;
  counted->events++;
}

/* Every frame must be byte for byte as it was made. The caller frees it. */
static inline struct counted *
count_stored (struct scratch *scratch)
{
  struct counted *counted = memory_new (1, sizeof *counted);
  struct history_query query = { INT64_MIN, INT64_MAX, NULL };
  const struct view view = { .name = "count", .frame = count_frame, .event = count_event, .job = count_job };
  struct error error = { "" };
  struct history_file *file = history_file_open (scratch->path, &error);
  size_t broken;

  counted->scratch = scratch;
  if (!file)
    print_message ("# %s\n", error.text);
  assert_non_null (file);
  assert_int_equal (history_file_integrity (file, &error), 0);
  assert_int_equal (history_read (file, &query, &(struct history_into){ &view, counted, NULL, NULL }, &broken, &error),
                    0);
  assert_int_equal (broken, 0);
  history_file_close (file);
  return counted;
}

static inline void
assert_stored_once (struct scratch *scratch, uint64_t session, uint64_t first, uint64_t last)
{
  struct counted *counted = count_stored (scratch);

  for (uint64_t i = first; i <= last; i++)
    assert_int_equal (counted->seen[session][i], 1);
  free (counted);
}

/* ---- the file itself ---- */

/* The first number of a SELECT. */
static inline int64_t
scratch_number (struct scratch *scratch, const char *select)
{
  struct error error;
  struct history_file *file = history_file_open (scratch->path, &error);
  int64_t number = -1;

  assert_non_null (file);
  if (history_file_number (file, select, &number, &error) < 0)
    fail_msg ("%s", error.text);
  history_file_close (file);
  return number;
}

static inline void
scratch_sql (struct scratch *scratch, const char *text)
{
  sqlite3 *database;
  char *what = NULL;

  assert_int_equal (sqlite3_open (scratch->path, &database), SQLITE_OK);
  sqlite3_busy_timeout (database, 60000); /* the writer's thread may be at work */
  if (sqlite3_exec (database, text, NULL, NULL, &what) != SQLITE_OK)
    fail_msg ("%s", what);
  sqlite3_close (database);
}

static inline int64_t
frames_of (struct scratch *scratch, const char *node)
{
  char *select = memory_format (
      "SELECT ifnull (sum (last - first + 1), 0) FROM chunks JOIN nodes ON nodes.id = node WHERE name = '%s'", node);
  int64_t frames = scratch_number (scratch, select);

  free (select);
  return frames;
}

/* How often a node was told to be over its share. */
static inline size_t
told (const struct scratch *scratch, const char *what, const char *node)
{
  size_t count = 0;

  for (size_t i = 0; i < scratch->event_count && i < 64; i++)
    count += scratch->events[i].type == EVENT_OVER_SHARE && strcmp (scratch->events[i].reason, what) == 0 &&
             strcmp (scratch->events[i].node, node) == 0;
  return count;
}

#endif
