/* The history's writer: what was stored stays, once, whatever happens; what is wrong is told, and heals by itself. */
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/aggregator/history/history_bench.h"

static void
test_stored_byte_for_byte (void **state)
{
  struct scratch *scratch = *state;
  struct history_counts counts;
  struct counted *counted;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 1, 100);
  put_range (scratch, "n2", 2, 7, 30);
  history_put_event (scratch->history,
                     &(struct event){ .type = EVENT_NODE_UP, .node = "n1", .wall_ns = clock_wall () });
  assert_true (history_flush (scratch->history));
  poll_events (scratch);
  assert_int_equal (scratch->event_count, 0);
  history_count (scratch->history, &counts);
  assert_int_equal (counts.frames_stored, 124);
  assert_int_equal (counts.frames_not_stored, 0);
  counted = count_stored (scratch); /* while it is open for writing */
  assert_int_equal (counted->frames, 124);
  assert_int_equal (counted->events, 1);
  free (counted);
  assert_stored_once (scratch, 1, 1, 100);
  assert_stored_once (scratch, 2, 7, 30);
}

static void
test_stored_once (void **state)
{
  struct scratch *scratch = *state;
  struct counted *counted;

  scratch_open (scratch);
  put_range (scratch, "n1", 1, 10, 40);
  put_range (scratch, "n1", 1, 10, 40); /* while their chunks are open */
  history_flush (scratch->history);
  put_range (scratch, "n1", 1, 1, 60); /* and when they are written */
  put_made (scratch, "n1", 1, 61, 60, true);
  put_made (scratch, "n2", 1, 20, 0, false); /* another node with the same session */
  history_flush (scratch->history);
  scratch_close (scratch);
  scratch_open (scratch); /* and by another run */
  put_range (scratch, "n1", 1, 30, 70);
  scratch_close (scratch);
  counted = count_stored (scratch);
  assert_int_equal (counted->frames, 71);
  assert_int_equal (counted->seen[1][20], 2); /* of two nodes */
  free (counted);
}

struct seen_ranges {
  size_t count;
  struct {
    char node[65];
    uint64_t session, first, last;
  } list[16];
};

static void
see_range (void *context, const char *node, uint64_t session, uint64_t first, uint64_t last)
{
  struct seen_ranges *seen = context;

  strcpy (seen->list[seen->count].node, node);
  seen->list[seen->count].session = session;
  seen->list[seen->count].first = first;
  seen->list[seen->count++].last = last;
}

static void
test_ranges_for_the_restart (void **state)
{
  struct scratch *scratch = *state;
  struct seen_ranges seen = { 0 };

  scratch_open (scratch);
  put_range (scratch, "n2", 3, 1, 50);
  put_range (scratch, "n1", UINT64_MAX, 1, 40);
  put_range (scratch, "n1", UINT64_MAX, 60, 99); /* live, while 50 to 55 is fetched */
  put_range (scratch, "n1", UINT64_MAX, 50, 55);
  put_range (scratch, "n1", UINT64_MAX, 41, 41);
  scratch_close (scratch);
  scratch_open (scratch);
  history_each_range (scratch->history, &seen, see_range);
  assert_int_equal (seen.count, 4);
  assert_string_equal (seen.list[0].node, "n1");
  assert_true (seen.list[0].session == UINT64_MAX && seen.list[0].first == 1 && seen.list[0].last == 41);
  assert_true (seen.list[1].first == 50 && seen.list[1].last == 55);
  assert_true (seen.list[2].first == 60 && seen.list[2].last == 99);
  assert_string_equal (seen.list[3].node, "n2");
  assert_true (seen.list[3].first == 1 && seen.list[3].last == 50);
}

/* ---- killed ---- */

/* Writes frames, and after each flush tells up to which they are stored, until it is killed. */
static void
write_until_killed (struct scratch *scratch, uint64_t from, int tell)
{
  scratch_open (scratch);
  for (uint64_t i = from; i < 4096; i++) {
    put_made (scratch, "n1", 1, i, i - 1, false);
    if (i % 7 == 0 && history_flush (scratch->history))
      (void) !write (tell, &i, sizeof i);
  }
  _exit (0);
}

