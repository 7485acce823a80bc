/* Users against each other: claims of a job's id, places for jobs, and processes whose reading hangs. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "agent/job/job_user.h"
#include "tests/unit/agent/job/job_machine.h"

#define SLURM_9 "0::/system.slice/slurmstepd.scope/job_9/step_0/user/task_0"

static const char *
user_of (const struct machine *machine, const char *label)
{
  return machine_need_job (machine, label)->identity.user;
}

static void
scans (struct machine *machine, int count)
{
  for (int i = 0; i < count; i++)
    machine_scan (machine);
}

/* ---- ids ---- */

/* Each user's claim is a job of its own, whoever came first, and stays it. */
static void
test_two_users_claim_one_id (void **state)
{
  struct machine machine;

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = "SYNOP_JOB_ID=a", .start = 5, .user = 1 });
  machine_give_to (&machine, 20, 1001);
  machine_open (&machine, "");
  scans (&machine, 2);
  for (int pid = 21; pid < 23; pid++) {
    machine_put (&machine, (struct made){ .pid = pid, .environment = "SYNOP_JOB_ID=a", .start = 100100, .user = 9 });
    machine_give_to (&machine, pid, 1002);
  }
  scans (&machine, 3);
  assert_int_equal (job_scan_count (machine.scan), 2);
  assert_string_equal (user_of (&machine, "a"), "1001");
  assert_string_equal (user_of (&machine, "a@1002"), "1002");
  assert_int_equal (machine_need_job (&machine, "a")->now.processes, 1);
  assert_int_equal (machine_need_job (&machine, "a@1002")->now.processes, 2);
  /* A user who takes the label that another one's claim would have gets nothing by it. */
  machine_put (&machine, (struct made){ .pid = 30, .environment = "SYNOP_JOB_ID=a@1003", .start = 100400 });
  machine_give_to (&machine, 30, 1001);
  scans (&machine, 2);
  machine_put (&machine, (struct made){ .pid = 31, .environment = "SYNOP_JOB_ID=a", .start = 100600 });
  machine_give_to (&machine, 31, 1003);
  scans (&machine, 3);
  assert_string_equal (user_of (&machine, "a@1003"), "1001");
  assert_int_equal (machine_need_job (&machine, "a@1003")->now.processes, 1);
  machine_free (&machine);
}

/* What a scheduler's cgroup says goes before a claim that was there first. */
static void
test_cgroup_contradicts_claim (void **state)
{
  struct machine machine;

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  machine_put (&machine, (struct made){
                             .pid = 20, .environment = "SLURM_JOB_ID=9 SLURM_JOB_USER=alice", .start = 5, .user = 50 });
  machine_give_to (&machine, 20, 1002);
  machine_open (&machine, "");
  scans (&machine, 2);
  machine_put (&machine, (struct made){ .pid = 30,
                                        .environment = "SLURM_JOB_ID=9 SLURM_JOB_UID=1001 SLURM_JOB_USER=bob",
                                        .cgroup = SLURM_9,
                                        .start = 100200,
                                        .user = 7 });
  machine_give_to (&machine, 30, 1001);
  scans (&machine, 12);
  assert_int_equal (job_scan_count (machine.scan), 2);
  assert_string_equal (user_of (&machine, "9"), "bob");
  assert_int_equal (machine_need_job (&machine, "9")->totals.total[PROCESS_USER], 7 * 10 * 1000 * 1000);
  assert_int_equal (machine_need_job (&machine, "9@1002")->totals.total[PROCESS_USER], 50 * 10 * 1000 * 1000);
  machine_free (&machine);
}

/* In the cgroup of a job, a process may tell any user: the job's is who runs it, unless root does. */
static void
test_user_in_environment (void **state)
{
  struct machine machine;

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20,
                                        .environment = "SLURM_JOB_ID=9 SLURM_JOB_UID=1001 SLURM_JOB_USER=bob",
                                        .cgroup = SLURM_9,
                                        .start = 5 });
  machine_give_to (&machine, 20, 1002);
  machine_put (&machine, (struct made){ .pid = 21,
                                        .environment = "SLURM_JOB_ID=10 SLURM_JOB_UID=1001 SLURM_JOB_USER=bob",
                                        .cgroup = "0::/system.slice/slurmstepd.scope/job_10/step_extern/user/task_0",
                                        .start = 5 });
  machine_open (&machine, "");
  scans (&machine, 2);
  assert_int_equal (machine_need_job (&machine, "9")->identity.uid, 1002);
  assert_int_equal (machine_need_job (&machine, "10")->identity.uid, 1001);
  assert_string_equal (user_of (&machine, "10"), "bob");
  machine_free (&machine);
}

