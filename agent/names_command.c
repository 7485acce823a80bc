/* Names files are checked against the groups and metrics that this agent has. */
#include "agent/names_command.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

#include "agent/command.h"
#include "agent/groups.h"
#include "synop/data_folder.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/naming.h"

enum { EXIT_FOUND = 1 };

struct arguments {
  int log_level;
  struct command_page page;
};

static const struct option options[] = {
  { "", "log_level", NULL, OPTION_CHOICE, offsetof (struct arguments, log_level), "info", .choices = log_level_names,
    .help = "What is logged to standard error." },
};

static const char head[] =
    "Usage: synop-agent names SET...\n"
    "\n"
    "Reads sets of names for Prometheus: node-exporter, dcgm-exporter, moneo, or the path of a file. A wrong line is\n"
    "an error. A line that names a group or metric that this agent does not have is shown, with the nearest existing\n"
    "name. docs/prometheus.md describes such files.\n"
    "\n";
static const char tail[] =
    "\nExit codes: 0 this agent has all that the lines name; 1 some is missing; 2 a file or line is wrong.\n";

static size_t
check (const struct naming *naming, struct buffer *found)
{
  const struct group **groups = memory_new (sampler_count, sizeof *groups);
  struct schema *schema;
  size_t count;

  for (size_t i = 0; i < sampler_count; i++)
    groups[i] = samplers[i]->group;
  schema = schema_create (groups, sampler_count);
  count = naming_check (naming, schema, found);
  schema_destroy (schema);
  free (groups);
  return count;
}

static int
check_sets (const char *const *sets, int count)
{
  struct naming *naming = naming_create ();
  struct buffer text = { 0 };
  struct error error;
  char folder[PATH_MAX];
  int rc = EXIT_FINE;

  data_folder ("aggregator", "names", folder, sizeof folder);
  for (int i = 0; rc == EXIT_FINE && i < count; i++)
    if (naming_load (naming, sets[i], folder, &error) < 0)
      rc = command_fail (EXIT_USAGE, &error);
  if (rc == EXIT_FINE && check (naming, &text) != 0)
    rc = EXIT_FOUND;
  if (file_print (&text) != 0)
    rc = EXIT_FAILED;
  buffer_free (&text);
  naming_destroy (naming);
  return rc;
}

int
names_command (int argc, char **argv)
{
  struct arguments arguments = { 0 };
  struct config *config = config_create (options, sizeof options / sizeof *options, &arguments, NULL);
  const char **sets = memory_new ((size_t) argc, sizeof *sets);
  struct error error;
  int rc;

  config_set_program (config, "synop-agent names", NULL);
  int count = config_read_operands (config, argc, argv, sets, argc, NULL, command_page_ask, &arguments.page, &error);
  log_set_level ((enum log_level) arguments.log_level);
  if (count == 0)
    error_set (&error, "expected \"synop-agent names SET...\"; see \"synop-agent names --help\"");
  if (command_page_is_asked (&arguments.page))
    rc = command_page_write (&arguments.page, config, head, tail);
  else
    rc = count > 0 ? check_sets (sets, count) : command_fail (EXIT_USAGE, &error);
  free (sets);
  config_destroy (config);
  return rc;
}
