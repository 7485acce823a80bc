/* See job_report_gpus.h.
 *
 * The group job_gpu has the job's GPUs and those that it leaves idle, in each sample: "0,2:1". The group gpu has a
 * row for each GPU with its figures. */
#include "aggregator/report/job_report_gpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_columns.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define NONE JOB_COLUMNS_NONE
#define NAMES_SIZE 512 /* of a text of job_gpu */
#define GPUS_MAX 1024  /* of a job on a node */

enum { UTILIZATION, MEMORY, MEMORY_TOTAL, ENERGY, POWER_TIME, THERMAL_TIME, XIDS, XID, READ_COLUMNS };
static const char *const names[READ_COLUMNS] = { "utilization",         "memory_used",
                                                 "memory_total",        "energy",
                                                 "throttle_time_power", "throttle_time_thermal",
                                                 "xid_errors",          "xid" };
/* Clocks are held down where they could be higher: neither idle nor what an administrator set. */
static const char *const flags[] = { "throttled_sw_power_cap", "throttled_hw_slowdown", "throttled_sync_boost",
                                     "throttled_sw_thermal",   "throttled_hw_thermal",  "throttled_hw_power_brake" };
#define FLAGS JOB_GPU_FLAGS
_Static_assert(sizeof flags / sizeof flags[0] == FLAGS, "all have a place in a report_gpu");
_Static_assert(READ_COLUMNS + FLAGS == JOB_GPUS_METRICS, "all have a number");

struct job_gpus_reading {
  const char *job;
  const struct schema *schema;
  size_t jobs, given_column, idle_column, used_column; /* the group job_gpu */
  size_t gpus, columns[READ_COLUMNS], flag_columns[FLAGS];
  size_t info, type_column;                    /* the group gpu_info */
  char given[NAMES_SIZE], idle[NAMES_SIZE];    /* of the newest sample */
  char first[NAMES_SIZE];                      /* of the first sample with any */
  bool changed;                                /* it has had others */
  bool silent;                                 /* a GPU's processes are not known, or a group has an error */
  int64_t jobs_ns, jobs_monotonic_ns, gpus_ns; /* of the last tables; jobs_ns and gpus_ns INT64_MIN: none */
  struct table before;
  bool made;
};

struct job_gpus_reading *
job_gpus_begin (const char *job)
{
  struct job_gpus_reading *reading = memory_new (1, sizeof *reading);

  reading->job = job;
  reading->jobs_ns = reading->gpus_ns = INT64_MIN;
  return reading;
}

void
job_gpus_next_node (struct job_gpus_reading *reading)
{
  if (reading->made)
    table_free (&reading->before);
  reading->made = reading->silent = reading->changed = false;
  reading->given[0] = reading->idle[0] = reading->first[0] = '\0';
  reading->jobs_ns = reading->gpus_ns = INT64_MIN;
}

void
job_gpus_end (struct job_gpus_reading *reading)
{
  job_gpus_next_node (reading);
  free (reading);
}

static void
find_columns (struct job_gpus_reading *reading, const struct schema *schema)
{
  reading->schema = schema;
  reading->jobs = job_find_group (schema, "job_gpu");
  reading->given_column = job_find_column (schema, reading->jobs, "gpus");
  reading->idle_column = job_find_column (schema, reading->jobs, "idle");
  reading->used_column = job_find_column (schema, reading->jobs, "gpus_used");
  reading->gpus = job_find_group (schema, "gpu");
  reading->info = job_find_group (schema, "gpu_info");
  reading->type_column = job_find_column (schema, reading->info, "name");
  for (size_t i = 0; i < READ_COLUMNS; i++)
    reading->columns[i] = job_find_column (schema, reading->gpus, names[i]);
  for (size_t i = 0; i < FLAGS; i++)
    reading->flag_columns[i] = job_find_column (schema, reading->gpus, flags[i]);
}

/* ---- which GPUs ---- */

static void
take_text (char *text, size_t size, const struct table *table, size_t row, size_t column)
{
  const struct value *value = column == NONE ? NULL : table_get (table, row, column);
  size_t length;

  text[0] = '\0';
  if (value && value->type == VALUE_TEXT) {
    const char *from = table_text (table, value, &length);
    snprintf (text, size, "%.*s", (int) length, from);
  }
}

