/* What following jobs costs on a node with many processes.
 *
 *   bench_jobs PROCESSES OF_JOB asleep|awake      makes them, and says so with a line of JSON
 *
 * Then each line "run SECONDS" on standard input samples the job groups once a second, in this process, and is answered
 * by a line with the CPU time that it took with all its threads. The processes sleep for good; "awake", those of the job
 * wake ten times a second, compute a little, read and write, so that nothing of them stays as it was. All end with this
 * one, however it ends. Where it may, it goes into a pid namespace of its own: processes that begin elsewhere on the
 * machine meanwhile, each of which is looked at, are no part of the figure then ("alone"). */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/groups.h"
#include "agent/sampling/sampling.h"
#include "synop/clock.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "tests/lib/options_for.h"

#define PROCESSES_MAX 20000
#define WARM_UP 12 /* seconds: until what is read every ten has been */

static void
die_with_parent (pid_t parent)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != parent)
    _exit (0);
}

/* A process of the job. */
static int
work (bool awake)
{
  const struct timespec tenth = { .tv_nsec = 100 * NS_PER_MS };
  FILE *zero = fopen ("/dev/zero", "r"), *null = fopen ("/dev/null", "w");
  volatile uint64_t sum = 0;
  char page[4096];

  while (!awake)
    pause ();
  while (zero && null) {
    nanosleep (&tenth, NULL);
    for (int i = 0; i < 200000; i++)
      sum = sum * 31 + (uint64_t) i;
    if (fread (page, sizeof page, 1, zero) != 1 || fwrite (page, sizeof page, 1, null) != 1)
      return 1;
  }
  return 1;
}

static void
start (bool of_job, const char *how)
{
  pid_t parent = getpid (), child = fork ();

  if (child < 0) {
    perror ("bench_jobs: fork");
    exit (1);
  }
  if (child != 0)
    return;
  die_with_parent (parent);
  if (of_job) {
    char *arguments[] = { (char *) "job", (char *) how, NULL },
         *environment[] = { (char *) "SYNOP_JOB_ID=bench", NULL };

    execve ("/proc/self/exe", arguments, environment);
    _exit (1);
  }
  for (;;)
    pause ();
}

/* True in a child that is the first process of a new namespace, with the /proc of that. This one waits for it. */
static bool
go_alone (void)
{
  pid_t child;
  int status = 0;

  if (unshare (CLONE_NEWPID | CLONE_NEWNS) < 0)
    return false;
  child = fork ();
  if (child < 0)
    return false;
  if (child != 0) {
    while (waitpid (child, &status, 0) < 0)
      ;
    exit (WIFEXITED (status) ? WEXITSTATUS (status) : 1);
  }
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  return mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount ("proc", "/proc", "proc", 0, NULL) == 0;
}

static int64_t
cpu_time (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static size_t
sample_for (struct sampling *sampling, long seconds)
{
  struct sample sample;
  size_t rows = 0;

  for (long i = 0; i < seconds; i++) {
    int64_t due_ns = sampling_next_due (sampling);
    struct timespec due = { .tv_sec = (time_t) (due_ns / NS_PER_S), .tv_nsec = (long) (due_ns % NS_PER_S) };

    clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    sampling_run (sampling, clock_monotonic (), &sample);
    rows = sample.tables[sample.count - 1]->rows; /* job_processes */
  }
  return rows;
}

static void
answer (struct json *json)
{
  json_object_end (json);
  json_newline (json);
  fwrite (json->out.data, 1, json->out.length, stdout);
  fflush (stdout);
  json->out.length = 0;
}

static void
run (struct sampling *sampling, struct json *json, long seconds)
{
  int64_t before = cpu_time ();
  size_t rows = sample_for (sampling, seconds);

  json_object (json);
  json_key (json, "ms_per_s");
  json_real (json, (double) (cpu_time () - before) / 1e6 / (double) seconds);
  json_key (json, "jobs");
  json_uint (json, rows);
  answer (json);
}

static struct sampling *
open_job_groups (const struct sampler_context *context)
{
  int64_t *periods = memory_new (sampler_count, sizeof *periods);
  struct sampling *sampling;

  for (size_t i = 0; i < sampler_count; i++)
    periods[i] = strncmp (samplers[i]->group->name, "job_", 4) == 0 ? NS_PER_S : 0;
  sampling = sampling_create (samplers, periods, sampler_count, context);
  sampling_start (sampling, clock_monotonic ());
  free (periods);
  return sampling;
}

int
main (int argc, char **argv)
{
  struct agent_options *options;
  struct json json = { 0 };
  struct sampling *sampling;
  int64_t before;
  long processes, of_job;
  char line[64];

  if (argc == 2 && strcmp (argv[0], "job") == 0)
    return work (strcmp (argv[1], "awake") == 0);
  processes = argc == 4 ? strtol (argv[1], NULL, 10) : 0;
  of_job = argc == 4 ? strtol (argv[2], NULL, 10) : 0;
  if (of_job < 1 || processes < of_job || processes > PROCESSES_MAX) {
    fprintf (stderr, "usage: bench_jobs PROCESSES OF_JOB asleep|awake   (at most %d)\n", PROCESSES_MAX);
    return 2;
  }
  json_object (&json);
  json_key (&json, "alone");
  json_bool (&json, go_alone ());
  for (long i = 0; i < processes; i++)
    start (i * of_job / processes != (i + 1) * of_job / processes, argv[3]); /* spread among the others */
  before = cpu_time ();
  options = options_for ("", "%s", "");
  sampling = open_job_groups (&options->context);
  sample_for (sampling, 1);
  json_key (&json, "first_ms");
  json_real (&json, (double) (cpu_time () - before) / 1e6);
  sample_for (sampling, WARM_UP);
  answer (&json);
  while (fgets (line, sizeof line, stdin)) {
    long seconds = strncmp (line, "run ", 4) == 0 ? strtol (line + 4, NULL, 10) : 0;

    if (seconds > 0)
      run (sampling, &json, seconds);
  }
  sampling_destroy (sampling);
  agent_options_destroy (options);
  json_free (&json);
  return 0;
}
