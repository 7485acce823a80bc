/* What a process's environment and cgroup say of its job.
 *
 * salloc's shell has the variables of its allocation without being in it, on a node that may not be the job's. What
 * slurmd starts has SLURMD_NODENAME besides: the node list without that is not a process of the job. */
#include "agent/job/job_identity.h"

#include <stdio.h>
#include <string.h>

#include "agent/job/job_environment.h"

static void
put_array (struct job_identity *identity, struct text parent, struct text index)
{
  if (text_is_number (parent) && text_is_number (index) && parent.length + index.length < sizeof identity->array - 1)
    snprintf (identity->array, sizeof identity->array, "%.*s_%.*s", (int) parent.length, parent.at, (int) index.length,
              index.at);
}

/* ---- the variables of each scheduler ---- */

/* "2(x3),4": two CPUs on each of the first three nodes, four on the fourth. 0: not known. */
static uint32_t
cpus_of_node (struct text list, uint32_t node)
{
  const char *at = list.at, *end = list.at + list.length; /* it is not empty */

  while (at < end) {
    struct text cpus = text_digits ((struct text){ at, (size_t) (end - at) }), times = { "1", 1 };
    uint32_t repeated;
    at += cpus.length;
    if (end - at > 2 && at[0] == '(' && at[1] == 'x') {
      times = text_digits ((struct text){ at + 2, (size_t) (end - at - 2) });
      at += 2 + times.length;
      at += at < end && *at == ')';
    }
    if ((at < end && *at++ != ',') || cpus.length == 0)
      return 0;
    repeated = text_number (times, 0);
    if (node < repeated)
      return text_number (cpus, 0);
    node -= repeated;
  }
  return 0;
}

#define RUN_MAX 1000000 /* a larger number cannot be a count of requeues */

static void
read_slurm (const struct job_environment *environment, struct job_identity *identity)
{
  const struct text *value = environment->values;
  struct text list = value[SLURM_JOB_CPUS_PER_NODE];
  bool all_nodes = value[SLURM_STEP_NUM_NODES].length == 0;
  uint32_t run = text_number (value[SLURM_RESTART_COUNT], 0);

  identity->run = run <= RUN_MAX ? (int) run : 0;
  if (identity->step[0] == '\0')
    text_put (value[SLURM_STEP_ID], identity->step, sizeof identity->step);
  put_array (identity, value[SLURM_ARRAY_JOB_ID], value[SLURM_ARRAY_TASK_ID]);
  text_put (value[SLURM_JOB_NAME], identity->name, sizeof identity->name);
  text_put (value[SLURM_JOB_USER], identity->user, sizeof identity->user);
  text_put (value[SLURM_JOB_NODELIST], identity->node_list, sizeof identity->node_list);
  text_put (text_or (value[SLURM_JOB_GPUS], value[SLURM_STEP_GPUS]), identity->gpus, sizeof identity->gpus);
  if (identity->uid == JOB_UID_UNKNOWN)
    identity->uid = text_number (value[SLURM_JOB_UID], JOB_UID_UNKNOWN);
  identity->nodes = text_number (value[SLURM_JOB_NUM_NODES], 0);
  /* SLURM_CPUS_ON_NODE is the step's, and SLURM_NODEID counts the step's nodes. */
  all_nodes |= identity->nodes == text_number (value[SLURM_STEP_NUM_NODES], 0);
  if (list.length != 0 && memchr (list.at, ',', list.length) == NULL)
    identity->cpus = cpus_of_node (list, 0);
  else if (list.length != 0 && all_nodes && text_is_number (value[SLURM_NODEID]))
    identity->cpus = cpus_of_node (list, text_number (value[SLURM_NODEID], UINT32_MAX));
  if (identity->cpus == 0)
    identity->cpus = text_number (value[SLURM_CPUS_ON_NODE], 0);
}

static void
read_pbs (const struct job_environment *environment, struct job_identity *identity)
{
  const struct text *value = environment->values;

  text_put (value[PBS_JOBNAME], identity->name, sizeof identity->name);
  text_put (value[PBS_O_LOGNAME], identity->user, sizeof identity->user);
  put_array (identity, text_digits (value[PBS_JOBID]), text_or (value[PBS_ARRAY_INDEX], value[PBS_ARRAYID]));
  identity->nodes = text_number (value[PBS_NUM_NODES], 0);
  identity->cpus = text_number (text_or (value[NCPUS], value[PBS_NUM_PPN]), 0);
  if (identity->cpus == 0 && identity->nodes == 1)
    identity->cpus = text_number (value[PBS_NP], 0);
}

