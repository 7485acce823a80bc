/* How jobs begin and end, and what is told of that. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define HOLD (2 * NS_PER_S)        /* before a start is told: nodes and user are in it then */
#define TOLD_WAIT (600 * NS_PER_S) /* for the first sight of a job that was told to start */
#define MARK_EVERY (60 * NS_PER_S)
#define KEPT_FOR (3600 * NS_PER_S)
#define TEXT_MAX 255

/* ---- out ---- */

static void
put_line (struct jobs *jobs, const struct job *job, struct job_line *line)
{
  line->label = job->label;
  line->texts = (const char *const *) job->texts;
  line->cpus = job_cpus (job);
  line->started_ns = job->started_ns;
  if (jobs->options.line)
    jobs->options.line (jobs->options.context, line);
}

/* A line that names all nodes. */
static void
tell (struct jobs *jobs, const struct job *job, struct job_line *line)
{
  const char **names = memory_new (job->use_count, sizeof *names);

  for (size_t i = 0; i < job->use_count; i++)
    names[i] = job->uses[i]->node->name;
  line->nodes = names;
  line->node_count = job->use_count;
  put_line (jobs, job, line);
  free (names);
}

static void
put_row (struct jobs *jobs, const struct job_row *row)
{
  if (jobs->options.row)
    jobs->options.row (jobs->options.context, row);
}

static void
row_job (struct jobs *jobs, struct job *job)
{
  struct job_row row = { JOB_ROW_JOB, job->key, job->started_ns, job_cpus (job), { job->label } };

  for (size_t i = 0; i < JOB_TEXTS; i++)
    row.texts[1 + i] = job->texts[i];
  put_row (jobs, &row);
  job->changed = false;
}

static void
row_node (struct jobs *jobs, const struct job_use *use)
{
  put_row (jobs, &(struct job_row){ JOB_ROW_NODE, use->job->key, use->first_ns, nan (""), { use->node->name } });
}

static void
row_mark (struct jobs *jobs, struct job *job)
{
  struct buffer state = { 0 };

  job_state_write (job, &state);
  buffer_add (&state, "", 1);
  put_row (jobs, &(struct job_row){ JOB_ROW_MARK, job->key, job->seen_ns, nan (""), { state.data } });
  buffer_free (&state);
  job->marked = jobs->awake;
}

static void
announce (struct jobs *jobs, struct job *job)
{
  if (job->announced)
    return;
  job->announced = true;
  jobs->counts.jobs_started++;
  row_job (jobs, job);
  for (size_t i = 0; i < job->use_count; i++)
    row_node (jobs, job->uses[i]);
  tell (jobs, job, &(struct job_line){ .event = JOB_STARTED, .time_ns = job->started_ns });
}

void
job_joined (struct jobs *jobs, struct job_use *use)
{
  struct job_line line = { .event = JOB_NODE, .time_ns = use->first_ns, .node_count = 1 };
  const char *name = use->node->name;

  if (!use->job->announced)
    return;
  row_node (jobs, use);
  line.nodes = &name;
  put_line (jobs, use->job, &line);
}

/* ---- begin ---- */

void
job_text_set (struct job *job, enum job_text which, const char *text, size_t length, bool weak)
{
  if (length > TEXT_MAX)
    for (length = TEXT_MAX; length && ((unsigned char) text[length] & 0xc0) == 0x80;) /* not within a character */
      length--;
  if (length == 0 || (*job->texts[which] && (weak || !job->weak[which])))
    return;
  free (job->texts[which]);
  job->texts[which] = memory_copy (text, length);
  job->weak[which] = weak;
  job->changed = true;
}

static void
set_running (struct jobs *jobs, struct job *job)
{
  job->state = JOB_RUNNING;
  job->touched = job->marked = jobs->awake;
  jobs->counts.jobs_running++;
  for (size_t i = 0; i < job->use_count; i++)
    job->uses[i]->node->running++;
}

