/* SLURM: `sacct --json` (21.08 and later), else fields of sacct; `scontrol` for a site without accounting.
 *
 * sacct's JSON differs between versions: a state is a text or an array of texts, a number may be an object {"set",
 * "infinite", "number"}. Before 23.02 it lacks the line of the submission, which its fields have. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/scheduler/scheduler_json.h"

#define MEBI 1048576.0
#define NO_LIMIT 4294967294.0 /* and what follows: SLURM's "none" and "unlimited" */

/* ---- words ---- */

void
scheduler_set_slurm_state (struct job_facts *facts, const char *state)
{
  static const struct {
    const char *name;
    enum job_outcome outcome;
  } all[] = {
    { "PENDING", JOB_OUTCOME_PENDING },         { "CONFIGURING", JOB_OUTCOME_PENDING },
    { "RUNNING", JOB_OUTCOME_RUNNING },         { "COMPLETING", JOB_OUTCOME_RUNNING },
    { "SUSPENDED", JOB_OUTCOME_RUNNING },       { "COMPLETED", JOB_OUTCOME_COMPLETED },
    { "FAILED", JOB_OUTCOME_FAILED },           { "CANCELLED", JOB_OUTCOME_CANCELLED },
    { "TIMEOUT", JOB_OUTCOME_TIMEOUT },         { "DEADLINE", JOB_OUTCOME_TIMEOUT },
    { "NODE_FAIL", JOB_OUTCOME_NODE_FAIL },     { "OUT_OF_MEMORY", JOB_OUTCOME_OUT_OF_MEMORY },
    { "BOOT_FAIL", JOB_OUTCOME_NODE_FAIL },     { "PREEMPTED", JOB_OUTCOME_PREEMPTED },
    { "REQUEUED", JOB_OUTCOME_REQUEUED },       { "LAUNCH_FAILED", JOB_OUTCOME_FAILED },
    { "RECONFIG_FAIL", JOB_OUTCOME_NODE_FAIL }, { "REVOKED", JOB_OUTCOME_CANCELLED },
  };
  size_t length = state ? strcspn (state, " +") : 0;

  job_facts_set_text (facts, JOB_FACT_STATE, state, length);
  for (size_t i = 0; length && i < sizeof all / sizeof all[0]; i++)
    if (strlen (all[i].name) == length && strncmp (all[i].name, state, length) == 0)
      facts->outcome = all[i].outcome;
  facts->final = job_outcome_is_final (facts->outcome);
}

void
scheduler_end_slurm (struct job_facts *facts, bool limited)
{
  facts->final &= facts->texts[JOB_FACT_PARTITION] && facts->times_ns[JOB_FACT_SUBMITTED] &&
                  facts->times_ns[JOB_FACT_ENDED] && limited;
}

/* One of "cpu=2,mem=600M,gres/gpu:a100=1": `name` "gres/gpu:a100". */
static void
set_tres (struct job_facts *facts, const char *name, double count)
{
  if (strcmp (name, "cpu") == 0)
    answer_set_number (facts, JOB_FACT_CPUS, count);
  else if (strcmp (name, "node") == 0)
    answer_set_number (facts, JOB_FACT_NODES, count);
  else if (strcmp (name, "mem") == 0)
    answer_set_number (facts, JOB_FACT_MEMORY, count);
  else if (strncmp (name, "gres/gpu", 8) != 0)
    return;
  else if (name[8] == ':') {
    job_facts_set_text (facts, JOB_FACT_GPU_TYPE, name + 9, strlen (name + 9));
    if (isnan (facts->numbers[JOB_FACT_GPUS]))
      answer_set_number (facts, JOB_FACT_GPUS, count);
  } else if (name[8] == '\0')
    answer_set_number (facts, JOB_FACT_GPUS, count); /* of all types */
}

void
scheduler_set_tres (struct job_facts *facts, const char *tres)
{
  while (tres && *tres) {
    char name[64], count[32];
    if (sscanf (tres, "%63[^=,]=%31[^,]", name, count) == 2)
      set_tres (facts, name, scheduler_bytes (count, strcmp (name, "mem") == 0 ? MEBI : 1));
    tres += strcspn (tres, ",");
    tres += *tres == ',';
  }
}

