/* What minutes and hours cost of nodes that are unlike each other:
 *
 *   bench_unlike FOLDER SECONDS FRAMES NODES...        a JSON object for each NODES on standard output
 *
 * Samples the live machine each second for SECONDS with the agent's own samplers. Then stores FRAMES frames, a second apart, of
 * NODES nodes in FOLDER/NODES.db, and the combined report of each second. Each node goes through stretches of the samples of its
 * own, and has large values multiplied by factors of its own: in the units that they come in, so that they are as rough as those
 * that were sampled. Counters grow by what they grew there.
 *
 * CPU times of a frame: `line_us` to read it, to combine it with others, and to write its report and its part in the combined one
 * as JSON; `stored_us` to store it, and its part; `tiers_us` what minutes and hours take beside: the functions of which that is
 * measured are wrapped. The history's own thread does no work on them here; it is done, as there, when chunks have waited long
 * enough. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history.h"
#include "aggregator/history/history_ticks.h"
#include "aggregator/history/tier_store.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "tests/bench/taken.h"

#define STRETCH 60    /* samples, or up to twice as many */
#define CHUNK 60      /* frames */
#define SMALL 16      /* values that stay as they are, in the units that they come in */
#define FOLD_FEW 3600 /* frames between the times at which chunks are folded: of few nodes, */
#define FOLD_MANY 900 /* and of many */
#define MANY 50

struct unlike_node {
  struct table *tables[2]; /* for each group: what was put last, and before it */
  uint8_t *turn;
  struct table *read; /* the frame, as the core reads it */
  uint64_t chance;
  size_t at, left; /* the sample, and how many until the next stretch */
};

/* What a metric's values come in: a multiple of a whole number, or of a power of ten. */
struct grain {
  uint64_t whole;
  unsigned decimals;
};

struct bench {
  struct takings takings;
  struct grain **grains; /* of a group's metrics */
  struct unlike_node *nodes;
  size_t count;
  uint64_t values;
  struct json json;
  int64_t made_ns, line_ns;
};

static int64_t tiers_ns; /* of both threads: they take turns */

/* ---- what is measured apart ---- */

void __real_history_ticks_write (struct buffer *out, const struct combine *combine);
void __wrap_history_ticks_write (struct buffer *out, const struct combine *combine);
void __real_history_ticks_fold (struct history_ticks *ticks, uint64_t last, struct tier_writer *writer,
                                struct ticks_metrics *metrics, struct tier_folded *folded);
void __wrap_history_ticks_fold (struct history_ticks *ticks, uint64_t last, struct tier_writer *writer,
                                struct ticks_metrics *metrics, struct tier_folded *folded);
int __real_tier_store_stage (struct history_store *store, const char *node, const struct tier_list *metrics,
                             const struct tier_folded *folded, struct error *error);
int __wrap_tier_store_stage (struct history_store *store, const char *node, const struct tier_list *metrics,
                             const struct tier_folded *folded, struct error *error);
int __real_tier_store_work (struct history_store *store, const struct tier_limits *limits, int64_t until_ns,
                            struct error *error);
int __wrap_tier_store_work (struct history_store *store, const struct tier_limits *limits, int64_t until_ns,
                            struct error *error);

static void
add_to_tiers (int64_t begin_ns)
{
  __atomic_add_fetch (&tiers_ns, taken_cpu (CLOCK_THREAD_CPUTIME_ID) - begin_ns, __ATOMIC_RELAXED);
}

void
__wrap_history_ticks_write (struct buffer *out, const struct combine *combine)
{
  int64_t begin = taken_cpu (CLOCK_THREAD_CPUTIME_ID);

  __real_history_ticks_write (out, combine);
  add_to_tiers (begin);
}

void
__wrap_history_ticks_fold (struct history_ticks *ticks, uint64_t last, struct tier_writer *writer,
                           struct ticks_metrics *metrics, struct tier_folded *folded)
{
  int64_t begin = taken_cpu (CLOCK_THREAD_CPUTIME_ID);

  __real_history_ticks_fold (ticks, last, writer, metrics, folded);
  add_to_tiers (begin);
}

