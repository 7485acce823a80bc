/* What values of this instant cost the main thread, of made-up nodes, without sockets.
 *
 *   bench_now NODES CPUS ROUNDS     one JSON object: the least CPU time of so many
 *
 * Each node has 10 shares of each CPU, 40 values of the node, and 10 counters of each of 3 devices. Milliseconds: of the first
 * question after a start; of answers about a value of the node, as numbers, as levels, the ten greatest; about one that is the
 * mean of all CPUs; of a tick's line, with 1 and with 20 readers; and nanoseconds of each frame for each metric that is
 * watched. Between two answers all tables are out of the CPU's caches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/core/node.h"
#include "aggregator/now/now.h"
#include "synop/clock.h"
#include "synop/key_set.h"
#include "synop/memory.h"

#define CPU_METRICS 10
#define NODE_METRICS 40
#define DEVICES 3
#define READERS 20
#define WASTE ((size_t) 64 << 20)

static char names[CPU_METRICS + NODE_METRICS][24];
static struct metric cpu_metrics[CPU_METRICS], node_metrics[NODE_METRICS], device_metrics[CPU_METRICS];
static struct group groups[] = {
  { .name = "cpu", .section = "system_data", .row = "CPU", .rows_name = "cpus", .fold_name = "average", .help = "." },
  { .name = "plain", .section = "system_data", .row = "", .rows_name = "", .fold_name = "", .help = "." },
  { .name = "net",
    .section = "system_data",
    .row = "device",
    .rows_name = "devices",
    .fold_name = "total",
    .help = "." },
};

struct bench {
  size_t nodes, cpus;
  struct key_set *keys;
  struct cluster *cluster;
  struct schema *schema;
  struct now *now;
  int64_t now_ns;
  uint64_t sequence;
  struct table tables[3];
  char *waste;
};

static int64_t
cpu (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void
schema_make (struct bench *bench)
{
  static const struct group *const list[] = { &groups[0], &groups[1], &groups[2] };

  for (size_t i = 0; i < CPU_METRICS + NODE_METRICS; i++)
    snprintf (names[i], sizeof names[i], "m%zu", i);
  for (size_t i = 0; i < CPU_METRICS; i++) {
    cpu_metrics[i] =
        (struct metric){ names[i], COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 1000, .help = "." };
    device_metrics[i] = (struct metric){ names[i], COUNTER, UNIT_BYTES, FOLD_SUM, .help = "." };
  }
  for (size_t i = 0; i < NODE_METRICS; i++)
    node_metrics[i] = (struct metric){ names[i], GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .help = "." };
  groups[0].metrics = cpu_metrics;
  groups[1].metrics = node_metrics;
  groups[2].metrics = device_metrics;
  groups[0].metric_count = groups[2].metric_count = CPU_METRICS;
  groups[1].metric_count = NODE_METRICS;
  bench->schema = schema_create (list, 3);
  for (size_t i = 0; i < 3; i++)
    table_init (&bench->tables[i], &groups[i]);
}

static void
rows_fill (struct table *table, size_t rows, uint64_t value)
{
  char label[24];

  for (size_t row = 0; row < rows; row++) {
    snprintf (label, sizeof label, "%zu", row);
    table_add_row (table, label, strlen (label));
    for (size_t i = 0; i < CPU_METRICS; i++)
      table_set_uint (table, row, i, value + row);
  }
}

static void
deliver (struct bench *bench, enum cluster_channel channel, const char *name, const struct buffer *bytes)
{
  struct cluster_message message = { channel,     name,          (const uint8_t *) "here",
                                     4,           bench->now_ns, bench->now_ns,
                                     bytes->data, bytes->length };

  cluster_message (bench->cluster, &message, (struct instant){ bench->now_ns, bench->now_ns });
}

static void
node_begin (struct bench *bench, const char *name)
{
  struct control hello = { .type = CONTROL_HELLO, .session = 1, .period_ns = NS_PER_S, .version = "1" };
  struct control schema = { .type = CONTROL_SCHEMA,
                            .schema = (void *) bench->schema->encoded.data,
                            .schema_length = bench->schema->encoded.length };
  struct buffer bytes = { 0 };

  strcpy (hello.node, name);
  memcpy (hello.schema_hash, bench->schema->hash, SCHEMA_HASH_SIZE);
  memcpy (schema.schema_hash, bench->schema->hash, SCHEMA_HASH_SIZE);
  control_write (&bytes, &hello);
  deliver (bench, CLUSTER_CONTROL, name, &bytes);
  buffer_clear (&bytes);
  control_write (&bytes, &schema);
  deliver (bench, CLUSTER_CONTROL, name, &bytes);
  buffer_free (&bytes);
}

static void
name_of (char *name, size_t node)
{
  snprintf (name, FRAME_NODE_MAX, "n%zu", node);
}

/* A frame of every node; the nanoseconds that the watched metrics took of each. */
static double
frames_deliver (struct bench *bench)
{
  const struct table *const list[] = { &bench->tables[0], &bench->tables[1], &bench->tables[2] };
  struct frame_header header = { .session = 1, .sequence = ++bench->sequence };
  struct buffer bytes = { 0 };
  int64_t taken = 0;

  bench->now_ns += NS_PER_S;
  header.monotonic_ns = header.wall_ns = bench->now_ns;
  memcpy (header.schema, bench->schema->hash, SCHEMA_HASH_SIZE);
  for (size_t node = 0; node < bench->nodes; node++) {
    int64_t begin;
    name_of (header.node, node);
    for (size_t i = 0; i < 3; i++) {
      table_begin (&bench->tables[i]);
      bench->tables[i].monotonic_ns = bench->now_ns;
      bench->tables[i].period_ns = NS_PER_S;
    }
    rows_fill (&bench->tables[0], bench->cpus, bench->sequence * 500);
    rows_fill (&bench->tables[2], DEVICES, bench->sequence * 1000 * node);
    for (size_t i = 0; i < NODE_METRICS; i++)
      table_set_real (&bench->tables[1], TABLE_NODE, i, 1e9 + (double) (node * 7919 % 10007) * 12345.678);
    buffer_clear (&bytes);
    frame_write (&bytes, &header, bench->schema, list, 3);
    deliver (bench, CLUSTER_DATA, header.node, &bytes);
    begin = cpu ();
    now_frame (bench->now, cluster_find (bench->cluster, header.node));
    taken += cpu () - begin;
  }
  buffer_free (&bytes);
  return (double) taken / (double) bench->nodes;
}