static bool
is_named (const char *list, const char *label, size_t length)
{
  for (const char *at = list; *at;) {
    size_t word = strcspn (at, ",");
    if (word == length && memcmp (at, label, length) == 0)
      return true;
    at += word + (at[word] == ',');
  }
  return false;
}

/* NULL: a label that is too long, or one too many. */
static struct report_gpu *
find_gpu (struct job_node *node, const char *label, size_t length)
{
  struct report_gpu *gpu;

  for (size_t i = 0; i < node->gpu_count; i++)
    if (strlen (node->gpus[i].label) == length && memcmp (node->gpus[i].label, label, length) == 0)
      return &node->gpus[i];
  if (node->gpu_count == GPUS_MAX || length >= sizeof gpu->label)
    return NULL;
  node->gpus = memory_resize (node->gpus, node->gpu_count + 1, sizeof node->gpus[0]);
  gpu = &node->gpus[node->gpu_count++];
  *gpu = (struct report_gpu){ .utilization = { .highest = nan ("") },
                              .memory = { .highest = nan ("") },
                              .memory_total = nan ("") };
  snprintf (gpu->label, sizeof gpu->label, "%.*s", (int) length, label);
  return gpu;
}

static bool
is_cut (const char *label, size_t length) /* there were more */
{
  return length == 3 && memcmp (label, "...", 3) == 0;
}

static double
count_names (const char *list)
{
  double count = *list != '\0';

  for (const char *at = list; *at; at++)
    count += *at == ',';
  return count;
}

/* Those that the job has now; whether it leaves them idle. `used`: on how many of them it has processes; where that
 * and the idle ones are all, the idle ones have none. NaN: processes are not seen. */
static void
count_idle (const struct job_gpus_reading *reading, struct job_node *node, double used, uint64_t samples)
{
  bool without = used + count_names (reading->idle) <= count_names (reading->given);

  for (const char *at = reading->given; *at;) {
    size_t length = strcspn (at, ",");
    struct report_gpu *gpu = length && !is_cut (at, length) ? find_gpu (node, at, length) : NULL;
    if (gpu) {
      gpu->samples += samples;
      gpu->idle += is_named (reading->idle, at, length) ? samples : 0;
      gpu->without += without && is_named (reading->idle, at, length) ? samples : 0;
    }
    at += length + (at[length] == ',');
  }
}

/* ---- what they do ---- */

static void
add (struct job_gpu_mean *mean, double value)
{
  if (isnan (value))
    return;
  mean->sum += value;
  mean->count++;
  mean->highest = fmax (mean->highest, value);
}

static void
take_flags (const struct job_gpus_reading *reading, const struct table *now, size_t row, struct report_gpu *gpu)
{
  double held = nan ("");

  for (size_t i = 0; i < FLAGS; i++)
    held = fmax (held, job_gauge (now, row, reading->flag_columns[i]));
  add (&gpu->throttled, held * 100);
}

/* The driver counts by its own clock, so its time may be a little more than has passed. */
static double
percent_of_time (const struct report_group *pair, double seconds)
{
  double percent = 100 * seconds * NS_PER_S / (double) report_elapsed_ns (pair);

  return percent > 100 ? 100 : percent;
}

/* The number, limited to what a count can hold. */
static uint64_t
count_of (double number)
{
  return number > 0 ? (uint64_t) fmin (number, 1e15) : 0;
}

static void
job_gpus_take_row (const struct job_gpus_reading *reading, const struct report_group *pair, size_t row,
                   struct report_gpu *gpu)
{
  double values[READ_COLUMNS];

  for (size_t i = 0; i < READ_COLUMNS; i++) {
    struct value value = { .type = VALUE_MISSING };
    if (reading->columns[i] != NONE)
      value = job_row_value (pair, reading->columns[i], row, gpu->label);
    values[i] = job_number (&value);
  }
  add (&gpu->utilization, values[UTILIZATION]);
  add (&gpu->memory, values[MEMORY]);
  gpu->memory_total = fmax (gpu->memory_total, values[MEMORY_TOTAL]);
  add (&gpu->throttled_power, percent_of_time (pair, values[POWER_TIME]));
  add (&gpu->throttled_thermal, percent_of_time (pair, values[THERMAL_TIME]));
  add (&gpu->energy, values[ENERGY]);
  if (values[XIDS] > 0) {
    gpu->xids += count_of (values[XIDS]);
    gpu->xid = count_of (values[XID]);
  }
  take_flags (reading, pair->now, row, gpu);
}

