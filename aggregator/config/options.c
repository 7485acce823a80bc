/* See options.h. `tail` and `status` read the same configuration file as the aggregator, to find its socket, and have
 * flags of their own; the aggregator's other options have no flag there. */
#include "aggregator/config/options.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/globs.h"
#include "synop/link.h"
#include "synop/log.h"
#include "synop/memory.h"

#define DEFAULT_FILE "/etc/synop/aggregator.ini"
#define COUNT_OF(array) (sizeof (array) / sizeof ((array)[0]))
#define AT(member) .offset = offsetof (struct options, member)

const char *const options_commands[] = {
  [COMMAND_SERVE] = "",        [COMMAND_TAIL] = "tail",     [COMMAND_STATUS] = "status",
  [COMMAND_REPLAY] = "replay", [COMMAND_EXPORT] = "export", [COMMAND_CHECK] = "check",
  [COMMAND_JOBS] = "jobs",     [COMMAND_JOB] = "job",       [COMMAND_REPORT] = "report",
};

static const char *const outputs[] = { "json", "none", NULL };
static const char *const levels[] = { "error", "warning", "info", "debug", NULL }; /* as enum log_level */

static int
check_listen (const char *value, struct error *error)
{
  char control[LINK_ENDPOINT_MAX];
  size_t length = strlen (value);

  if (length > 2 && strcmp (value + length - 2, ":*") == 0) /* two free ports */
    return strncmp (value, "tcp://", 6) == 0 ? 0 : error_set (error, "must be tcp://HOST:PORT");
  return link_control_endpoint (value, control, error);
}

static int
check_filled (const char *value, struct error *error)
{
  return *value ? 0 : error_set (error, "must not be empty");
}

/* Behind a '[' the first character, or the one after '!' or '^', is a member even where it is ']'. */
static bool
is_closed (const char *pattern)
{
  for (; *pattern; pattern++) {
    if (*pattern == '\\' && pattern[1]) {
      pattern++;
    } else if (*pattern == '[') {
      pattern += 1 + (pattern[1] == '!' || pattern[1] == '^');
      pattern = *pattern ? strchr (pattern + 1, ']') : NULL;
      if (!pattern)
        return false;
    }
  }
  return true;
}

static int
check_globs (const char *value, struct error *error)
{
  struct globs globs;
  const char *pattern;
  int result = 0;

  globs_init (&globs, value);
  pattern = globs.text;
  for (size_t i = 0; i < globs.count && result == 0; i++, pattern += strlen (pattern) + 1)
    if (!is_closed (pattern))
      result = error_set (error, "\"%.64s\" has a '[' without its ']' (commas part patterns)", pattern);
  globs_free (&globs);
  return result;
}

/* A pattern that no type matches would wait for ever. */
static int
check_types (const char *value, struct error *error)
{
  static const char *const types[] = { "node", "cluster", "event", "job" };
  struct globs globs;
  const char *pattern;
  int result = check_globs (value, error);

  globs_init (&globs, value);
  pattern = globs.text;
  for (size_t i = 0; i < globs.count && result == 0; i++, pattern += strlen (pattern) + 1) {
    size_t type = 0;

    while (type < COUNT_OF (types) && fnmatch (pattern, types[type], 0) != 0)
      type++;
    if (type == COUNT_OF (types))
      result = error_set (error, "\"%.64s\" is no type of line; expected node, cluster, event or job", pattern);
  }
  globs_free (&globs);
  return result;
}

