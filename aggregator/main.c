/* The aggregator: a table of contents. `keys` has options of its own; the others share theirs. */
#include <signal.h>
#include <string.h>

#include "aggregator/client.h"
#include "aggregator/keys_command.h"
#include "aggregator/options.h"
#include "aggregator/server.h"
#include "aggregator/standard_output.h"
#include "synop/log.h"
#include "synop/version.h"

static int (*const commands[]) (const struct options *options) = {
  [COMMAND_SERVE] = server_run,
  [COMMAND_TAIL] = client_tail,
  [COMMAND_STATUS] = client_status,
};

static int
tell (const struct options *options)
{
  struct buffer text = { 0 };
  int code;

  if (options->action == ACTION_HELP)
    options_help (options, &text);
  else if (options->action == ACTION_VERSION)
    buffer_add_string (&text, "synop aggregator " SYNOP_VERSION "\n");
  else
    (options->markdown ? config_print_markdown : config_print) (options->config, &text);
  code = standard_output_text (&text);
  buffer_free (&text);
  return code;
}

static int
run (enum options_command command, int argc, char **argv)
{
  struct options options = { 0 };
  struct error error;
  int code;

  if (options_read (&options, command, argc, argv, &error) < 0) {
    log_error ("%s", error.text);
    code = 2;
  } else {
    code = options.action == ACTION_RUN ? commands[command](&options) : tell (&options);
  }
  options_free (&options);
  return code;
}

int
main (int argc, char **argv)
{
  standard_output_claim ();
  signal (SIGPIPE, SIG_IGN);
  if (argc > 1 && strcmp (argv[1], "keys") == 0)
    return keys_command (argc - 1, argv + 1);
  if (argc > 1 && strcmp (argv[1], "tail") == 0)
    return run (COMMAND_TAIL, argc - 2, argv + 2);
  if (argc > 1 && strcmp (argv[1], "status") == 0)
    return run (COMMAND_STATUS, argc - 2, argv + 2);
  return run (COMMAND_SERVE, argc > 0 ? argc - 1 : 0, argc > 0 ? argv + 1 : argv);
}