/* ---- sacct --json ---- */

static void
set_limit (struct job_facts *facts, double minutes)
{
  if (minutes > 0 && minutes < NO_LIMIT)
    answer_set_number (facts, JOB_FACT_TIME_LIMIT, minutes * 60);
}

/* Null is the partition's limit, which a job has once it starts; a version that has no such member says nothing. */
static bool
is_limited (const json_t *limit)
{
  const json_t *number = json_is_object (limit) ? json_object_get (limit, "number") : limit;

  if (!limit || json_is_true (json_object_get (limit, "infinite")))
    return true;
  return !json_is_false (json_object_get (limit, "set")) && json_is_number (number) && json_number_value (number) > 0;
}

/* Without a signal the code is always known. */
static void
set_exit (struct job_facts *facts, const json_t *job)
{
  double code = answer_number (job, "exit_code.return_code"),
         signal = answer_number (job, "exit_code.signal.signal_id");

  if (isnan (signal))
    signal = answer_number (job, "exit_code.signal.id");
  answer_set_number (facts, JOB_FACT_EXIT_CODE, isnan (code) ? 0 : code);
  answer_set_number (facts, JOB_FACT_EXIT_SIGNAL, isnan (signal) ? 0 : signal);
}

static void
set_array (struct job_facts *facts, double id, double task)
{
  char text[64];
  int length = id > 0 && task >= 0 && task < NO_LIMIT ? snprintf (text, sizeof text, "%.0f_%.0f", id, task) : 0;

  job_facts_set_text (facts, JOB_FACT_ARRAY, text, (size_t) length);
}

static void
set_memory_wish (struct job_facts *facts, const json_t *job, const char *node, const char *cpu)
{
  double per_node = answer_number (job, node), per_cpu = answer_number (job, cpu);

  if (per_node > 0)
    answer_set_number (facts, JOB_FACT_MEMORY_PER_NODE, per_node * MEBI);
  if (per_cpu > 0)
    answer_set_number (facts, JOB_FACT_MEMORY_PER_CPU, per_cpu * MEBI);
}

static void
set_tres_list (struct job_facts *facts, const json_t *list)
{
  for (size_t i = 0; i < json_array_size (list); i++) {
    const json_t *one = json_array_get (list, i);
    const char *type = answer_text (one, "type"), *name = answer_text (one, "name");
    double count = answer_number (one, "count");
    char whole[64];
    if (!type || isnan (count))
      continue;
    snprintf (whole, sizeof whole, "%.20s%s%.40s", type, name && *name ? "/" : "", name ? name : "");
    set_tres (facts, whole, strcmp (type, "mem") == 0 ? count * MEBI : count);
  }
}

static void
take_accounted (const json_t *job, const struct scheduler_taker *taker)
{
  struct job_facts facts;
  char id[32];

  job_facts_init (&facts);
  snprintf (id, sizeof id, "%.0f", answer_number (job, "job_id"));
  scheduler_set_slurm_state (&facts, answer_text (job, "state.current"));
  answer_set_text (&facts, JOB_FACT_PARTITION, job, "partition");
  answer_set_text (&facts, JOB_FACT_ACCOUNT, job, "account");
  answer_set_text (&facts, JOB_FACT_QOS, job, "qos");
  set_array (&facts, answer_number (job, "array.job_id"), answer_number (job, "array.task_id"));
  scheduler_set_command (&facts, answer_text (job, "submit_line"));
  set_exit (&facts, job);
  set_tres_list (&facts, answer_at (job, "tres.requested"));
  set_memory_wish (&facts, job, "required.memory_per_node", "required.memory_per_cpu");
  set_limit (&facts, answer_number (job, "time.limit"));
  answer_set_number (&facts, JOB_FACT_RESTARTS, answer_number (job, "restart_cnt"));
  facts.times_ns[JOB_FACT_SUBMITTED] = answer_time (job, "time.submission");
  facts.times_ns[JOB_FACT_ELIGIBLE] = answer_time (job, "time.eligible");
  facts.times_ns[JOB_FACT_STARTED] = answer_time (job, "time.start");
  facts.times_ns[JOB_FACT_ENDED] = answer_time (job, "time.end");
  scheduler_end_slurm (&facts, is_limited (answer_at (job, "time.limit")));
  answer_give (taker, id, answer_text (job, "association.user"), &facts);
}

