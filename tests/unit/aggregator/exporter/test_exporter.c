/* The exporter: what comes in as frames is what it shows, as long as it is true. */
#include "aggregator/exporter/exporter.h"

#include <pthread.h>

#include "aggregator/exporter/exporter_scrape.h"
#include "tests/unit/aggregator/core/cluster_bench.h"

/* A cluster's core whose frames go into an exporter, as they are or changed. */
struct scene {
  struct bench bench;
  struct exporter *exporter;
  bool late, lost;  /* the next frames are late, or do not come */
  int64_t shift_ns; /* of their time */
};

static void
put_frame (void *context, const struct cluster_frame *frame)
{
  struct scene *scene = context;
  struct cluster_frame changed = *frame;

  changed.late = scene->late;
  changed.time_ns += scene->shift_ns;
  if (!scene->lost)
    exporter_put_frame (scene->exporter, &changed);
}

static void
put_tick (void *context, const struct cluster_tick_line *line)
{
  struct scene *scene = context;

  exporter_put_tick (scene->exporter, line);
}

static struct naming *
naming_of (const char *names)
{
  struct naming *naming = naming_create ();
  struct error error;

  if (names)
    assert_int_equal (naming_read (naming, "own.names", names, strlen (names), &error), 0);
  naming_add_rule (naming);
  return naming;
}

static int
set_up (void **state)
{
  struct scene *scene = memory_new (1, sizeof *scene);
  struct cluster_options options = { .stale_periods = 3,
                                     .down_periods = 10,
                                     .tick_period_ns = NS_PER_S,
                                     .tick_grace_ns = NS_PER_S / 2,
                                     .clock_limit_ns = NS_PER_S / 2,
                                     .output = { .context = scene, .frame = put_frame, .tick = put_tick } };
  struct bench *bench;

  bench_set_up ((void **) &bench);
  cluster_destroy (bench->cluster);
  scene->bench = *bench;
  free (bench);
  scene->bench.cluster = cluster_create (&options);
  cluster_list (scene->bench.cluster, each_key, scene->bench.keys, now (&scene->bench));
  scene->exporter = exporter_create (naming_of (NULL), false);
  *state = scene;
  return 0;
}

static int
tear_down (void **state)
{
  struct scene *scene = *state;

  exporter_destroy (scene->exporter);
  cluster_destroy (scene->bench.cluster);
  key_set_destroy (scene->bench.keys);
  schema_destroy (scene->bench.schema);
  schema_destroy (scene->bench.other);
  free (scene);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)

/* ---- a scrape ---- */

static enum exporter_found
ask (struct scene *scene, struct exporter_ask *asked, struct exporter_scrape **scrape)
{
  exporter_put_nodes (scene->exporter, scene->bench.cluster, scene->bench.now_ns);
  asked->now_ns = scene->bench.now_ns;
  return exporter_scrape_begin (scene->exporter, asked, scrape);
}

/* Its text, with a NUL; as pieces of so many bytes make it. */
static char *
text_of (struct exporter_scrape *scrape, size_t piece)
{
  struct buffer out = { 0 }, text = { 0 };
  bool more = true;

  while (more) {
    buffer_clear (&out);
    more = exporter_scrape_next (scrape, &out, piece);
    assert_true (!more || out.length >= piece);
    assert_true (out.length < piece + 2000 || !more);
    buffer_add (&text, out.data, out.length);
  }
  buffer_add (&text, "", 1);
  buffer_free (&out);
  exporter_scrape_end (scrape);
  return text.data;
}

static char *
show (struct scene *scene, struct exporter_ask asked)
{
  struct exporter_scrape *scrape;

  asked.all = true;
  assert_int_equal (ask (scene, &asked, &scrape), EXPORTER_FOUND);
  return text_of (scrape, 100);
}

static char *
show_node (struct scene *scene, const char *node)
{
  return show (scene, (struct exporter_ask){ .node = node, .values = true });
}

