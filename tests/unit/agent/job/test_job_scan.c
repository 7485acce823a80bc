/* Scans of a machine that the test makes up: whose a process is, and that totals hold whatever becomes of it. */
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/agent/job/job_machine.h"

#define JOB_A "SYNOP_JOB_ID=a"
#define OF_FLUX "FLUX_JOB_ID=a"

static uint64_t
user_time (const struct machine *machine, const char *label)
{
  return machine_need_job (machine, label)->totals.total[PROCESS_USER];
}

static void
test_one_job (void **state)
{
  struct machine machine;
  struct job *job;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 1, .comm = "init" });
  machine_put (&machine, (struct made){ .pid = 20,
                                        .parent = 1,
                                        .comm = "a) (b",
                                        .environment = JOB_A,
                                        .start = 5000,
                                        .user = 300,
                                        .system = 20,
                                        .chars = 12345 });
  machine_put (&machine, (struct made){ .pid = 21, .parent = 20, .start = 5000, .user = 1, .thread = true });
  machine_open (&machine, "");
  machine_scan (&machine);
  job = machine_need_job (&machine, "a");
  assert_int_equal (job_scan_count (machine.scan), 1);
  assert_string_equal (job->command, "a) (b");
  assert_int_equal (job->cpus, 4);
  assert_int_equal (job->now.processes, 1);
  assert_int_equal (job->now.threads, 2);
  assert_int_equal (job->now.vms, 8192000);
  assert_int_equal (job->now.rss, 100 * sysconf (_SC_PAGESIZE));
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (300));
  assert_int_equal (job->totals.total[PROCESS_SYSTEM], TICKS (20));
  assert_int_equal (job->totals.usage, TICKS (320) / 4);
  assert_int_equal (job->totals.total[PROCESS_READ_CHARS], 12345);
  assert_int_equal (job->totals.started_ns, (INT64_C (1700000000) + 50) * NS_PER_S);
  assert_int_equal (job_scan_memory (machine.scan), 4000 * 1024);
  for (int i = 0; i < 5; i++)
    machine_scan (&machine);
  assert_int_equal (job->now.shared, 44 * 1024);
  assert_int_equal (job->now.swap, 8 * 1024);
  assert_int_equal (job->now.pss, 30 * 1024);
  assert_int_equal (job->now.uss, 20 * 1024);
  assert_int_equal (job->totals.total[PROCESS_VOLUNTARY], 7);
  assert_int_equal (job->totals.total[PROCESS_INVOLUNTARY], 2);
  assert_int_equal (job->totals.total[PROCESS_STARTED], 1);
  machine_free (&machine);
}

/* A job that ended is there until all groups have shown it, with its last totals. */
static void
test_job_ends (void **state)
{
  struct machine machine;
  struct job *job;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = OF_FLUX, .start = 5, .user = 300 });
  machine_open (&machine, "");
  job_scan_set_groups (machine.scan, 3);
  machine_scan (&machine);
  machine_end (&machine, 20);
  machine_scan (&machine);
  job = machine_need_job (&machine, "a");
  assert_true (job->ended);
  assert_int_equal (job->now.processes, 0);
  assert_int_equal (job->totals.ended, 1);
  assert_int_equal (user_time (&machine, "a"), TICKS (300));
  job->shown = 1;
  machine_scan (&machine);
  assert_non_null (machine_job (&machine, "a"));
  job->shown = 3;
  machine_scan (&machine);
  assert_null (machine_job (&machine, "a"));

  /* It goes on: the same job. */
  machine_put (&machine, (struct made){ .pid = 30, .environment = OF_FLUX, .start = 100400, .user = 7 });
  machine_scan (&machine);
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (307));
  assert_int_equal (machine_need_job (&machine, "a")->totals.total[PROCESS_STARTED], 2);
  machine_free (&machine);
}

