/* "agent bench-node": a minute of work on all CPUs, once in a machine's life. */
#include "agent/bench_command.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command.h"
#include "agent/peaks/peaks.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/file.h"
#include "synop/log.h"

#define LOAD_MUCH 0.5 /* processes that want to run meanwhile */

struct arguments {
  char *file;
  int64_t time_ns;
  int log_level;
  struct command_page page;
};

static const struct option options[] = {
  { "", "file", NULL, OPTION_PATH, offsetof (struct arguments, file), PEAKS_FILE,
    .help = "Where the peaks are kept, for the agent's [peaks] file. \"-\": nowhere." },
  { "", "time", NULL, OPTION_DURATION, offsetof (struct arguments, time_ns), "60s", "1s", "1h",
    .help = "How long it works: a third of that for each of the three." },
  { "", "log_level", NULL, OPTION_CHOICE, offsetof (struct arguments, log_level), "info", .choices = log_level_names,
    .help = "What is logged to standard error." },
};

static const char head[] =
    "Usage: synop-agent bench-node [--time 60s] [--file FILE]\n"
    "\n"
    "Measures what this machine can do at most: bytes a second between memory and CPUs (STREAM's triad), and\n"
    "floating-point operations a second (multiply-adds, with the widest instructions that it has). All CPUs that it "
    "may use\n"
    "work meanwhile, so it is to be run once, when nothing else runs. Reports of jobs compare with it "
    "(docs/report.md).\n"
    "\n";
static const char tail[] = "\nExit codes: 0 measured and kept; 1 could not be; 2 wrong arguments.\n";

static int
bench_fail (int code, struct error *error)
{
  error_prefix (error, "bench-node: ");
  return command_fail (code, error);
}

static void
warn_of_load (void)
{
  double load;

  if (getloadavg (&load, 1) == 1 && load > LOAD_MUCH)
    log_warning ("bench-node: the load is %.1f: what else runs here makes the peaks too low", load);
}

/* Returns the exit code, as `measure` does. */
static int
show (const struct peaks *peaks, const char *file)
{
  struct buffer text = { 0 };
  bool kept = strcmp (file, "-") != 0;
  int rc;

  buffer_printf (&text,
                 "memory bandwidth    %10.1f GB/s\n"
                 "double precision    %10.1f GFLOP/s\n"
                 "single precision    %10.1f GFLOP/s\n"
                 "%u threads, %s%s%s\n",
                 peaks->memory_bandwidth / 1e9, peaks->flops_double / 1e9, peaks->flops_single / 1e9, peaks->threads,
                 peaks->vectors, kept ? "; kept in " : "", kept ? file : "");
  rc = file_print (&text);
  buffer_free (&text);
  return rc;
}

static int
measure (const struct arguments *arguments)
{
  bool kept = strcmp (arguments->file, "-") != 0;
  struct peaks peaks;
  struct error error;

  warn_of_load ();
  if ((kept && peaks_check (arguments->file, &error) < 0) || peaks_measure (&peaks, arguments->time_ns, &error) < 0 ||
      (kept && peaks_write (&peaks, arguments->file, &error) < 0))
    return bench_fail (EXIT_FAILED, &error);
  return show (&peaks, arguments->file);
}

int
bench_command (int argc, char **argv)
{
  struct arguments arguments = { 0 };
  struct config *config = config_create (options, sizeof options / sizeof *options, &arguments, NULL);
  struct error error;
  int result, count;

  config_set_program (config, "synop-agent bench-node", NULL);
  count = config_read_operands (config, argc, argv, NULL, 0, NULL, command_page_ask, &arguments.page, &error);
  if (command_page_is_asked (&arguments.page)) {
    result = command_page_write (&arguments.page, config, head, tail);
  } else if (count < 0) {
    result = bench_fail (EXIT_USAGE, &error);
  } else {
    log_set_level ((enum log_level) arguments.log_level);
    result = measure (&arguments);
  }
  config_destroy (config);
  return result;
}
