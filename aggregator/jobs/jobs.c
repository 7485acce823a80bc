/* See jobs.h: the intake of frames. Jobs rarely move between the rows of a table, so the job of the last frame's row
 * is tried first. */
#include "aggregator/jobs/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs/jobs_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define AWAKE_MAX NS_PER_S
#define EARLIEST (400 * 86400 * NS_PER_S) /* frames from before this, by their time, are not taken */
#define PERIOD_MAX (3600 * NS_PER_S)      /* of a group, as agents are configured */
#define STEP_BACK (10 * NS_PER_MS)

/* ---- time ---- */

static int64_t
lower (int64_t one, int64_t other)
{
  return one < other ? one : other;
}

static void
job_step_back (const struct jobs *jobs, struct jobs_job *job)
{
  job->seen_ns = lower (job->seen_ns, jobs->now_ns);
  job->after_ns = lower (job->after_ns, jobs->now_ns);
  for (size_t k = 0; k < job->use_count; k++)
    job->uses[k]->last_ns = lower (job->uses[k]->last_ns, jobs->now_ns);
}

/* The aggregator's clock was set back: no time of a frame may be later than now. */
static void
step_back (struct jobs *jobs)
{
  for (size_t i = 0; i < jobs->node_count; i++)
    jobs->nodes[i]->frame_ns = lower (jobs->nodes[i]->frame_ns, jobs->now_ns);
  for (size_t i = 0; i < jobs->due_count; i++)
    job_step_back (jobs, jobs->due[i]);
  for (struct jobs_job *job = jobs->first_kept; job; job = job->later)
    job_step_back (jobs, job);
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

/* Moves a job's start back. Only nodes on which it was when it was first reported may do so; once a node has
 * identified the job, only nodes that identify it too. */
static void
start_earlier (struct job_use *use, int64_t start_ns)
{
  struct jobs_job *job = use->job;

  if (start_ns >= job->started_ns || start_ns <= job->after_ns || !use->founder || (job_is_named (job) && !use->named))
    return;
  job->started_ns = start_ns;
  job->changed = true;
}

static void
touch (struct jobs *jobs, struct job_use *use, const struct job_intake *intake)
{
  struct jobs_job *job = use->job;

  use->touched = jobs->awake;
  if (!job->seen)
    job_shown (jobs, job, use->node);
  job->restored = false;
  if (intake->time_ns > job->seen_ns)
    job->seen_ns = intake->time_ns;
  use->first_ns = lower (use->first_ns, intake->time_ns);
  if (use->first_ns < job->started_ns)
    start_earlier (use, use->first_ns);
  if (intake->time_ns > use->last_ns) {
    use->last_ns = intake->time_ns;
    use->lost = false;
  }
}

static void
take_values (struct job_use *use, const struct job_intake *intake, size_t index, size_t row)
{
  const struct jobs_columns *columns = &intake->node->columns;
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
    } else if (intake->time_ns >= use->last_ns) { /* totals only grow */
      if (use->totals[into].last > value)
        use->totals[into].before += use->totals[into].last;
      use->totals[into].last = value;
    }
  }
}

/* The first node that identifies the job: the time before may be that of another user's job of the same id. */
static void
adopt (struct job_use *use, const struct job_info *info)
{
  struct jobs_job *job = use->job;

  job_name (job, info);
  job->changed = true;
  use->named = true;
  if (use->founder && !job->by_announcement && use->first_ns > job->after_ns)
    job->started_ns = use->first_ns;
}

/* The node's name for the job, if it differs from the job's. */
static void
take_name (struct job_use *use, const char *name)
{
  const char *known = use->job->texts[JOB_NAME];

  if (!*name || strcmp (name, use->name ? use->name : known) == 0)
    return;
  free (use->name);
  use->name = strcmp (name, known) == 0 ? NULL : memory_string (name);
}

static void
take_info (struct job_use *use, const struct job_info *info)
{
  struct jobs_job *job = use->job;

  if (info->named && !job_is_named (job))
    adopt (use, info);
  else if (info->named)
    job_name (job, info);
  use->named |= info->named;
  for (size_t i = JOB_NAME; i < JOB_TEXTS; i++)
    job_text_set (job, (enum job_text) i, info->texts[i], !info->named);
  take_name (use, info->texts[JOB_NAME]);
  if (!isnan (info->cpus) && !(use->cpus == info->cpus)) {
    use->cpus = info->cpus;
    job->changed = true;
  }
  /* The first start counts: setting the node's wall clock later changes nothing. */
  if (!use->started_known && info->start_ns)
    start_earlier (use, info->start_ns);
  use->started_known = use->started_known || info->start_ns;
  if (info->start_ns)
    use->run_ns = info->start_ns;
  use->exited = !isnan (info->exit_code);
  use->exit_code = info->exit_code;
}

static void
make_hints (struct jobs_node *node, size_t rows)
{
  size_t count = rows < JOBS_NODE_MAX ? rows : JOBS_NODE_MAX;

  if (count <= node->hint_count)
    return;
  node->hints = memory_resize (node->hints, count, sizeof (struct job_use *));
  memset (node->hints + node->hint_count, 0, (count - node->hint_count) * sizeof (struct job_use *));
  node->hint_count = count;
}

static bool
is_it_still (const struct job_use *use, const struct job_intake *intake, const char *label, size_t length)
{
  const struct jobs_job *job = use->job;

  return use->current && job->state == JOB_RUNNING && intake->time_ns > job->after_ns &&
         strncmp (job->label, label, length) == 0 && !job->label[length];
}