int
__wrap_tier_store_stage (struct history_store *store, const char *node, const struct tier_list *metrics,
                         const struct tier_folded *folded, struct error *error)
{
  int64_t begin = taken_cpu (CLOCK_THREAD_CPUTIME_ID);
  int result = __real_tier_store_stage (store, node, metrics, folded, error);

  add_to_tiers (begin);
  return result;
}

/* The history's own thread leaves the work to the bench. */
int
__wrap_tier_store_work (struct history_store *store, const struct tier_limits *limits, int64_t until_ns,
                        struct error *error)
{
  (void) store;
  (void) limits;
  (void) until_ns;
  (void) error;
  return 0;
}

/* What is due at that time is done. */
static void
work (const char *path, int64_t now_s)
{
  struct error error = { "" };
  struct history_store *store = history_store_open (path, &error);
  struct tier_limits limits = { .now_ns = now_s * NS_PER_S,
                                .minutes_before_ns = INT64_MIN,
                                .hours_before_ns = INT64_MIN,
                                .max_size = UINT64_C (1) << 50 };
  int64_t begin = taken_cpu (CLOCK_PROCESS_CPUTIME_ID);
  int more = 1;

  while (store && more == 1)
    more = __real_tier_store_work (store, &limits, INT64_MAX, &error);
  __atomic_add_fetch (&tiers_ns, taken_cpu (CLOCK_PROCESS_CPUTIME_ID) - begin, __ATOMIC_RELAXED);
  if (!store || more < 0) {
    fprintf (stderr, "%s\n", error.text);
    exit (1);
  }
  history_store_close (store);
}

/* ---- values ---- */

static unsigned
decimals_of (double value)
{
  unsigned decimals = 0;

  for (double power = 1; decimals < 7 && llround (value * power) / power != value; power *= 10)
    decimals++;
  return decimals;
}

static void
look_at (struct grain *grain, const struct value *value)
{
  uint64_t one = value->type == VALUE_UINT ? value->as.u : 0;

  while (one) { /* the greatest common divisor */
    uint64_t rest = grain->whole % one;
    grain->whole = one;
    one = rest;
  }
  if (value->type == VALUE_REAL && decimals_of (value->as.d) > grain->decimals)
    grain->decimals = decimals_of (value->as.d);
}

static void
find_grains (struct bench *bench)
{
  const struct takings *takings = &bench->takings;

  bench->grains = memory_new (takings->schema->group_count, sizeof bench->grains[0]);
  for (size_t g = 0; g < takings->schema->group_count; g++) {
    size_t metrics = takings->schema->groups[g]->metric_count;
    bench->grains[g] = memory_new (metrics, sizeof bench->grains[g][0]);
    for (size_t i = 0; i < takings->count; i++) {
      const struct table *table = &takings->samples[i].tables[g];
      for (size_t m = 0; m < metrics && table->group; m++)
        for (size_t row = 0; row <= table->rows; row++)
          if ((row == table->rows) == ((table->group->metrics[m].flags & METRIC_OF_NODE) != 0))
            look_at (&bench->grains[g][m], table_get (table, row == table->rows ? TABLE_NODE : row, m));
    }
  }
}

/* Of a node, a metric and a row: from 0.6 to 1. */
static double
factor_of (size_t node, size_t group, const struct table *table, size_t row, size_t column)
{
  uint64_t bits = node * 1000003 + group;
  size_t length = 0;
  const char *label = row == TABLE_NODE ? "" : table_label (table, row, &length);

  for (size_t i = 0; i < length; i++)
    bits = bits * 131 + (uint8_t) label[i];
  return 0.6 + 0.4 * (double) (taken_mix (bits >> 16, bits & 0xffff, column, 0) % 4096) / 4096;
}

static uint64_t
unlike_whole (uint64_t value, const struct grain *grain, double factor)
{
  uint64_t unit = grain->whole ? grain->whole : 1;

  return value / unit < SMALL ? value : (uint64_t) llround ((double) (value / unit) * factor) * unit;
}