static void
check_line (char *text, const char *line, bool there)
{
  char *whole = memory_format ("\n%s\n", line);

  if ((strstr (text, whole) != NULL) != there)
    fail_msg ("%s%s\n%s", there ? "missing: " : "there: ", line, text);
  free (whole);
}

static void
check (struct scene *scene, const char *node, const char *line, bool there)
{
  char *text = show_node (scene, node);

  check_line (text, line, there);
  free (text);
}

#define BYTES "synop_small_bytes_total{device=\"d0\"} "

static void
test_newest (void **state)
{
  struct scene *scene = *state;

  bring_up (&scene->bench, "n1", 7);
  check (scene, "n1", BYTES "0", true);
  send_frame (&scene->bench, &(struct made_frame){ .user = "n1", .session = 7, .sequence = 2, .bytes = 41 });
  check (scene, "n1", BYTES "41", true);
  check (scene, "n1", BYTES "41", true); /* nothing has come since */
  send_frame (&scene->bench, &(struct made_frame){ .user = "n1", .session = 7, .sequence = 3, .bytes = 42 });
  check (scene, "n1", BYTES "42", true);
  check (scene, "n1", "synop_group_up{group=\"small\"} 1", true);
  send_frame (&scene->bench,
              &(struct made_frame){ .user = "n1", .session = 7, .sequence = 4, .bytes = 1, .error = "broken" });
  check (scene, "n1", "synop_group_up{group=\"small\"} 0", true);
}

/* A late frame is shown only when it is news. */
static void
test_late (void **state)
{
  struct scene *scene = *state;

  bring_up (&scene->bench, "n1", 7);
  scene->late = true;
  scene->shift_ns = -NS_PER_S;
  send_frame (&scene->bench, &(struct made_frame){ .user = "n1", .session = 7, .sequence = 2, .bytes = 8 });
  check (scene, "n1", BYTES "0", true);
  scene->shift_ns = NS_PER_S;
  send_frame (&scene->bench, &(struct made_frame){ .user = "n1", .session = 7, .sequence = 3, .bytes = 9 });
  check (scene, "n1", BYTES "9", true);
}

/* What is not sampled any more is not shown: a table after five of its periods, all of a node that is down. */
static void
test_stale (void **state)
{
  struct scene *scene = *state;
  struct exporter_ask asked = { .node = "n1", .values = true };
  struct exporter_scrape *scrape;
  char *text;

  assert_int_equal (ask (scene, &asked, &scrape), EXPORTER_SILENT);
  bring_up (&scene->bench, "n1", 7);
  pass (&scene->bench, 5900 * NS_PER_MS);
  check (scene, "n1", BYTES "0", true);
  pass (&scene->bench, 250 * NS_PER_MS);
  check (scene, "n1", BYTES "0", false);
  pass (&scene->bench, 5 * NS_PER_S);
  assert_int_equal (ask (scene, &asked, &scrape), EXPORTER_SILENT);
  text = show (scene, (struct exporter_ask){ .values = true, .own = true });
  check_line (text, "synop_node_up{node=\"n1\"} 0", true);
  check_line (text, "synop_node_state{node=\"n1\",state=\"down\"} 1", true);
  check_line (text, "synop_node_state{node=\"n1\",state=\"up\"} 0", true);
  check_line (text, "synop_node_state{node=\"n2\",state=\"never\"} 1", true);
  assert_null (strstr (text, "instance="));
  free (text);
  asked.node = "n3";
  assert_int_equal (ask (scene, &asked, &scrape), EXPORTER_NO_NODE);
}

static void
test_other_schema (void **state)
{
  struct scene *scene = *state;

  bring_up (&scene->bench, "n1", 7);
  check (scene, "n1", BYTES "0", true);
  send_frame (&scene->bench, &(struct made_frame){
                                 .user = "n1", .session = 7, .sequence = 2, .bytes = 5, .schema = scene->bench.other });
  send_schema (&scene->bench, "n1", scene->bench.other->hash, scene->bench.other->encoded.data,
               scene->bench.other->encoded.length);
  check (scene, "n1", "synop_other_bytes_total{device=\"d0\"} 5", true);
  check (scene, "n1", BYTES "0", false);
}

