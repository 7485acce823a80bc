/* Names files are checked against the groups and metrics that this agent has. */
#include "agent/names_command.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/groups.h"
#include "agent/output.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/naming.h"

enum { EXIT_FINE = 0, EXIT_FOUND = 1, EXIT_USAGE = 2 };

static const char help[] =
    "Usage: synop-agent names SET...\n"
    "\n"
    "Reads sets of names for Prometheus: node-exporter, dcgm-exporter, moneo, or the path of a file. A wrong line is\n"
    "an error. A line that names a group or metric that this agent does not have is shown, with the nearest existing\n"
    "name. docs/prometheus.md describes such files.\n"
    "\n"
    "Exit codes: 0 this agent has all that the lines name; 1 some is missing; 2 a file or line is wrong.\n";

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

int
names_command (int argc, char **argv)
{
  struct naming *naming = naming_create ();
  struct buffer text = { 0 };
  struct error error;
  char folder[PATH_MAX];
  int rc = EXIT_FINE;

  naming_folder (folder, sizeof folder);
  if (argc < 2 || argv[1][0] == '-')
    buffer_add_string (&text, help);
  if (argc < 2 || (argv[1][0] == '-' && strcmp (argv[1], "--help") != 0 && strcmp (argv[1], "-h") != 0))
    rc = EXIT_USAGE;
  for (int i = 1; text.length == 0 && rc == EXIT_FINE && i < argc; i++)
    if (naming_load (naming, argv[i], folder, &error) < 0) {
      log_error ("%s", error.text);
      rc = EXIT_USAGE;
    }
  if (text.length == 0 && rc == EXIT_FINE)
    rc = check (naming, &text) == 0 ? EXIT_FINE : EXIT_FOUND;
  if (output_text (&text, &error) < 0) {
    log_error ("%s", error.text);
    rc = EXIT_USAGE;
  }
  buffer_free (&text);
  naming_destroy (naming);
  return rc;
}
