/* PBS Professional and OpenPBS: `qstat -x -f -F json`, ended jobs too where the server keeps them (job_history_enable).
 * Times are texts of the local time, "Mon Nov 23 04:21:34 2026". Torque has no JSON. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "aggregator/scheduler/scheduler_json.h"

#define KILLED_BY_SIGNAL 256 /* an exit status above it */

static int64_t
time_of (const json_t *job, const char *name)
{
  const char *text = answer_text (job, name);
  struct tm tm = { .tm_isdst = -1 };

  if (text && strptime (text, "%a %b %d %H:%M:%S %Y", &tm))
    return scheduler_time ((double) mktime (&tm));
  return answer_time (job, name);
}

/* Negative statuses are of PBS itself. */
static enum job_outcome
outcome_of_status (double status)
{
  if (status == 0)
    return JOB_OUTCOME_COMPLETED;
  if (status == -29 || status == -28)
    return JOB_OUTCOME_TIMEOUT;
  if (status == -27 || status == -26)
    return JOB_OUTCOME_OUT_OF_MEMORY;
  if (status == KILLED_BY_SIGNAL + 15)
    return JOB_OUTCOME_CANCELLED;
  return JOB_OUTCOME_FAILED;
}

static void
set_state (struct job_facts *facts, const json_t *job)
{
  const char *state = answer_text (job, "job_state");
  double status = answer_number (job, "Exit_status");

  answer_set_text (facts, JOB_FACT_STATE, job, "job_state");
  if (!state)
    return;
  if (strchr ("QHWTM", *state))
    facts->outcome = JOB_OUTCOME_PENDING;
  else if (strchr ("RBSEU", *state))
    facts->outcome = JOB_OUTCOME_RUNNING;
  else if (strchr ("FX", *state))
    facts->outcome = isnan (status) ? JOB_OUTCOME_CANCELLED : outcome_of_status (status);
  facts->final = job_outcome_is_final (facts->outcome);
  if (isnan (status))
    return;
  answer_set_number (facts, JOB_FACT_EXIT_CODE, status >= 0 && status < KILLED_BY_SIGNAL ? status : 0);
  answer_set_number (facts, JOB_FACT_EXIT_SIGNAL, status > KILLED_BY_SIGNAL ? status - KILLED_BY_SIGNAL : 0);
}

static void
set_wishes (struct job_facts *facts, const json_t *job)
{
  answer_set_number (facts, JOB_FACT_CPUS, answer_number (job, "Resource_List.ncpus"));
  answer_set_number (facts, JOB_FACT_NODES, answer_number (job, "Resource_List.nodect"));
  answer_set_number (facts, JOB_FACT_GPUS, answer_number (job, "Resource_List.ngpus"));
  answer_set_number (facts, JOB_FACT_MEMORY, scheduler_bytes (answer_text (job, "Resource_List.mem"), 1));
  answer_set_number (facts, JOB_FACT_TIME_LIMIT, scheduler_seconds (answer_text (job, "Resource_List.walltime")));
}

/* "ana@login1" */
static const char *
user_of (const json_t *job, char user[SCHEDULER_ID_SIZE])
{
  const char *owner = answer_text (job, "Job_Owner");
  size_t length = owner ? strcspn (owner, "@") : 0;

  length = length < SCHEDULER_ID_SIZE ? length : SCHEDULER_ID_SIZE - 1;
  memcpy (user, owner ? owner : "", length);
  user[length] = '\0';
  return user;
}

static void
take_job (const char *id, const json_t *job, const struct scheduler_taker *taker)
{
  char user[SCHEDULER_ID_SIZE];
  struct job_facts facts;

  job_facts_init (&facts);
  set_state (&facts, job);
  set_wishes (&facts, job);
  answer_set_text (&facts, JOB_FACT_PARTITION, job, "queue");
  answer_set_text (&facts, JOB_FACT_ACCOUNT, job, "Account_Name");
  if (!facts.texts[JOB_FACT_ACCOUNT])
    answer_set_text (&facts, JOB_FACT_ACCOUNT, job, "project");
  scheduler_set_command (&facts, answer_text (job, "Submit_arguments"));
  if (answer_number (job, "run_count") > 1)
    answer_set_number (&facts, JOB_FACT_RESTARTS, answer_number (job, "run_count") - 1);
  facts.times_ns[JOB_FACT_SUBMITTED] = time_of (job, "ctime");
  facts.times_ns[JOB_FACT_ELIGIBLE] = time_of (job, "etime");
  facts.times_ns[JOB_FACT_STARTED] = time_of (job, "stime");
  if (facts.final)
    facts.times_ns[JOB_FACT_ENDED] = time_of (job, json_object_get (job, "obittime") ? "obittime" : "mtime");
  answer_give (taker, id, user_of (job, user), &facts);
}

static int
read_answer (char *text, size_t length, const struct scheduler_taker *taker, struct error *error)
{
  json_t *root = answer_load (text, length, error), *job;
  json_t *jobs = json_object_get (root, "Jobs");
  const char *id;

  if (root && !json_is_object (jobs)) {
    error_set (error, "its answer has no jobs");
    json_decref (root);
    return -1;
  }
  json_object_foreach (jobs, id, job) take_job (id, job, taker);
  json_decref (root);
  return root ? 0 : -1;
}

static const struct scheduler_form forms[] = {
  { { "qstat", "-x", "-f", "-F", "json" }, .most = SCHEDULER_JOBS_MAX, .read = read_answer },
};

const struct scheduler scheduler_pbs = { "pbs", NULL, forms, sizeof forms / sizeof forms[0] };
