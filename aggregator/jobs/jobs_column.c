/* The columns of a schema that the summary of a job is made of. */
#include <math.h>
#include <string.h>

#include "aggregator/jobs/job_items.h"
#include "aggregator/jobs/jobs_private.h"
#include "synop/clock.h"

#define EARLIEST (400 * 86400 * NS_PER_S) /* a start that is longer ago is not valid */
#define EXIT_CODE_MAX 255
#define CPUS_MAX 1e6 /* of a node */

static const struct {
  enum job_item_id item;
  uint8_t into;
  bool peak;
} used[] = {
  { JOB_CPU_USER, TOTAL_CPU_USER, false },
  { JOB_CPU_SYSTEM, TOTAL_CPU_SYSTEM, false },
  { JOB_READ, TOTAL_READ, false },
  { JOB_WRITE, TOTAL_WRITE, false },
  { JOB_OOM_KILLS, TOTAL_OOM_KILLS, false },
  { JOB_MEMORY, PEAK_MEMORY, true },
  { JOB_MEMORY_PEAK, PEAK_MEMORY, true },
  { JOB_CGROUP_PEAK, PEAK_CGROUP, true },
  { JOB_PROCESSES, PEAK_PROCESSES, true },
  { JOB_ENERGY, TOTAL_ENERGY, false },
  { JOB_ENERGY_ESTIMATED, TOTAL_ENERGY_ESTIMATED, false },
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
learn_sources (struct jobs_columns *columns, size_t index, const struct group *group)
{
  for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
    const struct job_item *item = &job_items[used[i].item];
    int metric = strcmp (item->group, group->name) == 0 ? find_metric (group, item->metric) : -1;
    if (metric < 0 || group->metrics[metric].kind != (used[i].peak ? GAUGE : COUNTER) ||
        columns->source_count == JOB_SOURCES_MAX)
      continue;
    columns->sources[columns->source_count].at = (struct job_column){ (uint16_t) index, (uint16_t) metric };
    columns->sources[columns->source_count].into = used[i].into;
    columns->sources[columns->source_count++].peak = used[i].peak;
  }
}

static void
learn_info (struct jobs_columns *columns, size_t index, const struct group *group)
{
  if (strcmp (group->name, "job_info") != 0)
    return;
  columns->info = (int) index;
  columns->started = find_metric (group, "started");
  columns->cpus = find_metric (group, "cpus");
  columns->uid = find_metric (group, "uid");
  columns->exit_code = find_metric (group, "exit_code");
  for (size_t i = 0; i < JOB_TEXTS; i++)
    columns->texts[i] = find_metric (group, job_text_names[i]);
}

void
jobs_columns_learn (struct jobs_columns *columns, const struct schema *schema)
{
  if (columns->known && memcmp (columns->schema, schema->hash, SCHEMA_HASH_SIZE) == 0)
    return;
  *columns = (struct jobs_columns){ .known = true, .info = -1, .started = -1, .cpus = -1, .uid = -1, .exit_code = -1 };
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
  double number = value_double (value) * (metric->times ? metric->times : 1) / (metric->per ? metric->per : 1);

  return isfinite (number) ? number : nan ("");
}

/* ---- rows ---- */

/* Cuts a long text, at the start of a character. */
static void
read_text (char text[JOB_TEXT_MAX + 1], const struct table *table, size_t row, int column)
{
  const struct value *value = column < 0 ? NULL : table_get (table, row, (size_t) column);
  size_t length = 0;
  const char *source = value && value->type == VALUE_TEXT ? table_text (table, value, &length) : "";

  if (length > JOB_TEXT_MAX)
    for (length = JOB_TEXT_MAX; length && ((unsigned char) source[length] & 0xc0) == 0x80;)
      length--;
  memcpy (text, source, length);
  text[length] = '\0';
}

static double
read_number (const struct table *table, size_t row, int column)
{
  return column < 0 ? nan ("") : job_value (&table->group->metrics[column], table_get (table, row, (size_t) column));
}

/* From seconds of the node's wall clock to cluster time; 0: none, or not valid. */
static int64_t
read_start (double seconds, int64_t wall_ns, int64_t time_ns)
{
  int64_t start;

  if (!(seconds > 0 && seconds < 9e9) ||
      __builtin_sub_overflow ((int64_t) (seconds * (double) NS_PER_S), wall_ns, &start))
    return 0;
  if (start > time_ns + NS_PER_S || start < time_ns - EARLIEST || start <= 0)
    return 0;
  return start < time_ns ? start : time_ns;
}

void
job_info_read (struct job_info *info, const struct jobs_columns *columns, const struct table *table, size_t row,
               int64_t wall_ns, int64_t time_ns)
{
  double uid = read_number (table, row, columns->uid);

  for (size_t i = 0; i < JOB_TEXTS; i++)
    read_text (info->texts[i], table, row, columns->texts[i]);
  info->uid = uid >= 0 && uid < UINT32_MAX ? (int64_t) uid : JOB_UID_UNKNOWN;
  info->cpus = read_number (table, row, columns->cpus);
  if (!(info->cpus >= 0 && info->cpus <= CPUS_MAX))
    info->cpus = nan ("");
  info->exit_code = read_number (table, row, columns->exit_code);
  if (!(info->exit_code >= 0 && info->exit_code <= EXIT_CODE_MAX))
    info->exit_code = nan ("");
  info->start_ns = read_start (read_number (table, row, columns->started), wall_ns, time_ns);
  job_info_complete (info);
}
