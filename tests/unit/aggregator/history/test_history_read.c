/* The history read again: lines as they were, wherever the reading begins; what is broken; what is too old; times as
 * people type them; frames on their way into chunks. */
#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/core/combine.h"
#include "aggregator/history/history_gather.h"
#include "aggregator/query/when.h"
#include "aggregator/stream/node_line.h"
#include "tests/unit/aggregator/history/history_bench.h"

/* ---- reading ---- */

struct seen_lines {
  struct buffer text;
  size_t frames, ticks, events;
  uint64_t last_bytes; /* of row d0, as shown */
  bool last_known;
  size_t tick_nodes;
  size_t stop_after;
  bool ended;
  struct event event; /* the last one, as what follows */
  struct job_line job;
  size_t jobs;
};

static void
see_frame (void *context, const struct cluster_frame *frame)
{
  struct seen_lines *seen = context;
  struct stream_line line = node_line (frame);
  const struct report_group *pair = &frame->groups[0];
  struct value shown = report_value (&made_metrics[0], table_get (pair->now, 0, 0),
                                     pair->before ? table_get (pair->before, 0, 0) : NULL, report_elapsed_ns (pair));
  struct json json = { 0 };

  line.write (line.context, &json, NULL, &viewer_all);
  buffer_add (&seen->text, json.out.data, json.out.length);
  json_free (&json);
  seen->last_known = shown.type == VALUE_UINT;
  seen->last_bytes = seen->last_known ? shown.as.u : 0;
  seen->ended = ++seen->frames == seen->stop_after;
}

static void
see_tick (void *context, const struct cluster_tick_line *line)
{
  struct seen_lines *seen = context;

  seen->ticks++;
  seen->tick_nodes = line->tick->reporting;
}

static void
see_stored_event (void *context, const struct event *event)
{
  struct seen_lines *seen = context;
  struct json json = { 0 };

  seen->events++;
  seen->event = *event;
  event_write (&json, event);
  buffer_add (&seen->text, json.out.data, json.out.length);
  json_free (&json);
}

static void
see_stored_job (void *context, const struct job_line *line)
{
  struct seen_lines *seen = context;
  struct json json = { 0 };

  seen->jobs++;
  seen->job = *line;
  job_line_write (&json, line);
  buffer_add (&seen->text, json.out.data, json.out.length);
  json_free (&json);
}

static const struct view see_all = {
  .name = "see", .frame = see_frame, .tick = see_tick, .event = see_stored_event, .job = see_stored_job
};

static size_t
read_with (struct scratch *scratch, const struct view *view, int64_t from, int64_t to, struct seen_lines *seen)
{
  struct history_query query = { from, to, NULL };
  struct history_into into = { .view = view, .state = seen, .ended = &seen->ended };
  struct error error;
  struct history_file *file = history_file_open (scratch->path, &error);
  size_t broken;

  assert_non_null (file);
  assert_true (history_read (file, &query, &into, &broken, &error) >= 0);
  history_file_close (file);
  return broken;
}

static size_t
read_lines (struct scratch *scratch, int64_t from, int64_t to, struct seen_lines *seen)
{
  return read_with (scratch, &see_all, from, to, seen);
}

static int64_t
at (const struct scratch *scratch, uint64_t sequence)
{
  return scratch->start_ns + (int64_t) sequence * NS_PER_S + 17;
}

/* Wherever it begins, a counter's change is there, from the frame before. */
static void
test_begins_anywhere (void **state)
{
  struct scratch *scratch = *state;
  struct seen_lines whole = { 0 };

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 50);
  scratch_close (scratch);
  assert_int_equal (read_lines (scratch, INT64_MIN, INT64_MAX, &whole), 0);
  assert_int_equal (whole.frames, 50);
  for (uint64_t from = 1; from <= 50; from++) {
    struct seen_lines part = { 0 };
    read_lines (scratch, at (scratch, from), at (scratch, from + 1), &part);
    assert_int_equal (part.frames, 1);
    assert_int_equal (part.last_known, from > 1);
    assert_int_equal (part.last_bytes, from > 1 ? 2 * from - 1 : 0); /* from^2 - (from - 1)^2 */
    assert_non_null (memmem (whole.text.data, whole.text.length, part.text.data, part.text.length));
    buffer_free (&part.text);
  }
  buffer_free (&whole.text);
}

