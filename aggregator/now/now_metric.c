/* Where a metric lies in the tables of a schema, and its value on a node; see now_private.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/access/access_rows.h"
#include "aggregator/core/schema_store.h"
#include "aggregator/now/now_private.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/report.h"

#define CATALOG_MAX 50000 /* names of metrics: agents may bring ever new ones */
#define SCHEMAS_MAX 2048  /* that are kept; then all are looked at again */
#define SEARCH_MAX (1 << 22)
#define PERIODS_OLD 3 /* a value is of now for so many periods of its group, */
#define SLACK_NS (2.0 * NS_PER_S)

/* ---- schemas ---- */

void
now_schemas_free (struct now *now)
{
  struct now_schema *schema, *next;

  HASH_ITER (hh, now->schemas, schema, next)
  {
    HASH_DEL (now->schemas, schema);
    free (schema);
  }
  now->last = NULL;
}

static void
catalog_take (struct catalog *catalog, const struct schema *schema)
{
  for (size_t i = 0; i < schema->group_count; i++)
    for (size_t k = 0; k < schema->groups[i]->metric_count && catalog->count < CATALOG_MAX; k++)
      catalog_add (catalog, schema->groups[i], &schema->groups[i]->metrics[k], 0);
}

static struct now_schema *
schema_of (struct now *now, const struct schema *schema)
{
  struct now_schema *found = now->last;

  if (found && memcmp (found->hash, schema->hash, SCHEMA_HASH_SIZE) == 0)
    return found;
  HASH_FIND (hh, now->schemas, schema->hash, SCHEMA_HASH_SIZE, found);
  if (!found) {
    if (HASH_COUNT (now->schemas) >= SCHEMAS_MAX)
      now_schemas_free (now);
    found = memory_new (1, sizeof *found);
    memcpy (found->hash, schema->hash, SCHEMA_HASH_SIZE);
    HASH_ADD (hh, now->schemas, hash, SCHEMA_HASH_SIZE, found);
    catalog_take (&now->catalog, schema);
  }
  return now->last = found;
}

void
now_schemas_see (struct now *now)
{
  for (size_t i = 0; i < cluster_node_count (now->cluster); i++) {
    const struct node *node = cluster_node (now->cluster, i);
    if (node->schema)
      schema_of (now, node->schema->schema);
  }
}

/* ---- places ---- */

static int16_t
column_of (const struct group *group, const char *name)
{
  for (size_t i = 0; i < group->metric_count; i++)
    if (strcmp (group->metrics[i].name, name) == 0)
      return (int16_t) i;
  return -1;
}

static struct now_place
place_of (const struct schema *schema, const struct catalog_entry *entry)
{
  const struct derived *derived = entry ? entry->derived : NULL;
  struct now_place place = { -1, -1, -1 };

  for (size_t i = 0; entry && i < schema->group_count; i++) {
    const struct group *group = schema->groups[i];
    if (strcmp (group->name, entry->group) != 0)
      continue;
    place.of = column_of (group, derived ? derived->of : entry->name);
    place.over = derived && derived->over ? column_of (group, derived->over) : -1;
    if (place.of >= 0 && (!derived || !derived->over || place.over >= 0))
      place.group = (int16_t) i;
    break;
  }
  return place;
}

static const struct now_place *
places_of (struct now *now, const struct now_metric *metric, const struct schema *schema)
{
  struct now_schema *found = schema_of (now, schema);
  size_t slot = (size_t) (metric - now->metrics);

  if (found->slots[slot].id != metric->id) {
    found->slots[slot].id = metric->id;
    found->slots[slot].places[0] = place_of (schema, metric->expression.left.entry);
    found->slots[slot].places[1] = place_of (schema, metric->expression.right.entry);
  }
  return found->slots[slot].places;
}

/* ---- values ---- */