static const struct option serve_table[] = {
  { "aggregator", "listen", NULL, OPTION_TEXT, AT (listen), .fallback = "tcp://*:5555", .check = check_listen,
    .help = "Where agents connect: this port takes their data, the next one is the control channel. Port * takes two "
            "that are free." },
  { "aggregator", "keys", NULL, OPTION_PATH, AT (keys), .fallback = "/etc/synop/keys", .check = check_filled,
    .help = "Folder with aggregator.key and nodes/NODE.pub, as made by \"synop-aggregator keys\"." },
  { "aggregator", "socket", NULL, OPTION_PATH, AT (socket), .fallback = "/run/synop/aggregator.sock",
    .check = check_filled, .help = "UNIX socket through which tail, status and keys talk to the aggregator." },
  { "aggregator", "output", NULL, OPTION_CHOICE, AT (output), .fallback = "json", .choices = outputs,
    .help = "What goes to standard output: JSON lines, or nothing." },
  { "aggregator", "no_node_lines", NULL, OPTION_BOOLEAN, AT (no_node_lines), .fallback = "no",
    .help = "Standard output has combined reports and events only." },
  { "aggregator", "stale_periods", NULL, OPTION_SIZE, AT (stale_periods), .fallback = "3", .minimum = "2",
    .maximum = "1000", .help = "A node is stale after so many of its periods without a frame." },
  { "aggregator", "down_periods", NULL, OPTION_SIZE, AT (down_periods), .fallback = "10", .minimum = "3",
    .maximum = "10000", .help = "A node is down after so many of its periods without a frame." },
  { "aggregator", "max_frame", NULL, OPTION_SIZE, AT (max_frame), .fallback = "256k", .minimum = "4k", .maximum = "1M",
    .help = "Largest frame in bytes, which agents are told and keep to; larger ones are left out. 1,000 CPUs need "
            "about 256k." },
  { "aggregator", "intake_queue", NULL, OPTION_SIZE, AT (intake_queue), .fallback = "64M", .minimum = "1M",
    .maximum = "16G", .help = "Bytes of messages that may wait to be taken in; over them messages are dropped." },
  { "aggregator", "intake_messages", NULL, OPTION_SIZE, AT (intake_messages), .fallback = "65536", .minimum = "64",
    .maximum = "16M", .help = "Number of messages that may wait to be taken in." },
  { "aggregator", "reader_queue", NULL, OPTION_SIZE, AT (reader_queue), .fallback = "32M", .minimum = "64k",
    .maximum = "1G", .help = "Bytes of lines that may wait for each reader; over them lines are dropped and counted." },
  { "aggregator", "replay_rate", NULL, OPTION_SIZE, AT (replay_rate), .fallback = "5000", .minimum = "0",
    .maximum = "1M",
    .help = "Frames a second, of all nodes together, that are asked for again when they did not come; 0: none are." },
  { "aggregator", "endpoint_file", NULL, OPTION_PATH, AT (endpoint_file),
    .help = "File into which the data endpoint is written once the aggregator listens, for scripts." },
  { "aggregator", "log_level", NULL, OPTION_CHOICE, AT (log_level), .fallback = "info", .choices = levels,
    .help = "How much goes to standard error." },
  { "ticks", "period", "tick-period", OPTION_DURATION, AT (tick_period_ns), .fallback = "1s", .minimum = "10ms",
    .maximum = "1h", .help = "A combined report for each multiple of this in cluster time." },
  { "ticks", "grace", "tick-grace", OPTION_DURATION, AT (tick_grace_ns), .minimum = "0", .maximum = "1h",
    .help = "How long a tick waits for nodes that do not report; at most its period. 0: half its period." },
  { "clock", "limit", "clock-limit", OPTION_DURATION, AT (clock_limit_ns), .fallback = "500ms", .minimum = "1ms",
    .maximum = "1h", .help = "A node whose wall clock is off by more is an event." },
};

/* What a command shares with the aggregator: where to find its socket, or its history. */
struct shared {
  const char *section, *key, *help;
};
static const struct shared socket_option = { "aggregator", "socket", "UNIX socket of the aggregator." };
static const struct shared history_option = { "history", "path", "The history's file." };

static const struct option tail_table[] = {
  { "tail", "node", NULL, OPTION_LIST, AT (node), .check = check_globs,
    .help = "Only lines of nodes whose name matches one of these globs." },
  { "tail", "group", NULL, OPTION_LIST, AT (group), .check = check_globs,
    .help = "Only these groups of node lines, or of combined reports with --type cluster; a line with none of them is "
            "left out. Without --type, only node lines." },
  { "tail", "type", NULL, OPTION_LIST, AT (type), .check = check_types,
    .help = "Only lines of these types: node, cluster, event, job." },
  { "tail", "count", NULL, OPTION_SIZE, AT (count), .fallback = "0", .help = "Ends after so many lines; 0: never." },
};

static const struct option status_table[] = {
  { "status", "json", NULL, OPTION_BOOLEAN, AT (json), .fallback = "no", .help = "One JSON line instead of a table." },
};

#define WHEN                                                                                                           \
  "As 2026-11-21T10:00:00Z (RFC 3339), 10:00 or 10:00:30 (today, local time), 2026-11-21 10:00 (local time), -1h or "  \
  "now."

