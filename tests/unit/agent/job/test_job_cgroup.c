/* What is read of a job's cgroup folders, and which folders are found. */
#include "agent/job/job_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/agent/sampler_test.h"

#define V1 "tests/roots/jobs/v1" /* memory is mounted from a container's folder, "/box" */
#define V2 "tests/roots/jobs/v2"
#define SLURM_V1                                                                                                       \
  "5:cpuset:/slurm_n1/uid_1000/job_5/step_0\n4:memory:/box/slurm_n1/uid_1000/job_5/step_0/task_1\n"                    \
  "3:blkio:/slurm_n1/uid_1000/job_5\n2:cpu,cpuacct:/slurm_n1/uid_1000/job_5/step_0/task_1\n1:name=systemd:/x\n0::/\n"
#define SLURM_V2 "0::/system.slice/n1_slurmstepd.scope/job_5/step_0/user/task_0\n"
#define SYNOP "2:cpuacct:/synop_job_a\n1:memory:/synop_job_a\n0::/synop_job_a\n"

static struct cgroup_mounts *mounts;
static struct job_cgroup *job;
static struct job_usage usage;

static void
begin (const char *root)
{
  mounts = cgroup_mounts_create (root);
  job = job_cgroup_create (mounts);
}

static void
end (void)
{
  job_cgroup_destroy (job);
  cgroup_mounts_destroy (mounts);
}

static size_t
add (const char *text)
{
  return job_cgroup_add (job, text, strlen (text));
}

static void
test_v1 (void **state)
{
  (void) state;
  begin (V1);
  assert_int_equal (add (SLURM_V1), 4);
  assert_int_equal (add (SLURM_V1), 4);
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.user_ns, 3000000005); /* 300 of 400 ticks */
  assert_int_equal (usage.system_ns, 1000000002);
  assert_int_equal (usage.memory, 1048576);
  assert_int_equal (usage.memory_peak, 5242880);
  assert_int_equal (usage.memory_limit, 8388608);
  assert_int_equal (usage.oom_kills, 7); /* of the job's, its steps' and their tasks' folders */
  assert_int_equal (usage.read_bytes, 4097);
  assert_int_equal (usage.write_bytes, 8194);
  assert_int_equal (usage.cpus, 7);
  end ();
}

static void
test_v2 (void **state)
{
  (void) state;
  begin (V2);
  assert_int_equal (add (SLURM_V2), 1);
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.user_ns, 3000000);
  assert_int_equal (usage.system_ns, 2000000);
  assert_int_equal (usage.memory, 2097152);
  assert_int_equal (usage.memory_peak, 3145728);
  assert_int_equal (usage.memory_limit, JOB_MISSING);
  assert_int_equal (usage.oom_kills, 1);
  assert_int_equal (usage.read_bytes, 4106);
  assert_int_equal (usage.write_bytes, 8212);
  assert_int_equal (usage.cpus, JOB_MISSING);
  end ();
}

/* A folder in which cgroup v2 has no controllers: CPU time alone is known. */
static void
test_without_controllers (void **state)
{
  (void) state;
  begin (V2);
  assert_int_equal (add ("0::/system.slice/pbs_jobs.service/jobs/7.pbs\n"), 1);
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.user_ns, 5000);
  assert_int_equal (usage.memory, JOB_MISSING);
  assert_int_equal (usage.memory_peak, JOB_MISSING);
  assert_int_equal (usage.oom_kills, JOB_MISSING);
  assert_int_equal (usage.read_bytes, JOB_MISSING);
  end ();
}

/* Folders that others share, that lead out of what can be seen, or that are not there. */
static void
test_what_is_not_taken (void **state)
{
  static const char *const texts[] = {
    "",
    "2:cpu,cpuacct:/\n",
    "2:cpu,cpuacct:/user.slice\n4:memory:/box\n",
    "2:cpu,cpuacct:/slurm_n1\n",
    "2:cpu,cpuacct:/slurm_n1/uid_1000\n",
    "4:memory:/slurm_n1/uid_1000/job_5\n",
    "4:memory:/boxes/slurm_n1/uid_1000/job_5\n",
    "2:cpu,cpuacct:/../../slurm_n1/uid_1000/job_5\n",
    "2:pids:/slurm_n1/uid_1000/job_5\n",
    "0::/slurm_n1/uid_1000/job_5\n",
  };

  (void) state;
  begin (V1);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (add (texts[i]) != 0)
      fail_msg ("taken: %s", texts[i]);
  assert_false (job_cgroup_read (job, &usage));
  assert_int_equal (usage.user_ns, JOB_MISSING);
  assert_int_equal (add ("2:cpu,cpuacct:/slurm_n1/uid_1000/job_6\n"), 1);
  assert_false (job_cgroup_read (job, &usage));
  end ();
}

