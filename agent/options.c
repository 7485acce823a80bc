/* What the agent was told; see options.h. The table below is all that there is to say about an option. */
#include "agent/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/gpu/dcgm.h"
#include "agent/gpu/gpu.h"
#include "agent/groups.h"
#include "agent/neuron/imds.h"
#include "agent/neuron/neuron.h"
#include "synop/frame.h"
#include "synop/link.h"
#include "synop/log.h"
#include "synop/memory.h"

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
check_endpoint (const char *value, struct error *error)
{
  if (strncmp (value, "http://", 7) != 0 || !value[7])
    return error_set (error, "\"%s\" is not understood; expected http://HOST or http://HOST:PORT", value);
  return 0;
}

static int
check_variables (const char *value, struct error *error)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

  for (const char *at = value; *at; at++) {
    size_t length = strcspn (at, ",");

    if (!length || !strchr (letters, at[0]) ||
        strspn (at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") < length)
      return error_set (error, "\"%.*s\" cannot be the name of an environment variable", (int) length, at);
    at += length;
    if (!*at)
      break;
  }
  return 0;
}

static const char *const log_levels[] = { "error", "warning", "info", "debug", NULL };
static const char *const metadata_choices[] = { "off", "imds", NULL };

#define IN_AGENT(member) offsetof (struct agent_options, member)
#define IN_GROUP(member) offsetof (struct group_options, member)

static const struct option option_table[] = {
  { "agent", "connect", NULL, OPTION_TEXT, IN_AGENT (connect), "", .check = check_connect,
    .help = "The aggregator to publish to, tcp://HOST:PORT; its control channel is on the next port. Without one the "
            "report goes to standard output as JSON lines." },
  { "agent", "node", NULL, OPTION_TEXT, IN_AGENT (node), "", .check = check_node,
    .help =
        "This node's name, the one its key was added under at the aggregator. Empty: the host's name up to its first "
        "dot." },
  { "agent", "keys", NULL, OPTION_PATH, IN_AGENT (keys), "/etc/synop/keys",
    .help = "The folder with agent.key and aggregator.pub." },
  { "agent", "period", NULL, OPTION_DURATION, IN_AGENT (period_ns), "1s", "10ms", "1h",
    .help = "How often groups are sampled that have no period of their own." },
  { "agent", "queue", NULL, OPTION_SIZE, IN_AGENT (queue), "300", "1", "100000",
    .help =
        "How many frames wait in memory while the aggregator is away. What does not fit is asked for from the ring." },
  { "agent", "realtime", NULL, OPTION_BOOLEAN, IN_AGENT (realtime), "yes",
    .help =
        "Whether the thread that samples goes before ordinary work (SCHED_FIFO, the lowest priority), so that all "
        "nodes "
        "sample at one instant also when they are busy; it takes under a millisecond of a period. Where that is not "
        "permitted it samples at the ordinary priority." },
  { "agent", "frame_log", NULL, OPTION_PATH, IN_AGENT (frame_log), "",
    .help = "A file to which every frame that is sampled for the aggregator is appended as it is sent, one msgpack "
            "message behind the other, without end: for tests, and for who looks for a fault. Empty: none." },
  { "agent", "root", NULL, OPTION_PATH, IN_AGENT (root), "/", .check = check_root,
    .help =
        "The folder that holds proc and sys: another than / shows a recorded machine, without what the record lacks: "
        "sizes of file systems; NVIDIA's GPUs, neuron-monitor and the metadata service, unless [gpu] library, "
        "[neuron] command or [instance] endpoint name others than the defaults." },
  { "agent", "count", NULL, OPTION_SIZE, IN_AGENT (count), "0", NULL, NULL,
    .help = "Write that many reports to standard output, and end; 0: go on for ever." },
  { "agent", "log_level", NULL, OPTION_CHOICE, IN_AGENT (log_level), "info", .choices = log_levels,
    .help = "What is told on standard error." },
  { "ring", "enabled", "ring", OPTION_BOOLEAN, IN_AGENT (ring), "yes",
    .help = "Whether the last frames are kept, so that the aggregator can ask for those that it missed." },
  { "ring", "path", "ring-path", OPTION_TEXT, IN_AGENT (ring_path), "/var/lib/synop/ring",
    .help = "The file that holds them, so that they outlive the agent. Empty: in memory." },
  { "ring", "max_age", "ring-max-age", OPTION_DURATION, IN_AGENT (ring_age_ns), "15m", "1s", "24h",
    .help = "How long a frame is kept." },
  { "ring", "max_size", "ring-max-size", OPTION_SIZE, IN_AGENT (ring_size), "32M", "64k", "1G",
    .help = "The size of the file; over it the oldest frames go." },
  { "group *", "enabled", "", OPTION_BOOLEAN, IN_GROUP (enabled), "yes", .help = "Whether the group is sampled." },
  { "group *", "period", "", OPTION_DURATION, IN_GROUP (period_ns), NULL, "10ms", "1h",
    .help = "How often the group is sampled. Without it: as [agent] period." },
  { "group disk_io", "exclude", "", OPTION_LIST, IN_AGENT (disk_exclude), "loop*,ram*,zram*,fd*,sr*",
    .help = "Globs of block devices to leave out." },
  { "group disk_io", "partitions", "", OPTION_BOOLEAN, IN_AGENT (disk_partitions), "no",
    .help = "Whether partitions are shown, beside whole devices." },
  { "group filesystem", "exclude", "", OPTION_LIST, IN_AGENT (filesystem_exclude), "",
    .help = "Globs of mount points to leave out." },
  { "group filesystem", "types_exclude", "", OPTION_LIST, IN_AGENT (filesystem_types_exclude), "",
    .help =
        "Globs of types of file systems to leave out, beside those that hold no files of users (proc, sysfs, ...)." },
  { "group network", "exclude", "", OPTION_LIST, IN_AGENT (network_exclude), "",
    .help = "Globs of interfaces to leave out." },
  { "instance", "metadata", "instance-metadata", OPTION_CHOICE, IN_AGENT (instance_metadata), "off",
    .choices = metadata_choices,
    .help = "imds: ask the cloud's metadata service for what this instance is, once a session." },
  { "instance", "endpoint", "instance-endpoint", OPTION_TEXT, IN_AGENT (instance_endpoint), IMDS_ENDPOINT,
    .check = check_endpoint, .help = "Where the metadata service is." },
  { "jobs", "environment", "jobs-environment", OPTION_LIST, IN_AGENT (job_environment), "", .check = check_variables,
    .help = "Further environment variables that hold the id of the job that a process belongs to, beside those of the "
            "schedulers that are known." },
  { "jobs", "pss_period", "jobs-pss-period", OPTION_DURATION, IN_AGENT (job_pss_period_ns), "30s", "1s", "24h",
    .help = "How often the memory that processes of jobs share is parted among them, which costs a walk over all of "
            "it. Where that takes long it is done more rarely." },
  { "jobs", "book", "jobs-book", OPTION_TEXT, IN_AGENT (job_book), "/var/lib/synop/jobs",
    .help = "The file that holds what each job has used, so that an agent that starts again goes on from there. "
            "Empty: in memory." },
  { "neuron", "command", "neuron-command", OPTION_TEXT, IN_AGENT (neuron_command), NEURON_PROGRAM,
    .help =
        "The program that tells of AWS Neuron devices, with its options. It is started where there are such devices "
        "and it is installed; else the driver's files are read. Another than the default is started always. Its "
        "configuration is made from the groups' periods unless a -c FILE stands here. off: the files alone." },
  { "gpu", "library", "gpu-library", OPTION_TEXT, IN_AGENT (gpu_library), "libnvidia-ml.so.1",
    .help = "NVIDIA's management library: a path, or a name that the system finds. Where there is none there are no "
            "GPUs." },
  { "gpu", "dcgm", "gpu-dcgm", OPTION_TEXT, IN_AGENT (dcgm), DCGM_DEFAULT, .check = dcgm_check,
    .help = "Where gpu_profiling has the values of GPUs from that are older than Hopper: the host engine of DCGM that "
            "runs at HOST:PORT or at the path of a socket; embedded: one in the agent; off: none. That nothing runs at "
            "the default is no error." },
};

static void *
group_record (void *target, const char *name)
{
  struct agent_options *options = target;

  for (size_t i = 0; i < sampler_count; i++)
    if (strcmp (samplers[i]->group->name, name) == 0)
      return &options->groups[i];
  return NULL;
}

static const char *const words[] = {
  "help", "version", "print-config", "list-groups", "json", "markdown", "once", NULL
};

static const char *const action_words[] = {
  [ACTION_ONCE] = "once",
  [ACTION_HELP] = "help",
  [ACTION_VERSION] = "version",
  [ACTION_PRINT_CONFIG] = "print-config",
  [ACTION_LIST_GROUPS] = "list-groups",
};

/* Who asks for help gets it, whatever else is asked for. */
static void
take_word (void *context, const char *name)
{
  struct agent_options *options = context;
  enum agent_action action = ACTION_LIST_GROUPS;

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
  options->periods_ns = memory_new (sampler_count, sizeof *options->periods_ns);
  for (size_t i = 0; i < sampler_count; i++) {
    const struct group_options *group = &options->groups[i];

    if (!group->enabled)
      continue;
    options->periods_ns[i] = group->period_ns != 0 ? group->period_ns : options->period_ns;
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
    .disk_exclude = options->disk_exclude,
    .disk_partitions = options->disk_partitions,
    .filesystem_exclude = options->filesystem_exclude,
    .filesystem_types_exclude = options->filesystem_types_exclude,
    .network_exclude = options->network_exclude,
    .instance_metadata = options->instance_metadata == 1,
    .instance_endpoint = options->instance_endpoint,
    .job_environment = options->job_environment,
    .job_pss_period_ns = options->job_pss_period_ns,
    /* A report or a few are no matter of restarts, and the file may be that of the agent that publishes. */
    .job_book = options->action == ACTION_ONCE || options->count != 0 ? "" : options->job_book,
    .job_share = &options->job_share,
    .samplers = samplers,
    .sampler_count = sampler_count,
    .periods_ns = options->periods_ns,
    .gpu_library = options->gpu_library,
    .dcgm = options->dcgm,
    .gpus = &options->gpus,
    .neuron_command = options->neuron_command,
    .neuron = &options->neuron,
  };
}

int
options_resolve (struct agent_options *options, struct error *error)
{
  int rc = resolve_groups (options, error);

  neuron_end (options->neuron); /* sampled anew: neuron-monitor with other periods */
  options->neuron = NULL;
  resolve_context (options);
  return rc;
}

static bool
is_on_command_line (const struct agent_options *options, const char *key)
{
  return strcmp (config_source (options->config, "agent", key), "command line") == 0;
}

/* What the file says may stand: a report to standard output is the exception on a machine whose agent publishes. */
static int
check_together (const struct agent_options *options, struct error *error)
{
  bool once = options->action == ACTION_ONCE, counts = is_on_command_line (options, "count");

  if (options->action == ACTION_HELP)
    return 0;
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
options_read (struct agent_options *options, int argc, char **argv, struct error *error)
{
  int at = 1;

  options->argc = argc;
  options->argv = argv;
  options->names = memory_new (sampler_count + 1, sizeof *options->names);
  for (size_t i = 0; i < sampler_count; i++)
    options->names[i] = samplers[i]->group->name;
  options->sections = (struct config_wildcard){ .prefix = "group ", .record = group_record, .names = options->names };
  options->groups = memory_new (sampler_count, sizeof *options->groups);
  options->config =
      config_create (option_table, sizeof option_table / sizeof option_table[0], options, &options->sections);

  config_set_program (options->config, "synop-agent");
  if (config_read_arguments (options->config, argc, argv, &at, DEFAULT_FILE, words, take_word, options, error) < 0)
    return -1;
  if (at < argc) {
    error_set (error, "\"%.64s\" is not an option%s", argv[at],
               strcmp (argv[at], "keys") == 0 ? ": options of \"synop-agent keys init\" come after it" : "");
    config_hint_word (error, argv[at]);
    return -1;
  }
  if (options->json && options->action != ACTION_LIST_GROUPS && options->action != ACTION_HELP)
    return error_set (error, "--json goes with --list-groups; reports are JSON always");
  if (options->markdown && options->action != ACTION_LIST_GROUPS && options->action != ACTION_PRINT_CONFIG &&
      options->action != ACTION_HELP)
    return error_set (error, "--markdown goes with --list-groups and --print-config; reports are JSON always");
  if (check_together (options, error) < 0 || resolve_node (options, error) < 0 || options_resolve (options, error) < 0)
    return -1;
  log_set_level ((enum log_level) options->log_level);
  return 0;
}

void
options_free (struct agent_options *options)
{
  gpus_unref (options->gpus);
  neuron_end (options->neuron);
  config_destroy (options->config);
  free (options->names);
  free (options->groups);
  free (options->periods_ns);
  free (options->context_root);
}

static const char help_head[] =
    "Usage: synop-agent [OPTION]...                              this node's report, as JSON lines\n"
    "       synop-agent --connect tcp://HOST:PORT [OPTION]...    publishes it to an aggregator\n"
    "       synop-agent --once | --count N                       one report, or N of them\n"
    "       synop-agent --list-groups [--json | --markdown]      every group and metric\n"
    "       synop-agent keys init [--keys DIR] [--node NAME]     makes this node's keys\n"
    "       synop-agent names SET...                             checks names files for Prometheus\n"
    "       synop-agent run --job NAME [--] COMMAND              runs a command as a job, where there is no scheduler\n"
    "\n"
    "Samples this machine every second: CPUs, memory, disks, file systems, network, InfiniBand, and more. Each\n"
    "group of metrics has a period of its own. Counters show their change in the period.\n"
    "\n"
    "  --once            Sample, wait a period, sample again, write one report with all groups, and end.\n"
    "  --list-groups     Every group and metric with unit, kind and meaning; --json: as one object.\n"
    "  --print-config    The options as a valid INI file, with where each value came from; --markdown: as a table.\n"
    "  --config FILE     The file to read, instead of " DEFAULT_FILE " if that exists.\n"
    "  --help, --version\n"
    "\n";

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
    "\n"
    "Exit codes: 0 ended when asked to, or nobody reads any more; 1 failed while running; 2 an option, a file of\n"
    "options or a key that is wrong. SIGHUP reads configuration and keys again, SIGTERM and SIGINT end it.\n";

void
options_help (const struct agent_options *options, struct buffer *out)
{
  buffer_add_string (out, help_head);
  config_print_help (options->config, out);
  buffer_add_string (out, help_tail);
}
