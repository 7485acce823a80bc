/* Starts and ends of jobs, and the lines and rows that report them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs/jobs_private.h"
#include "aggregator/views/job_facts.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define HOLD (2 * NS_PER_S)             /* before a start is reported: most nodes and the user are known then */
#define ANNOUNCED_WAIT (600 * NS_PER_S) /* how long an announced job is kept that no node has shown */
#define MARK_EVERY (60 * NS_PER_S)
#define KEPT_FOR (3600 * NS_PER_S)
#define REWRITE_EVERY (5 * NS_PER_S) /* between two writes of a row that changes all the time */
#define PERIODS 3                    /* of a node's sampling, without showing the job: it is gone */
#define AT_ONCE 8192                 /* jobs, and nodes of jobs, handled by one call of jobs_tick */

/* ---- lines and rows ---- */

static void
put_line (struct jobs *jobs, const struct jobs_job *job, struct job_line *line)
{
  line->key = job->key;
  line->label = job->label;
  line->texts = (const char *const *) job->texts;
  line->cpus = job_cpus (job);
  line->started_ns = job->started_ns;
  if (jobs->options.line)
    jobs->options.line (jobs->options.context, line);
}

/* Reports a line with all nodes. */
static void
life_line (struct jobs *jobs, const struct jobs_job *job, struct job_line *line)
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
row_job (struct jobs *jobs, struct jobs_job *job)
{
  struct job_row row = { JOB_ROW_JOB, job->key, job->started_ns, job_cpus (job), { job->label } };

  for (size_t i = 0; i < JOB_TEXTS; i++)
    row.texts[1 + i] = job->texts[i];
  put_row (jobs, &row);
  job->changed = false;
  job->written = jobs->awake;
}

static void
row_node (struct jobs *jobs, const struct job_use *use)
{
  put_row (jobs, &(struct job_row){ JOB_ROW_NODE, use->job->key, use->first_ns, nan (""), { use->node->name } });
}

static void
row_mark (struct jobs *jobs, struct jobs_job *job)
{
  struct buffer state = { 0 };

  job_state_write (job, &state);
  put_row (jobs, &(struct job_row){ JOB_ROW_MARK, job->key, job->seen_ns, nan (""), { buffer_text (&state) } });
  buffer_free (&state);
  job->marked = jobs->awake;
}

static void
report_start (struct jobs *jobs, struct jobs_job *job)
{
  if (job->reported)
    return;
  job->reported = true;
  jobs->counts.jobs_started++;
  row_job (jobs, job);
  for (size_t i = 0; i < job->use_count; i++)
    row_node (jobs, job->uses[i]);
  life_line (jobs, job, &(struct job_line){ .event = JOB_STARTED, .time_ns = job->started_ns });
}

void
job_joined (struct jobs *jobs, struct job_use *use)
{
  struct job_line line = { .event = JOB_NODE, .time_ns = use->first_ns, .node_count = 1 };
  const char *name = use->node->name;

  if (!use->job->reported)
    return;
  row_node (jobs, use);
  line.nodes = &name;
  put_line (jobs, use->job, &line);
}

/* ---- when a job is due ---- */

int64_t
job_patience (const struct jobs *jobs, const struct job_use *use)
{
  int64_t periods = PERIODS * use->node->period_ns;

  return periods > jobs->options.grace_ns && !use->lost ? periods : jobs->options.grace_ns;
}

/* Until when a node may show it again: each of its nodes has a patience of its own. */
static int64_t
deadline (const struct jobs *jobs, const struct jobs_job *job)
{
  int64_t latest = job->touched + (job->seen || job->restored ? jobs->options.grace_ns : ANNOUNCED_WAIT);

  for (size_t i = 0; i < job->use_count; i++) {
    const struct job_use *use = job->uses[i];
    int64_t until = use->touched < 0 ? 0 : use->touched + job_patience (jobs, use);
    latest = until > latest ? until : latest;
  }
  return latest;
}

static int64_t
earlier (int64_t one, int64_t other)
{
  return one < other ? one : other;
}

static int64_t
next_due (const struct jobs_job *job, int64_t until)
{
  int64_t next = until + 1;

  if (!job->reported)
    return earlier (next, job->born + HOLD);
  if (job->changed)
    next = earlier (next, job->written + REWRITE_EVERY);
  return earlier (next, job->marked + MARK_EVERY);
}

void
job_hasten (struct jobs *jobs, struct jobs_job *job)
{
  int64_t due = next_due (job, deadline (jobs, job));

  if (due < job->due)
    job_due_set (jobs, job, due);
}

/* ---- begin ---- */

void
job_text_set (struct jobs_job *job, enum job_text which, const char *text, bool weak)
{
  if (!*text || (*job->texts[which] && (weak || !job->weak[which])))
    return;
  job->weak[which] = weak;
  if (strcmp (job->texts[which], text) == 0)
    return;
  free (job->texts[which]);
  job->texts[which] = memory_string (text);
  job->changed = true;
}

static void
set_running (struct jobs *jobs, struct jobs_job *job)
{
  job->state = JOB_RUNNING;
  job->touched = job->marked = jobs->awake;
  job_counts_running (jobs, job, 1);
  job_due_add (jobs, job, jobs->awake);
}

struct jobs_job *
job_begin (struct jobs *jobs, struct job_owner *owner, const char *label, size_t length, int64_t started_ns,
           struct jobs_job *before)
{
  struct jobs_job *job = jobs_add (jobs, owner, label, length);

