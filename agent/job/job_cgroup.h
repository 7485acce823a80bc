/* What the kernel counted in the cgroup folders of one job, those of processes that ended included.
 *
 * Only folders that a scheduler or "agent run" made for the job are read, at the level of the job and not of a step or
 * task: never one that others share. A job may have more than one (LSF makes one for each start); they add up. When a
 * folder goes, what it had counted stays, and what it was using is over.
 *
 * Which of NVIDIA's GPUs the job may use is readable in cgroup v1 alone, and only where a scheduler forbade all devices and
 * then permitted some: of devices that are forbidden one by one the kernel shows nothing, and cgroup v2 has no file (a
 * program in the kernel decides). */
#ifndef SYNOP_AGENT_JOB_CGROUP_H
#define SYNOP_AGENT_JOB_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/job/cgroup_mounts.h"

#define JOB_DEVICE_WORDS 4

/* What is not known is JOB_MISSING. Counters never go backwards. */
#define JOB_MISSING UINT64_MAX
struct job_usage {
  uint64_t user_ns, system_ns; /* CPU time */
  uint64_t memory, memory_peak, memory_limit;
  uint64_t oom_kills;
  uint64_t read_bytes, write_bytes;   /* of block devices */
  uint64_t cpus;                      /* of the cpuset: those that the job may use */
  uint64_t devices[JOB_DEVICE_WORDS]; /* /dev/nvidia0 and on, a bit for each that the job may use; all: not known */
};

static inline bool
job_device_is_permitted (const struct job_usage *usage, uint32_t device)
{
  return device >= 64 * JOB_DEVICE_WORDS || usage->devices[device / 64] >> device % 64 & 1;
}

struct job_cgroup;
/* Keeps `mounts`, one for all jobs, which must outlive it. */
struct job_cgroup *job_cgroup_create (struct cgroup_mounts *mounts);
void job_cgroup_destroy (struct job_cgroup *cgroup);

/* Adds the job's folders in which a process lies, if they are not known yet: `text` is its /proc/PID/cgroup. Returns how
 * many the job has now in all. When that is 0 for a process in a folder of its job (`by_cgroup`), the hierarchy may have
 * been mounted since: call cgroup_mounts_refresh, which is cheap but not for every sample. Opens nothing: further
 * processes of a known folder need not be added. */
size_t job_cgroup_add (struct job_cgroup *cgroup, const char *text, size_t length);

/* The job's folders in whose cgroup perf events count, one after the other; NULL: no more. `at` begins with 0. They are of
 * v1's hierarchy perf_event where it is mounted, else of v2: the kernel has that controller in one of them. */
const char *job_cgroup_counted (const struct job_cgroup *cgroup, size_t *at);

/* Reads all folders. False when none has ever given a value: then only the job's processes are known. */
bool job_cgroup_read (struct job_cgroup *cgroup, struct job_usage *usage);

#endif
