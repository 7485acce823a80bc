/* Values of this instant: what a question means, which values nodes have, who watches. */
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/now/now.h"
#include "tests/unit/aggregator/core/cluster_bench.h"

#define QUEUE (1 << 20)

static const struct metric disk_metrics[] = {
  { "bytes", COUNTER, UNIT_BYTES, FOLD_SUM, .help = "Bytes." },
  { "heat", GAUGE, UNIT_CELSIUS, FOLD_MAX, .help = "Heat." },
  { "speed", GAUGE, UNIT_HERTZ, FOLD_NONE, .help = "Speed." },
};
static const struct metric memory_metrics[] = {
  { "used", GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .help = "Used." },
  { "total", GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .help = "Total." },
  { "stall", COUNTER, UNIT_SECONDS, FOLD_NONE, METRIC_OF_NODE | METRIC_SHARE, .help = "Stalled." },
  { "state", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE, .help = "State." },
};
static const struct metric flop_metrics[] = { { "flop", COUNTER, UNIT_COUNT, FOLD_SUM, .help = "Operations." } };
static const struct group disk = {
  "disk", "system_data", "device", "devices", "total", 0, "Disks.", GROUP_METRICS (disk_metrics)
};
static const struct group memory = {
  "memory", "system_data", "", "", "", 0, "Memory.", GROUP_METRICS (memory_metrics)
};
static const struct group flops = {
  "cpu_flops", "system_data", "CPU", "cpus", "total", 0, "Operations.", GROUP_METRICS (flop_metrics)
};
static const struct group *const all_groups[] = { &disk, &memory, &flops };
/* The same groups elsewhere, and columns in another order. */
static const struct metric memory_metrics_newer[] = {
  { "total", GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .help = "Total." },
  { "stall", COUNTER, UNIT_SECONDS, FOLD_NONE, METRIC_OF_NODE | METRIC_SHARE, .help = "Stalled." },
  { "used", GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .help = "Used." },
};
static const struct group memory_newer = {
  "memory", "system_data", "", "", "", 0, "Memory.", GROUP_METRICS (memory_metrics_newer)
};
static const struct group *const newer_groups[] = { &memory_newer };

/* What a node samples. `sda`, `sdb`: the devices' bytes; 0: there is no such. */
struct made {
  uint64_t sda, sdb, flop;
  double used, total, stall;
  bool only_memory; /* the frame has no other group */
};

static struct now *values;
static int64_t stopped_ns = 1; /* the clock by which answers get more time; it is ours (--wrap) */

int64_t __wrap_clock_monotonic (void);

int64_t
__wrap_clock_monotonic (void)
{
  return stopped_ns;
}

static struct bench *bench;

static void
fill_disk (struct table *table, const struct made *made)
{
  const uint64_t bytes[] = { made->sda, made->sdb };
  static const char *const names[] = { "sda", "sdb" };

  for (size_t i = 0; i < 2; i++) {
    size_t row = bytes[i] ? table_add_row (table, names[i], 3) : 0;
    if (!bytes[i])
      continue;
    table_set_uint (table, row, 0, bytes[i]);
    table_set_real (table, row, 1, 30 + (double) i);
    table_set_uint (table, row, 2, 1000 + i);
  }
}

static void
fill_memory (struct table *table, const struct made *made)
{
  size_t used = table->group == &memory ? 0 : 2, total = table->group == &memory ? 1 : 0;

  table_set_real (table, TABLE_NODE, used, made->used);
  table_set_real (table, TABLE_NODE, total, made->total);
  table_set_uint (table, TABLE_NODE, table->group == &memory ? 2 : 1, (uint64_t) made->stall);
}

static void
sample (const char *name, uint64_t sequence, const struct schema *schema, const struct made *made)
{
  struct frame_header header = {
    .session = 7, .sequence = sequence, .monotonic_ns = bench->now_ns, .wall_ns = WALL_START + bench->now_ns
  };
  struct table tables[3];
  const struct table *list[3];
  struct buffer bytes = { 0 };
  size_t count = 0;

  strcpy (header.node, name);
  memcpy (header.schema, schema->hash, SCHEMA_HASH_SIZE);
  for (size_t i = 0; i < schema->group_count; i++) {
    struct table *table = &tables[i];
    table_init (table, schema->groups[i]);
    table_begin (table);
    table->monotonic_ns = bench->now_ns;
    table->period_ns = NS_PER_S;
    if (strcmp (schema->groups[i]->name, "disk") == 0)
      fill_disk (table, made);
    else if (strcmp (schema->groups[i]->name, "memory") == 0)
      fill_memory (table, made);
    else
      table_set_uint (table, table_add_row (table, "0", 1), 0, made->flop);
    if (!made->only_memory || strcmp (schema->groups[i]->name, "memory") == 0)
      list[count++] = table;
  }
  frame_write (&bytes, &header, schema, list, count);
  deliver (bench, name, CLUSTER_DATA, &bytes);
  buffer_free (&bytes);
  for (size_t i = 0; i < schema->group_count; i++)
    table_free (&tables[i]);
  now_frame (values, cluster_find (bench->cluster, name));
}

