/* See history_points_tier.h. All is read in one transaction, since the writer moves what is staged and unfolded into blocks; an
 * hour of minutes or a day of hours at a time, of it a batch of nodes. */
#include "aggregator/history/history_points_tier.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/tier_blobs.h"
#include "aggregator/history/tier_grid.h"
#include "aggregator/history/tier_store.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/hash_table.h"
#include "synop/log.h"
#include "synop/memory.h"

#define NOT_COMBINED INT64_MIN

struct read_metric {
  int64_t id;
  char *name;
  struct metric metric;
};

struct read_node {
  char *name; /* NULL: not wanted */
};

struct handle {
  UT_hash_handle hh;
  void *series;
  size_t length;
  char key[];
};

/* Where a metric is in a map. */
struct read_map {
  UT_hash_handle hh;
  uint8_t hash[SCHEMA_HASH_SIZE];
  uint32_t at; /* UINT32_MAX: nowhere */
};

struct reading {
  struct history_file *file;
  enum history_tier tier;
  const struct points_query *query;
  const struct points_into *into;
  struct read_metric *metrics;
  size_t metric_count, metric_capacity;
  struct read_node *nodes; /* by id */
  size_t node_count;
  struct handle *handles;
  struct read_map *maps; /* of the current metric */
  const struct read_metric *metric;
  struct tier_blobs blobs;
  struct tier_grid *grid;
  int64_t node; /* of a staged row; -1: each series has its own */
  int64_t hour; /* the hour that minutes become; -1: they stay */
  struct history_point *points;
  size_t point_capacity;
  struct chunk_list unfolded;
  int64_t from_ns, to_ns; /* of the query, and of what there is */
  size_t broken;
};

/* ---- what is asked for ---- */

