/* The processes on the node's GPUs, as the library lists them. There is a bound for all of them together, so that the
 * group's table fits a frame and a node with a flood of processes costs no more than others: GPUs share it. */
#ifndef SYNOP_AGENT_GPU_PROCESSES_H
#define SYNOP_AGENT_GPU_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_PROCESSES_MAX 4096

enum gpu_process_kind { GPU_COMPUTE, GPU_MPS, GPU_GRAPHICS };

struct gpu_process {
  size_t gpu;   /* in gpus->list */
  uint32_t pid; /* 0: the GPU has further ones, which are left out; all else is empty */
  enum gpu_process_kind kind;
  uint64_t memory;                           /* bytes; UINT64_MAX: not known */
  uint32_t sm, memory_use, encoder, decoder; /* percent; UINT32_MAX: not known */
  const char *job;                           /* NULL: of none, or not known yet (gpu_seen.h) */
};

struct gpus;
struct gpu_processes;
struct gpu_processes *gpu_processes_create (void);
void gpu_processes_destroy (struct gpu_processes *processes);

/* In a worker, between gpus_begin and gpus_end. The list is valid until the next call; `left_out` is the number of further
 * processes. */
const struct gpu_process *gpu_processes_read (struct gpu_processes *processes, struct gpus *gpus, size_t *count,
                                              size_t *left_out);

#endif
