/* job_gpu: which of the node's GPUs each job has, and which it leaves idle.
 *
 * Sampled without a thread, from what the groups gpu and gpu_processes found in the sample before (gpu_seen.h): a driver
 * that hangs cannot hold up the jobs, and the scan of jobs stays in one thread. The GPUs allocated to a job stand in its
 * environment, as indexes or UUIDs:
 *
 *   SLURM_JOB_GPUS=0,2-3
 *   CUDA_VISIBLE_DEVICES=GPU-6a1f4b3c,MIG-0b7a...      UUIDs may be abbreviated
 *   CUDA_VISIBLE_DEVICES=0,-1,1                        0 alone: what is no GPU ends the list, as for CUDA
 *
 * Without such a variable the job has the GPUs whose devices its cgroup permits, if these are not all (job_cgroup.h), else
 * those on which its processes run; for AMD's that is not known. An index is NVIDIA's, or AMD's if no GPU of NVIDIA has
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_seen.h"
#include "agent/job/job_group.h"
#include "agent/sampling/sampler.h"
#include "synop/array.h"
#include "synop/memory.h"

#define TEXT_SIZE 512

_Static_assert(GPU_JOB_LABEL_SIZE >= JOB_LABEL_SIZE, "labels of jobs fit into what is handed to GPU workers");

enum column { GPUS, ALLOCATED, USED, IDLE, IDLE_GPUS, UTILIZATION, MEMORY_USED, ENERGY };

static const struct metric metrics[] = {
  [GPUS] = { "gpus", TEXT, UNIT_NONE, FOLD_NONE,
             .help = "The GPUs that the job has on this node; \"...\" at the end stands for further ones." },
  [ALLOCATED] = { "gpus_allocated", GAUGE, UNIT_COUNT, FOLD_SUM,
                  .help = "How many are allocated to it, where that is known." },
  [USED] = { "gpus_used", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "GPUs on which it has processes." },
  [IDLE] = { "gpus_idle", GAUGE, UNIT_COUNT, FOLD_SUM,
             .help = "Those of its GPUs on which it has no process, or nothing runs at the moment." },
  [IDLE_GPUS] = { "idle", TEXT, UNIT_NONE, FOLD_NONE, .help = "The idle ones." },
  [UTILIZATION] = { "utilization", GAUGE, UNIT_PERCENT, FOLD_MEAN, .help = "Mean of its GPUs' utilization." },
  [MEMORY_USED] = { "memory_used", GAUGE, UNIT_BYTES, FOLD_SUM, .help = "GPU memory that its processes have." },
  [ENERGY] = { "energy", COUNTER, UNIT_JOULES, FOLD_SUM, .per = 1000,
               .help = "Energy that its GPUs have used since the agent knows of the job." },
};

static const struct group group = {
  .name = "job_gpu",
  .section = "job_data",
  .row = "job",
  .rows_name = "jobs",
  .fold_name = "total",
  .help = "Which of this node's GPUs each batch job has, as of the sample before, and which it leaves idle.",
  .of_users = true,
  GROUP_METRICS (metrics),
};

struct job_gpu {
  const struct sampler_context *context;
  struct gpus *gpus;
  struct job_group *group; /* opened when there is a GPU: ended jobs stay until all open groups have shown them */
  struct gpu_view view;
  struct seen_gpu *last; /* the GPUs of the view before, in its order */
  size_t last_count, last_room;
  uint64_t *grown_mj; /* by each GPU of this view since the last */
  /* About the current job, by GPU: */
  bool *mine; /* the job has it */
  bool *used; /* processes of the job run on it */
  size_t room;
};

static void *
job_gpu_open (const struct sampler_context *context)
{
  struct job_gpu *job_gpu = memory_new (1, sizeof *job_gpu);

  job_gpu->context = context;
  job_gpu->gpus = service_take (context, &service_gpus);
  return job_gpu;
}

static void
job_gpu_close (void *state)
{
  struct job_gpu *job_gpu = state;

  if (job_gpu->group)
    job_group_close (job_gpu->group);
  service_leave (job_gpu->gpus);
  gpu_view_free (&job_gpu->view);
  free (job_gpu->last);
  free (job_gpu->grown_mj);
  free (job_gpu->mine);
  free (job_gpu->used);
  free (job_gpu);
}

/* ---- energy ---- */