static void
begin (const char *name, const struct schema *schema)
{
  struct control hello = { .type = CONTROL_HELLO, .session = 7, .period_ns = NS_PER_S, .version = "9" };

  strcpy (hello.node, name);
  memcpy (hello.schema_hash, schema->hash, SCHEMA_HASH_SIZE);
  send_control (bench, name, &hello);
  send_schema (bench, name, schema->hash, schema->encoded.data, schema->encoded.length);
}

static void
step (int64_t ns)
{
  bench->now_ns += ns;
}

/* n1, n2 and n10 are up with two frames, n10 with another schema; n3 never came. */
static int
set_up (void **state)
{
  const struct cluster_options options = {
    .stale_periods = 3, .down_periods = 10, .tick_period_ns = NS_PER_S, .tick_grace_ns = NS_PER_S / 2
  };

  bench_set_up (state);
  bench = *state;
  cluster_destroy (bench->cluster); /* its frames are others than ours */
  bench->cluster = cluster_create (&options);
  schema_destroy (bench->schema);
  schema_destroy (bench->other);
  bench->schema = schema_create (all_groups, 3);
  bench->other = schema_create (newer_groups, 1);
  list_node (bench, "n3", 1);
  list_node (bench, "n10", 1);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  stopped_ns += 10 * NS_PER_S;
  values = now_create (bench->cluster);
  begin ("n1", bench->schema);
  begin ("n2", bench->schema);
  begin ("n10", bench->other);
  sample ("n1", 1, bench->schema, &(struct made){ 1000, 50, 1000000000, 40, 100, 0 });
  sample ("n2", 1, bench->schema, &(struct made){ 1000, 0, 0, 10, 100, 0 });
  sample ("n10", 1, bench->other, &(struct made){ .used = 5, .total = 50 });
  step (2 * NS_PER_S);
  sample ("n1", 2, bench->schema, &(struct made){ 5000, 150, 5000000000, 60, 100, 1 });
  sample ("n2", 2, bench->schema, &(struct made){ 1500, 7, 0, 20, 0, 0 });
  sample ("n10", 2, bench->other, &(struct made){ .used = 30, .total = 50, .stall = 2 });
  return 0;
}

static int
tear_down (void **state)
{
  now_destroy (values);
  return bench_tear_down (state);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)

/* ---- answers ---- */

static char *
ask (const char *words)
{
  char *copy = memory_string (words), *answer;
  struct buffer out = { 0 };
  struct error error;

  if (now_answer (values, &viewer_all, copy, WALL_START, &out, &error) < 0)
    fail_msg ("%s: %s", words, error.text);
  assert_int_equal (out.data[out.length - 1], '\n');
  answer = memory_copy (out.data, out.length);
  buffer_free (&out);
  free (copy);
  return answer;
}

/* A member of the answer, or of its first metric. */
static void
expect (const char *words, const char *member, const char *expected)
{
  char *answer = ask (words), *text = memory_format ("\"%s\":%s", member, expected), *at = strstr (answer, text);

  if (!at || !strchr (",}", at[strlen (text)]))
    fail_msg ("%s: no %s in %s", words, text, answer);
  free (text);
  free (answer);
}

static void
expect_error (const char *words, const char *begin_of)
{
  char *copy = memory_string (words);
  struct buffer out = { 0 };
  struct error error;

  assert_int_equal (now_answer (values, &viewer_all, copy, WALL_START, &out, &error), -1);
  if (strncmp (error.text, begin_of, strlen (begin_of)) != 0)
    fail_msg ("%s: %s", words, error.text);
  assert_int_equal (out.length, 0);
  free (copy);
}