static int
load_metrics (struct reading *reading, struct error *error)
{
  sqlite3_stmt *statement =
      history_file_prepare (reading->file,
                            "SELECT id, name, kind, unit, fold, flags, times, per, help FROM tier_metrics"
                            " WHERE family = ? AND name = ?",
                            error);
  int code;

  if (!statement)
    return -1;
  sqlite3_bind_text (statement, 1, reading->query->group, -1, SQLITE_STATIC);
  sqlite3_bind_text (statement, 2, reading->query->metric, -1, SQLITE_STATIC);
  while ((code = sqlite3_step (statement)) == SQLITE_ROW) {
    struct read_metric *metric = array_add (reading->metrics, reading->metric_count, reading->metric_capacity);
    *metric =
        (struct read_metric){ .id = sqlite3_column_int64 (statement, 0),
                              .name = memory_string ((const char *) sqlite3_column_text (statement, 1)),
                              .metric = { .kind = (enum metric_kind) sqlite3_column_int (statement, 2),
                                          .unit = (enum metric_unit) sqlite3_column_int (statement, 3),
                                          .fold = (enum metric_fold) sqlite3_column_int (statement, 4),
                                          .flags = (uint32_t) sqlite3_column_int64 (statement, 5),
                                          .times = (uint32_t) sqlite3_column_int64 (statement, 6),
                                          .per = (uint32_t) sqlite3_column_int64 (statement, 7),
                                          .help = memory_string ((const char *) sqlite3_column_text (statement, 8)) } };
    metric->metric.name = metric->name;
  }
  if (code != SQLITE_DONE)
    history_file_fail (reading->file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

static int
load_nodes (struct reading *reading, struct error *error)
{
  const struct points_query *query = reading->query;
  sqlite3_stmt *statement = history_file_prepare (reading->file, "SELECT id, name FROM nodes ORDER BY id DESC", error);
  int code = SQLITE_DONE;

  if (!statement)
    return -1;
  reading->nodes = memory_new (1, sizeof reading->nodes[0]);
  reading->node_count = 1;
  if (query->combined)
    reading->nodes[0].name = memory_string ("");
  while (!query->combined && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    const char *name = (const char *) sqlite3_column_text (statement, 1);
    int64_t id = sqlite3_column_int64 (statement, 0);
    if (id <= 0 || id > INT32_MAX)
      continue;
    if (reading->node_count == 1) { /* the greatest comes first */
      free (reading->nodes);
      reading->node_count = (size_t) id + 1;
      reading->nodes = memory_new (reading->node_count, sizeof reading->nodes[0]);
    }
    if ((!query->nodes || !query->nodes->count || globs_match (query->nodes, name)) &&
        (!query->wants || query->wants (query->wants_context, name, query->from_ns, query->to_ns)))
      reading->nodes[id].name = memory_string (name);
  }
  if (code != SQLITE_DONE)
    history_file_fail (reading->file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

static bool
wants_node (const struct reading *reading, int64_t node)
{
  return node >= 0 && (size_t) node < reading->node_count && reading->nodes[node].name;
}

static int64_t
period_of (enum history_tier tier)
{
  return tier == HISTORY_MINUTES ? HOUR_S : DAY_S;
}

static bool
wants_batch (const struct reading *reading, int64_t batch, int64_t start) /* of the period */
{
  const struct points_query *query = reading->query;

  if (batch < 0 || query->combined)
    return batch < 0 && query->combined;
  for (int64_t node = batch * TIER_BATCH; node < (batch + 1) * TIER_BATCH; node++)
    if (wants_node (reading, node) &&
        (!query->wants || query->wants (query->wants_context, reading->nodes[node].name, start * NS_PER_S,
                                        (start + period_of (reading->tier)) * NS_PER_S)))
      return true;
  return false;
}

static bool
wants_rows (const struct reading *reading)
{
  return reading->query->rows || reading->query->combined;
}

static bool
wants_row (const struct reading *reading, const char *label, size_t length)
{
  const struct globs *rows = reading->query->rows;
  char text[256];

  if (!label || !rows || !rows->count)
    return !label == !wants_rows (reading);
  if (length >= sizeof text)
    return false;
  memcpy (text, label, length);
  text[length] = '\0';
  return globs_match (rows, text);
}

/* ---- what there is ---- */

static void
take_series (void *context, const struct tier_series *series)
{
  struct reading *reading = context;
  struct tier_series one = *series;
  uint32_t times[60];
  int64_t node = reading->node >= 0 ? reading->node : series->node;

  if (!wants_node (reading, node) || !wants_row (reading, series->label, series->length))
    return;
  if (reading->hour >= 0) {
    for (size_t i = 0; i < series->count; i++)
      times[i] = (uint32_t) reading->hour;
    one.times = times;
  }
  tier_grid_add (reading->grid, reading->metric->id, node, &one);
}

static const struct read_map *
find_map (struct reading *reading, const void *hash)
{
  struct read_map *map;
  sqlite3_stmt *statement;

  HASH_FIND (hh, reading->maps, hash, SCHEMA_HASH_SIZE, map);
  if (map)
    return map;
  map = memory_new (1, sizeof *map);
  memcpy (map->hash, hash, SCHEMA_HASH_SIZE);
  map->at = UINT32_MAX;
  statement = history_file_prepare (reading->file, "SELECT ids FROM tier_maps WHERE hash = ?", NULL);
  sqlite3_bind_blob (statement, 1, hash, SCHEMA_HASH_SIZE, SQLITE_STATIC);
  if (statement && sqlite3_step (statement) == SQLITE_ROW) {
    struct wire wire = wire_over (sqlite3_column_blob (statement, 0), (size_t) sqlite3_column_bytes (statement, 0));
    for (uint32_t at = 0; wire.at < wire.end && !wire.bad; at++)
      if ((int64_t) varint_read (&wire, TIER_METRICS_MAX) == reading->metric->id)
        map->at = at;
  }
  sqlite3_finalize (statement);
  HASH_ADD (hh, reading->maps, hash, SCHEMA_HASH_SIZE, map);
  return map;
}

static void
drop_maps (struct reading *reading)
{
  struct read_map *map, *next;

  HASH_ITER (hh, reading->maps, map, next)
  {
    HASH_DEL (reading->maps, map);
    free (map);
  }
}

static void
take_blob (struct reading *reading, sqlite3_stmt *statement, int64_t start)
{
  int64_t at = sqlite3_column_int64 (statement, 1);
  const void *hash = sqlite3_column_blob (statement, 3);
  uint32_t metric = 0;
  struct error error;

  reading->node = sqlite3_column_int64 (statement, 2);
  reading->hour = reading->tier == HISTORY_HOURS && sqlite3_column_int (statement, 6) ? (at - start) / HOUR_S : -1;
  if (hash && sqlite3_column_bytes (statement, 3) == SCHEMA_HASH_SIZE)
    metric = find_map (reading, hash)->at;
  else if (sqlite3_column_int (statement, 7))
    metric = (uint32_t) reading->metric->id;
  if (metric == UINT32_MAX || (reading->node >= 0 && !wants_node (reading, reading->node)))
    return;
  if (tier_blobs_read (&reading->blobs, sqlite3_db_handle (statement),
                       (enum tier_table) sqlite3_column_int (statement, 4), sqlite3_column_int64 (statement, 5), metric,
                       reading, take_series, &error) < 0) {
    reading->broken++;
    log_warning ("points of %s of %" PRId64 " are left out: %s", reading->metric->name, at, error.text);
  }
}

/* ---- what is given out ---- */

static void *
series_handle (struct reading *reading, const struct grid_series *series)
{
  const struct metric *metric = &reading->metric->metric;
  const struct grid_label *label = series->label ? &reading->grid->labels[series->label - 1] : NULL;
  char *key = memory_format ("%u/%u/%" PRId64 "/%.*s", metric->kind, metric->unit, series->node,
                             label ? (int) label->length : 0, label ? label->text : "");
  size_t length = strlen (key);
  struct handle *handle;

  HASH_FIND (hh, reading->handles, key, length, handle);
  if (!handle) {
    handle = memory_new (1, sizeof *handle + length + 1);
    memcpy (handle->key, key, length);
    handle->series = reading->into->series (reading->into->context, reading->nodes[series->node].name,
                                            label ? label->text : NULL, label ? label->length : 0, metric);
    HASH_ADD_KEYPTR (hh, reading->handles, handle->key, length, handle);
  }
  free (key);
  return handle->series;
}

/* From what is stored to what lines show. */
static double
shown (const struct metric *metric, double value)
{
  if (metric->kind == COUNTER && metric->flags & METRIC_SHARE)
    return value / TIER_SHARE_UNIT;
  if (metric->times <= 1 && metric->per <= 1)
    return value;
  return value * (metric->times ? metric->times : 1) / (metric->per ? metric->per : 1);
}

static int64_t
span_of (enum history_tier tier)
{
  return tier == HISTORY_MINUTES ? MINUTE_NS : HOUR_S * NS_PER_S;
}

static void
give_series (struct reading *reading, const struct grid_series *series, int64_t start)
{
  const struct metric *metric = &reading->metric->metric;
  int64_t span_ns = span_of (reading->tier);
  size_t count = 0;

  array_reserve (reading->points, reading->point_capacity, reading->grid->times);
  for (uint32_t i = 0; i < series->room; i++) {
    const struct tier_cell *cell = &series->cells[i];
    int64_t time_ns = start * NS_PER_S + (int64_t) (series->first + i) * span_ns;
    if (cell->count && time_ns >= reading->query->from_ns && time_ns < reading->query->to_ns)
      reading->points[count++] = (struct history_point){ .time_ns = time_ns,
                                                         .span_ns = span_ns,
                                                         .count = cell->count,
                                                         .sum = shown (metric, cell->sum),
                                                         .min = shown (metric, cell->min),
                                                         .max = shown (metric, cell->max) };
  }
  if (count)
    reading->into->points (reading->into->context, series_handle (reading, series), reading->points, count);
}

static void
give_batch (struct reading *reading, int64_t start)
{
  for (size_t i = 0; i < reading->grid->count; i++)
    for (size_t k = 0; k < reading->grid->sections[i].count; k++)
      give_series (reading, &reading->grid->sections[i].series[k], start);
  tier_grid_clear (reading->grid);
}

/* ---- periods ---- */

/* Columns: batch, start, node (-1: of each), map or NULL, table and row of the data; whether it is minutes, and of all metrics. */
static const struct {
  const char *blocks, *parts, *staged; /* parts are not in files of older versions */
} selects[HISTORY_TIERS] = {
  [HISTORY_MINUTES] = { "SELECT batch, start, -1, NULL, 0, id, 1, 0 FROM tier_blocks WHERE tier = 0 AND start = ?1 AND"
                        " metric = ?2 AND rows = ?3 UNION ALL"
                        " SELECT batch, start, -1, NULL, 0, id, 1, 1 FROM tier_blocks WHERE tier = 0 AND start = ?1 AND"
                        " metric = 0 UNION ALL",
                        " SELECT batch, start, -1, NULL, 1, id, 1, 1 FROM tier_parts WHERE start = ?1 UNION ALL",
                        " SELECT batch, start, node, map, 2, id, 1, 0 FROM tier_staged WHERE start = ?1 ORDER BY 1" },
  [HISTORY_HOURS] = { "SELECT batch, start, -1, NULL, 0, id, 0, 0 FROM tier_blocks WHERE tier = 1 AND start = ?1 AND"
                      " metric = ?2 AND rows = ?3 UNION ALL"
                      " SELECT batch, start, -1, NULL, 0, id, 0, 1 FROM tier_blocks WHERE tier = 1 AND start = ?1 AND"
                      " metric = 0 UNION ALL"
                      " SELECT batch, start, -1, NULL, 0, id, 1, metric = 0 FROM tier_blocks INDEXED BY"
                      " tier_blocks_unmerged WHERE tier = 0 AND part > 0 AND start >= ?1 AND start < ?1 + 86400 AND"
                      " (metric = ?2 AND rows = ?3 OR metric = 0) UNION ALL",
                      " SELECT batch, start, -1, NULL, 1, id, 1, 1 FROM tier_parts WHERE start >= ?1 AND"
                      " start < ?1 + 86400 UNION ALL",
                      " SELECT batch, start, node, map, 2, id, 1, 0 FROM tier_staged WHERE start >= ?1 AND"
                      " start < ?1 + 86400 ORDER BY 1" },
};

static sqlite3_stmt *
prepare_select (struct reading *reading, struct error *error)
{
  bool parts = history_points_tier_has (reading->file, "tier_parts");
  char *text = memory_format ("%s%s%s", selects[reading->tier].blocks, parts ? selects[reading->tier].parts : "",
                              selects[reading->tier].staged);
  sqlite3_stmt *statement = history_file_prepare (reading->file, text, error);

  free (text);
  return statement;
}

static int
read_period (struct reading *reading, sqlite3_stmt *statement, int64_t start, struct error *error)
{
  int64_t batch = NOT_COMBINED, refused = NOT_COMBINED;
  int code;

  sqlite3_bind_int64 (statement, 1, start);
  sqlite3_bind_int64 (statement, 2, reading->metric->id);
  sqlite3_bind_int (statement, 3, wants_rows (reading));
  while ((code = sqlite3_step (statement)) == SQLITE_ROW) {
    int64_t next = sqlite3_column_int64 (statement, 0);
    if (next == refused || (next != batch && !wants_batch (reading, next, start))) {
      refused = next;
      continue;
    }
    if (next != batch)
      give_batch (reading, start);
    batch = next;
    take_blob (reading, statement, start);
  }
  give_batch (reading, start);
  if (code != SQLITE_DONE)
    history_file_fail (reading->file, error);
  sqlite3_reset (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

static int64_t
floor_to (int64_t time_ns, int64_t span_s)
{
  int64_t second = time_ns / NS_PER_S - (time_ns % NS_PER_S < 0);

  return second - (second % span_s + span_s) % span_s;
}

static int
read_metric (struct reading *reading, int64_t from_ns, int64_t to_ns, struct error *error)
{
  int64_t span = period_of (reading->tier);
  sqlite3_stmt *statement = prepare_select (reading, error);
  int result = statement ? 0 : -1;

  for (int64_t start = floor_to (from_ns, span); result == 0 && start <= floor_to (to_ns - 1, span); start += span)
    result = read_period (reading, statement, start, error);
  sqlite3_finalize (statement);
  drop_maps (reading);
  return result;
}

static int
read_all (struct reading *reading, struct error *error)
{
  int64_t from = reading->query->from_ns, to = reading->query->to_ns, first, end;

  if (!history_points_tier_range (reading->file, reading->tier, &first, &end))
    return 0;
  from = from > first ? from : first;
  to = to < end ? to : end;
  reading->from_ns = from;
  reading->to_ns = to;
  if (from >= to)
    return 0;
  if (load_metrics (reading, error) < 0 || load_nodes (reading, error) < 0 ||
      (!reading->query->combined && !reading->query->folded &&
       history_file_chunks_of_nodes (reading->file, reading->query->nodes, true, from, to, &reading->unfolded, error) <
           0))
    return -1;
  for (size_t i = 0; i < reading->metric_count; i++) {
    reading->metric = &reading->metrics[i];
    if (read_metric (reading, from, to, error) < 0)
      return -1;
  }
  return 0;
}

static void
execute (struct history_file *file, const char *text)
{
  sqlite3_stmt *statement = history_file_prepare (file, text, NULL);

  if (statement)
    sqlite3_step (statement);
  sqlite3_finalize (statement);
}

int
history_points_tier (struct history_file *file, enum history_tier tier, const struct points_query *query,
                     const struct points_into *into, size_t *broken, struct error *error)
{
  struct reading reading = { .file = file, .tier = tier, .query = query, .into = into };
  struct handle *handle, *next;
  int result;

  reading.grid = tier_grid_create (tier == HISTORY_MINUTES ? 60 : 24);
  execute (file, "BEGIN");
  result = read_all (&reading, error);
  tier_blobs_close (&reading.blobs);
  execute (file, "COMMIT");
  *broken = reading.broken;
  if (result == 0 && reading.unfolded.count) {
    struct points_query frames = *query;
    frames.from_ns = reading.from_ns;
    frames.to_ns = reading.to_ns;
    result = history_points_unfolded (file, &reading.unfolded, span_of (tier), &frames, into, &reading.broken, error);
    *broken += reading.broken;
  } else {
    free (reading.unfolded.rows);
  }
  HASH_ITER (hh, reading.handles, handle, next)
  {
    HASH_DEL (reading.handles, handle);
    free (handle);
  }
  for (size_t i = 0; i < reading.metric_count; i++) {
    free (reading.metrics[i].name);
    free ((char *) reading.metrics[i].metric.help);
  }
  for (size_t i = 0; i < reading.node_count; i++)
    free (reading.nodes[i].name);
  free (reading.metrics);
  free (reading.nodes);
  free (reading.points);
  tier_grid_destroy (reading.grid);
  return result;
}
