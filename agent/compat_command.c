/* The agent in neuron-monitor's place; see compat_command.h. neuron-monitor's own options are taken here, all others are the
 * agent's. */
#include "agent/compat_command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command.h"
#include "agent/compat/neuron_lines.h"
#include "agent/groups.h"
#include "agent/options.h"
#include "agent/standalone.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/report.h"
#include "synop/version.h"

#define COMPAT "--compat"
#define TOOL "neuron-monitor"
#define VERBOSE_MAX 4

static const char help[] =
    "Usage: synop-agent --compat neuron-monitor [-c FILE] [--verbose N] [OPTION]...\n"
    "       neuron-monitor [-c FILE] [--verbose N]               the same, where synop-agent has this name\n"
    "\n"
    "Writes JSON lines of the form that AWS' neuron-monitor writes, for the scripts that read it.\n"
    "\n"
    "  -c, --config-file FILE   Its configuration: groups and their periods. Without it: all groups, each 5 s. The "
    "names of\n"
    "                           the groups decide which of its two generations is written.\n"
    "      --verbose N          What is logged to standard error: 0 errors alone, 1 warnings, 2 more, 4 all. Default: "
    "0.\n"
    "      --help, --version    This page; the version.\n"
    "\n"
    "All options of synop-agent may stand behind them: \"synop-agent --help\".\n"
    "\n"
    "Examples:\n"
    "  synop-agent --compat neuron-monitor -c monitor.conf | neuron-monitor-prometheus.py\n"
    "  synop-agent --compat neuron-monitor --count 1 | jq .system_data.vcpu_usage.average_usage\n"
    "\n"
    "Exit codes: 0 ended on request, or the reader of standard output is gone; 1 failed while running; 2 an option or "
    "a\n"
    "configuration is wrong.\n";

struct compat {
  const char *file; /* NULL: none */
  int verbose;
  bool help, version;
  int argc; /* of the agent's own options */
  char **argv;
};

/* ---- arguments ---- */

static const char *
base_name (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash ? slash + 1 : path;
}

bool
compat_is_asked (int argc, char **argv)
{
  return argc > 0 &&
         (strcmp (base_name (argv[0]), TOOL) == 0 || (argc > 1 && strncmp (argv[1], COMPAT, strlen (COMPAT)) == 0 &&
                                                      (!argv[1][strlen (COMPAT)] || argv[1][strlen (COMPAT)] == '=')));
}

/* The value of an option that may stand as "NAME VALUE" or "NAME=VALUE": 1; 0: it is another; -1: it has none. */
static int
value_take (int argc, char **argv, int *at, const char *name, const char **value, struct error *error)
{
  size_t length = strlen (name);

  if (strncmp (argv[*at], name, length) != 0 || (argv[*at][length] && argv[*at][length] != '='))
    return 0;
  if (argv[*at][length]) {
    *value = argv[*at] + length + 1;
    return 1;
  }
  if (*at + 1 >= argc)
    return error_set (error, "%s needs a value", name);
  *value = argv[++*at];
  return 1;
}

/* One of the options that are neuron-monitor's own: 1 when it was. */
static int
own_take (struct compat *compat, int argc, char **argv, int *at, struct error *error)
{
  static const char *const files[] = { "-c", "--config-file" }, *const verbosities[] = { "-v", "--verbose" };
  const char *value;
  int rc = 0;

  for (size_t i = 0; rc == 0 && i < 2; i++)
    if ((rc = value_take (argc, argv, at, files[i], &value, error)) > 0)
      compat->file = value;
  for (size_t i = 0; rc == 0 && i < 2; i++)
    if ((rc = value_take (argc, argv, at, verbosities[i], &value, error)) > 0) {
      if (value[0] < '0' || value[0] > '0' + VERBOSE_MAX || value[1])
        return error_set (error, "%s: \"%.32s\" is not understood; expected 0 to %d", verbosities[i], value,
                          VERBOSE_MAX);
      compat->verbose = value[0] - '0';
    }
  if (rc == 0 && strcmp (argv[*at], "--help") == 0)
    rc = compat->help = true;
  else if (rc == 0 && strcmp (argv[*at], "--version") == 0)
    rc = compat->version = true;
  return rc;
}