static double
unlike_real (double value, const struct grain *grain, double factor)
{
  double power = pow (10, grain->decimals);

  if (grain->decimals >= 7)
    return value * factor;
  return fabs (value) * power < SMALL ? value : (double) llround (value * power * factor) / power;
}

static void
change_value (struct table *now, const struct table *put, const struct table *earlier, size_t row, size_t column,
              const struct grain *grain, double factor)
{
  const struct value *value = table_get (now, row, column), *one, *two;

  if (value->type == VALUE_REAL) {
    table_set_real (now, row, column, unlike_real (value->as.d, grain, factor));
  } else if (value->type == VALUE_UINT && now->group->metrics[column].kind != COUNTER) {
    table_set_uint (now, row, column, unlike_whole (value->as.u, grain, factor));
  } else if (value->type == VALUE_UINT && put) {
    one = taken_value_in (put, now, row, column);
    two = earlier ? taken_value_in (earlier, now, row, column) : NULL;
    if (one && one->type == VALUE_UINT)
      table_set_uint (now, row, column,
                      one->as.u + (two && two->type == VALUE_UINT && value->as.u > two->as.u
                                       ? unlike_whole (value->as.u - two->as.u, grain, factor)
                                       : 0));
  }
}

static void
change_table (struct bench *bench, size_t node, size_t g, struct table *now, const struct table *put,
              const struct table *earlier)
{
  for (size_t m = 0; m < now->group->metric_count; m++) {
    bool of_node = now->group->metrics[m].flags & METRIC_OF_NODE;
    for (size_t i = 0; i < (of_node ? 1 : now->rows); i++) {
      size_t row = of_node ? TABLE_NODE : i;
      change_value (now, put, earlier, row, m, &bench->grains[g][m], factor_of (node, g, now, row, m));
    }
    bench->values += of_node ? 1 : now->rows;
  }
}

/* The group's table in the samples before. */
static const struct table *
table_before (const struct takings *takings, size_t sample, size_t g)
{
  while (sample-- > 0)
    if (takings->samples[sample].tables[g].group)
      return &takings->samples[sample].tables[g];
  return NULL;
}

/* Makes what a node puts next; pairs are of its tables. */
static void
make_next (struct bench *bench, size_t index, uint64_t sequence, struct report_group *pairs)
{
  const struct takings *takings = &bench->takings;
  struct unlike_node *node = &bench->nodes[index];

  node->chance = node->chance * UINT64_C (6364136223846793005) + UINT64_C (1442695040888963407);
  if (node->left == 0 || node->at + 1 == takings->count) {
    node->at = sequence == 1 ? 0 : 1 + (node->chance >> 33) % (takings->count - 1);
    node->left = STRETCH + (node->chance >> 20) % STRETCH;
  } else {
    node->at++;
  }
  node->left--;
  for (size_t g = 0; g < takings->schema->group_count; g++) {
    const struct table *sample = &takings->samples[node->at].tables[g];
    struct table *now = &node->tables[node->turn[g] ^ 1][g], *put = &node->tables[node->turn[g]][g];
    pairs[g] = (struct report_group){ NULL, NULL };
    if (!sample->group || (sample->group->flags & GROUP_ONCE && sequence > 1))
      continue;
    if (!now->group)
      table_init (now, sample->group);
    table_copy (now, sample);
    change_table (bench, index, g, now, put->group ? put : NULL, table_before (takings, node->at, g));
    now->sequence = sequence;
    pairs[g] = (struct report_group){ now, put->group ? put : NULL };
    node->turn[g] ^= 1;
  }
}

/* ---- frames ---- */

static struct table *
take_table (void *context, size_t group)
{
  return &((struct table *) context)[group];
}