static void
each_key (const void *keys, cluster_take_node_fn *take, void *context)
{
  key_set_each (keys, take, context);
}

static void
bench_make (struct bench *bench)
{
  const struct cluster_options options = {
    .stale_periods = 3, .down_periods = 10, .tick_period_ns = NS_PER_S, .tick_grace_ns = NS_PER_S / 2
  };
  char name[FRAME_NODE_MAX + 1];

  bench->now_ns = 1000 * NS_PER_S;
  bench->keys = key_set_create ();
  bench->cluster = cluster_create (&options);
  bench->now = now_create (bench->cluster);
  bench->waste = memory_new (WASTE, 1);
  schema_make (bench);
  for (size_t node = 0; node < bench->nodes; node++) {
    uint8_t key[KEY_SIZE] = { 0 };
    name_of (name, node);
    memcpy (key, &node, sizeof node);
    key[KEY_SIZE - 1] = 1;
    key_set_add (bench->keys, name, key, NULL);
  }
  cluster_list (bench->cluster, each_key, bench->keys, (struct instant){ bench->now_ns, bench->now_ns });
  for (size_t node = 0; node < bench->nodes; node++) {
    name_of (name, node);
    node_begin (bench, name);
  }
  frames_deliver (bench);
  frames_deliver (bench);
}

static void
caches_waste (struct bench *bench)
{
  for (size_t i = 0; i < WASTE; i += 64)
    bench->waste[i]++;
}