static int
arguments_read (struct compat *compat, int argc, char **argv, struct error *error)
{
  int at = 1;

  compat->argv = memory_new ((size_t) argc + 1, sizeof *compat->argv);
  compat->argv[compat->argc++] = argv[0];
  if (strcmp (base_name (argv[0]), TOOL) != 0) {
    const char *name;

    if (value_take (argc, argv, &at, COMPAT, &name, error) < 0)
      return -1;
    if (strcmp (name, TOOL) != 0)
      return error_set (error, COMPAT ": \"%.64s\" is not known; expected " TOOL, name);
    at++;
  }
  for (; at < argc; at++) {
    int rc = own_take (compat, argc, argv, &at, error);

    if (rc < 0)
      return -1;
    if (rc == 0)
      compat->argv[compat->argc++] = argv[at];
  }
  return 0;
}

/* ---- groups ---- */

static struct group_options *
group_find (struct agent_options *options, const char *name)
{
  for (size_t i = 0; i < sampler_count; i++)
    if (strcmp (samplers[i]->group->name, name) == 0)
      return &options->groups[i];
  return NULL;
}

static void
group_keep (struct agent_options *options, const char *name, int64_t period_ns)
{
  struct group_options *group = group_find (options, name);

  if (!group)
    return;
  if (!group->enabled || (period_ns && period_ns < group->period_ns))
    group->period_ns = period_ns;
  group->enabled = true;
}

/* What the configuration asks for and nothing else, but for facts. */
static int
groups_set (struct agent_options *options, const struct neuron_config *config, struct error *error)
{
  for (size_t i = 0; i < sampler_count; i++)
    options->groups[i].enabled = false;
  group_keep (options, "instance_info", 0);
  group_keep (options, "neuron_hardware_info", 0);
  for (enum neuron_type i = 0; i < NEURON_TYPES; i++) {
    if (!config->periods_ns[i])
      continue;
    for (const char *const *name = neuron_type_groups (i); *name; name++)
      group_keep (options, *name, config->periods_ns[i]);
    if (neuron_type_is_of_runtimes (i, config->older))
      group_keep (options, REPORT_RUNTIME_INFO, config->periods_ns[i]);
  }
  return agent_options_resolve (options, error);
}

/* ---- lines ---- */

static void
stop (void *loop, int number)
{
  (void) number;
  loop_stop (loop);
}

static int
lines_write (struct agent_options *options, const struct neuron_config *config)
{
  struct loop *loop = loop_create ();
  struct sampling *sampling = sampling_create (samplers, options->periods_ns, sampler_count, &options->context);
  struct neuron_lines *lines = neuron_lines_create (config);
  bool once = options->action == ACTION_ONCE;
  struct standalone_options to = { .node = options->node_name,
                                   .session = 1,
                                   .count = once ? 1 : options->count,
                                   .once_ns = once ? options->period_ns : 0,
                                   .shape = neuron_lines_shape,
                                   .context = lines };
  struct error error;
  int rc;

  loop_signal (loop, SIGTERM, stop, loop);
  loop_signal (loop, SIGINT, stop, loop);
  rc = standalone_run (&to, loop, sampling, &error) < 0 ? command_fail (EXIT_FAILED, &error) : EXIT_FINE;
  neuron_lines_destroy (lines);
  sampling_destroy (sampling);
  loop_destroy (loop);
  return rc;
}

static int
compat_run (struct compat *compat, struct agent_options *options, struct neuron_config *config)
{
  static const enum log_level levels[VERBOSE_MAX + 1] = { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
                                                          LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
  struct error error;

  if (agent_options_read (options, compat->argc, compat->argv, &error) < 0)
    return command_fail (EXIT_USAGE, &error);
  log_set_level (levels[compat->verbose]);
  if (options->action != ACTION_RUN && options->action != ACTION_ONCE) {
    error_set (&error, "only --once and --count go with " COMPAT);
    return command_fail (EXIT_USAGE, &error);
  }
  if (neuron_config_read (config, compat->file, &error) < 0 || groups_set (options, config, &error) < 0)
    return command_fail (EXIT_USAGE, &error);
  return lines_write (options, config);
}

int
compat_command (int argc, char **argv)
{
  struct compat compat = { 0 };
  struct neuron_config config = { 0 };
  struct agent_options *options = agent_options_create ();
  struct error error;
  int rc;

  if (arguments_read (&compat, argc, argv, &error) < 0) {
    rc = command_fail (EXIT_USAGE, &error);
  } else if (compat.help || compat.version) {
    struct buffer page = { 0 };

    buffer_add_string (&page, compat.help ? help : "synop agent " SYNOP_VERSION "\n");
    rc = file_print (&page);
    buffer_free (&page);
  } else {
    rc = compat_run (&compat, options, &config);
  }
  neuron_config_free (&config);
  agent_options_destroy (options);
  free (compat.argv);
  return rc;
}
