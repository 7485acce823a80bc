/* OAR 2.5: `oarstat -J -f -j ID`, of ended jobs too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/scheduler/scheduler_json.h"

static void
set_state (struct job_facts *facts, const json_t *job)
{
  static const char *const waits[] = { "Waiting", "Hold", "toLaunch", "toAckReservation", "Launching", NULL };
  const char *state = answer_text (job, "state"), *message = answer_text (job, "message");
  const json_t *status_given = answer_at (job, "exit_code");
  double status = answer_number (job, "exit_code");
  unsigned number;

  answer_set_text (facts, JOB_FACT_STATE, job, "state");
  /* "256 (1,0,0)": a status of wait, and its parts */
  if (isnan (status) && json_is_string (status_given) && sscanf (json_string_value (status_given), "%u", &number) == 1)
    status = number;
  if (!state)
    return;
  facts->outcome = JOB_OUTCOME_RUNNING;
  for (size_t i = 0; waits[i]; i++)
    if (strcmp (state, waits[i]) == 0)
      facts->outcome = JOB_OUTCOME_PENDING;
  if (strcmp (state, "Terminated") == 0)
    facts->outcome = status > 0 ? JOB_OUTCOME_FAILED : JOB_OUTCOME_COMPLETED;
  if (strcmp (state, "Error") == 0)
    facts->outcome = message && strcasestr (message, "walltime") ? JOB_OUTCOME_TIMEOUT : JOB_OUTCOME_FAILED;
  facts->final = job_outcome_is_final (facts->outcome);
  if (isnan (status) || status > 65535)
    return;
  answer_set_number (facts, JOB_FACT_EXIT_CODE, (double) ((unsigned) status >> 8 & 255));
  answer_set_number (facts, JOB_FACT_EXIT_SIGNAL, (double) ((unsigned) status & 127));
}

static void
set_wishes (struct job_facts *facts, const json_t *job)
{
  const char *wanted = answer_text (job, "wanted_resources"), *at;
  double number;

  if (wanted && (at = strstr (wanted, "walltime=")))
    answer_set_number (facts, JOB_FACT_TIME_LIMIT, scheduler_seconds (at + 9));
  else
    answer_set_number (facts, JOB_FACT_TIME_LIMIT, answer_number (job, "walltime"));
  if (wanted &&
      ((at = strstr (wanted, "nodes=")) || (at = strstr (wanted, "host=")) ||
       (at = strstr (wanted, "network_address="))) &&
      sscanf (strchr (at, '=') + 1, "%lf", &number) == 1)
    answer_set_number (facts, JOB_FACT_NODES, number);
  if (wanted && (at = strstr (wanted, "core=")) && sscanf (at + 5, "%lf", &number) == 1)
    answer_set_number (facts, JOB_FACT_CPUS,
                       number * (facts->numbers[JOB_FACT_NODES] > 0 ? facts->numbers[JOB_FACT_NODES] : 1));
  if (wanted && (at = strstr (wanted, "gpu=")) && sscanf (at + 4, "%lf", &number) == 1)
    answer_set_number (facts, JOB_FACT_GPUS, number);
}

static void
take_job (const char *id, const json_t *job, const struct scheduler_taker *taker)
{
  double array = answer_number (job, "array_id"), index = answer_number (job, "array_index");
  struct job_facts facts;
  char text[64];

  job_facts_init (&facts);
  set_state (&facts, job);
  set_wishes (&facts, job);
  answer_set_text (&facts, JOB_FACT_PARTITION, job, "queue");
  answer_set_text (&facts, JOB_FACT_ACCOUNT, job, "project");
  if (array > 0 && index > 0 && !(index == 1 && answer_number (job, "Job_Id") == array)) {
    snprintf (text, sizeof text, "%.0f_%.0f", array, index);
    job_facts_set_text (&facts, JOB_FACT_ARRAY, text, strlen (text));
  }
  scheduler_set_command (&facts, answer_text (job, "command"));
  facts.times_ns[JOB_FACT_SUBMITTED] = answer_time (job, "submissionTime");
  facts.times_ns[JOB_FACT_STARTED] = answer_time (job, "startTime");
  if (facts.final)
    facts.times_ns[JOB_FACT_ENDED] = answer_time (job, "stopTime");
  answer_give (taker, id, answer_text (job, "owner"), &facts);
}

static int
read_answer (char *text, size_t length, const struct scheduler_taker *taker, struct error *error)
{
  json_t *root = answer_load (text, length, error), *job;
  const char *id;

  json_object_foreach (root, id, job) take_job (id, job, taker);
  json_decref (root);
  return root ? 0 : -1;
}

static const struct scheduler_form forms[] = {
  { { "oarstat", "-J", "-f", "-j" }, .most = 1, .read = read_answer },
};

const struct scheduler scheduler_oar = { "oar", NULL, forms, sizeof forms / sizeof forms[0] };
