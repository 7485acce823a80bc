/* Groups that fail: what is told of their errors, and what is not. */
#include "aggregator/server/status.h"
#include "tests/unit/aggregator/core/cluster_bench.h"
#include "tests/unit/json_look.h"

/* Beside small_group, which is in every frame. */
enum { GPU, LINK, NFS, WATCHED };
static const struct metric state_metrics[] = { { "state", TEXT, .flags = METRIC_OF_NODE, .help = "State." } };
#define STATE_GROUP(name) name, "", "", "", "", 0, "A group.", GROUP_METRICS (state_metrics)
static const struct group gpu_group = { STATE_GROUP ("gpu") };
static const struct group link_group = { STATE_GROUP ("gpu_link") };
static const struct group nfs_group = { STATE_GROUP ("nfs") };
static const struct group *const all_groups[] = { &small_group, &gpu_group, &link_group, &nfs_group, &fact_group };
static const struct group *const fewer_groups[] = { &small_group, &nfs_group, &link_group };
static const struct group *const watched[] = { &gpu_group, &link_group, &nfs_group, &fact_group };

#define NO ((const char *) 0)
#define OLD 7 /* a session */
#define NEW 8
#define SLOW 100 /* seconds: the period of nfs, as its tables say */

static int
set_up (void **state)
{
  struct bench *bench;

  bench_set_up (state);
  bench = *state;
  schema_destroy (bench->schema);
  schema_destroy (bench->other);
  bench->schema = schema_create (all_groups, 5);
  bench->other = schema_create (fewer_groups, 3);
  send_hello (bench, "n1", "n1", OLD, NS_PER_S);
  send_good_schema (bench, "n1");
  send_plain (bench, "n1", OLD, 1); /* asks for the schema */
  send_good_schema (bench, "n1");
  assert_int_equal (bench->frames, 1);
  return 0;
}

/* A frame of n1 with these groups of `watched`: an error, "" is fine, NO is not in it. They have a value too, but for an
 * error that begins with "none". */
static void
send_errors (struct bench *bench, const struct schema *schema, uint64_t session, uint64_t sequence,
             const char *const errors[WATCHED + 1])
{
  struct frame_header header = {
    .node = "n1", .session = session, .sequence = sequence, .monotonic_ns = bench->now_ns
  };
  struct table tables[1 + WATCHED + 1];
  const struct table *sent[1 + WATCHED + 1] = { &tables[0] };
  struct buffer bytes = { 0 };
  size_t count = 1;

  memcpy (header.schema, schema->hash, SCHEMA_HASH_SIZE);
  table_init (&tables[0], &small_group);
  table_add_row (&tables[0], "d0", 2);
  table_set_uint (&tables[0], 0, 0, 5);
  for (size_t i = 0; i <= WATCHED; i++)
    if (errors[i]) {
      table_init (&tables[count], watched[i]);
      tables[count].period_ns = i == NFS ? SLOW * NS_PER_S : NS_PER_S;
      strcpy (tables[count].error, errors[i]);
      if (strncmp (errors[i], "none", 4) != 0)
        table_set_text (&tables[count], TABLE_NODE, 0, "on", 2);
      sent[count] = &tables[count];
      count++;
    }
  frame_write (&bytes, &header, schema, sent, count);
  deliver (bench, "n1", CLUSTER_DATA, &bytes);
  buffer_free (&bytes);
  while (count--)
    table_free (&tables[count]);
}

/* A second later, of the current session. */
static void
sample (struct bench *bench, const char *gpu, const char *link, const char *nfs)
{
  const struct session *session = &cluster_find (bench->cluster, "n1")->sessions[0];
  size_t frames = bench->frames;

  pass (bench, NS_PER_S);
  send_errors (bench, bench->schema, session->id, session->sequence + 1, (const char *const[]){ gpu, link, nfs, NO });
  assert_int_equal (bench->frames, frames + 1);
}

static void
samples (struct bench *bench, size_t count, const char *gpu, const char *link, const char *nfs)
{
  while (count--)
    sample (bench, gpu, link, nfs);
}

