/* Whose what lies in the history's file is: shares of it, rooms, schemas that go, files of older programs, events that are
 * checked. */
#include <sqlite3.h>

#include "aggregator/history/history_store_private.h"
#include "tests/unit/aggregator/history/history_bench.h"

/* ---- the check for what is stored already ---- */

static int steps;

static int
count_step (void *context)
{
  (void) context;
  steps++;
  return 0;
}

static struct buffer any_schema = { .data = (char[]){ "schema" }, .length = 6 };

static int
store_one (struct history_store *store, const char *node, uint64_t sequence)
{
  static const uint8_t hash[SCHEMA_HASH_SIZE] = { 1 };
  struct buffer packed = { .data = (char[]){ "chunk" }, .length = 5 };
  struct chunk_row row = { .node = node,
                           .session = 7,
                           .first = sequence,
                           .last = sequence,
                           .first_time = (int64_t) sequence,
                           .last_time = (int64_t) sequence };
  struct error error = { "" };
  int result = history_store_chunk (store, &row, hash, &any_schema, &packed, &error);

  if (result < 0)
    fail_msg ("%s", error.text);
  return result;
}

/* Whatever the number of chunks, also of another node under the same session, a chunk costs the same work of SQLite. */
static void
test_check_costs_the_same (void **state)
{
  struct scratch *scratch = *state;
  struct error error;
  struct history_store *store = history_store_open (scratch->path, &error);
  int few, many;

  assert_non_null (store);
  sqlite3_progress_handler (store->database, 1, count_step, NULL);
  history_store_begin (store, &error);
  for (uint64_t i = 1; i <= 10; i++)
    assert_int_equal (store_one (store, "n1", 2 * i), 0);
  steps = 0;
  store_one (store, "n1", 22);
  few = steps;
  for (uint64_t i = 12; i <= 5000; i++)
    assert_int_equal (store_one (store, "n1", 2 * i), 0);
  for (uint64_t i = 1; i <= 5000; i++)
    assert_int_equal (store_one (store, "n2", 20000 + 2 * i), 0);
  steps = 0;
  assert_int_equal (store_one (store, "n1", 10002), 0);
  many = steps;
  steps = 0;
  assert_int_equal (store_one (store, "n1", 40000), 0); /* those of n2 lie between */
  many = steps > many ? steps : many;
  print_message ("# %d steps, %d after 10,000 chunks\n", few, many);
  assert_true (many < few + few / 2);
  for (uint64_t i = 1; i <= 5000; i += 499)
    assert_int_equal (store_one (store, "n1", 2 * i), 1); /* and finds all */
  assert_int_equal (store_one (store, "n1", 3), 0);
  history_store_end (store, &error);
  history_store_close (store);
}

/* ---- the file ---- */

/* What each has, as triggers kept it, is what there is. */
static void
assert_accounts (struct scratch *scratch)
{
  assert_int_equal (
      scratch_number (
          scratch,
          "WITH made AS (SELECT 'chunks' AS room, node AS owner, sum (length (data) + 200) AS bytes FROM chunks"
          " GROUP BY node UNION ALL SELECT 'chunks', node, sum (length (bytes)) FROM schema_uses"
          " JOIN schemas USING (hash) GROUP BY node UNION ALL"
          " SELECT 'events', ifnull (node, 0), sum (length (line) + 100) FROM events GROUP BY ifnull (node, 0) UNION "
          "ALL"
          " SELECT 'tiers', tier, sum (length (data) + 100) FROM tier_blocks GROUP BY tier UNION ALL"
          " SELECT 'tiers', 2, sum (length (data) + 100) FROM (SELECT data FROM tier_staged UNION ALL"
          " SELECT data FROM tier_parts) HAVING count (*) > 0),"
          " sums AS (SELECT room, owner, sum (bytes) AS bytes FROM made GROUP BY room, owner)"
          " SELECT (SELECT count (*) FROM (SELECT * FROM sums EXCEPT SELECT room, owner, bytes FROM uses)) +"
          " (SELECT count (*) FROM (SELECT room, owner, bytes FROM uses EXCEPT SELECT * FROM sums))"),
      0);
  assert_int_equal (
      scratch_number (scratch, "SELECT count (*) FROM schemas WHERE hash NOT IN (SELECT hash FROM schema_uses)"), 0);
}

/* A schema of 40 kB that nobody else has. */
static struct schema *
large_schema (unsigned number)
{
  static struct metric metrics[100];
  static char names[100][16], helps[100][400];
  static struct group group;
  static const struct group *list[] = { &made_group, &group };

  group = made_group;
  for (int i = 0; i < 100; i++) {
    snprintf (names[i], sizeof names[i], "m%d", i);
    snprintf (helps[i], sizeof helps[i], "%0390u.", number);
    metrics[i] = (struct metric){ names[i], GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE, .help = helps[i] };
  }
  group.name = "other";
  group.metrics = metrics;
  group.metric_count = 100;
  return schema_create (list, 2);
}

