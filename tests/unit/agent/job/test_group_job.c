/* The job groups: their rows on a made-up machine, and what real processes did. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/agent/job/job_machine.h"

#define JOB_GROUPS_TESTED 5

static const struct sampler *const all[JOB_GROUPS_TESTED] = { &sampler_job_info, &sampler_job_cpu, &sampler_job_memory,
                                                              &sampler_job_io, &sampler_job_processes };
enum { INFO, CPU, MEMORY, IO, PROCESSES };

struct scene {
  struct agent_options *options;
  struct sampled groups[JOB_GROUPS_TESTED];
};

static void
scene_open (struct scene *scene, const char *root)
{
  *scene = (struct scene){ .options = options_for (root, "%s", "") };
  for (int i = 0; i < JOB_GROUPS_TESTED; i++) {
    scene->groups[i].options = scene->options;
    sampled_open (&scene->groups[i], all[i], root);
  }
}

static void
scene_sample (struct scene *scene)
{
  for (int i = 0; i < JOB_GROUPS_TESTED; i++) {
    bool fine = sampled_again (&scene->groups[i]) == 0;

    if (scene->options->context.root[0]) /* the machine on which this runs may have others' processes */
      assert_true (fine);
  }
}

static void
scene_close (struct scene *scene)
{
  for (int i = 0; i < JOB_GROUPS_TESTED; i++)
    sampled_close (&scene->groups[i]);
  agent_options_destroy (scene->options);
}

/* Until the job has its rows, or any job has; what is asked in threads takes a while. */
static void
scene_wait (struct scene *scene, const char *label)
{
  int64_t end_ns = clock_monotonic () + 60 * NS_PER_S;

  do {
    scene_sample (scene);
    if (sampled_has_row (&scene->groups[PROCESSES], label))
      return;
    usleep (5000);
  } while (clock_monotonic () < end_ns);
  fail_msg ("no job %s", label);
}

/* How many CPUs the recorded machine had is not known, and this one's are others. */
static void
test_cpus_of_a_recorded_machine (void **state)
{
  struct machine machine;
  struct scene scene;

  (void) state;
  machine_init (&machine);
  scratch_remove (&machine.scratch, "/sys/devices/system/cpu/online");
  machine_put (&machine, (struct made){ .pid = 20, .environment = "SYNOP_JOB_ID=a", .start = 50, .user = 100 });
  scene_open (&scene, machine.scratch.root);
  scene_wait (&scene, "a");
  assert_missing (&scene.groups[INFO], "a", "cpus");
  assert_missing (&scene.groups[CPU], "a", "cpus");
  assert_missing (&scene.groups[CPU], "a", "usage");
  assert_uint (&scene.groups[CPU], "a", "user_time", TICKS (100));
  scene_close (&scene);
  machine_free (&machine);
}

