/* See report_command.h. Every requested output is tried, even after a failure. The one of --format goes to standard
 * output or -o; as text it is left out when only files are requested. */
#include "aggregator/api/api_view.h"
#include "aggregator/command/commands.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/command/export.h"
#include "aggregator/command/job_archive.h"
#include "aggregator/report/job_document.h"
#include "aggregator/report/job_report.h"
#include "aggregator/report/job_report_write.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"

#define WIDTH_MIN 40
#define WIDTH_MAX ((size_t) 1000) /* that is asked of others */

struct command {
  const struct options *options;
  struct history_file *file;
  struct job_report *report;
  bool failed;
};

static void
report_note (struct command *command, int result, const char *path, const struct error *error)
{
  if (result < 0) {
    log_error ("%s", error->text);
    command->failed = true;
  } else if (path) {
    log_info ("%s is written", path);
  }
}

/* ---- one file, or standard output ---- */

struct output {
  const char *path; /* NULL: standard output */
  FILE *file;
  bool made;
};

static int
output_open (struct output *output, const char *path, struct error *error)
{
  int fd;

  *output = (struct output){ .file = stdout };
  if (!*path)
    return 0;
  output->path = path;
  fd = document_open (path, &output->made, error);
  if (fd >= 0)
    output->file = fdopen (fd, "w");
  return fd < 0 ? -1 : output->file ? 0 : error_set (error, "%s: %s", path, strerror (errno));
}

static int
output_fail (const struct output *output, struct error *error)
{
  return error_set (error, "%s: %s", output->path ? output->path : "standard output", strerror (errno));
}

static int
output_put (void *context, const struct buffer *text, struct error *error)
{
  struct output *output = context;

  if (text->length && fwrite (text->data, 1, text->length, output->file) != text->length)
    return output_fail (output, error);
  return 0;
}

static int
output_close (struct output *output, struct error *error)
{
  int result = output->path ? fclose (output->file) : fflush (output->file);

  return result == 0 ? 0 : output_fail (output, error);
}

/* ---- text ---- */

static bool
is_utf8 (void)
{
  static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
  const char *value = NULL;

  for (size_t i = 0; i < 3 && (!value || !*value); i++)
    value = getenv (names[i]);
  return value && (strcasestr (value, "utf-8") || strcasestr (value, "utf8"));
}