/* A name that is used again is another run: it waits until the first was shown to the end, and begins with nothing. */
static void
test_name_is_used_again (void **state)
{
  struct machine machine;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 5, .user = 300 });
  machine_open (&machine, "");
  job_scan_set_groups (machine.scan, 1);
  machine_scan (&machine);
  machine_end (&machine, 20);
  machine_scan (&machine);
  assert_true (machine_need_job (&machine, "a")->ended);
  machine_put (&machine, (struct made){ .pid = 30, .environment = JOB_A, .start = 100400, .user = 7 });
  machine_scan (&machine);
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (300));
  machine_need_job (&machine, "a")->shown = 1;
  for (int i = 0; i < 20 && !(machine_job (&machine, "a") && !machine_job (&machine, "a")->ended); i++)
    machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (7));
  assert_int_equal (machine_need_job (&machine, "a")->totals.total[PROCESS_STARTED], 1);
  machine_free (&machine);
}

/* A child belongs to its parent's job whatever its environment says, and stays when the tree or session is left. */
static void
test_children_stay (void **state)
{
  struct machine machine;
  struct made daemon = { .pid = 21, .parent = 20, .comm = "daemon", .start = 100100, .user = 5 };

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 5, .user = 300 });
  machine_open (&machine, "");
  machine_scan (&machine);
  machine_put (&machine, daemon);
  machine_scan (&machine);
  assert_int_equal (machine_need_job (&machine, "a")->now.processes, 2);
  daemon.parent = 1; /* its parent ended */
  daemon.user = 50;
  machine_put (&machine, daemon);
  machine_end (&machine, 20);
  machine_scan (&machine);
  machine_scan (&machine);
  assert_int_equal (machine_need_job (&machine, "a")->now.processes, 1);
  assert_int_equal (user_time (&machine, "a"), TICKS (350));
  machine_put (&machine, (struct made){ .pid = 22, .parent = 21, .start = 100300, .user = 1 });
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (351));
  machine_free (&machine);
}

/* Forked by something of no job, and seen before it began its own program. */
static void
test_exec_after_fork (void **state)
{
  struct machine machine;

  (void) state;
  for (int scans = 1; scans <= 7; scans++) { /* that it takes until the program begins */
    machine_init (&machine);
    machine_open (&machine, "");
    machine_scan (&machine);
    machine_put (&machine, (struct made){ .pid = 20, .comm = "launcher", .start = 100100, .user = 1 });
    for (int i = 0; i < scans; i++)
      machine_scan (&machine);
    assert_null (machine_job (&machine, "a"));
    machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 100100, .user = 9 });
    for (int i = 0; i < 6; i++)
      machine_scan (&machine);
    assert_int_equal (user_time (&machine, "a"), TICKS (9));
    machine_free (&machine);
  }
}

/* A scheduler's process is watched for as long as it lives: a task may wait in it for the other nodes. */
static void
test_scheduler_is_watched (void **state)
{
  struct machine machine;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .comm = "slurmstepd", .start = 5 });
  machine_open (&machine, "");
  for (int i = 0; i < 100; i++)
    machine_scan (&machine);
  assert_int_equal (job_scan_count (machine.scan), 0);
  machine_put (&machine, (struct made){ .pid = 20, .environment = "SLURM_JOB_ID=12", .start = 5, .user = 9 });
  for (int i = 0; i < 10; i++)
    machine_scan (&machine);
  assert_int_equal (user_time (&machine, "12"), TICKS (9));
  machine_free (&machine);
}

static void
test_id_is_used_again (void **state)
{
  struct machine machine;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = OF_FLUX, .start = 5, .user = 300 });
  machine_open (&machine, "");
  job_scan_set_groups (machine.scan, 1); /* that never shows it: it stays */
  machine_scan (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = OF_FLUX, .start = 100050, .user = 10 });
  machine_scan (&machine);
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (310));
  assert_int_equal (machine_need_job (&machine, "a")->totals.total[PROCESS_STARTED], 2);
  assert_int_equal (machine_need_job (&machine, "a")->totals.ended, 1);
  machine_put (&machine, (struct made){ .pid = 20, .start = 100250, .user = 77 }); /* of nobody's job */
  machine_scan (&machine);
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (310));
  assert_true (machine_need_job (&machine, "a")->ended);
  machine_free (&machine);
}