#define USED "(SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)"

/* With each session another schema: those that no frame needs any more go, and what they take counts as the node's own. */
static void
test_schemas_go (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);
  struct schema *good = scratch->schema;

  options.max_size = 1 << 20;
  scratch->history = history_create (&options);
  for (unsigned i = 0; i < 110; i++) {
    scratch->schema = good;
    put_range (scratch, "n1", 1, 1 + 4 * i, 4 + 4 * i);
    scratch->schema = large_schema (i);
    put_made (scratch, "evil", 1000 + i, 1, 0, false);
    schema_destroy (scratch->schema);
    if (i % 10 == 9)
      assert_true (history_flush (scratch->history));
  }
  scratch->schema = good;
  scratch_close (scratch);
  assert_int_equal (frames_of (scratch, "n1"), 440);
  assert_in_range (scratch_number (scratch, "SELECT 4096 * (" USED ")"), 1, 1 << 20);
  assert_in_range (scratch_number (scratch, "SELECT count (*) FROM schemas"), 2, 26);
  assert_accounts (scratch);
  scratch_sql (scratch, "DELETE FROM chunks WHERE node = (SELECT id FROM nodes WHERE name = 'evil')");
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM schemas"), 1);
  assert_accounts (scratch);
  assert_stored_once (scratch, 1, 1, 440); /* can be read */
}

static void
put_job (struct scratch *scratch, int64_t key, const char *node, bool ended)
{
  char command[1000], label[32];
  struct job_row row = { .kind = JOB_ROW_JOB, .key = key, .time_ns = scratch->start_ns + key, .cpus = 1 };

  memset (command, 'c', sizeof command - 1);
  command[sizeof command - 1] = '\0';
  snprintf (label, sizeof label, "%lld", (long long) key);
  row.texts[0] = label;
  row.texts[1] = row.texts[2] = row.texts[3] = "";
  row.texts[4] = command;
  row.texts[5] = "";
  history_put_job (scratch->history, &row);
  row = (struct job_row){ .kind = JOB_ROW_NODE, .key = key, .time_ns = scratch->start_ns + key, .texts = { node } };
  history_put_job (scratch->history, &row);
  row = (struct job_row){ .kind = ended ? JOB_ROW_END : JOB_ROW_MARK,
                          .key = key,
                          .time_ns = scratch->start_ns + key + 1,
                          .texts = { ended ? "gone" : "state", ended ? "{}" : NULL } };
  history_put_job (scratch->history, &row);
}

/* What one node sends ten times over goes first, its own; events and jobs are no more than their rooms, and no less for it. */
static void
test_rooms (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);
  struct history_counts counts;
  int64_t key = 1000;

  options.max_size = 1 << 20;
  scratch->history = history_create (&options);
  for (int64_t i = 0; i < 3; i++)
    put_job (scratch, ++key, "n1", true);
  put_job (scratch, ++key, "n2", false);
  for (uint64_t i = 0; i < 20; i++) {
    put_range (scratch, "n1", 1, 1 + 40 * i, 40 + 40 * i);
    put_range (scratch, "n2", 2, 1 + 40 * i, 40 + 40 * i);
    for (uint64_t k = 1; k <= 2000; k++)
      put_made (scratch, "evil", 3, 2 * (2000 * i + k), 0, false); /* a chunk each */
    history_put_event (scratch->history,
                       &(struct event){ .type = EVENT_GAP, .node = "n1", .wall_ns = scratch->start_ns + (int64_t) i });
    for (int64_t k = 0; k < 100; k++)
      history_put_event (
          scratch->history,
          &(struct event){ .type = EVENT_GAP, .node = "evil", .wall_ns = scratch->start_ns + (int64_t) i + NS_PER_S });
    for (int64_t k = 0; k < 40; k++)
      put_job (scratch, ++key, "evil", true);
    /* Deleting has its time after each write, which may not be enough on a machine that is slow. */
    for (int writes = 0; writes < 100; writes++) {
      assert_true (history_flush (scratch->history));
      poll_events (scratch);
      if (scratch_number (scratch, "SELECT 4096 * (" USED ")") <= 1 << 20)
        break;
      put_range (scratch, "n3", 5, 1 + 100 * i + (uint64_t) writes, 1 + 100 * i + (uint64_t) writes);
    }
    assert_in_range (scratch_number (scratch, "SELECT 4096 * (" USED ")"), 1, 1 << 20);
  }
  assert_int_equal (told (scratch, "history_size", "evil"), 1);
  assert_int_equal (told (scratch, "history_size", "n1"), 0);
  history_count (scratch->history, &counts);
  assert_true (counts.chunks_over_share > 1000);
  scratch_close (scratch);
  assert_int_equal (frames_of (scratch, "n1"), 800);
  assert_int_equal (frames_of (scratch, "n2"), 800);
  assert_int_equal (
      scratch_number (scratch, "SELECT count (*) FROM events WHERE node = (SELECT id FROM nodes WHERE name = 'n1')"),
      20);
  assert_in_range (scratch_number (scratch, "SELECT sum (bytes) FROM uses WHERE room = 'events'"), 50000,
                   (1 << 20) / 10);
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM jobs WHERE key <= 1004"), 4);
  assert_in_range (scratch_number (scratch, "SELECT count (*) FROM jobs"), 40, 100);
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM job_ends WHERE job NOT IN (SELECT key FROM jobs)"),
                    0);
  assert_accounts (scratch);
}