static void
test_killed_at_any_point (void **state)
{
  struct scratch *scratch = *state;
  uint64_t acknowledged = 0, seed = 5;

  for (int turn = 0; turn < 12; turn++) {
    int ends[2];
    pid_t child;
    uint64_t told, patience;
    struct counted *counted;
    assert_int_equal (pipe (ends), 0);
    fflush (NULL);
    child = fork ();
    if (child == 0)
      write_until_killed (scratch, acknowledged + 1, ends[1]);
    close (ends[1]);
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    patience = 1 + (seed >> 33) % 9;
    while (patience-- && read (ends[0], &told, sizeof told) == sizeof told)
      acknowledged = told;
    usleep ((useconds_t) ((seed >> 40) % 3000)); /* anywhere in the next write */
    kill (child, SIGKILL);
    waitpid (child, NULL, 0);
    while (read (ends[0], &told, sizeof told) == sizeof told)
      acknowledged = told;
    close (ends[0]);
    assert_stored_once (scratch, 1, 1, acknowledged);
    counted = count_stored (scratch);
    for (size_t i = 0; i < 4096; i++)
      assert_true (counted->seen[1][i] <= 1); /* what was not acknowledged may be there, once */
    free (counted);
  }
  print_message ("# %llu frames\n", (unsigned long long) acknowledged);
  assert_true (acknowledged > 50);
}

/* ---- what is wrong ---- */

/* Puts a frame, finds it refused with these words, mends it, and finds all stored. */
static void
assert_heals (struct scratch *scratch, const char *words, void (*mend) (struct scratch *scratch))
{
  struct history_counts counts;

  put_range (scratch, "n1", 1, 1, 40);
  assert_false (history_flush (scratch->history));
  poll_events (scratch);
  assert_int_equal (scratch->event_count, 1);
  assert_int_equal (last_event (scratch)->type, EVENT_HISTORY_FAILED);
  if (!strstr (last_text (scratch), words))
    print_message ("# %s\n", last_text (scratch));
  assert_non_null (strstr (last_text (scratch), words));
  poll_events (scratch); /* told once */
  assert_int_equal (scratch->event_count, 1);
  put_range (scratch, "n1", 1, 41, 60);
  mend (scratch);
  assert_true (history_flush (scratch->history));
  poll_events (scratch);
  assert_int_equal (scratch->event_count, 2);
  assert_int_equal (last_event (scratch)->type, EVENT_HISTORY_RESUMED);
  history_count (scratch->history, &counts);
  assert_int_equal (counts.frames_stored, 60);
  scratch_close (scratch);
  assert_stored_once (scratch, 1, 1, 60); /* nothing that waited was lost */
}

static void
move_away (struct scratch *scratch)
{
  char *aside = memory_format ("%s.aside", scratch->path);

  assert_int_equal (rename (scratch->path, aside), 0);
  free (aside);
}

static void
test_corrupt_file (void **state)
{
  struct scratch *scratch = *state;
  FILE *file = fopen (scratch->path, "w");

  for (int i = 0; i < 5000; i++)
    fprintf (file, "no database %d\n", i);
  fclose (file);
  scratch_open (scratch);
  assert_heals (scratch, "move it away", move_away);
}

static void
run_sql (struct scratch *scratch, const char *text)
{
  sqlite3 *database;

  assert_int_equal (sqlite3_open (scratch->path, &database), SQLITE_OK);
  assert_int_equal (sqlite3_exec (database, text, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close (database);
}

static void
make_one (struct scratch *scratch, const char *then)
{
  scratch_open (scratch);
  put_range (scratch, "n9", 3, 1, 20);
  scratch_close (scratch);
  run_sql (scratch, then);
  scratch_open (scratch);
}

/* What is stored after that is in the new file, whole. */
static void
test_removed_file (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);

  options.retry_ns = 3600 * NS_PER_S; /* only when it is asked to */
  scratch->history = history_create (&options);
  put_range (scratch, "n1", 2, 1, 40);
  assert_true (history_flush (scratch->history));
  assert_int_equal (unlink (scratch->path), 0);
  put_range (scratch, "n1", 1, 1, 40);
  assert_false (history_flush (scratch->history));
  poll_events (scratch);
  assert_int_equal (last_event (scratch)->type, EVENT_HISTORY_FAILED);
  assert_non_null (strstr (last_text (scratch), "removed"));
  assert_true (history_flush (scratch->history));
  poll_events (scratch);
  assert_int_equal (last_event (scratch)->type, EVENT_HISTORY_RESUMED);
  scratch_close (scratch);
  assert_stored_once (scratch, 1, 1, 40);
}

static void
test_newer_version (void **state)
{
  make_one (*state, "PRAGMA user_version = 3");
  assert_heals (*state, "newer aggregator", move_away);
}

static void
test_table_missing (void **state)
{
  make_one (*state, "DROP TABLE events");
  assert_heals (*state, "move it away", move_away);
}

static void
test_another_database (void **state)
{
  struct scratch *scratch = *state;

  run_sql (scratch, "CREATE TABLE cats (name TEXT)");
  scratch_open (scratch);
  assert_heals (scratch, "no history of synop", move_away);
}

static struct history *other;

static void
close_other (struct scratch *scratch)
{
  (void) scratch;
  history_destroy (other);
}

static void
test_another_aggregator (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);

  other = history_create (&options);
  assert_true (history_flush (other));
  scratch_open (scratch);
  assert_heals (scratch, "another aggregator", close_other);
}

