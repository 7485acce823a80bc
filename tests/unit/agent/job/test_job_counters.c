/* Counting jobs, on a made-up machine and a kernel that is played: who has events of their own, what stays, and manners. */
#include "tests/unit/agent/job/job_counters_scene.h"

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
  assert_false (job_value (&scene, "a", COUNTER_INSTRUCTIONS, &(uint64_t){ 0 })); /* not 0 more than before */
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

/* Its CPUs alone, and none of its processes but those that have left the cgroup. */
static void
test_cgroup (void **state)
{
  struct scene scene;
  size_t on[4] = { 0 };

  (void) state;
  scene_open (&scene, 16);
  cgroup_job (&scene, "1,3\n");
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

#define KIND "/sys/bus/event_source/devices/"
static void
hybrid_open (struct scene *scene)
{
  scene_open (scene, 32);
  job_counters_destroy (scene->job_counters);
  scratch_write (&scene->machine.scratch, KIND "cpu_core/type", "4\n");
  scratch_write (&scene->machine.scratch, KIND "cpu_core/cpus", "0-1\n");
  scratch_write (&scene->machine.scratch, KIND "cpu_atom/type", "10\n");
  scratch_write (&scene->machine.scratch, KIND "cpu_atom/cpus", "2-3\n");
  scene->job_counters = job_counters_create (&scene->counters, scene->machine.scan);
}

/* A process goes between two kinds of cores: events of one kind run a part of the time, and are not scaled by it. */
static void
test_two_kinds_of_cores (void **state)
{
#define OF_KIND(TYPE)                                                                                                  \
  played_rate (&(struct perf_event_attr){ .type = 0, .config = UINT64_C (TYPE) << 32 | PERF_COUNT_HW_INSTRUCTIONS })
  struct scene scene;

  (void) state;
  hybrid_open (&scene);
  put (&scene, 20, 1, 50, "SYNOP_JOB_ID=a");
  scan (&scene);
  assert_int_equal (played_count (&played, 20), 4 + 2 * 7);
  played_run_processes (&played, 10);
  for (int k = 0; k < PLAYED_EVENTS; k++)
    if (played_is_hardware (&played.events[k].attr)) /* 30 ms on the other kind */
      played.events[k].enabled += 30 * 1000000;
  machine_scan (&scene.machine);
  update (&scene);
  assert_count (&scene, "a", COUNTER_INSTRUCTIONS, 10 * (OF_KIND (4) + OF_KIND (10)));
  assert_true (job_counters_of (machine_need_job (&scene.machine, "a"))->running > 0.99); /* nobody else counts */
  scene_close (&scene);

  hybrid_open (&scene); /* in a cgroup: on each CPU those of its kind */
  cgroup_job (&scene, "1,3\n");
  scan (&scene);
  assert_int_equal (scene.counters.budget.used, 2 * EVENTS);
  played_pass (&played, 10);
  scan (&scene);
  assert_count (&scene, "5", COUNTER_INSTRUCTIONS, 10 * (OF_KIND (4) + OF_KIND (10)));
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
  cgroup_job (&scene, "1,3\n");
  scan (&scene);
  assert_int_equal (played_count (&played, 30), EVENTS);
  played_run_processes (&played, 10);
  scan (&scene);
  assert_count (&scene, "5", COUNTER_INSTRUCTIONS, 10 * INSTRUCTIONS);
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
    played_run_processes (&played, 100);
    for (int k = 0; k < PLAYED_EVENTS; k++)
      if (played_is_hardware (&played.events[k].attr))
        played.events[k].enabled += 200 * 1000000;
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
  assert_count (&scene, "a", COUNTER_INSTRUCTIONS, (100 + 2 * 300) * INSTRUCTIONS);
  scene_close (&scene);
}

/* All events of a process, enabled so many milliseconds; those of the hardware ran for a part of them. */
static void
process_ran (pid_t pid, unsigned enabled, unsigned ran)
{
  for (int i = 0; i < PLAYED_EVENTS; i++) {
    struct played_event *event = &played.events[i];
    unsigned runs = played_is_hardware (&event->attr) ? ran : enabled;

    if (!event->open || event->pid != pid)
      continue;
    event->enabled += enabled * 1000000;
    event->running += runs * 1000000;
    event->count += runs * played_rate (&event->attr);
  }
}

/* Events take turns of some milliseconds. A shell that worked for one of them, in which it was the turn of others, says
 * nothing about the shares of the job that it waits for. */
static void
test_process_that_hardly_works (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  put (&scene, 20, 1, 50, "SYNOP_JOB_ID=a");
  put (&scene, 21, 20, 60, "SYNOP_JOB_ID=a");
  scan (&scene);
  for (int i = 1; i <= 4; i++) {
    process_ran (20, 1, 0);
    process_ran (21, 1000, 500);
    machine_scan (&scene.machine);
    update (&scene);
    assert_count (&scene, "a", COUNTER_INSTRUCTIONS, (uint64_t) i * 1000 * INSTRUCTIONS);
    assert_true (job_counters_of (machine_need_job (&scene.machine, "a"))->running == 0.5);
    assert_string_equal (scene.table.error, "");
  }
  process_ran (20, 6, 5); /* it has worked for 10 ms: what ran of them stands for all */
  machine_scan (&scene.machine);
  update (&scene);
  assert_count (&scene, "a", COUNTER_INSTRUCTIONS, (4 * 1000 + 10) * INSTRUCTIONS);
  process_ran (20, 200, 0); /* that is long enough: it has lost its turns to somebody */
  machine_scan (&scene.machine);
  update (&scene);
  assert_false (job_value (&scene, "a", COUNTER_INSTRUCTIONS, &(uint64_t){ 0 }));
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
    cmocka_unit_test (test_two_kinds_of_cores),
    cmocka_unit_test (test_job_that_profiles_itself),
    cmocka_unit_test (test_process_that_hardly_works),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
