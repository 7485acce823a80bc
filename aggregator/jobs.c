/* See jobs.h: what comes in. Rows of tables rarely move, so the job that was in a row is looked for there first. */
#include "aggregator/jobs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define AWAKE_MAX NS_PER_S
#define EARLIEST (400 * 86400 * NS_PER_S) /* a start that was longer ago is none */
#define STEP_BACK (10 * NS_PER_MS)

/* What a frame is, for its rows. */
struct intake {
  struct jobs_node *node;
  const struct cluster_frame *frame;
  int64_t time_ns;
  int64_t heard_ns; /* when the node was heard before */
  bool told_new;    /* its jobs that are new are in job_info */
};

/* ---- time ---- */

static int64_t
lower (int64_t one, int64_t other)
{
  return one < other ? one : other;
}

/* The aggregator's clock was set back: nothing was seen later than now. */
static void
step_back (struct jobs *jobs)
{
  struct job_chain *const chains[] = { &jobs->running, &jobs->kept };

  for (size_t i = 0; i < jobs->node_count; i++)
    jobs->nodes[i]->heard_ns = lower (jobs->nodes[i]->heard_ns, jobs->now_ns);
  for (size_t i = 0; i < 2; i++)
    for (struct job *job = chains[i]->first; job; job = job->later) {
      job->seen_ns = lower (job->seen_ns, jobs->now_ns);
      job->after_ns = lower (job->after_ns, jobs->now_ns);
      for (size_t k = 0; k < job->use_count; k++)
        job->uses[k]->last_ns = lower (job->uses[k]->last_ns, jobs->now_ns);
    }
}

void
jobs_clock (struct jobs *jobs, int64_t now_ns)
{
  int64_t passed = now_ns - jobs->now_ns;

  jobs->now_ns = now_ns;
  if (passed < -STEP_BACK)
    step_back (jobs);
  if (passed > 0)
    jobs->awake += lower (passed, AWAKE_MAX);
}

/* ---- frames ---- */

/* The start that job_info tells, in cluster time; 0: none that could be. */
static int64_t
told_start (const struct intake *intake, const struct table *table, size_t row)
{
  int column = intake->node->columns.started;
  const struct group *group = table->group;
  double seconds;
  int64_t start;

  if (column < 0)
    return 0;
  seconds = job_value (&group->metrics[column], table_get (table, row, (size_t) column));
  if (!(seconds > 0 && seconds < 9e9))
    return 0;
  start = (int64_t) (seconds * (double) NS_PER_S) - intake->frame->wall_offset_ns;
  if (start > intake->time_ns + NS_PER_S || start < intake->time_ns - EARLIEST || start <= 0)
    return 0;
  return lower (start, intake->time_ns);
}

/* Is this the job that ended, or a new run under its label? */
static bool
is_same_run (const struct jobs *jobs, const struct job *job, const struct intake *intake, int64_t start_ns)
{
  const struct job_use *use;

  if (start_ns)
    return start_ns <= job->ended_ns;
  if (intake->told_new || intake->time_ns - job->seen_ns <= jobs->options.grace_ns)
    return true;
  use = job_use_find (job, intake->node);
  return use && intake->heard_ns <= use->last_ns;
}

/* It goes on being shown after its end: there is no pause in that. */
static void
deafen (struct jobs *jobs, struct job *job, int64_t time_ns)
{
  if (time_ns <= job->seen_ns)
    return;
  job->seen_ns = time_ns;
  job->marked = jobs->awake;
  jobs_chain_remove (&jobs->kept, job);
  jobs_chain_add (&jobs->kept, job);
}

