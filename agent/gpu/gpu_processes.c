/* The processes on GPUs; see gpu_processes.h. A GPU's lists are read first and merged then, so that the cost grows with the
 * number of processes, and not with its square. */
#include "agent/gpu/gpu_processes.h"

#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_seen.h"
#include "agent/gpu/pid_map.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define LIST_MAX 4096                     /* of one GPU's lists, which the driver gives as a whole or not at all */
#define USE_MAX 16384                     /* samples of the use of one GPU's processes */
#define LIST_FIRST 64                     /* entries that are requested first, */
#define USE_FIRST 256                     /* and samples */
#define AHEAD_US (60 * INT64_C (1000000)) /* of the clock: a time stamp farther in the future is wrong */

struct found { /* an entry of a GPU's lists */
  uint32_t pid;
  enum gpu_process_kind kind;
  uint64_t memory;
};

struct use_sum {
  uint64_t sm, memory, encoder, decoder;
  uint32_t samples;
};

struct gpu_processes {
  struct gpu_process *list;
  size_t count, room;
  size_t left_out;

  void *buffer; /* for the library to fill */
  size_t bytes;
  struct found *found; /* on the GPU that is read */
  size_t found_count, found_room;
  struct pid_map places; /* of that GPU's processes, in the list */
  struct use_sum *sums;  /* of these processes */
  size_t sum_room;
  struct gpu_jobs jobs;
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
  free (processes->found);
  free (processes->sums);
  pid_map_free (&processes->places);
  gpu_jobs_free (&processes->jobs);
  free (processes);
}

static void
need_bytes (struct gpu_processes *processes, size_t bytes)
{
  if (processes->bytes >= bytes)
    return;
  free (processes->buffer);
  processes->buffer = memory_new (bytes, 1);
  processes->bytes = bytes;
}

/* ---- lists ---- */

static void
take_found (struct gpu_processes *processes, size_t width, uint32_t count, enum gpu_process_kind kind)
{
  array_reserve (processes->found, processes->found_room, processes->found_count + count);
  for (uint32_t i = 0; i < count; i++) {
    struct nvml_process process; /* the older ones are the beginning of the newer ones */

    memcpy (&process, (const char *) processes->buffer + i * width, width);
    if (process.pid)
      processes->found[processes->found_count++] =
          (struct found){ process.pid, kind, process.memory < NVML_NO_NUMBER ? process.memory : NVML_MEMORY_UNKNOWN };
  }
}

/* Requests entries of double width: some versions of the driver write longer ones than they say (nvml.c). */
static int
read_list (struct gpu_processes *processes, struct gpus *gpus, size_t at, nvml_processes_fn *call,
           enum gpu_process_kind kind)
{
  size_t width = gpus->nvml.process_v1 ? sizeof (struct nvml_process_v1) : sizeof (struct nvml_process);
  uint32_t count = LIST_FIRST;
  int result;

  if (!call)
    return NVML_FUNCTION_NOT_FOUND;
  for (;;) {
    uint32_t asked = count;

    need_bytes (processes, 2 * width * count);
    result = call (gpus->list[at].handle, &count, processes->buffer);
    if (result != NVML_INSUFFICIENT_SIZE || asked >= LIST_MAX || count > LIST_MAX)
      break;
    count = count > asked && count < LIST_MAX / 2 ? count + count / 2 : LIST_MAX; /* more may come meanwhile */
  }
  if (result == NVML_OK)
    take_found (processes, width, count * width <= processes->bytes ? count : (uint32_t) (processes->bytes / width),
                kind);
  else if (result == NVML_INSUFFICIENT_SIZE)
    processes->left_out += count;
  return result;
}

static void
add (struct gpu_processes *processes, const struct gpu_process *process)
{
  *array_add (processes->list, processes->count, processes->room) = *process;
}

/* A process may stand in more than one list; the first counts. */
static void
add_found (struct gpu_processes *processes, size_t gpu, size_t most)
{
  size_t begin = processes->count;

  pid_map_begin (&processes->places, processes->found_count);
  for (size_t i = 0; i < processes->found_count; i++) {
    const struct found *found = &processes->found[i];
    bool fits = processes->count - begin < most;
    size_t place = fits ? processes->count : UINT32_MAX;

    if (pid_map_find (&processes->places, found->pid) != SIZE_MAX)
      continue;
    pid_map_add (&processes->places, found->pid, place);
    processes->left_out += !fits;
    if (fits)
      add (processes, &(struct gpu_process){ .gpu = gpu,
                                             .pid = found->pid,
                                             .kind = found->kind,
                                             .memory = found->memory,
                                             .sm = UINT32_MAX,
                                             .memory_use = UINT32_MAX,
                                             .encoder = UINT32_MAX,
                                             .decoder = UINT32_MAX });
  }
}

/* ---- use ---- */

static uint32_t
percent (uint64_t sum, uint32_t count)
{
  return sum / count <= 100 ? (uint32_t) (sum / count) : UINT32_MAX;
}

/* Adds up what is newer than at the last sample. Samples of the future are dropped: they would hide all until then. */
static void
sum_use (struct gpu_processes *processes, struct gpu *gpu, size_t begin, uint32_t count, uint64_t latest_us)
{
  const struct nvml_process_utilization *use = processes->buffer;
  uint64_t newest = gpu->use_seen_us;

  for (uint32_t i = 0; i < count; i++) {
    size_t place = pid_map_find (&processes->places, use[i].pid);
    struct use_sum *sum;

    if (place >= processes->count || use[i].time_us <= gpu->use_seen_us || use[i].time_us > latest_us)
      continue;
    sum = &processes->sums[place - begin];
    sum->sm += use[i].sm;
    sum->memory += use[i].memory;
    sum->encoder += use[i].encoder;
    sum->decoder += use[i].decoder;
    sum->samples++;
    newest = use[i].time_us > newest ? use[i].time_us : newest;
  }
  gpu->use_seen_us = newest;
}

