/* The exchange between the workers that read GPUs and the sampling thread, which knows the jobs and never waits for a
 * driver. Workers put the GPUs and their processes of the last sample. The sampling thread puts the job of each process,
 * so the job of a new process is shown a sample later. The lock between them is held only for copying. */
#ifndef SYNOP_AGENT_GPU_SEEN_H
#define SYNOP_AGENT_GPU_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/gpu/gpu_processes.h"

struct seen_gpu {
  char label[16], uuid[96];
  uint32_t device;      /* 1 + N of /dev/nvidiaN; 0: not known, or it is not the GPU's alone (MIG) */
  bool split, instance; /* it has MIG instances; it is a MIG instance */
  bool no_processes;    /* its processes are not known */
  uint64_t utilization, energy_mj, power_mw; /* UINT64_MAX: not known */
};

#define GPU_JOB_LABEL_SIZE 129 /* for the label of a job, whatever that is */

struct gpu_seen;
struct gpu_seen *gpu_seen_create (void);
void gpu_seen_destroy (struct gpu_seen *seen);

/* ---- in workers ---- */

/* Room for `count` GPUs, to be filled until gpu_seen_end. */
struct seen_gpu *gpu_seen_begin (struct gpu_seen *seen, size_t count);
void gpu_seen_end (struct gpu_seen *seen);
void gpu_seen_put_processes (struct gpu_seen *seen, const struct gpu_process *processes, size_t count);

/* The processes on GPUs that belong to a job, in memory of the caller's, which grows: `{0}` is empty. */
struct gpu_jobs {
  struct gpu_job {
    uint32_t pid; /* may be there more than once */
    char label[GPU_JOB_LABEL_SIZE];
  } * list;
  size_t count, room;
};
void gpu_jobs_take (struct gpu_jobs *jobs, struct gpu_seen *seen);
void gpu_jobs_free (struct gpu_jobs *jobs);

/* ---- in the sampling thread ---- */

/* What workers have put, in memory of the caller's, which grows: `{0}` is empty. */
struct gpu_view {
  struct seen_gpu *gpus;
  struct gpu_process *processes;
  const char **jobs; /* of each process, from gpu_job_fn; NULL: none */
  size_t gpu_count, gpu_room, process_count, process_room;
  int64_t put_ns; /* when the GPUs were put; 0: never */
  struct gpu_jobs named;
};
void gpu_view_take (struct gpu_view *view, struct gpu_seen *seen);
void gpu_view_free (struct gpu_view *view);

/* Finds the job of each process in the view, and puts these for the workers. NULL: no job. */
typedef const char *gpu_job_fn (void *context, uint32_t pid);
void gpu_view_name_jobs (struct gpu_view *view, struct gpu_seen *seen, gpu_job_fn *find, void *context);

#endif