static void
jobs_take_table (struct jobs *jobs, struct job_intake *intake, size_t index)
{
  const struct table *table = intake->frame->groups[index].now;
  struct jobs_node *node = intake->node;

  make_hints (node, table->rows);
  for (size_t row = 0; row < table->rows; row++) {
    size_t length;
    const char *label = table_label (table, row, &length);
    struct job_use *use = row < node->hint_count ? node->hints[row] : NULL;
    if (!use || !is_it_still (use, intake, label, length)) {
      use = jobs_find_use (jobs, intake, label, length, NULL);
      if (row < node->hint_count)
        node->hints[row] = use;
    }
    if (!use)
      continue;
    touch (jobs, use, intake);
    take_values (use, intake, index, row);
  }
}

static void
take_info_table (struct jobs *jobs, struct job_intake *intake, size_t index)
{
  const struct table *table = intake->frame->groups[index].now;
  struct job_info info;

  for (size_t row = 0; row < table->rows; row++) {
    size_t length;
    const char *label = table_label (table, row, &length);
    struct job_use *use;
    job_info_read (&info, &intake->node->columns, table, row, intake->frame->wall_offset_ns, intake->time_ns);
    use = jobs_find_use (jobs, intake, label, length, &info);
    if (!use)
      continue;
    touch (jobs, use, intake);
    take_values (use, intake, index, row);
    take_info (use, &info);
    intake->exited |= use->exited;
    job_hasten (jobs, use->job);
  }
}

/* The shortest period of the node's session; a node may send any number. */
static void
note_period (struct jobs_node *node, const struct cluster_frame *frame, const struct table *table)
{
  int64_t period = table->period_ns < 0 || table->period_ns > PERIOD_MAX ? PERIOD_MAX : table->period_ns;

  if (node->session != frame->header->session || node->period_ns == 0 || period < node->period_ns)
    node->period_ns = period;
  node->session = frame->header->session;
}

static struct jobs_job *
find_exited (const struct jobs_node *node)
{
  for (const struct job_use *use = node->uses; use; use = use->next)
    if (use->exited && use->job->state == JOB_RUNNING && job_has_exited (use->job))
      return use->job;
  return NULL;
}

/* Ends jobs of which the node has said the last. */
static void
end_exited (struct jobs *jobs, const struct jobs_node *node)
{
  for (struct jobs_job *job; (job = find_exited (node));)
    job_end (jobs, job, JOB_EXITED);
}

static void
take_tables (struct jobs *jobs, struct job_intake *intake)
{
  const struct jobs_columns *columns = &intake->node->columns;

  if (intake->has_info)
    take_info_table (jobs, intake, (size_t) columns->info);
  for (size_t i = 0; i < columns->group_count; i++) {
    const struct table *table = intake->frame->groups[columns->groups[i]].now;
    if (!table)
      continue;
    note_period (intake->node, intake->frame, table);
    if ((int) columns->groups[i] != columns->info)
      jobs_take_table (jobs, intake, columns->groups[i]);
  }
  if (intake->exited)
    end_exited (jobs, intake->node);
}

void
jobs_frame (struct jobs *jobs, const struct cluster_frame *frame, int64_t now_ns)
{
  struct jobs_node *node;
  struct jobs_columns *columns;
  struct job_intake intake;

  jobs_clock (jobs, now_ns);
  if (frame->time_ns < now_ns - EARLIEST)
    return;
  node = jobs_node (jobs, frame->header->node);
  columns = &node->columns;
  jobs_columns_learn (columns, frame->schema);
  intake = (struct job_intake){ .node = node,
                                .frame = frame,
                                .time_ns = lower (frame->time_ns, now_ns),
                                .last_frame_ns = node->frame_ns,
                                .has_info = columns->info >= 0 && frame->groups[columns->info].now };
  if (intake.time_ns > node->frame_ns) {
    node->frame_ns = intake.time_ns;
    node->frame_awake = jobs->awake;
  }
  take_tables (jobs, &intake);
  if (intake.refused) {
    jobs->counts.job_rows_refused += intake.refused;
    job_hold_back (jobs, &node->owner, intake.refused, "rows", intake.why);
  }
}

void
jobs_node_down (struct jobs *jobs, const char *name)
{
  for (struct job_use *use = jobs_node (jobs, name)->uses; use; use = use->next)
    if (use->job->state == JOB_RUNNING) {
      use->lost = true;
      job_hasten (jobs, use->job);
    }
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
  for (size_t i = 0; i < jobs->due_count; i++)
    job_hasten (jobs, jobs->due[i]);
}

void
jobs_destroy (struct jobs *jobs)
{
  if (!jobs)
    return;
  for (size_t i = 0; i < jobs->due_count; i++)
    jobs_drop (jobs, jobs->due[i]);
  for (struct jobs_job *job = jobs->first_kept, *later; job; job = later) {
    later = job->later;
    jobs_drop (jobs, job);
  }
  for (struct job_owner *owner = jobs->announcers, *next; owner; owner = next) {
    next = owner->next;
    free (owner);
  }
  for (size_t i = 0; i < jobs->node_count; i++) {
    free (jobs->nodes[i]->name);
    free (jobs->nodes[i]->hints);
    free (jobs->nodes[i]);
  }
  free (jobs->nodes);
  free (jobs->due);
  keyed_table_free (&jobs->labels);
  keyed_table_free (&jobs->runs);
  keyed_table_free (&jobs->uses);
  free (jobs);
}

const struct jobs_counts *
jobs_counts (const struct jobs *jobs)
{
  return &jobs->counts;
}