/* A line of another job's folder is not this job's. */
static void
test_lines_of_two_jobs (void **state)
{
  (void) state;
  begin (V1);
  assert_int_equal (add ("4:memory:/box/oar/ann_5\n2:cpu,cpuacct:/slurm_n1/uid_1000/job_5\n"), 1);
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.memory, JOB_MISSING);
  assert_int_not_equal (usage.user_ns, JOB_MISSING);
  end ();
}

static struct scratch scratch;

static void
begin_scratch (void)
{
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/self/mountinfo",
                 "33 25 0:30 / /c\\040a rw - cgroup cgroup rw,cpuacct\n34 25 0:31 / /m rw - cgroup cgroup rw,memory\n"
                 "35 25 0:32 / /u rw - cgroup2 cgroup2 rw\n36 25 0:33 / /b rw - cgroup cgroup rw,blkio\n");
  scratch_write (&scratch, "/c a/synop_job_a/cpuacct.usage", "1000\n");
  scratch_write (&scratch, "/c a/synop_job_a/cpuacct.stat", "user 0\nsystem 0\n");
  scratch_write (&scratch, "/m/synop_job_a/memory.usage_in_bytes", "100\n");
  scratch_write (&scratch, "/u/synop_job_a/cpu.stat", "user_usec 77\nsystem_usec 88\n");
  begin (scratch.root);
}

static void
end_scratch (void)
{
  end ();
  scratch_free (&scratch);
}

static void
write_cpu (const char *time, const char *user, const char *system)
{
  char text[64];

  scratch_write (&scratch, "/c a/synop_job_a/cpuacct.usage", time);
  snprintf (text, sizeof text, "user %s\nsystem %s\n", user, system);
  scratch_write (&scratch, "/c a/synop_job_a/cpuacct.stat", text);
}

static void
assert_cpu (uint64_t user, uint64_t system)
{
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.user_ns, user);
  assert_int_equal (usage.system_ns, system);
}

/* The sum is exact, and neither part falls whatever the ticks say; both versions are not added up. */
static void
test_cpu_time_never_falls (void **state)
{
  (void) state;
  begin_scratch ();
  assert_int_equal (add (SYNOP), 3);
  assert_cpu (1000, 0);
  write_cpu ("2000\n", "0", "4");
  assert_cpu (1000, 1000);
  write_cpu ("2100\n", "9", "4");
  assert_cpu (1100, 1000);
  write_cpu ("4000\n", "9", "9");
  assert_cpu (2000, 2000);
  write_cpu ("4001\n", "0", "0");
  assert_cpu (2000, 2001);
  write_cpu ("100\n", "9", "1");
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.user_ns + usage.system_ns, 4101); /* the folder was made anew */
  write_cpu ("garbage\n", "x", "y");
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.user_ns + usage.system_ns, 4101);
  end_scratch ();
}

/* Whoever has several has their sum. */
static void
test_several_folders (void **state)
{
  (void) state;
  begin_scratch ();
  scratch_write (&scratch, "/c a/lsf/hpc/job.9.1.1/cpuacct.usage", "10\n");
  scratch_write (&scratch, "/c a/lsf/hpc/job.9.2.2/cpuacct.usage", "7\n");
  scratch_write (&scratch, "/m/lsf/hpc/job.9.1.1/memory.usage_in_bytes", "100\n");
  scratch_write (&scratch, "/m/lsf/hpc/job.9.1.1/memory.max_usage_in_bytes", "150\n");
  scratch_write (&scratch, "/m/lsf/hpc/job.9.2.2/memory.usage_in_bytes", "60\n");
  scratch_write (&scratch, "/m/lsf/hpc/job.9.2.2/memory.max_usage_in_bytes", "70\n");
  assert_int_equal (add ("2:cpuacct:/lsf/hpc/job.9.1.1\n1:memory:/lsf/hpc/job.9.1.1\n"), 2);
  assert_int_equal (add ("2:cpuacct:/lsf/hpc/job.9.2.2\n1:memory:/lsf/hpc/job.9.2.2\n"), 4);
  assert_cpu (17, 0);
  assert_int_equal (usage.memory, 160);
  assert_int_equal (usage.memory_peak, 160);
  scratch_write (&scratch, "/m/lsf/hpc/job.9.1.1/memory.usage_in_bytes", "1\n");
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.memory, 61);
  assert_int_equal (usage.memory_peak, 160);
  end_scratch ();
}

