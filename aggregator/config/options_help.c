/* --help of the aggregator and its commands. */
#include <stdlib.h>

#include "aggregator/config/options_private.h"
#include "synop/memory.h"

static const char serve_help[] = "\
synop-aggregator: takes in what the agents of a cluster publish and streams it as JSON lines.\n\
\n\
  synop-aggregator [OPTIONS]                 listens for agents; JSON lines go to standard output\n\
  synop-aggregator tail [OPTIONS]            shows the stream of a running aggregator, filtered\n\
  synop-aggregator status [--json]           shows its nodes: state, last seen, sequence, lost frames, clock\n\
  synop-aggregator replay --from 10:00       shows the stream of then, from the history\n\
  synop-aggregator export -o DIR             writes tables of the history: csv, parquet, hdf5..., or its frames\n\
  synop-aggregator check [FILE]              verifies a history and says what is in it\n\
  synop-aggregator jobs [--running]          lists the batch jobs that ran\n\
  synop-aggregator report JOBID              says what a job used on its nodes; --pdf FILE, --html FILE with plots\n\
  synop-aggregator query METRIC              shows how a metric went: a table, a curve, JSON, CSV\n\
  synop-aggregator trace JOBID -o PATH       has the processes of a job traced, all from one instant on; --merge\n\
  synop-aggregator top                       shows the cluster on the terminal: nodes, jobs, events, one node\n\
  synop-aggregator send --dry-run            says how many series each sender would send, and what they cost\n\
  synop-aggregator job start|end ID          announces that a job begins or has ended, for prologs and epilogs\n\
  synop-aggregator token USER                makes a token by which that user asks from other hosts\n\
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
Options, also in " OPTIONS_FILE " or the file that --config names:\n\
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
synop-aggregator export: writes tables of the history, one for each group, with a column for each metric; the units of\n\
network.csv are in network.units.json. Times are cluster time. A group with rows has for each sample a row without a\n\
label for the node as a whole, then one for each device; counters are changes in the period, as in the stream.\n\
\n\
  synop-aggregator export --from -1h -o tables                     then pandas.read_csv (\"tables/network.csv\")\n\
  synop-aggregator export --format hdf5 --from 10:00 -o run.h5     then pandas.read_hdf (\"run.h5\", \"network\")\n\
  synop-aggregator export --format parquet --from -24h -o day      then pandas.read_parquet (\"day/network.parquet\")\n\
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
synop-aggregator job start ID: announces to a running aggregator that a job begins; job end ID: that it has ended, so that\n\
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
  synop-aggregator report 123 --format clustercockpit -o /var/lib/cc/job-archive --cluster fritz\n\
\n";

static const char trace_help[] = "\
synop-aggregator trace JOBID -o PATH: has the processes of a running job traced on all its nodes, from one instant of cluster\n\
time on: by PyTorch's profiler, where they were started with KINETO_USE_DAEMON=1, by perf, py-spy and others, or as a burst\n\
of samples of the nodes. --wait shows what came of each; the exit code is 1 when one of them is not there.\n\
\n\
  synop-aggregator trace 123 -o '/shared/traces/{job}/{node}-{rank}.json' --wait\n\
  synop-aggregator trace 123 -o '/shared/{node}-{pid}.json' --iterations 3 --ranks 0,8 --start +20s\n\
  synop-aggregator trace 123 -o '/shared/{node}.jsonl' --tool counters --set 'groups=gpu,cpu_usage period=20ms'\n\
  synop-aggregator trace --list 123\n\
\n\
synop-aggregator trace --merge FOLDER -o FILE: makes the traces of all ranks of a job, as PyTorch's profiler writes them, one\n\
trace for Perfetto or chrome://tracing. Each rank's events are moved to cluster time, by how its node's clock was then,\n\
and what the nodes measured stands beside them. Files that are damaged are left out, with a warning and exit code 1.\n\
\n\
  synop-aggregator trace --merge /shared/traces/123 -o job-123.json.gz\n\
  synop-aggregator trace --merge . --name 'trace_{node}_{rank}' --metric gpu.power -o job.json\n\
\n";

static const char query_help[] = "\
synop-aggregator query METRIC: shows how a metric went, from the history: on each node, in steps of time. Of a gauge it is\n\
the mean of each step, of a counter the change. METRIC is as lines have it, GROUP.METRIC, or two of them with + - * /\n\
between, of which one may be a number.\n\
\n\
  synop-aggregator query cpu_usage.user --node 'n[1-8]' --from -24h --step 5m\n\
  synop-aggregator query 'memory_info.used / memory_info.total' --top 10\n\
  synop-aggregator query network.rx_bytes --row 'ib*' --rate --format plot\n\
  synop-aggregator query job_memory.rss --job 123 -o memory.png\n\
  synop-aggregator query cpu_usage.user --now --top 10\n\
  synop-aggregator query load.load_1 --combined --from -7d --format json\n\
  synop-aggregator query --list 'memory*'\n\
\n";

static const char top_help[] = "\
synop-aggregator top: shows the cluster of a running aggregator on the terminal, anew each second: all nodes as a picture, a\n\
line for each, the jobs that run, what is wrong, and each node. F1 shows what the keys do, q ends. Without colours: NO_COLOR=1.\n\
\n\
  synop-aggregator top\n\
  synop-aggregator top --metric gpu.temperature --sort metric\n\
  synop-aggregator top --once --sort cpu --filter 'gpu*' | head\n\
  synop-aggregator top --once --view jobs --width 120\n\
  synop-aggregator top --node n7\n\
\n";

static const char send_help[] = "\
synop-aggregator send --dry-run: shows how many series each section [send NAME] of the configuration would send, by what the\n\
history has of the last hour, and what they cost. Nothing is sent.\n\
\n\
  synop-aggregator send --dry-run --price 0.30\n\
\n";

static const char token_help[] = "\
synop-aggregator token USER: makes a token and prints it. Whoever has it is that user to the aggregator's HTTP: it goes into\n\
~/.config/synop/token (0600) on the hosts from which he asks, or where SYNOP_TOKEN_FILE says. The aggregator keeps a hash\n\
of it and takes it at once. A cluster that runs munged on those hosts needs none.\n\
\n\
  synop-aggregator token ana\n\
  synop-aggregator token ana --revoke\n\
\n";

void
aggregator_options_help (const struct options *options, struct buffer *out)
{
  static const char *const texts[] = { serve_help, tail_help,  status_help, replay_help, export_help,
                                       check_help, jobs_help,  job_help,    report_help, query_help,
                                       top_help,   trace_help, send_help,   token_help };
  const struct options_tables *own = &options_tables[options->command];
  struct option *table;
  size_t count = 0;
  struct options scratch = { 0 };
  struct config *config;

  buffer_add_string (out, texts[options->command]);
  if (options->command == COMMAND_SERVE) {
    config_print_help (options->config, out);
    return;
  }
  table = memory_new (options->served + own->count, sizeof table[0]);
  for (size_t i = 0; i < options->served; i++)
    if (options->table[i].flag == NULL || options->table[i].flag[0])
      table[count++] = options->table[i];
  for (size_t i = 0; i < own->count; i++)
    table[count++] = own->table[i];
  config = config_create (table, count, &scratch, NULL);
  config_set_program (config, options->program, OPTIONS_FILE);
  config_print_help (config, out);
  config_destroy (config);
  free (table);
}