static void
test_rows (void **state)
{
  struct machine machine;
  struct scene scene;

  (void) state;
  machine_init (&machine);
  machine_put (
      &machine,
      (struct made){ .pid = 20,
                     .environment =
                         "SLURM_JOB_ID=103 SLURM_ARRAY_JOB_ID=100 SLURM_ARRAY_TASK_ID=3 "
                         "SLURM_JOB_USER=ann SLURM_JOB_NAME=wave SLURM_CPUS_ON_NODE=2 "
                         "SLURMD_NODENAME=n1 SLURM_JOB_NUM_NODES=2 SLURM_JOB_NODELIST=n[1-2] SLURM_JOB_GPUS=0,1",
                     .start = 50,
                     .user = 100,
                     .system = 20,
                     .chars = 77 });
  scene_open (&scene, machine.scratch.root);
  scene_wait (&scene, "103");
  assert_text (&scene.groups[INFO], "103", "scheduler", "slurm");
  assert_text (&scene.groups[INFO], "103", "user", "ann");
  assert_text (&scene.groups[INFO], "103", "name", "wave");
  assert_text (&scene.groups[INFO], "103", "command", "work");
  assert_text (&scene.groups[INFO], "103", "array", "100_3");
  assert_text (&scene.groups[INFO], "103", "node_list", "n[1-2]");
  assert_text (&scene.groups[INFO], "103", "gpus", "0,1");
  assert_text (&scene.groups[INFO], "103", "source", "processes");
  assert_uint (&scene.groups[INFO], "103", "cpus", 2);
  assert_uint (&scene.groups[INFO], "103", "nodes", 2);
  assert_uint (&scene.groups[INFO], "103", "uid", getuid ());
  assert_uint (&scene.groups[CPU], "103", "user_time", TICKS (100));
  assert_uint (&scene.groups[CPU], "103", "system_time", TICKS (20));
  assert_uint (&scene.groups[CPU], "103", "usage", TICKS (60));
  assert_uint (&scene.groups[CPU], "103", "cpus", 2);
  assert_uint (&scene.groups[MEMORY], "103", "rss", 100 * (uint64_t) sysconf (_SC_PAGESIZE));
  assert_uint (&scene.groups[MEMORY], "103", "rss_peak", 100 * (uint64_t) sysconf (_SC_PAGESIZE));
  assert_real (&scene.groups[MEMORY], "103", "percent",
               100 * (100.0 * (double) sysconf (_SC_PAGESIZE)) / (4000.0 * 1024));
  assert_missing (&scene.groups[MEMORY], "103", "pss");
  assert_missing (&scene.groups[MEMORY], "103", "cgroup_current");
  assert_missing (&scene.groups[MEMORY], "103", "oom_kills");
  assert_uint (&scene.groups[IO], "103", "read_chars", 77);
  assert_uint (&scene.groups[IO], "103", "read_calls", 3);
  assert_uint (&scene.groups[IO], "103", "read_bytes", 4096);
  assert_missing (&scene.groups[IO], "103", "cgroup_read_bytes");
  assert_uint (&scene.groups[PROCESSES], "103", "processes", 1);
  assert_uint (&scene.groups[PROCESSES], "103", "started", 1);
  assert_uint (&scene.groups[PROCESSES], "103", "ended", 0);

  for (int i = 0; i < 2; i++)
    scene_sample (&scene);
  assert_text (&scene.groups[INFO], "103", "name", "wave");
  assert_int_equal (scene.groups[CPU].table.rows, 1);

  machine_end (&machine, 20); /* each group shows it once more */
  scene_sample (&scene);
  assert_uint (&scene.groups[CPU], "103", "user_time", TICKS (100));
  assert_uint (&scene.groups[MEMORY], "103", "rss", 0);
  assert_uint (&scene.groups[PROCESSES], "103", "processes", 0);
  assert_uint (&scene.groups[PROCESSES], "103", "ended", 1);
  scene_sample (&scene);
  for (int i = 0; i < JOB_GROUPS_TESTED; i++)
    assert_int_equal (scene.groups[i].table.rows, 0);
  scene_close (&scene);
  machine_free (&machine);
}

/* A group that is sampled more seldom than the others does not miss the end. */
/* Each table of job_info has all jobs. */
static void
test_info_is_whole (void **state)
{
  struct machine machine;
  struct scene scene;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = "SYNOP_JOB_ID=a", .start = 50, .user = 100 });
  scene_open (&scene, machine.scratch.root);
  scene_wait (&scene, "a");
  for (int i = 0; i < 3; i++)
    scene_sample (&scene);
  assert_true (sampled_has_row (&scene.groups[INFO], "a"));
  machine_put (&machine, (struct made){ .pid = 30, .environment = "SYNOP_JOB_ID=b", .start = 60, .user = 100 });
  scene_wait (&scene, "b");
  assert_true (sampled_has_row (&scene.groups[INFO], "a"));
  assert_true (sampled_has_row (&scene.groups[INFO], "b"));
  scene_close (&scene);
  machine_free (&machine);
}

static void
test_slow_group_sees_the_end (void **state)
{
  struct machine machine;
  struct scene scene;

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = "SYNOP_JOB_ID=a", .start = 5, .user = 100 });
  scene_open (&scene, machine.scratch.root);
  scene_wait (&scene, "a");
  machine_end (&machine, 20);
  for (int i = 0; i < 5; i++) {
    assert_int_equal (sampled_again (&scene.groups[CPU]), 0);
    assert_int_equal (scene.groups[CPU].table.rows, i == 0);
  }
  assert_int_equal (sampled_again (&scene.groups[PROCESSES]), 0);
  assert_uint (&scene.groups[PROCESSES], "a", "ended", 1);
  scene_close (&scene);
  machine_free (&machine);
}

static void
test_without_proc (void **state)
{
  struct scene scene;

  (void) state;
  scene_open (&scene, "/nonexistent");
  for (int i = 0; i < JOB_GROUPS_TESTED; i++) {
    assert_int_equal (sampled_again (&scene.groups[i]), -1);
    assert_non_null (strstr (scene.groups[i].table.error, "/nonexistent/proc"));
  }
  scene_close (&scene);
}