/* A counter that fell was reset. */
static void
energy_grow (struct job_gpu *job_gpu)
{
  const struct gpu_view *view = &job_gpu->view;

  if (view->gpu_count > job_gpu->room) {
    job_gpu->room = view->gpu_count;
    job_gpu->grown_mj = memory_resize (job_gpu->grown_mj, job_gpu->room, sizeof *job_gpu->grown_mj);
    job_gpu->mine = memory_resize (job_gpu->mine, job_gpu->room, sizeof *job_gpu->mine);
    job_gpu->used = memory_resize (job_gpu->used, job_gpu->room, sizeof *job_gpu->used);
  }
  for (size_t i = 0; i < view->gpu_count; i++) {
    const struct seen_gpu *now = &view->gpus[i], *last = i < job_gpu->last_count ? &job_gpu->last[i] : NULL;
    bool same = last && strcmp (last->uuid, now->uuid) == 0 && last->energy_mj != UINT64_MAX;

    job_gpu->grown_mj[i] = 0;
    if (same && now->energy_mj != UINT64_MAX && now->energy_mj >= last->energy_mj)
      job_gpu->grown_mj[i] = now->energy_mj - last->energy_mj;
  }
  array_reserve (job_gpu->last, job_gpu->last_room, view->gpu_count);
  if (view->gpu_count)
    memcpy (job_gpu->last, view->gpus, view->gpu_count * sizeof *job_gpu->last);
  job_gpu->last_count = view->gpu_count;
}

/* ---- a job's GPUs ---- */

static void
mark_index (struct job_gpu *job_gpu, unsigned long index)
{
  static const char *const labels[] = { "%lu", "amd%lu" };
  bool found = false;
  char label[32];

  for (size_t which = 0; which < 2 && !found; which++) {
    snprintf (label, sizeof label, labels[which], index);
    for (size_t i = 0; i < job_gpu->view.gpu_count; i++)
      if (strcmp (job_gpu->view.gpus[i].label, label) == 0)
        job_gpu->mine[i] = found = true;
  }
}

static void
mark_uuid (struct job_gpu *job_gpu, const char *uuid, size_t length)
{
  for (size_t i = 0; i < job_gpu->view.gpu_count; i++)
    job_gpu->mine[i] |= strncmp (job_gpu->view.gpus[i].uuid, uuid, length) == 0;
}

/* "0", "2-3", "GPU-...", "MIG-...". False: it is none of these. */
static bool
mark_word (struct job_gpu *job_gpu, const char *word, size_t length)
{
  char *end;
  unsigned long first, last;

  if (length > 4 && (strncmp (word, "GPU-", 4) == 0 || strncmp (word, "MIG-", 4) == 0)) {
    mark_uuid (job_gpu, word, length);
    return true;
  }
  if (word[0] < '0' || word[0] > '9')
    return false;
  first = last = strtoul (word, &end, 10);
  if (*end == '-' && end[1] >= '0' && end[1] <= '9')
    last = strtoul (end + 1, &end, 10);
  if (end != word + length || last > 2 * GPU_DEVICES_MAX)
    return false;
  for (; first <= last; first++)
    mark_index (job_gpu, first);
  return true;
}

static void
mark_environment (struct job_gpu *job_gpu, const char *words)
{
  for (const char *at = words; *at;) {
    size_t length = strcspn (at, ",");

    if (!mark_word (job_gpu, at, length))
      return;
    at += length + (at[length] == ',');
  }
}

static bool
is_permitted (const struct seen_gpu *gpu, const struct job_usage *usage)
{
  return gpu->device && job_device_is_permitted (usage, gpu->device - 1);
}

/* Marks the GPUs that the cgroup permits, unless it permits all: then it says nothing. */
static void
mark_cgroup (struct job_gpu *job_gpu, const struct job_usage *usage)
{
  const struct gpu_view *view = &job_gpu->view;
  bool parts = false;

  for (size_t i = 0; i < view->gpu_count; i++)
    parts |= view->gpus[i].device && !is_permitted (&view->gpus[i], usage);
  for (size_t i = 0; parts && i < view->gpu_count; i++)
    job_gpu->mine[i] = is_permitted (&view->gpus[i], usage);
}

static size_t
count_mine (const struct job_gpu *job_gpu)
{
  size_t count = 0;

  for (size_t i = 0; i < job_gpu->view.gpu_count; i++)
    count += job_gpu->mine[i];
  return count;
}

/* How many the job was given; 0: not known. */
static size_t
mark_allocated (struct job_gpu *job_gpu, const struct job *job)
{
  size_t count;

  memset (job_gpu->mine, 0, job_gpu->view.gpu_count * sizeof *job_gpu->mine);
  mark_environment (job_gpu, job->identity.gpus);
  count = count_mine (job_gpu);
  if (count)
    return count;
  mark_cgroup (job_gpu, &job->usage);
  return count_mine (job_gpu);
}

/* Marks the GPUs on which the job's processes run, and returns their memory there. A job on a MIG instance uses the GPU
 * too; the GPU's instances follow it in the list. */
