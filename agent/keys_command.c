/* "agent keys init": makes this node's keys and says which two files to copy. It reads no configuration file, so that it
 * works before there is one. */
#include "agent/keys_command.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "agent/command.h"
#include "synop/config.h"
#include "synop/file.h"
#include "synop/frame.h"
#include "synop/key_folder.h"
#include "synop/log.h"

struct arguments {
  char *keys, *node;
  int log_level;
  struct command_page page;
};

static int
check_node (const char *value, struct error *error)
{
  return node_name_check (value, strlen (value), error);
}

static const struct option options[] = {
  { "", "keys", NULL, OPTION_PATH, offsetof (struct arguments, keys), "/etc/synop/keys",
    .help = "The folder for agent.key and agent.pub." },
  { "", "node", NULL, OPTION_TEXT, offsetof (struct arguments, node), "", .check = check_node,
    .help = "This node's name. Empty: the host's name up to its first dot." },
  { "", "log_level", NULL, OPTION_CHOICE, offsetof (struct arguments, log_level), "info", .choices = log_level_names,
    .help = "What is logged to standard error." },
};

static const char head[] =
    "Usage: synop-agent keys init [--keys DIR] [--node NAME]\n"
    "\n"
    "Makes this node's pair of keys: agent.key, which never leaves this machine, and agent.pub,\n"
    "which the aggregator needs. Keys that are there already are not overwritten.\n"
    "\n";
static const char tail[] = "\nExit codes: 0 made; 1 could not be made; 2 wrong arguments.\n";

static int
host_name (char name[FRAME_NODE_MAX + 1], struct error *error)
{
  char host[256] = "";
  if (gethostname (host, sizeof host - 1) != 0)
    return error_set (error, "this host's name: %s", strerror (errno));
  size_t length = strcspn (host, ".");
  if (node_name_check (host, length, error) != 0)
    return error_prefix (error, "the host's name cannot be the node's, say --node NAME: ");
  memcpy (name, host, length);
  name[length] = '\0';
  return 0;
}

static int
init (const struct arguments *arguments)
{
  char name[FRAME_NODE_MAX + 1];
  const char *node = arguments->node, *keys = arguments->keys;
  struct error error;

  if (*node == '\0') {
    if (host_name (name, &error) != 0)
      return command_fail (EXIT_USAGE, &error);
    node = name;
  }
  if (key_folder_init (keys, "agent", node, &error) != 0)
    return command_fail (EXIT_FAILED, &error);

  struct buffer text = { 0 };
  buffer_printf (&text,
                 "Made %s/agent.key and %s/agent.pub for node %s. Two copies are left to make:\n"
                 "  1. %s/agent.pub to the master, and there run: synop-aggregator keys add %s agent.pub\n"
                 "  2. the master's aggregator.pub to this node, as %s/aggregator.pub\n",
                 keys, keys, node, keys, node, keys);
  int result = file_print (&text);
  buffer_free (&text);
  return result;
}

int
agent_keys_command (int argc, char **argv)
{
  struct arguments arguments = { 0 };
  struct config *config = config_create (options, sizeof options / sizeof *options, &arguments, NULL);
  const char *operands[1];
  struct error error;
  int result;

  signal (SIGPIPE, SIG_IGN);
  config_set_program (config, "synop-agent keys", NULL);
  int count = config_read_operands (config, argc, argv, operands, 1, NULL, command_page_ask, &arguments.page, &error);
  log_set_level ((enum log_level) arguments.log_level);
  if (command_page_is_asked (&arguments.page)) {
    result = command_page_write (&arguments.page, config, head, tail);
  } else if (count < 0) {
    result = command_fail (EXIT_USAGE, &error);
  } else if (count == 0 || strcmp (operands[0], "init") != 0) {
    error_set (&error, "expected \"synop-agent keys init\"; see \"synop-agent keys --help\"");
    if (count > 0)
      config_hint_nearest (&error, operands[0], (const char *const[]){ "init", NULL });
    result = command_fail (EXIT_USAGE, &error);
  } else {
    result = init (&arguments);
  }
  config_destroy (config);
  return result;
}