static uint64_t
cpus_of (const char *text)
{
  uint64_t cpus;

  scratch_write (&scratch, "/u/synop_job_a/cpuset.cpus", text);
  job_cgroup_destroy (job);
  job = job_cgroup_create (mounts);
  add ("0::/synop_job_a\n");
  assert_true (job_cgroup_read (job, &usage));
  cpus = usage.cpus;
  return cpus;
}

static void
test_cpusets (void **state)
{
  (void) state;
  begin_scratch ();
  assert_int_equal (cpus_of ("0\n"), 1);
  assert_int_equal (cpus_of ("0-127\n"), 128);
  assert_int_equal (cpus_of ("0,2,4-5\n"), 4);
  assert_int_equal (cpus_of ("\n"), JOB_MISSING);
  assert_int_equal (cpus_of ("5-3\n"), JOB_MISSING);
  assert_int_equal (cpus_of ("0-99999999999\n"), JOB_MISSING);
  assert_int_equal (cpus_of ("0-\n"), JOB_MISSING);
  end_scratch ();
}

/* OOM kills of a step that has gone stay counted, those of others come on top. */
static void
test_oom_kills_of_steps_that_go (void **state)
{
  (void) state;
  begin_scratch ();
  scratch_write (&scratch, "/m/synop_job_a/memory.oom_control", "oom_kill 0\n");
  scratch_write (&scratch, "/m/synop_job_a/step_0/memory.oom_control", "oom_kill 2\n");
  add (SYNOP);
  assert_cpu (1000, 0);
  assert_int_equal (usage.oom_kills, 2);
  scratch_remove (&scratch, "/m/synop_job_a/step_0");
  for (int i = 0; i < 5; i++)
    job_cgroup_read (job, &usage);
  assert_int_equal (usage.oom_kills, 2);
  scratch_write (&scratch, "/m/synop_job_a/step_1/task_0/memory.oom_control", "oom_kill 1\n");
  for (int i = 0; i < 5; i++)
    job_cgroup_read (job, &usage);
  assert_int_equal (usage.oom_kills, 3);
  end_scratch ();
}

/* Older kernels have another file; hierarchies that are mounted later are found later. */
static void
test_what_comes_later (void **state)
{
  (void) state;
  begin_scratch ();
  assert_int_equal (add ("6:blkio:/synop_job_a\n7:cpuset:/synop_job_a\n"), 1);
  scratch_write (&scratch, "/b/synop_job_a/blkio.throttle.io_service_bytes", "8:0 Read 5\n8:0 Write 6\nTotal 11\n");
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.read_bytes, 5);
  assert_int_equal (usage.write_bytes, 6);
  scratch_write (&scratch, "/s/synop_job_a/cpuset.cpus", "0-1\n");
  scratch_write (&scratch, "/proc/self/mountinfo",
                 "36 25 0:33 / /b rw - cgroup cgroup rw,blkio\n37 25 0:34 / /s rw - cgroup cgroup rw,cpuset\nx - \n\n");
  assert_int_equal (add ("6:blkio:/synop_job_a\n7:cpuset:/synop_job_a\n"), 1);
  cgroup_mounts_refresh (mounts);
  assert_int_equal (add ("6:blkio:/synop_job_a\n7:cpuset:/synop_job_a\n"), 2);
  assert_true (job_cgroup_read (job, &usage));
  assert_int_equal (usage.cpus, 2);
  end_scratch ();
}

static uint64_t
devices_of (const char *first, const char *second)
{
  scratch_write (&scratch, "/d/lsf/hpc/job.9.1.1/devices.list", first);
  if (second)
    scratch_write (&scratch, "/d/lsf/hpc/job.9.2.2/devices.list", second);
  job_cgroup_destroy (job);
  job = job_cgroup_create (mounts);
  assert_int_equal (add ("3:devices:/lsf/hpc/job.9.1.1\n"), 1);
  if (second)
    assert_int_equal (add ("3:devices:/lsf/hpc/job.9.2.2\n"), 2);
  job_cgroup_read (job, &usage);
  for (size_t i = 1; i < JOB_DEVICE_WORDS; i++)
    assert_int_equal (usage.devices[i], usage.devices[0] == UINT64_MAX ? UINT64_MAX : 0);
  return usage.devices[0];
}

