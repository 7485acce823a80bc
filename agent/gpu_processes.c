/* The processes on GPUs; see gpu_processes.h. */
#include "agent/gpu_processes.h"

#include <stdlib.h>
#include <string.h>

#include "agent/gpu.h"
#include "agent/gpu_seen.h"
#include "synop/memory.h"

#define PROCESSES_MAX 4096 /* of one GPU */

struct gpu_processes {
  struct gpu_process *list;
  size_t count, capacity;

  void *buffer; /* for the library to fill */
  size_t room;  /* in bytes */
};

struct gpu_processes *
gpu_processes_create (void)
{
  return memory_new (1, sizeof (struct gpu_processes));
}

void
gpu_processes_destroy (struct gpu_processes *processes)
{
  free (processes->list);
  free (processes->buffer);
  free (processes);
}

static void
need_room (struct gpu_processes *processes, size_t bytes)
{
  if (processes->room >= bytes)
    return;
  free (processes->buffer);
  processes->buffer = memory_new (bytes, 1);
  processes->room = bytes;
}

static struct gpu_process *
find (struct gpu_processes *processes, size_t gpu, uint32_t pid)
{
  for (size_t i = processes->count; i > 0 && processes->list[i - 1].gpu == gpu; i--)
    if (processes->list[i - 1].pid == pid)
      return &processes->list[i - 1];
  return NULL;
}

/* A process may stand in more than one list; the first counts. */
static void
add (struct gpu_processes *processes, size_t gpu, uint32_t pid, uint64_t memory, enum gpu_process_kind kind)
{
  if (pid == 0 || find (processes, gpu, pid))
    return;
  if (processes->count == processes->capacity) {
    processes->capacity = processes->capacity ? 2 * processes->capacity : 32;
    processes->list = memory_resize (processes->list, processes->capacity, sizeof *processes->list);
  }
  processes->list[processes->count++] =
      (struct gpu_process){ .gpu = gpu,
                            .pid = pid,
                            .kind = kind,
                            .memory = memory < NVML_NO_NUMBER ? memory : NVML_MEMORY_UNKNOWN,
                            .sm = UINT32_MAX,
                            .memory_use = UINT32_MAX,
                            .encoder = UINT32_MAX,
                            .decoder = UINT32_MAX };
}

/* Entries are asked for in double width: some versions of the driver write longer ones than they say (nvml.c). */
static int
read_list (struct gpu_processes *processes, struct gpus *gpus, size_t at, nvml_processes_fn *call,
           enum gpu_process_kind kind)
{
  size_t width = gpus->nvml.process_v1 ? sizeof (struct nvml_process_v1) : sizeof (struct nvml_process);
  uint32_t count = 64;
  int result;

  if (!call)
    return NVML_FUNCTION_NOT_FOUND;
  for (;;) {
    uint32_t asked = count;

    need_room (processes, 2 * width * count);
    result = call (gpus->list[at].handle, &count, processes->buffer);
    if (result != NVML_INSUFFICIENT_SIZE || asked >= PROCESSES_MAX)
      break;
    count =
        count > asked && count < PROCESSES_MAX / 2 ? count + count / 2 : PROCESSES_MAX; /* more may come meanwhile */
  }
  if (result != NVML_OK)
    return result;
  for (uint32_t i = 0; i < count && (i + 1) * width <= processes->room; i++) {
    struct nvml_process process; /* the older ones are the beginning of the newer ones */

    memcpy (&process, (const char *) processes->buffer + i * width, width);
    add (processes, at, process.pid, process.memory, kind);
  }
  return NVML_OK;
}

static uint32_t
percent (uint64_t sum, uint32_t count)
{
  return sum / count <= 100 ? (uint32_t) (sum / count) : UINT32_MAX;
}

/* The driver keeps samples of each process, some a second. The mean of those since the last time is told. */
static int
read_use (struct gpu_processes *processes, struct gpus *gpus, size_t at)
{
  struct gpu *gpu = &gpus->list[at];
  struct nvml_process_utilization *use;
  uint32_t count = 256;
  uint64_t newest = gpu->use_seen_us;
  int result;

  need_room (processes, count * sizeof *use);
  result = NVML_CALL (&gpus->nvml, process_utilization, gpu->handle, processes->buffer, &count, gpu->use_seen_us);
  if (result == NVML_INSUFFICIENT_SIZE && count > 256 && count < PROCESSES_MAX) {
    need_room (processes, count * sizeof *use);
    result = NVML_CALL (&gpus->nvml, process_utilization, gpu->handle, processes->buffer, &count, gpu->use_seen_us);
  }
  if (result != NVML_OK || count * sizeof *use > processes->room)
    return result;
  use = processes->buffer;
  for (size_t i = processes->count; i > 0 && processes->list[i - 1].gpu == at; i--) {
    struct gpu_process *process = &processes->list[i - 1];
    uint64_t sm = 0, memory = 0, encoder = 0, decoder = 0;
    uint32_t samples = 0;

    for (uint32_t j = 0; j < count; j++)
      if (use[j].pid == process->pid && use[j].time_us > gpu->use_seen_us) {
        sm += use[j].sm;
        memory += use[j].memory;
        encoder += use[j].encoder;
        decoder += use[j].decoder;
        samples++;
        newest = use[j].time_us > newest ? use[j].time_us : newest;
      }
    if (samples) {
      process->sm = percent (sm, samples);
      process->memory_use = percent (memory, samples);
      process->encoder = percent (encoder, samples);
      process->decoder = percent (decoder, samples);
    }
  }
  gpu->use_seen_us = newest;
  return NVML_OK;
}

static void
read_gpu (struct gpu_processes *processes, struct gpus *gpus, size_t at)
{
  const struct nvml *nvml = &gpus->nvml;
  struct gpu *gpu = &gpus->list[at];
  const struct {
    nvml_processes_fn *call;
    enum gpu_process_kind kind;
  } lists[] = { { nvml->compute_processes, GPU_COMPUTE },
                { nvml->mps_processes, GPU_MPS },
                { nvml->graphics_processes, GPU_GRAPHICS } };

  if (gpu->split || gpu->result != NVML_OK) /* its MIG devices have the processes */
    return;
  for (size_t i = 0; i < 3; i++)
    if (!gpu_is_asked (gpus, gpu) ||
        !gpu_goes_on (gpus, gpu, read_list (processes, gpus, at, lists[i].call, lists[i].kind)))
      return;
  if (!gpu->parent && processes->count && processes->list[processes->count - 1].gpu == at)
    gpu_goes_on (gpus, gpu, read_use (processes, gpus, at));
}

const struct gpu_process *
gpu_processes_read (struct gpu_processes *processes, struct gpus *gpus, size_t *count)
{
  processes->count = 0;
  for (size_t i = 0; i < gpus->count; i++)
    read_gpu (processes, gpus, i);
  gpu_seen_leave_processes (gpus->seen, processes->list, processes->count);
  *count = processes->count;
  return processes->list;
}
