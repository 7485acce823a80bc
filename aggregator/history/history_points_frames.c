/* See history_points_frames.h. */
#include "aggregator/history/history_points_frames.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/combine.h"
#include "aggregator/history/history_walk.h"
#include "synop/array.h"
#include "synop/memory.h"

/* ---- nodes ---- */

struct walk_state {
  const struct points_query *query;
  const struct points_into *into;
};

static bool
row_is_wanted (const struct globs *rows, const char *label, size_t length)
{
  char text[TABLE_LABEL_MAX + 1];

  if (rows->count == 0)
    return true;
  memcpy (text, label, length);
  text[length] = '\0';
  return globs_match (rows, text);
}

static void
give (const struct walk_state *state, const struct cluster_frame *frame, const struct report_group *pair,
      const struct metric *metric, const char *row, size_t length, const struct value *value)
{
  double number = value_double (value);
  struct history_point point = { .time_ns = frame->time_ns,
                                 .span_ns = report_before (pair) ? report_elapsed_ns (pair) : 0,
                                 .count = 1,
                                 .sum = number,
                                 .min = number,
                                 .max = number };

  if (!isnan (number))
    state->into->points (state->into->context,
                         state->into->series (state->into->context, frame->header->node, row, length, metric), &point,
                         1);
}

static void
give_rows (const struct walk_state *state, const struct cluster_frame *frame, const struct report_group *pair,
           size_t column)
{
  const struct metric *metric = &pair->now->group->metrics[column];
  const struct table *before = report_before (pair);
  size_t searched = 0;
  struct report_search search = { .searched = &searched };

  for (size_t i = 0; i < pair->now->rows; i++) {
    size_t length, old = report_row_before (pair->now, before, i, &search);
    const char *label = table_label (pair->now, i, &length);
    struct value value =
        report_value (metric, table_get (pair->now, i, column),
                      old == SIZE_MAX ? NULL : table_get (before, old, column), report_elapsed_ns (pair));
    if (row_is_wanted (state->query->rows, label, length))
      give (state, frame, pair, metric, label, length, &value);
  }
}

static void
take_frame (void *context, const struct cluster_frame *frame)
{
  const struct walk_state *state = context;
  struct value values[SCHEMA_METRICS_MAX];
  size_t searched = 0;

  for (size_t i = 0; i < frame->schema->group_count; i++) {
    const struct group *group = frame->schema->groups[i];
    const struct report_group *pair = &frame->groups[i];
    size_t column = 0;
    if (!pair->now || strcmp (group->name, state->query->group) != 0)
      continue;
    while (column < group->metric_count && strcmp (group->metrics[column].name, state->query->metric) != 0)
      column++;
    if (column == group->metric_count || group->metrics[column].kind == TEXT)
      continue;
    if (state->query->rows && !(group->metrics[column].flags & METRIC_OF_NODE)) {
      give_rows (state, frame, pair, column);
    } else if (!state->query->rows) {
      report_node_values (pair, values, &searched);
      give (state, frame, pair, &group->metrics[column], NULL, 0, &values[column]);
    }
  }
}

struct name_list {
  char **names;
  size_t count, capacity;
};

