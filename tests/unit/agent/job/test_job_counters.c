/* Counting jobs, on a made-up machine and a kernel that is played: who has events of their own, what stays, and manners. */
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

static void
scene_open (struct scene *scene, int hardware)
{
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

static void
scene_close (struct scene *scene)
{
  job_counters_destroy (scene->job_counters);
  assert_int_equal (played.opened, played.closed);
  assert_int_equal (scene->counters.budget.used, 0);
  table_free (&scene->table);
  machine_free (&scene->machine);
}

static void
update (struct scene *scene)
{
  table_begin (&scene->table);
  job_counters_update (scene->job_counters, scene->machine.now_ns, &scene->table);
}

/* Two scans: what is found in threads is in the second. */
static void
scan (struct scene *scene)
{
  for (int i = 0; i < 2; i++) {
    machine_scan (&scene->machine);
    update (scene);
  }
}

static void
put (struct scene *scene, int pid, int parent, unsigned start, const char *environment)
{
  machine_put (&scene->machine,
               (struct made){ .pid = pid, .parent = parent, .start = start, .environment = environment });
  machine_children (&scene->machine, pid, ""); /* makes its thread */
}

static bool
job_value (struct scene *scene, const char *label, enum counter_column column, uint64_t *value)
{
  const struct counter_row *row = job_counters_of (machine_need_job (&scene->machine, label));

  *value = 0;
  return row && counter_row_value (row, column, value);
}

static void
assert_count (struct scene *scene, const char *label, enum counter_column column, uint64_t expected)
{
  uint64_t value;

  assert_true (job_value (scene, label, column, &value));
  assert_int_equal (value, expected);
}

#define INSTRUCTIONS played_rate (&(struct perf_event_attr){ .type = 0, .config = PERF_COUNT_HW_INSTRUCTIONS })

/* What a counted process starts has its events; what comes from elsewhere, or was there before, needs its own. */
static void
test_who_inherits (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  put (&scene, 20, 1, 50, "SYNOP_JOB_ID=a");
  put (&scene, 21, 20, 60, "SYNOP_JOB_ID=a"); /* begun before its parent was counted */
  scan (&scene);
  assert_int_equal (played_count (&played, 20), EVENTS);
  assert_int_equal (played_count (&played, 21), EVENTS);
  assert_true (played.events[0].attr.inherit);
  put (&scene, 22, 20, 1100 * SECOND, "SYNOP_JOB_ID=a"); /* later */
  put (&scene, 23, 1, 1100 * SECOND, "SYNOP_JOB_ID=a");  /* its parent is gone */
  put (&scene, 24, 5, 1100 * SECOND, "SYNOP_JOB_ID=a");  /* begun by a daemon that is no part of the job */
  put (&scene, 25, 24, 1101 * SECOND, "SYNOP_JOB_ID=a"); /* by that, before it was counted */
  scene.machine.now_ns = 1200 * NS_PER_S;
  scan (&scene);
  assert_int_equal (played_count (&played, 22), 0);
  assert_int_equal (played_count (&played, 23), 0);
  assert_int_equal (played_count (&played, 24), EVENTS);
  assert_int_equal (played_count (&played, 25), EVENTS);
  put (&scene, 26, 25, 1300 * SECOND, "SYNOP_JOB_ID=a");
  put (&scene, 27, 26, 1300 * SECOND, "SYNOP_JOB_ID=a");
  scene.machine.now_ns = 1400 * NS_PER_S;
  scan (&scene);
  assert_int_equal (played_count (&played, 26) + played_count (&played, 27), 0);
  assert_string_equal (scene.table.error, "");
  scene_close (&scene);
}

/* Each thread that is there needs events. */
static void
test_threads (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  put (&scene, 20, 1, 50, "SYNOP_JOB_ID=a");
  scratch_write (&scene.machine.scratch, "/proc/20/task/28/children", "");
  scan (&scene);
  assert_int_equal (played_count (&played, 20), EVENTS);
  assert_int_equal (played_count (&played, 28), EVENTS);
  scene_close (&scene);
}

static void
test_nothing_is_lost (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  put (&scene, 20, 1, 50, "SYNOP_JOB_ID=a");
  put (&scene, 21, 20, 60, "SYNOP_JOB_ID=a");
  scan (&scene);
  played_run_processes (&played, 100);
  machine_end (&scene.machine, 21);
  scan (&scene);
  assert_count (&scene, "a", COUNTER_INSTRUCTIONS, 200 * INSTRUCTIONS);
  scratch_write (&scene.machine.scratch, "/var/run/likwid.lock", "");
  scene.counters.quiet = "00:00-24:00"; /* others' time: all is closed */
  played_run_processes (&played, 50);
  update (&scene);
  update (&scene);
  assert_int_equal (played.opened, played.closed);
  assert_non_null (strstr (scene.table.error, "quiet"));
  scene.counters.quiet = "";
  scan (&scene);
  assert_int_equal (played_count (&played, 20), EVENTS);
  played_run_processes (&played, 10);
  scan (&scene);
  assert_count (&scene, "a", COUNTER_INSTRUCTIONS, 210 * INSTRUCTIONS);
  machine_end (&scene.machine, 20); /* the job ends: its last sums are there */
  played_run_processes (&played, 1);
  machine_scan (&scene.machine);
  update (&scene);
  assert_count (&scene, "a", COUNTER_INSTRUCTIONS, 211 * INSTRUCTIONS);
  scene_close (&scene);
}

#define STEP "0::/system.slice/n1_slurmstepd.scope/job_5/step_0/user/task_0\n"
#define FOLDER "/sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_5"

static void
cgroup_write (struct scene *scene)
{
  scratch_write (&scene->machine.scratch, "/proc/self/mountinfo",
                 "31 30 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  scratch_write (&scene->machine.scratch, FOLDER "/cpu.stat", "usage_usec 9\nuser_usec 5\nsystem_usec 4\n");
  scratch_write (&scene->machine.scratch, FOLDER "/cpuset.cpus.effective", "1,3\n");
}

/* Its CPUs alone, and none of its processes but those that have left the cgroup. */
static void
test_cgroup (void **state)
{
  struct scene scene;
  size_t on[4] = { 0 };

  (void) state;
  scene_open (&scene, 16);
  cgroup_write (&scene);
  cgroup_mounts_refresh (scene.machine.scan->mounts);
  machine_put (&scene.machine,
               (struct made){ .pid = 30, .environment = "SLURM_JOB_ID=5", .start = 50, .cgroup = STEP });
  machine_children (&scene.machine, 30, "");
  put (&scene, 31, 30, 60, "SLURM_JOB_ID=5");
  scan (&scene);
  for (int i = 0; i < PLAYED_EVENTS; i++)
    if (played.events[i].open && played.events[i].flags & PERF_FLAG_PID_CGROUP)
      on[played.events[i].cpu]++;
  assert_int_equal (on[0] + on[2], 0);
  assert_int_equal (on[1], EVENTS);
  assert_int_equal (on[3], EVENTS);
  assert_int_equal (played_count (&played, 30), 0);
  assert_int_equal (played_count (&played, 31), EVENTS);
  played_pass (&played, 10);
  scan (&scene);
  assert_count (&scene, "5", COUNTER_INSTRUCTIONS, 20 * INSTRUCTIONS);
  scene_close (&scene);
}

/* The kernel refuses events of cgroups: then the processes are counted. */
static void
test_cgroup_that_cannot_be_counted (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  played.cgroups_fail = EINVAL;
  cgroup_write (&scene);
  cgroup_mounts_refresh (scene.machine.scan->mounts);
  machine_put (&scene.machine,
               (struct made){ .pid = 30, .environment = "SLURM_JOB_ID=5", .start = 50, .cgroup = STEP });
  machine_children (&scene.machine, 30, "");
  scan (&scene);
  assert_int_equal (played_count (&played, 30), EVENTS);
  played_run_processes (&played, 10);
  scan (&scene);
  assert_count (&scene, "5", COUNTER_INSTRUCTIONS, 10 * INSTRUCTIONS);
  scene_close (&scene);
}

static void
test_shares_of_descriptors (void **state)
{
  struct scene scene;
  uint64_t value;

  (void) state;
  scene_open (&scene, 16);
  scene.counters.budget.most = 4 * EVENTS;
  for (int i = 0; i < 3; i++) {
    char job[32];

    snprintf (job, sizeof job, "SYNOP_JOB_ID=j%d", i);
    put (&scene, 20 + i, 1, 50 + (unsigned) i, job);
  }
  scan (&scene);
  assert_count (&scene, "j0", COUNTER_INSTRUCTIONS, 0);
  assert_count (&scene, "j1", COUNTER_INSTRUCTIONS, 0);
  assert_false (job_value (&scene, "j2", COUNTER_INSTRUCTIONS, &value)); /* over half, with one user */
  assert_non_null (strstr (scene.table.error, "job j2"));
  assert_non_null (strstr (scene.table.error, "LimitNOFILE"));
  machine_end (&scene.machine, 20);
  scan (&scene);
  scan (&scene);
  assert_null (machine_job (&scene.machine, "j0"));
  assert_int_equal (scene.counters.budget.used, EVENTS);
  scene_close (&scene);
}

/* Its events run half of the time only since perf counts too: it is left alone for a minute. */
static void
test_job_that_profiles_itself (void **state)
{
  struct scene scene;
  uint64_t value;

  (void) state;
  scene_open (&scene, 16);
  put (&scene, 20, 1, 50, "SYNOP_JOB_ID=a");
  scan (&scene);
  played_run_processes (&played, 100);
  scan (&scene);
  for (int i = 0; i < 3; i++) {
    played_run_processes (&played, 10);
    for (int k = 0; k < PLAYED_EVENTS; k++)
      if (played_is_hardware (&played.events[k].attr))
        played.events[k].enabled += 20 * 1000000;
    machine_scan (&scene.machine);
    update (&scene);
    if (i == 0)
      assert_int_equal (played_count (&played, 20), EVENTS);
  }
  assert_int_equal (played.opened, played.closed);
  assert_false (job_value (&scene, "a", COUNTER_INSTRUCTIONS, &value));
  assert_non_null (strstr (scene.table.error, "job a counts by itself"));
  scene.machine.now_ns += 60 * NS_PER_S;
  machine_scan (&scene.machine);
  update (&scene);
  assert_int_equal (played_count (&played, 20), EVENTS);
  assert_string_equal (scene.table.error, "");
  assert_count (&scene, "a", COUNTER_INSTRUCTIONS, (100 + 2 * 30) * INSTRUCTIONS);
  scene_close (&scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_who_inherits),
    cmocka_unit_test (test_threads),
    cmocka_unit_test (test_nothing_is_lost),
    cmocka_unit_test (test_cgroup),
    cmocka_unit_test (test_cgroup_that_cannot_be_counted),
    cmocka_unit_test (test_shares_of_descriptors),
    cmocka_unit_test (test_job_that_profiles_itself),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
