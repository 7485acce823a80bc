/* The tables of options: of the aggregator, and what each command adds. */
#include <fnmatch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/config/options_private.h"
#include "aggregator/stream/stream.h"
#include "synop/globs.h"
#include "synop/link.h"
#include "synop/log.h"
#include "synop/send_labels.h"

#define COUNT_OF(array) (sizeof (array) / sizeof ((array)[0]))
#define AT(member) .offset = offsetof (struct options, member)
#define TAKEN .reload = OPTIONS_RELOADED

static const char *const outputs[] = { "json", "none", NULL };

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

static const struct option serve_table[] = {
  { "aggregator", "listen", NULL, OPTION_TEXT, AT (listen), .fallback = "tcp://*:5555", .check = check_listen,
    .help = "Where agents connect: this port takes their data, the next one is the control channel. Port * takes two "
            "that are free." },
  { "aggregator", "keys", NULL, OPTION_PATH, AT (keys), .fallback = "/etc/synop/keys", .check = check_filled,
    .help = "Folder with aggregator.key and nodes/NODE.pub, as made by \"synop-aggregator keys\"." },
  { "aggregator", "socket", NULL, OPTION_PATH, AT (socket), .fallback = "/run/synop/aggregator.sock",
    .check = check_filled, .help = "UNIX socket through which tail, status and keys talk to the aggregator." },
  { "aggregator", "output", NULL, OPTION_CHOICE, AT (output), .fallback = "json", .choices = outputs, .letter = 'o',
    .help = "What goes to standard output: JSON lines, or nothing." },
  { "aggregator", "no_node_lines", NULL, OPTION_BOOLEAN, AT (no_node_lines), .fallback = "no",
    .help = "Standard output has combined reports and events only." },
  { "aggregator", "stale_periods", NULL, OPTION_SIZE, AT (stale_periods), .fallback = "3", .minimum = "2",
    .maximum = "1000", TAKEN, .help = "A node is stale after so many of its periods without a frame." },
  { "aggregator", "down_periods", NULL, OPTION_SIZE, AT (down_periods), .fallback = "10", .minimum = "3",
    .maximum = "10000", TAKEN, .help = "A node is down after so many of its periods without a frame." },
  { "aggregator", "max_frame", NULL, OPTION_SIZE, AT (max_frame), .fallback = "256k", .minimum = "4k", .maximum = "1M",
    .help = "Largest frame in bytes, which the aggregator announces to agents; they leave out rows of larger ones. "
            "1,000 CPUs need "
            "about 256k." },
  { "aggregator", "intake_queue", NULL, OPTION_SIZE, AT (intake_queue), .fallback = "64M", .minimum = "1M",
    .maximum = "16G", .help = "Bytes of messages that may wait to be taken in; over them messages are dropped." },
  { "aggregator", "intake_messages", NULL, OPTION_SIZE, AT (intake_messages), .fallback = "65536", .minimum = "64",
    .maximum = "16M", .help = "Number of messages that may wait to be taken in." },
  { "aggregator", "reader_queue", NULL, OPTION_SIZE, AT (reader_queue), .fallback = "32M", .minimum = "64k",
    .maximum = "1G", TAKEN,
    .help = "Bytes of lines that may wait for each reader; over them lines are dropped and counted." },
  { "aggregator", "replay_rate", NULL, OPTION_SIZE, AT (replay_rate), .fallback = "5000", .minimum = "0",
    .maximum = "1M", TAKEN,
    .help = "Frames a second, of all nodes together, that are asked for again when they did not come; 0: none are." },
  { "aggregator", "endpoint_file", NULL, OPTION_PATH, AT (endpoint_file),
    .help = "File into which the data endpoint is written once the aggregator listens, for scripts." },
  { "aggregator", "log_level", NULL, OPTION_CHOICE, AT (log_level), .fallback = "info", .choices = log_level_names,
    TAKEN, .help = "How much goes to standard error." },
  { "ticks", "period", "tick-period", OPTION_DURATION, AT (tick_period_ns), .fallback = "1s", .minimum = "10ms",
    .maximum = "1h", .help = "A combined report for each multiple of this in cluster time." },
  { "ticks", "grace", "tick-grace", OPTION_DURATION, AT (tick_grace_ns), .minimum = "0", .maximum = "1h",
    .help = "How long a tick waits for nodes that do not report; at most its period. 0: half its period." },
  { "clock", "limit", "clock-limit", OPTION_DURATION, AT (clock_limit_ns), .fallback = "500ms", .minimum = "1ms",
    .maximum = "1h", TAKEN, .help = "A node whose wall clock is off by more is an event." },
};