static size_t
count_told (const struct bench *bench)
{
  return count_events (bench, EVENT_GROUP_FAILED, NULL, NULL) + count_events (bench, EVENT_GROUP_RECOVERED, NULL, NULL);
}

static void
check_told (const struct bench *bench, size_t count, enum event_type type, const char *told_groups, const char *error)
{
  const struct seen_event *last = NULL;

  for (size_t i = 0; i < bench->event_count; i++)
    if (bench->events[i].type == EVENT_GROUP_FAILED || bench->events[i].type == EVENT_GROUP_RECOVERED)
      last = &bench->events[i];
  assert_int_equal (count_told (bench), count);
  assert_non_null (last);
  assert_string_equal (last->node, "n1");
  assert_string_equal (last->groups, told_groups);
  assert_string_equal (last->text, error);
  assert_int_equal (last->type, type);
}

/* ---- two samples ---- */

static void
test_failed_and_recovered (void **state)
{
  struct bench *bench = *state;

  sample (bench, "GPU 3: lost", "GPU 3: lost", "");
  assert_int_equal (count_told (bench), 0);
  sample (bench, "GPU 3: lost", "GPU 3: lost", "");
  check_told (bench, 1, EVENT_GROUP_FAILED, "gpu gpu_link ", "GPU 3: lost");
  samples (bench, 30, "GPU 3: lost", "GPU 3: lost", "");
  assert_int_equal (count_told (bench), 1);
  sample (bench, "", "GPU 3: lost", "");
  sample (bench, "", "", "");
  check_told (bench, 2, EVENT_GROUP_RECOVERED, "gpu ", "GPU 3: lost");
  sample (bench, "", "", "");
  check_told (bench, 3, EVENT_GROUP_RECOVERED, "gpu_link ", "GPU 3: lost");
  assert_null (cluster_find (bench->cluster, "n1")->failures);
}

/* What a node never had is no event when it is first heard, nor is it for another session. */
static void
test_nothing_but_an_error_at_first (void **state)
{
  struct bench *bench = *state;

  samples (bench, 20, "GPU 3: lost", "none, no links", "");
  check_told (bench, 1, EVENT_GROUP_FAILED, "gpu ", "GPU 3: lost");
  assert_string_equal (group_failure_error (cluster_find (bench->cluster, "n1")->failures->next), "none, no links");
  samples (bench, 2, "GPU 3: lost", "none, no links", "no answer");
  check_told (bench, 2, EVENT_GROUP_FAILED, "nfs ", "no answer");
  samples (bench, 2, "GPU 3: lost", "", "no answer");
  assert_int_equal (count_told (bench), 2);
  assert_ptr_equal (cluster_find (bench->cluster, "n1")->failures->next->next, NULL);
  samples (bench, 2, "GPU 3: lost", "none, no links", "no answer");
  check_told (bench, 3, EVENT_GROUP_FAILED, "gpu_link ", "none, no links");
  samples (bench, 12, "GPU 3: lost", "", "no answer");
  check_told (bench, 4, EVENT_GROUP_RECOVERED, "gpu_link ", "none, no links");
}

/* Its first sample comes late. */
static void
test_nothing_but_an_error_of_a_slow_group (void **state)
{
  struct bench *bench = *state;

  samples (bench, SLOW - 1, "", "none, no links", NO);
  for (int i = 0; i < 3; i++) {
    sample (bench, "", "none, no links", "none, no server");
    samples (bench, SLOW - 1, "", "none, no links", NO);
  }
  assert_int_equal (count_told (bench), 0);
  assert_string_equal (group_failure_error (cluster_find (bench->cluster, "n1")->failures->next), "none, no server");
}

static void
test_a_group_that_was_fine_at_first (void **state)
{
  struct bench *bench = *state;

  sample (bench, "", "", NO);
  samples (bench, 2, "", "none, no links", NO);
  check_told (bench, 1, EVENT_GROUP_FAILED, "gpu_link ", "none, no links");
}

static void
test_another_error_than_at_first (void **state)
{
  struct bench *bench = *state;

  samples (bench, 20, "", "none, no links", "");
  samples (bench, 20, "", "none, no driver", "");
  check_told (bench, 1, EVENT_GROUP_FAILED, "gpu_link ", "none, no driver");
  samples (bench, 2, "", "", "");
  check_told (bench, 2, EVENT_GROUP_RECOVERED, "gpu_link ", "none, no driver");
}