/* Folders called like those of schedulers, by a user where he may: below a folder that was given to him. They tell nothing,
 * and he is who he is. */
static void
test_folders_that_users_make (void **state)
{
  static const char cgroup[] = "4:memory:/\n3:cpuset,cpu:/kept/slurm/uid_0/job_9/step_0\n"
                               "0::/system.slice/web.service/x_slurmstepd.scope/job_9/step_0/user\n";
  const char *const folders[] = { "/v1/kept/slurm/uid_0/job_9", "/v2/system.slice/web.service/x_slurmstepd.scope/job_9",
                                  "/v2/system.slice/slurmstepd.scope/job_9" };
  struct machine machine;
  char path[256];

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  scratch_write (&machine.scratch, "/proc/self/mountinfo",
                 "31 30 0:27 / /v2 rw - cgroup2 cgroup2 rw\n32 30 0:28 / /v1 rw - cgroup cgroup rw,cpu,cpuset\n");
  for (size_t i = 0; i < 3; i++) {
    snprintf (path, sizeof path, "%s/cpu.stat", folders[i]);
    scratch_write (&machine.scratch, path, "usage_usec 9\nuser_usec 5\nsystem_usec 4\n");
    snprintf (path, sizeof path, "%s%s", machine.scratch.root, folders[i]);
    assert_int_equal (chown (path, i < 2 ? 1002 : 0, 0), 0);
  }
  machine_put (&machine, (struct made){ .pid = 20, .cgroup = cgroup, .start = 5, .user = 50 });
  machine_give_to (&machine, 20, 1002);
  machine_open (&machine, "");
  scans (&machine, 2);
  assert_int_equal (job_scan_count (machine.scan), 0);
  machine_put (
      &machine,
      (struct made){ .pid = 21, .environment = "SLURM_JOB_ID=9", .cgroup = cgroup, .start = 100200, .user = 50 });
  machine_give_to (&machine, 21, 1002);
  machine_put (
      &machine,
      (struct made){ .pid = 30, .environment = "SLURM_JOB_ID=9", .cgroup = SLURM_9, .start = 100200, .user = 7 });
  machine_give_to (&machine, 30, 1001);
  scans (&machine, 12);
  assert_int_equal (job_scan_count (machine.scan), 2);
  assert_string_equal (user_of (&machine, "9"), "1001");
  assert_true (machine_need_job (&machine, "9")->trusted);
  assert_int_equal (machine_need_job (&machine, "9@1002")->identity.uid, 1002);
  assert_false (machine_need_job (&machine, "9@1002")->trusted);
  machine_free (&machine);
}

/* ---- places ---- */

static void
put_jobs (struct machine *machine, int first, int count, uid_t user, unsigned start)
{
  char environment[64];

  for (int i = 0; i < count; i++) {
    snprintf (environment, sizeof environment, "SYNOP_JOB_ID=u%u-%d", (unsigned) user, i);
    machine_put (machine, (struct made){ .pid = first + i, .environment = environment, .start = start, .user = 1 });
    machine_give_to (machine, first + i, user);
  }
}

static size_t
jobs_of (const struct machine *machine, uint32_t user)
{
  size_t count = 0;

  for (size_t i = 0; i < job_scan_count (machine->scan); i++)
    count += job_scan_job (machine->scan, i)->charged_uid == user;
  return count;
}

