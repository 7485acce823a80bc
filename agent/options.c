/* The agent's options; see options.h. The table below describes all options of the agent itself; those of samplers and
 * services stand in their own files (own_options.h). */
#include "agent/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/groups.h"
#include "agent/own_options.h"
#include "agent/page/node_page.h"
#include "agent/types.h"
#include "synop/frame.h"
#include "synop/globs.h"
#include "synop/link.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/send_labels.h"

#define DEFAULT_FILE "/etc/synop/agent.ini"

static int
check_node (const char *value, struct error *error)
{
  return value[0] ? node_name_check (value, strlen (value), error) : 0;
}

static int
check_connect (const char *value, struct error *error)
{
  char control[LINK_ENDPOINT_MAX];

  if (!value[0])
    return 0;
  if (strncmp (value, "tcp://*", 7) == 0)
    return error_set (error, "\"%s\" names no host; expected tcp://HOST:PORT", value);
  return link_control_endpoint (value, control, error);
}

static int
check_root (const char *value, struct error *error)
{
  struct stat status;

  if (stat (value, &status) < 0)
    return error_set (error, "%s: %s", value, strerror (errno));
  return S_ISDIR (status.st_mode) ? 0 : error_set (error, "%s is not a folder", value);
}

static int
check_http_url (const char *value, struct error *error)
{
  return strncmp (value, "http://", 7) == 0 || strncmp (value, "https://", 8) == 0
             ? 0
             : error_set (error, "must begin with http:// or https://");
}

static const char *const send_to[] = { [SEND_NOWHERE] = "nowhere", [SEND_CLOUDWATCH] = "cloudwatch", NULL };
#define SEND_FLAG(key) "cloudwatch-" key
#define IN_CLOUDWATCH(member) offsetof (struct agent_options, send.cloudwatch.member)
#define IN_AGENT(member) offsetof (struct agent_options, member)
#define IN_GROUP(member) offsetof (struct group_options, member)

static const char *const sees[] = { "own", "all", NULL }; /* as enum node_page_sees */