static void
keep_before (struct job_gpus_reading *reading, const struct table *table)
{
  if (!reading->made)
    table_init (&reading->before, table->group);
  table_copy (&reading->before, table);
  reading->made = true;
}

static void
take_gpus (struct job_gpus_reading *reading, struct job_node *node, const struct table *now)
{
  struct report_group pair = { now, reading->made ? &reading->before : NULL };

  for (size_t row = 0; row < now->rows; row++) {
    size_t length;
    const char *label = table_label (now, row, &length);
    struct report_gpu *gpu = is_named (reading->given, label, length) ? find_gpu (node, label, length) : NULL;
    if (gpu)
      job_gpus_take_row (reading, &pair, row, gpu);
  }
  if (now->rows)
    keep_before (reading, now);
}

static void
take_types (const struct job_gpus_reading *reading, struct job_node *node, const struct table *info)
{
  for (size_t i = 0; i < node->gpu_count; i++) {
    struct report_gpu *gpu = &node->gpus[i];
    size_t row = table_find_row (info, gpu->label, strlen (gpu->label), i);
    if (row != NONE)
      take_text (gpu->type, sizeof gpu->type, info, row, reading->type_column);
  }
}

/* Processes on AMD's GPUs are not known. */
static bool
has_amd (const struct table *gpus)
{
  for (size_t row = 0; row < gpus->rows; row++) {
    size_t length;
    const char *label = table_label (gpus, row, &length);
    if (length > 3 && memcmp (label, "amd", 3) == 0)
      return true;
  }
  return false;
}

void
job_gpus_take (struct job_gpus_reading *reading, struct job_node *node, const struct cluster_frame *frame)
{
  const struct table *jobs, *gpus;
  double used = nan ("");
  size_t row;

  if (reading->schema != frame->schema) {
    job_gpus_next_node (reading); /* its tables belong to the old schema */
    find_columns (reading, frame->schema);
  }
  jobs = reading->jobs == NONE ? NULL : frame->groups[reading->jobs].now;
  gpus = reading->gpus == NONE ? NULL : frame->groups[reading->gpus].now;
  if (jobs || gpus)
    reading->silent = (jobs && jobs->error[0]) || (gpus && (gpus->error[0] || has_amd (gpus)));
  if (jobs && !jobs->error[0]) {
    row = table_find_row (jobs, reading->job, strlen (reading->job), 0);
    reading->given[0] = reading->idle[0] = '\0';
    if (row != NONE) {
      take_text (reading->given, NAMES_SIZE, jobs, row, reading->given_column);
      take_text (reading->idle, NAMES_SIZE, jobs, row, reading->idle_column);
      used = job_gauge (jobs, row, reading->used_column);
    }
    count_idle (reading, node, used, 1);
    if (!reading->first[0])
      strcpy (reading->first, reading->given);
    reading->changed |= reading->given[0] && strcmp (reading->given, reading->first) != 0;
    reading->jobs_ns = frame->time_ns;
    reading->jobs_monotonic_ns = jobs->monotonic_ns;
  }
  if (gpus) {
    take_gpus (reading, node, gpus);
    reading->gpus_ns = frame->time_ns;
  }
  if (reading->info != NONE && frame->groups[reading->info].now)
    take_types (reading, node, frame->groups[reading->info].now);
}

/* ---- minutes ---- */

static bool
pass_jobs (const struct job_gpus_reading *reading, struct job_node *node, const struct report_group *pair)
{
  const struct table *to = report_before (pair);
  size_t row = to ? table_find_row (to, reading->job, strlen (reading->job), 0) : NONE;
  char given[NAMES_SIZE] = "", idle[NAMES_SIZE] = "";
  int64_t passed_ns;

  if (row != NONE) {
    take_text (given, NAMES_SIZE, to, row, reading->given_column);
    take_text (idle, NAMES_SIZE, to, row, reading->idle_column);
  }
  if (strcmp (given, reading->given) != 0 || strcmp (idle, reading->idle) != 0)
    return false;
  if (!given[0])
    return true;
  passed_ns = to->monotonic_ns - reading->jobs_monotonic_ns;
  if (passed_ns > 0)
    count_idle (reading, node, job_gauge (to, row, reading->used_column),
                (uint64_t) llround ((double) passed_ns / (double) job_period_ns (to)));
  return true;
}