/* One user has taken all places: others get theirs, root's and the scheduler's jobs too, and the error says who. */
static void
test_places_are_shared (void **state)
{
  struct machine machine;

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  put_jobs (&machine, 1000, JOBS_MAX + 50, 1002, 5);
  machine_open (&machine, "");
  scans (&machine, 3);
  assert_int_equal (job_scan_count (machine.scan), JOBS_MAX);
  put_jobs (&machine, 5000, 3, 1001, 100350);
  machine_put (&machine, (struct made){ .pid = 6000, .environment = "SYNOP_JOB_ID=root", .start = 100350 });
  machine_put (&machine, (struct made){ .pid = 6001, .cgroup = SLURM_9, .start = 100350 });
  machine_give_to (&machine, 6001, 1003);
  scans (&machine, 5);
  for (int i = 0; i < 3; i++) {
    char label[32];
    snprintf (label, sizeof label, "u1001-%d", i);
    machine_need_job (&machine, label);
  }
  machine_need_job (&machine, "root");
  machine_need_job (&machine, "9");
  assert_int_equal (job_scan_count (machine.scan), JOBS_MAX);
  assert_int_equal (jobs_of (&machine, 1002), JOBS_MAX - 5);
  assert_non_null (strstr (job_scan_error (machine.scan), "of user 1002"));

  /* Those that gave their places come back when there is room. */
  for (int i = 0; i < 100; i++)
    machine_end (&machine, 1000 + i);
  scans (&machine, 180);
  assert_in_range (jobs_of (&machine, 1002), JOBS_MAX - 51,
                   JOBS_MAX - 50); /* of 1074, 100 ended; the id of one may have been missed */
  assert_string_equal (job_scan_error (machine.scan), "");
  machine_free (&machine);
}

/* A claim for which there is no label takes no place from anybody. */
static void
test_claim_without_a_label_displaces_nobody (void **state)
{
  struct machine machine;

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  put_jobs (&machine, 1000, JOBS_MAX - 2, 1002, 5);
  for (int i = 0; i < 2; i++) {
    machine_put (
        &machine,
        (struct made){ .pid = 900 + i, .environment = i ? "SYNOP_JOB_ID=a@1001" : "SYNOP_JOB_ID=a", .start = 5 });
    machine_give_to (&machine, 900 + i, 1002);
  }
  machine_open (&machine, "");
  scans (&machine, 3);
  assert_int_equal (jobs_of (&machine, 1002), JOBS_MAX);
  machine_put (&machine, (struct made){ .pid = 5000, .environment = "SYNOP_JOB_ID=a", .start = 100350 });
  machine_give_to (&machine, 5000, 1001);
  scans (&machine, 4);
  assert_int_equal (jobs_of (&machine, 1002), JOBS_MAX);
  machine_free (&machine);
}

static void
test_user_who_begins_many (void **state)
{
  struct machine machine;
  size_t count;

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  machine_open (&machine, "");
  scans (&machine, 1);
  put_jobs (&machine, 1000, 400, 1002, 100150);
  put_jobs (&machine, 2000, 5, 1001, 100150);
  scans (&machine, 2);
  count = job_scan_count (machine.scan);
  assert_in_range (count, JOB_USER_BURST + 5, JOB_USER_BURST + 7);
  machine_need_job (&machine, "u1001-4");
  assert_non_null (strstr (job_scan_error (machine.scan), "user 1002 begins more than"));
  scans (&machine, 60); /* the others come one by one */
  count = job_scan_count (machine.scan);
  assert_in_range (count, JOB_USER_BURST + 5 + 20, JOB_USER_BURST + 5 + 32);
  put_jobs (&machine, 3000, 100, 1003, 5); /* those that ran before the agent did, and are found late, do not wait */
  scans (&machine, 2);
  assert_int_equal (jobs_of (&machine, 1003), 100);
  machine_free (&machine);
}

static void
test_users (void **state)
{
  struct job_users users = { 0 };

  (void) state;
  assert_null (job_users_most (&users));
  for (int i = 0; i < JOB_USER_BURST; i++) {
    assert_true (job_users_may_begin (&users, 7, 1000));
    job_users_add (&users, 7, 1000);
  }
  assert_false (job_users_may_begin (&users, 7, 1000));
  assert_true (job_users_may_begin (&users, 8, 1000));
  assert_true (job_users_may_begin (&users, 7, 1000 + JOB_USER_PAUSE_NS));
  for (uint32_t uid = 100; uid < 1100; uid++) { /* those who left make room */
    job_users_add (&users, uid, 1000);
    job_users_remove (&users, uid);
  }
  assert_int_equal (job_users_most (&users)->uid, 7);
  assert_int_equal (job_users_most (&users)->jobs, JOB_USER_BURST);
  job_users_add (&users, 5, 1000 + 2 * JOB_USER_PAUSE_NS);
  assert_int_equal (users.count, 2);
  assert_int_equal (job_users_count (&users, 5), 1);
  assert_int_equal (job_users_count (&users, 6), 0);
  job_users_free (&users);
}