/* A group's tables, unless they are old: the node's frames have no more of it. */
static bool
pair_of (const struct node *node, int16_t index, struct report_group *pair)
{
  const struct node_group *group = index >= 0 ? node->groups[index] : NULL;
  double age_ns;

  if (!group || !group->now)
    return false;
  *pair = (struct report_group){ group->now, group->before };
  age_ns = (double) node->sampled_ns - (double) pair->now->monotonic_ns;
  return pair->now->group->flags & GROUP_ONCE ||
         fabs (age_ns) <= PERIODS_OLD * (double) pair->now->period_ns + SLACK_NS;
}

static size_t
row_find (const struct table *table, struct now_row *row, size_t hint, size_t *searched)
{
  size_t found = *searched > SEARCH_MAX ? SIZE_MAX : table_find_row (table, row->label, row->length, hint);

  if (found != hint)
    *searched += table->rows;
  return found;
}

/* What a report shows of a column. What is of the node stands beside each of its rows. */
static double
column_value (const struct report_group *pair, int16_t column, struct now_row *row, size_t *searched)
{
  const struct metric *metric = &pair->now->group->metrics[column];
  const struct table *before = report_before (pair);
  struct value value;
  size_t at, then;

  if (!row || metric->flags & METRIC_OF_NODE) {
    value = report_node_value (pair, (size_t) column, searched);
    return value_double (&value);
  }
  at = row_find (pair->now, row, row->hint, searched);
  if (at == SIZE_MAX)
    return (double) NAN;
  row->hint = at;
  then = before && metric->kind == COUNTER ? row_find (before, row, at, searched) : SIZE_MAX;
  value = report_value (metric, table_get (pair->now, at, (size_t) column),
                        then == SIZE_MAX ? NULL : table_get (before, then, (size_t) column), report_elapsed_ns (pair));
  return value_double (&value);
}

/* Counters as their change in a second. */
static double
operand_value (const struct node *node, const struct operand *operand, const struct now_place *place,
               struct now_row *row, size_t *searched)
{
  const struct derived *derived = operand->entry ? operand->entry->derived : NULL;
  struct report_group pair;
  double value, seconds;

  if (!operand->entry)
    return operand->number;
  if (!pair_of (node, place->group, &pair))
    return (double) NAN;
  value = column_value (&pair, place->of, row, searched);
  seconds = (double) report_elapsed_ns (&pair) / (double) NS_PER_S;
  if (derived && derived->over)
    return value / column_value (&pair, place->over, row, searched) * derived->times;
  if (derived)
    return value / seconds * derived->times;
  return operand_is_counter (operand) ? value / seconds : value;
}

double
now_value (struct now *now, struct now_metric *metric, const struct node *node, struct now_row *row, size_t *searched)
{
  const struct expression *expression = &metric->expression;
  struct now_row own = { .hint = metric->hint };
  const struct now_place *places;
  double value;

  if (!node->schema)
    return (double) NAN;
  if (expression->row) {
    own.label = expression->row;
    own.length = strlen (expression->row);
    row = &own;
  }
  places = places_of (now, metric, node->schema->schema);
  value = operand_value (node, &expression->left, &places[0], row, searched);
  if (expression->sign)
    value = expression_compute (expression->sign, value,
                                operand_value (node, &expression->right, &places[1], row, searched));
  metric->hint = own.hint;
  return isfinite (value) ? value : (double) NAN;
}

const struct table *
now_rows (struct now *now, const struct now_metric *metric, const struct node *node)
{
  struct report_group pair;
  const struct now_place *places;

  if (!node->schema || node->state != NODE_UP)
    return NULL;
  places = places_of (now, metric, node->schema->schema);
  return pair_of (node, places[expression_leads_right (&metric->expression, true)].group, &pair) ? pair.now : NULL;
}

bool
now_sees (const struct viewer *viewer, const struct now_metric *metric, const struct node *node,
          const struct table *table, const struct now_row *row)
{
  const char *label = metric->expression.row;
  struct access_tables tables;
  size_t found;

  if (viewer->all || !metric->of_users)
    return true;
  if (!metric->by_owner || !table || (!row && !label))
    return false;
  tables = (struct access_tables){ .node = node, .schema = node->schema->schema, .time_ns = INT64_MAX };
  found = label ? table_find_row (table, label, strlen (label), 0)
                : table_find_row (table, row->label, row->length, row->hint);
  return found != SIZE_MAX && access_sees_row (viewer, &tables, table, found);
}