static void
test_one_sample_is_no_event (void **state)
{
  struct bench *bench = *state;

  for (int i = 0; i < 20; i++) {
    sample (bench, "timed out", "", "");
    sample (bench, "", "timed out", "");
  }
  assert_int_equal (count_told (bench), 0);
  samples (bench, 2, "GPU 3: lost", "", "");
  for (int i = 0; i < 20; i++) { /* nor does one end a failure, or change it */
    sample (bench, "", "", "");
    sample (bench, "GPU 3: lost", "", "");
    sample (bench, "timed out", "", "");
    sample (bench, "GPU 3: lost", "", "");
  }
  check_told (bench, 1, EVENT_GROUP_FAILED, "gpu ", "GPU 3: lost");
}

static void
test_a_frame_without_the_group_is_no_sample (void **state)
{
  struct bench *bench = *state;

  for (int i = 0; i < 3; i++) {
    sample (bench, "lost", "", NO);
    samples (bench, 5, NO, "", NO);
    sample (bench, "", "", NO);
  }
  assert_int_equal (count_told (bench), 0);
  sample (bench, "lost", "", NO);
  samples (bench, 5, NO, "", "");
  sample (bench, "lost", NO, NO);
  check_told (bench, 1, EVENT_GROUP_FAILED, "gpu ", "lost");
  sample (bench, "", NO, NO);
  samples (bench, 5, NO, "", "");
  assert_int_equal (count_told (bench), 1);
  sample (bench, "", NO, NO);
  check_told (bench, 2, EVENT_GROUP_RECOVERED, "gpu ", "lost");
}

/* Samples may be far apart: the time alone does not make one of them two. */
static void
test_one_sample_of_a_slow_group (void **state)
{
  struct bench *bench = *state;

  samples (bench, 2, "lost", "", "");
  sample (bench, "timed out", "", "");
  samples (bench, 60, NO, "", "");
  assert_int_equal (count_told (bench), 1);
  assert_string_equal (group_failure_error (cluster_find (bench->cluster, "n1")->failures), "lost");
  sample (bench, "timed out", "", "");
  check_told (bench, 2, EVENT_GROUP_FAILED, "gpu ", "timed out");
}

/* It may never say the same twice. */
static void
test_two_errors_in_a_row_are_a_failure (void **state)
{
  struct bench *bench = *state;

  sample (bench, "timed out", "", "");
  sample (bench, "lost", "", "");
  check_told (bench, 1, EVENT_GROUP_FAILED, "gpu ", "lost");
}

static void
test_facts_are_left_out (void **state)
{
  struct bench *bench = *state;

  for (uint64_t sequence = 2; sequence < 9; sequence++)
    send_errors (bench, bench->schema, OLD, sequence, (const char *const[]){ "", "", "", "no metadata service" });
  assert_int_equal (bench->frames, 8);
  assert_int_equal (count_told (bench), 0);
}

/* ---- another error ---- */

static void
test_another_error_is_told_when_it_stands (void **state)
{
  struct bench *bench = *state;

  samples (bench, 2, "GPU 3: lost", "", "");
  samples (bench, 10, "GPU 3: lost, GPU 5: lost", "", "");
  assert_int_equal (count_told (bench), 1);
  sample (bench, "GPU 3: lost, GPU 5: lost", "", "");
  check_told (bench, 2, EVENT_GROUP_FAILED, "gpu ", "GPU 3: lost, GPU 5: lost");
  samples (bench, 20, "GPU 3: lost, GPU 5: lost", "", "");
  samples (bench, 2, "", "", "");
  check_told (bench, 3, EVENT_GROUP_RECOVERED, "gpu ", "GPU 3: lost, GPU 5: lost");
}