static uint64_t
mark_used (struct job_gpu *job_gpu, const struct job *job)
{
  const struct gpu_view *view = &job_gpu->view;
  uint64_t memory = 0;

  memset (job_gpu->used, 0, view->gpu_count * sizeof *job_gpu->used);
  for (size_t i = 0; i < view->process_count; i++) {
    const struct gpu_process *process = &view->processes[i];

    if (view->jobs[i] != job->label)
      continue;
    if (process->gpu < view->gpu_count)
      job_gpu->used[process->gpu] = true;
    memory += process->memory != UINT64_MAX ? process->memory : 0;
  }
  for (size_t i = 0; i < view->gpu_count; i++)
    for (size_t k = i + 1; view->gpus[i].split && k < view->gpu_count && view->gpus[k].instance; k++)
      job_gpu->used[i] |= job_gpu->used[k];
  return memory;
}

/* "0,2:1"; "..." at the end for those that do not fit. */
static void
append (char *text, size_t size, const char *label)
{
  static const char more[] = ",...";
  size_t length = strlen (text), end = length + (length > 0) + strlen (label);

  if (length >= sizeof more && strcmp (text + length - strlen (more), more) == 0)
    return;
  snprintf (text + length, size - length, "%s%s", length ? "," : "", end + sizeof more <= size ? label : "...");
}

/* ---- rows ---- */

static void
job_gpu_add_row (struct job_gpu *job_gpu, struct table *table, struct job *job)
{
  const struct gpu_view *view = &job_gpu->view;
  size_t allocated = mark_allocated (job_gpu, job), used = 0, idle = 0, known = 0, row;
  uint64_t memory = mark_used (job_gpu, job), utilization = 0;
  char all[TEXT_SIZE] = "", idle_ones[TEXT_SIZE] = "";
  bool processes = true;

  job->energy.gpu_watts = 0;
  for (size_t i = 0; i < view->gpu_count; i++) {
    used += job_gpu->used[i] && !view->gpus[i].split;
    job_gpu->mine[i] |= job_gpu->used[i] && allocated == 0;
  }
  if (allocated == 0 && used == 0)
    return;
  row = job_group_add_row (table, job);
  if (row == SIZE_MAX)
    return;

  for (size_t i = 0; i < view->gpu_count; i++) {
    const struct seen_gpu *gpu = &view->gpus[i];

    if (!job_gpu->mine[i])
      continue;
    append (all, sizeof all, gpu->label);
    processes &= !gpu->no_processes;
    job->energy.gpu_mj += job_gpu->grown_mj[i];
    job->energy.gpu_watts += gpu->power_mw != UINT64_MAX ? (double) gpu->power_mw / 1000 : 0;
    if (gpu->utilization != UINT64_MAX) {
      utilization += gpu->utilization;
      known++;
    }
    if (!job->ended && ((!gpu->no_processes && !job_gpu->used[i]) || gpu->utilization == 0)) {
      append (idle_ones, sizeof idle_ones, gpu->label);
      idle++;
    }
  }
  table_set_text (table, row, GPUS, all, strlen (all));
  table_set_text (table, row, IDLE_GPUS, idle_ones, strlen (idle_ones));
  job_group_set (table, row, ALLOCATED, allocated != 0, allocated);
  job_group_set (table, row, USED, processes, used);
  table_set_uint (table, row, IDLE, idle);
  table_set_uint (table, row, ENERGY, job->energy.gpu_mj);
  job_group_set (table, row, MEMORY_USED, processes, memory);
  if (known)
    table_set_real (table, row, UTILIZATION, (double) utilization / (double) known);
}

static const char *
find_job (void *scan, uint32_t pid)
{
  const struct job *job = job_scan_owner (scan, (pid_t) pid);

  return job ? job->label : NULL;
}

/* On a GPU whose list of processes is incomplete any job may have some: its processes count as not known. */
static void
note_left_out (struct gpu_view *view)
{
  for (size_t i = 0; i < view->process_count; i++)
    if (view->processes[i].pid == 0 && view->processes[i].gpu < view->gpu_count)
      view->gpus[view->processes[i].gpu].no_processes = true;
}

static int
job_gpu_sample (void *state, struct table *table)
{
  struct job_gpu *job_gpu = state;
  struct job *job;

  if (!job_gpu->group) {
    gpu_view_take (&job_gpu->view, job_gpu->gpus->seen);
    if (job_gpu->view.gpu_count == 0)
      return 0;
    job_gpu->group = job_group_open (job_gpu->context, JOB_GROUP_GPU);
  }
  if (job_group_begin (job_gpu->group, table) < 0)
    return -1;
  gpu_view_take (&job_gpu->view, job_gpu->gpus->seen);
  gpu_view_name_jobs (&job_gpu->view, job_gpu->gpus->seen, find_job, job_group_scan (job_gpu->group));
  note_left_out (&job_gpu->view);
  energy_grow (job_gpu);
  for (size_t at = 0; (job = job_group_next (job_gpu->group, &at));)
    job_gpu_add_row (job_gpu, table, job);
  return 0;
}

const struct sampler sampler_job_gpu = {
  &group, NULL, job_gpu_open, job_gpu_sample, job_gpu_close, .optional = true, .absent = gpus_absent
};
