/* Counting jobs, on a made-up machine and a kernel that is played. */
#ifndef SYNOP_JOB_COUNTERS_SCENE_H
#define SYNOP_JOB_COUNTERS_SCENE_H

#include "agent/counters/counter_events.h"
#include "agent/job/job_counters.h"
#include "agent/job/job_scan_private.h"
#include "tests/unit/agent/counters/played_kernel.h"
#include "tests/unit/agent/job/job_machine.h"

#define EVENTS 11 /* of a process, or of a cgroup on a CPU */
#define SECOND 100

static struct played_kernel played;

struct scene {
  struct machine machine;
  struct counters counters;
  struct job_counters *job_counters;
  struct table table;
};

static const struct group nothing = { .name = "nothing" };

static const char *generation = "perf"; /* libpfm4's unit of this machine's CPU: one without events of its own */

static inline void
scene_open (struct scene *scene, int hardware)
{
  setenv ("LIBPFM_FORCE_PMU", generation, 1);
  memset (scene, 0, sizeof *scene);
  machine_init (&scene->machine);
  played_init (&played, hardware);
  scene->counters = (struct counters){ .kernel = &played.kernel,
                                       .root = scene->machine.scratch.root,
                                       .enabled = true,
                                       .quiet = "",
                                       .budget = { .most = 2000 } };
  machine_open (&scene->machine, scene->machine.accounting);
  scene->job_counters = job_counters_create (&scene->counters, scene->machine.scan);
  table_init (&scene->table, &nothing);
}

static inline void
scene_close (struct scene *scene)
{
  job_counters_destroy (scene->job_counters);
  assert_int_equal (played.opened, played.closed);
  assert_int_equal (scene->counters.budget.used, 0);
  table_free (&scene->table);
  machine_free (&scene->machine);
}

static inline void
update (struct scene *scene)
{
  table_begin (&scene->table);
  job_counters_update (scene->job_counters, scene->machine.now_ns, &scene->table);
  job_counters_wait (scene->job_counters, clock_monotonic () + 60 * NS_PER_S);
}

/* Two scans: what is found in threads is in the second. */
static inline void
scan (struct scene *scene)
{
  for (int i = 0; i < 2; i++) {
    machine_scan (&scene->machine);
    update (scene);
  }
}

static inline void
put (struct scene *scene, int pid, int parent, unsigned start, const char *environment)
{
  machine_put (&scene->machine,
               (struct made){ .pid = pid, .parent = parent, .start = start, .environment = environment });
  machine_children (&scene->machine, pid, ""); /* makes its thread */
}

static inline bool
job_value (struct scene *scene, const char *label, enum counter_column column, uint64_t *value)
{
  const struct counter_row *row = job_counters_of (machine_need_job (&scene->machine, label));

  *value = 0;
  return row && counter_row_value (row, column, value);
}

static inline void
assert_count (struct scene *scene, const char *label, enum counter_column column, uint64_t expected)
{
  uint64_t value;

  assert_true (job_value (scene, label, column, &value));
  assert_int_equal (value, expected);
}

#define INSTRUCTIONS played_rate (&(struct perf_event_attr){ .type = 0, .config = PERF_COUNT_HW_INSTRUCTIONS })

#define STEP "0::/system.slice/n1_slurmstepd.scope/job_5/step_0/user/task_0\n"
#define FOLDER "/sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_5"

/* Job 5 is the process 30, in a cgroup with these CPUs. */
static inline void
cgroup_job (struct scene *scene, const char *cpus)
{
  scratch_write (&scene->machine.scratch, "/proc/self/mountinfo",
                 "31 30 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  scratch_write (&scene->machine.scratch, FOLDER "/cpu.stat", "usage_usec 9\nuser_usec 5\nsystem_usec 4\n");
  scratch_write (&scene->machine.scratch, FOLDER "/cpuset.cpus.effective", cpus);
  cgroup_mounts_refresh (scene->machine.scan->mounts);
  machine_put (&scene->machine,
               (struct made){ .pid = 30, .environment = "SLURM_JOB_ID=5", .start = 50, .cgroup = STEP });
  machine_children (&scene->machine, 30, "");
}

#endif
