/* "agent run": gives the job's id to a command in its environment, and where that is permitted a cgroup folder of its
 * own, which also counts processes that no sample saw. Where no agent listens this process becomes the command: its id, its
 * signals and its exit code are the command's, and nothing stays behind. Else it stays beside the command to say how that
 * ended (run_watch.h).
 *
 * Inside a job that a scheduler or another "agent run" keeps in a cgroup, the command counts as a part of that job: it
 * stays in that cgroup. */
#include "agent/run_command.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/command.h"
#include "agent/job/job_identity.h"
#include "agent/job/run_cgroup.h"
#include "agent/job/run_end.h"
#include "agent/run_watch.h"
#include "synop/config.h"
#include "synop/log.h"

enum { EXIT_CANNOT = 126, EXIT_ABSENT = 127 };

struct arguments {
  char *job, *socket;
  int log_level;
  struct command_page page;
};

static int
check_job (const char *value, struct error *error)
{
  if (job_id_is_valid (value))
    return 0;
  return error_set (error, "\"%.64s\": expected 1 to 100 letters, digits and ._:@+-[]#", value);
}

static const struct option options[] = {
  { "", "job", NULL, OPTION_TEXT, offsetof (struct arguments, job), "", .check = check_job,
    .help = "The job's id: one name on all its nodes. When it has ended the name begins another run." },
  { "", "socket", NULL, OPTION_PATH, offsetof (struct arguments, socket), RUN_END_SOCKET,
    .help = "Where the agent of this node listens ([jobs] socket): it is sent the exit code. Empty: nobody is." },
  { "", "log_level", NULL, OPTION_CHOICE, offsetof (struct arguments, log_level), "info", .choices = log_level_names,
    .help = "What is logged to standard error." },
};

static const char head[] =
    "Usage: synop-agent run --job NAME [--] COMMAND [ARGUMENT...]\n"
    "\n"
    "Runs a command as a job, on machines without a scheduler: agents find its processes, and those\n"
    "they start, by SYNOP_JOB_ID in their environment. Where it is permitted the command gets a cgroup\n"
    "of its own, so that what its short-lived processes use is counted too.\n"
    "\n";
static const char tail[] =
    "\nExit codes: the command's; 2 wrong arguments; 126 the command cannot be run; 127 there is no such command.\n";

static int
become (const char *job, char **command)
{
  struct job_identity identity;
  struct error error;
  int failed;

  if (setenv ("SYNOP_JOB_ID", job, 1) != 0 || setenv ("SYNOP_JOB_NAME", job, 1) != 0) {
    error_set (&error, "run: the environment: %s", strerror (errno));
    return command_fail (EXIT_FAILED, &error);
  }
  if (!run_cgroup_find_job (&identity))
    run_cgroup_enter (job);
  else if (identity.scheduler != JOB_SYNOP || strcmp (identity.id, job) != 0)
    log_warning ("run: this is inside of %s job %s, and is counted as that", job_scheduler_name (identity.scheduler),
                 identity.id);
  execvp (command[0], command);
  failed = errno;
  error_set (&error, "run: %.128s: %s", command[0], strerror (failed));
  return command_fail (failed == ENOENT ? EXIT_ABSENT : EXIT_CANNOT, &error);
}

/* Of a command that is a part of a job that is there already, this end is not the job's. */
static bool
is_inside (const char *job)
{
  const char *outer = getenv ("SYNOP_JOB_ID");
  struct job_identity identity;

  return (outer && strcmp (outer, job) == 0) || run_cgroup_find_job (&identity);
}

static int
run (const struct arguments *arguments, char **command)
{
  int fd = is_inside (arguments->job) ? -1 : run_end_connect (arguments->socket);

  return fd < 0 ? become (arguments->job, command) : run_watch (fd, arguments->job, command, become);
}

int
run_command (int argc, char **argv)
{
  struct arguments arguments = { 0 };
  struct config *config = config_create (options, sizeof options / sizeof *options, &arguments, NULL);
  int result, at = 1;
  struct error error;

  config_set_program (config, "synop-agent run", NULL);
  int read = config_read_arguments (config, argc, argv, &at, NULL, command_page_ask, &arguments.page, &error);
  if (command_page_is_asked (&arguments.page)) {
    result = command_page_write (&arguments.page, config, head, tail);
  } else if (read < 0) {
    result = command_fail (EXIT_USAGE, &error);
  } else if (*arguments.job == '\0' || at == argc) {
    error_set (&error, "run: expected %s: \"synop-agent run --job NAME -- COMMAND\"; see \"synop-agent run --help\"",
               at == argc ? "a command" : "--job NAME");
    result = command_fail (EXIT_USAGE, &error);
  } else {
    log_set_level ((enum log_level) arguments.log_level);
    result = run (&arguments, argv + at);
  }
  config_destroy (config);
  return result;
}
