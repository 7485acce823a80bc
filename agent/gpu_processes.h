/* The processes on the node's GPUs, as the library lists them. */
#ifndef SYNOP_AGENT_GPU_PROCESSES_H
#define SYNOP_AGENT_GPU_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/job_identity.h"

enum gpu_process_kind { GPU_COMPUTE, GPU_GRAPHICS, GPU_MPS };

struct gpu_process {
  size_t gpu; /* in gpus->list */
  uint32_t pid;
  enum gpu_process_kind kind;
  uint64_t memory;                           /* bytes; UINT64_MAX: not known */
  uint32_t sm, memory_use, encoder, decoder; /* percent; UINT32_MAX: not known */
  char job[JOB_LABEL_SIZE];                  /* "": of none, or not known yet (gpu_seen.h) */
};

struct gpus;
struct gpu_processes;
struct gpu_processes *gpu_processes_create (void);
void gpu_processes_destroy (struct gpu_processes *processes);

/* In a lane, between gpus_begin and gpus_end. The list stays until the next call. */
const struct gpu_process *gpu_processes_read (struct gpu_processes *processes, struct gpus *gpus, size_t *count);

#endif
