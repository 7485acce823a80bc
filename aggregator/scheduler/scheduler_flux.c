/* Flux: `flux jobs -a --json ID...`, an object with jobs, or of one job that job. Times are seconds since 1970. */
#include <stdio.h>
#include <string.h>

#include "aggregator/scheduler/scheduler_json.h"

static enum job_outcome
outcome_of (const char *state, const char *result)
{
  static const struct {
    const char *result;
    enum job_outcome outcome;
  } all[] = { { "COMPLETED", JOB_OUTCOME_COMPLETED },
              { "FAILED", JOB_OUTCOME_FAILED },
              { "CANCELED", JOB_OUTCOME_CANCELLED },
              { "TIMEOUT", JOB_OUTCOME_TIMEOUT } };

  for (size_t i = 0; result && i < sizeof all / sizeof all[0]; i++)
    if (strcmp (result, all[i].result) == 0)
      return all[i].outcome;
  if (!state)
    return JOB_OUTCOME_UNKNOWN;
  return strcmp (state, "RUN") == 0 || strcmp (state, "CLEANUP") == 0 ? JOB_OUTCOME_RUNNING : JOB_OUTCOME_PENDING;
}

static void
take_job (const json_t *job, const struct scheduler_taker *taker)
{
  const char *result = answer_text (job, "result"), *id = answer_text (job, "id");
  double code = answer_number (job, "returncode");
  char plain[SCHEDULER_ID_SIZE];
  struct job_facts facts;

  if (!id)
    return;
  /* Agents have an 'f' for U+0192. */
  snprintf (plain, sizeof plain, strncmp (id, "\xc6\x92", 2) == 0 ? "f%.100s" : "%.100s",
            strncmp (id, "\xc6\x92", 2) == 0 ? id + 2 : id);
  job_facts_init (&facts);
  facts.outcome = outcome_of (answer_text (job, "state"), result);
  facts.final = job_outcome_is_final (facts.outcome);
  answer_set_text (&facts, JOB_FACT_STATE, job, result && *result ? "result" : "state");
  /* Of a signal it is negative. */
  answer_set_number (&facts, JOB_FACT_EXIT_CODE, code < 0 ? 0 : code);
  answer_set_number (&facts, JOB_FACT_EXIT_SIGNAL, code < 0 ? -code : code >= 0 ? 0 : code);
  answer_set_text (&facts, JOB_FACT_PARTITION, job, "queue");
  answer_set_text (&facts, JOB_FACT_ACCOUNT, job, "bank");
  answer_set_number (&facts, JOB_FACT_NODES, answer_number (job, "nnodes"));
  answer_set_number (&facts, JOB_FACT_CPUS, answer_number (job, "ncores"));
  if (answer_number (job, "duration") > 0)
    answer_set_number (&facts, JOB_FACT_TIME_LIMIT, answer_number (job, "duration"));
  facts.times_ns[JOB_FACT_SUBMITTED] = answer_time (job, "t_submit");
  facts.times_ns[JOB_FACT_ELIGIBLE] = answer_time (job, "t_depend");
  facts.times_ns[JOB_FACT_STARTED] = answer_time (job, "t_run");
  facts.times_ns[JOB_FACT_ENDED] = answer_time (job, facts.final ? "t_inactive" : "t_cleanup");
  answer_give (taker, plain, answer_text (job, "username"), &facts);
}

static int
read_answer (char *text, size_t length, const struct scheduler_taker *taker, struct error *error)
{
  json_t *root = answer_load (text, length, error);
  const json_t *jobs = json_object_get (root, "jobs");

  if (root && !json_is_array (jobs))
    take_job (root, taker);
  for (size_t i = 0; i < json_array_size (jobs); i++)
    take_job (json_array_get (jobs, i), taker);
  json_decref (root);
  return root ? 0 : -1;
}

static const struct scheduler_form forms[] = {
  { { "flux", "jobs", "-a", "--json" }, .most = SCHEDULER_JOBS_MAX, .read = read_answer },
};

const struct scheduler scheduler_flux = { "flux", NULL, forms, sizeof forms / sizeof forms[0] };
