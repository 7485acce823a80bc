/* What the history costs, with samples of a machine:
 *
 *   bench_history FILE ROOT SAMPLES PAUSE_MS NODES FRAMES [move]     one JSON object on standard output
 *   bench_history FILE session CHUNKS                                the same
 *
 * With "session" it stores so many chunks of one session, and tells how long it takes to look whether one more overlaps.
 *
 * Takes SAMPLES samples of all groups with the agent's own samplers (ROOT "": the live machine), PAUSE_MS apart; with
 * "move" two thirds of the counters, which stand still in a recorded one, grow by up to 100 from sample to sample, as CPU
 * time in ticks does. Then it stores FRAMES frames of each of NODES nodes, a second apart: now and then one goes on from
 * another of the samples, so that no frames come again; counters grow by what they grew there. The time of a frame is
 * the CPU time of the whole process from the first put to the end, less what the frames themselves cost to make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history.h"
#include "aggregator/history/history_store.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "tests/bench/taken.h"

struct bench {
  struct takings takings;
  struct taken now, before; /* what is put */
  size_t at;
  uint64_t values, bytes, frames; /* put */
  int64_t making_ns;
};

static void
move_cell (struct bench *bench, size_t group, size_t row, size_t column)
{
  uint64_t sum = 0;

  for (size_t i = 0; i < bench->takings.count && taken_mix (group, row, column, 1 << 20) % 3; i++) {
    struct table *table = &bench->takings.samples[i].tables[group];
    const struct value *value =
        table->group && (row == TABLE_NODE || row < table->rows) ? table_get (table, row, column) : NULL;
    sum += taken_mix (group, row, column, i) % 101;
    if (value && value->type == VALUE_UINT)
      table_set_uint (table, row, column, value->as.u + sum);
  }
}

static void
move_counters (struct bench *bench)
{
  for (size_t g = 0; g < bench->takings.schema->group_count; g++) {
    const struct group *group = bench->takings.schema->groups[g];
    const struct table *first = &bench->takings.samples[0].tables[g];
    for (size_t k = 0; k < group->metric_count && first->group; k++) {
      bool of_node = group->metrics[k].flags & METRIC_OF_NODE;
      for (size_t row = 0; group->metrics[k].kind == COUNTER && row < (of_node ? 1 : first->rows); row++)
        move_cell (bench, g, of_node ? TABLE_NODE : row, k);
    }
  }
}

/* The counter in that row's like of another table; NULL: it has none. */
static const struct value *
counter_in (const struct table *other, const struct table *table, size_t row, size_t column)
{
  const struct value *value = taken_value_in (other, table, row, column);

  return value && value->type == VALUE_UINT ? value : NULL;
}

/* A copy of a sample's table, its counters as far above those that were put before as they are above the sample before. */
static void
grow_table (struct table *now, const struct table *put, const struct table *sample, const struct table *earlier)
{
  table_copy (now, sample);
  for (size_t k = 0; k < now->group->metric_count; k++) {
    bool of_node = now->group->metrics[k].flags & METRIC_OF_NODE;
    for (size_t i = 0; now->group->metrics[k].kind == COUNTER && i < (of_node ? 1 : now->rows); i++) {
      size_t row = of_node ? TABLE_NODE : i;
      const struct value *value = table_get (now, row, k), *one, *two;
      if (value->type != VALUE_UINT || !(one = counter_in (put, now, row, k)) ||
          !(two = counter_in (earlier, now, row, k)))
        continue;
      table_set_uint (now, row, k, one->as.u + (value->as.u > two->as.u ? value->as.u - two->as.u : 0));
    }
  }
}

