/* IBM Spectrum LSF 10.1: `bjobs -json -o`. Times are texts of the local time, "Nov 23 04:21:34 2026" with
 * LSB_DISPLAY_YEAR, and of an end that is not certain yet a letter behind it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/scheduler/scheduler_json.h"

/* Those of an earlier version have no year: then it is the last such day. */
static int64_t
time_of (const json_t *job, const char *name)
{
  const char *text = answer_text (job, name), *rest;
  struct tm tm = { .tm_isdst = -1 };
  time_t now = time (NULL);
  struct tm today;

  if (!text || !localtime_r (&now, &today))
    return 0;
  tm.tm_year = today.tm_year;
  rest = strptime (text, "%b %d %H:%M:%S", &tm);
  if (!rest)
    rest = strptime (text, "%b %d %H:%M", &tm);
  if (!rest)
    return 0;
  if (!strptime (rest, " %Y", &tm) &&
      (tm.tm_mon > today.tm_mon || (tm.tm_mon == today.tm_mon && tm.tm_mday > today.tm_mday)))
    tm.tm_year--;
  return scheduler_time ((double) mktime (&tm));
}

static void
set_state (struct job_facts *facts, const json_t *job)
{
  static const struct {
    const char *state;
    enum job_outcome outcome;
  } all[] = { { "PEND", JOB_OUTCOME_PENDING },   { "PSUSP", JOB_OUTCOME_PENDING }, { "WAIT", JOB_OUTCOME_PENDING },
              { "RUN", JOB_OUTCOME_RUNNING },    { "USUSP", JOB_OUTCOME_RUNNING }, { "SSUSP", JOB_OUTCOME_RUNNING },
              { "DONE", JOB_OUTCOME_COMPLETED }, { "EXIT", JOB_OUTCOME_FAILED },   { "ZOMBI", JOB_OUTCOME_NODE_FAIL } };
  static const struct {
    const char *reason;
    enum job_outcome outcome;
  } reasons[] = { { "TERM_RUNLIMIT", JOB_OUTCOME_TIMEOUT },       { "TERM_DEADLINE", JOB_OUTCOME_TIMEOUT },
                  { "TERM_MEMLIMIT", JOB_OUTCOME_OUT_OF_MEMORY }, { "TERM_SWAP", JOB_OUTCOME_OUT_OF_MEMORY },
                  { "TERM_OWNER", JOB_OUTCOME_CANCELLED },        { "TERM_ADMIN", JOB_OUTCOME_CANCELLED },
                  { "TERM_FORCE", JOB_OUTCOME_CANCELLED },        { "TERM_PREEMPT", JOB_OUTCOME_PREEMPTED },
                  { "TERM_REQUEUE", JOB_OUTCOME_REQUEUED } };
  const char *state = answer_text (job, "STAT"), *reason = answer_text (job, "EXIT_REASON");
  double code = answer_number (job, "EXIT_CODE");

  answer_set_text (facts, JOB_FACT_STATE, job, "STAT");
  for (size_t i = 0; state && i < sizeof all / sizeof all[0]; i++)
    if (strcmp (state, all[i].state) == 0)
      facts->outcome = all[i].outcome;
  for (size_t i = 0; reason && facts->outcome == JOB_OUTCOME_FAILED && i < sizeof reasons / sizeof reasons[0]; i++)
    if (strncmp (reason, reasons[i].reason, strlen (reasons[i].reason)) == 0)
      facts->outcome = reasons[i].outcome;
  facts->final = job_outcome_is_final (facts->outcome);
  answer_set_number (facts, JOB_FACT_EXIT_CODE, isnan (code) ? 0 : code > 128 ? 0 : code);
  answer_set_number (facts, JOB_FACT_EXIT_SIGNAL, code > 128 ? code - 128 : 0);
}

/* "60.0" minutes, "60.0/host", "01:00:00" */
static double
limit_of (const char *text)
{
  char *end;
  double minutes = text ? strtod (text, &end) : nan ("");

  if (!text || end == text)
    return nan ("");
  return strchr (text, ':') ? scheduler_seconds (text) : minutes * 60;
}

static void
take_job (const json_t *job, const struct scheduler_taker *taker)
{
  const char *number = answer_text (job, "JOBID"), *index = answer_text (job, "JOBINDEX");
  bool task = index && atoi (index) > 0;
  char id[SCHEDULER_ID_SIZE], array[SCHEDULER_ID_SIZE];
  struct job_facts facts;

  if (!number)
    return;
  snprintf (id, sizeof id, task ? "%.40s[%.20s]" : "%.40s", number, index);
  job_facts_init (&facts);
  set_state (&facts, job);
  if (task) {
    snprintf (array, sizeof array, "%.40s_%.20s", number, index);
    job_facts_set_text (&facts, JOB_FACT_ARRAY, array, strlen (array));
  }
  answer_set_text (&facts, JOB_FACT_PARTITION, job, "QUEUE");
  answer_set_text (&facts, JOB_FACT_ACCOUNT, job, "PROJ_NAME");
  scheduler_set_command (&facts, answer_text (job, "COMMAND"));
  answer_set_number (&facts, JOB_FACT_CPUS, answer_number (job, "NREQ_SLOT"));
  answer_set_number (&facts, JOB_FACT_NODES, answer_number (job, "NEXEC_HOST"));
  answer_set_number (&facts, JOB_FACT_GPUS, answer_number (job, "GPU_NUM"));
  answer_set_number (&facts, JOB_FACT_MEMORY, scheduler_bytes (answer_text (job, "MEMLIMIT"), 1024));
  answer_set_number (&facts, JOB_FACT_TIME_LIMIT, limit_of (answer_text (job, "RUNTIMELIMIT")));
  facts.times_ns[JOB_FACT_SUBMITTED] = time_of (job, "SUBMIT_TIME");
  facts.times_ns[JOB_FACT_STARTED] = time_of (job, "START_TIME");
  if (facts.final)
    facts.times_ns[JOB_FACT_ENDED] = time_of (job, "FINISH_TIME");
  answer_give (taker, id, answer_text (job, "USER"), &facts);
}

static int
read_answer (char *text, size_t length, const struct scheduler_taker *taker, struct error *error)
{
  json_t *root = answer_load (text, length, error);
  const json_t *records = json_object_get (root, "RECORDS");
  int result = json_is_array (records) ? 0 : -1;

  for (size_t i = 0; i < json_array_size (records); i++)
    take_job (json_array_get (records, i), taker);
  if (root && result < 0)
    error_set (error, "its answer has no records");
  json_decref (root);
  return result;
}

static const char *const environment[] = { "LSB_DISPLAY_YEAR=Y", NULL };
static const struct scheduler_form forms[] = {
  { { "bjobs", "-a", "-u", "all", "-json", "-o",
      "jobid jobindex stat exit_code exit_reason queue user proj_name nreq_slot nexec_host gpu_num memlimit "
      "runtimelimit "
      "submit_time start_time finish_time command" },
    .most = SCHEDULER_JOBS_MAX,
    .read = read_answer },
};

const struct scheduler scheduler_lsf = { "lsf", environment, forms, sizeof forms / sizeof forms[0] };