static void
test_nodes_are_in_natural_order (void **state)
{
  (void) state;
  expect ("metric=memory.used", "nodes", "[\"n1\",\"n2\",\"n3\",\"n10\"]");
  expect ("metric=memory.used", "states", "\"uun\"");
  expect ("metric=memory.used\tnode=n1*", "nodes", "[\"n1\",\"n10\"]");
  expect ("metric=memory.used", "time", "\"2023-11-14T22:13:20.000000000Z\"");
}

static void
test_values_are_as_lines_show_them (void **state)
{
  (void) state;
  expect ("metric=memory.used", "values", "[60,20,null,30]");
  expect ("metric=memory.used", "metric", "\"memory.used\"");
  expect ("metric=memory.used", "unit", "\"bytes\"");
  expect ("metric=memory.stall", "values", "[50,0,null,100]"); /* a share: in percent of the period */
  expect ("metric=memory.stall", "unit", "\"percent\"");
  expect ("metric=disk.heat", "values", "[31,31,null,null]"); /* the rows' maximum */
}

/* In 2 s; a device that was not there before has no change. */
static void
test_counters_are_in_a_second (void **state)
{
  (void) state;
  expect ("metric=disk.bytes", "values", "[2050,250,null,null]");
  expect ("metric=disk.total.bytes", "unit", "\"bytes/s\"");
  expect ("metric=disk.devices.sdb.bytes", "values", "[50,null,null,null]");
  expect ("metric=disk.devices.sdb.bytes", "row", "\"sdb\"");
  expect ("metric=cpu_flops.gflops", "values", "[2,0,null,null]"); /* derived */
}

static void
test_two_metrics_make_one (void **state)
{
  (void) state;
  expect ("metric=memory.used / memory.total", "values", "[0.6,null,null,0.6]"); /* n2: by 0 */
  expect ("metric=memory.used/memory.total", "metric", "\"memory.used / memory.total\"");
  expect ("metric=disk.bytes * 8", "values", "[16400,2000,null,null]");
  expect ("metric=100 - memory.stall", "values", "[50,100,null,0]");
}

static void
test_what_all_have_in_common (void **state)
{
  (void) state;
  expect ("metric=memory.used", "count", "3");
  expect ("metric=memory.used", "sum", "110");
  expect ("metric=memory.used", "min", "20");
  expect ("metric=memory.used", "max_node", "\"n1\"");
  expect ("metric=memory.used\tnode=n3", "count", "0");
  expect ("metric=memory.used\tnode=n3", "mean", "null");
  expect ("metric=memory.used\tnode=n3", "min_node", "null");
}

static void
test_levels (void **state)
{
  (void) state;
  expect ("metric=memory.stall\tencoding=levels", "levels", "\"fQD/+g==\""); /* 125, 0, 255, 250 */
  expect ("metric=memory.stall\tencoding=levels", "high", "100");
  expect ("metric=memory.used\tencoding=levels", "levels", "\"+lP/fQ==\""); /* 250, 83, 255, 125 */
  expect ("metric=memory.used\tencoding=levels", "high", "60");
  expect ("metric=memory.used - 50\tencoding=levels", "low", "-30");
  expect ("metric=memory.used\tnode=n3\tencoding=levels", "levels", "\"/w==\"");
}

static void
test_top_and_bottom (void **state)
{
  (void) state;
  expect ("metric=memory.used\ttop=2", "top",
          "[{\"node\":\"n1\",\"row\":null,\"value\":60},{\"node\":\"n10\",\"row\":null,\"value\":30}]");
  expect ("metric=memory.used\tbottom=1", "top", "[{\"node\":\"n2\",\"row\":null,\"value\":20}]");
  expect ("metric=memory.used\ttop=9\tnode=n2,n3", "top", "[{\"node\":\"n2\",\"row\":null,\"value\":20}]");
  expect ("metric=disk.heat\trow=*\ttop=1", "top", "[{\"node\":\"n1\",\"row\":\"sdb\",\"value\":31}]");
}

static void
test_rows (void **state)
{
  (void) state;
  expect ("metric=disk.bytes\trow=sdb,x", "rows",
          "[{\"node\":\"n1\",\"row\":\"sdb\",\"value\":50},{\"node\":\"n2\",\"row\":\"sdb\",\"value\":null}]");
  expect ("metric=disk.bytes\trow=sd*\tnode=n2", "count", "1");
  expect ("metric=disk.speed\tnode=n2", "rows", /* nodes have no value of it as a whole */
          "[{\"node\":\"n2\",\"row\":\"sda\",\"value\":1000},{\"node\":\"n2\",\"row\":\"sdb\",\"value\":1001}]");
  expect ("metric=memory.total - disk.heat\trow=sda\tnode=n1", "rows",
          "[{\"node\":\"n1\",\"row\":\"sda\",\"value\":70}]");
}