static const struct option option_table[] = {
  { "agent", "connect", NULL, OPTION_TEXT, IN_AGENT (connect), "", .check = check_connect, .reload = RELOAD_CONNECTION,
    .help = "The aggregator to publish to, tcp://HOST:PORT; its control channel is on the next port. Without one the "
            "report goes to standard output as JSON lines." },
  { "agent", "node", NULL, OPTION_TEXT, IN_AGENT (node), "", .check = check_node,
    .help =
        "This node's name, the one its key was added under at the aggregator. Empty: the host's name up to its first "
        "dot." },
  { "agent", "keys", NULL, OPTION_PATH, IN_AGENT (keys), "/etc/synop/keys", .reload = RELOAD_CONNECTION,
    .help = "The folder with agent.key and aggregator.pub." },
  { "agent", "period", NULL, OPTION_DURATION, IN_AGENT (period_ns), "1s", "10ms", "1h", .reload = RELOAD_SAMPLING,
    .help = "How often groups are sampled that have no period of their own." },
  { "agent", "queue", NULL, OPTION_SIZE, IN_AGENT (queue), "300", "1", "100000", .reload = RELOAD_CONNECTION,
    .help =
        "How many frames are queued in memory while the aggregator is away. Further ones are replayed from the ring." },
  { "agent", "realtime", NULL, OPTION_BOOLEAN, IN_AGENT (realtime), "yes",
    .help =
        "Whether the sampling thread runs before ordinary processes (SCHED_FIFO, the lowest priority), so that all "
        "nodes sample at one instant also when they are busy; sampling takes under a millisecond of a period. Without "
        "the permission it samples at the ordinary priority." },
  { "agent", "frame_log", NULL, OPTION_PATH, IN_AGENT (frame_log), "",
    .help = "A file to which every frame for the aggregator is appended as it is sent, one msgpack message after the "
            "other, without a limit of size: for tests and for debugging. Empty: none." },
  { "agent", "root", NULL, OPTION_PATH, IN_AGENT (root), "/", .check = check_root, .reload = RELOAD_SAMPLING,
    .help =
        "The folder that holds proc and sys: another than / shows a recorded machine, without what the record lacks: "
        "sizes of file systems; NVIDIA's GPUs, neuron-monitor and the metadata service, unless [gpu] library, "
        "[neuron] command or [instance] endpoint name others than the defaults." },
  { "agent", "count", NULL, OPTION_SIZE, IN_AGENT (count), "0", NULL, NULL,
    .help = "Write this many reports to standard output, then end; 0: no end." },
  { "agent", "send", NULL, OPTION_CHOICE, IN_AGENT (send.to), "nowhere", .choices = send_to,
    .help = "Where this node's samples go without an aggregator, or beside one: cloudwatch, Amazon CloudWatch "
            "(docs/outlets.md). Without \"connect\" no report goes to standard output then." },
  { "agent", "log_level", NULL, OPTION_CHOICE, IN_AGENT (log_level), "info", .choices = log_level_names,
    .reload = RELOAD_LOG, .help = "What is logged to standard error." },
  { "ring", "enabled", "ring", OPTION_BOOLEAN, IN_AGENT (ring), "yes",
    .help = "Whether the last frames are kept, so that the aggregator can ask for those that it missed." },
  { "ring", "path", "ring-path", OPTION_TEXT, IN_AGENT (ring_path), "/var/lib/synop/ring",
    .help = "The file that holds them, so that they outlive the agent. Empty: in memory." },
  { "ring", "max_age", "ring-max-age", OPTION_DURATION, IN_AGENT (ring_age_ns), "15m", "1s", "24h",
    .help = "How long a frame is kept." },
  { "ring", "max_size", "ring-max-size", OPTION_SIZE, IN_AGENT (ring_size), "32M", "64k", "1G",
    .help = "The size of the file; when it is full the oldest frames are dropped." },
  HTTP_OPTIONS (
      struct agent_options, http, "",
      "Where Prometheus finds this node's values, as it would node-exporter's (docs/prometheus.md): HOST:PORT. "
      "Without \"connect\" no report goes to standard output then. Empty: nowhere. Other hosts are let in only "
      "with password_file, or auth = none."),
  { "access", "everybody_sees", "access-everybody-sees", OPTION_CHOICE, IN_AGENT (everybody_sees), "own",
    .choices = sees, .reload = RELOAD_NAMES,
    .help = "own: at [http] listen series of jobs are for whoever has a password of [http] password_file, and on this "
            "host for root and the agent's own user. all: for whoever may connect." },
  { "prometheus", "names", "prometheus-names", OPTION_LIST, IN_AGENT (prometheus_names), NODE_PAGE_NAMES,
    .reload = RELOAD_NAMES,
    .help = "What metrics are called there: sets of names, node-exporter, dcgm-exporter, moneo, and synop for all that "
            "stands in none; or paths of files of that form." },
  { "cloudwatch", "url", "cloudwatch-url", OPTION_TEXT, IN_AGENT (send.url), .check = check_http_url,
    .reload = RELOAD_SEND,
    .help = "For --send: the service's address. Empty: https://monitoring.REGION.amazonaws.com/." },
  { "cloudwatch", "names", "cloudwatch-names", OPTION_LIST, IN_AGENT (send.names), CLOUDWATCH_NAMES,
    .check = send_names_check, .reload = RELOAD_SEND,
    .help = "For --send: what metrics are called: sets of names, gpumon, neuron-monitor-cloudwatch, and synop for all "
            "that stands in none; or paths of files of that form." },
  { "cloudwatch", "labels", "cloudwatch-labels", OPTION_LIST, IN_AGENT (send.labels), .check = send_labels_check,
    .reload = RELOAD_SEND, .help = "For --send: dimensions that all metrics get: NAME=VALUE, parted by commas." },
  { "cloudwatch", "groups", "cloudwatch-groups", OPTION_LIST, IN_AGENT (send.groups), .check = globs_list_check,
    .reload = RELOAD_SEND, .help = "For --send: patterns of the groups that are sent. Empty: all." },
  { "cloudwatch", "period", "cloudwatch-period", OPTION_DURATION, IN_AGENT (send.period_ns), CLOUDWATCH_PERIOD, "100ms",
    "1h", .reload = RELOAD_SEND,
    .help = "For --send: a sample of each series so often; of groups that are sampled less often, each." },
  CLOUDWATCH_OPTIONS ("cloudwatch", SEND_FLAG, IN_CLOUDWATCH, RELOAD_SEND, "For --send: "),
  { "cloudwatch", "ca", "cloudwatch-ca", OPTION_PATH, IN_AGENT (send.ca), .reload = RELOAD_SEND,
    .help = "For --send: PEM file with those who may sign the service's certificate. Empty: those that the system "
            "trusts." },
  { "cloudwatch", "price", "price", OPTION_TEXT, IN_AGENT (price), .check = send_price_check,
    .help = "For --dry-run: price of a series a month, as 0.30: what is sent costs so much." },
  { "traces", "enabled", "traces", OPTION_BOOLEAN, IN_AGENT (traces.enabled), "no",
    .help =
        "Whether processes of jobs can be traced from the master: PyTorch's profiler, which speaks to the agent when a "
        "job is started with KINETO_USE_DAEMON=1, other profilers, bursts of samples (docs/traces.md)." },
  { "traces", "socket", "traces-socket", OPTION_TEXT, IN_AGENT (traces.socket), "@dynolog",
    .help =
        "The datagram socket at which processes register: @NAME, an abstract one, or a path, which containers can be "
        "given: KINETO_IPC_SOCKET_DIR is then its folder, and its name has to be dynolog." },
  { "traces", "group", "traces-group", OPTION_TEXT, IN_AGENT (traces.group), "",
    .help = "Only processes in this group of users are traced. Empty: all." },
  { "traces", "users", "traces-users", OPTION_LIST, IN_AGENT (traces.users), "",
    .help = "Only processes of these users are traced, names or numbers. Empty: those of all." },
  { "traces", "folders", "traces-folders", OPTION_LIST, IN_AGENT (traces.folders), "/tmp",
    .help = "Traces are written only below these folders, by the job's user." },
  { "group *", "enabled", "", OPTION_BOOLEAN, IN_GROUP (enabled), "yes", .reload = RELOAD_SAMPLING,
    .help = "Whether the group is sampled." },
  { "group *", "period", "", OPTION_DURATION, IN_GROUP (period_ns), NULL, "10ms", "1h", .reload = RELOAD_SAMPLING,
    .help = "How often the group is sampled. Without it: as [agent] period; what changes seldom at most every 10 s, or "
            "once a minute (docs/metrics.md)." },
};

