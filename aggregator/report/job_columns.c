/* See job_columns.h. */
#include "aggregator/report/job_columns.h"

#include <math.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/report.h"

#define NONE JOB_COLUMNS_NONE
#define FIRST_MIN_NS (NS_PER_S / 10) /* over less, errors of the clocks would make up the rate */

size_t
job_find_group (const struct schema *schema, const char *name)
{
  for (size_t i = 0; i < schema->group_count; i++)
    if (strcmp (schema->groups[i]->name, name) == 0)
      return i;
  return NONE;
}

size_t
job_find_column (const struct schema *schema, size_t group, const char *name)
{
  for (size_t i = 0; group != NONE && i < schema->groups[group]->metric_count; i++)
    if (strcmp (schema->groups[group]->metrics[i].name, name) == 0)
      return i;
  return NONE;
}

static bool
find_item (struct job_columns *columns, size_t item, const char *group)
{
  const struct schema *schema = columns->schema;

  columns->group[item] = job_find_group (schema, group);
  columns->column[item] = job_find_column (schema, columns->group[item], job_items[item].metric);
  if (columns->column[item] == NONE ||
      schema->groups[columns->group[item]]->metrics[columns->column[item]].kind == TEXT)
    columns->group[item] = NONE;
  return columns->group[item] != NONE;
}

void
job_columns_find (struct job_columns *columns, const struct schema *schema)
{
  columns->schema = schema;
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    bool own = job_items[i].own && find_item (columns, i, job_items[i].own);
    columns->of_job[i] = own || job_items[i].of_job;
    if (!own)
      find_item (columns, i, job_items[i].group);
  }
  columns->liveness = job_find_group (schema, "job_cpu");
  columns->cpu_cpus = job_find_column (schema, columns->liveness, "cpus");
  columns->info = job_find_group (schema, "job_info");
  columns->info_cpus = job_find_column (schema, columns->info, "cpus");
  columns->info_source = job_find_column (schema, columns->info, "source");
  columns->power = job_find_group (schema, "node_power");
  columns->power_whole = job_find_column (schema, columns->power, "whole");
  columns->peaks = job_find_group (schema, "node_peaks");
  columns->peaks_bandwidth = job_find_column (schema, columns->peaks, "memory_bandwidth");
  columns->peaks_double = job_find_column (schema, columns->peaks, "flops_double");
  columns->peaks_single = job_find_column (schema, columns->peaks, "flops_single");
  columns->network_speed = job_find_column (schema, columns->group[JOB_NETWORK_RECEIVED], "speed");
  columns->infiniband_rate = job_find_column (schema, columns->group[JOB_INFINIBAND_RECEIVED], "rate");
  for (size_t i = 0; i < schema->group_count && columns->liveness == NONE; i++)
    if (strcmp (schema->groups[i]->section, REPORT_JOBS) == 0)
      columns->liveness = i;
}

bool
job_is_share (const struct metric *metric)
{
  return metric->kind == COUNTER && metric->flags & METRIC_SHARE;
}

bool
job_is_beyond (double number)
{
  return fabs (number) > JOB_NUMBER_MAX;
}

double
job_number (const struct value *value)
{
  double number = value_double (value);

  return job_is_beyond (number) ? nan ("") : number;
}

int64_t
job_period_ns (const struct table *table)
{
  const int64_t most = 3600 * NS_PER_S;

  return table->period_ns < 1 ? 1 : table->period_ns > most ? most : table->period_ns;
}

int64_t
job_first_span (int64_t started_ns, const struct table *now, int64_t time_ns)
{
  int64_t span = time_ns - started_ns;

  return span >= FIRST_MIN_NS && (double) span <= JOB_GAP_PERIODS * (double) job_period_ns (now) ? span : 0;
}

double
job_gauge (const struct table *table, size_t row, size_t column)
{
  struct value value = { .type = VALUE_MISSING };

  if (column != NONE && table->group->metrics[column].kind == GAUGE)
    value = report_value (&table->group->metrics[column], table_get (table, row, column), NULL, 0);
  return job_number (&value);
}

struct value
job_row_value (const struct report_group *pair, size_t column, size_t row, const char *label)
{
  const struct table *now = pair->now, *before = report_before (pair);
  size_t old = before ? table_find_row (before, label, strlen (label), row) : NONE;

  return report_value (&now->group->metrics[column], table_get (now, row, column),
                       old == NONE ? NULL : table_get (before, old, column), report_elapsed_ns (pair));
}

struct value
job_node_value (const struct report_group *pair, size_t column, job_row_fn *counts, const void *context)
{
  const struct table *now = pair->now, *before = report_before (pair);
  const struct metric *metric = &now->group->metrics[column];
  int64_t elapsed = report_elapsed_ns (pair);
  size_t searched = 0, length;
  struct report_search search = { .searched = &searched };
  struct report_gates gates = report_gates_of (now->group);
  struct report_fold fold = { 0 };

  if (metric->flags & METRIC_OF_NODE)
    return report_value (metric, table_get (now, TABLE_NODE, column),
                         before ? table_get (before, TABLE_NODE, column) : NULL, elapsed);
  for (size_t row = 0; row < now->rows; row++) {
    const char *label = table_label (now, row, &length);
    size_t old = report_row_before (now, before, row, &search);
    struct value value;
    if (!report_row_counts (&gates, now, row) || (counts && !counts (context, label, length)))
      continue;
    value = report_value (metric, table_get (now, row, column), old == NONE ? NULL : table_get (before, old, column),
                          elapsed);
    report_fold_add (&fold, metric->fold, &value);
  }
  return report_fold_value (&fold, metric->fold);
}