/* Devices of NVIDIA that may be read and written; several folders permit what one of them does. */
static void
test_devices (void **state)
{
  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/self/mountinfo", "33 25 0:30 / /d rw - cgroup cgroup rw,devices\n");
  begin (scratch.root);
  job_cgroup_read (job, &usage);
  assert_int_equal (usage.devices[0], UINT64_MAX);
  assert_int_equal (devices_of ("c 195:3 rwm\nc 195:0 rw\nc 226:128 rw\n", NULL), 9);
  assert_int_equal (devices_of ("c 195:3 rwm\n", "c 195:4 rw"), 24);
  assert_int_equal (devices_of ("", NULL), 0);
  assert_int_equal (devices_of ("c *:* m\nc 195:* m\n", NULL), 0);
  assert_int_equal (devices_of ("a *:* rwm\n", NULL), UINT64_MAX);
  assert_int_equal (devices_of ("c 195:* rw\n", "c 195:4 rw\n"), UINT64_MAX);
  scratch_remove (&scratch, "/d");
  for (int i = 0; i < 31; i++)
    job_cgroup_read (job, &usage);
  assert_int_equal (usage.devices[0], UINT64_MAX);
  end_scratch ();
}

static char real_folder[128];

/* A process that uses so much CPU time in the folder, and ends. */
static void
work_in_real_folder (int ms)
{
  pid_t child = fork ();
  int status;

  assert_true (child >= 0);
  if (child == 0) {
    char path[160];
    struct rusage used;
    int fd;
    snprintf (path, sizeof path, "%s/cgroup.procs", real_folder);
    fd = open (path, O_WRONLY);
    if (fd < 0 || write (fd, "0", 1) != 1)
      _exit (1);
    do
      getrusage (RUSAGE_SELF, &used);
    while (used.ru_utime.tv_sec + used.ru_stime.tv_sec == 0 &&
           used.ru_utime.tv_usec + used.ru_stime.tv_usec < 1000 * ms);
    _exit (0);
  }
  assert_int_equal (waitpid (child, &status, 0), child);
  assert_int_equal (status, 0);
}

static void
remove_real_folder (void)
{
  for (int i = 0; rmdir (real_folder) != 0 && errno == EBUSY && i < 6000; i++)
    usleep (10000); /* the kernel takes its time with a process that ended */
  assert_int_not_equal (access (real_folder, F_OK), 0);
}

/* The kernel's files go while they are open: what was counted stays, and what a folder of that name counts then comes on
 * top. */
static void
test_a_real_folder_that_goes (void **state)
{
  char text[128];
  uint64_t first, second;
  bool read;

  (void) state;
  snprintf (real_folder, sizeof real_folder, "/sys/fs/cgroup/cpuacct/" JOB_FOLDER_PREFIX "unit.%d", (int) getpid ());
  if (mkdir (real_folder, 0755) != 0) {
    print_message ("# skipped: no folder can be made in cgroup v1 cpuacct here\n");
    skip ();
  }
  begin ("");
  snprintf (text, sizeof text, "2:cpuacct:/" JOB_FOLDER_PREFIX "unit.%d\n", (int) getpid ());
  add (text);
  work_in_real_folder (20);
  read = job_cgroup_read (job, &usage);
  remove_real_folder ();
  assert_true (read);
  first = usage.user_ns + usage.system_ns;
  assert_in_range (first, 15000000, 1000000000);
  for (int i = 0; i < 2; i++) {
    assert_true (job_cgroup_read (job, &usage));
    assert_int_equal (usage.user_ns + usage.system_ns, first);
  }
  /* The first time it was seen to be gone, the second time it was not. Each time it counts more than before. */
  for (int i = 0; i < 2; i++) {
    assert_int_equal (mkdir (real_folder, 0755), 0);
    work_in_real_folder (40 + 40 * i);
    if (i == 0)
      add (text);
    read = job_cgroup_read (job, &usage);
    remove_real_folder ();
    assert_true (read);
    second = usage.user_ns + usage.system_ns;
    assert_in_range (second - first, 1000000 * (35 + 40 * i), 1000000000);
    first = second;
  }
  end ();
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_v1),
    cmocka_unit_test (test_v2),
    cmocka_unit_test (test_without_controllers),
    cmocka_unit_test (test_what_is_not_taken),
    cmocka_unit_test (test_lines_of_two_jobs),
    cmocka_unit_test (test_cpu_time_never_falls),
    cmocka_unit_test (test_several_folders),
    cmocka_unit_test (test_cpusets),
    cmocka_unit_test (test_oom_kills_of_steps_that_go),
    cmocka_unit_test (test_what_comes_later),
    cmocka_unit_test (test_devices),
    cmocka_unit_test (test_a_real_folder_that_goes),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