/* What the kernel adds to a parent that waits for a child was counted already while the child lived. */
static void
test_nothing_is_counted_twice (void **state)
{
  struct machine machine;
  struct made parent = { .pid = 20, .environment = JOB_A, .start = 5, .user = 100, .chars = 1000 };
  struct made child = { .pid = 21, .parent = 20, .start = 100150, .user = 30, .chars = 500 };
  struct job *job;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, parent);
  machine_open (&machine, "");
  machine_scan (&machine);
  machine_put (&machine, child);
  machine_scan (&machine);
  job = machine_need_job (&machine, "a");
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (130));
  assert_int_equal (job->totals.total[PROCESS_READ_CHARS], 1500);

  /* The child did a little more, ended, and was waited for; the parent did a little, too. */
  machine_end (&machine, 21);
  parent.user = 101;
  parent.children_user = 34;
  parent.chars = 1000 + 560 + 7;
  machine_put (&machine, parent);
  machine_scan (&machine);
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (135));
  assert_int_equal (job->totals.total[PROCESS_READ_CHARS], 1567);

  /* One that was never seen. */
  parent.children_user += 11;
  parent.chars += 11;
  machine_put (&machine, parent);
  machine_scan (&machine);
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (146));
  assert_int_equal (job->totals.total[PROCESS_READ_CHARS], 1578);

  /* A grandchild and a child end at once; the parent's jump is read one scan later. */
  child.pid = 22;
  machine_put (&machine, child);
  machine_scan (&machine);
  machine_put (&machine, (struct made){ .pid = 23, .parent = 22, .start = 100155, .user = 50, .chars = 5 });
  machine_scan (&machine);
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (226));
  machine_end (&machine, 22);
  machine_end (&machine, 23);
  machine_scan (&machine);
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (226));
  parent.children_user += 80;
  parent.chars += 505;
  machine_put (&machine, parent);
  machine_scan (&machine);
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (226));
  assert_int_equal (job->totals.total[PROCESS_READ_CHARS], 1578 + 505);

  /* A child that nobody waited for: the parent owes nothing for long. */
  child.pid = 24;
  machine_put (&machine, child);
  machine_scan (&machine);
  machine_end (&machine, 24);
  machine_scan (&machine);
  machine_scan (&machine);
  parent.user += 10;
  machine_put (&machine, parent);
  machine_scan (&machine);
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (226 + 30 + 10));
  assert_int_equal (job->totals.total[PROCESS_STARTED], 5);
  assert_int_equal (job->totals.ended, 4);
  machine_free (&machine);
}

/* Who ignores SIGCHLD gets nothing of its children, so it owes nothing. */
static void
test_parent_that_does_not_wait (void **state)
{
  struct machine machine;
  struct made parent = { .pid = 20, .environment = JOB_A, .start = 5, .user = 100, .deaf = true };

  (void) state;
  machine_init (&machine);
  machine_put (&machine, parent);
  machine_put (&machine, (struct made){ .pid = 21, .parent = 20, .start = 6, .user = 30 });
  machine_children (&machine, 20, "21 ");
  machine_open (&machine, "");
  machine_scan (&machine);
  machine_scan (&machine);
  machine_scan (&machine);
  machine_end (&machine, 21);
  parent.user = 120;
  machine_put (&machine, parent);
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (150));
  machine_free (&machine);
}

/* A zombie has ended, and no job waits for who should wait for it. */
static void
test_zombie (void **state)
{
  struct machine machine;
  struct made process = { .pid = 20, .environment = JOB_A, .start = 5, .user = 100 };

  (void) state;
  machine_init (&machine);
  machine_put (&machine, process);
  machine_open (&machine, "");
  machine_scan (&machine);
  process.state = 'Z';
  process.user = 110;
  machine_put (&machine, process);
  machine_scan (&machine);
  assert_true (machine_need_job (&machine, "a")->ended);
  assert_int_equal (machine_need_job (&machine, "a")->totals.ended, 1);
  assert_int_equal (user_time (&machine, "a"), TICKS (110));
  machine_scan (&machine);
  machine_scan (&machine);
  assert_null (machine_job (&machine, "a"));
  machine_free (&machine);
}