/* What is put next. */
static void
step (struct bench *bench, uint64_t number)
{
  uint64_t chance = taken_mix (1 << 10, 0, 0, number);
  struct taken other = bench->before;
  const struct taken *sample, *earlier;

  bench->at = chance % 8 == 0 || bench->at + 1 == bench->takings.count ? 1 + chance / 8 % (bench->takings.count - 1)
                                                                       : bench->at + 1;
  sample = &bench->takings.samples[bench->at];
  earlier = &bench->takings.samples[bench->at - 1];
  bench->before = bench->now;
  bench->now = other;
  bench->now.monotonic_ns = sample->monotonic_ns;
  bench->now.wall_ns = sample->wall_ns;
  for (size_t g = 0; g < bench->takings.schema->group_count; g++) {
    if (!sample->tables[g].group || !earlier->tables[g].group)
      continue;
    if (!bench->now.tables[g].group)
      table_init (&bench->now.tables[g], sample->tables[g].group);
    if (bench->before.tables[g].group)
      grow_table (&bench->now.tables[g], &bench->before.tables[g], &sample->tables[g], &earlier->tables[g]);
    else
      table_copy (&bench->now.tables[g], &sample->tables[g]);
  }
}

static uint64_t
count_values (const struct table *table)
{
  size_t of_node = group_node_metrics (table->group);

  return of_node + table->rows * (table->group->metric_count - of_node);
}

/* The node's jitter is that of the samples; so its times are no smoother than real ones. */
static void
put (struct bench *bench, struct history *history, size_t node, uint64_t sequence, int64_t start_ns)
{
  size_t groups_count = bench->takings.schema->group_count;
  struct taken *now = &bench->now, *before = &bench->before;
  int64_t begin = taken_cpu (CLOCK_THREAD_CPUTIME_ID), jitter = now->monotonic_ns % 100000;
  struct frame_header header = { .session = 1000 + node, .sequence = sequence };
  struct report_group pairs[SCHEMA_GROUPS_MAX] = { { 0 } };
  const struct table *tables[SCHEMA_GROUPS_MAX];
  struct buffer frame = { 0 };
  size_t count = 0;
  struct cluster_frame put = { .header = &header, .schema = bench->takings.schema, .groups = pairs };

  snprintf (header.node, sizeof header.node, "n%03zu", node);
  header.monotonic_ns = 5000 * NS_PER_S + (int64_t) sequence * NS_PER_S + jitter;
  header.wall_ns = start_ns + (int64_t) sequence * NS_PER_S + jitter + now->wall_ns % 1000;
  memcpy (header.schema, bench->takings.schema->hash, SCHEMA_HASH_SIZE);
  for (size_t g = 0; g < groups_count; g++) {
    if (!now->tables[g].group || (bench->takings.schema->groups[g]->flags & GROUP_ONCE && sequence > 1))
      continue;
    pairs[g].now = tables[count++] = &now->tables[g];
    if (before->tables[g].group && sequence > 1) {
      before->tables[g].sequence = sequence - 1;
      pairs[g].before = &before->tables[g];
    }
    bench->values += count_values (&now->tables[g]);
  }
  frame_write (&frame, &header, bench->takings.schema, tables, count);
  put.bytes = frame.data;
  put.length = frame.length;
  put.time_ns = header.wall_ns;
  put.bound_ns = 100000 + jitter / 100;
  put.drift_ppb = 1234;
  put.probe_age_ms = (int64_t) (sequence % 20) * 1000 + jitter / 1000;
  bench->making_ns += taken_cpu (CLOCK_THREAD_CPUTIME_ID) - begin;
  history_put_frame (history, &put);
  bench->bytes += frame.length;
  bench->frames++;
  buffer_free (&frame);
}

#define CHECKS 200

/* Looks for the frame behind the last one, as it is done before each chunk is stored. */
static int
check_session (const char *path, uint64_t chunks)
{
  static const uint8_t hash[SCHEMA_HASH_SIZE] = { 1 };
  static char bytes[1024];
  struct buffer schema = { .data = bytes, .length = sizeof bytes }, packed = schema;
  struct error error = { "" };
  struct history_store *store = history_store_open (path, &error);
  int64_t begin;
  int result = store ? history_store_begin (store, &error) : -1;

  for (uint64_t i = 0; i < chunks && result == 0; i++) {
    int64_t time_ns = (int64_t) i * 64 * NS_PER_S;
    result = history_store_chunk (store,
                                  &(struct chunk_row){ .node = "n1",
                                                       .session = 7,
                                                       .first = 64 * i + 1,
                                                       .last = 64 * i + 64,
                                                       .first_time = time_ns,
                                                       .last_time = time_ns + 63 * NS_PER_S },
                                  hash, &schema, &packed, &error);
  }
  if (result < 0 || history_store_end (store, &error) < 0) {
    fprintf (stderr, "%s\n", error.text);
    return 1;
  }
  begin = taken_cpu (CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < CHECKS; i++)
    if (history_store_has (store, "n1", 7, 64 * chunks + 1))
      return 1;
  printf ("{\"check_us\":%.2f}\n", (double) (taken_cpu (CLOCK_PROCESS_CPUTIME_ID) - begin) / CHECKS / 1e3);
  history_store_close (store);
  return 0;
}