static const struct option replay_table[] = {
  { "replay", "from", NULL, OPTION_TEXT, AT (from), .fallback = "-1h",
    .help = "The first instant that is shown. " WHEN },
  { "replay", "to", NULL, OPTION_TEXT, AT (to), .fallback = "now", .help = "The instant before which it ends." },
  { "replay", "node", NULL, OPTION_LIST, AT (node), .check = check_globs,
    .help = "Only lines of nodes whose name matches one of these globs." },
  { "replay", "group", NULL, OPTION_LIST, AT (group), .check = check_globs,
    .help = "Only these groups of node lines, or of combined reports with --type cluster; a line with none of them is "
            "left out. Without --type, only node lines." },
  { "replay", "type", NULL, OPTION_LIST, AT (type), .check = check_types,
    .help = "Only lines of these types: node, cluster, event, job." },
};

static const char *const formats[] = { "csv", "json", "hdf5", "msgpack", NULL }; /* as enum options_format */

static const struct option export_table[] = {
  { "export", "format", NULL, OPTION_CHOICE, AT (format), .fallback = "csv", .choices = formats,
    .help =
        "csv, json: a file for each group; hdf5: one file; msgpack: one file with the frames as agents sent them." },
  { "export", "from", NULL, OPTION_TEXT, AT (from),
    .help = "The first instant; without it an hour ago, or with msgpack the beginning of the history. " WHEN },
  { "export", "to", NULL, OPTION_TEXT, AT (to), .help = "The instant before which it ends; without it now." },
  { "export", "node", NULL, OPTION_LIST, AT (node), .check = check_globs,
    .help = "Only nodes whose name matches one of these globs." },
  { "export", "group", NULL, OPTION_LIST, AT (group), .check = check_globs,
    .help = "Only groups whose name matches one of these globs." },
  { "export", "output", NULL, OPTION_TEXT, AT (output_path),
    .help =
        "Also -o: the folder (csv, json), which is made, or the file (hdf5, msgpack). What is there is left alone." },
};

static const char *const reports[] = { "text", "json", "perfmon", NULL }; /* as enum options_report */

static const struct option jobs_table[] = {
  { "jobs", "json", NULL, OPTION_BOOLEAN, AT (json), .fallback = "no", .help = "A JSON line for each job." },
  { "jobs", "running", NULL, OPTION_BOOLEAN, AT (running), .fallback = "no", .help = "Only jobs that run." },
  { "jobs", "user", NULL, OPTION_LIST, AT (user), .check = check_globs,
    .help = "Only jobs of users whose name matches one of these globs." },
  { "jobs", "from", NULL, OPTION_TEXT, AT (from), .fallback = "-24h",
    .help = "Jobs that ran at some time from this instant on. " WHEN },
  { "jobs", "to", NULL, OPTION_TEXT, AT (to), .fallback = "now", .help = "The instant before which they ran." },
};

static const struct option job_table[] = {
  { "job", "user", NULL, OPTION_TEXT, AT (user),
    .help = "Of start: whose job it is, until a node tells. Of end: only jobs of this user." },
  { "job", "name", NULL, OPTION_TEXT, AT (name), .help = "Of start: the job's name, until a node tells." },
};

static const struct option report_table[] = {
  { "report", "user", NULL, OPTION_TEXT, AT (user),
    .help = "Whose job it is, where several users have one of that id." },
  { "report", "scheduler", NULL, OPTION_TEXT, AT (scheduler),
    .help = "Of which scheduler (slurm, pbs, synop...), where several have one of that id." },
  { "report", "format", NULL, OPTION_CHOICE, AT (report), .fallback = "text", .choices = reports,
    .help = "text: for people; json: one object; perfmon: the merged JSON of perfmon." },
  { "report", "json", NULL, OPTION_BOOLEAN, AT (json), .fallback = "no", .help = "The same as --format json." },
  { "report", "output", NULL, OPTION_TEXT, AT (output_path),
    .help = "Also -o: a new file for what --format says, rather than standard output. No output replaces a file." },
  { "report", "pdf", NULL, OPTION_TEXT, AT (pdf), .help = "Writes this file: the report with plots, to be printed." },
  { "report", "html", NULL, OPTION_TEXT, AT (html),
    .help = "Writes this file: the report with plots, for a browser; it needs nothing beside it." },
  { "report", "csv", NULL, OPTION_TEXT, AT (csv), .help = "Makes this folder: a table for each group, of this job." },
  { "report", "hdf5", NULL, OPTION_TEXT, AT (hdf5), .help = "Writes this file: the same tables as HDF5." },
};