  job->after_ns = INT64_MIN;
  job->key = jobs->key = jobs->now_ns / 1000 > jobs->key ? jobs->now_ns / 1000 : jobs->key + 1;
  job->started_ns = job->seen_ns = started_ns;
  job->born = jobs->awake;
  set_running (jobs, job);
  if (before) {
    struct job_owner *of_before = before->owner;
    job->after_ns = before->seen_ns < started_ns ? before->seen_ns : started_ns - 1;
    job_keep_no_more (jobs, before);
    jobs_drop (jobs, before);
    job_owner_release (jobs, of_before);
  }
  return job;
}

void
job_resume (struct jobs *jobs, struct jobs_job *job)
{
  job_keep_no_more (jobs, job);
  set_running (jobs, job);
  put_row (jobs, &(struct job_row){ JOB_ROW_END, job->key, 0, nan (""), { "", "" } });
  life_line (jobs, job, &(struct job_line){ .event = JOB_RESUMED, .time_ns = jobs->now_ns });
}

/* ---- end ---- */

bool
job_has_exited (const struct jobs_job *job)
{
  for (size_t i = 0; i < job->use_count; i++)
    if (!job->uses[i]->exited)
      return false;
  return job->use_count > 0;
}

/* Nobody else knows how it ended: the greatest code of its nodes. */
static void
report_exit (struct jobs *jobs, const struct jobs_job *job)
{
  struct job_facts facts;
  struct json json = { 0 };

  job_facts_init (&facts);
  facts.numbers[JOB_FACT_EXIT_CODE] = 0;
  for (size_t i = 0; i < job->use_count; i++)
    facts.numbers[JOB_FACT_EXIT_CODE] = fmax (facts.numbers[JOB_FACT_EXIT_CODE], job->uses[i]->exit_code);
  facts.outcome = facts.numbers[JOB_FACT_EXIT_CODE] > 0 ? JOB_OUTCOME_FAILED : JOB_OUTCOME_COMPLETED;
  facts.known = facts.final = true;
  job_facts_write (&json, &facts);
  put_row (jobs, &(struct job_row){ JOB_ROW_FACTS, job->key, 0, nan (""), { buffer_text (&json.out) } });
  put_line (jobs, job,
            &(struct job_line){ .event = JOB_FACTS, .time_ns = jobs->now_ns, .facts = buffer_text (&json.out) });
  json_free (&json);
  job_facts_free (&facts);
}

void
job_end (struct jobs *jobs, struct jobs_job *job, enum job_state state)
{
  const char *reason = state == JOB_END_ANNOUNCED ? "told"
                       : state == JOB_EXITED      ? "exited"
                       : job->restored            ? "restart"
                                                  : "gone";
  struct json summary = { 0 };

  if (state == JOB_END_ANNOUNCED && !job->seen && job->use_count == 0)
    job->seen_ns = jobs->now_ns;
  report_start (jobs, job);
  job_summary_write (jobs, job, &summary);
  row_job (jobs, job);
  put_row (jobs,
           &(struct job_row){ JOB_ROW_END, job->key, job->seen_ns, nan (""), { reason, buffer_text (&summary.out) } });
  life_line (jobs, job,
             &(struct job_line){ .event = JOB_ENDED,
                                 .time_ns = jobs->now_ns,
                                 .ended_ns = job->seen_ns,
                                 .reason = reason,
                                 .summary = buffer_text (&summary.out),
                                 .summary_length = summary.out.length });
  json_free (&summary);
  if (job_has_exited (job))
    report_exit (jobs, job);
  jobs->counts.jobs_ended++;
  job_counts_running (jobs, job, -1);
  job_due_remove (jobs, job);
  job->state = state;
  job->ended_ns = job->seen_ns;
  job_keep (jobs, job);
}

/* ---- time ---- */

void
jobs_mark (struct jobs *jobs)
{
  for (size_t i = 0; i < jobs->due_count; i++) {
    struct jobs_job *job = jobs->due[i];
    report_start (jobs, job);
    if (job->changed)
      row_job (jobs, job);
    row_mark (jobs, job);
  }
}

/* Handles a job that is due: its end, its start, changed rows, its mark. */
static void
do_due (struct jobs *jobs, struct jobs_job *job)
{
  int64_t until = deadline (jobs, job);

  if (jobs->awake > until) {
    job_end (jobs, job, JOB_GONE);
    return;
  }
  if (jobs->awake - job->born >= HOLD)
    report_start (jobs, job);
  if (job->reported && job->changed && jobs->awake - job->written >= REWRITE_EVERY)
    row_job (jobs, job);
  if (job->reported && jobs->awake - job->marked >= MARK_EVERY)
    row_mark (jobs, job);
  job_due_set (jobs, job, next_due (job, until));
}

void
jobs_tick (struct jobs *jobs, int64_t now_ns)
{
  size_t work = 0;

  jobs_clock (jobs, now_ns);
  while (jobs->due_count && jobs->due[0]->due <= jobs->awake && work < AT_ONCE) {
    work += 1 + jobs->due[0]->use_count;
    do_due (jobs, jobs->due[0]);
  }
  while (jobs->first_kept && jobs->awake - jobs->first_kept->marked > KEPT_FOR && work < AT_ONCE) {
    struct jobs_job *job = jobs->first_kept;
    struct job_owner *owner = job->owner;
    work += 1 + job->use_count;
    job_keep_no_more (jobs, job);
    jobs_drop (jobs, job);
    job_owner_release (jobs, owner);
  }
}