bool
job_gpus_pass (struct job_gpus_reading *reading, const struct job_minutes *minutes, size_t index, struct job_node *node,
               const struct cluster_frame *frame)
{
  const struct report_group *jobs, *gpus;

  if (reading->schema != frame->schema || reading->jobs == NONE || reading->gpus == NONE)
    return true;
  jobs = &frame->groups[reading->jobs];
  gpus = &frame->groups[reading->gpus];
  if (jobs->now && !(reading->jobs_ns == INT64_MIN && job_minutes_bare (minutes, index)) &&
      job_minutes_between (minutes, index, reading->jobs_ns, frame->time_ns) && !pass_jobs (reading, node, jobs))
    return false;
  if (!gpus->now || !gpus->now->rows || !job_minutes_between (minutes, index, reading->gpus_ns, frame->time_ns))
    return true;
  if (!report_before (gpus))
    return reading->gpus_ns == INT64_MIN && job_minutes_bare (minutes, index);
  keep_before (reading, report_before (gpus));
  return true;
}

bool
job_gpus_have_changed (const struct job_gpus_reading *reading)
{
  return reading->changed;
}

const char *
job_gpus_metric (size_t metric)
{
  return metric < READ_COLUMNS ? names[metric] : metric < JOB_GPUS_METRICS ? flags[metric - READ_COLUMNS] : NULL;
}

static void
add_minute (struct job_gpu_mean *mean, const struct history_point *point, double factor)
{
  mean->sum += point->sum * factor;
  mean->count += point->count;
  mean->highest = fmax (mean->highest, point->max * factor);
}

/* As percent_of_time, of all samples of the minute. */
static void
add_times (struct job_gpu_mean *mean, struct history_point point, double period)
{
  const double most = 100;

  point.sum = fmin (100 * point.sum / period, most * (double) point.count);
  point.max = fmin (100 * point.max / period, most);
  add_minute (mean, &point, 1);
}

void
job_gpus_take_minute (struct report_gpu *gpu, size_t metric, const struct history_point *point, double period)
{
  if (job_is_beyond (point->sum) || job_is_beyond (point->max))
    return;
  switch (metric) {
  case UTILIZATION:
    add_minute (&gpu->utilization, point, 1);
    return;
  case MEMORY:
    add_minute (&gpu->memory, point, 1);
    return;
  case MEMORY_TOTAL:
    gpu->memory_total = fmax (gpu->memory_total, point->max);
    return;
  case ENERGY:
    add_minute (&gpu->energy, point, 1);
    return;
  case POWER_TIME:
    add_times (&gpu->throttled_power, *point, period);
    return;
  case THERMAL_TIME:
    add_times (&gpu->throttled_thermal, *point, period);
    return;
  default:
    if (metric >= READ_COLUMNS)
      add_minute (&gpu->held[metric - READ_COLUMNS], point, 100);
  }
}

/* Which flags were up together, minutes do not say: that which was up most counts. */
void
job_gpus_end_minutes (struct report_gpu *gpu)
{
  const struct job_gpu_mean *most = &gpu->held[0];

  for (size_t i = 1; i < FLAGS; i++)
    if (gpu->held[i].sum > most->sum || (gpu->held[i].sum >= most->sum && gpu->held[i].count > most->count))
      most = &gpu->held[i];
  gpu->throttled.sum += most->sum;
  gpu->throttled.count += most->count;
  gpu->throttled.highest = most->count ? fmax (gpu->throttled.highest, most->highest) : gpu->throttled.highest;
}

/* ---- questions ---- */

/* True also for a job without GPUs, if nothing hid them. */
bool
job_gpus_are_known (const struct job_gpus_reading *reading)
{
  return reading->jobs != NONE && (reading->given[0] || !reading->silent);
}

bool
job_gpus_have (const void *context, const char *label, size_t length)
{
  const struct job_gpus_reading *reading = context;

  return is_named (reading->given, label, length);
}

double
job_gpu_mean (const struct job_gpu_mean *mean)
{
  return mean->count ? mean->sum / (double) mean->count : nan ("");
}

double
job_gpu_idle (const struct report_gpu *gpu)
{
  return gpu->samples ? 100 * (double) gpu->idle / (double) gpu->samples : nan ("");
}