#define SHARED_MAX 2

static const struct {
  const struct shared *shared[SHARED_MAX];
  const struct option *table;
  size_t count;
} own_tables[] = {
  [COMMAND_SERVE] = { { NULL }, NULL, 0 },
  [COMMAND_TAIL] = { { &socket_option }, tail_table, COUNT_OF (tail_table) },
  [COMMAND_STATUS] = { { &socket_option }, status_table, COUNT_OF (status_table) },
  [COMMAND_REPLAY] = { { &history_option, &socket_option }, replay_table, COUNT_OF (replay_table) },
  [COMMAND_EXPORT] = { { &history_option, &socket_option }, export_table, COUNT_OF (export_table) },
  [COMMAND_CHECK] = { { &history_option }, NULL, 0 },
  [COMMAND_JOBS] = { { &history_option, &socket_option }, jobs_table, COUNT_OF (jobs_table) },
  [COMMAND_JOB] = { { &socket_option }, job_table, COUNT_OF (job_table) },
  [COMMAND_REPORT] = { { &history_option, &socket_option }, report_table, COUNT_OF (report_table) },
};

/* Who asks for help gets it, whatever else is asked for. */
static void
take_word (void *context, const char *name)
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

static bool
is_row (const struct shared *shared, const struct option *option)
{
  return strcmp (shared->section, option->section) == 0 && strcmp (shared->key, option->key) == 0;
}

static bool
is_shared (const struct option *option, enum options_command command)
{
  for (size_t i = 0; i < SHARED_MAX && own_tables[command].shared[i]; i++)
    if (is_row (own_tables[command].shared[i], option))
      return true;
  return false;
}

/* As --help of a command shows it. */
static struct option
shared_row (const struct options *options, const struct shared *shared)
{
  const struct option *option = options->table;
  struct option row;

  while (!is_row (shared, option))
    option++;
  row = *option;
  row.help = shared->help;
  return row;
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

/* Puts the rows of all views into the table; NULL: only counts them. */
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

static struct config *
make_config (struct options *options, enum options_command command)
{
  size_t own = own_tables[command].count, count = COUNT_OF (serve_table) + add_views (options->views, NULL);

  options->command = command;
  options->table = memory_new (count + own, sizeof options->table[0]);
  memcpy (options->table, serve_table, sizeof serve_table);
  add_views (options->views, options->table + COUNT_OF (serve_table));
  for (size_t i = 0; command != COMMAND_SERVE && i < count; i++)
    if (!is_shared (&options->table[i], command))
      options->table[i].flag = "";
  if (own)
    memcpy (options->table + count, own_tables[command].table, own * sizeof options->table[0]);
  return config_create (options->table, count + own, options, NULL);
}

/* The words of a command that are no options. */
static void
take_operands (struct options *options, int argc, char **argv, int *at)
{
  const char **places[] = { NULL, NULL };

  if (options->command == COMMAND_CHECK)
    places[0] = &options->file;
  else if (options->command == COMMAND_JOB)
    places[0] = &options->verb, places[1] = &options->job;
  else if (options->command == COMMAND_REPORT)
    places[0] = &options->job;
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
               "export, check, jobs, job or report",
               word);
  else
    error_set (error, "unexpected argument '%.64s'; \"synop-aggregator %s --help\" shows what there is", word,
               options_commands[command]);
  config_hint_word (error, word);
  return -1;
}

static int
check_operands (const struct options *options, int argc, char **argv, int at, struct error *error)
{
  bool has_job = options->job && *options->job;

  if (at < argc)
    return unexpected (options->command, argv[at], error);
  if (options->other != options->action)
    return error_set (error, "--version and --print-config: give one of them");
  if (options->action != ACTION_RUN)
    return 0;
  if (options->command == COMMAND_JOB &&
      (!has_job || (strcmp (options->verb, "start") != 0 && strcmp (options->verb, "end") != 0)))
    return error_set (error, "expected \"synop-aggregator job start ID\" or \"synop-aggregator job end ID\"");
  if (options->command == COMMAND_REPORT && !has_job)
    return error_set (error, "expected \"synop-aggregator report JOBID\"; \"synop-aggregator jobs\" lists the jobs");
  return 0;
}