struct job *
job_begin (struct jobs *jobs, const char *label, size_t length, int64_t started_ns)
{
  struct job *job = jobs_find (jobs, label, length);
  int64_t after_ns = INT64_MIN;

  if (jobs->counts.jobs_running >= JOBS_MAX)
    return NULL;
  if (job) {
    after_ns = job->seen_ns < started_ns ? job->seen_ns : started_ns - 1;
    jobs->kept_count--;
    jobs_drop (jobs, job);
  }
  job = jobs_add (jobs, label, length);
  jobs->key = jobs->now_ns / 1000 > jobs->key ? jobs->now_ns / 1000 : jobs->key + 1;
  job->key = jobs->key;
  job->started_ns = job->seen_ns = started_ns;
  job->after_ns = after_ns;
  job->born = jobs->awake;
  job->grace_ns = jobs->options.grace_ns;
  set_running (jobs, job);
  return job;
}

void
job_resume (struct jobs *jobs, struct job *job)
{
  jobs_chain_remove (&jobs->kept, job);
  jobs->kept_count--;
  jobs_chain_add (&jobs->running, job);
  set_running (jobs, job);
  put_row (jobs, &(struct job_row){ JOB_ROW_END, job->key, 0, nan (""), { "", "" } });
  tell (jobs, job, &(struct job_line){ .event = JOB_RESUMED, .time_ns = jobs->now_ns });
}

/* ---- end ---- */

void
job_keep (struct jobs *jobs, struct job *job)
{
  job->marked = jobs->awake;
  jobs_chain_remove (&jobs->running, job);
  jobs_chain_add (&jobs->kept, job);
  jobs->kept_count++;
  while (jobs->kept_count > JOBS_KEPT_MAX) {
    jobs->kept_count--;
    jobs_drop (jobs, jobs->kept.first);
  }
}

void
job_end (struct jobs *jobs, struct job *job, enum job_state state)
{
  const char *reason = state == JOB_TOLD ? "told" : job->restored ? "restart" : "gone";
  struct json summary = { 0 };

  if (state == JOB_TOLD && !job->seen && job->use_count == 0)
    job->seen_ns = jobs->now_ns;
  announce (jobs, job);
  job_summary_write (jobs, job, &summary);
  buffer_add (&summary.out, "", 1);
  row_job (jobs, job);
  put_row (jobs, &(struct job_row){ JOB_ROW_END, job->key, job->seen_ns, nan (""), { reason, summary.out.data } });
  tell (jobs, job,
        &(struct job_line){ .event = JOB_ENDED,
                            .time_ns = jobs->now_ns,
                            .ended_ns = job->seen_ns,
                            .reason = reason,
                            .summary = summary.out.data,
                            .summary_length = summary.out.length - 1 });
  json_free (&summary);
  jobs->counts.jobs_running--;
  jobs->counts.jobs_ended++;
  for (size_t i = 0; i < job->use_count; i++)
    job->uses[i]->node->running--;
  job->state = state;
  job->ended_ns = job->seen_ns;
  job_keep (jobs, job);
}

/* ---- time ---- */

void
jobs_mark (struct jobs *jobs)
{
  for (struct job *job = jobs->running.first; job; job = job->later) {
    announce (jobs, job);
    if (job->changed)
      row_job (jobs, job);
    row_mark (jobs, job);
  }
}

static int64_t
patience (const struct job *job)
{
  return job->seen || job->restored ? job->grace_ns : TOLD_WAIT;
}

void
jobs_tick (struct jobs *jobs, int64_t now_ns)
{
  struct job *later;

  jobs_clock (jobs, now_ns);
  for (struct job *job = jobs->running.first; job; job = later) {
    later = job->later;
    if (jobs->awake - job->touched > patience (job)) {
      job_end (jobs, job, JOB_GONE);
      continue;
    }
    if (jobs->awake - job->born >= HOLD)
      announce (jobs, job);
    if (job->announced && job->changed)
      row_job (jobs, job);
    if (job->announced && jobs->awake - job->marked >= MARK_EVERY)
      row_mark (jobs, job);
  }
  while (jobs->kept.first && jobs->awake - jobs->kept.first->marked > KEPT_FOR) {
    jobs->kept_count--;
    jobs_drop (jobs, jobs->kept.first);
  }
}