/* ---- life ---- */

#define AGENT_ROWS (sizeof option_table / sizeof option_table[0])

static void *
group_record (void *target, const char *name)
{
  struct agent_options *options = target;

  for (size_t i = 0; i < sampler_count; i++)
    if (strcmp (samplers[i]->group->name, name) == 0)
      return &options->groups[i];
  return NULL;
}

struct agent_options *
agent_options_create (void)
{
  size_t rows = AGENT_ROWS, size = own_options_size (&rows);
  struct agent_options *options = memory_new (1, sizeof *options + size);

  options->table = memory_new (rows, sizeof *options->table);
  memcpy (options->table, option_table, sizeof option_table);
  options->row_count = AGENT_ROWS;
  own_options_add (options);
  options->names = memory_new (sampler_count + 1, sizeof *options->names);
  for (size_t i = 0; i < sampler_count; i++)
    options->names[i] = samplers[i]->group->name;
  options->sections = (struct config_wildcard){ .prefix = "group ", .record = group_record, .names = options->names };
  options->groups = memory_new (sampler_count, sizeof *options->groups);
  options->context.services = services_create (services, service_count);
  options->config = config_create (options->table, options->row_count, options, &options->sections);
  config_add_types (options->config, agent_types, true);
  config_set_program (options->config, "synop-agent", DEFAULT_FILE);
  return options;
}

void
agent_options_destroy (struct agent_options *options)
{
  services_destroy (options->context.services);
  config_destroy (options->config);
  free (options->names);
  free (options->groups);
  free (options->periods_ns);
  free (options->spent_ns);
  free (options->context_root);
  free (options->table);
  free (options->own);
  free (options);
}

/* ---- reading ---- */

static const char *const words[] = { "help",     "version", "print-config", "list-groups", "json",
                                     "markdown", "once",    "dry-run",      NULL };

static const char *const action_words[] = {
  [ACTION_ONCE] = "once",
  [ACTION_HELP] = "help",
  [ACTION_VERSION] = "version",
  [ACTION_PRINT_CONFIG] = "print-config",
  [ACTION_LIST_GROUPS] = "list-groups",
  [ACTION_DRY_RUN] = "dry-run",
};