/* OAR gives a single job as an array of one. */
static void
read_oar (const struct job_environment *environment, struct job_identity *identity)
{
  const struct text *value = environment->values;
  struct text parent = value[OAR_ARRAY_ID], index = value[OAR_ARRAY_INDEX];

  text_put (value[OAR_JOB_NAME], identity->name, sizeof identity->name);
  if (identity->user[0] == '\0')
    text_put (value[OAR_USER], identity->user, sizeof identity->user);
  if (text_number (index, 0) > 1)
    put_array (identity, parent, index);
}

/* "nodea 4 nodeb 4": nothing says which of them is this node, so CPUs are known only where all have as many. */
static void
read_lsf (const struct job_environment *environment, struct job_identity *identity)
{
  const struct text *value = environment->values;
  struct text hosts = text_or (value[LSB_MCPU_HOSTS], (struct text){ "", 0 });
  const char *at = hosts.at, *end = at + hosts.length;
  char list[sizeof identity->node_list];
  size_t length = 0;
  bool equal = true;

  text_put (value[LSB_JOBNAME], identity->name, sizeof identity->name);
  text_put (value[LSFUSER], identity->user, sizeof identity->user);
  put_array (identity, value[LSB_JOBID],
             text_number (value[LSB_JOBINDEX], 0) ? value[LSB_JOBINDEX] : (struct text){ 0 });
  for (size_t word = 0; at < end; word++) {
    const char *begin = at;
    size_t bytes;
    uint32_t cpus;
    while (at < end && *at != ' ')
      at++;
    bytes = (size_t) (at - begin);
    while (at < end && *at == ' ')
      at++;
    if (word % 2 == 0 && length + bytes + 2 < sizeof list) {
      if (length != 0)
        list[length++] = ',';
      memcpy (list + length, begin, bytes);
      length += bytes;
    } else if (word % 2 != 0) {
      cpus = text_number ((struct text){ begin, bytes }, 0);
      equal &= word == 1 || cpus == identity->cpus;
      identity->cpus = cpus;
      identity->nodes++;
    }
  }
  if (!equal)
    identity->cpus = 0;
  text_put ((struct text){ list, length }, identity->node_list, sizeof identity->node_list);
}

static void
read_variables (const struct job_environment *environment, struct job_identity *identity)
{
  const struct text *value = environment->values;
  struct text amd = text_or (value[ROCR_VISIBLE_DEVICES], value[HIP_VISIBLE_DEVICES]);
  struct text gpus = text_or (value[CUDA_VISIBLE_DEVICES], amd);

  identity->run = 0;
  if (identity->scheduler == JOB_SLURM)
    read_slurm (environment, identity);
  else if (identity->scheduler == JOB_PBS)
    read_pbs (environment, identity);
  else if (identity->scheduler == JOB_OAR)
    read_oar (environment, identity);
  else if (identity->scheduler == JOB_LSF)
    read_lsf (environment, identity);
  else if (identity->scheduler == JOB_FLUX)
    identity->nodes = text_number (value[FLUX_JOB_NNODES], 0);
  else if (identity->scheduler == JOB_SYNOP)
    text_put (value[SYNOP_JOB_NAME], identity->name, sizeof identity->name);
  if (identity->gpus[0] == '\0')
    text_put (gpus, identity->gpus, sizeof identity->gpus);
}

/* ---- which job ---- */

static struct text
other_id (const struct job_environment *environment, const char *variables)
{
  const char *at = variables;
  struct text id = { "", 0 };

  while (at && *at && id.length == 0) {
    size_t length = strcspn (at, ",");
    if (length != 0)
      id = job_environment_find (environment, at, length);
    at += length + (at[length] == ',');
  }
  return id;
}

/* The id that a scheduler's variables give; "" without one. */
static void
environment_id (const struct job_environment *environment, enum job_scheduler scheduler, char id[JOB_LABEL_SIZE])
{
  const struct text *value = environment->values;
  struct text text = { "", 0 };

  if (scheduler == JOB_SLURM)
    text = text_or (value[SLURM_JOB_ID], value[SLURM_JOBID]);
  else if (scheduler == JOB_PBS)
    text = value[PBS_JOBID];
  else if (scheduler == JOB_OAR)
    text = text_or (value[OAR_JOB_ID], value[OAR_JOBID]);
  else if (scheduler == JOB_LSF)
    text = value[LSB_JOBID];
  else if (scheduler == JOB_FLUX)
    text = value[FLUX_JOB_ID];
  else if (scheduler == JOB_SYNOP)
    text = value[SYNOP_JOB_ID];
  id[0] = '\0';
  /* These number their jobs from 1; 0 or -1 means no job. */
  if ((scheduler == JOB_SLURM || scheduler == JOB_OAR || scheduler == JOB_LSF) && text_number (text, 0) == 0)
    return;
  text_put_id (text, id, JOB_ID_MAX + 1);
  if (scheduler == JOB_LSF && text_number (value[LSB_JOBINDEX], 0) != 0)
    snprintf (id, JOB_LABEL_SIZE, "%.*s[%.*s]", (int) text.length, text.at, (int) value[LSB_JOBINDEX].length,
              value[LSB_JOBINDEX].at);
}

