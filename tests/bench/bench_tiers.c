/* The tiers of a history, made and read:
 *
 *   bench_tiers FILE random SEED NODES FRAMES          a history of made-up nodes: resets, wraps, gaps that are filled late,
 *                                                      sessions that end, rows that come and go
 *   bench_tiers FILE fill NODES HOURS METRICS ROWS     tiers alone, of so many metrics of nodes and of rows, a value each 10 s
 *   bench_tiers FILE cluster NODES HOURS               the same of some metrics of a made-up cluster (made_cluster.h)
 *   bench_tiers FILE work SECONDS [STEPS]              what is due so long after now is done, in so many steps (all)
 *   bench_tiers FILE points TIER GROUP METRIC [ROWS]   prints its points (TIER: minutes, hours; ROWS: rows, combined)
 *   bench_tiers FILE read TIER GROUP METRIC FROM TO    how long it takes: one JSON object. From and to: hours before the end */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/history_points_tier.h"
#include "aggregator/history/tier_store.h"
#include "synop/clock.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "tests/bench/made_cluster.h"
#include "tests/bench/made_nodes.h"

#define FOREVER (INT64_C (1) << 62)

static int
fail (const struct error *error)
{
  fprintf (stderr, "%s\n", error->text);
  return 1;
}

/* ---- work ---- */

static int
work (const char *path, int64_t seconds, long steps)
{
  struct error error = { "" };
  struct history_store *store = history_store_open (path, &error);
  struct tier_limits limits = { .now_ns = clock_wall () + seconds * NS_PER_S,
                                .minutes_before_ns = INT64_MIN,
                                .hours_before_ns = INT64_MIN,
                                .max_size = UINT64_C (1) << 50 };
  int more = 1;

  while (store && more == 1 && (steps < 0 || steps-- > 0))
    more = tier_store_work (store, &limits, steps < 0 ? INT64_MAX : clock_monotonic () + 1, &error);
  history_store_close (store);
  return store && more >= 0 ? 0 : fail (&error);
}

/* ---- fill ---- */

static void
filled_name (char *name, size_t size, unsigned index)
{
  snprintf (name, size, "n%05u", index);
}

static bool
filled_metric (void *context, size_t index, struct tier_metric *metric)
{
  static char name[32];

  (void) context;
  snprintf (name, sizeof name, "m%zu", index);
  *metric = (struct tier_metric){
    "system_data",
    "made",
    { .name = name, .kind = GAUGE, .unit = UNIT_COUNT, .fold = FOLD_SUM, .flags = 0, .help = "Made up." }
  };
  return true;
}

static struct tier_cell
filled_cell (size_t node, int64_t minute, size_t metric, size_t row)
{
  uint64_t bits = (node * 7919 + (uint64_t) minute * 104729 + metric * 1299709 + row) * UINT64_C (0x9e3779b97f4a7c15);
  double low = (double) (metric * 1000 + node + (bits >> 54)), high = low + (double) (bits >> 40 & 255);

  return (struct tier_cell){ 6, 3 * low + 3 * high, low, high };
}

/* Of the node as a whole: cpu_usage.user, memory_info.used, load.load_1. */
static const size_t cluster_metrics[] = { 0, 6, 7 };

static bool
cluster_metric (void *context, size_t index, struct tier_metric *metric)
{
  static const struct schema *schema;
  const struct made_metric *made = &made_metrics[cluster_metrics[index]];

  (void) context;
  schema = schema ? schema : made_schema ();
  for (size_t i = 0; i < schema->group_count; i++)
    if (strcmp (schema->groups[i]->name, made->group) == 0)
      *metric = (struct tier_metric){ schema->groups[i]->section, made->group,
                                      schema->groups[i]->metrics[made_column (schema->groups[i], made->metric)] };
  return true;
}

static struct tier_cell
cluster_cell (size_t node, int64_t minute, size_t metric, size_t row)
{
  double value = made_value ((unsigned) node, cluster_metrics[metric], (unsigned) row, (double) minute * 60 + 30);

  if (metric == 0)
    value = tier_stored (COUNTER, METRIC_SHARE, value);
  return (struct tier_cell){ 60, 60 * value, 0.97 * value, 1.02 * value };
}

struct filling {
  void (*name) (char *name, size_t size, unsigned index);
  bool (*metric) (void *context, size_t index, struct tier_metric *metric);
  struct tier_cell (*cell) (size_t node, int64_t minute, size_t metric, size_t row);
};

static int
fill (const struct filling *filling, const char *path, size_t nodes, int64_t hours, size_t metrics, size_t rows)
{
  struct error error = { "" };
  struct history_store *store = history_store_open (path, &error);
  struct tier_writer *writer = tier_writer_create (1);
  struct tier_list list = { .hash = { 7 }, .count = metrics, .metric = filling->metric };
  int64_t first = clock_wall () / NS_PER_S / HOUR_S - hours;
  int result = store ? 0 : -1;

  for (int64_t hour = first; hour < first + hours && result == 0; hour++) {
    result = history_store_begin (store, &error);
    for (size_t node = 0; node < nodes && result == 0; node++) {
      struct tier_staged staged = { .start = hour * HOUR_S };
      struct tier_folded folded = { .staged = &staged, .count = 1 };
      char name[32], label[16];
      filling->name (name, sizeof name, (unsigned) node);
      for (size_t row = 0; row < rows; row++)
        tier_writer_label (writer, label, (size_t) snprintf (label, sizeof label, "%zu", row));
      for (size_t metric = 0; metric < metrics; metric++)
        for (size_t row = 0; row <= rows; row++) {
          struct tier_cell cells[60];
          for (int64_t i = 0; i < 60; i++)
            cells[i] = filling->cell (node, hour * 60 + i, metric, row);
          tier_writer_series (writer, (uint32_t) metric, 0, (uint32_t) row, cells, 1, 0, 60);
        }
      tier_writer_segment (writer);
      tier_writer_end (writer, &staged.data);
      result = tier_store_stage (store, name, &list, &folded, &error);
      buffer_free (&staged.data);
    }
    if (result == 0)
      result = history_store_end (store, &error);
  }
  tier_writer_destroy (writer);
  history_store_close (store);
  return result == 0 ? work (path, 3 * DAY_S, -1) : fail (&error);
}

