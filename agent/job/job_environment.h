/* The environment of a process, for job_identity.c: the variables that schedulers set, and their values. */
#ifndef SYNOP_AGENT_JOB_ENVIRONMENT_H
#define SYNOP_AGENT_JOB_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_VARIABLES(X)                                                                                               \
  X (SLURM_JOB_ID), X (SLURM_JOBID), X (SLURM_STEP_ID), X (SLURM_RESTART_COUNT), X (SLURM_ARRAY_JOB_ID),               \
      X (SLURM_ARRAY_TASK_ID), X (SLURM_JOB_NAME), X (SLURM_JOB_USER), X (SLURM_JOB_UID), X (SLURM_JOB_NODELIST),      \
      X (SLURM_JOB_NUM_NODES), X (SLURM_JOB_CPUS_PER_NODE), X (SLURM_CPUS_ON_NODE), X (SLURM_NODEID),                  \
      X (SLURM_STEP_NUM_NODES), X (SLURM_JOB_GPUS), X (SLURM_STEP_GPUS), X (SLURMD_NODENAME), X (PBS_JOBID),           \
      X (PBS_JOBNAME), X (PBS_O_LOGNAME), X (PBS_ARRAY_INDEX), X (PBS_ARRAYID), X (PBS_NUM_NODES), X (PBS_NUM_PPN),    \
      X (PBS_NP), X (NCPUS), X (OAR_JOB_ID), X (OAR_JOBID), X (OAR_JOB_NAME), X (OAR_USER), X (OAR_ARRAY_ID),          \
      X (OAR_ARRAY_INDEX), X (LSB_JOBID), X (LSB_JOBINDEX), X (LSB_JOBNAME), X (LSB_MCPU_HOSTS), X (LSFUSER),          \
      X (FLUX_JOB_ID), X (FLUX_JOB_NNODES), X (SYNOP_JOB_ID), X (SYNOP_JOB_NAME), X (CUDA_VISIBLE_DEVICES),            \
      X (ROCR_VISIBLE_DEVICES), X (HIP_VISIBLE_DEVICES)

#define JOB_VARIABLE(name) name
enum job_variable { JOB_VARIABLES (JOB_VARIABLE), JOB_VARIABLE_COUNT };

struct text { /* not NUL-terminated, not owned; length 0: not there, or empty */
  const char *at;
  size_t length;
};

struct job_environment {
  const char *bytes; /* "A=1\0B=2\0" */
  size_t length;
  struct text values[JOB_VARIABLE_COUNT];
};
void job_environment_read (struct job_environment *environment, const char *bytes, size_t length);
/* Any variable. */
struct text job_environment_find (const struct job_environment *environment, const char *name, size_t length);

/* For display: UTF-8, one line, cut between characters. */
void text_put (struct text text, char *to, size_t size);
/* Printable ASCII without blanks and '/'. */
void text_put_id (struct text text, char *to, size_t size);
bool text_is_number (struct text text);
/* `otherwise` for a text that is no number of 32 bits. */
uint32_t text_number (struct text text, uint32_t otherwise);
/* The leading digits: "123" of "123[4].server". */
struct text text_digits (struct text text);
static inline struct text
text_or (struct text text, struct text otherwise)
{
  return text.length != 0 ? text : otherwise;
}

#endif