static void
test_jobs_share_a_node (void **state)
{
  struct machine machine;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = "SLURM_JOB_ID=7", .start = 5, .user = 1 });
  machine_put (&machine, (struct made){ .pid = 21, .environment = "SLURM_JOB_ID=8 SLURM_STEP_ID=0", .user = 10 });
  machine_put (&machine, (struct made){ .pid = 22, .environment = "SLURM_JOB_ID=8 SLURM_STEP_ID=1", .user = 20 });
  machine_put (&machine,
               (struct made){ .pid = 23, .environment = "SLURM_JOB_ID=7 SLURM_RESTART_COUNT=1", .user = 400 });
  machine_put (&machine, (struct made){ .pid = 24, .environment = "BATCH_NAME=x", .user = 5000 });
  machine_put (&machine, (struct made){ .pid = 25, .user = 60000 });
  machine_open (&machine, "");
  machine_scan (&machine);
  assert_int_equal (job_scan_count (machine.scan), 4);
  assert_int_equal (user_time (&machine, "7"), TICKS (1));
  assert_int_equal (user_time (&machine, "8"), TICKS (30));
  assert_int_equal (user_time (&machine, "7/1"), TICKS (400));
  assert_int_equal (user_time (&machine, "x"), TICKS (5000));
  machine_free (&machine);
}

/* ---- cgroups ---- */

#define STEP "0::/system.slice/n1_slurmstepd.scope/job_5/step_0/user/task_0\n"
#define FOLDER "/sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_5"

static void
set_cgroup (const struct machine *machine, unsigned user_ms, unsigned system_ms)
{
  char text[100];

  snprintf (text, sizeof text, "usage_usec %u\nuser_usec %u\nsystem_usec %u\n", (user_ms + system_ms) * 1000,
            user_ms * 1000, system_ms * 1000);
  scratch_write (&machine->scratch, FOLDER "/cpu.stat", text);
}

static void
machine_with_cgroup (struct machine *machine)
{
  machine_init (machine);
  scratch_write (&machine->scratch, "/proc/self/mountinfo",
                 "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n31 30 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
}

/* The cgroup counts those that were never seen; who is outside of it is added. */
static void
test_cgroup_counts (void **state)
{
  struct machine machine;
  struct made inside = { .pid = 20, .environment = "SLURM_JOB_ID=5 SLURM_CPUS_ON_NODE=2", .cgroup = STEP, .user = 100 };
  struct made outside = { .pid = 21, .environment = "SLURM_JOB_ID=5", .user = 1000 };

  (void) state;
  machine_with_cgroup (&machine);
  set_cgroup (&machine, 7000, 500);
  machine_put (&machine, inside);
  machine_put (&machine, outside);
  machine_open (&machine, machine.accounting);
  machine_scan (&machine);
  assert_true (machine_need_job (&machine, "5")->by_cgroup);
  assert_int_equal (user_time (&machine, "5"), TICKS (700 + 1000));
  assert_int_equal (machine_need_job (&machine, "5")->totals.total[PROCESS_SYSTEM], TICKS (50));
  assert_int_equal (machine_need_job (&machine, "5")->totals.usage, TICKS (1750) / 2);
  inside.user = 150;
  machine_put (&machine, inside);
  outside.user = 1001;
  machine_put (&machine, outside);
  set_cgroup (&machine, 7600, 500);
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "5"), TICKS (760 + 1001));

  /* The agent is restarted while the cgroup goes on counting. */
  job_scan_destroy (machine.scan);
  set_cgroup (&machine, 9000, 500);
  machine_open (&machine, machine.accounting);
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "5"), TICKS (900 + 1001));
  machine_free (&machine);
}

