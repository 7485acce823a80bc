/* The summary of a job: the sums of its nodes' last totals. And its state as text, for the next start:
 *
 *   NODE FIRST LAST LOST CPUS [BEFORE LAST]... [PEAK]... UID [BEFORE LAST]... RUN    a line for each node; "-": unknown */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs/jobs_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define SILENT_MIN (3 * NS_PER_S)
#define TIME_PLACES 6
#define JOULES_OF_KWH 3.6e6

/* ---- sums ---- */

/* The sum of two numbers that may be NaN. */
static double
plus (double one, double other)
{
  return isnan (one) ? other : isnan (other) ? one : one + other;
}

static double
use_total (const struct job_use *use, enum job_total which)
{
  return use->totals[which].before + use->totals[which].last;
}

static double
use_memory (const struct job_use *use)
{
  return isnan (use->peaks[PEAK_MEMORY]) ? use->peaks[PEAK_CGROUP] : use->peaks[PEAK_MEMORY];
}

double
job_cpus (const struct jobs_job *job)
{
  double sum = nan ("");

  for (size_t i = 0; i < job->use_count; i++)
    sum = plus (sum, job->uses[i]->cpus);
  return sum;
}

static double
total (const struct jobs_job *job, enum job_total which)
{
  double sum = nan ("");

  for (size_t i = 0; i < job->use_count; i++)
    sum = plus (sum, use_total (job->uses[i], which));
  return sum;
}

/* Did the node go down while the job ran, or send nothing since it last showed the job? */
static bool
is_lost (const struct jobs *jobs, const struct job_use *use)
{
  int64_t silent = 3 * use->node->period_ns > SILENT_MIN ? 3 * use->node->period_ns : SILENT_MIN;

  silent = silent < job_patience (jobs, use) ? silent : job_patience (jobs, use);
  return use->lost || (use->node->frame_ns <= use->last_ns && jobs->awake - use->node->frame_awake > silent);
}

/* CPU time in percent of the time of its CPUs from its start to its end, of nodes of which both are known. */
static double
efficiency (const struct jobs_job *job)
{
  double used = 0, could = 0;

  for (size_t i = 0; i < job->use_count; i++) {
    const struct job_use *use = job->uses[i];
    double cpu = plus (use_total (use, TOTAL_CPU_USER), use_total (use, TOTAL_CPU_SYSTEM));
    if (isnan (cpu) || isnan (use->cpus))
      continue;
    used += cpu;
    could += use->cpus * (double) (job->seen_ns - job->started_ns) / (double) NS_PER_S;
  }
  return could > 0 ? 100 * used / could : nan ("");
}

/* ---- JSON ---- */

static void
number_write (struct json *json, const char *key, double number)
{
  json_key (json, key);
  if (number >= 0 && number < 9e15 && number == floor (number))
    json_uint (json, (uint64_t) number);
  else
    json_real_places (json, number, TIME_PLACES);
}

static void
sums_write (struct json *json, const struct jobs_job *job)
{
  double cpu = plus (total (job, TOTAL_CPU_USER), total (job, TOTAL_CPU_SYSTEM));

  number_write (json, "duration", (double) (job->seen_ns - job->started_ns) / (double) NS_PER_S);
  number_write (json, "nodes", (double) job->use_count);
  number_write (json, "cpus", job_cpus (job));
  number_write (json, "cpu_time", cpu);
  number_write (json, "cpu_user_time", total (job, TOTAL_CPU_USER));
  number_write (json, "cpu_system_time", total (job, TOTAL_CPU_SYSTEM));
  number_write (json, "cpu_efficiency", efficiency (job));
}

static void
memory_write (struct json *json, const struct jobs_job *job)
{
  const struct job_use *most = NULL;

  for (size_t i = 0; i < job->use_count; i++)
    if (!isnan (use_memory (job->uses[i])) && (!most || use_memory (job->uses[i]) > use_memory (most)))
      most = job->uses[i];
  json_key (json, "memory_peak");
  if (!most) {
    json_null (json);
    return;
  }
  json_object (json);
  json_text (json_key (json, "node"), most->node->name);
  number_write (json, "bytes", use_memory (most));
  json_object_end (json);
}

static void
nodes_write (struct json *json, const struct jobs *jobs, const struct jobs_job *job)
{
  json_array (json_key (json, "lost_nodes"));
  for (size_t i = 0; i < job->use_count; i++)
    if (is_lost (jobs, job->uses[i]))
      json_text (json, job->uses[i]->node->name);
  json_array_end (json);
  json_object (json_key (json, "per_node"));
  for (size_t i = 0; i < job->use_count; i++) {
    const struct job_use *use = job->uses[i];
    json_object (json_key (json, use->node->name));
    number_write (json, "duration", (double) (use->last_ns - use->first_ns) / (double) NS_PER_S);
    number_write (json, "cpus", use->cpus);
    number_write (json, "cpu_time", plus (use_total (use, TOTAL_CPU_USER), use_total (use, TOTAL_CPU_SYSTEM)));
    number_write (json, "memory_peak", use_memory (use));
    number_write (json, "read_bytes", use_total (use, TOTAL_READ));
    number_write (json, "write_bytes", use_total (use, TOTAL_WRITE));
    number_write (json, "energy_kwh", use_total (use, TOTAL_ENERGY) / JOULES_OF_KWH);
    if (use->name)
      json_text (json_key (json, "name"), use->name);
    json_object_end (json);
  }
  json_object_end (json);
}