static void
test_an_error_that_changes_all_the_time (void **state)
{
  struct bench *bench = *state;
  char error[64];

  for (int i = 0; i < 300; i++) {
    snprintf (error, sizeof error, "no report for %d s", i / 3); /* each stands for three samples */
    sample (bench, error, i % 2 ? "GPU 3: lost" : "GPU 5: lost", "");
  }
  assert_int_equal (count_events (bench, EVENT_GROUP_FAILED, NULL, NULL), 2);
  assert_int_equal (count_told (bench), 2);
  samples (bench, 2, "", "", "");
  check_told (bench, 4, EVENT_GROUP_RECOVERED, "gpu_link ", "GPU 3: lost");
}

/* ---- the brake ---- */

static void
test_a_flapping_group_is_told_slowly (void **state)
{
  struct bench *bench = *state;
  bool failed = false;
  size_t told = 0;

  for (int i = 0; i < 100; i++) {
    samples (bench, 3, "lost", "", "");
    samples (bench, 3, "", "", "");
  }
  assert_in_range (count_told (bench), 20, 4 + 60);
  samples (bench, 2, "lost", "", "");
  pass (bench, 2 * NS_PER_S);
  for (size_t i = 0; i < bench->event_count; i++) /* what is told fits what was told before */
    if (bench->events[i].type == EVENT_GROUP_FAILED || bench->events[i].type == EVENT_GROUP_RECOVERED) {
      assert_int_equal (bench->events[i].type, failed ? EVENT_GROUP_RECOVERED : EVENT_GROUP_FAILED);
      failed = !failed;
      told++;
    }
  assert_int_equal (told, count_told (bench));
}

/* Uses up what may be told at once; gpu is fine then. */
static void
use_up (struct bench *bench)
{
  samples (bench, 2, "lost", "", "");
  samples (bench, 2, "", "", "");
  samples (bench, 2, "lost", "", "");
  samples (bench, 2, "", "", "");
  check_told (bench, 4, EVENT_GROUP_RECOVERED, "gpu ", "lost");
}

static void
test_what_was_held_back_is_told_by_a_tick (void **state)
{
  struct bench *bench = *state;

  use_up (bench);
  samples (bench, 2, "", "", "timed out");
  assert_int_equal (count_told (bench), 4);
  pass (bench, NS_PER_S);
  assert_int_equal (count_told (bench), 4);
  pass (bench, 2 * NS_PER_S); /* without a frame; 10 s after the fourth would have been told by itself */
  check_told (bench, 5, EVENT_GROUP_FAILED, "nfs ", "timed out");
  samples (bench, 20, "", "", "timed out");
  assert_int_equal (count_told (bench), 5);
}

static void
test_what_came_and_went_under_the_brake_is_not_told (void **state)
{
  struct bench *bench = *state;

  use_up (bench);
  samples (bench, 2, "", "", "timed out");
  samples (bench, 2, "", "", "");
  samples (bench, 60, "", "", "");
  assert_int_equal (count_told (bench), 4);
}

static void
test_the_newest_is_told_after_the_brake (void **state)
{
  struct bench *bench = *state;

  use_up (bench);
  samples (bench, 2, "", "", "timed out");
  assert_int_equal (count_told (bench), 4);
  samples (bench, 3, "", "", "stale handle");
  check_told (bench, 5, EVENT_GROUP_FAILED, "nfs ", "stale handle");
}

/* So one that flaps stands before no other. */
static void
test_who_waits_longest_is_told_first (void **state)
{
  struct bench *bench = *state;

  use_up (bench);
  sample (bench, "", "", "timed out");
  sample (bench, "lost", "", "timed out");
  sample (bench, "lost", "", "timed out");
  assert_int_equal (count_told (bench), 4);
  pass (bench, 2 * NS_PER_S);
  check_told (bench, 5, EVENT_GROUP_FAILED, "nfs ", "timed out");
  samples (bench, 10, "lost", "", "timed out");
  check_told (bench, 6, EVENT_GROUP_FAILED, "gpu ", "lost");
}

static void
test_many_groups_that_differ (void **state)
{
  struct bench *bench = *state;
  char error[64];

  for (int i = 0; i < 300; i++) { /* six transitions in four seconds, each with words of its own */
    snprintf (error, sizeof error, "error %d", i);
    samples (bench, 2, error, error + 1, error + 2);
    samples (bench, 2, "", "", "");
  }
  assert_in_range (count_told (bench), 4, 4 + 120);
}

/* ---- sessions, silence ---- */