static int
wanted_nodes (struct history_file *file, const struct globs *nodes, struct name_list *list, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (file, "SELECT name FROM nodes ORDER BY name", error);
  int code = SQLITE_ERROR;

  while (statement && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    const char *name = (const char *) sqlite3_column_text (statement, 0);
    if (name && (!nodes || globs_match (nodes, name)))
      *array_add (list->names, list->count, list->capacity) = memory_string (name);
  }
  if (statement && code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

static int
points_of_nodes (struct history_file *file, const struct points_query *query, const struct points_into *into,
                 size_t *broken, struct error *error)
{
  struct walk_state state = { query, into };
  struct view view = { .frame = take_frame };
  struct name_list list = { 0 };
  struct history_walk walk = { .from_ns = query->from_ns, .to_ns = query->to_ns - 1, .into = { &view, &state } };
  int result = wanted_nodes (file, query->nodes, &list, error);

  walk.nodes = (const char *const *) list.names;
  walk.node_count = list.count;
  if (result == 0)
    result = history_walk (file, &walk, broken, error);
  for (size_t i = 0; i < list.count; i++)
    free (list.names[i]);
  free (list.names);
  return result;
}

/* ---- the combined report ---- */

struct tick_state {
  const struct points_query *query;
  const struct points_into *into;
  const struct tick_line *tick;
};

static void
give_combined (const struct tick_state *state, const struct metric *metric, const char *row, double number)
{
  struct history_point point = { .time_ns = state->tick->time_ns,
                                 .span_ns = state->tick->period_ns,
                                 .count = 1,
                                 .sum = number,
                                 .min = number,
                                 .max = number };

  if (!isnan (number) && (!state->query->rows || globs_match (state->query->rows, row)))
    state->into->points (state->into->context,
                         state->into->series (state->into->context, "", row, strlen (row), metric), &point, 1);
}

static void
take_combined (void *context, const struct combine_group *group, const struct combine_metric *shown)
{
  const struct tick_state *state = context;
  const struct metric metric = { .name = shown->name,
                                 .kind = shown->kind,
                                 .unit = shown->unit,
                                 .fold = shown->fold,
                                 .flags = shown->flags,
                                 .help = "" };

  (void) group;
  if (strcmp (shown->name, state->query->metric) != 0)
    return;
  if (shown->fold == FOLD_SUM)
    give_combined (state, &metric, "sum", value_double (&shown->sum));
  give_combined (state, &metric, "mean", shown->mean);
  give_combined (state, &metric, "min", value_double (&shown->min.value));
  give_combined (state, &metric, "max", value_double (&shown->max.value));
}

static bool
only_group (const void *context, const char *group)
{
  const struct points_query *query = context;

  return strcmp (group, query->group) == 0;
}

static void
take_tick (void *context, const struct cluster_tick_line *line)
{
  struct tick_state *state = context;
  struct combine_walk walk = {
    .context = state, .metric = take_combined, .only = only_group, .only_context = state->query
  };

  state->tick = line->tick;
  combine_walk (line->tick->combine, &walk);
}

static int
points_combined (struct history_file *file, const struct points_query *query, const struct points_into *into,
                 size_t *broken, struct error *error)
{
  struct tick_state state = { query, into, NULL };
  struct view view = { .tick = take_tick };

  return history_read (file, &(struct history_query){ query->from_ns, query->to_ns, NULL },
                       &(struct history_into){ &view, &state }, broken, error);
}

int
history_frames_points (struct history_file *file, const struct points_query *query, const struct points_into *into,
                       size_t *broken, struct error *error)
{
  return (query->combined ? points_combined : points_of_nodes) (file, query, into, broken, error);
}

/* ---- what there is ---- */

static void
give_schema (const struct schema *schema, size_t nodes, const struct points_metrics *into)
{
  for (size_t i = 0; i < schema->group_count; i++)
    for (size_t k = 0; k < schema->groups[i]->metric_count; k++)
      into->metric (into->context, schema->groups[i], &schema->groups[i]->metrics[k], nodes);
}

/* A node is counted with the schema that it used last. Files of older versions do not know which. */
int
history_frames_metrics (struct history_file *file, const struct points_metrics *into, struct error *error)
{
  static const char counted[] =
      "WITH newest AS (SELECT hash, node, max (last) FROM schema_uses WHERE node != 0 GROUP BY node) SELECT hash, "
      "(SELECT count (*) FROM newest WHERE newest.hash = schemas.hash) FROM schemas ORDER BY rowid";
  sqlite3_stmt *statement = history_file_prepare (file, counted, NULL);
  int code = SQLITE_ERROR;

  if (!statement)
    statement = history_file_prepare (file, "SELECT hash, 0 FROM schemas ORDER BY rowid", error);
  if (!statement)
    return -1;
  while ((code = sqlite3_step (statement)) == SQLITE_ROW) {
    const uint8_t *hash = sqlite3_column_blob (statement, 0);
    bool fits = hash && sqlite3_column_bytes (statement, 0) == SCHEMA_HASH_SIZE;
    const struct schema *schema = fits ? history_file_schema (file, hash, NULL) : NULL;
    if (schema)
      give_schema (schema, (size_t) sqlite3_column_int64 (statement, 1), into);
  }
  if (code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

bool
history_frames_range (struct history_file *file, int64_t *from_ns, int64_t *to_ns)
{
  static const char oldest[] = "SELECT first_time FROM chunks WHERE node != 0 ORDER BY first_time LIMIT 1";
  static const char newest[] = "SELECT max (last_time) + 1 FROM chunks WHERE node != 0 AND first_time >= "
                               "(SELECT max (first_time) FROM chunks) - 60000000000";

  return history_file_number (file, oldest, from_ns, NULL) == 0 && history_file_number (file, newest, to_ns, NULL) == 0;
}
