/* See options.h. The commands read the same configuration file as the aggregator, and have flags of their own. */
#include "aggregator/config/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/config/options_private.h"
#include "aggregator/views/view.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

#define COUNT_OF(array) (sizeof (array) / sizeof ((array)[0]))

const char *const options_commands[] = {
  [COMMAND_SERVE] = "",
  [COMMAND_TAIL] = "tail",
  [COMMAND_STATUS] = "status",
  [COMMAND_REPLAY] = "replay",
  [COMMAND_EXPORT] = "export",
  [COMMAND_CHECK] = "check",
  [COMMAND_JOBS] = "jobs",
  [COMMAND_JOB] = "job",
  [COMMAND_REPORT] = "report",
  [COMMAND_QUERY] = "query",
  [COMMAND_TOP] = "top",
  [COMMAND_TRACE] = "trace",
  [COMMAND_SEND] = "send",
  [COMMAND_TOKEN] = "token",
  "keys",
  NULL,
};

/* --help wins over all other options. */
static void
options_take_word (void *context, const char *name)
{
  struct options *options = context;
  enum options_action action = strcmp (name, "help") == 0      ? ACTION_HELP
                               : strcmp (name, "version") == 0 ? ACTION_VERSION
                                                               : ACTION_PRINT_CONFIG;

  if (strcmp (name, "markdown") == 0)
    options->markdown = true;
  else if (options->action == ACTION_RUN || action == ACTION_HELP)
    options->action = options->other = action;
  else if (options->action != ACTION_HELP && options->action != action)
    options->other = action;
}

bool
options_is_shared (const struct option *option, enum options_command command)
{
  const char *flag = option->flag != NULL ? option->flag : option->key;
  bool shared = strcmp (flag, "log_level") == 0;

  for (size_t i = 0; i < OPTIONS_SHARED_MAX && options_tables[command].shared[i] != NULL; i++)
    shared |= strcmp (flag, options_tables[command].shared[i]) == 0;
  return shared;
}

/* ---- views ---- */

static size_t
place_behind (size_t place, const struct view *view)
{
  size_t unit = sizeof (max_align_t);

  return place + (view->options_size + unit - 1) / unit * unit;
}

const void *
options_of_view (const struct options *options, const struct view *view)
{
  size_t place = 0;

  for (size_t i = 0; options->views[i] != view; i++)
    place = place_behind (place, options->views[i]);
  return (const char *) options->of_views + place;
}

/* Adds the rows of all views to the table; NULL: only counts them. */
static size_t
add_views (const struct view *const *views, struct option *table)
{
  size_t count = 0, place = 0;

  for (; *views; place = place_behind (place, *views++))
    for (size_t i = 0; i < (*views)->option_count; i++, count++)
      if (table) {
        table[count] = (*views)->options[i];
        table[count].offset += offsetof (struct options, of_views) + place;
      }
  if (place > OPTIONS_OF_VIEWS)
    abort ();
  return count;
}

/* NULL-terminated. */
static const struct config_type **
types_of_views (const struct view *const *views)
{
  size_t count = 0, found = 0;
  const struct config_type **types;

  while (views[count])
    count++;
  types = memory_new (count + 1, sizeof *types);
  for (size_t i = 0; i < count; i++)
    if (views[i]->section_type)
      types[found++] = views[i]->section_type;
  return types;
}

/* Hosts that have no aggregator have the commands' file alone, which says where it is. */
static const char *
default_file (enum options_command command)
{
  return command != COMMAND_SERVE && access (OPTIONS_FILE, R_OK) < 0 ? CLIENT_FILE : OPTIONS_FILE;
}

static struct config *
make_config (struct options *options, enum options_command command)
{
  const struct options_tables *serve = &options_tables[COMMAND_SERVE], *own = &options_tables[command];
  size_t count = serve->count + add_views (options->views, NULL);
  struct config *config;

  options->command = command;
  options->table = memory_new (count + own->count, sizeof options->table[0]);
  memcpy (options->table, serve->table, serve->count * sizeof options->table[0]);
  add_views (options->views, options->table + serve->count);
  for (size_t i = 0; command != COMMAND_SERVE && i < count; i++) {
    options->table[i].reload = 0;
    if (!options_is_shared (&options->table[i], command))
      options->table[i].flag = "";
  }
  options->served = count;
  for (size_t i = 0; command != COMMAND_SERVE && i < own->count; i++)
    options->table[count++] = own->table[i];
  config = config_create (options->table, count, options, NULL);
  options->types = types_of_views (options->views);
  config_add_types (config, options->types, command == COMMAND_SERVE);
  return config;
}

/* Reads a command's operands. */
static void
take_operands (struct options *options, int argc, char **argv, int *at)
{
  const char **places[] = { NULL, NULL };

  if (options->command == COMMAND_CHECK)
    places[0] = &options->file;
  else if (options->command == COMMAND_JOB)
    places[0] = &options->verb, places[1] = &options->job;
  else if (options->command == COMMAND_REPORT || options->command == COMMAND_TRACE)
    places[0] = &options->job;
  else if (options->command == COMMAND_QUERY)
    places[0] = &options->metric;
  else if (options->command == COMMAND_TOKEN)
    places[0] = &options->of_user;
  for (size_t i = 0; i < COUNT_OF (places); i++)
    if (places[i] && !*places[i] && *at < argc)
      *places[i] = argv[(*at)++];
}