static void
put (struct bench *bench, struct history *history, struct combine *combine, size_t index, uint64_t sequence,
     int64_t start_ns)
{
  struct takings *takings = &bench->takings;
  struct unlike_node *node = &bench->nodes[index];
  int64_t begin = taken_cpu (CLOCK_THREAD_CPUTIME_ID), jitter;
  struct frame_header header = { .session = 1000 + index, .sequence = sequence }, read;
  struct report_group pairs[SCHEMA_GROUPS_MAX];
  const struct table *tables[SCHEMA_GROUPS_MAX];
  struct frame_sink sink = { .context = node->read, .take = take_table };
  struct buffer bytes = { 0 };
  size_t count = 0;

  make_next (bench, index, sequence, pairs);
  jitter = takings->samples[node->at].monotonic_ns % 100000;
  snprintf (header.node, sizeof header.node, "n%03zu", index);
  memcpy (header.schema, takings->schema->hash, SCHEMA_HASH_SIZE);
  header.monotonic_ns = (5000 + (int64_t) sequence) * NS_PER_S + jitter;
  header.wall_ns = start_ns + (int64_t) (sequence - 1) * NS_PER_S + jitter;
  for (size_t g = 0; g < takings->schema->group_count; g++)
    if (pairs[g].now)
      tables[count++] = pairs[g].now;
  frame_write (&bytes, &header, takings->schema, tables, count);
  bench->made_ns += taken_cpu (CLOCK_THREAD_CPUTIME_ID) - begin;

  begin = taken_cpu (CLOCK_THREAD_CPUTIME_ID);
  if (frame_read_header (bytes.data, bytes.length, &read, NULL) < 0 ||
      frame_read_tables (bytes.data, bytes.length, &read, takings->schema, &sink, NULL) < 0)
    abort ();
  combine_add (combine, header.node, takings->schema, pairs);
  json_clear (&bench->json);
  json_object (&bench->json);
  report_write (&bench->json, pairs, takings->schema->group_count, NULL, NULL);
  json_object_end (&bench->json);
  bench->line_ns += taken_cpu (CLOCK_THREAD_CPUTIME_ID) - begin;
  history_put_frame (history, &(struct cluster_frame){ .header = &header,
                                                       .bytes = bytes.data,
                                                       .length = bytes.length,
                                                       .time_ns = header.wall_ns,
                                                       .bound_ns = 100000 + jitter / 100,
                                                       .drift_ppb = 1234,
                                                       .probe_age_ms = (int64_t) (sequence % 20) * 1000 + jitter / 1000,
                                                       .tick_period_ns = NS_PER_S,
                                                       .schema = takings->schema,
                                                       .groups = pairs });
  buffer_free (&bytes);
}

static void
put_tick (struct bench *bench, struct history *history, struct combine *combine, int64_t time_ns)
{
  const struct tick_line tick = { .time_ns = time_ns,
                                  .period_ns = NS_PER_S,
                                  .reporting = bench->count,
                                  .spread_ns = time_ns % 99991,
                                  .bound_ns = 100000 + time_ns % 997,
                                  .combine = combine };
  int64_t begin = taken_cpu (CLOCK_THREAD_CPUTIME_ID);

  json_clear (&bench->json);
  json_object (&bench->json);
  combine_write (combine, &bench->json, NULL, NULL, NULL);
  json_object_end (&bench->json);
  bench->line_ns += taken_cpu (CLOCK_THREAD_CPUTIME_ID) - begin;
  history_put_tick (history, &(struct cluster_tick_line){ .tick = &tick, .expected = bench->count });
  combine_clear (combine);
}

/* ---- a cluster ---- */

static void
make_nodes (struct bench *bench)
{
  size_t groups = bench->takings.schema->group_count;

  bench->nodes = memory_new (bench->count, sizeof bench->nodes[0]);
  for (size_t i = 0; i < bench->count; i++) {
    struct unlike_node *node = &bench->nodes[i];
    for (size_t k = 0; k < 2; k++)
      node->tables[k] = memory_new (groups, sizeof node->tables[k][0]);
    node->turn = memory_new (groups, sizeof node->turn[0]);
    node->read = memory_new (groups, sizeof node->read[0]);
    for (size_t g = 0; g < groups; g++)
      table_init (&node->read[g], bench->takings.schema->groups[g]);
    node->chance = taken_mix (i, 1, 2, 3);
  }
}