/* First its processes are all that is known, then there is a cgroup. */
static void
test_cgroup_comes_later (void **state)
{
  const struct {
    unsigned first_ms, told;
  } ways[] = {
    { 9000, 900 }, /* it knows more than was seen */
    { 200, 700 },  /* it began later: what was seen stays */
  };

  (void) state;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    struct machine machine;
    struct made process = { .pid = 20, .environment = "SLURM_JOB_ID=5", .cgroup = STEP, .start = 5, .user = 700 };

    machine_with_cgroup (&machine);
    machine_put (&machine, process);
    scratch_write (&machine.scratch, FOLDER "/cgroup.procs", "20\n");
    machine_open (&machine, "");
    machine_scan (&machine);
    assert_false (machine_need_job (&machine, "5")->by_cgroup);
    assert_int_equal (user_time (&machine, "5"), TICKS (700));
    set_cgroup (&machine, ways[i].first_ms, 0);
    for (int j = 0; j < 70; j++) /* until folders are looked for again */
      machine_scan (&machine);
    assert_true (machine_need_job (&machine, "5")->by_cgroup);
    assert_int_equal (user_time (&machine, "5"), TICKS (ways[i].told));
    set_cgroup (&machine, ways[i].first_ms + 100, 0);
    machine_scan (&machine);
    assert_int_equal (user_time (&machine, "5"), TICKS (ways[i].told + 10));
    scratch_remove (&machine.scratch, FOLDER);
    process.user = 701;
    machine_put (&machine, process);
    machine_scan (&machine);
    assert_true (user_time (&machine, "5") >= TICKS (ways[i].told + 10));
    machine_free (&machine);
  }
}

/* ---- an agent that is killed ---- */

/* Two scans by a program that is killed then. */
static void
scan_and_be_killed (struct machine *machine)
{
  pid_t child = fork ();
  int status;

  if (child == 0) {
    machine_open (machine, machine->accounting);
    machine_scan (machine);
    machine_scan (machine);
    machine_scan (machine);
    kill (getpid (), SIGKILL);
  }
  assert_int_equal (waitpid (child, &status, 0), child);
  assert_true (WIFSIGNALED (status));
  machine->now_ns += 3 * NS_PER_S;
}

static void
test_restart (void **state)
{
  struct machine machine;
  struct made one = { .pid = 20, .environment = JOB_A, .start = 5, .user = 100, .chars = 100 };
  struct made two = { .pid = 21, .environment = JOB_A, .start = 6, .user = 50, .chars = 10 };
  struct job *job;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, one);
  machine_put (&machine, two);
  scan_and_be_killed (&machine);
  scan_and_be_killed (&machine); /* while nothing happens: nothing is counted again */

  /* While no agent runs one goes on, the other ends, and a third begins. */
  one.user = 180;
  machine_put (&machine, one);
  machine_end (&machine, 21);
  machine.now_ns += 5 * NS_PER_S;
  machine_put (&machine,
               (struct made){
                   .pid = 22, .environment = JOB_A, .start = (unsigned) (machine.now_ns / 10000000 - 100), .user = 7 });
  machine_open (&machine, machine.accounting);
  machine_scan (&machine);
  job = machine_need_job (&machine, "a");
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (180 + 7)); /* 150 at least, 237 in truth */
  assert_int_equal (job->totals.total[PROCESS_READ_CHARS], 110);
  assert_int_equal (job->totals.total[PROCESS_STARTED], 3);
  assert_int_equal (job->totals.total[PROCESS_VOLUNTARY], 14);
  assert_int_equal (job->totals.ended, 0);
  for (int i = 0; i < 31; i++)
    machine_scan (&machine);
  assert_int_equal (job->totals.ended, 1);
  one.user = 190;
  machine_put (&machine, one);
  machine_scan (&machine);
  assert_int_equal (job->totals.total[PROCESS_USER], TICKS (197));
  machine_free (&machine);
}

/* All that counted has ended meanwhile: the totals stay where they were. */
static void
test_restart_never_falls (void **state)
{
  struct machine machine;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 5, .user = 100 });
  machine_put (&machine, (struct made){ .pid = 21, .environment = JOB_A, .start = 6, .user = 1 });
  scan_and_be_killed (&machine);
  machine_end (&machine, 20);
  machine_open (&machine, machine.accounting);
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (101));
  machine_free (&machine);

  machine_init (&machine); /* another start of the machine: another job */
  machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 5, .user = 100 });
  scan_and_be_killed (&machine);
  scratch_write (&machine.scratch, "/proc/sys/kernel/random/boot_id", "two\n");
  machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 5, .user = 3 });
  machine_open (&machine, machine.accounting);
  machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (3));
  machine_free (&machine);
}