static void
test_what_is_wrong_is_named (void **state)
{
  (void) state;
  expect_error ("metric=memory.usd", "metric: no node has a metric \"memory.usd\"; near are memory.used");
  expect_error ("metric=memory.state", "metric: memory.state is a text");
  expect_error ("metric=memory.used.max", "metric: \"memory.used.max\" is of the combined report");
  expect_error ("node=n1", "metric: is what to ask for");
  expect_error ("", "\"\" is no word");
  expect_error ("metric=memory.used\tnod=n1", "\"nod\" is no word");
  expect_error ("metric=memory.used\tnode=x*", "node: no listed node");
  expect_error ("metric=memory.used\tnode=[", "node: ");
  expect_error ("metric=memory.used\tnode=*a*a*a*a*a", "node: the list has");
  expect_error ("metric=memory.used\trow=sda", "row: memory.used has one value");
  expect_error ("metric=memory.used\ttop=0", "top: ");
  expect_error ("metric=memory.used\ttop=1001", "top: ");
  expect_error ("metric=memory.used\ttop=-1", "top: ");
  expect_error ("metric=memory.used\tbottom=x", "bottom: ");
  expect_error ("metric=memory.used\ttop=1\tbottom=1", "bottom: top and bottom");
  expect_error ("metric=memory.used\tencoding=x", "encoding: ");
}

static void
test_a_question_has_so_many_metrics (void **state)
{
  struct buffer words = { 0 };

  (void) state;
  for (size_t i = 0; i < NOW_METRICS_MAX; i++)
    buffer_printf (&words, "%smetric=memory.used + %zu", i ? "\t" : "", i);
  free (ask (buffer_text (&words)));
  buffer_add_string (&words, "\tmetric=memory.total");
  expect_error (buffer_text (&words), "metric: there are 16 at most");
  buffer_free (&words);
}

/* A node that fell silent has no values, nor has one for a group that its frames have no more. */
static void
test_what_is_old_is_missing (void **state)
{
  (void) state;
  step (6 * NS_PER_S);
  sample ("n1", 3, bench->schema, &(struct made){ .used = 61, .total = 100, .only_memory = true });
  sample ("n2", 3, bench->schema, &(struct made){ 1500, 7, 0, 21, 0, 0 });
  cluster_tick (bench->cluster, now (bench));
  expect ("metric=memory.used", "values", "[61,21,null,null]");
  expect ("metric=memory.used", "states", "\"uuns\"");
  expect ("metric=disk.heat", "values", "[null,31,null,null]");
  expect ("metric=disk.heat\trow=*", "count", "2");
  pass (bench, 20 * NS_PER_S);
  expect ("metric=memory.used", "values", "[null,null,null,null]");
  expect ("metric=disk.heat\trow=*", "count", "0");
}

/* What would take the main thread too long is refused. */
static void
test_too_much (void **state)
{
  struct buffer words = { 0 };
  char name[FRAME_NODE_MAX + 1];

  (void) state;
  buffer_add_string (&words, "metric=memory.used\tnode=");
  for (int i = 0; i < 500; i++)
    buffer_add_string (&words, "x,");
  expect_error (buffer_text (&words), "node: no listed node");
  for (int i = 0; i < 4000; i++) {
    snprintf (name, sizeof name, "more%d", i);
    list_node (bench, name, 1);
  }
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  expect_error (buffer_text (&words), "node: 500 globs are too many");
  expect ("metric=memory.used\tnode=x,n1", "count", "1");
  buffer_free (&words);
}

/* Names that are gone stay known; nodes that are listed anew have none. */
static void
test_the_list_changes (void **state)
{
  char *before = ask ("metric=memory.used"), *after, *list;

  (void) state;
  key_set_destroy (bench->keys);
  bench->keys = key_set_create ();
  list_node (bench, "n2", 1);
  list_node (bench, "n0", 1);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  expect ("metric=memory.used", "nodes", "[\"n0\",\"n2\"]");
  expect ("metric=memory.used", "values", "[null,20]");
  expect ("metric=disk.bytes\trow=*", "count", "1");
  after = ask ("metric=memory.used");
  list = memory_copy (strstr (before, "\"list\":"), 12);
  assert_null (strstr (after, list));
  free (list);
  free (before);
  free (after);
}

/* ---- who watches ---- */