/* Rows of a job that there was no room for are not kept: nothing would ever delete them. */
static void
test_rows_without_job (void **state)
{
  struct scratch *scratch = *state;

  scratch_open (scratch);
  for (enum job_row_kind kind = JOB_ROW_NODE; kind <= JOB_ROW_MARK; kind++)
    history_put_job (scratch->history, &(struct job_row){ .kind = kind, .key = 7, .texts = { "n1", "{}" } });
  scratch_close (scratch);
  assert_int_equal (scratch_number (scratch,
                                    "SELECT (SELECT count (*) FROM job_nodes) + (SELECT count (*) FROM job_ends) + "
                                    "(SELECT count (*) FROM job_marks)"),
                    0);
}

/* Most jobs run and none ends: they are no more than the room either. */
static void
test_jobs_that_run (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);

  options.max_size = 1 << 20;
  scratch->history = history_create (&options);
  for (int64_t i = 1; i <= 1000; i++)
    put_job (scratch, i, "n1", false);
  assert_true (history_flush (scratch->history));
  scratch_close (scratch);
  assert_in_range (scratch_number (scratch, "SELECT count (*) FROM jobs"), 40, 100);
}

/* ---- of an older program ---- */

static const char make_old[] =
    "DROP TABLE tier_metrics; DROP TABLE tier_maps; DROP TABLE tier_staged; DROP TABLE tier_parts; DROP TABLE "
    "tier_repairs; DROP TABLE tier_blocks;"
    "DROP TRIGGER chunk_unfolded; DROP TRIGGER chunk_gone; DROP TABLE unfolded; PRAGMA user_version = 1;"
    "DROP TRIGGER chunk_added; DROP TRIGGER chunk_deleted; DROP TRIGGER schema_used; DROP TRIGGER schema_unused;"
    "DROP TRIGGER event_added; DROP TRIGGER event_deleted; DROP TABLE uses; DROP TABLE schema_uses;"
    "DROP INDEX chunks_node; DROP INDEX chunks_node_time; DROP INDEX events_node;"
    "CREATE INDEX chunks_session ON chunks (session, first); ALTER TABLE events DROP COLUMN sum;";

static void
test_older_file (void **state)
{
  struct scratch *scratch = *state;
  struct counted *counted;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 64);
  put_range (scratch, "n2", 2, 1, 64);
  history_put_event (scratch->history,
                     &(struct event){ .type = EVENT_GAP, .node = "n1", .wall_ns = scratch->start_ns });
  scratch_close (scratch);
  scratch_sql (scratch, make_old);
  assert_stored_once (scratch, 1, 1, 64); /* it is read as it is */
  counted = count_stored (scratch);
  assert_int_equal (counted->events, 1);
  free (counted);
  scratch_open (scratch);
  assert_true (history_flush (scratch->history));
  assert_accounts (scratch);
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM schema_uses"), 2);
  put_range (scratch, "n1", 1, 60, 80);
  scratch_close (scratch);
  assert_accounts (scratch);
  counted = count_stored (scratch);
  assert_int_equal (counted->frames, 64 + 16 + 64);
  free (counted);
}

