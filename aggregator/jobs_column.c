/* Where a schema has what the summary of a job is made of. */
#include <math.h>
#include <string.h>

#include "aggregator/job_items.h"
#include "aggregator/jobs_private.h"

static const struct {
  enum job_item_id item;
  uint8_t into;
  bool peak;
} used[] = {
  { JOB_CPU_USER, TOTAL_CPU_USER, false },   { JOB_CPU_SYSTEM, TOTAL_CPU_SYSTEM, false },
  { JOB_READ, TOTAL_READ, false },           { JOB_WRITE, TOTAL_WRITE, false },
  { JOB_OOM_KILLS, TOTAL_OOM_KILLS, false }, { JOB_MEMORY, PEAK_MEMORY, true },
  { JOB_MEMORY_PEAK, PEAK_MEMORY, true },    { JOB_CGROUP_PEAK, PEAK_CGROUP, true },
  { JOB_PROCESSES, PEAK_PROCESSES, true },
};

static int
find_metric (const struct group *group, const char *name)
{
  for (size_t i = 0; i < group->metric_count; i++)
    if (strcmp (group->metrics[i].name, name) == 0 && (group->metrics[i].flags & METRIC_OF_NODE) == 0)
      return (int) i;
  return -1;
}

static void
learn_sources (struct job_columns *columns, size_t index, const struct group *group)
{
  for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
    const struct job_item *item = &job_items[used[i].item];
    int metric = strcmp (item->group, group->name) == 0 ? find_metric (group, item->metric) : -1;
    if (metric < 0 || group->metrics[metric].kind != (used[i].peak ? GAUGE : COUNTER))
      continue;
    columns->sources[columns->source_count].at = (struct job_column){ (uint16_t) index, (uint16_t) metric };
    columns->sources[columns->source_count].into = used[i].into;
    columns->sources[columns->source_count++].peak = used[i].peak;
  }
}

static void
learn_info (struct job_columns *columns, size_t index, const struct group *group)
{
  if (strcmp (group->name, "job_info") != 0)
    return;
  columns->info = (int) index;
  columns->started = find_metric (group, "started");
  columns->cpus = find_metric (group, "cpus");
  for (size_t i = 0; i < JOB_TEXTS; i++)
    columns->texts[i] = find_metric (group, job_text_names[i]);
}

void
job_columns_learn (struct job_columns *columns, const struct schema *schema)
{
  if (columns->known && memcmp (columns->schema, schema->hash, SCHEMA_HASH_SIZE) == 0)
    return;
  *columns = (struct job_columns){ .known = true, .info = -1, .started = -1, .cpus = -1 };
  memcpy (columns->schema, schema->hash, SCHEMA_HASH_SIZE);
  for (size_t i = 0; i < schema->group_count; i++) {
    const struct group *group = schema->groups[i];
    if (!group->section || strcmp (group->section, REPORT_JOBS) != 0 || !group->rows_name || !*group->rows_name)
      continue;
    columns->groups[columns->group_count++] = (uint8_t) i;
    learn_sources (columns, i, group);
    learn_info (columns, i, group);
  }
}

double
job_value (const struct metric *metric, const struct value *value)
{
  double number;

  switch (value->type) {
  case VALUE_UINT:
    number = (double) value->as.u;
    break;
  case VALUE_INT:
    number = (double) value->as.i;
    break;
  case VALUE_REAL:
    number = value->as.d;
    break;
  default:
    return nan ("");
  }
  number = number * (metric->times ? metric->times : 1) / (metric->per ? metric->per : 1);
  return isfinite (number) ? number : nan ("");
}