static void
test_another_aggregator_by_a_link (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);
  char *link = memory_format ("%s.link", scratch->path);

  other = history_create (&options);
  assert_true (history_flush (other));
  assert_int_equal (symlink (scratch->path, link), 0);
  options.path = link;
  scratch->history = history_create (&options);
  assert_heals (scratch, "another aggregator", close_other);
  free (link);
}

static void
make_folder (struct scratch *scratch)
{
  char *folder = memory_format ("%s/sub", scratch->folder);

  assert_int_equal (unlink (folder), 0);
  free (folder);
}

static void
test_no_folder (void **state)
{
  struct scratch *scratch = *state;
  char *in_the_way = memory_format ("%s/sub", scratch->folder);

  fclose (fopen (in_the_way, "w"));
  snprintf (scratch->path, sizeof scratch->path, "%s/sub/history.db", scratch->folder);
  scratch_open (scratch);
  assert_heals (scratch, "let the aggregator write", make_folder);
  free (in_the_way);
}

static void
let_write (struct scratch *scratch)
{
  chmod (scratch->folder, 0777);
}

static void
test_read_only_folder (void **state)
{
  struct scratch *scratch = *state;
  bool root = geteuid () == 0;

  chmod (scratch->folder, 0555);
  if (root && seteuid (65534) != 0)
    skip ();
  scratch_open (scratch);
  if (root) { /* the folder's owner mends it */
    put_range (scratch, "n1", 1, 1, 5);
    assert_false (history_flush (scratch->history));
    poll_events (scratch);
    assert_non_null (strstr (last_text (scratch), "let the aggregator write"));
    syscall (SYS_setresuid, -1, 0, -1); /* this thread alone: a try of the writer's would make the file as root */
    let_write (scratch);
    syscall (SYS_setresuid, -1, 65534, -1);
    assert_true (history_flush (scratch->history));
    poll_events (scratch);
    assert_int_equal (last_event (scratch)->type, EVENT_HISTORY_RESUMED);
    scratch_close (scratch);
    assert_stored_once (scratch, 1, 1, 5);
    seteuid (0);
  } else {
    assert_heals (scratch, "let the aggregator write", let_write);
  }
}