static void
begin_session (struct bench *bench, const char *gpu, const char *nfs)
{
  pass (bench, NS_PER_S);
  send_hello (bench, "n1", "n1", NEW, NS_PER_S);
  send_errors (bench, bench->schema, NEW, 1, (const char *const[]){ gpu, NO, nfs, NO });
  sample (bench, gpu, NO, nfs);
}

static void
test_a_restart_tells_nothing_again (void **state)
{
  struct bench *bench = *state;

  samples (bench, 2, "lost", "", "");
  begin_session (bench, "lost", "");
  samples (bench, 20, "lost", "", "");
  assert_int_equal (count_told (bench), 1);
  samples (bench, 2, "", "", "");
  check_told (bench, 2, EVENT_GROUP_RECOVERED, "gpu ", "lost");
}

static void
test_a_node_that_was_down (void **state)
{
  struct bench *bench = *state;

  samples (bench, 2, "lost", "", "");
  sample (bench, "lost", "", "timed out");
  pass (bench, 3600 * NS_PER_S);
  assert_int_equal (state_of (bench, "n1"), NODE_DOWN);
  samples (bench, 5, NO, "", ""); /* it is of a longer period */
  samples (bench, 20, "lost", NO, "");
  assert_int_equal (count_told (bench), 1);
  pass (bench, 3600 * NS_PER_S);
  begin_session (bench, "off the bus", "");
  samples (bench, 10, "off the bus", "", "");
  check_told (bench, 2, EVENT_GROUP_FAILED, "gpu ", "off the bus");
}

/* What is held back when a node goes silent may not be so any more. */
static void
test_nothing_is_told_of_a_silent_node (void **state)
{
  struct bench *bench = *state;

  use_up (bench);
  sample (bench, "", "", "");
  pass (bench, NS_PER_S / 2);
  send_hello (bench, "n1", "n1", OLD, 200 * NS_PER_MS); /* stale after a second */
  samples (bench, 1, "lost", "", "");
  send_errors (bench, bench->schema, OLD, cluster_find (bench->cluster, "n1")->sessions[0].sequence + 1,
               (const char *const[]){ "lost", NO, NO, NO });
  pass (bench, 60 * NS_PER_S);
  assert_int_equal (state_of (bench, "n1"), NODE_DOWN);
  assert_int_equal (count_told (bench), 4);
}

static void
test_late_frames_change_nothing (void **state)
{
  struct bench *bench = *state;
  struct control hello = { .type = CONTROL_HELLO,
                           .node = "n1",
                           .session = OLD,
                           .first_sequence = 1,
                           .last_sequence = 1,
                           .period_ns = NS_PER_S,
                           .version = "9" };
  uint64_t sequence;

  memcpy (hello.schema_hash, bench->schema->hash, SCHEMA_HASH_SIZE);
  send_control (bench, "n1", &hello);
  samples (bench, 2, "lost", "", "");
  sequence = bench->last_sequence;
  pass (bench, NS_PER_S);
  send_errors (bench, bench->schema, OLD, sequence + 7, (const char *const[]){ "lost", "", "", NO });
  for (uint64_t late = 1; late < 7; late++) {
    send_errors (bench, bench->schema, OLD, sequence + late, (const char *const[]){ "", "late", "late", NO });
    assert_true (bench->last_late);
  }
  assert_int_equal (cluster_counts (bench->cluster)->replayed, 6);
  samples (bench, 2, "lost", "", "");
  check_told (bench, 1, EVENT_GROUP_FAILED, "gpu ", "lost");
}

/* ---- another schema ---- */