/* ---- bounds ---- */

static void
test_too_many_jobs (void **state)
{
  struct machine machine;
  char environment[64];

  (void) state;
  machine_init (&machine);
  for (int i = 0; i < JOBS_MAX + 6; i++) {
    snprintf (environment, sizeof environment, "SYNOP_JOB_ID=j%d", i);
    machine_put (&machine, (struct made){ .pid = 100 + i, .environment = environment, .start = 5, .user = 1 });
  }
  machine_open (&machine, "");
  machine_scan (&machine);
  machine_scan (&machine); /* the first waits a moment only */
  assert_int_equal (job_scan_count (machine.scan), JOBS_MAX);
  assert_non_null (strstr (job_scan_error (machine.scan), "more than 1024 jobs"));
  for (int i = 0; i < 10; i++) /* of these some are known */
    machine_end (&machine, 100 + i);
  for (int i = 0; i < 20; i++)
    machine_scan (&machine);
  assert_int_equal (job_scan_count (machine.scan), JOBS_MAX - 4);
  assert_string_equal (job_scan_error (machine.scan), "");
  machine_free (&machine);
}

static void
test_machine_without_proc (void **state)
{
  const struct job_scan_options options = { .root = "/nonexistent", .pss_period_ns = 1, .accounting = "" };
  struct job_scan *scan = job_scan_create (&options);

  (void) state;
  assert_int_equal (job_scan_run (scan, 1, 1), -1);
  assert_string_equal (job_scan_error (scan), "/nonexistent/proc: No such file or directory");
  job_scan_destroy (scan);
}

/* Files that are cut or hold anything else change nothing and end nothing. */
static void
test_strange_files (void **state)
{
  const char *const strange[] = { "", "20", "20 (x", "20 (x)", "20 (x) S", "20 (x) S 1 2 3", ")(", "\377\377(\377)" };
  struct machine machine;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 5, .user = 100, .chars = 9 });
  machine_open (&machine, "");
  machine_scan (&machine);
  for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
    const char *const names[] = { "stat", "io", "status", "smaps_rollup" };

    for (size_t j = 0; j < 4; j++)
      machine_write (&machine, 20, names[j], strange[i], strlen (strange[i]));
    for (int j = 0; j < 12; j++)
      machine_scan (&machine);
    assert_int_equal (user_time (&machine, "a"), TICKS (100));
    assert_int_equal (machine_need_job (&machine, "a")->now.processes, 1);
    assert_int_equal (machine_need_job (&machine, "a")->totals.total[PROCESS_READ_CHARS], 9);
  }
  machine_free (&machine);
}

/* ---- users ---- */

static void
test_other_users_without_privilege (void **state)
{
  struct machine machine;

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 5, .user = 100 });
  machine_put (&machine, (struct made){ .pid = 21, .environment = "SYNOP_JOB_ID=b", .start = 5, .user = 100 });
  machine_put (&machine, (struct made){ .pid = 22, .start = 5, .user = 100 });
  machine_put (&machine, (struct made){ .pid = 23, .parent = 20, .start = 6, .user = 20 });
  machine_children (&machine, 20, "23 ");
  machine_give_to (&machine, 20, 1001);
  machine_give_to (&machine, 21, 1002);
  machine_give_to (&machine, 22, 0); /* the system's: no job is missed */
  machine_give_to (&machine, 23, 1002);
  assert_int_equal (chmod (machine.scratch.root, 0755), 0);
  machine_open (&machine, "");
  assert_int_equal (seteuid (1001), 0);
  job_scan_run (machine.scan, machine.now_ns, NS_PER_S);
  job_scan_wait (machine.scan, clock_monotonic () + 60 * NS_PER_S);
  job_scan_run (machine.scan, machine.now_ns + NS_PER_S, NS_PER_S);
  assert_int_equal (seteuid (0), 0);
  assert_int_equal (job_scan_count (machine.scan), 1);
  assert_int_equal (user_time (&machine, "a"), TICKS (120)); /* a child of it is seen without its environment */
  assert_int_equal (job_scan_io_denied (machine.scan), 1);
  assert_non_null (strstr (job_scan_error (machine.scan), "CAP_SYS_PTRACE"));
  machine_free (&machine);
}