/* Lines come in the order in which they were put, each compared with what it was compared with then. */
static void
test_late_frames_and_order (void **state)
{
  struct scratch *scratch = *state;
  struct seen_lines seen = { 0 };
  const char *first, *second;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 10);
  put_made (scratch, "n1", 1, 21, 10, false); /* after a gap */
  for (uint64_t i = 11; i <= 20; i++) {       /* which is filled while live frames go on */
    put_made (scratch, "n1", 1, i, i - 1, true);
    put_made (scratch, "n1", 1, i + 11, i + 10, false);
  }
  history_put_event (
      scratch->history,
      &(struct event){
          .type = EVENT_GAP, .node = "n1", .session = 1, .from = 11, .to = 20, .wall_ns = at (scratch, 5) });
  put_made (scratch, "n1", 1, 32, 0, false); /* as after a restart: compared with none */
  scratch_close (scratch);
  read_lines (scratch, INT64_MIN, INT64_MAX, &seen);
  assert_int_equal (seen.frames, 32);
  assert_int_equal (seen.events, 1);
  assert_false (seen.last_known);
  buffer_add (&seen.text, "", 1);
  first = strstr (seen.text.data, "\"seq\":21,");
  second = strstr (seen.text.data, "\"seq\":11,");
  assert_true (first && second && first < second);
  assert_non_null (strstr (first, "\"period\":11,")); /* since frame 10 */
  assert_non_null (strstr (second, "\"late\":true"));
  assert_non_null (strstr (second, "\"d0\":{\"bytes\":21}")); /* 121 - 100 */
  assert_true (strstr (seen.text.data, "\"event\":\"gap\"") > strstr (seen.text.data, "\"seq\":31,"));
  buffer_free (&seen.text);
}

static void
test_ticks_are_computed_again (void **state)
{
  struct scratch *scratch = *state;
  struct combine *empty = combine_create ();
  struct seen_lines seen = { 0 };

  scratch_open (scratch);
  for (uint64_t i = 1; i <= 20; i++) {
    struct tick_line tick = {
      .time_ns = scratch->start_ns + (int64_t) i * NS_PER_S, .period_ns = NS_PER_S, .reporting = 2, .combine = empty
    };
    put_made (scratch, "n1", 1, i, i - 1, false);
    put_made (scratch, "n2", 2, i, i - 1, false);
    history_put_tick (scratch->history, &(struct cluster_tick_line){ .tick = &tick, .expected = 2 });
  }
  scratch_close (scratch);
  read_lines (scratch, scratch->start_ns + 5 * NS_PER_S, scratch->start_ns + 8 * NS_PER_S, &seen);
  assert_int_equal (seen.ticks, 3);
  assert_int_equal (seen.tick_nodes, 2);
  assert_int_equal (seen.frames, 6);
  combine_destroy (empty);
  buffer_free (&seen.text);
}