void
job_summary_write (const struct jobs *jobs, const struct jobs_job *job, struct json *json)
{
  double processes = nan ("");

  for (size_t i = 0; i < job->use_count; i++)
    processes = plus (processes, job->uses[i]->peaks[PEAK_PROCESSES]);
  json_object (json);
  sums_write (json, job);
  memory_write (json, job);
  number_write (json, "read_bytes", total (job, TOTAL_READ));
  number_write (json, "write_bytes", total (job, TOTAL_WRITE));
  number_write (json, "processes", processes);
  number_write (json, "oom_kills", total (job, TOTAL_OOM_KILLS));
  number_write (json, "energy_kwh", total (job, TOTAL_ENERGY) / JOULES_OF_KWH);
  number_write (json, "energy_estimated_kwh", total (job, TOTAL_ENERGY_ESTIMATED) / JOULES_OF_KWH);
  nodes_write (json, jobs, job);
  json_object_end (json);
}

/* ---- state ---- */

static void
add_number (struct buffer *out, double number)
{
  if (isnan (number))
    buffer_add_string (out, " -");
  else
    buffer_printf (out, " %.17g", number);
}

static void
add_total (struct buffer *out, const struct job_use *use, size_t which)
{
  add_number (out, use->totals[which].before);
  add_number (out, use->totals[which].last);
}

void
job_state_write (const struct jobs_job *job, struct buffer *out)
{
  for (size_t i = 0; i < job->use_count; i++) {
    const struct job_use *use = job->uses[i];
    buffer_printf (out, "%s %" PRId64 " %" PRId64 " %d", use->node->name, use->first_ns, use->last_ns, use->lost);
    add_number (out, use->cpus);
    for (size_t k = 0; k < TOTAL_ENERGY; k++)
      add_total (out, use, k);
    for (size_t k = 0; k < JOB_PEAKS; k++)
      add_number (out, use->peaks[k]);
    add_number (out, job->uid == JOB_UID_UNKNOWN ? nan ("") : (double) job->uid);
    for (size_t k = TOTAL_ENERGY; k < JOB_TOTALS; k++)
      add_total (out, use, k);
    buffer_printf (out, " %" PRId64, use->run_ns);
    buffer_add_string (out, "\n");
  }
}

/* The next word of a line, or NULL. */
static const char *
next_word (char **line)
{
  char *word = strsep (line, " ");

  return word && *word ? word : NULL;
}

static double
read_number (char **line)
{
  const char *word = next_word (line);
  char *end;
  double number = word ? strtod (word, &end) : nan ("");

  return word && end != word && !*end && isfinite (number) ? number : nan ("");
}

/* 0: none, or not within this or the last two centuries. */
static int64_t
read_time (char **line)
{
  const char *word = next_word (line);
  int64_t time_ns = word ? strtoll (word, NULL, 10) : 0;

  return time_ns > 0 && time_ns < INT64_MAX / 2 ? time_ns : 0;
}

static void
read_total (char **line, struct job_use *use, size_t which)
{
  double before = read_number (line);

  use->totals[which].before = isnan (before) ? 0 : before;
  use->totals[which].last = read_number (line);
}

static void
read_node (struct jobs *jobs, struct jobs_job *job, char *line)
{
  const char *name = next_word (&line);
  struct job_use *use = NULL;
  double uid;
  int64_t first;

  if (!name || node_name_check (name, strlen (name), NULL) < 0)
    return;
  first = read_time (&line);
  use = job_use_find (job, jobs_node (jobs, name));
  if (!use || first <= 0)
    return;
  use->first_ns = first;
  use->last_ns = read_time (&line);
  use->lost = read_time (&line) != 0;
  use->cpus = read_number (&line);
  for (size_t k = 0; k < TOTAL_ENERGY; k++)
    read_total (&line, use, k);
  for (size_t k = 0; k < JOB_PEAKS; k++)
    use->peaks[k] = read_number (&line);
  uid = read_number (&line);
  if (uid >= 0 && uid < UINT32_MAX)
    job->uid = (int64_t) uid;
  for (size_t k = TOTAL_ENERGY; k < JOB_TOTALS; k++)
    read_total (&line, use, k);
  use->run_ns = read_time (&line);
}

void
job_state_read (struct jobs *jobs, struct jobs_job *job, const char *text)
{
  char *copy = memory_string (text), *rest = copy, *line;

  while ((line = strsep (&rest, "\n")))
    if (*line)
      read_node (jobs, job, line);
  free (copy);
}