/* Other names, and another schema, while a scrape is being written: it ends as it began. */
static void
test_change_while_written (void **state)
{
  struct scene *scene = *state;
  struct key_set *none = key_set_create ();
  struct exporter_ask asked = { .values = true };
  struct exporter_scrape *scrape;
  char *text;

  bring_up (&scene->bench, "n1", 7);
  bring_up (&scene->bench, "n2", 8);
  assert_int_equal (ask (scene, &asked, &scrape), EXPORTER_FOUND);
  exporter_set_naming (scene->exporter, naming_of ("[small *] {d=\"$row\"}\nbytes own_total\n"), false);
  send_frame (&scene->bench, &(struct made_frame){
                                 .user = "n1", .session = 7, .sequence = 2, .bytes = 5, .schema = scene->bench.other });
  send_schema (&scene->bench, "n1", scene->bench.other->hash, scene->bench.other->encoded.data,
               scene->bench.other->encoded.length);
  check (scene, "n2", "own_total{d=\"d0\"} 0", true);
  cluster_list (scene->bench.cluster, each_key, none, now (&scene->bench)); /* all are gone */
  exporter_put_nodes (scene->exporter, scene->bench.cluster, scene->bench.now_ns);
  text = text_of (scrape, 1);
  check_line (text, "synop_small_bytes_total{instance=\"n1\",device=\"d0\"} 0", true);
  check_line (text, "synop_small_bytes_total{instance=\"n2\",device=\"d0\"} 0", true);
  free (text);
  key_set_destroy (none);
  asked.node = "n1";
  assert_int_equal (ask (scene, &asked, &scrape), EXPORTER_NO_NODE);
}

static void
test_filters (void **state)
{
  struct scene *scene = *state;
  char *text;

  bring_up (&scene->bench, "n1", 7);
  bring_up (&scene->bench, "n2", 8);
  text = show (scene, (struct exporter_ask){ .nodes = "x*,n2", .values = true, .own = true });
  assert_null (strstr (text, "\"n1\""));
  assert_null (strstr (text, "synop_aggregator"));
  check_line (text, "synop_node_up{node=\"n2\"} 1", true);
  free (text);
  text = show (scene, (struct exporter_ask){ .groups = "oth*", .values = true, .own = true });
  assert_null (strstr (text, "bytes"));
  assert_null (strstr (text, "synop_node"));
  free (text);
  text = show (scene, (struct exporter_ask){ .groups = "small", .values = true });
  check_line (text, "synop_small_bytes_total{instance=\"n1\",device=\"d0\"} 0", true);
  free (text);
}

/* A rate is a counter's change since the table before. */
static void
test_rate (void **state)
{
  struct scene *scene = *state;

  exporter_set_naming (scene->exporter, naming_of ("[small *] {d=\"$row\"}\nbytes speed rate\n"), false);
  bring_up (&scene->bench, "n1", 7);
  check (scene, "n1", "speed{d=\"d0\"} 0", false);
  pass (&scene->bench, 2 * NS_PER_S);
  send_frame (&scene->bench, &(struct made_frame){ .user = "n1", .session = 7, .sequence = 2, .bytes = 100 });
  check (scene, "n1", "speed{d=\"d0\"} 50", true);
}

/* ---- what is made here ---- */

/* Counters of two sockets of one node, which grew by these in a second. */
static void
combine_counters (struct combine *combine, uint64_t cycles, uint64_t instructions)
{
  static const struct metric metrics[] = { { "cycles", COUNTER, UNIT_COUNT, FOLD_SUM, .help = "" },
                                           { "instructions", COUNTER, UNIT_COUNT, FOLD_SUM, .help = "" } };
  static const struct group sockets = { "cpu_counters",         "system_data", "socket", "sockets", "total", 0, "",
                                        GROUP_METRICS (metrics) };
  const struct group *group = &sockets;
  struct schema *schema = schema_create (&group, 1);
  struct table before, now;
  struct report_group pair = { .now = &now, .before = &before };

  table_init (&before, group);
  table_init (&now, group);
  table_begin (&before);
  table_begin (&now);
  now.monotonic_ns = NS_PER_S;
  for (size_t row = 0; row < 2; row++) {
    table_add_row (&before, row ? "1" : "0", 1);
    table_add_row (&now, row ? "1" : "0", 1);
    table_set_uint (&before, row, 0, 0);
    table_set_uint (&before, row, 1, 0);
    table_set_uint (&now, row, 0, cycles);
    table_set_uint (&now, row, 1, instructions);
  }
  combine_add (combine, "n1", schema, &pair);
  table_free (&before);
  table_free (&now);
  schema_destroy (schema);
}