static void
test_another_schema (void **state)
{
  struct bench *bench = *state;

  samples (bench, 2, "lost", "lost", "timed out");
  assert_int_equal (count_told (bench), 2);
  pass (bench, NS_PER_S); /* gpu is gone, the others have other places */
  send_hello (bench, "n1", "n1", NEW, NS_PER_S);
  for (uint64_t sequence = 1; sequence < 9; sequence++) {
    send_errors (bench, bench->other, NEW, sequence, (const char *const[]){ NO, "lost", "timed out", NO });
    send_schema (bench, "n1", bench->other->hash, bench->other->encoded.data, bench->other->encoded.length);
  }
  assert_int_equal (bench->frames, 3 + 8);
  assert_int_equal (count_told (bench), 2);
  for (uint64_t sequence = 9; sequence < 11; sequence++)
    send_errors (bench, bench->other, NEW, sequence, (const char *const[]){ NO, "", "timed out", NO });
  check_told (bench, 3, EVENT_GROUP_RECOVERED, "gpu_link ", "lost");
  assert_string_equal (cluster_find (bench->cluster, "n1")->failures->name, "nfs");
  assert_null (cluster_find (bench->cluster, "n1")->failures->next);
}

static void
test_groups_in_another_order (void **state)
{
  static const struct group *const order[] = { &small_group, &nfs_group, &gpu_group, &link_group };
  struct bench *bench = *state;

  samples (bench, 2, "lost", "lost", "timed out");
  schema_destroy (bench->schema);
  bench->schema = schema_create (order, 4);
  send_hello (bench, "n1", "n1", NEW, NS_PER_S);
  send_plain (bench, "n1", NEW, 1);
  send_good_schema (bench, "n1");
  for (uint64_t sequence = 2; sequence < 20; sequence++)
    send_errors (bench, bench->schema, NEW, sequence, (const char *const[]){ "lost", "lost", "timed out", NO });
  assert_int_equal (bench->frames, 3 + 19);
  assert_int_equal (count_told (bench), 2);
}

static void
test_a_group_that_is_left_out_for_long_is_forgotten (void **state)
{
  struct bench *bench = *state;

  samples (bench, 2, "lost", "", "timed out");
  begin_session (bench, NO, "timed out");
  samples (bench, 590, NO, "", "timed out");
  assert_non_null (cluster_find (bench->cluster, "n1")->failures->next);
  samples (bench, 20, NO, "", "timed out");
  assert_string_equal (cluster_find (bench->cluster, "n1")->failures->name, "nfs");
  assert_int_equal (count_told (bench), 2);
  samples (bench, 2, "lost", "", "timed out");
  check_told (bench, 3, EVENT_GROUP_FAILED, "gpu ", "lost");
}

static void
test_a_slow_group_is_not_forgotten_so_soon (void **state)
{
  struct bench *bench = *state;

  samples (bench, 2, "", "", "timed out");
  samples (bench, 10 * SLOW - 10, "", "", NO);
  assert_non_null (cluster_find (bench->cluster, "n1")->failures);
  samples (bench, SLOW, "", "", NO);
  assert_null (cluster_find (bench->cluster, "n1")->failures);
}

static void
test_a_node_that_is_replaced_is_told_anew (void **state)
{
  struct bench *bench = *state;

  samples (bench, 2, "lost", "", "");
  key_set_destroy (bench->keys);
  bench->keys = key_set_create ();
  list_node (bench, "n1", 2);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  send_hello (bench, "n1", "n1", NEW, NS_PER_S);
  send_plain (bench, "n1", NEW, 1);
  send_good_schema (bench, "n1");
  samples (bench, 2, "lost", "", "");
  check_told (bench, 2, EVENT_GROUP_FAILED, "gpu ", "lost");
}

/* ---- how it looks ---- */

/* What has values is a table before, whatever its error says of others: else a sensor that is broken for good would make
 * the period of all that is beside it grow for ever. */
static void
test_the_table_before (void **state)
{
  static const struct {
    const char *error;
    bool values;
    int64_t before; /* of the next one */
  } sent[] = { { "", true, 1 }, { "one is lost", true, 2 }, { "timed out", false, 2 }, { "", false, 4 } };
  struct bench *bench = *state;
  struct node_group **kept = memory_new (bench->schema->group_count, sizeof *kept);

  for (int64_t i = 0; i < 4; i++) {
    struct table *table = node_groups_table (kept, bench->schema, 0);
    table->monotonic_ns = i + 1;
    strcpy (table->error, sent[i].error);
    if (sent[i].values)
      table_set_uint (table, TABLE_NODE, 1, 5);
    node_groups_table (kept, bench->schema, 0)->monotonic_ns = 99;
    assert_non_null (kept[0]->before);
    assert_int_equal (kept[0]->before->monotonic_ns, sent[i].before);
    strcpy (kept[0]->now->error, "none"); /* this one was only to look */
  }
  node_groups_free (kept, bench->schema);
}