static struct job_look
text_look (const struct output *output)
{
  struct job_look look = { .width = JOB_LOOK_WIDTH, .utf8 = is_utf8 () };
  const char *columns = getenv ("COLUMNS"), *forbidden = getenv ("NO_COLOR"), *terminal = getenv ("TERM");
  bool shown = !output->path && isatty (STDOUT_FILENO);
  struct winsize size = { 0 };

  if (columns && atoi (columns) > 0)
    look.width = (size_t) atoi (columns);
  else if (shown && ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
    look.width = size.ws_col;
  if (look.width < WIDTH_MIN)
    look.width = WIDTH_MIN;
  look.colour = shown && !(forbidden && *forbidden) && !(terminal && strcmp (terminal, "dumb") == 0);
  return look;
}

/* ---- the outputs ---- */

static int
write_report (struct command *command, struct output *output, struct error *error)
{
  struct replay_progress progress;
  struct job_perfmon perfmon = { .context = output, .put = output_put, .progress = &progress };
  struct job_look look = text_look (output);
  struct json json = { 0 };
  int result = 0;

  if (command->options->report == REPORT_PERFMON) {
    replay_progress_init (&progress, "report");
    result = job_report_perfmon (command->file, command->report, &perfmon, error);
    replay_progress_end (&progress);
  } else if (command->options->report == REPORT_JSON) {
    job_report_json (command->report, &json);
  } else if (command->options->report == REPORT_JOBSTATS) {
    result = job_report_jobstats (command->report, &json.out, error);
  } else if (command->options->report == REPORT_CSV) {
    job_report_csv (command->report, &json.out);
  } else {
    job_report_text (command->report, &look, &json.out);
  }
  if (result == 0)
    result = output_put (output, &json.out, error);
  json_free (&json);
  return result;
}

/* The metrics that a schema wants, and no node measured, are a warning. */
static void
write_archive (struct command *command)
{
  const struct options *options = command->options;
  struct job_archive archive = { .root = options->output_path,
                                 .cluster = options->cluster,
                                 .choice = { options->job, options->user, options->scheduler },
                                 .report = command->report,
                                 .file = command->file };
  struct error error;
  int result = job_archive_write (&archive, &error);

  if (result == 0 && archive.missing.length)
    log_warning ("job %s: no node measured %s, which ClusterCockpit's schemas want", command->report->shown,
                 buffer_text (&archive.missing));
  report_note (command, result, archive.path, &error);
  command->report->broken += archive.broken;
  buffer_free (&archive.missing);
  free (archive.path);
}

static void
show_report (struct command *command)
{
  const char *path = command->options->output_path;
  struct output output;
  struct error error, later;
  int result = output_open (&output, path, &error);

  if (result == 0) {
    result = write_report (command, &output, &error);
    if (output_close (&output, result < 0 ? &later : &error) < 0)
      result = -1;
    if (result < 0 && output.made)
      unlink (output.path);
  }
  report_note (command, result, *path ? path : NULL, &error);
}

/* A node's rows come together, in order of time. */
static void
write_tables (struct command *command, const struct export_format *format, const char *path)
{
  struct export export = { .job = command->report->id, .job_started_ns = command->report->started_ns };
  struct replay_progress progress;
  struct job_walk walk;
  struct error error, later;
  size_t broken;
  int result = -1;

  if (!*path)
    return;
  walk = job_walk (command->report);
  walk.history.into = (struct history_into){ &export_view, &export, &export.failed, &progress };
  replay_progress_init (&progress, "tables");
  if (export_begin (&export, format, path, &error) == 0)
    result = history_walk (command->file, &walk.history, &broken, &error);
  if (export_end (&export, result < 0 ? &later : &error) < 0)
    result = -1;
  replay_progress_end (&progress);
  report_note (command, result, path, &error);
  job_walk_free (&walk);
}

static void
write_document (struct command *command, int (*write) (const struct job_report *, const char *, struct error *),
                const char *path)
{
  struct error error;

  if (*path)
    report_note (command, write (command->report, path, &error), path, &error);
}

static bool
is_same_file (const char *path, const char *other)
{
  struct stat one, two;

  if (!*path || !*other)
    return false;
  return strcmp (path, other) == 0 || (stat (path, &one) == 0 && stat (other, &two) == 0 && S_ISREG (one.st_mode) &&
                                       one.st_dev == two.st_dev && one.st_ino == two.st_ino);
}

/* Each output needs a file of its own: the later one would replace the earlier one. */
static int
check_paths (const struct options *options)
{
  const struct {
    const char *option, *path;
  } outputs[] = { { "--output", options->output_path }, { "--pdf", options->pdf },
                  { "--html", options->html },          { "--csv", options->csv },
                  { "--hdf5", options->hdf5 },          { "--parquet", options->parquet },
                  { "--arrow", options->arrow } };
  size_t count = sizeof outputs / sizeof outputs[0];

  for (size_t i = 0; i < count; i++)
    for (size_t k = i + 1; k < count; k++)
      if (is_same_file (outputs[i].path, outputs[k].path)) {
        log_error ("%s and %s both name %s: each needs a path of its own", outputs[i].option, outputs[k].option,
                   outputs[k].path);
        return -1;
      }
  return 0;
}

static double
price (const char *text)
{
  return *text ? strtod (text, NULL) : nan ("");
}

static struct job_report *
read_report (struct command *command, struct error *error)
{
  const struct options *options = command->options;
  const struct api_settings *settings = options_of_view (options, &api_view);
  const struct job_choice choice = { options->job, options->user, options->scheduler };
  struct replay_progress progress;
  int64_t now = clock_wall ();

  catch_up (options, now);
  command->file = history_file_open (replay_path (options), error);
  if (!command->file)
    return NULL;
  replay_progress_init (&progress, "report");
  command->report = job_report_read (command->file, &choice, now, &progress, error);
  replay_progress_end (&progress);
  if (command->report) {
    command->report->cluster = settings->cluster;
    command->report->prices =
        (struct job_prices){ price (settings->price_per_kwh), price (settings->co2_per_kwh), settings->currency };
    job_advice (command->report, &settings->advice);
  }
  return command->report;
}

/* ---- from an aggregator of which the history is ---- */

static int
put_far (void *context, const void *bytes, size_t length, struct error *error)
{
  (void) error;
  buffer_add (context, bytes, length);
  return 0;
}

static int
ask_far (const struct command *command, const struct reach *reach, const char *format, struct buffer *answer,
         struct error *error)
{
  const struct options *options = command->options;
  const struct job_look look =
      text_look (&(struct output){ .path = *options->output_path ? options->output_path : NULL });
  struct reach_question question = { 0 };
  char width[24];
  int result;

  snprintf (width, sizeof width, "%zu", look.width < WIDTH_MAX ? look.width : WIDTH_MAX);
  reach_path (&question, "jobs/");
  reach_path (&question, options->job);
  reach_path (&question, "/report");
  reach_parameter (&question, "format", format);
  reach_parameter (&question, "user", options->user);
  reach_parameter (&question, "scheduler", options->scheduler);
  reach_parameter (&question, "width", width);
  reach_parameter (&question, "colour", look.colour ? "yes" : "");
  reach_parameter (&question, "ascii", look.utf8 ? "" : "yes");
  result = reach_ask (reach, &question, answer, put_far, error);
  reach_question_free (&question);
  return result;
}

/* `path` "": standard output. */
static void
fetch (struct command *command, const struct reach *reach, const char *format, const char *path)
{
  struct buffer answer = { 0 };
  struct error error;
  int result = ask_far (command, reach, format, &answer, &error);

  if (result == 0 && *path)
    result = document_write (path, &answer, &error);
  else if (result == 0)
    command->failed |= file_print (&answer) != 0;
  report_note (command, result, *path ? path : NULL, &error);
  buffer_free (&answer);
}

static int
report_far (const struct options *options, const struct reach *reach)
{
  static const char *const forms[] = {
    [REPORT_TEXT] = "text", [REPORT_JSON] = "json", [REPORT_CSV] = "csv", [REPORT_JOBSTATS] = "jobstats"
  };
  struct command command = { .options = options };
  bool files = *options->pdf || *options->html;

  if (*options->csv || *options->hdf5 || *options->parquet || *options->arrow || options->report == REPORT_PERFMON) {
    log_error ("%s: tables (--csv, --hdf5, --parquet, --arrow) and --format perfmon are made of the history, on the "
               "aggregator's host",
               reach->url);
    return 1;
  }
  if (options->report != REPORT_TEXT || *options->output_path || !files)
    fetch (&command, reach, forms[options->report], options->output_path);
  if (*options->pdf && !command.failed)
    fetch (&command, reach, "pdf", options->pdf);
  if (*options->html && !command.failed)
    fetch (&command, reach, "html", options->html);
  return command.failed ? 1 : 0;
}

static int
report_near (const struct options *options)
{
  struct command command = { .options = options };
  struct error error;
  bool files =
      *options->pdf || *options->html || *options->csv || *options->hdf5 || *options->parquet || *options->arrow;

  if (!read_report (&command, &error)) {
    log_error ("%s", error.text);
    history_file_close (command.file);
    return 1;
  }
  if (options->report == REPORT_CLUSTERCOCKPIT)
    write_archive (&command);
  else if (options->report != REPORT_TEXT || *options->output_path || !files)
    show_report (&command);
  write_document (&command, job_report_pdf, options->pdf);
  write_document (&command, job_report_html, options->html);
  write_tables (&command, &export_csv, options->csv);
  write_tables (&command, &export_hdf5, options->hdf5);
  write_tables (&command, &export_parquet, options->parquet);
  write_tables (&command, &export_arrow, options->arrow);
  command.failed |= replay_broken (replay_path (options), "chunks", command.report->broken) != 0;
  job_report_destroy (command.report);
  history_file_close (command.file);
  return command.failed ? 1 : 0;
}

int
report_run (const struct options *options)
{
  struct reach reach;
  int code;

  if (check_paths (options) < 0)
    return 2;
  reach_init (&reach, options);
  code = reach_is_far (&reach, replay_path (options)) ? report_far (options, &reach) : report_near (options);
  reach_free (&reach);
  return code;
}