/* Of what is kept as lines: which one it is, and the line as it was written. What a view does not take it does not get. */
static void
test_a_view_gets_what_it_takes (void **state)
{
  static const char *const texts[JOB_TEXTS] = { "slurm", "ana", "x", "", "" };
  const char *nodes[] = { "n2", "n3" };
  struct scratch *scratch = *state;
  struct event event = { .type = EVENT_GAP, .node = "n1", .session = 7, .from = 2, .to = 3, .count = 2 };
  struct job_line job = { .event = JOB_NODE, .label = "5", .texts = texts, .nodes = nodes, .node_count = 1 };
  struct seen_lines all = { 0 }, events = { 0 };
  const struct view only_events = { .name = "events", .event = see_stored_event };
  struct json put = { 0 };

  scratch_open (scratch);
  event.wall_ns = at (scratch, 1);
  history_put_event (scratch->history, &event);
  event_write (&put, &event);
  job.time_ns = at (scratch, 2);
  history_put_job_line (scratch->history, &job);
  job_line_write (&put, &job);
  job.event = JOB_ENDED;
  job.node_count = 2;
  job.reason = "told";
  job.summary = "{}";
  job.summary_length = 2;
  history_put_job_line (scratch->history, &job);
  job_line_write (&put, &job);
  put_range (scratch, "n1", 1, 1, 3);
  scratch_close (scratch);

  read_lines (scratch, INT64_MIN, INT64_MAX, &all);
  assert_int_equal (all.events, 1);
  assert_int_equal (all.event.type, EVENT_GAP);
  assert_true (all.event.wall_ns == event.wall_ns);
  assert_int_equal (all.jobs, 2);
  assert_int_equal (all.job.event, JOB_ENDED);
  assert_true (all.job.time_ns == job.time_ns && all.job.node_count == 0 && !*all.job.texts[JOB_USER]);
  assert_memory_equal (all.text.data, put.out.data, put.out.length);
  read_with (scratch, &only_events, INT64_MIN, INT64_MAX, &events);
  assert_true (events.events == 1 && events.jobs == 0 && events.frames == 0);
  assert_int_equal (event_type ("of another version"), EVENT_TYPES);
  buffer_free (&all.text);
  buffer_free (&events.text);
  json_free (&put);
}

static void
test_stops_when_told (void **state)
{
  struct scratch *scratch = *state;
  struct seen_lines seen = { .stop_after = 3 };

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 50);
  scratch_close (scratch);
  read_lines (scratch, INT64_MIN, INT64_MAX, &seen);
  assert_int_equal (seen.frames, 3);
  buffer_free (&seen.text);
}

static void
test_broken_chunk_is_left_out (void **state)
{
  struct scratch *scratch = *state;
  struct seen_lines seen = { 0 };
  sqlite3 *database;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 64); /* four chunks */
  scratch_close (scratch);
  assert_int_equal (sqlite3_open (scratch->path, &database), SQLITE_OK);
  assert_int_equal (sqlite3_exec (database,
                                  "UPDATE chunks SET data = zeroblob (40) WHERE first = 17;"
                                  "UPDATE chunks SET last = last + 1 WHERE first = 49",
                                  NULL, NULL, NULL),
                    SQLITE_OK);
  sqlite3_close (database);
  assert_int_equal (read_lines (scratch, INT64_MIN, INT64_MAX, &seen), 2);
  assert_int_equal (seen.frames, 32);
  buffer_free (&seen.text);
}