/* The run that a row is about; NULL: of none that is of interest, or there is no room. */
static struct job *
find_run (struct jobs *jobs, const struct intake *intake, const char *label, size_t length, int64_t start_ns)
{
  struct job *job = jobs_find (jobs, label, length);

  if (job && job->state == JOB_RUNNING)
    return intake->time_ns > job->after_ns ? job : NULL;
  if (job && is_same_run (jobs, job, intake, start_ns)) {
    if (job->state == JOB_TOLD) {
      deafen (jobs, job, intake->time_ns);
      return NULL;
    }
    job_resume (jobs, job);
    return job;
  }
  if (job && !start_ns && intake->time_ns <= job->seen_ns)
    return NULL;
  if (intake->node->running >= JOBS_NODE_MAX || job_label_check (label, length, NULL) < 0) {
    jobs->counts.job_rows_refused++;
    return NULL;
  }
  job = job_begin (jobs, label, length, start_ns ? start_ns : intake->time_ns);
  if (!job)
    jobs->counts.job_rows_refused++;
  return job;
}

static struct job_use *
find_use (struct jobs *jobs, const struct intake *intake, const char *label, size_t length, int64_t start_ns)
{
  struct job *job = find_run (jobs, intake, label, length, start_ns);
  struct job_use *use = job ? job_use_find (job, intake->node) : NULL;

  if (!job || use)
    return use;
  if (intake->node->running >= JOBS_NODE_MAX) {
    jobs->counts.job_rows_refused++;
    return NULL;
  }
  use = job_use_add (job, intake->node);
  use->first_ns = use->last_ns = intake->time_ns;
  intake->node->running++;
  job_joined (jobs, use);
  return use;
}

static void
touch (struct jobs *jobs, struct job_use *use, const struct intake *intake)
{
  struct job *job = use->job;
  int64_t grace = 3 * intake->node->period_ns;

  job->touched = jobs->awake;
  job->seen = true;
  job->restored = false;
  job->grace_ns = grace > job->grace_ns ? grace : job->grace_ns;
  if (intake->time_ns > job->seen_ns)
    job->seen_ns = intake->time_ns;
  use->first_ns = lower (use->first_ns, intake->time_ns);
  if (use->first_ns < job->started_ns) {
    job->started_ns = use->first_ns;
    job->changed = true;
  }
  if (intake->time_ns > use->last_ns) {
    use->last_ns = intake->time_ns;
    use->lost = false;
  }
}

static void
take_values (struct job_use *use, const struct intake *intake, size_t index, size_t row)
{
  const struct job_columns *columns = &intake->node->columns;
  const struct table *table = intake->frame->groups[index].now;

  for (size_t i = 0; i < columns->source_count; i++) {
    size_t metric = columns->sources[i].at.metric, into = columns->sources[i].into;
    double value;
    if (columns->sources[i].at.group != index)
      continue;
    value = job_value (&table->group->metrics[metric], table_get (table, row, metric));
    if (isnan (value))
      continue;
    if (columns->sources[i].peak) {
      if (!(use->peaks[into] >= value))
        use->peaks[into] = value;
    } else if (intake->time_ns >= use->last_ns) { /* a later one tells more */
      if (use->totals[into].last > value)
        use->totals[into].before += use->totals[into].last;
      use->totals[into].last = value;
    }
  }
}

static void
take_info (struct job_use *use, const struct intake *intake, size_t row, int64_t start_ns)
{
  const struct job_columns *columns = &intake->node->columns;
  const struct table *table = intake->frame->groups[columns->info].now;
  struct job *job = use->job;

  for (size_t i = 0; i < JOB_TEXTS; i++) {
    const struct value *value = columns->texts[i] < 0 ? NULL : table_get (table, row, (size_t) columns->texts[i]);
    if (value && value->type == VALUE_TEXT) {
      size_t length;
      const char *text = table_text (table, value, &length);
      job_text_set (job, (enum job_text) i, text, length, false);
    }
  }
  if (columns->cpus >= 0) {
    double cpus = job_value (&table->group->metrics[columns->cpus], table_get (table, row, (size_t) columns->cpus));
    if (cpus >= 0 && !(use->cpus == cpus)) {
      use->cpus = cpus;
      job->changed = true;
    }
  }
  /* The first word counts: a wall clock that is set later changes nothing. */
  if (!use->started_known && start_ns > job->after_ns && start_ns && start_ns < job->started_ns) {
    job->started_ns = start_ns;
    job->changed = true;
  }
  use->started_known = use->started_known || start_ns;
}