static void
report (const struct bench *bench, const struct history_counts *counts, int64_t used_ns, int64_t start_ns)
{
  struct json json = { 0 };

  json_object (&json);
  json_key (&json, "frames");
  json_uint (&json, counts->frames_stored);
  json_key (&json, "values");
  json_uint (&json, bench->values);
  json_key (&json, "raw_bytes");
  json_uint (&json, bench->bytes);
  json_key (&json, "packed_bytes");
  json_uint (&json, counts->bytes);
  json_key (&json, "us");
  json_real (&json, (double) used_ns / (double) bench->frames / 1e3);
  json_key (&json, "start");
  json_time (&json, start_ns);
  json_object_end (&json);
  json_newline (&json);
  fwrite (json.out.data, 1, json.out.length, stdout);
  json_free (&json);
}

static void
bench_free (struct bench *bench)
{
  taken_free_tables (bench->now.tables, bench->takings.schema->group_count);
  taken_free_tables (bench->before.tables, bench->takings.schema->group_count);
  takings_free (&bench->takings);
}

int
main (int argc, char **argv)
{
  struct bench bench = { 0 };
  struct history_counts counts;
  struct history *history;
  int64_t begin, start_ns, used_ns;
  size_t nodes, frames, samples;

  if (argc == 4 && strcmp (argv[2], "session") == 0)
    return check_session (argv[1], strtoull (argv[3], NULL, 10));
  if (argc < 7 || argc > 8 || (argc == 8 && strcmp (argv[7], "move") != 0) ||
      (samples = strtoul (argv[3], NULL, 10)) < 2) {
    fprintf (stderr, "usage: bench_history FILE ROOT SAMPLES PAUSE_MS NODES FRAMES [move] | FILE session CHUNKS\n");
    return 2;
  }
  nodes = strtoul (argv[5], NULL, 10);
  frames = strtoul (argv[6], NULL, 10);
  takings_make (&bench.takings, argv[2], samples, strtol (argv[4], NULL, 10) * NS_PER_MS);
  if (argc == 8)
    move_counters (&bench);
  bench.now.tables = memory_new (bench.takings.schema->group_count, sizeof bench.now.tables[0]);
  bench.before.tables = memory_new (bench.takings.schema->group_count, sizeof bench.before.tables[0]);
  start_ns = clock_wall () / NS_PER_S * NS_PER_S - (int64_t) (frames + 60) * NS_PER_S;
  begin = taken_cpu (CLOCK_PROCESS_CPUTIME_ID);
  history = history_create (&(struct history_options){ .path = argv[1],
                                                       .max_age_ns = 30 * 86400 * NS_PER_S,
                                                       .max_size = UINT64_C (1) << 40,
                                                       .chunk_frames = 64,
                                                       .chunk_ns = 3600 * NS_PER_S,
                                                       .queue_bytes = UINT64_C (1) << 40 });
  for (size_t i = 1; i <= frames; i++) {
    int64_t made_ns = taken_cpu (CLOCK_THREAD_CPUTIME_ID);
    step (&bench, i);
    bench.making_ns += taken_cpu (CLOCK_THREAD_CPUTIME_ID) - made_ns;
    for (size_t node = 0; node < nodes; node++)
      put (&bench, history, node, i, start_ns);
    if (i % 64 == 0)
      history_flush (history);
  }
  history_flush (history);
  used_ns = taken_cpu (CLOCK_PROCESS_CPUTIME_ID) - begin - bench.making_ns;
  history_count (history, &counts);
  history_destroy (history);

  report (&bench, &counts, used_ns, start_ns);
  bench_free (&bench);
  return 0;
}
