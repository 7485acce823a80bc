/* Counting jobs, on a made-up machine and a kernel that is played: what is opened and closed, and when; which cgroups; which events. */
#include "tests/unit/agent/job/job_counters_scene.h"

/* Of cgroup v1 it is the hierarchy perf_event, where that has the job. */
static void
test_cgroup_of_version_1 (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  scratch_write (&scene.machine.scratch, "/proc/self/mountinfo",
                 "31 30 0:27 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n"
                 "32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  scratch_write (&scene.machine.scratch, "/sys/fs/cgroup/perf_event/slurm/uid_0/job_5/notify_on_release", "0\n");
  scratch_write (&scene.machine.scratch, "/sys/fs/cgroup/unified/slurm/uid_0/job_5/cpu.stat", "usage_usec 9\n");
  scratch_write (&scene.machine.scratch, "/sys/fs/cgroup/unified/slurm/uid_0/job_5/cpuset.cpus.effective", "1\n");
  cgroup_mounts_refresh (scene.machine.scan->mounts);
  machine_put (&scene.machine, (struct made){ .pid = 30,
                                              .environment = "SLURM_JOB_ID=5",
                                              .start = 50,
                                              .cgroup = "9:perf_event:/slurm/uid_0/job_5/step_0\n"
                                                        "0::/slurm/uid_0/job_5/step_0\n" });
  machine_children (&scene.machine, 30, "");
  scan (&scene);
  assert_int_equal (scene.counters.budget.used, 4 * EVENTS); /* one folder, on all CPUs */
  assert_int_equal (played_count (&played, 30), 0);
  played_pass (&played, 10);
  scan (&scene);
  assert_count (&scene, "5", COUNTER_INSTRUCTIONS, 40 * INSTRUCTIONS);
  scene_close (&scene);
}

/* SLURM leaves that hierarchy alone: the processes are counted. */
static void
test_version_1_without_the_job (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  scratch_write (&scene.machine.scratch, "/proc/self/mountinfo",
                 "31 30 0:27 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n"
                 "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  scratch_write (&scene.machine.scratch, "/sys/fs/cgroup/memory/slurm/uid_0/job_5/memory.usage_in_bytes", "9\n");
  cgroup_mounts_refresh (scene.machine.scan->mounts);
  machine_put (&scene.machine, (struct made){ .pid = 30,
                                              .environment = "SLURM_JOB_ID=5",
                                              .start = 50,
                                              .cgroup = "9:perf_event:/\n8:memory:/slurm/uid_0/job_5/step_0\n" });
  machine_children (&scene.machine, 30, "");
  scan (&scene);
  assert_int_equal (played_count (&played, 30), EVENTS);
  assert_string_equal (scene.table.error, "");
  scene_close (&scene);
}

/* The kernel has the controller in another hierarchy: EBADF, which is no fault either. */
static void
test_refusal_that_is_no_fault (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  played.cgroups_fail = EBADF;
  cgroup_job (&scene, "1,3\n");
  scan (&scene);
  assert_int_equal (played_count (&played, 30), EVENTS);
  assert_string_equal (scene.table.error, "");
  scene_close (&scene);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void
update_at_the_gate (struct scene *scene)
{
  machine_scan (&scene->machine);
  table_begin (&scene->table);
  job_counters_update (scene->job_counters, scene->machine.now_ns, &scene->table);
}

/* However long opening and closing take, no sample waits for it: the kernel lets nothing through here. Meanwhile the job has
 * no values, and one that ends, or is stopped, has its events closed later. */
static void
test_opening_takes_long (void **state)
{
  struct scene scene;
  uint64_t value;

  (void) state;
  scene_open (&scene, 16);
  scene.counters.budget.most = 20000;
  scratch_write (&scene.machine.scratch, "/sys/devices/system/cpu/online", "0-119\n");
  cgroup_job (&scene, "0-119\n");
  put (&scene, 40, 1, 60, "SYNOP_JOB_ID=b");
  put (&scene, 41, 1, 60, "SYNOP_JOB_ID=c");
  played.gate = &gate;
  pthread_mutex_lock (&gate);
  for (int i = 0; i < 3; i++)
    update_at_the_gate (&scene);
  assert_int_equal (played.opened, 0);
  assert_false (job_value (&scene, "5", COUNTER_INSTRUCTIONS, &value));
  assert_false (job_value (&scene, "b", COUNTER_INSTRUCTIONS, &value));
  machine_end (&scene.machine, 41); /* while it is being opened */
  for (int i = 0; i < 3; i++)
    update_at_the_gate (&scene);
  pthread_mutex_unlock (&gate);
  scan (&scene);
  assert_int_equal (scene.counters.budget.used, 121 * EVENTS);
  assert_int_equal (played_count (&played, 41), 0);
  assert_int_equal (played_count (&played, 30), 0);
  played_pass (&played, 1);
  scan (&scene);
  assert_count (&scene, "5", COUNTER_INSTRUCTIONS, 120 * INSTRUCTIONS);
  pthread_mutex_lock (&gate);
  machine_end (&scene.machine, 30);
  for (int i = 0; i < 3; i++)
    update_at_the_gate (&scene);
  assert_null (machine_job (&scene.machine, "5"));
  assert_int_equal (played.closed, 0);
  scene.counters.quiet = "00:00-24:00";
  for (int i = 0; i < 3; i++)
    update_at_the_gate (&scene);
  pthread_mutex_unlock (&gate);
  scene.counters.quiet = "";
  update (&scene);
  scan (&scene);
  assert_int_equal (scene.counters.budget.used, EVENTS);
  assert_int_equal (played_count (&played, 40), EVENTS);
  scene_close (&scene);
}

/* Stopped while it is being opened: what comes is closed, and it is opened anew when counting is allowed again. */
static void
test_stopped_while_opening (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  put (&scene, 40, 1, 60, "SYNOP_JOB_ID=b");
  played.gate = &gate;
  pthread_mutex_lock (&gate);
  update_at_the_gate (&scene);
  scene.counters.quiet = "00:00-24:00";
  for (int i = 0; i < 2; i++)
    update_at_the_gate (&scene);
  pthread_mutex_unlock (&gate);
  update (&scene);
  update (&scene);
  assert_int_equal (played.opened, EVENTS);
  assert_int_equal (played.closed, EVENTS);
  scene.counters.quiet = "";
  update (&scene);
  assert_int_equal (played_count (&played, 40), EVENTS);
  played_run_processes (&played, 10);
  update (&scene);
  assert_count (&scene, "b", COUNTER_INSTRUCTIONS, 10 * INSTRUCTIONS);
  scene_close (&scene);
}

static void *
hold_gate (void *context)
{
  pthread_mutex_lock (&gate);
  pthread_barrier_wait (context);
  pthread_barrier_wait (context);
  usleep (50000);
  pthread_mutex_unlock (&gate);
  return NULL;
}

/* The agent ends while a job is being opened: the rest is left. */
static void
test_end_while_opening (void **state)
{
  struct scene scene;
  pthread_barrier_t barrier;
  pthread_t holder;

  (void) state;
  scene_open (&scene, 16);
  scene.counters.budget.most = 20000;
  scratch_write (&scene.machine.scratch, "/sys/devices/system/cpu/online", "0-119\n");
  cgroup_job (&scene, "0-119\n");
  put (&scene, 40, 1, 60, "SYNOP_JOB_ID=b");
  played.gate = &gate;
  pthread_barrier_init (&barrier, NULL, 2);
  assert_int_equal (pthread_create (&holder, NULL, hold_gate, &barrier), 0);
  pthread_barrier_wait (&barrier);
  update_at_the_gate (&scene);
  pthread_barrier_wait (&barrier);
  scene_close (&scene);
  pthread_join (holder, NULL);
  pthread_barrier_destroy (&barrier);
  assert_in_range (played.opened, 1, 10 * EVENTS);
}

/* What a process starts while its own events are being opened is looked at when they are there: it has inherited them. */
static void
test_begun_while_opening (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  put (&scene, 40, 1, 60, "SYNOP_JOB_ID=b");
  played.gate = &gate;
  pthread_mutex_lock (&gate);
  update_at_the_gate (&scene);
  put (&scene, 41, 40, 1100 * SECOND, "SYNOP_JOB_ID=b");
  scene.machine.now_ns = 1200 * NS_PER_S;
  for (int i = 0; i < 3; i++)
    update_at_the_gate (&scene);
  pthread_mutex_unlock (&gate);
  scan (&scene);
  assert_int_equal (played_count (&played, 40), EVENTS);
  assert_int_equal (played_count (&played, 41), 0);
  scene_close (&scene);
}

/* Many jobs of processes are all opened, and closed. */
static void
test_many_jobs (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  scene.counters.budget.most = 20000;
  for (int i = 0; i < 200; i++) {
    char job[32];

    snprintf (job, sizeof job, "SYNOP_JOB_ID=j%d", i);
    put (&scene, 100 + i, 1, 50 + (unsigned) i, job);
  }
  scan (&scene);
  for (int i = 0; i < 200; i++)
    assert_int_equal (played_count (&played, 100 + i), EVENTS);
  for (int i = 0; i < 200; i++)
    machine_end (&scene.machine, 100 + i);
  scan (&scene);
  scan (&scene);
  assert_int_equal (scene.counters.budget.used, 0);
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

/* Every second CPU of a large machine: that list is long. */
static void
test_cgroup_of_many_cpus (void **state)
{
  struct scene scene;
  char list[4096];
  int length = 0;

  (void) state;
  scene_open (&scene, 16);
  scratch_write (&scene.machine.scratch, "/sys/devices/system/cpu/online", "0-1,1998-1999\n");
  for (int cpu = 1001; cpu <= 1999; cpu += 2)
    length += snprintf (list + length, sizeof list - (size_t) length, "%s%d", length ? "," : "", cpu);
  cgroup_job (&scene, list);
  scan (&scene);
  assert_int_equal (scene.counters.budget.used, EVENTS);
  assert_true (played.events[0].cpu == 1999 && played.events[0].flags & PERF_FLAG_PID_CGROUP);
  scene_close (&scene);
}

/* A job of which some processes are counted and others not has no values: they would be too low. */
static void
test_job_of_too_many_processes (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, 16);
  scene.counters.budget.most = 4 * EVENTS;
  for (int i = 0; i < 3; i++)
    put (&scene, 20 + i, 1, 50, "SYNOP_JOB_ID=a");
  scan (&scene);
  played_run_processes (&played, 10);
  scan (&scene);
  for (size_t i = 0; i < COUNTER_COLUMNS; i++)
    assert_false (job_value (&scene, "a", (enum counter_column) i, &(uint64_t){ 0 }));
  assert_non_null (strstr (scene.table.error, "LimitNOFILE"));
  scene_close (&scene);
}

/* Floating-point operations and lines from memory, on a Cascade Lake. */
static void
test_flops_and_traffic (void **state)
{
#define RAW(CONFIG) (10 * played_rate (&(struct perf_event_attr){ .type = PERF_TYPE_RAW, .config = (CONFIG) }))
  struct scene scene;
  uint64_t value, flop = 0;

  (void) state;
  generation = "clx";
  scene_open (&scene, 32);
  generation = "perf";
  put (&scene, 20, 1, 50, "SYNOP_JOB_ID=a");
  scan (&scene);
  if (played_count (&played, 20) == EVENTS) {
    print_message ("# skipped: no libpfm4\n");
    scene_close (&scene);
    skip ();
  }
  assert_int_equal (played_count (&played, 20), EVENTS + 8 + 2);
  played_run_processes (&played, 10);
  scan (&scene);
  /* umasks of FP_ARITH_INST_RETIRED: 1, 4, 10h, 40h double, 2, 8, 20h, 80h single; scalar, 128, 256, 512 bits */
  for (unsigned bit = 0; bit < 8; bit++)
    flop += (bit % 2 ? 1u << (bit == 1 ? 0 : bit / 2 + 1) : 1u << bit / 2) * RAW (0xc7 | 1u << (8 + bit));
  assert_count (&scene, "a", COUNTER_FLOP + FLOP_ALL, flop);
  assert_count (&scene, "a", COUNTER_FLOP + FLOP_SCALAR, RAW (0x1c7) + RAW (0x2c7));
  assert_count (&scene, "a", COUNTER_FLOP + FLOP_512, 8 * RAW (0x40c7) + 16 * RAW (0x80c7));
  assert_count (&scene, "a", COUNTER_TRAFFIC + TRAFFIC_READ, 64 * RAW (0x1b7));
  assert_count (&scene, "a", COUNTER_TRAFFIC + TRAFFIC_WRITTEN, 64 * RAW (0x1bb));
  for (int i = 0; i < PLAYED_EVENTS; i++)
    if (played.events[i].open && played.events[i].attr.config == 0x1b7)
      assert_int_equal (played.events[i].attr.config1, UINT64_C (0x3f840005b3));
  scene_close (&scene);
  generation = "perf"; /* on a machine of which libpfm4 knows no such events they are missing */
  scene_open (&scene, 16);
  put (&scene, 20, 1, 50, "SYNOP_JOB_ID=a");
  scan (&scene);
  assert_false (job_value (&scene, "a", COUNTER_FLOP, &value));
  assert_false (job_value (&scene, "a", COUNTER_TRAFFIC, &value));
  scene_close (&scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_cgroup_of_version_1),      cmocka_unit_test (test_version_1_without_the_job),
    cmocka_unit_test (test_refusal_that_is_no_fault), cmocka_unit_test (test_opening_takes_long),
    cmocka_unit_test (test_stopped_while_opening),    cmocka_unit_test (test_begun_while_opening),
    cmocka_unit_test (test_end_while_opening),        cmocka_unit_test (test_many_jobs),
    cmocka_unit_test (test_shares_of_descriptors),    cmocka_unit_test (test_job_of_too_many_processes),
    cmocka_unit_test (test_cgroup_of_many_cpus),      cmocka_unit_test (test_flops_and_traffic),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