static void
test_the_line_of_an_event (void **state)
{
  static const char *const two[] = { "gpu", "gpu_link" };
  struct event event = {
    .type = EVENT_GROUP_FAILED, .node = "n1", .text = "GPU 3: lost", .groups = two, .group_count = 2
  };
  struct json json = { 0 };

  (void) state;
  event_write (&json, &event);
  buffer_add (&json.out, "", 1);
  assert_true (look_is (json.out.data, "type", "\"event\"") && look_is (json.out.data, "event", "\"group_failed\""));
  assert_true (look_is (json.out.data, "groups", "[\"gpu\",\"gpu_link\"]"));
  assert_true (look_is (json.out.data, "error", "\"GPU 3: lost\""));
  json_free (&json);
}

static void
test_the_status (void **state)
{
  struct bench *bench = *state;
  struct status status = { .cluster = bench->cluster, .viewer = &viewer_all, .listen = "here", .now = now (bench) };
  struct buffer table = { 0 };
  struct json json = { 0 };

  sample (bench, "lost", "lost", "");
  sample (bench, "lost", "lost", "timed out"); /* nfs: once only */
  status_write_json (&status, &json);
  buffer_add (&json.out, "", 1);
  assert_true (look_is (look (json.out.data, "nodes") + 1, "failing",
                        "[{\"group\":\"gpu\",\"error\":\"lost\"},{\"group\":\"gpu_link\",\"error\":\"lost\"}]"));
  assert_non_null (strstr (json.out.data, "\"failing\":[],\"facts\":null}]")); /* n2 */
  status_write_table (&status, &table);
  buffer_add (&table, "", 1);
  assert_non_null (strstr (table.data, "ms  gpu +1\n"));
  buffer_free (&table);
  json_free (&json);
}

#define GROUPS_TEST(name) cmocka_unit_test_setup_teardown (name, set_up, bench_tear_down)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    GROUPS_TEST (test_failed_and_recovered),
    GROUPS_TEST (test_nothing_but_an_error_at_first),
    GROUPS_TEST (test_nothing_but_an_error_of_a_slow_group),
    GROUPS_TEST (test_a_group_that_was_fine_at_first),
    GROUPS_TEST (test_another_error_than_at_first),
    GROUPS_TEST (test_one_sample_is_no_event),
    GROUPS_TEST (test_a_frame_without_the_group_is_no_sample),
    GROUPS_TEST (test_one_sample_of_a_slow_group),
    GROUPS_TEST (test_two_errors_in_a_row_are_a_failure),
    GROUPS_TEST (test_facts_are_left_out),
    GROUPS_TEST (test_another_error_is_told_when_it_stands),
    GROUPS_TEST (test_an_error_that_changes_all_the_time),
    GROUPS_TEST (test_a_flapping_group_is_told_slowly),
    GROUPS_TEST (test_what_was_held_back_is_told_by_a_tick),
    GROUPS_TEST (test_what_came_and_went_under_the_brake_is_not_told),
    GROUPS_TEST (test_the_newest_is_told_after_the_brake),
    GROUPS_TEST (test_who_waits_longest_is_told_first),
    GROUPS_TEST (test_many_groups_that_differ),
    GROUPS_TEST (test_a_restart_tells_nothing_again),
    GROUPS_TEST (test_a_node_that_was_down),
    GROUPS_TEST (test_nothing_is_told_of_a_silent_node),
    GROUPS_TEST (test_late_frames_change_nothing),
    GROUPS_TEST (test_another_schema),
    GROUPS_TEST (test_groups_in_another_order),
    GROUPS_TEST (test_a_group_that_is_left_out_for_long_is_forgotten),
    GROUPS_TEST (test_a_slow_group_is_not_forgotten_so_soon),
    GROUPS_TEST (test_a_node_that_is_replaced_is_told_anew),
    GROUPS_TEST (test_the_table_before),
    GROUPS_TEST (test_the_line_of_an_event),
    GROUPS_TEST (test_the_status),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
