/* See send_command.h. */
#include "agent/send_command.h"

#include <signal.h>
#include <stdlib.h>

#include "agent/command.h"
#include "agent/groups.h"
#include "agent/send/send_child.h"
#include "agent/send/send_count.h"
#include "synop/file.h"
#include "synop/memory.h"

#define TEXT(number) #number
#define FD_PATH(number) "/proc/self/fd/" TEXT (number)

struct schema *
schema_of_all (void)
{
  const struct group **groups = memory_new (sampler_count, sizeof *groups);

  for (size_t i = 0; i < sampler_count; i++)
    groups[i] = samplers[i]->group;
  return schema_create (groups, sampler_count);
}

void
schema_of_all_destroy (struct schema *schema)
{
  void *groups = (void *) (uintptr_t) schema->groups;

  schema_destroy (schema);
  free (groups);
}

/* It ends when its input does: a service manager's signal is for the agent. */
int
send_child_command (void)
{
  static char name[] = "synop-agent", config[] = "--config", path[] = FD_PATH (SEND_CHILD_OPTIONS);
  char *words[] = { name, config, path, NULL };
  struct agent_options *options = agent_options_create ();
  struct schema *schema = schema_of_all ();
  struct error error;
  int rc = EXIT_FINE;

  signal (SIGTERM, SIG_IGN);
  signal (SIGINT, SIG_IGN);
  signal (SIGHUP, SIG_IGN);
  if (agent_options_read (options, 3, words, &error) < 0 ||
      send_child_run (&options->send, options->node_name, schema, &error) < 0)
    rc = command_fail (EXIT_USAGE, &error);
  schema_of_all_destroy (schema);
  agent_options_destroy (options);
  return rc;
}

int
send_dry_run (struct agent_options *options)
{
  struct sampling *sampling = sampling_create (samplers, options->periods_ns, sampler_count, &options->context);
  struct schema *schema = schema_of_all ();
  double price = *options->price ? strtod (options->price, NULL) : -1;
  struct buffer text = { 0 };
  struct error error;
  int rc = send_count (&options->send, options->node_name, schema, sampling, options->period_ns, price, &text, &error);

  rc = rc < 0 ? command_fail (EXIT_USAGE, &error) : file_print (&text);
  buffer_free (&text);
  schema_of_all_destroy (schema);
  sampling_destroy (sampling);
  return rc;
}
