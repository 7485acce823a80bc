/* The aggregator: a table of contents. `keys` has options of its own; the others share theirs. */
#include <signal.h>
#include <string.h>

#include "aggregator/api/api_read.h"
#include "aggregator/command/commands.h"
#include "aggregator/command/export.h"
#include "aggregator/config/options.h"
#include "aggregator/scheduler/ask.h"
#include "aggregator/server/server.h"
#include "aggregator/view_list.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/notify.h"
#include "synop/version.h"

static int (*const commands[]) (const struct options *options) = {
  [COMMAND_SERVE] = server_run,  [COMMAND_TAIL] = client_tail,  [COMMAND_STATUS] = client_status,
  [COMMAND_REPLAY] = replay_run, [COMMAND_EXPORT] = export_run, [COMMAND_CHECK] = check_run,
  [COMMAND_JOBS] = job_list_run, [COMMAND_JOB] = job_run,       [COMMAND_REPORT] = report_run,
  [COMMAND_QUERY] = query_run,   [COMMAND_TOP] = top_command,   [COMMAND_TRACE] = trace_run,
  [COMMAND_SEND] = send_run,     [COMMAND_TOKEN] = token_run,
};

#define VIEW_ADDRESS(name) &name,
static const struct view *const views[] = { VIEW_LIST (VIEW_ADDRESS) NULL };

static int
main_print (const struct options *options)
{
  struct buffer text = { 0 };
  int code;

  if (options->action == ACTION_HELP)
    aggregator_options_help (options, &text);
  else if (options->action == ACTION_VERSION)
    buffer_add_string (&text, "synop aggregator " SYNOP_VERSION "\n");
  else
    (options->markdown ? config_print_markdown : config_print) (options->config, &text);
  code = file_print (&text);
  buffer_free (&text);
  return code;
}

static int
run (enum options_command command, int argc, char **argv)
{
  struct options options = { .views = views };
  struct error error;
  int code;

  if (aggregator_options_read (&options, command, argc, argv, &error) < 0) {
    log_error ("%s", error.text);
    if (command == COMMAND_SERVE)
      notify_failed (NULL, &error);
    code = 2;
  } else {
    code = options.action == ACTION_RUN ? commands[command](&options) : main_print (&options);
  }
  aggregator_options_free (&options);
  return code;
}

int
main (int argc, char **argv)
{
  file_claim_standard ();
  signal (SIGPIPE, SIG_IGN);
  signal (SIGXFSZ, SIG_IGN); /* a file that grew too large is an error like any other */
  signal (SIGCHLD, SIG_DFL); /* who started us may ignore it; then nobody learns how a child ended */
  if (argc > 1 && strcmp (argv[1], "help") == 0) { /* "help report" is "report --help" */
    argv[1] = argc > 2 ? argv[2] : (char *) "--help";
    argv[2] = argc > 2 ? (char *) "--help" : NULL;
    argc = argc > 2 ? 3 : 2;
  }
  if (argc > 1 && strcmp (argv[1], "keys") == 0)
    return aggregator_keys_command (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], API_READ_COMMAND) == 0)
    return api_read_main (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], ASK_COMMAND) == 0)
    return ask_main (argc - 1, argv + 1);
  for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
    if (strcmp (argv[1], options_commands[i]) == 0 && *argv[1])
      return run ((enum options_command) i, argc - 2, argv + 2);
  return run (COMMAND_SERVE, argc > 0 ? argc - 1 : 0, argc > 0 ? argv + 1 : argv);
}