/* ---- what hangs ---- */

/* A file of a file system whose server never answers, as any user may have one: whoever opens it waits. The mount is
 * in this process's own namespace. Returns the server's end, whose closing ends the wait. */
static int
mount_dead_file (const struct machine *machine, int pid, const char *name)
{
  char path[256], options[128];
  int fuse = open ("/dev/fuse", O_RDWR | O_CLOEXEC);

  if (fuse < 0) {
    print_message ("# skipped: /dev/fuse cannot be opened: %s\n", strerror (errno));
    skip ();
  }
  if (unshare (CLONE_NEWNS) < 0 || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
    print_message ("# skipped: no mount namespace of its own: %s\n", strerror (errno));
    skip ();
  }
  snprintf (path, sizeof path, "%s/proc/%d/%s", machine->scratch.root, pid, name);
  snprintf (options, sizeof options, "fd=%d,rootmode=100444,user_id=0,group_id=0", fuse);
  assert_int_equal (mount ("dead", path, "fuse", MS_NOSUID | MS_NODEV, options), 0);
  return fuse;
}

static void
unmount_dead_file (const struct machine *machine, int pid, const char *name, int fuse)
{
  char path[256];

  close (fuse);
  snprintf (path, sizeof path, "%s/proc/%d/%s", machine->scratch.root, pid, name);
  assert_int_equal (umount2 (path, MNT_DETACH), 0);
}

/* Threads come back when the machine gets to it. */
static void
scan_until (struct machine *machine, bool (*holds) (const struct machine *))
{
  int64_t deadline_ns = clock_monotonic () + 60 * NS_PER_S;

  while (!holds (machine) && clock_monotonic () < deadline_ns) {
    usleep (1000);
    machine_scan (machine);
  }
  assert_true (holds (machine));
}

static bool
other_is_found (const struct machine *machine)
{
  return machine_job (machine, "a") != NULL;
}

static bool
nothing_hangs (const struct machine *machine)
{
  return !*job_scan_error (machine->scan);
}

/* A user's processes do not answer: other users' jobs are found all the same, so is the one of his that lies in a
 * cgroup, the error says whose processes these are, and all is well again when they answer. */
static void
test_processes_that_hang (void **state)
{
  struct machine machine;
  int fuse[6];

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  machine.stuck_ns = 250 * NS_PER_MS;
  for (int pid = 30; pid < 36; pid++) {
    machine_put (&machine, (struct made){ .pid = pid,
                                          .environment = "SYNOP_JOB_ID=hung",
                                          .cgroup = pid == 35 ? SLURM_9 : NULL,
                                          .start = 5 });
    machine_give_to (&machine, pid, 1002);
    fuse[pid - 30] = mount_dead_file (&machine, pid, "environ");
  }
  machine_put (&machine, (struct made){ .pid = 40, .environment = "SYNOP_JOB_ID=a", .start = 5, .user = 1 });
  machine_give_to (&machine, 40, 1001);
  machine_open (&machine, "");
  scans (&machine, 4);
  scan_until (&machine, other_is_found); /* a loaded machine may have given it up the first time */
  assert_int_equal (job_scan_count (machine.scan), 2);
  assert_string_equal (user_of (&machine, "9"), "1002");
  assert_non_null (strstr (job_scan_error (machine.scan), "processes of user 1002 hangs"));

  for (int pid = 30; pid < 36; pid++)
    unmount_dead_file (&machine, pid, "environ", fuse[pid - 30]);
  scan_until (&machine, nothing_hangs);
  scans (&machine, 25);
  assert_int_equal (machine_need_job (&machine, "hung")->now.processes, 5);
  assert_string_equal (job_scan_error (machine.scan), "");
  machine_free (&machine);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_two_users_claim_one_id),
    cmocka_unit_test (test_cgroup_contradicts_claim),
    cmocka_unit_test (test_user_in_environment),
    cmocka_unit_test (test_places_are_shared),
    cmocka_unit_test (test_claim_without_a_label_displaces_nobody),
    cmocka_unit_test (test_user_who_begins_many),
    cmocka_unit_test (test_users),
    cmocka_unit_test (test_processes_that_hang),
    cmocka_unit_test (test_folders_that_users_make),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