/* A limit on the size of files is a disk that is full for this process alone. */
static void
more_room (struct scratch *scratch)
{
  struct rlimit limit;

  (void) scratch;
  getrlimit (RLIMIT_FSIZE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit (RLIMIT_FSIZE, &limit);
}

static void
test_no_room (void **state)
{
  struct scratch *scratch = *state;
  struct rlimit limit;

  signal (SIGXFSZ, SIG_IGN);
  scratch_open (scratch);
  assert_true (history_flush (scratch->history));
  getrlimit (RLIMIT_FSIZE, &limit);
  limit.rlim_cur = 8192;
  setrlimit (RLIMIT_FSIZE, &limit);
  assert_heals (scratch, "history.db", more_room);
}

static char filler[160];

static void
remove_filler (struct scratch *scratch)
{
  (void) scratch;
  assert_int_equal (unlink (filler), 0);
}

static void
test_full_tmpfs (void **state)
{
  struct scratch *scratch = *state;
  FILE *file;

  if (mount ("none", scratch->folder, "tmpfs", 0, "size=1M") != 0) {
    print_message ("# skip: a tmpfs cannot be mounted here: %s\n", strerror (errno));
    skip ();
  }
  scratch_open (scratch);
  put_range (scratch, "n2", 2, 1, 30);
  assert_true (history_flush (scratch->history));
  snprintf (filler, sizeof filler, "%s/filler", scratch->folder);
  file = fopen (filler, "w");
  while (putc ('x', file) != EOF && fflush (file) == 0)
    ;
  fclose (file);
  /* The log has some pages that can be written again: fill them. */
  for (uint64_t i = 1; i < 4000 && history_flush (scratch->history); i += 16)
    put_range (scratch, "n3", 3, i, i + 15);
  poll_events (scratch);
  assert_int_equal (scratch->event_count, 1);
  assert_non_null (strstr (last_text (scratch), "make room"));
  remove_filler (scratch);
  assert_true (history_flush (scratch->history));
  poll_events (scratch);
  assert_int_equal (last_event (scratch)->type, EVENT_HISTORY_RESUMED);
  scratch_close (scratch);
  assert_stored_once (scratch, 2, 1, 30);
  assert_stored_once (scratch, 3, 1, 16);
  umount (scratch->folder);
}

/* Memory is bounded: what finds no room is counted and told, and it goes on by itself. */
static void
test_bounded_queue (void **state)
{
  struct scratch *scratch = *state;
  struct history_options options = scratch_options (scratch);
  struct history_counts counts;
  struct counted *counted;

  snprintf (scratch->path, sizeof scratch->path, "%s/folder", scratch->folder); /* is no database */
  assert_int_equal (mkdir (scratch->path, 0755), 0);
  options.queue_bytes = 200000;
  scratch->history = history_create (&options);
  for (uint64_t i = 1; i <= 3000; i++)
    put_made (scratch, "n1", 1, i, i - 1, false);
  history_flush (scratch->history);
  for (uint64_t i = 3001; i <= 4000; i++)
    put_made (scratch, "n1", 1, i, i - 1, false);
  history_flush (scratch->history);
  history_count (scratch->history, &counts);
  assert_int_equal (counts.frames_stored, 0);
  poll_events (scratch);
  assert_int_equal (last_event (scratch)->type, EVENT_HISTORY_FAILED);
  assert_int_equal (last_event (scratch)->count, counts.frames_not_stored);
  scratch_close (scratch);

  snprintf (scratch->path, sizeof scratch->path, "%s/history.db", scratch->folder);
  options.path = scratch->path;
  scratch->history = history_create (&options); /* now the disk is only slower than what comes */
  for (uint64_t i = 1; i <= 4000; i++)
    put_made (scratch, "n1", 1, i, 0, false);
  history_flush (scratch->history);
  history_count (scratch->history, &counts);
  assert_int_equal (counts.frames_stored + counts.frames_not_stored, 4000);
  scratch_close (scratch);
  counted = count_stored (scratch);
  assert_int_equal (counted->frames, counts.frames_stored);
  free (counted);
}

/* ---- schemas of late frames ---- */

static void
assert_schema (const struct scratch *scratch, const struct schema *schema)
{
  const struct buffer *bytes = history_schema (scratch->history, schema->hash);

  assert_non_null (bytes);
  assert_int_equal (bytes->length, schema->encoded.length);
  assert_memory_equal (bytes->data, schema->encoded.data, bytes->length);
}

/* What this run has put, at once, and what the runs before have: the newest. */
static void
test_schemas (void **state)
{
  struct scratch *scratch = *state;
  struct schema *first = scratch->schema, *last = NULL;
  char help[16];
  struct metric metrics[] = { made_metrics[0], made_metrics[1] };
  struct group group = made_group;
  const struct group *const list[] = { &made_group, &group };

  scratch_open (scratch);
  assert_null (history_schema (scratch->history, first->hash));
  put_made (scratch, "n1", 1, 1, 0, false);
  assert_schema (scratch, first);
  scratch_close (scratch);
  scratch_open (scratch);
  assert_schema (scratch, first);

  metrics[0].help = help;
  group.metrics = metrics;
  group.name = "other";
  for (uint64_t i = 0; i < 70; i++) {
    snprintf (help, sizeof help, "Number %u.", (unsigned) i);
    if (last)
      schema_destroy (last);
    last = scratch->schema = schema_create (list, 2);
    put_made (scratch, "n1", 1, i + 2, 0, false);
    assert_schema (scratch, last);
  }
  scratch_close (scratch);
  scratch_open (scratch);
  assert_schema (scratch, last);
  assert_null (history_schema (scratch->history, first->hash));
  schema_destroy (last);
  scratch->schema = first;
}

int
main (void)
{
#define TEST(function) cmocka_unit_test_setup_teardown (function, scratch_create, scratch_destroy)
  const struct CMUnitTest tests[] = {
    TEST (test_stored_byte_for_byte),
    TEST (test_stored_once),
    TEST (test_ranges_for_the_restart),
    TEST (test_killed_at_any_point),
    TEST (test_corrupt_file),
    TEST (test_removed_file),
    TEST (test_newer_version),
    TEST (test_table_missing),
    TEST (test_another_database),
    TEST (test_another_aggregator),
    TEST (test_another_aggregator_by_a_link),
    TEST (test_no_folder),
    TEST (test_read_only_folder),
    TEST (test_no_room),
    TEST (test_full_tmpfs),
    TEST (test_bounded_queue),
    TEST (test_schemas),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