int
options_read (struct options *options, enum options_command command, int argc, char **argv, struct error *error)
{
  static const char *const words[] = { "markdown", NULL };
  int at = 0;

  options->argc = argc;
  options->argv = argv;
  options->config = make_config (options, command);
  options->program =
      memory_format ("synop-aggregator%s%s", command == COMMAND_SERVE ? "" : " ", options_commands[command]);
  config_set_program (options->config, options->program);
  if (config_operands_last (options->config, argc, argv, words, error) < 0 ||
      config_read_arguments (options->config, argc, argv, &at, DEFAULT_FILE, words, take_word, options, error) < 0)
    return -1;
  take_operands (options, argc, argv, &at);
  if (check_operands (options, argc, argv, at, error) < 0)
    return -1;
  if (options->markdown && options->action == ACTION_RUN)
    return error_set (error, "--markdown goes with --print-config");
  if (options->down_periods <= options->stale_periods)
    return config_error (options->config, "aggregator", "down_periods", error, "must be more than stale_periods (%llu)",
                         (unsigned long long) options->stale_periods);
  if (command == COMMAND_TAIL && *options->node && strcmp (options->type, "cluster") == 0)
    return config_error (options->config, "tail", "node", error, "combined reports (--type cluster) are of no node");
  if (command == COMMAND_REPLAY && *options->node && strcmp (options->type, "cluster") == 0)
    return config_error (options->config, "replay", "node", error, "combined reports (--type cluster) are of no node");
  if (command == COMMAND_EXPORT && !*options->output_path && options->action == ACTION_RUN)
    return config_error (options->config, "export", "output", error, "-o says where to write the tables");
  if (options->json && command == COMMAND_REPORT) {
    if (options->report == REPORT_PERFMON)
      return config_error (options->config, "report", "json", error, "does not go with --format perfmon");
    options->report = REPORT_JSON;
  }
  if (options->tick_grace_ns > options->tick_period_ns)
    return config_error (options->config, "ticks", "grace", error, "must be no more than the ticks' period, %.9gs",
                         (double) options->tick_period_ns / NS_PER_S);
  if (options->tick_grace_ns == 0)
    options->tick_grace_ns = options->tick_period_ns / 2;
  log_set_level ((enum log_level) options->log_level);
  return 0;
}

void
options_free (struct options *options)
{
  config_destroy (options->config);
  free (options->table);
  free (options->program);
  options->program = NULL;
  options->config = NULL;
  options->table = NULL;
}

/* ---- --help ---- */

static const char serve_help[] = "\
synop-aggregator: takes in what the agents of a cluster publish and streams it as JSON lines.\n\
\n\
  synop-aggregator [OPTIONS]                 listens for agents; JSON lines go to standard output\n\
  synop-aggregator tail [OPTIONS]            shows the stream of a running aggregator, filtered\n\
  synop-aggregator status [--json]           shows its nodes: state, last seen, sequence, lost frames, clock\n\
  synop-aggregator replay --from 10:00       shows the stream of then, from the history\n\
  synop-aggregator export -o DIR             writes tables of the history: csv, json, hdf5, or its frames\n\
  synop-aggregator check [FILE]              verifies a history and says what is in it\n\
  synop-aggregator jobs [--running]          lists the batch jobs that ran\n\
  synop-aggregator report JOBID              says what a job used on its nodes; --pdf FILE, --html FILE with plots\n\
  synop-aggregator job start|end ID          tells that a job begins or has ended, for prologs and epilogs\n\
  synop-aggregator keys init                 makes the aggregator's keys\n\
  synop-aggregator keys add NODE FILE        admits a node by its public key\n\
  synop-aggregator keys list                 shows who is admitted\n\
  synop-aggregator keys revoke NODE          cuts a node off at once\n\
\n\
  A first cluster:\n\
    master$ synop-aggregator keys init\n\
    node$   synop-agent keys init                       # then copy agent.pub to the master,\n\
                                                        # and the master's aggregator.pub to the node\n\
    master$ synop-aggregator keys add n1 agent.pub\n\
    master$ synop-aggregator --listen 'tcp://*:5555'\n\
    node$   synop-agent --connect tcp://master:5555\n\
\n\
  SIGHUP reads configuration and keys again, SIGTERM and SIGINT end. Exit codes: 0 fine, 1 failed while running,\n\
  2 wrong option or configuration.\n\
\n\
Options, also in " DEFAULT_FILE " or the file that --config names:\n\
  --config PATH               Reads this configuration file.\n\
  --print-config              Shows every option with its value and where that came from, as a configuration file;\n\
                              with --markdown as a table.\n\
  --version                   Shows the version.\n\
  --help                      Shows this page.\n\
\n";

