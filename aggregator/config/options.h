/* The aggregator's options: from the command line, from /etc/synop/aggregator.ini, or defaults. */
#ifndef SYNOP_AGGREGATOR_OPTIONS_H
#define SYNOP_AGGREGATOR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/views/view.h"
#include "synop/buffer.h"
#include "synop/config.h"
#include "synop/error.h"

enum options_command {
  COMMAND_SERVE,
  COMMAND_TAIL,
  COMMAND_STATUS,
  COMMAND_REPLAY,
  COMMAND_EXPORT,
  COMMAND_CHECK,
  COMMAND_JOBS,
  COMMAND_JOB,
  COMMAND_REPORT,
  COMMAND_QUERY,
  COMMAND_TOP,
  COMMAND_TRACE,
  COMMAND_SEND,
  COMMAND_TOKEN
};
enum options_action { ACTION_RUN, ACTION_HELP, ACTION_VERSION, ACTION_PRINT_CONFIG };
enum options_output { OUTPUT_JSON, OUTPUT_NONE };
enum options_format { FORMAT_CSV, FORMAT_JSON, FORMAT_HDF5, FORMAT_PARQUET, FORMAT_ARROW, FORMAT_MSGPACK };
enum options_query_format {
  QUERY_FORMAT_TABLE,
  QUERY_FORMAT_JSON,
  QUERY_FORMAT_CSV,
  QUERY_FORMAT_PLOT,
  QUERY_FORMAT_LEVELS,
  QUERY_FORMAT_PARQUET,
  QUERY_FORMAT_ARROW
};
enum options_view { OPTIONS_VIEW_CLUSTER, OPTIONS_VIEW_JOBS, OPTIONS_VIEW_EVENTS, OPTIONS_VIEW_NODE };
enum options_report { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_PERFMON, REPORT_JOBSTATS, REPORT_CLUSTERCOCKPIT };

/* As enum options_command: "tail"; "" of COMMAND_SERVE. Behind them "keys", which has options of its own, and NULL. */
extern const char *const options_commands[];

extern const char *const options_trace_tools[]; /* the first is kineto; NULL at the end */

#define OPTIONS_OF_VIEWS 4096 /* bytes, of all views together */

struct options {
  enum options_command command;
  enum options_action action;
  enum options_action other; /* a second action that was given; else as `action` */
  bool markdown;             /* of --print-config */
  int argc;                  /* as given, for a reload */
  char **argv;
  struct config *config;
  struct option *table;                                          /* of the config */
  const struct config_type **types;                              /* the views' sections */
  size_t served;                                                 /* how many of its rows are the aggregator's own */
  char *program;                                                 /* "synop-aggregator tail" */
  const struct view *const *views;                               /* ended by NULL; given to aggregator_options_read */
  max_align_t of_views[OPTIONS_OF_VIEWS / sizeof (max_align_t)]; /* options_of_view */

  char *listen, *keys, *socket, *endpoint_file;
  uint64_t stale_periods, down_periods;
  int output, log_level;
  bool no_node_lines;
  int64_t tick_period_ns, tick_grace_ns, clock_limit_ns;
  uint64_t replay_rate, max_frame, intake_queue, intake_messages, reader_queue;

  char *node, *group, *type; /* of tail, replay and export */
  uint64_t count;
  char *from, *to;   /* of replay, export and jobs */
  int format;        /* of export */
  char *output_path; /* of export and report; "" in a report: standard output */
  const char *file;  /* of check; NULL: history_path */
  bool json;         /* of status, jobs and report */

  bool running;                                    /* of jobs: no others */
  char *user;                                      /* of jobs: globs; of job and report: whose it is */
  char *scheduler;                                 /* of report */
  char *name;                                      /* of job */
  const char *verb;                                /* of job: "start" or "end" */
  const char *job;                                 /* of job and report */
  int report;                                      /* enum options_report; --json makes it REPORT_JSON */
  char *cluster;                                   /* of report: CLUSTER or CLUSTER/PART in ClusterCockpit's archive */
  char *pdf, *html, *csv, *hdf5, *parquet, *arrow; /* of report: files; csv, parquet, arrow: folders; "": none */

  const char *metric; /* of query, with `list` globs; the rest as struct query has it, "" for none */
  char *row, *of_job, *step, *fold, *top, *bottom;
  bool list, rows, rate, combined, now;
  int query_format; /* enum options_query_format */

  bool dry_run; /* of send */
  char *price;

  bool once; /* of top, with `node` one name */
  uint64_t width;
  int view; /* enum options_view */
  char *sort, *filter, *top_metric;

  char *merge, *offsets, *trace_name, *trace_metrics; /* of trace, with `output_path`, `job`, `list`, `json`, */
  char *trace_nodes, *ranks, *start, *tool_set;       /* and of traces that are to begin */
  int tool;                                           /* of options_trace_tools */
  int64_t duration_ns;
  uint64_t iterations, limit;
  bool wait;
  const char *of_user; /* of token */
  bool revoke;
};

/* `views` must be set. -1 and error: exit with code 2. Call aggregator_options_free in any case. */
int aggregator_options_read (struct options *options, enum options_command command, int argc, char **argv,
                             struct error *error);
void aggregator_options_free (struct options *options);
/* The values of a view's own options. */
const void *options_of_view (const struct options *options, const struct view *view);

void aggregator_options_help (const struct options *options, struct buffer *out);

#endif