/* --help wins over all other words. */
static void
agent_take_word (void *context, const char *name)
{
  struct agent_options *options = context;
  enum agent_action action = ACTION_DRY_RUN;

  while (action != ACTION_RUN && strcmp (name, action_words[action]) != 0)
    action--;
  if (action == ACTION_RUN)
    *(strcmp (name, "json") == 0 ? &options->json : &options->markdown) = true;
  else if (options->action == ACTION_RUN || action == ACTION_HELP)
    options->action = options->other = action;
  else if (options->action != ACTION_HELP && options->action != action)
    options->other = action;
}

static int
resolve_node (struct agent_options *options, struct error *error)
{
  char *name = options->node_name;

  snprintf (name, sizeof options->node_name, "%s", options->node);
  if (name[0])
    return 0;
  if (gethostname (name, sizeof options->node_name - 1) < 0)
    return error_set (error, "this host's name: %s", strerror (errno));
  name[strcspn (name, ".")] = 0;
  if (node_name_check (name, strlen (name), error) < 0)
    return error_prefix (error, "the host's name cannot be the node's, set [agent] node: ");
  return 0;
}

static int
resolve_groups (struct agent_options *options, struct error *error)
{
  size_t periodic = 0;

  free (options->periods_ns);
  free (options->spent_ns);
  options->periods_ns = memory_new (sampler_count, sizeof *options->periods_ns);
  options->spent_ns = memory_new (sampler_count, sizeof *options->spent_ns);
  for (size_t i = 0; i < sampler_count; i++) {
    const struct group_options *group = &options->groups[i];

    if (!group->enabled)
      continue;
    options->periods_ns[i] = group->period_ns                              ? group->period_ns
                             : options->period_ns > samplers[i]->period_ns ? options->period_ns
                                                                           : samplers[i]->period_ns;
    periodic += !(samplers[i]->group->flags & GROUP_ONCE);
  }
  return periodic != 0 ? 0 : error_set (error, "every group is disabled; nothing is left to sample");
}

static void
resolve_context (struct agent_options *options)
{
  size_t length;

  free (options->context_root);
  options->context_root = memory_string (options->root);
  for (length = strlen (options->root); length != 0 && options->context_root[length - 1] == '/'; length--)
    options->context_root[length - 1] = 0;
  options->context = (struct sampler_context){
    .root = options->context_root,
    .brief = options->action == ACTION_ONCE || options->action == ACTION_DRY_RUN || options->count != 0,
    .own = options->own,
    .own_count = options->own_count,
    .services = options->context.services,
    .samplers = samplers,
    .periods_ns = options->periods_ns,
    .spent_ns = options->spent_ns,
    .sampler_count = sampler_count,
  };
  services_renew (options->context.services);
}

int
agent_options_resolve (struct agent_options *options, struct error *error)
{
  int rc = resolve_groups (options, error);

  resolve_context (options);
  return rc;
}

static bool
is_on_command_line (const struct agent_options *options, const char *key)
{
  return strcmp (config_source (options->config, "agent", key), "command line") == 0;
}

/* These go before what the file says: a report to standard output is the exception where the agent publishes. */
static int
check_together (const struct agent_options *options, struct error *error)
{
  bool once = options->action == ACTION_ONCE, counts = is_on_command_line (options, "count");

  if (options->action == ACTION_HELP)
    return 0;
  if (options->action == ACTION_DRY_RUN && options->send.to == SEND_NOWHERE)
    return error_set (error, "--dry-run goes with --send");
  if (options->send.to != SEND_NOWHERE && cloudwatch_check (&options->send.cloudwatch, options->send.names, error) < 0)
    return error_prefix (error, "[cloudwatch] ");
  if (options->other != options->action)
    return error_set (error, "--%s and --%s: give one of them", action_words[options->action],
                      action_words[options->other]);
  if (options->json && options->markdown)
    return error_set (error, "--json and --markdown: give one of them");
  if (once && counts)
    return error_set (error, "--once writes one report, --count N writes N: give one of them");
  if ((once || (options->action == ACTION_RUN && counts && options->count)) && is_on_command_line (options, "connect"))
    return error_set (error, "%s writes to standard output, --connect publishes: give one of them",
                      once ? "--once" : "--count");
  return 0;
}