static const char tail_help[] = "\
synop-aggregator tail: shows the stream of a running aggregator, one JSON object a line, until Ctrl-C. When the\n\
aggregator is restarted it attaches again.\n\
\n\
  synop-aggregator tail --node 'n1,gpu*' --group network\n\
  synop-aggregator tail --type event\n\
  synop-aggregator tail --count 1 | jq .report.system_data.load\n\
\n\
  GLOBS are shell patterns, parted by commas.\n\
\n";

static const char status_help[] = "\
synop-aggregator status: shows the nodes of a running aggregator and its counters. CLOCK is by how much a node's wall\n\
clock seems to be ahead of the aggregator's.\n\
\n";

static const char replay_help[] = "\
synop-aggregator replay: shows the lines that the stream had, from the history: those whose time lies in the\n\
interval, in the order in which they came. The aggregator may run meanwhile, or not.\n\
\n\
  synop-aggregator replay --from 10:00 --to 10:05 --node gpu7\n\
  synop-aggregator replay --from -1h --type event\n\
\n";

static const char export_help[] = "\
synop-aggregator export: writes tables of the history, one for each group, with a column for each metric and the\n\
unit in its header. Times are cluster time. A group with rows has for each sample a row without a label for the node as\n\
a whole, then one for each device; counters are changes in the period, as in the stream.\n\
\n\
  synop-aggregator export --from -1h -o tables                     then pandas.read_csv (\"tables/network.csv\")\n\
  synop-aggregator export --format hdf5 --from 10:00 -o run.h5     then h5py.File (\"run.h5\")[\"network\"]\n\
  synop-aggregator export --format msgpack -o frames               then msgpack.Unpacker (open (\"frames\", \"rb\"))\n\
\n";

static const char check_help[] = "\
synop-aggregator check [FILE]: reads a history from end to end and says what is in it. Exit code 1: something is\n\
broken.\n\
\n";

static const char jobs_help[] = "\
synop-aggregator jobs: lists the jobs of the history, those that run and those that ended, the newest last.\n\
\n\
  synop-aggregator jobs --running\n\
  synop-aggregator jobs --from -7d --user 'ana,b*' --json | jq .job_id\n\
\n";

static const char job_help[] = "\
synop-aggregator job start ID: tells a running aggregator that a job begins; job end ID: that it has ended, so that\n\
nobody waits for the grace. Nodes find jobs by themselves; this is for the prolog and epilog of a scheduler.\n\
Of a job that was requeued the second run is ID/1; job end ID ends all runs of it.\n\
\n\
  synop-aggregator job start 123 --user ana --name relax\n\
  synop-aggregator job end 123\n\
\n";

static const char report_help[] = "\
synop-aggregator report JOBID: says what a job used on each of its nodes and in all, from the history, also\n\
while it runs. Of a job that was requeued JOBID is the newest run, JOBID/1 the second one.\n\
\n\
  synop-aggregator report 123\n\
  synop-aggregator report 123 --pdf 123.pdf --html 123.html\n\
  synop-aggregator report 123 --csv tables --hdf5 123.h5\n\
  synop-aggregator report 123 --format perfmon -o merged.json\n\
\n";

void
options_help (const struct options *options, struct buffer *out)
{
  static const char *const texts[] = { serve_help, tail_help, status_help, replay_help, export_help,
                                       check_help, jobs_help, job_help,    report_help };
  struct option own[SHARED_MAX + COUNT_OF (report_table)]; /* no table is longer */
  size_t count = 0, more = own_tables[options->command].count;
  struct options scratch = { 0 };
  struct config *config;

  buffer_add_string (out, texts[options->command]);
  if (options->command == COMMAND_SERVE) {
    config_print_help (options->config, out);
    return;
  }
  for (; count < SHARED_MAX && own_tables[options->command].shared[count]; count++)
    own[count] = shared_row (options, own_tables[options->command].shared[count]);
  if (more)
    memcpy (own + count, own_tables[options->command].table, more * sizeof own[0]);
  config = config_create (own, count + more, &scratch, NULL);
  config_print_help (config, out);
  config_destroy (config);
}