static const struct option tail_table[] = {
  { "tail", "node", NULL, OPTION_LIST, AT (node), .check = globs_list_check,
    .help = "Only lines of nodes whose name matches one of these globs." },
  { "tail", "group", NULL, OPTION_LIST, AT (group), .check = globs_list_check,
    .help = "Only these groups of node lines, or of combined reports with --type cluster; a line with none of them is "
            "left out. Without --type, only node lines." },
  { "tail", "type", NULL, OPTION_LIST, AT (type), .check = stream_types_check,
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
  { "replay", "node", NULL, OPTION_LIST, AT (node), .check = globs_list_check,
    .help = "Only lines of nodes whose name matches one of these globs." },
  { "replay", "group", NULL, OPTION_LIST, AT (group), .check = globs_list_check,
    .help = "Only these groups of node lines, or of combined reports with --type cluster; a line with none of them is "
            "left out. Without --type, only node lines." },
  { "replay", "type", NULL, OPTION_LIST, AT (type), .check = stream_types_check,
    .help = "Only lines of these types: node, cluster, event, job." },
};

static const char *const formats[] = {
  "csv", "json", "hdf5", "parquet", "arrow", "msgpack", NULL
}; /* as enum options_format */

static const struct option export_table[] = {
  { "export", "format", NULL, OPTION_CHOICE, AT (format), .fallback = "csv", .choices = formats,
    .help = "csv, json, parquet, arrow (Feather version 2): a file for each group; hdf5: one file; msgpack: one file "
            "with the "
            "frames as agents sent them." },
  { "export", "from", NULL, OPTION_TEXT, AT (from),
    .help = "The first instant; without it an hour ago, or with msgpack the beginning of the history. " WHEN },
  { "export", "to", NULL, OPTION_TEXT, AT (to), .help = "The instant before which it ends; without it now." },
  { "export", "node", NULL, OPTION_LIST, AT (node), .check = globs_list_check,
    .help = "Only nodes whose name matches one of these globs." },
  { "export", "group", NULL, OPTION_LIST, AT (group), .check = globs_list_check,
    .help = "Only groups whose name matches one of these globs." },
  { "export", "output", NULL, OPTION_TEXT, AT (output_path), .letter = 'o',
    .help = "The folder, which is made, or the file (hdf5, msgpack). What is there is left alone." },
};

static const char *const reports[] = {
  "text", "json", "csv", "perfmon", "jobstats", "clustercockpit", NULL
}; /* as enum options_report */

static const struct option jobs_table[] = {
  { "jobs", "json", NULL, OPTION_BOOLEAN, AT (json), .fallback = "no", .help = "A JSON line for each job." },
  { "jobs", "running", NULL, OPTION_BOOLEAN, AT (running), .fallback = "no", .help = "Only jobs that run." },
  { "jobs", "user", NULL, OPTION_LIST, AT (user), .check = globs_list_check,
    .help = "Only jobs of users whose name matches one of these globs." },
  { "jobs", "from", NULL, OPTION_TEXT, AT (from), .fallback = "-24h",
    .help = "Jobs that ran at some time from this instant on. " WHEN },
  { "jobs", "to", NULL, OPTION_TEXT, AT (to), .fallback = "now", .help = "The instant before which they ran." },
};

static const struct option job_table[] = {
  { "job", "user", NULL, OPTION_TEXT, AT (user),
    .help = "Of start: the job's user, until a node reports it. Of end: only jobs of this user." },
  { "job", "name", NULL, OPTION_TEXT, AT (name), .help = "Of start: the job's name, until a node reports it." },
};

static const struct option report_table[] = {
  { "report", "user", NULL, OPTION_TEXT, AT (user),
    .help = "Whose job it is, where several users have one of that id." },
  { "report", "scheduler", NULL, OPTION_TEXT, AT (scheduler),
    .help = "Of which scheduler (slurm, pbs, synop...), where several have one of that id." },
  { "report", "format", NULL, OPTION_CHOICE, AT (report), .fallback = "text", .choices = reports,
    .help = "text: for people; json: one object; csv: a table of the nodes' figures; perfmon: the merged JSON of "
            "perfmon; jobstats: a line for SLURM's AdminComment; clustercockpit: a folder in ClusterCockpit's job "
            "archive." },
  { "report", "json", NULL, OPTION_BOOLEAN, AT (json), .fallback = "no", .help = "The same as --format json." },
  { "report", "output", NULL, OPTION_TEXT, AT (output_path), .letter = 'o',
    .help = "A new file for what --format says, rather than standard output. No output replaces a file. Of "
            "clustercockpit the job archive, a folder." },
  { "report", "cluster", NULL, OPTION_TEXT, AT (cluster), .fallback = "cluster",
    .help = "Of --format clustercockpit: the cluster, as NAME or NAME/PART." },
  { "report", "pdf", NULL, OPTION_TEXT, AT (pdf), .help = "Writes this file: the report with plots, to be printed." },
  { "report", "html", NULL, OPTION_TEXT, AT (html),
    .help = "Writes this file: the report with plots, for a browser; it needs nothing beside it." },
  { "report", "csv", NULL, OPTION_TEXT, AT (csv), .help = "Makes this folder: a table for each group, of this job." },
  { "report", "hdf5", NULL, OPTION_TEXT, AT (hdf5), .help = "Writes this file: the same tables as HDF5." },
  { "report", "parquet", NULL, OPTION_TEXT, AT (parquet), .help = "Makes this folder: the same tables as Parquet." },
  { "report", "arrow", NULL, OPTION_TEXT, AT (arrow),
    .help = "Makes this folder: the same tables as Arrow files, which are Feather version 2." },
};

static const char *const query_formats[] = {
  "table", "json", "csv", "plot", "levels", "parquet", "arrow", NULL
}; /* as options_query_format */

static const struct option query_table[] = {
  { "query", "from", NULL, OPTION_TEXT, AT (from),
    .help = "The first instant; without it an hour before the end, or the job's start. " WHEN },
  { "query", "to", NULL, OPTION_TEXT, AT (to),
    .help = "The instant before which it ends; without it now, or the job's end." },
  { "query", "step", NULL, OPTION_TEXT, AT (step),
    .help = "Length of a step, as 10s, 5m, 1h; without it such that there are about 60, or fewer for many series." },
  { "query", "node", NULL, OPTION_LIST, AT (node), .check = globs_list_check,
    .help = "Only nodes whose name matches one of these globs." },
  { "query", "rows", NULL, OPTION_BOOLEAN, AT (rows), .fallback = "no",
    .help = "Each row, as a device or a job, is a series, rather than the node as a whole." },
  { "query", "row", NULL, OPTION_LIST, AT (row), .check = globs_list_check,
    .help = "Only rows whose label matches one of these globs, each a series." },
  { "query", "fold", NULL, OPTION_TEXT, AT (fold),
    .help = "sum, mean, min or max: of all series one is made, in each step." },
  { "query", "top", NULL, OPTION_TEXT, AT (top), .help = "Only so many series: those with the most, in the mean." },
  { "query", "bottom", NULL, OPTION_TEXT, AT (bottom), .help = "Only so many series: those with the least." },
  { "query", "job", NULL, OPTION_TEXT, AT (of_job),
    .help = "Of this job: its nodes, its time, and of metrics of jobs its rows." },
  { "query", "user", NULL, OPTION_TEXT, AT (user),
    .help = "Whose job it is, where several users have one of that id." },
  { "query", "scheduler", NULL, OPTION_TEXT, AT (scheduler),
    .help = "Of which scheduler (slurm, pbs, synop...), where several have one of that id." },
  { "query", "rate", NULL, OPTION_BOOLEAN, AT (rate), .fallback = "no",
    .help = "Of a counter the change in a second, rather than in the step." },
  { "query", "combined", NULL, OPTION_BOOLEAN, AT (combined), .fallback = "no",
    .help = "The cluster's combined report: sum, mean, min and max over all nodes." },
  { "query", "now", NULL, OPTION_BOOLEAN, AT (now), .fallback = "no",
    .help = "Values of this instant, from a running aggregator's memory; counters are their change in a second." },
  { "query", "list", NULL, OPTION_BOOLEAN, AT (list), .fallback = "no",
    .help = "Shows which metrics there are, or those whose name matches the globs that stand for METRIC." },
  { "query", "format", NULL, OPTION_CHOICE, AT (query_format), .fallback = "table", .choices = query_formats,
    .help = "table: for people; json, csv: values as they are; plot: curves, on the terminal or in a file; "
            "levels: a byte for each node and step, for pictures of many nodes; parquet, arrow: the table of csv." },
  { "query", "output", NULL, OPTION_TEXT, AT (output_path), .letter = 'o',
    .help = "A new file rather than standard output; a plot's ends in .png, .svg or .pdf." },
};

static const char *const views[] = { "cluster", "jobs", "events", "node", NULL }; /* as enum options_view */

static const struct option top_table[] = {
  { "top", "once", NULL, OPTION_BOOLEAN, AT (once), .fallback = "no",
    .help = "Writes one screen as text, with all nodes or jobs, and ends." },
  { "top", "view", NULL, OPTION_CHOICE, AT (view), .fallback = "cluster", .choices = views,
    .help = "What is shown first: the nodes, the jobs that run, what is wrong, or --node." },
  { "top", "metric", NULL, OPTION_TEXT, AT (top_metric), .fallback = "cpu_usage.busy",
    .help = "What the picture of the cluster shows, as \"synop-aggregator query\" takes it." },
  { "top", "sort", NULL, OPTION_TEXT, AT (sort),
    .help = "Order of nodes: name, state, cpu, memory, network, disk, gpu, power, metric; of jobs: cpu, memory, "
            "traffic, power, id, user." },
  { "top", "filter", NULL, OPTION_TEXT, AT (filter),
    .help = "Only nodes, jobs or events with one of these texts or globs, parted by commas." },
  { "top", "node", NULL, OPTION_TEXT, AT (node), .help = "Shows this node." },
  { "top", "width", NULL, OPTION_SIZE, AT (width), .fallback = "80", .minimum = "40", .maximum = "1000",
    .help = "Columns of --once." },
};

static const struct option token_table[] = {
  { "token", "revoke", NULL, OPTION_BOOLEAN, AT (revoke), .fallback = "no",
    .help = "Takes all tokens of the user away, rather than making one." },
};

const char *const options_trace_tools[] = { "kineto", "counters", "perf", "py-spy", "nsys", "rocprof", NULL };

static const struct option trace_table[] = {
  { "trace", "tool", NULL, OPTION_CHOICE, AT (tool), .fallback = "kineto", .choices = options_trace_tools,
    .help =
        "What is begun: kineto (PyTorch's profiler), counters (a burst of samples of the nodes), perf, py-spy, nsys, "
        "rocprof." },
  { "trace", "start", NULL, OPTION_TEXT, AT (start),
    .help = "When all begin, from now on, as +5s; without it +10s with kineto, whose processes ask every 5 s, and +2s "
            "with others." },
  { "trace", "duration", NULL, OPTION_DURATION, AT (duration_ns), .maximum = "1h",
    .help = "For how long; without it 500ms with kineto, and 10s with others." },
  { "trace", "iterations", NULL, OPTION_SIZE, AT (iterations), .fallback = "0", .maximum = "1000000",
    .help = "Of kineto: for so many iterations of the training's loop, rather than a duration." },
  { "trace", "nodes", NULL, OPTION_LIST, AT (trace_nodes), .check = globs_list_check,
    .help = "Only those of the job's nodes whose name matches one of these globs." },
  { "trace", "ranks", NULL, OPTION_TEXT, AT (ranks),
    .help = "Of kineto, py-spy and rocprof: only these ranks, as 0,8,16-23; at most 64." },
  { "trace", "limit", NULL, OPTION_SIZE, AT (limit), .fallback = "0", .maximum = "1000000",
    .help = "Of kineto: so many processes of the whole job at most, those of the lowest ranks; 0: all." },
  { "trace", "set", NULL, OPTION_TEXT, AT (tool_set),
    .help = "Options of the tool, KEY=VALUE with blanks between, as 'PROFILE_WITH_STACK=true "
            "ACTIVITIES_WARMUP_PERIOD_SECS=1'." },
  { "trace", "wait", NULL, OPTION_BOOLEAN, AT (wait), .fallback = "no",
    .help = "Waits until each trace is there, or why it is not is known." },
  { "trace", "list", NULL, OPTION_BOOLEAN, AT (list), .fallback = "no",
    .help = "Shows which processes could be traced: of JOB, or of all." },
  { "trace", "json", NULL, OPTION_BOOLEAN, AT (json), .fallback = "no",
    .help = "JSON lines as they come rather than a table." },
  { "trace", "merge", NULL, OPTION_TEXT, AT (merge),
    .help = "The folder with the ranks' traces, of PyTorch's profiler: .json or .json.gz." },
  { "trace", "output", NULL, OPTION_TEXT, AT (output_path), .letter = 'o',
    .help =
        "Where each trace is to lie, a path on the nodes with {job}, {node}, {rank}, {pid}. With --merge the merged "
        "trace, a new file; by gzip where it ends in .gz." },
  { "trace", "name", NULL, OPTION_TEXT, AT (trace_name), .fallback = "{node}-{rank}",
    .help = "What names of traces are like: {node}, {rank}, {pid}, {job} with other text; the rank that a trace itself "
            "states goes before." },
  { "trace", "offsets", NULL, OPTION_TEXT, AT (offsets),
    .help =
        "A file with lines \"NODE SECONDS\", by how much its wall clock was ahead; without it the history says so." },
  { "trace", "metric", NULL, OPTION_LIST, AT (trace_metrics),
    .help = "What the nodes measured that is shown beside the traces, as \"synop-aggregator query\" takes it; none: "
            "nothing. "
            "Without it what there is of GPUs, CPUs, network and InfiniBand." },
};

static const struct option send_table[] = {
  { "send", "dry_run", NULL, OPTION_BOOLEAN, AT (dry_run), .fallback = "no",
    .help =
        "Shows how many series each section would send, by what the history has of the last hour; nothing is sent." },
  { "send", "price", NULL, OPTION_TEXT, AT (price), .check = send_price_check,
    .help = "Price of a series a month, as 0.30: what each section costs is shown too." },
};

#define FAR "url", "access-ca", "access-munge-socket" /* how another host is asked */

const struct options_tables options_tables[] = {
  [COMMAND_SERVE] = { { NULL }, serve_table, COUNT_OF (serve_table) },
  [COMMAND_TAIL] = { { "socket", FAR }, tail_table, COUNT_OF (tail_table) },
  [COMMAND_STATUS] = { { "socket", FAR }, status_table, COUNT_OF (status_table) },
  [COMMAND_REPLAY] = { { "history", "socket", FAR }, replay_table, COUNT_OF (replay_table) },
  [COMMAND_EXPORT] = { { "history", "socket" }, export_table, COUNT_OF (export_table) },
  [COMMAND_CHECK] = { { "history" }, NULL, 0 },
  [COMMAND_JOBS] = { { "history", "socket", FAR }, jobs_table, COUNT_OF (jobs_table) },
  [COMMAND_JOB] = { { "socket" }, job_table, COUNT_OF (job_table) },
  [COMMAND_REPORT] = { { "history", "socket", FAR, "cluster-name", "price-per-kwh", "currency", "co2-per-kwh",
                         "advice-shortest", "advice-cpu", "advice-memory", "advice-gpu", "advice-storage",
                         "advice-network", "advice-time", "advice-margin" },
                       report_table,
                       COUNT_OF (report_table) },
  [COMMAND_QUERY] = { { "history", "socket", FAR }, query_table, COUNT_OF (query_table) },
  [COMMAND_TOP] = { { "history", "socket", FAR }, top_table, COUNT_OF (top_table) },
  [COMMAND_TOKEN] = { { "access-tokens" }, token_table, COUNT_OF (token_table) },
  [COMMAND_TRACE] = { { "history", "socket" }, trace_table, COUNT_OF (trace_table) },
  [COMMAND_SEND] = { { "history", "socket" }, send_table, COUNT_OF (send_table) },
};