/* Milliseconds; what is asked too often is asked again. */
static double
ask (struct bench *bench, const char *words, size_t *bytes)
{
  struct buffer out = { 0 };
  struct error error;
  char copy[256];
  int64_t begin;

  for (;;) {
    strcpy (copy, words);
    caches_waste (bench);
    begin = cpu ();
    if (now_answer (bench->now, &viewer_all, copy, bench->now_ns, &out, &error) == 0)
      break;
    if (strncmp (error.text, "busy", 4) != 0) {
      fprintf (stderr, "bench_now: %s: %s\n", words, error.text);
      exit (1);
    }
    usleep (100000);
  }
  begin = cpu () - begin;
  if (bytes)
    *bytes = out.length;
  buffer_free (&out);
  return (double) begin / 1e6;
}

static double
least_of (struct bench *bench, const char *words, long rounds, size_t *bytes)
{
  double least = 0;

  for (long i = 0; i < rounds; i++) {
    double taken = ask (bench, words, bytes);
    least = i == 0 || taken < least ? taken : least;
  }
  return least;
}

/* ---- who watches ---- */

struct reader {
  struct outlet *outlet;
  struct now_reader *reader;
  int pair[2];
};

static void
wake (void *context)
{
  struct reader *reader = context;
  char text[65536];

  while (!outlet_empty (reader->outlet)) {
    outlet_flush (reader->outlet);
    while (recv (reader->pair[1], text, sizeof text, MSG_DONTWAIT) > 0)
      ;
  }
}

static void
watch (struct bench *bench, struct reader *reader, uint64_t *dropped)
{
  char words[] = "metric=plain.m10\tencoding=levels";
  struct error error;

  if (socketpair (AF_UNIX, SOCK_STREAM, 0, reader->pair) < 0)
    exit (1);
  reader->outlet = outlet_create (reader->pair[0], OUTLET_SOCKET, 1 << 20, dropped);
  do
    reader->reader = now_attach (bench->now, &viewer_all, words, bench->now_ns, reader->outlet, wake, reader, &error);
  while (!reader->reader && usleep (100000) == 0);
  wake (reader);
}

static double
tick (struct bench *bench, long rounds)
{
  double least = 0;

  for (long i = 0; i < rounds; i++) {
    int64_t begin;
    double taken;
    caches_waste (bench);
    begin = cpu ();
    now_tick (bench->now, bench->now_ns, NS_PER_S);
    now_flush (bench->now);
    taken = (double) (cpu () - begin) / 1e6;
    least = i == 0 || taken < least ? taken : least;
  }
  return least;
}

int
main (int argc, char **argv)
{
  struct bench bench = { 0 };
  struct reader readers[READERS];
  double one, all, of_cpus, frame;
  uint64_t dropped = 0;
  size_t values, levels;
  long rounds;

  if (argc != 4 || !(bench.nodes = strtoul (argv[1], NULL, 10)) || !(bench.cpus = strtoul (argv[2], NULL, 10)) ||
      (rounds = strtol (argv[3], NULL, 10)) < 1) {
    fprintf (stderr, "usage: see %s\n", __FILE__);
    return 2;
  }
  bench_make (&bench);
  printf ("{\"first_ms\":%.3f", ask (&bench, "metric=plain.m10", NULL));
  printf (",\"values_ms\":%.3f", least_of (&bench, "metric=plain.m10", rounds, &values));
  printf (",\"levels_ms\":%.3f", least_of (&bench, "metric=plain.m10\tencoding=levels", rounds, &levels));
  printf (",\"top_ms\":%.3f", least_of (&bench, "metric=plain.m10\ttop=10", rounds, NULL));
  of_cpus = least_of (&bench, "metric=cpu.m3\tencoding=levels", rounds, NULL);
  watch (&bench, &readers[0], &dropped);
  frame = frames_deliver (&bench);
  one = tick (&bench, rounds);
  for (size_t i = 1; i < READERS; i++)
    watch (&bench, &readers[i], &dropped);
  all = tick (&bench, rounds);
  printf (",\"cpus_ms\":%.3f,\"frame_ns\":%.0f,\"tick_ms\":%.3f,\"tick_20_ms\":%.3f", of_cpus, frame, one, all);
  printf (",\"values_bytes\":%zu,\"levels_bytes\":%zu,\"skipped\":%zu}\n", values, levels,
          (size_t) now_count (bench.now).skipped);
  return 0; /* memory goes with the process */
}