/* A group for itself scans for itself. */
static void
test_one_alone (void **state)
{
  struct machine machine;
  struct sampled sampled = { 0 };

  (void) state;
  machine_init (&machine);
  sampled_open (&sampled, &sampler_job_cpu, machine.scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  assert_string_equal (sampled.table.error, "");
  sampled_close (&sampled);
  machine_free (&machine);
}

/* ---- real processes ---- */

struct shell {
  pid_t pid;
  int input, output;
  char label[32];
};

/* A shell that is a job, with its standard input and output at our end. */
static void
shell_start (struct shell *shell, const char *script)
{
  char variable[64];
  int input[2], output[2];

  snprintf (shell->label, sizeof shell->label, "unit-%d", (int) getpid ());
  snprintf (variable, sizeof variable, "SYNOP_JOB_ID=%s", shell->label);
  assert_int_equal (pipe2 (input, O_CLOEXEC), 0);
  assert_int_equal (pipe2 (output, O_CLOEXEC), 0);
  shell->pid = fork ();
  if (shell->pid == 0) {
    char *arguments[] = { (char *) "sh", (char *) "-c", (char *) script, NULL };
    char *environment[] = { variable, (char *) "PATH=/usr/bin:/bin", NULL };

    dup2 (input[0], 0);
    dup2 (output[1], 1);
    execve ("/bin/sh", arguments, environment);
    _exit (1);
  }
  close (input[0]);
  close (output[1]);
  shell->input = input[1];
  shell->output = output[0];
}

static void
shell_expect (const struct shell *shell, const char *line)
{
  char got[32] = "";

  for (size_t i = 0; i < sizeof got - 1 && !strchr (got, '\n'); i++)
    if (read (shell->output, &got[i], 1) != 1)
      break;
  got[strcspn (got, "\n")] = 0;
  assert_string_equal (got, line);
}

static void
shell_go_on (const struct shell *shell)
{
  assert_int_equal (write (shell->input, "\n", 1), 1);
}

/* What was read must be that, and what programs read for themselves. */
static void
assert_read (struct scene *scene, const struct shell *shell, uint64_t expected)
{
  uint64_t chars;

  for (int i = 0; i < 3; i++)
    scene_sample (scene);
  chars = sampled_value (&scene->groups[IO], shell->label, "read_chars")->as.u;
  assert_in_range (chars, expected, expected + 500000);
}

/* Children that nobody saw count through who waited for them, and those that were seen count once. */
static void
test_real_processes (void **state)
{
  struct shell shell;
  struct scene scene;
  const struct value *started;
  int status;

  (void) state;
  if (getenv ("SLURM_JOB_ID") || getenv ("SYNOP_JOB_ID") || getenv ("PBS_JOBID")) {
    print_message ("# skipped: this runs in a job, and so does what it starts\n");
    skip ();
  }
  shell_start (&shell, "echo ready; read a; head -c 3000000 /dev/zero >/dev/null; echo one; read a;"
                       "sh -c 'head -c 2000000 /dev/zero >/dev/null; echo two; read b;"
                       "head -c 2000000 /dev/zero >/dev/null; exit 0'; echo three; read a; exit 0");
  shell_expect (&shell, "ready");
  scene_open (&scene, "");
  scene_wait (&scene, shell.label);
  started = sampled_value (&scene.groups[INFO], shell.label, "started");
  if (sampled_has_row (&scene.groups[INFO], shell.label))
    assert_in_range ((uint64_t) started->as.d, (uint64_t) (clock_wall () / NS_PER_S) - 600,
                     (uint64_t) (clock_wall () / NS_PER_S) + 1);
  assert_uint (&scene.groups[PROCESSES], shell.label, "processes", 1);
  shell_go_on (&shell);
  shell_expect (&shell, "one");
  assert_read (&scene, &shell, 3000000);
  shell_go_on (&shell);
  shell_expect (&shell, "two");
  assert_read (&scene, &shell, 5000000);
  assert_uint (&scene.groups[PROCESSES], shell.label, "processes", 2);
  shell_go_on (&shell);
  shell_expect (&shell, "three");
  assert_read (&scene, &shell, 7000000);
  assert_uint (&scene.groups[PROCESSES], shell.label, "processes", 1);
  assert_uint (&scene.groups[PROCESSES], shell.label, "ended", 1);
  shell_go_on (&shell);
  shell_expect (&shell, ""); /* the end of its output */
  assert_int_equal (waitid (P_PID, (id_t) shell.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
  scene_sample (&scene); /* a zombie of ours now */
  assert_uint (&scene.groups[PROCESSES], shell.label, "processes", 0);
  assert_uint (&scene.groups[PROCESSES], shell.label, "ended", 2);
  scene_sample (&scene);
  assert_false (sampled_has_row (&scene.groups[PROCESSES], shell.label));
  assert_int_equal (waitpid (shell.pid, &status, 0), shell.pid);
  assert_int_equal (status, 0);
  close (shell.input);
  close (shell.output);
  scene_close (&scene);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_rows),           cmocka_unit_test (test_cpus_of_a_recorded_machine),
    cmocka_unit_test (test_info_is_whole),  cmocka_unit_test (test_slow_group_sees_the_end),
    cmocka_unit_test (test_without_proc),   cmocka_unit_test (test_one_alone),
    cmocka_unit_test (test_real_processes),
  };
  signal (SIGPIPE, SIG_IGN);
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
