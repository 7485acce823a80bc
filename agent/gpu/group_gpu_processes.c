/* gpu_processes: each process on each GPU, or on each MIG instance, and the job that it belongs to. Processes above a limit
 * of 4096 are left out, and the group's error says how many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_processes.h"
#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "synop/memory.h"

enum column {
  MEMORY_USED,
  UTILIZATION,
  MEMORY_UTILIZATION,
  ENCODER_UTILIZATION,
  DECODER_UTILIZATION,
  KIND,
  COMMAND,
  JOB
};

#define PERCENT(NAME, HELP)                                                                                            \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_PERCENT, FOLD_NONE, .help = HELP                                                                 \
  }
#define WORD(NAME, HELP)                                                                                               \
  {                                                                                                                    \
    NAME, TEXT, UNIT_NONE, FOLD_NONE, .help = HELP                                                                     \
  }

static const struct metric metrics[] = {
  [MEMORY_USED] = { "memory_used", GAUGE, UNIT_BYTES, FOLD_SUM, .help = "The GPU's memory that the process has." },
  [UTILIZATION] = PERCENT ("utilization", "Use of the multiprocessors by the process."),
  [MEMORY_UTILIZATION] = PERCENT ("memory_utilization", "Time in which the process read or wrote the GPU's memory."),
  [ENCODER_UTILIZATION] = PERCENT ("encoder_utilization", "Use of the video encoders by the process."),
  [DECODER_UTILIZATION] = PERCENT ("decoder_utilization", "Use of the video decoders by the process."),
  [KIND] = WORD ("kind", "compute, mps (by the multi-process service) or graphics."),
  [COMMAND] = WORD ("command", "The process's name."),
  [JOB] = WORD ("job", "The job that it belongs to; of a new process one sample later."),
};

static const struct group group = {
  .name = "gpu_processes",
  .section = "system_data",
  .row = "GPU/process",
  .rows_name = "processes",
  .fold_name = "total",
  .help = "The processes on each GPU, with their memory and their jobs.",
  .of_users = true,
  GROUP_METRICS (metrics),
  .left_out = "processes on AMD's GPUs.",
};

static const char *const kinds[] = { [GPU_COMPUTE] = "compute", [GPU_GRAPHICS] = "graphics", [GPU_MPS] = "mps" };

struct on_gpus {
  struct gpus *gpus;
  char *root; /* a copy: see worker.h */
  bool called;
};

static void *
on_gpus_open (const struct sampler_context *context)
{
  struct on_gpus *on = memory_new (1, sizeof *on);

  on->gpus = service_take (context, &service_gpus);
  on->root = memory_string (context->root);
  return on;
}

static void
on_gpus_close (void *state)
{
  struct on_gpus *on = state;

  service_leave (on->gpus);
  free (on->root);
  free (on);
}

static bool
on_gpus_may_block (void *state)
{
  struct on_gpus *on = state;

  on->called = gpus_may_block (on->gpus);
  return on->called;
}

static void
set_percent (struct table *table, size_t row, size_t column, uint32_t value)
{
  if (value != UINT32_MAX)
    table_set_uint (table, row, column, value);
}

static void
gpu_process_add_row (const struct on_gpus *on, struct table *table, const struct gpu_process *process)
{
  char label[48], command[64];
  size_t row;

  snprintf (label, sizeof label, "%s/%u", on->gpus->list[process->gpu].label, process->pid);
  row = table_add_row (table, label, strlen (label));
  if (row == SIZE_MAX)
    return;
  if (process->memory != NVML_MEMORY_UNKNOWN)
    table_set_uint (table, row, MEMORY_USED, process->memory);
  set_percent (table, row, UTILIZATION, process->sm);
  set_percent (table, row, MEMORY_UTILIZATION, process->memory_use);
  set_percent (table, row, ENCODER_UTILIZATION, process->encoder);
  set_percent (table, row, DECODER_UTILIZATION, process->decoder);
  table_set_string (table, row, KIND, kinds[process->kind]);
  fact_text (command, sizeof command, on->root, "/proc/%u/comm", process->pid);
  table_set_string (table, row, COMMAND, command);
  table_set_string (table, row, JOB, process->job);
}

static int
on_gpus_sample (void *state, struct table *table)
{
  struct on_gpus *on = state;
  const struct gpu_process *processes;
  size_t count, left_out;
  int begun = gpus_begin (on->gpus, on->called, table);

  if (begun <= 0)
    return begun;
  processes = gpu_processes_read (on->gpus->processes, on->gpus, &count, &left_out);
  for (size_t i = 0; i < count; i++)
    if (processes[i].pid)
      gpu_process_add_row (on, table, &processes[i]);
  gpus_end (on->gpus);
  if (left_out == 0)
    return 0;
  snprintf (table->error, sizeof table->error, "%zu processes are left out: there are more than %d", left_out,
            GPU_PROCESSES_MAX);
  return -1;
}

const struct sampler sampler_gpu_processes = { &group,        on_gpus_may_block, on_gpus_open,           on_gpus_sample,
                                               on_gpus_close, .optional = true,  .absent = nvidia_absent };