/* Anybody may write any environment: it counts for a job of one's own only. */
static void
test_environment_of_another_user (void **state)
{
  struct machine machine;

  (void) state;
  machine_needs_root ();
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 5, .user = 100 });
  machine_give_to (&machine, 20, 1001);
  machine_put (&machine, (struct made){ .pid = 22, .environment = "SLURM_JOB_ID=9 SLURM_JOB_UID=1001", .user = 7 });
  machine_give_to (&machine, 22, 1002);
  machine_open (&machine, "");
  machine_scan (&machine);
  machine_put (&machine, (struct made){ .pid = 21, .environment = JOB_A, .start = 100100, .user = 9 });
  machine_give_to (&machine, 21, 1002);
  for (int i = 0; i < 10; i++)
    machine_scan (&machine);
  assert_int_equal (user_time (&machine, "a"), TICKS (100));
  assert_int_equal (user_time (&machine, "a@1002"), TICKS (9));
  assert_null (machine_job (&machine, "9"));
  machine_free (&machine);
}

/* ---- what hangs ---- */

/* In the place of libc's: opening the environment waits as it does for a process that is stuck in the kernel. */
int
openat (int folder, const char *path, int flags, ...)
{
  return (int) syscall (SYS_openat, folder, path, flags & ~O_NONBLOCK, 0);
}

static void
test_environment_that_hangs (void **state)
{
  struct machine machine;
  char path[128];
  int fd;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = JOB_A, .start = 5, .user = 100 });
  machine_open (&machine, "");
  machine_scan (&machine);
  machine_put (&machine, (struct made){ .pid = 30, .start = 100100 });
  scratch_remove (&machine.scratch, "/proc/30/environ");
  snprintf (path, sizeof path, "%s/proc/30/environ", machine.scratch.root);
  assert_int_equal (mkfifo (path, 0600), 0);
  for (int i = 1; i < 20; i++) { /* would never return */
    struct made one = { .pid = 20, .environment = JOB_A, .start = 5, .user = 100 + (unsigned) i };

    machine_put (&machine, one);
    assert_int_equal (job_scan_run (machine.scan, machine.now_ns + i * NS_PER_S, NS_PER_S), 0);
    assert_int_equal (user_time (&machine, "a"), TICKS (100 + i));
  }
  assert_false (job_scan_wait (machine.scan, clock_monotonic ()));
  fd = open (path, O_WRONLY);
  assert_true (fd >= 0);
  close (fd);
  assert_true (job_scan_wait (machine.scan, clock_monotonic () + 60 * NS_PER_S));
  machine_free (&machine);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_one_job),
    cmocka_unit_test (test_job_ends),
    cmocka_unit_test (test_children_stay),
    cmocka_unit_test (test_exec_after_fork),
    cmocka_unit_test (test_scheduler_is_watched),
    cmocka_unit_test (test_id_is_used_again),
    cmocka_unit_test (test_name_is_used_again),
    cmocka_unit_test (test_nothing_is_counted_twice),
    cmocka_unit_test (test_parent_that_does_not_wait),
    cmocka_unit_test (test_zombie),
    cmocka_unit_test (test_jobs_share_a_node),
    cmocka_unit_test (test_cgroup_counts),
    cmocka_unit_test (test_cgroup_comes_later),
    cmocka_unit_test (test_restart),
    cmocka_unit_test (test_restart_never_falls),
    cmocka_unit_test (test_too_many_jobs),
    cmocka_unit_test (test_machine_without_proc),
    cmocka_unit_test (test_strange_files),
    cmocka_unit_test (test_other_users_without_privilege),
    cmocka_unit_test (test_environment_of_another_user),
    cmocka_unit_test (test_environment_that_hangs),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
