/* "send --dry-run": what each section [send NAME] would send, and what it would cost; see commands.h. */
#include "aggregator/command/commands.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/send/send_survey.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"

#define LATELY (3600 * NS_PER_S) /* nodes that sent something since then are counted */

struct dry_run {
  struct history_file *file;
  double price; /* of a series a month; negative: it is not known */
  struct buffer table;
  uint64_t series;
  size_t sections;
  int result;
};

static void
put_row (struct dry_run *run, const char *name, const char *type, const char *nodes, uint64_t series)
{
  buffer_printf (&run->table, "%-20s  %-12s  %7s  %9" PRIu64, name, type, nodes, series);
  if (run->price >= 0)
    buffer_printf (&run->table, "  %13.2f", (double) series * run->price);
  buffer_add_string (&run->table, "\n");
}

static void
survey_section (void *context, const char *name, const void *before, const void *now)
{
  struct dry_run *run = context;
  const struct send_options *options = now;
  struct send_survey survey;
  struct error error;
  char nodes[24];

  (void) before;
  if (!now)
    return;
  run->sections++;
  if (send_survey (name, options, run->file, clock_wall () - LATELY, &survey, &error) < 0) {
    log_error ("[send %s] %s", name, error.text);
    run->result = 1;
    return;
  }
  snprintf (nodes, sizeof nodes, "%" PRIu64, survey.nodes);
  put_row (run, name, send_type_of (options)->name, nodes, survey.series);
  run->series += survey.series;
}

static int
dry_run (const struct options *options, double price)
{
  struct dry_run run = { .price = price };
  struct error error;
  int code;

  catch_up (options, clock_wall ());
  run.file = history_file_open (replay_path (options), &error);
  if (!run.file) {
    log_error ("%s", error.text);
    return 1;
  }
  curl_global_init (CURL_GLOBAL_DEFAULT);
  buffer_printf (&run.table, "%-20s  %-12s  %7s  %9s%s\n", "SECTION", "TYPE", "NODES", "SERIES",
                 price >= 0 ? "   COST A MONTH" : "");
  config_own (options->config, &send_config_type, survey_section, &run);
  if (run.sections > 1)
    put_row (&run, "all", "", "", run.series);
  if (run.sections)
    code = file_print (&run.table);
  else
    code = 0, log_info ("there is no section [send NAME]");
  curl_global_cleanup ();
  history_file_close (run.file);
  buffer_free (&run.table);
  return run.result ? run.result : code;
}

int
send_run (const struct options *options)
{
  if (!options->dry_run) {
    log_error ("expected \"synop-aggregator send --dry-run\": senders are the aggregator's own");
    return 2;
  }
  return dry_run (options, *options->price ? strtod (options->price, NULL) : -1);
}