/* ---- points ---- */

struct printed {
  char *node, *row;
};

static void *
print_series (void *context, const char *node, const char *row, size_t row_length, const struct metric *metric)
{
  struct printed *printed = memory_new (1, sizeof *printed); /* until the program ends */

  (void) context;
  (void) metric;
  printed->node = memory_string (node);
  printed->row = row ? memory_copy (row, row_length) : NULL;
  return printed;
}

static void
print_points (void *context, void *series, const struct history_point *points, size_t count)
{
  const struct printed *printed = series;
  struct json json = { 0 };

  (void) context;
  for (size_t i = 0; i < count; i++) {
    json_clear (&json);
    json_array (&json);
    json_text (&json, printed->node);
    if (printed->row)
      json_text (&json, printed->row);
    else
      json_null (&json);
    json_int (&json, points[i].time_ns);
    json_uint (&json, points[i].count);
    json_array_end (&json);
    json_newline (&json);
    json.out.length -= 2; /* "]\n" */
    printf ("%.*s,%.17g,%.17g,%.17g]\n", (int) json.out.length, json.out.data, points[i].sum, points[i].min,
            points[i].max);
  }
  json_free (&json);
}

static void *
count_series (void *context, const char *node, const char *row, size_t row_length, const struct metric *metric)
{
  (void) node;
  (void) row;
  (void) row_length;
  (void) metric;
  return context;
}

static void
count_points (void *context, void *series, const struct history_point *points, size_t count)
{
  (void) series;
  (void) points;
  *(size_t *) context += count;
}

static int
read_points (const char *path, const char *tier, struct points_query *query, const struct points_into *into,
             size_t *broken)
{
  struct error error = { "" };
  struct history_file *file = history_file_open (path, &error);
  int result = file ? history_points_tier (file, strcmp (tier, "hours") == 0 ? HISTORY_HOURS : HISTORY_MINUTES, query,
                                           into, broken, &error)
                    : -1;

  history_file_close (file);
  return result < 0 ? fail (&error) : 0;
}

static int
print (const char *path, char **argv, const char *rows)
{
  struct globs every = { 0 };
  struct points_query query = { .group = argv[4], .metric = argv[5], .from_ns = -FOREVER, .to_ns = FOREVER };
  size_t broken = 0;
  int result;

  query.rows = rows && strcmp (rows, "rows") == 0 ? &every : NULL;
  query.combined = rows && strcmp (rows, "combined") == 0;
  result = read_points (path, argv[3], &query, &(struct points_into){ NULL, print_series, print_points }, &broken);
  return result == 0 && broken ? 3 : result;
}

static int
time_read (const char *path, char **argv)
{
  int64_t end = clock_wall () / NS_PER_S / HOUR_S * HOUR_S, begin = clock_monotonic ();
  struct points_query query = { .group = argv[4],
                                .metric = argv[5],
                                .from_ns = (end - strtol (argv[6], NULL, 10) * HOUR_S) * NS_PER_S,
                                .to_ns = (end - strtol (argv[7], NULL, 10) * HOUR_S) * NS_PER_S };
  size_t points = 0, broken = 0;
  int result =
      read_points (path, argv[3], &query, &(struct points_into){ &points, count_series, count_points }, &broken);

  if (result == 0)
    printf ("{\"points\":%zu,\"ms\":%.2f}\n", points, (double) (clock_monotonic () - begin) / 1e6);
  return result;
}

int
main (int argc, char **argv)
{
  const char *path = argc > 2 ? argv[1] : NULL, *what = path ? argv[2] : "";

  if (strcmp (what, "random") == 0 && argc == 6)
    return made_nodes (path, strtoull (argv[3], NULL, 10), strtoul (argv[4], NULL, 10), strtoul (argv[5], NULL, 10));
  if (strcmp (what, "fill") == 0 && argc == 7)
    return fill (&(struct filling){ filled_name, filled_metric, filled_cell }, path, strtoul (argv[3], NULL, 10),
                 strtol (argv[4], NULL, 10), strtoul (argv[5], NULL, 10), strtoul (argv[6], NULL, 10));
  if (strcmp (what, "cluster") == 0 && argc == 5)
    return fill (&(struct filling){ made_name, cluster_metric, cluster_cell }, path, strtoul (argv[3], NULL, 10),
                 strtol (argv[4], NULL, 10), sizeof cluster_metrics / sizeof cluster_metrics[0], 0);
  if (strcmp (what, "work") == 0 && (argc == 4 || argc == 5))
    return work (path, strtol (argv[3], NULL, 10), argc == 5 ? strtol (argv[4], NULL, 10) : -1);
  if (strcmp (what, "points") == 0 && (argc == 6 || argc == 7))
    return print (path, argv, argc == 7 ? argv[6] : NULL);
  if (strcmp (what, "read") == 0 && argc == 8)
    return time_read (path, argv);
  fprintf (stderr, "usage: see %s\n", __FILE__);
  return 2;
}