static bool
is_spelt_longer (const char *longer, const char *id, const char *next)
{
  size_t length = strlen (id);

  return strncmp (longer, id, length) == 0 && strchr (next, longer[length]) != NULL; /* or the end */
}

/* Whether both name one job: either may lack a part for the server ("123.server"), the folder's the index ("123[4]"). */
static bool
id_agrees (const char *of_folder, const char *id)
{
  return is_spelt_longer (id, of_folder, ".[") || is_spelt_longer (of_folder, id, ".");
}

static bool
is_salloc (const struct job_environment *environment)
{
  return environment->values[SLURM_JOB_NODELIST].length != 0 && environment->values[SLURMD_NODENAME].length == 0;
}

static bool
identify_by_environment (const struct job_environment *environment, const char *variables,
                         struct job_identity *identity)
{
  for (enum job_scheduler scheduler = JOB_SLURM; scheduler <= JOB_OTHER; scheduler++) {
    if (scheduler == JOB_SLURM && is_salloc (environment))
      continue;
    if (scheduler == JOB_OTHER)
      text_put_id (other_id (environment, variables), identity->id, JOB_ID_MAX + 1);
    else
      environment_id (environment, scheduler, identity->id);
    if (identity->id[0] == '\0')
      continue;
    identity->scheduler = scheduler;
    read_variables (environment, identity);
    return true;
  }
  return false;
}

static bool
identify_by_folder (const struct job_environment *environment, const struct job_folder *folder,
                    struct job_identity *identity)
{
  char id[JOB_LABEL_SIZE];

  if (folder->daemon)
    return false;
  identity->scheduler = folder->scheduler;
  identity->uid = folder->uid;
  memcpy (identity->user, folder->user, sizeof identity->user);
  identity->user_by_folder = folder->uid != JOB_UID_UNKNOWN || folder->user[0];
  memcpy (identity->step, folder->step, sizeof identity->step);
  if (folder->length < sizeof identity->folder) {
    memcpy (identity->folder, folder->path, folder->length);
    identity->folder[folder->length] = '\0';
  }
  environment_id (environment, folder->scheduler, id);
  if (id[0] && (folder->id[0] == '\0' || id_agrees (folder->id, id))) {
    memcpy (identity->id, id, sizeof id);
    read_variables (environment, identity);
  } else
    memcpy (identity->id, folder->id, sizeof folder->id);
  identity->by_cgroup = identity->id[0] != '\0';
  return identity->by_cgroup;
}

bool
job_identify (const char *environment, size_t environment_length, const char *cgroup, size_t cgroup_length,
              const char *variables, struct job_identity *identity)
{
  struct job_environment of;
  struct job_folder folder;

  memset (identity, 0, sizeof *identity);
  identity->uid = JOB_UID_UNKNOWN;
  identity->run = -1;
  job_environment_read (&of, environment_length ? environment : "", environment_length);
  if (!(job_folder_decide (cgroup, cgroup_length, &folder) ? identify_by_folder (&of, &folder, identity)
                                                           : identify_by_environment (&of, variables, identity)))
    return false;
  if (identity->run > 0)
    snprintf (identity->label, sizeof identity->label, "%.*s/%d", JOB_ID_MAX, identity->id, identity->run);
  else
    memcpy (identity->label, identity->id, sizeof identity->id);
  return true;
}

bool
job_is_daemon (const char *comm)
{
  return strcmp (comm, "slurmstepd") == 0 || strcmp (comm, "slurmd") == 0;
}

const char *
job_scheduler_name (enum job_scheduler scheduler)
{
  static const char *const all[] = { "slurm", "pbs", "oar", "lsf", "flux", "synop", "other" };

  return all[scheduler];
}

bool
job_id_is_valid (const char *id)
{
  size_t length = strlen (id);

  return length >= 1 && length <= 100 && strcmp (id, ".") != 0 && strcmp (id, "..") != 0 &&
         strspn (id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@+-[]#") == length;
}