/* A ratio is there; a rate is that of its counter, once. */
static void
test_derived (void **state)
{
  struct scene *scene = *state;
  const struct exporter_ask own = { .own = true, .format = EXPOSITION_OPENMETRICS };
  struct combine *combine = combine_create ();
  struct tick_line tick = { .period_ns = NS_PER_S, .reporting = 1, .combine = combine };

  combine_counters (combine, 2000, 3000);
  free (show (scene, own)); /* somebody asks for it */
  tick.time_ns = scene->bench.now_ns;
  exporter_put_tick (scene->exporter, &(struct cluster_tick_line){ .tick = &tick });
  char *text = show (scene, own);
  check_line (text, "synop_cluster_cpu_counters_ipc{stat=\"mean\"} 1.5", true);
  check_line (text, "# TYPE synop_cluster_cpu_counters_ipc gauge", true);
  check_line (text, "synop_cluster_cpu_counters_instructions_per_second{stat=\"sum\"} 6000", true);
  assert_null (strstr (text, "mips"));
  assert_null (strstr (text, "ipc{stat=\"sum\"}"));
  free (text);
  combine_destroy (combine);
}

static void
test_combined (void **state)
{
  struct scene *scene = *state;
  const struct exporter_ask own = { .own = true, .format = EXPOSITION_OPENMETRICS };
  char *text;

  exporter_begin_counters (scene->exporter);
  exporter_put_counter (scene->exporter, "frames", true, 12);
  exporter_put_counter (scene->exporter, "missing", false, 3);
  exporter_end_counters (scene->exporter, 5 * NS_PER_S);
  bring_up (&scene->bench, "n1", 7);
  bring_up (&scene->bench, "n2", 8);
  text = show (scene, own);
  assert_null (strstr (text, "synop_cluster_"));
  free (text);
  for (uint64_t i = 2; i < 6; i++) {
    pass (&scene->bench, NS_PER_S);
    send_frame (&scene->bench, &(struct made_frame){ .user = "n1", .session = 7, .sequence = i, .bytes = 10 * i });
    send_frame (&scene->bench, &(struct made_frame){ .user = "n2", .session = 8, .sequence = i, .bytes = 30 * i });
    cluster_close_ticks (scene->bench.cluster, now (&scene->bench));
  }
  text = show (scene, own);
  check_line (text, "synop_cluster_small_bytes_per_second{stat=\"sum\"} 40", true);
  check_line (text, "synop_cluster_small_bytes_per_second{stat=\"mean\"} 20", true);
  check_line (text, "synop_cluster_small_bytes_per_second{stat=\"max\"} 30", true);
  check_line (text, "synop_aggregator_tick_nodes_reporting 2", true);
  check_line (text, "synop_aggregator_frames_total 12", true);
  check_line (text, "# TYPE synop_aggregator_frames counter", true);
  check_line (text, "synop_aggregator_missing 3", true);
  check_line (text, "synop_aggregator_uptime_seconds 5", true);
  assert_string_equal (text + strlen (text) - 6, "# EOF\n");
  free (text);
}