static void
free_nodes (struct bench *bench)
{
  for (size_t i = 0; i < bench->count; i++) {
    for (size_t k = 0; k < 2; k++)
      taken_free_tables (bench->nodes[i].tables[k], bench->takings.schema->group_count);
    taken_free_tables (bench->nodes[i].read, bench->takings.schema->group_count);
    free (bench->nodes[i].turn);
  }
  free (bench->nodes);
}

static void
print (const struct bench *bench, uint64_t frames, int64_t stored_ns)
{
  struct json json = { 0 };

  json_object (&json);
  json_key (&json, "nodes");
  json_uint (&json, bench->count);
  json_key (&json, "values");
  json_real (&json, (double) bench->values / (double) frames);
  json_key (&json, "line_us");
  json_real (&json, (double) bench->line_ns / (double) frames / 1e3);
  json_key (&json, "stored_us");
  json_real (&json, (double) stored_ns / (double) frames / 1e3);
  json_key (&json, "tiers_us");
  json_real (&json, (double) tiers_ns / (double) frames / 1e3);
  json_object_end (&json);
  json_newline (&json);
  fwrite (json.out.data, 1, json.out.length, stdout);
  fflush (stdout);
  json_free (&json);
}

/* Stores frames from `first` to `last`; returns the CPU time that it took beside minutes and hours. */
static int64_t
store (struct bench *bench, const char *path, size_t first, size_t last, int64_t start_ns)
{
  int64_t begin = taken_cpu (CLOCK_PROCESS_CPUTIME_ID), before = bench->made_ns + bench->line_ns + tiers_ns;
  struct combine *combine = combine_create ();
  struct history *history = history_create (&(struct history_options){ .path = path,
                                                                       .max_age_ns = 30 * 86400 * NS_PER_S,
                                                                       .max_size = UINT64_C (1) << 40,
                                                                       .chunk_frames = 64,
                                                                       .chunk_ns = 3600 * NS_PER_S,
                                                                       .queue_bytes = UINT64_C (1) << 40 });

  for (size_t i = first; i <= last; i++) {
    for (size_t node = 0; node < bench->count; node++)
      put (bench, history, combine, node, i, start_ns);
    put_tick (bench, history, combine, start_ns + (int64_t) (i - 1) * NS_PER_S);
    if (i % CHUNK == 0)
      history_flush (history);
  }
  history_destroy (history);
  combine_destroy (combine);
  return taken_cpu (CLOCK_PROCESS_CPUTIME_ID) - begin - (bench->made_ns + bench->line_ns + tiers_ns - before);
}

static void
run (struct bench *bench, const char *folder, size_t frames)
{
  int64_t now = clock_wall (), start_ns = (now / (86400 * NS_PER_S) - 1) * 86400 * NS_PER_S, stored_ns = 0;
  size_t every = bench->count >= MANY ? FOLD_MANY : FOLD_FEW;
  char *path = memory_format ("%s/%zu.db", folder, bench->count);

  bench->values = 0;
  bench->made_ns = bench->line_ns = tiers_ns = 0;
  make_nodes (bench);
  for (size_t i = 0; i < frames; i += every) {
    size_t last = i + every < frames ? i + every : frames;
    stored_ns += store (bench, path, i + 1, last, start_ns);
    work (path, start_ns / NS_PER_S + (int64_t) last);
  }
  work (path, now / NS_PER_S + 3 * DAY_S);
  print (bench, frames * bench->count, stored_ns);
  free_nodes (bench);
  free (path);
}

int
main (int argc, char **argv)
{
  struct bench bench = { 0 };

  if (argc < 5) {
    fprintf (stderr, "usage: bench_unlike FOLDER SECONDS FRAMES NODES...\n");
    return 2;
  }
  takings_make (&bench.takings, "", strtoul (argv[2], NULL, 10), -1);
  find_grains (&bench);
  for (int i = 4; i < argc; i++) {
    bench.count = strtoul (argv[i], NULL, 10);
    run (&bench, argv[1], strtoul (argv[3], NULL, 10));
  }
  for (size_t g = 0; g < bench.takings.schema->group_count; g++)
    free (bench.grains[g]);
  free (bench.grains);
  json_free (&bench.json);
  takings_free (&bench.takings);
  return 0;
}