static void
test_schema_missing (void **state)
{
  struct scratch *scratch = *state;
  struct seen_lines seen = { 0 };
  sqlite3 *database;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 3);
  scratch_close (scratch);
  assert_int_equal (sqlite3_open (scratch->path, &database), SQLITE_OK);
  assert_int_equal (sqlite3_exec (database, "DELETE FROM schemas", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close (database);
  assert_int_equal (read_lines (scratch, INT64_MIN, INT64_MAX, &seen), 1);
  assert_int_equal (seen.frames, 0);
  buffer_free (&seen.text);
}

static void
test_no_file_and_no_history (void **state)
{
  struct scratch *scratch = *state;
  struct error error;
  FILE *file;

  assert_null (history_file_open (scratch->path, &error));
  assert_non_null (strstr (error.text, scratch->path));
  file = fopen (scratch->path, "w");
  assert_null (history_file_open (scratch->path, &error)); /* empty */
  fputs ("words that are no database at all, and more of them, and more", file);
  fclose (file);
  assert_null (history_file_open (scratch->path, &error));
  assert_int_equal (unlink (scratch->path), 0);
  assert_int_equal (mkfifo (scratch->path, 0600), 0);
  alarm (120); /* to open it would wait for ever */
  assert_null (history_file_open (scratch->path, &error));
  assert_non_null (strstr (error.text, "is no regular file"));
  alarm (0);
}

/* ---- what is too old ---- */

static int64_t
count_rows (struct scratch *scratch, const char *select)
{
  struct error error;
  struct history_file *file = history_file_open (scratch->path, &error);
  int64_t number = -1;

  assert_non_null (file);
  assert_int_equal (history_file_number (file, select, &number, &error), 0);
  history_file_close (file);
  return number;
}

static void
trim_all (struct scratch *scratch, int64_t before_ns, uint64_t max_size)
{
  struct error error;
  struct history_store *store = history_store_open (scratch->path, &error);
  int more, steps = 0;

  assert_non_null (store);
  while ((more = history_store_trim (store, before_ns, max_size, NULL, &error)) == 1)
    assert_true (++steps < 1000);
  assert_int_equal (more, 0);
  history_store_close (store);
}

static void
fill (struct scratch *scratch)
{
  scratch_open (scratch);
  for (uint64_t i = 1; i <= 3200; i++) {
    put_made (scratch, "n1", 1, i, i - 1, false);
    history_put_event (scratch->history, &(struct event){ .type = EVENT_GAP, .wall_ns = at (scratch, i) });
  }
  scratch_close (scratch);
}

static void
test_age (void **state)
{
  struct scratch *scratch = *state;
  struct seen_lines seen = { 0 };

  fill (scratch);
  trim_all (scratch, at (scratch, 1601), UINT64_MAX);
  assert_int_equal (count_rows (scratch, "SELECT min (first) FROM chunks"), 1601);
  assert_int_equal (count_rows (scratch, "SELECT count (*) FROM events"), 1600);
  read_lines (scratch, INT64_MIN, INT64_MAX, &seen);
  assert_int_equal (seen.frames, 1600);
  buffer_free (&seen.text);
}

static void
test_size (void **state)
{
  struct scratch *scratch = *state;
  int64_t first, last;

  fill (scratch);
  trim_all (scratch, 0, 220000);
  first = count_rows (scratch, "SELECT min (first) FROM chunks");
  last = count_rows (scratch, "SELECT max (last) FROM chunks");
  assert_true (first > 1);
  assert_int_equal (last, 3200); /* the newest stay */
  assert_true (count_rows (scratch, "SELECT min (time) FROM events") > at (scratch, 1));
  trim_all (scratch, 0, 1); /* never ends in a loop */
  assert_int_equal (count_rows (scratch, "SELECT count (*) FROM chunks"), 0);
}

static void
test_writer_trims (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);

  fill (scratch);
  options.max_age_ns = clock_wall () - at (scratch, 1000);
  scratch->history = history_create (&options);
  assert_true (history_flush (scratch->history));
  scratch_close (scratch);
  assert_true (count_rows (scratch, "SELECT min (first) FROM chunks") > 500);
}

/* Who may write neither the file nor its folder reads it too, when no aggregator runs. */
static void
test_reader_without_rights (void **state)
{
  struct scratch *scratch = *state;
  struct seen_lines seen = { 0 };
  bool root = geteuid () == 0;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 20);
  scratch_close (scratch);
  chmod (scratch->path, 0444);
  chmod (scratch->folder, 0555);
  if (root && seteuid (65534) != 0)
    skip ();
  assert_int_equal (read_lines (scratch, INT64_MIN, INT64_MAX, &seen), 0);
  if (root)
    seteuid (0);
  chmod (scratch->folder, 0755);
  assert_int_equal (seen.frames, 20);
  buffer_free (&seen.text);
}

/* ---- events ---- */