static void
take_table (struct jobs *jobs, const struct intake *intake, size_t index, bool is_info)
{
  const struct table *table = intake->frame->groups[index].now;
  struct jobs_node *node = intake->node;

  if (!is_info && node->hint_count < table->rows && node->hint_count < JOBS_NODE_MAX) {
    size_t count = table->rows < JOBS_NODE_MAX ? table->rows : JOBS_NODE_MAX;
    node->hints = memory_resize (node->hints, count, sizeof (struct job_use *));
    memset (node->hints + node->hint_count, 0, (count - node->hint_count) * sizeof (struct job_use *));
    node->hint_count = count;
  }
  for (size_t row = 0; row < table->rows; row++) {
    size_t length;
    const char *label = table_label (table, row, &length);
    int64_t start_ns = is_info ? told_start (intake, table, row) : 0;
    struct job_use *use = !is_info && row < node->hint_count ? node->hints[row] : NULL;
    if (!use || use->job->state != JOB_RUNNING || intake->time_ns <= use->job->after_ns ||
        strncmp (use->job->label, label, length) != 0 || use->job->label[length])
      use = find_use (jobs, intake, label, length, start_ns);
    if (!is_info && row < node->hint_count)
      node->hints[row] = use;
    if (!use)
      continue;
    touch (jobs, use, intake);
    take_values (use, intake, index, row);
    if (is_info)
      take_info (use, intake, row, start_ns);
  }
}

static void
note_period (struct jobs_node *node, const struct cluster_frame *frame, const struct table *table)
{
  if (node->session != frame->header->session || node->period_ns == 0 || table->period_ns < node->period_ns)
    node->period_ns = table->period_ns;
  node->session = frame->header->session;
}

void
jobs_frame (struct jobs *jobs, const struct cluster_frame *frame, int64_t now_ns)
{
  struct jobs_node *node;
  struct job_columns *columns;
  struct intake intake;

  jobs_clock (jobs, now_ns);
  node = jobs_node (jobs, frame->header->node);
  columns = &node->columns;
  job_columns_learn (columns, frame->schema);
  intake = (struct intake){ .node = node,
                            .frame = frame,
                            .time_ns = lower (frame->time_ns, now_ns),
                            .heard_ns = node->heard_ns,
                            .told_new = columns->info >= 0 && frame->groups[columns->info].now };
  if (intake.time_ns > node->heard_ns) {
    node->heard_ns = intake.time_ns;
    node->heard = jobs->awake;
  }
  if (intake.told_new)
    take_table (jobs, &intake, (size_t) columns->info, true);
  for (size_t i = 0; i < columns->group_count; i++) {
    const struct table *table = frame->groups[columns->groups[i]].now;
    if (!table)
      continue;
    note_period (node, frame, table);
    if ((int) columns->groups[i] != columns->info)
      take_table (jobs, &intake, columns->groups[i], false);
  }
}

void
jobs_node_down (struct jobs *jobs, const char *name)
{
  for (struct job_use *use = jobs_node (jobs, name)->uses; use; use = use->next)
    if (use->job->state == JOB_RUNNING)
      use->lost = true;
}

/* ---- start and end ---- */

struct jobs *
jobs_create (const struct jobs_options *options, int64_t now_ns)
{
  struct jobs *jobs = memory_new (1, sizeof *jobs);

  jobs->options = *options;
  jobs->now_ns = now_ns;
  return jobs;
}

void
jobs_set_grace (struct jobs *jobs, int64_t grace_ns)
{
  jobs->options.grace_ns = grace_ns;
}

void
jobs_destroy (struct jobs *jobs)
{
  if (!jobs)
    return;
  while (jobs->running.first)
    jobs_drop (jobs, jobs->running.first);
  while (jobs->kept.first)
    jobs_drop (jobs, jobs->kept.first);
  for (size_t i = 0; i < jobs->node_count; i++) {
    free (jobs->nodes[i]->name);
    free (jobs->nodes[i]->hints);
    free (jobs->nodes[i]);
  }
  free (jobs->nodes);
  free (jobs->buckets);
  free (jobs);
}

const struct jobs_counts *
jobs_counts (const struct jobs *jobs)
{
  return &jobs->counts;
}