/* ---- scontrol show job --json ---- */

static void
take_controlled (const json_t *job, const struct scheduler_taker *taker)
{
  struct job_facts facts;
  char id[32];

  job_facts_init (&facts);
  snprintf (id, sizeof id, "%.0f", answer_number (job, "job_id"));
  scheduler_set_slurm_state (&facts, answer_text (job, "job_state"));
  answer_set_text (&facts, JOB_FACT_PARTITION, job, "partition");
  answer_set_text (&facts, JOB_FACT_ACCOUNT, job, "account");
  answer_set_text (&facts, JOB_FACT_QOS, job, "qos");
  set_array (&facts, answer_number (job, "array_job_id"), answer_number (job, "array_task_id"));
  scheduler_set_command (&facts, answer_text (job, "command"));
  set_exit (&facts, job);
  scheduler_set_tres (&facts, answer_text (job, "tres_req_str"));
  set_memory_wish (&facts, job, "memory_per_node", "memory_per_cpu");
  set_limit (&facts, answer_number (job, "time_limit"));
  answer_set_number (&facts, JOB_FACT_RESTARTS, answer_number (job, "restart_cnt"));
  facts.times_ns[JOB_FACT_SUBMITTED] = answer_time (job, "submit_time");
  facts.times_ns[JOB_FACT_ELIGIBLE] = answer_time (job, "eligible_time");
  facts.times_ns[JOB_FACT_STARTED] = answer_time (job, "start_time");
  facts.times_ns[JOB_FACT_ENDED] = facts.final ? answer_time (job, "end_time") : 0; /* else when it would have to */
  answer_give (taker, id, answer_text (job, "user_name"), &facts);
}

static int
take_jobs (const char *text, size_t length, const struct scheduler_taker *taker,
           void (*take) (const json_t *job, const struct scheduler_taker *taker), struct error *error)
{
  json_t *root = answer_load (text, length, error);
  const json_t *jobs = json_object_get (root, "jobs");
  int result = json_is_array (jobs) ? 0 : -1;

  for (size_t i = 0; i < json_array_size (jobs); i++)
    take (json_array_get (jobs, i), taker);
  if (root && result < 0)
    error_set (error, "its answer has no jobs");
  json_decref (root);
  return result;
}

static int
read_accounted (char *text, size_t length, const struct scheduler_taker *taker, struct error *error)
{
  return take_jobs (text, length, taker, take_accounted, error);
}

static int
read_controlled (char *text, size_t length, const struct scheduler_taker *taker, struct error *error)
{
  return take_jobs (text, length, taker, take_controlled, error);
}

/* ---- ---- */

#define FIELDS "JobIDRaw,JobID,User,State,ExitCode,Partition,Account,QOS,ReqTRES,TimelimitRaw,Submit,Eligible,Start,End"

static const struct scheduler_form forms[] = {
  { { "sacct", "--json", "-D", "-j" }, .commas = true, .most = SCHEDULER_JOBS_MAX, .read = read_accounted },
  { { "sacct", "-P", "-D", "-X", SCHEDULER_DELIMITER, "-o", FIELDS ",SubmitLine", "-j" },
    .commas = true,
    .most = SCHEDULER_JOBS_MAX,
    .completes = true,
    .read = scheduler_read_sacct },
  { { "sacct", "-P", "-D", "-X", SCHEDULER_DELIMITER, "-o", FIELDS, "-j" },
    .commas = true,
    .most = SCHEDULER_JOBS_MAX,
    .read = scheduler_read_sacct },
  { { "scontrol", "show", "job" }, .behind = "--json", .most = 1, .read = read_controlled },
  { { "scontrol", "-o", "show", "job" }, .most = 1, .read = scheduler_read_scontrol },
};

/* Their environment could change what they print. */
static const char *const environment[] = { "SLURM_TIME_FORMAT=%s", NULL };

const struct scheduler scheduler_slurm = { "slurm", environment, forms, sizeof forms / sizeof forms[0] };