static void
run_sql (struct scratch *scratch, const char *text)
{
  sqlite3 *database;

  assert_int_equal (sqlite3_open (scratch->path, &database), SQLITE_OK);
  assert_int_equal (sqlite3_exec (database, text, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close (database);
}

/* In order of their numbers, more of them than are read at once; what is no line is left out, and counted. */
static void
test_events (void **state)
{
  struct scratch *scratch = *state;
  struct seen_lines seen = { 0 };
  struct buffer expected = { 0 };

  scratch_open (scratch);
  scratch_close (scratch);
  run_sql (scratch, "WITH RECURSIVE list (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM list WHERE i < 1000) "
                    "INSERT INTO events (number, time, node, type, line) "
                    "SELECT 2000 - i, i, NULL, 'keys_reloaded', '{\"i\":' || i || '}' || char (10) FROM list");
  run_sql (scratch, "UPDATE events SET line = substr (line, 1, 5) WHERE id = 7");
  run_sql (scratch, "UPDATE events SET line = CAST (x'7b007d0a' AS TEXT) WHERE id = 8");
  run_sql (scratch, "UPDATE events SET line = '' WHERE id = 600");
  assert_int_equal (read_lines (scratch, 5, 999, &seen), 3);
  for (int i = 998; i >= 5; i--)
    if (i != 7 && i != 8 && i != 600)
      buffer_printf (&expected, "{\"i\":%d}\n", i);
  assert_int_equal (seen.events, 994 - 3);
  assert_int_equal (seen.text.length, expected.length);
  assert_memory_equal (seen.text.data, expected.data, expected.length);
  buffer_free (&seen.text);
  buffer_free (&expected);
}

/* ---- into chunks ---- */

struct seen_chunks {
  size_t count;
  struct {
    uint64_t session, first, last;
  } list[64];
};

static void
see_chunk (void *context, struct open_chunk *chunk)
{
  struct seen_chunks *seen = context;

  seen->list[seen->count].session = chunk->row.session;
  seen->list[seen->count].first = chunk->row.first;
  seen->list[seen->count++].last = chunk->row.last;
  assert_int_equal (chunk->chunk.count, 2 * (chunk->row.last - chunk->row.first + 1));
  open_chunk_destroy (chunk);
}

static bool
add (struct gather *gather, uint64_t session, uint64_t sequence, int64_t time_ns, int64_t now_ns)
{
  struct gathered one = { .node = "n1",
                          .session = session,
                          .sequence = sequence,
                          .time_ns = time_ns,
                          .record = "r",
                          .record_length = 1,
                          .frame = "frame",
                          .frame_length = 5 };

  return gather_add (gather, &one, now_ns);
}

static void
test_gather (void **state)
{
  struct seen_chunks seen = { 0 };
  struct gather *gather = gather_create (
      &(struct gather_options){ .chunk_frames = 4, .chunk_ns = 10, .context = &seen, .whole = see_chunk });

  (void) state;
  assert_true (gather_due (gather) == INT64_MAX);
  for (uint64_t i = 1; i <= 5; i++) /* a chunk is full, another begins */
    assert_true (add (gather, 1, i, 0, (int64_t) i));
  assert_int_equal (seen.count, 1);
  assert_true (seen.list[0].first == 1 && seen.list[0].last == 4);
  assert_false (add (gather, 1, 5, 0, 5));
  assert_true (gather_due (gather) == 15);
  assert_true (add (gather, 1, 10, 0, 6)); /* a gap: side by side */
  assert_true (add (gather, 1, 6, 0, 7));
  assert_true (add (gather, 1, 11, 0, 7));
  gather_close (gather, 14);
  assert_int_equal (seen.count, 1);
  gather_close (gather, 15);
  assert_int_equal (seen.count, 2);
  assert_true (seen.list[1].first == 5 && seen.list[1].last == 6);
  assert_true (add (gather, 1, 12, HISTORY_SPAN_NS + 1, 8)); /* too far in time for one chunk */
  assert_int_equal (seen.count, 3);
  assert_true (seen.list[2].first == 10 && seen.list[2].last == 11);
  for (uint64_t i = 0; i < 8; i++) /* no more than a few are open for a session */
    assert_true (add (gather, 1, 100 + 10 * i, HISTORY_SPAN_NS + 1, 9));
  assert_int_equal (seen.count, 3 + 9 - 4);
  for (uint64_t i = 0; i < 8; i++)
    assert_true (add (gather, 50 + i, UINT64_MAX, INT64_MIN, 9));
  gather_close (gather, INT64_MAX);
  assert_int_equal (seen.count, 3 + 9 + 8);
  assert_true (add (gather, 1, 1, 0, 0)); /* left open: dropped by destroy */
  gather_destroy (gather);
}

/* ---- times ---- */

static int64_t
when (const char *text)
{
  int64_t ns;
  struct error error;

  if (when_parse (text, INT64_C (1795262400) * NS_PER_S, &ns, &error) < 0) /* 2026-11-21 12:00:00 UTC, a Saturday */
    return -1;
  return ns;
}

static void
test_when (void **state)
{
  static const char *const wrong[] = { "",
                                       "25:00",
                                       "10:61",
                                       "yesterday",
                                       "-",
                                       "-1x",
                                       "10",
                                       "2026-13-01",
                                       "2026-02-29",
                                       "2026-11-31T10:00:00Z",
                                       "10:00Zulu",
                                       "2026-11-21T10:00:00+1",
                                       "2026-11-21T10:00:00Zz",
                                       "--1h",
                                       "2026-11-21T",
                                       "now " };
  const int64_t noon = INT64_C (1795262400) * NS_PER_S, hour = 3600 * NS_PER_S;

  (void) state;
  setenv ("TZ", "CET-1", 1); /* an hour ahead */
  tzset ();
  assert_true (when ("now") == noon);
  assert_true (when ("-1h") == noon - hour && when ("-90s") == noon - 90 * NS_PER_S &&
               when ("-2d") == noon - 48 * hour);
  assert_true (when ("2026-11-21T12:00:00Z") == noon && when ("2026-11-21t12:00:00z") == -1);
  assert_true (when ("2026-11-21T12:00:00.25Z") == noon + NS_PER_S / 4);
  assert_true (when ("2026-11-21T12:00:00.123456789123Z") == noon + 123456789);
  assert_true (when ("2026-11-21T12:00:00+02:00") == noon - 2 * hour);
  assert_true (when ("2026-11-21T12:00-01:30") == noon + hour + hour / 2);
  assert_true (when ("2026-11-21 13:00") == noon && when ("2026-11-21 13:00:01") == noon + NS_PER_S);
  assert_true (when ("2026-11-21") == noon - 13 * hour);
  assert_true (when ("13:00") == noon && when ("00:00") == noon - 13 * hour &&
               when ("13:00:02") == noon + 2 * NS_PER_S);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    if (when (wrong[i]) != -1)
      fail_msg ("\"%s\" was taken", wrong[i]);
}

int
main (void)
{
#define TEST(function) cmocka_unit_test_setup_teardown (function, scratch_create, scratch_destroy)
  const struct CMUnitTest tests[] = {
    TEST (test_begins_anywhere),
    TEST (test_late_frames_and_order),
    TEST (test_ticks_are_computed_again),
    TEST (test_a_view_gets_what_it_takes),
    TEST (test_stops_when_told),
    TEST (test_broken_chunk_is_left_out),
    TEST (test_schema_missing),
    TEST (test_no_file_and_no_history),
    TEST (test_age),
    TEST (test_size),
    TEST (test_writer_trims),
    TEST (test_reader_without_rights),
    TEST (test_events),
    cmocka_unit_test (test_gather),
    cmocka_unit_test (test_when),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