int
agent_options_read (struct agent_options *options, int argc, char **argv, struct error *error)
{
  int at = 1;

  options->argc = argc;
  options->argv = argv;
  if (config_read_arguments (options->config, argc, argv, &at, words, agent_take_word, options, error) < 0)
    return -1;
  if (at < argc) {
    static const char *const commands[] = { "bench-node", "keys", "names", "run", "top", NULL };
    bool command = false;

    for (size_t i = 0; commands[i]; i++)
      command |= strcmp (argv[at], commands[i]) == 0;
    error_set (error, "unexpected argument \"%.64s\"%s", argv[at],
               command ? ": it comes first, and its options behind it" : "");
    config_hint_word (error, argv[at]);
    config_hint_nearest (error, argv[at], commands);
    return -1;
  }
  if (options->json && options->action != ACTION_LIST_GROUPS && options->action != ACTION_HELP)
    return error_set (error, "--json goes with --list-groups; reports are JSON always");
  if (options->markdown && options->action != ACTION_LIST_GROUPS && options->action != ACTION_PRINT_CONFIG &&
      options->action != ACTION_HELP)
    return error_set (error, "--markdown goes with --list-groups and --print-config; reports are JSON always");
  if (check_together (options, error) < 0 || resolve_node (options, error) < 0 ||
      agent_options_resolve (options, error) < 0)
    return -1;
  log_set_level ((enum log_level) options->log_level);
  return 0;
}

static const char help_head[] =
    "Usage: synop-agent [OPTION]...                              this node's report, as JSON lines\n"
    "       synop-agent --connect tcp://HOST:PORT [OPTION]...    publishes it to an aggregator\n"
    "       synop-agent --http HOST:PORT [OPTION]...             shows it to Prometheus; with --connect as well\n"
    "       synop-agent --send cloudwatch [OPTION]...            sends it to Amazon CloudWatch; with --connect as "
    "well\n"
    "       synop-agent top                                      shows this node on the terminal\n"
    "       synop-agent --once | --count N                       one report, or N of them\n"
    "       synop-agent --list-groups [--json | --markdown]      every group and metric\n"
    "       synop-agent keys init [--keys DIR] [--node NAME]     makes this node's keys\n"
    "       synop-agent bench-node [--file FILE]                 measures what this machine can do at most\n"
    "       synop-agent names SET...                             checks names files for Prometheus\n"
    "       synop-agent run --job NAME [--] COMMAND              runs a command as a job, where there is no scheduler\n"
    "       synop-agent --compat neuron-monitor [-c FILE]        writes JSON lines of neuron-monitor's form\n"
    "\n"
    "Samples this machine every second: CPUs, memory, disks, file systems, network, InfiniBand, and more. Each\n"
    "group of metrics has a period of its own. Counters show their change in the period.\n"
    "\n"
    "  --once                      Sample, wait a period, sample again, write one report with all groups, and end.\n"
    "  --dry-run                   With --send: how many series would be sent; with --price what they cost.\n"
    "  --list-groups               Every group and metric with unit, kind and meaning; --json: as one object.\n";

static const char help_tail[] =
    "\n"
    "Durations: 500ms, 5s, 1m, 1h. Options in [sections] stand in the file; \"synop-agent --print-config\" writes\n"
    "one.\n"
    "\n"
    "Files:\n"
    "  " DEFAULT_FILE "          options, read if it is there\n"
    "  /etc/synop/keys/agent.key      this node's secret key, made by \"synop-agent keys init\"\n"
    "  /etc/synop/keys/agent.pub      its public key: copy it to the master, \"synop-aggregator keys add NODE FILE\"\n"
    "  /etc/synop/keys/aggregator.pub the aggregator's public key: copy it from the master\n"
    "\n"
    "Examples:\n"
    "  synop-agent --once | jq .report.system_data.network.total\n"
    "  synop-agent --period 5s | tee node.json\n"
    "  synop-agent --connect tcp://master:5555 --node n7\n"
    "  synop-agent --http 127.0.0.1:9100\n"
    "\n"
    "Exit codes: 0 ended on request, or the reader of standard output is gone; 1 failed while running; 2 an option, a\n"
    "file of options or a key is wrong. SIGHUP reads configuration and keys again, SIGTERM and SIGINT end the agent.\n";

void
agent_options_help (const struct agent_options *options, struct buffer *out)
{
  buffer_add_string (out, help_head);
  config_print_help (options->config, out);
  buffer_add_string (out, help_tail);
}