/* ---- slots ---- */

static void
values_fill (struct now *now, struct now_metric *metric)
{
  size_t count = cluster_node_count (now->cluster);

  metric->values = memory_resize (metric->values, count + 1, sizeof metric->values[0]);
  for (size_t i = 0; i < count; i++)
    metric->values[i] = now_value (now, metric, cluster_node (now->cluster, i), NULL, &(size_t){ 0 });
}

void
now_metrics_list (struct now *now)
{
  for (size_t i = 0; i < SLOTS; i++)
    if (now->metrics[i].users && now->metrics[i].values)
      values_fill (now, &now->metrics[i]);
}

static bool
is_of_users (const struct operand *operand)
{
  return operand->entry && operand->entry->of_users;
}

static void
describe_users (struct now_metric *metric)
{
  const struct expression *expression = &metric->expression;

  metric->of_users = is_of_users (&expression->left) || is_of_users (&expression->right);
  metric->by_owner = (!expression->left.entry || is_of_users (&expression->left)) &&
                     (!expression->right.entry || is_of_users (&expression->right));
}

/* Of a cluster that no node has come to yet nobody can know which metrics there are: no node has a value. */
static void
expect_metric (struct now_metric *metric)
{
  metric->expression.left.number = (double) NAN;
  metric->name = memory_string (metric->text);
  metric->unit = memory_string ("");
}

static int
read_metric (struct now *now, struct now_metric *metric, struct error *error)
{
  struct expression *expression = &metric->expression;
  struct query_answer described = { 0 };

  if (expression_read (expression, &now->catalog, metric->text, error) < 0)
    return -1;
  if (expression->combined)
    return error_set (error, "\"%.128s\" is of the combined report: sum, mean, min and max stand beside each metric",
                      metric->text);
  expression_describe (expression, &described, true);
  metric->name = described.metric;
  metric->unit = described.unit;
  metric->shows = described.shows;
  metric->rows = !expression->row && ((expression->left.entry && !catalog_has_node (expression->left.entry)) ||
                                      (expression->right.entry && !catalog_has_node (expression->right.entry)));
  free (described.help);
  describe_users (metric);
  return 0;
}

static void
metric_free (struct now_metric *metric)
{
  expression_free (&metric->expression);
  free (metric->text);
  free (metric->name);
  free (metric->unit);
  free (metric->values);
  *metric = (struct now_metric){ 0 };
}

int
now_metric_take (struct now *now, const char *text, bool watched, size_t *slot, struct error *error)
{
  struct now_metric *metric = NULL;

  for (size_t i = 0; i < SLOTS; i++) {
    if (now->metrics[i].users && strcmp (now->metrics[i].text, text) == 0) {
      now->metrics[i].users++;
      *slot = i;
      return 0;
    }
    if (!metric && !now->metrics[i].users)
      metric = &now->metrics[i];
  }
  if (watched && now->watched >= NOW_WATCHED_MAX)
    return error_set (error, "busy: as many different metrics are watched as may be, %d", NOW_WATCHED_MAX);
  metric->text = memory_string (text);
  metric->users = 1;
  metric->id = ++now->ids;
  if (now->catalog.count == 0 && !watched)
    expect_metric (metric);
  else if (read_metric (now, metric, error) < 0) {
    metric_free (metric);
    return -1;
  }
  *slot = (size_t) (metric - now->metrics);
  if (watched) {
    now->watched++;
    values_fill (now, metric);
  }
  return 0;
}

void
now_metric_leave (struct now *now, size_t slot)
{
  struct now_metric *metric = &now->metrics[slot];

  if (--metric->users)
    return;
  now->watched -= metric->values != NULL;
  metric_free (metric);
}
