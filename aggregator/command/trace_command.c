/* See commands.h: "trace --merge FOLDER"; the others are trace_job.c's. */
#include "aggregator/command/commands.h"

#include <string.h>

#include "aggregator/command/trace_job.h"
#include "aggregator/traces/trace_merge.h"
#include "aggregator/traces/trace_rank.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"

static int
check_options (const struct options *options, struct error *error)
{
  struct error why;

  if (options->job)
    return config_error (options->config, "trace", "merge", error, "does not go with a job");
  if (!*options->output_path)
    return config_error (options->config, "trace", "output", error, "-o says where to write the merged trace");
  if (trace_form_check (options->trace_name, &why) < 0)
    return config_error (options->config, "trace", "name", error, "%s", why.text);
  return 0;
}

/* Without a history there are no curves, and offsets must stand in a file. */
static struct history_file *
history_of (const struct options *options)
{
  struct history_file *file;
  struct error error;

  catch_up (options, clock_wall ());
  file = history_file_open (replay_path (options), &error);
  if (!file)
    log_warning ("no values of nodes beside the traces: %s", error.text);
  return file;
}

int
trace_run (const struct options *options)
{
  struct trace_merge merge = { .folder = options->merge,
                               .output = options->output_path,
                               .form = options->trace_name,
                               .offsets = options->offsets,
                               .metrics =
                                   strcmp (options->trace_metrics, "none") == 0 ? NULL : options->trace_metrics };
  struct buffer table = { 0 };
  struct error error;
  int left_out, code;

  if (options->list || (options->job && !*options->merge))
    return trace_job_run (options);
  if (check_options (options, &error) < 0) {
    log_error ("%s", error.text);
    return 2;
  }
  merge.file = history_of (options);
  left_out = trace_merge_run (&merge, &table, &error);
  if (left_out < 0)
    log_error ("%s", error.text);
  code = left_out < 0 ? 1 : file_print (&table);
  history_file_close (merge.file);
  buffer_free (&table);
  return left_out > 0 ? 1 : code;
}