static void
set_use (struct gpu_processes *processes, size_t begin)
{
  for (size_t i = begin; i < processes->count; i++) {
    struct gpu_process *process = &processes->list[i];
    const struct use_sum *sum = &processes->sums[i - begin];

    if (sum->samples == 0)
      continue;
    process->sm = percent (sum->sm, sum->samples);
    process->memory_use = percent (sum->memory, sum->samples);
    process->encoder = percent (sum->encoder, sum->samples);
    process->decoder = percent (sum->decoder, sum->samples);
  }
}

/* The driver keeps samples of each process, some a second. The reported value is the mean of those since the last sample.
 * Their time is the machine's clock, which may be set back: then all that the driver has counts anew. */
static int
read_use (struct gpu_processes *processes, struct gpus *gpus, size_t at, size_t begin)
{
  struct gpu *gpu = &gpus->list[at];
  size_t width = sizeof (struct nvml_process_utilization), room = processes->count - begin;
  uint64_t latest_us = (uint64_t) (clock_wall () / 1000 + AHEAD_US);
  uint32_t count = USE_FIRST;
  int result;

  if (gpu->use_seen_us > latest_us)
    gpu->use_seen_us = 0;
  need_bytes (processes, count * width);
  result = NVML_CALL (&gpus->nvml, process_utilization, gpu->handle, processes->buffer, &count, gpu->use_seen_us);
  if (result == NVML_INSUFFICIENT_SIZE && count > USE_FIRST && count <= USE_MAX) {
    need_bytes (processes, count * width);
    result = NVML_CALL (&gpus->nvml, process_utilization, gpu->handle, processes->buffer, &count, gpu->use_seen_us);
  }
  if (result != NVML_OK || count * width > processes->bytes)
    return result;
  if (room > processes->sum_room) {
    processes->sum_room = 2 * room;
    free (processes->sums);
    processes->sums = memory_new (processes->sum_room, sizeof *processes->sums);
  }
  memset (processes->sums, 0, room * sizeof *processes->sums);
  sum_use (processes, gpu, begin, count, latest_us);
  set_use (processes, begin);
  return NVML_OK;
}

/* ---- */

static bool
is_read (const struct gpu *gpu)
{
  return !gpu->split && gpu->result == NVML_OK; /* the processes of a split GPU are listed for its MIG devices */
}

/* Returns how many there are, `most` at most. */
static size_t
read_gpu_processes (struct gpu_processes *processes, struct gpus *gpus, size_t at, size_t most)
{
  const struct nvml *nvml = &gpus->nvml;
  struct gpu *gpu = &gpus->list[at];
  const struct {
    nvml_processes_fn *call;
    enum gpu_process_kind kind;
  } lists[] = { { nvml->compute_processes, GPU_COMPUTE },
                { nvml->mps_processes, GPU_MPS },
                { nvml->graphics_processes, GPU_GRAPHICS } };
  size_t begin = processes->count, left_out = processes->left_out, listed;
  bool goes_on = true;

  processes->found_count = 0;
  for (size_t i = 0; i < 3 && goes_on; i++)
    goes_on = gpu_is_queried (gpus, gpu) &&
              gpu_goes_on (gpus, gpu, read_list (processes, gpus, at, lists[i].call, lists[i].kind));
  add_found (processes, at, most);
  if (goes_on && !gpu->parent && processes->count > begin)
    gpu_goes_on (gpus, gpu, read_use (processes, gpus, at, begin));
  listed = processes->count - begin;
  if (processes->left_out > left_out)
    add (processes, &(struct gpu_process){ .gpu = at });
  return listed;
}

/* Uses the jobs that the sampling thread knew at its last sample. */
static void
name_jobs (struct gpu_processes *processes, struct gpu_seen *seen)
{
  gpu_jobs_take (&processes->jobs, seen);
  pid_map_begin (&processes->places, processes->jobs.count);
  for (size_t i = 0; i < processes->jobs.count; i++)
    pid_map_add (&processes->places, processes->jobs.list[i].pid, i);
  for (size_t i = 0; i < processes->count; i++) {
    size_t job = pid_map_find (&processes->places, processes->list[i].pid);

    if (job != SIZE_MAX)
      processes->list[i].job = processes->jobs.list[job].label;
  }
}

/* GPUs share one half of the limit evenly, so that none is left without; the other half is used in the order of the list. */
const struct gpu_process *
gpu_processes_read (struct gpu_processes *processes, struct gpus *gpus, size_t *count, size_t *left_out)
{
  size_t left = 0, listed = 0, reserve, room;

  processes->count = processes->left_out = 0;
  for (size_t i = 0; i < gpus->count; i++)
    left += is_read (&gpus->list[i]);
  reserve = left ? GPU_PROCESSES_MAX / 2 / left : 0;
  for (size_t i = 0; i < gpus->count && left > 0; i++)
    if (is_read (&gpus->list[i])) {
      room = GPU_PROCESSES_MAX - listed - reserve * --left;
      listed += read_gpu_processes (processes, gpus, i, room);
    }
  gpu_seen_put_processes (gpus->seen, processes->list, processes->count);
  name_jobs (processes, gpus->seen);
  *count = processes->count;
  *left_out = processes->left_out;
  return processes->list;
}