static int
unexpected (enum options_command command, const char *word, struct error *error)
{
  if (command == COMMAND_SERVE)
    error_set (error,
               "unexpected argument '%.64s'; a command comes first: synop-aggregator tail, status, keys, replay, "
               "export, check, jobs, job, report, query, top, trace, send or token",
               word);
  else
    error_set (error, "unexpected argument '%.64s'; \"synop-aggregator %s --help\" shows what there is", word,
               options_commands[command]);
  config_hint_word (error, word);
  if (command == COMMAND_SERVE)
    config_hint_nearest (error, word, options_commands + 1);
  return -1;
}

static int
check_operands (const struct options *options, int argc, char **argv, int at, struct error *error)
{
  static const char *const verbs[] = { "start", "end", NULL };
  bool has_job = options->job && *options->job;

  if (at < argc)
    return unexpected (options->command, argv[at], error);
  if (options->other != options->action)
    return error_set (error, "--version and --print-config: give one of them");
  if (options->action != ACTION_RUN)
    return 0;
  if (options->command == COMMAND_JOB &&
      (!has_job || (strcmp (options->verb, "start") != 0 && strcmp (options->verb, "end") != 0))) {
    error_set (error, "expected \"synop-aggregator job start ID\" or \"synop-aggregator job end ID\"");
    if (options->verb)
      config_hint_nearest (error, options->verb, verbs);
    return -1;
  }
  if (options->command == COMMAND_REPORT && !has_job)
    return error_set (error, "expected \"synop-aggregator report JOBID\"; \"synop-aggregator jobs\" lists the jobs");
  if (options->command == COMMAND_TRACE && !*options->merge && !options->list && !has_job)
    return error_set (error, "expected \"synop-aggregator trace JOB -o PATH\", \"... trace --list\" or "
                             "\"... trace --merge FOLDER -o FILE\"");
  if (options->command == COMMAND_TOKEN && !(options->of_user && *options->of_user))
    return error_set (error, "expected \"synop-aggregator token USER\"");
  if (options->command == COMMAND_QUERY && !options->list && !(options->metric && *options->metric))
    return error_set (error, "expected \"synop-aggregator query METRIC\", as load.load_1; \"synop-aggregator query "
                             "--list\" shows what there is");
  return 0;
}

/* Checks options that depend on each other. */
static int
check_together (struct options *options, struct error *error)
{
  const struct config *config = options->config;
  const char *section = options_commands[options->command];
  bool filters = options->command == COMMAND_TAIL || options->command == COMMAND_REPLAY;

  if (options->markdown && options->action == ACTION_RUN)
    return error_set (error, "--markdown goes with --print-config");
  if (options->down_periods <= options->stale_periods)
    return config_error (config, "aggregator", "down_periods", error, "must be more than stale_periods (%llu)",
                         (unsigned long long) options->stale_periods);
  if (filters && *options->node && strcmp (options->type, "cluster") == 0)
    return config_error (config, section, "node", error, "combined reports (--type cluster) are of no node");
  if (options->command == COMMAND_EXPORT && !*options->output_path && options->action == ACTION_RUN)
    return config_error (config, section, "output", error, "-o says where to write the tables");
  if (options->command == COMMAND_REPORT && options->report == REPORT_CLUSTERCOCKPIT && !*options->output_path &&
      options->action == ACTION_RUN)
    return config_error (config, section, "output", error, "-o says where the job archive is");
  if (options->json && options->command == COMMAND_REPORT && options->report > REPORT_JSON)
    return config_error (config, section, "json", error, "does not go with another --format");
  if (options->tick_grace_ns > options->tick_period_ns)
    return config_error (config, "ticks", "grace", error, "must be no more than the ticks' period, %.9gs",
                         (double) options->tick_period_ns / NS_PER_S);
  return 0;
}

int
aggregator_options_read (struct options *options, enum options_command command, int argc, char **argv,
                         struct error *error)
{
  static const char *const words[] = { "markdown", NULL };
  int at = 0;

  options->argc = argc;
  options->argv = argv;
  options->config = make_config (options, command);
  options->program =
      memory_format ("synop-aggregator%s%s", command == COMMAND_SERVE ? "" : " ", options_commands[command]);
  config_set_program (options->config, options->program, default_file (command));
  if (config_operands_last (options->config, argc, argv, words, error) < 0 ||
      config_read_arguments (options->config, argc, argv, &at, words, options_take_word, options, error) < 0)
    return -1;
  take_operands (options, argc, argv, &at);
  if (check_operands (options, argc, argv, at, error) < 0 || check_together (options, error) < 0)
    return -1;
  if (options->json && command == COMMAND_REPORT)
    options->report = REPORT_JSON;
  if (options->tick_grace_ns == 0)
    options->tick_grace_ns = options->tick_period_ns / 2;
  log_set_level ((enum log_level) options->log_level);
  return 0;
}

void
aggregator_options_free (struct options *options)
{
  config_destroy (options->config);
  free (options->table);
  free (options->types);
  free (options->program);
  options->program = NULL;
  options->config = NULL;
  options->table = NULL;
  options->types = NULL;
}