static void
test_too_many (void **state)
{
  struct scene *scene = *state;
  struct exporter_ask asked = { .values = true };
  struct exporter_scrape *scrapes[EXPORTER_SCRAPES_MAX], *one;

  bring_up (&scene->bench, "n1", 7);
  for (size_t i = 0; i < EXPORTER_SCRAPES_MAX; i++) {
    asked.host = 1 + 2 * i / EXPORTER_SCRAPES_MAX;
    assert_int_equal (ask (scene, &asked, &scrapes[i]), EXPORTER_FOUND);
    if (i + 1 == EXPORTER_SCRAPES_MAX / 2) /* a host has half of them */
      assert_int_equal (ask (scene, &asked, &one), EXPORTER_TOO_MANY);
  }
  asked.host = 3;
  assert_int_equal (ask (scene, &asked, &one), EXPORTER_TOO_MANY);
  check (scene, "n1", BYTES "0", true);
  for (size_t i = 0; i < EXPORTER_SCRAPES_MAX; i++)
    exporter_scrape_end (scrapes[i]);
  assert_int_equal (ask (scene, &asked, &one), EXPORTER_FOUND);
  exporter_scrape_end (one);
}

/* ---- two threads ---- */

static void *
read_pages (void *context)
{
  struct scene *scene = context;

  for (size_t i = 0; i < 100; i++) {
    struct exporter_ask asked = { .values = true, .own = true, .now_ns = scene->bench.now_ns };
    struct exporter_scrape *scrape;
    assert_int_equal (exporter_scrape_begin (scene->exporter, &asked, &scrape), EXPORTER_FOUND);
    free (text_of (scrape, 100));
  }
  return NULL;
}

/* Frames, other schemas, nodes that come and go, and other names, while scrapes are being read. */
static void
test_threads (void **state)
{
  struct scene *scene = *state;
  struct key_set *none = key_set_create ();
  pthread_t reader;

  bring_up (&scene->bench, "n1", 7);
  bring_up (&scene->bench, "n2", 8);
  send_schema (&scene->bench, "n1", scene->bench.other->hash, scene->bench.other->encoded.data,
               scene->bench.other->encoded.length);
  assert_int_equal (pthread_create (&reader, NULL, read_pages, scene), 0);
  for (uint64_t i = 2; i < 400; i++) {
    send_frame (
        &scene->bench,
        &(struct made_frame){
            .user = "n1", .session = 7, .sequence = i, .bytes = i, .schema = i % 50 == 0 ? scene->bench.other : NULL });
    cluster_close_ticks (scene->bench.cluster, now (&scene->bench));
    exporter_begin_counters (scene->exporter);
    exporter_end_counters (scene->exporter, 0);
    if (i % 40 == 0)
      exporter_set_naming (scene->exporter, naming_of (NULL), i % 80 == 0);
    if (i % 100 == 0)
      cluster_list (scene->bench.cluster, each_key, i % 200 == 0 ? scene->bench.keys : none, now (&scene->bench));
    exporter_put_nodes (scene->exporter, scene->bench.cluster, scene->bench.now_ns);
  }
  pthread_join (reader, NULL);
  key_set_destroy (none);
}

static void
test_targets (void **state)
{
  struct scene *scene = *state;
  struct buffer out = { 0 };

  exporter_put_nodes (scene->exporter, scene->bench.cluster, scene->bench.now_ns);
  exporter_targets (scene->exporter, "h:1", true, &out);
  buffer_add (&out, "", 1);
  assert_string_equal (out.data, "[{\"targets\":[\"h:1\"],\"labels\":{\"__metrics_path__\":\"/nodes/n1/metrics\","
                                 "\"__scheme__\":\"https\",\"instance\":\"n1\"}},"
                                 "{\"targets\":[\"h:1\"],\"labels\":{\"__metrics_path__\":\"/nodes/n2/metrics\","
                                 "\"__scheme__\":\"https\",\"instance\":\"n2\"}}]\n");
  buffer_free (&out);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_newest),
    TEST (test_late),
    TEST (test_stale),
    TEST (test_other_schema),
    TEST (test_change_while_written),
    TEST (test_filters),
    TEST (test_rate),
    TEST (test_combined),
    TEST (test_derived),
    TEST (test_too_many),
    TEST (test_targets),
    TEST (test_threads),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