struct reader {
  struct outlet *outlet;
  struct now_reader *reader;
  int pair[2];
  int woken;
  uint64_t dropped;
};

static void
wake (void *context)
{
  struct reader *reader = context;

  reader->woken++;
  outlet_flush (reader->outlet);
}

static void
watch (struct reader *reader, const char *words)
{
  char *copy = memory_string (words);
  int small = 4096;
  struct error error;

  *reader = (struct reader){ .reader = NULL };
  assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM, 0, reader->pair), 0);
  setsockopt (reader->pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  reader->outlet = outlet_create (reader->pair[0], OUTLET_SOCKET, QUEUE, &reader->dropped);
  reader->reader = now_attach (values, &viewer_all, copy, WALL_START, reader->outlet, wake, reader, &error);
  if (!reader->reader)
    fail_msg ("%s: %s", words, error.text);
  outlet_flush (reader->outlet);
  free (copy);
}

static void
leave (struct reader *reader)
{
  now_detach (reader->reader);
  outlet_destroy (reader->outlet);
  close (reader->pair[0]);
  close (reader->pair[1]);
}

/* The next line; "": none. */
static const char *
line_of (struct reader *reader)
{
  static char text[65536];
  size_t length = 0;

  while (length < sizeof text - 1 && recv (reader->pair[1], text + length, 1, MSG_DONTWAIT) == 1)
    if (text[length++] == '\n')
      break;
  text[length] = '\0';
  return text;
}

static void
expect_line (struct reader *reader, bool names, const char *part)
{
  const char *line = line_of (reader);

  if (!strstr (line, part) || (strstr (line, "\"nodes\":") != NULL) != names)
    fail_msg ("%s\nhas no %s, or names", line, part);
}

static void
tick (void)
{
  now_tick (values, WALL_START + bench->now_ns, NS_PER_S);
  now_flush (values);
}

static void
test_watch (void **state)
{
  struct reader one, other;

  (void) state;
  watch (&one, "metric=memory.used");
  watch (&other, "metric=memory.used");
  expect_line (&one, true, "[60,20,null,30]");
  expect_line (&other, true, "[60,20,null,30]");
  assert_int_equal (now_count (values).readers, 2);
  assert_int_equal (now_count (values).metrics, 1);
  now_flush (values);
  assert_string_equal (line_of (&one), ""); /* no tick, no line */
  step (NS_PER_S);
  sample ("n2", 3, bench->schema, &(struct made){ .used = 62, .total = 100 });
  tick ();
  assert_int_equal (one.woken, 1);
  expect_line (&one, false, "[60,62,null,30]");
  expect_line (&other, false, "[60,62,null,30]");
  leave (&one);
  tick ();
  expect_line (&other, false, "[60,62,null,30]");
  leave (&other);
  assert_int_equal (now_count (values).readers, 0);
  assert_int_equal (now_count (values).metrics, 0);
}

static void
test_watch_says_who_is_listed (void **state)
{
  struct reader reader;

  (void) state;
  watch (&reader, "metric=memory.used");
  line_of (&reader);
  list_node (bench, "n5", 1);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  tick ();
  expect_line (&reader, true, "\"n5\"");
  cluster_list (bench->cluster, each_key, bench->keys, now (bench)); /* the same again */
  sample ("n1", 3, bench->schema, &(struct made){ .used = 62, .total = 100 });
  tick ();
  expect_line (&reader, false, "[62,20,null,null,30]");
  leave (&reader);
}

/* The names that a slow reader missed come with its next line. */
static void
test_a_slow_reader_misses_lines (void **state)
{
  struct reader slow, quick;
  char more[FRAME_NODE_MAX + 1];

  (void) state;
  for (int i = 100; i < 2000; i++) {
    snprintf (more, sizeof more, "a-node-with-a-long-name-%d", i);
    list_node (bench, more, 1);
  }
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  watch (&quick, "metric=memory.used");
  watch (&slow, "metric=memory.used\tnode=*");
  for (int i = 0; i < 3; i++) {
    while (*line_of (&quick))
      outlet_flush (quick.outlet);
    tick ();
  }
  assert_int_equal (now_count (values).skipped, 3);
  assert_int_equal (slow.dropped, 0);
  list_node (bench, "n5", 1);
  cluster_list (bench->cluster, each_key, bench->keys, now (bench));
  tick (); /* it misses that */
  assert_int_equal (now_count (values).skipped, 4 + !outlet_empty (quick.outlet));
  while (*line_of (&slow))
    outlet_flush (slow.outlet);
  assert_true (outlet_empty (slow.outlet));
  tick ();
  expect_line (&slow, true, "");
  leave (&slow);
  leave (&quick);
}