/* An older program goes on with a newer file: what it adds counts, and the schemas of its chunks stay. */
static void
test_older_program_writes (void **state)
{
  struct scratch *scratch = *state;
  struct counted *counted;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 16);
  put_range (scratch, "n2", 2, 1, 16);
  scratch_close (scratch);
  scratch_sql (scratch, "INSERT OR IGNORE INTO schemas (hash, bytes) SELECT hash, bytes FROM schemas;"
                        "INSERT INTO chunks SELECT NULL, node, session, first, last, first_time + 9000000000000,"
                        " last_time + 9000000000000, first_number, last_number, data FROM chunks WHERE node = 1;"
                        "INSERT INTO events (number, time, node, type, line) VALUES (1, 9000000000000000000, 1, 'gap', "
                        "'{\"a\":1}' || char (10));"
                        "DELETE FROM chunks WHERE id = 1");
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM schema_uses WHERE node = 1"), 0);
  scratch_open (scratch); /* the uses of its chunks are found out */
  scratch_close (scratch);
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM schema_uses WHERE node = 1"), 1);
  scratch_sql (scratch, "DELETE FROM chunks WHERE node = 2");
  assert_int_equal (scratch_number (scratch, "SELECT count (*) FROM schemas"), 1);
  assert_accounts (scratch);
  scratch_sql (scratch,
               "UPDATE chunks SET first_time = first_time - 9000000000000, last_time = last_time - 9000000000000");
  counted = count_stored (scratch);
  assert_int_equal (counted->frames, 16);
  assert_int_equal (counted->events, 1);
  free (counted);
}

/* ---- events ---- */

/* Whatever is changed of an event shows. */
static void
test_events_are_checked (void **state)
{
  static const char *const damages[] = { "number = number + 1",
                                         "time = time + 1",
                                         "node = NULL",
                                         "node = 2",
                                         "type = 'gup'",
                                         "line = replace (line, 'gap', 'gaq')",
                                         "line = substr (line, 2)",
                                         "sum = sum + 1" };

  for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
    struct scratch *scratch;
    struct stored_event events[4];
    struct error error;
    struct history_file *file;
    const int64_t rows[] = { 1, 2, 3 };
    char *text = memory_format ("UPDATE events SET %s WHERE id = 2", damages[i]);
    int count;

    scratch_create ((void **) &scratch);
    scratch_open (scratch);
    for (int64_t k = 0; k < 3; k++)
      history_put_event (
          scratch->history,
          &(struct event){ .type = EVENT_GAP, .node = k < 2 ? "n1" : "n2", .wall_ns = scratch->start_ns });
    scratch_close (scratch);
    scratch_sql (scratch, text);
    file = history_file_open (scratch->path, &error);
    count = history_file_events (file, rows, 3, events, &error);
    assert_int_equal (count, 3);
    if (events[0].broken || !events[1].broken || events[2].broken)
      fail_msg ("%s", text);
    while (count > 0)
      stored_event_free (&events[--count]);
    history_file_close (file);
    free (text);
    scratch_destroy ((void **) &scratch);
  }
  (void) state;
}

/* ---- the restart ---- */

static void
count_range (void *context, const char *node, uint64_t session, uint64_t first, uint64_t last)
{
  size_t *counts = context;

  (void) session;
  assert_true (first <= last);
  counts[strcmp (node, "n1") == 0]++;
}

/* Of a node whose frames have gaps everywhere no more is read than of others. */
static void
test_ranges_are_bounded (void **state)
{
  struct scratch *scratch = *state;
  struct error error;
  struct history_store *store = history_store_open (scratch->path, &error);
  struct buffer packed = { .data = (char[]){ "chunk" }, .length = 5 };
  static const uint8_t hash[SCHEMA_HASH_SIZE] = { 1 };
  size_t counts[2] = { 0 };

  assert_non_null (store);
  history_store_begin (store, &error);
  for (uint64_t i = 1; i <= 6000; i++) {
    struct chunk_row row = { .node = i % 100 ? "evil" : "n1",
                             .session = 7,
                             .first = 2 * i,
                             .last = 2 * i,
                             .first_time = clock_wall (),
                             .last_time = clock_wall () };
    assert_int_equal (history_store_chunk (store, &row, hash, &any_schema, &packed, &error), 0);
  }
  history_store_end (store, &error);
  assert_int_equal (history_store_ranges (store, clock_wall () - 3600 * NS_PER_S, counts, count_range, &error), 0);
  assert_int_equal (counts[0], 4096);
  assert_int_equal (counts[1], 60);
  history_store_close (store);
}

int
main (void)
{
#define TEST(function) cmocka_unit_test_setup_teardown (function, scratch_create, scratch_destroy)
  const struct CMUnitTest tests[] = {
    TEST (test_check_costs_the_same),
    TEST (test_schemas_go),
    TEST (test_rooms),
    TEST (test_rows_without_job),
    TEST (test_jobs_that_run),
    TEST (test_older_file),
    TEST (test_older_program_writes),
    cmocka_unit_test (test_events_are_checked),
    TEST (test_ranges_are_bounded),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