/* Lines come even where no node ever reported, and there are no ticks; but not between ticks that are far apart. */
static void
test_without_ticks (void **state)
{
  struct reader reader;

  (void) state;
  now_poll (values, now (bench));
  watch (&reader, "metric=memory.used");
  line_of (&reader);
  step (NS_PER_S);
  now_poll (values, now (bench));
  now_flush (values);
  assert_string_equal (line_of (&reader), "");
  pass (bench, 60 * NS_PER_S);
  now_poll (values, now (bench));
  now_flush (values);
  expect_line (&reader, false, "[null,null,null,null]");
  now_tick (values, WALL_START + bench->now_ns, 10 * NS_PER_S);
  now_flush (values);
  expect_line (&reader, false, "[null,null,null,null]");
  now_poll (values, now (bench));
  step (15 * NS_PER_S);
  now_poll (values, now (bench));
  now_flush (values);
  assert_string_equal (line_of (&reader), "");
  leave (&reader);
}

/* Who asks without a pause gets a part of the time; watching goes on. */
static void
test_answers_take_a_part_of_the_time (void **state)
{
  clock_t begin = clock ();
  struct reader reader;
  bool busy = false;

  (void) state;
  watch (&reader, "metric=memory.used");
  line_of (&reader);
  while (!busy && clock () - begin < 4 * CLOCKS_PER_SEC) {
    char words[] = "metric=disk.bytes\tmetric=memory.used\tmetric=disk.heat";
    struct buffer out = { 0 };
    struct error error = { "" };
    busy = now_answer (values, &viewer_all, words, WALL_START, &out, &error) < 0;
    if (busy)
      assert_string_equal (error.text, "busy: more is asked for than there is time for; ask again");
    buffer_free (&out);
  }
  assert_true (busy);
  tick ();
  expect_line (&reader, false, "[60,20,null,30]");
  leave (&reader);
  stopped_ns += 10 * NS_PER_S;
  expect ("metric=memory.used", "count", "3");
}

static void
test_so_many_metrics_are_watched (void **state)
{
  struct reader readers[NOW_WATCHED_MAX / NOW_METRICS_MAX];
  struct reader more;
  struct error error;
  char words[2048];

  (void) state;
  for (size_t i = 0; i < NOW_WATCHED_MAX / NOW_METRICS_MAX; i++) {
    words[0] = '\0';
    for (size_t k = 0; k < NOW_METRICS_MAX; k++)
      snprintf (words + strlen (words), sizeof words - strlen (words), "%smetric=memory.used + %zu", k ? "\t" : "",
                i * NOW_METRICS_MAX + k);
    watch (&readers[i], words);
  }
  strcpy (words, "metric=memory.total");
  assert_null (now_attach (values, &viewer_all, words, 0, readers[0].outlet, wake, &more, &error));
  assert_string_equal (error.text, "busy: as many different metrics are watched as may be, 128");
  expect ("metric=memory.total", "count", "3"); /* who only asks is answered */
  watch (&more, "metric=memory.used + 5");
  leave (&more);
  leave (&readers[0]);
  watch (&more, "metric=memory.total");
  leave (&more);
  for (size_t i = 1; i < NOW_WATCHED_MAX / NOW_METRICS_MAX; i++)
    leave (&readers[i]);
  assert_int_equal (now_count (values).metrics, 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { TEST (test_nodes_are_in_natural_order),
                                      TEST (test_values_are_as_lines_show_them),
                                      TEST (test_counters_are_in_a_second),
                                      TEST (test_two_metrics_make_one),
                                      TEST (test_what_all_have_in_common),
                                      TEST (test_levels),
                                      TEST (test_top_and_bottom),
                                      TEST (test_rows),
                                      TEST (test_what_is_wrong_is_named),
                                      TEST (test_a_question_has_so_many_metrics),
                                      TEST (test_what_is_old_is_missing),
                                      TEST (test_too_much),
                                      TEST (test_the_list_changes),
                                      TEST (test_watch),
                                      TEST (test_watch_says_who_is_listed),
                                      TEST (test_a_slow_reader_misses_lines),
                                      TEST (test_without_ticks),
                                      TEST (test_answers_take_a_part_of_the_time),
                                      TEST (test_so_many_metrics_are_watched) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
