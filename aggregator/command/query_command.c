/* See commands.h: "query METRIC". */
#include "aggregator/command/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "aggregator/query/query.h"
#include "aggregator/query/query_plot.h"
#include "aggregator/report/job_document.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/globs.h"
#include "synop/log.h"

#define WIDTH_DEFAULT 80
#define HEIGHT_DEFAULT 24
#define WIDTH_MIN 40
#define HEIGHT_MIN 10
#define SIZE_MOST 1000 /* that is asked of others */

/* ---- the question ---- */

/* "--step", or the operand; the error begins with it. */
static int
fault (const struct options *options, const char *key, struct error *error)
{
  struct error why = *error;

  if (!key)
    return -1;
  if (strcmp (key, "metric") == 0)
    return -1;
  return config_error (options->config, "query", key, error, "%s", why.text);
}

static int
read_query (const struct options *options, struct query *query, struct error *error)
{
  const struct {
    const char *key, *value;
  } given[] = { { "metric", options->metric ? options->metric : "" },
                { "node", options->node },
                { "row", options->row },
                { "job", options->of_job },
                { "user", options->user },
                { "scheduler", options->scheduler },
                { "from", options->from },
                { "to", options->to },
                { "step", options->step },
                { "rows", options->rows ? "yes" : "no" },
                { "rate", options->rate ? "yes" : "no" },
                { "combined", options->combined ? "yes" : "no" },
                { "fold", options->fold },
                { "top", options->top },
                { "bottom", options->bottom } };

  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
    if (query_set (query, given[i].key, given[i].value, error) < 0)
      return fault (options, given[i].key, error);
  query->levels = options->query_format == QUERY_FORMAT_LEVELS;
  return 0;
}

/* ---- outputs ---- */

/* A picture is a plot, whatever else would be the default. */
static int
format_of (const struct options *options)
{
  enum query_canvas canvas;
  bool picture = query_canvas_of (options->output_path, &canvas) == 0;

  return picture && options->query_format == QUERY_FORMAT_TABLE ? QUERY_FORMAT_PLOT : options->query_format;
}

static bool
is_columnar (const struct options *options)
{
  return options->query_format == QUERY_FORMAT_PARQUET || options->query_format == QUERY_FORMAT_ARROW;
}

static int
check_output (const struct options *options, struct error *error)
{
  enum query_canvas canvas;

  if ((options->query_format == QUERY_FORMAT_PLOT || options->query_format == QUERY_FORMAT_LEVELS) && options->list)
    return config_error (options->config, "query", "format", error, "a list is a table, json or csv");
  if (is_columnar (options) && options->list)
    return config_error (options->config, "query", "format", error, "a list is a table, json or csv");
  if (is_columnar (options) && !*options->output_path && isatty (STDOUT_FILENO))
    return config_error (options->config, "query", "format", error, "is not for a terminal; -o says where to write it");
  if (options->now && (format_of (options) == QUERY_FORMAT_PLOT || format_of (options) == QUERY_FORMAT_LEVELS))
    return config_error (options->config, "query", "format", error, "an instant is a table, json or csv");
  if (options->list && options->metric && globs_list_check (options->metric, error) < 0)
    return -1;
  if (options->query_format != QUERY_FORMAT_PLOT || !*options->output_path ||
      query_canvas_of (options->output_path, &canvas) == 0)
    return 0;
  return config_error (options->config, "query", "output", error, "the file of a plot ends in .png, .svg or .pdf");
}

static struct query_look
look_of (const struct options *options)
{
  struct query_look look = { QUERY_TERMINAL, WIDTH_DEFAULT, HEIGHT_DEFAULT, false };
  const char *columns = getenv ("COLUMNS"), *lines = getenv ("LINES"), *forbidden = getenv ("NO_COLOR"),
             *terminal = getenv ("TERM");
  bool shown = !*options->output_path && isatty (STDOUT_FILENO);
  struct winsize size = { 0 };

  if (shown && ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
    look.width = size.ws_col;
    look.height = (size_t) size.ws_row - 1; /* the prompt's */
  }
  if (columns && atoi (columns) > 0)
    look.width = (size_t) atoi (columns);
  if (lines && atoi (lines) > 1)
    look.height = (size_t) atoi (lines) - 1;
  look.width = look.width < WIDTH_MIN ? WIDTH_MIN : look.width;
  look.height = look.height < HEIGHT_MIN ? HEIGHT_MIN : look.height;
  look.colour = shown && !(forbidden && *forbidden) && !(terminal && strcmp (terminal, "dumb") == 0);
  return look;
}

static int
put (const struct options *options, const struct buffer *text)
{
  struct error error;

  if (!*options->output_path)
    return file_print (text);
  if (document_write (options->output_path, text, &error) == 0)
    return 0;
  log_error ("%s", error.text);
  return 1;
}

static int
draw (const struct options *options, const struct query_answer *answer, struct buffer *out)
{
  struct query_look look = look_of (options);
  struct error error;

  if (*options->output_path)
    query_canvas_of (options->output_path, &look.canvas);
  if (query_plot (out, answer, &look, &error) == 0)
    return 0;
  log_error ("%s", error.text);
  return 1;
}

/* Notes go to standard error, so that what is printed can be read by programs; JSON has all of it. */
static void
note (const struct options *options, const struct query_answer *answer)
{
  struct buffer notes = { 0 };

  if (format_of (options) != QUERY_FORMAT_JSON && format_of (options) != QUERY_FORMAT_LEVELS) {
    query_write_notes (&notes, answer);
    file_write (STDERR_FILENO, notes.data, notes.length);
  }
  buffer_free (&notes);
}

static int
show (const struct options *options, const struct query_answer *answer)
{
  struct buffer out = { 0 };
  int code = 0;

  switch (format_of (options)) {
  case QUERY_FORMAT_JSON:
    query_write_json (&out, answer, NULL, NULL);
    break;
  case QUERY_FORMAT_LEVELS:
    query_write_levels (&out, answer);
    break;
  case QUERY_FORMAT_CSV:
    query_write_csv (&out, answer);
    break;
  case QUERY_FORMAT_PARQUET:
    query_write_columnar (&out, answer, &columnar_parquet);
    break;
  case QUERY_FORMAT_ARROW:
    query_write_columnar (&out, answer, &columnar_arrow);
    break;
  case QUERY_FORMAT_PLOT:
    code = draw (options, answer, &out);
    break;
  default:
    query_write_table (&out, answer, look_of (options).width);
  }
  if (code == 0)
    code = put (options, &out);
  if (code == 0)
    note (options, answer);
  buffer_free (&out);
  return code;
}

static int
show_list (const struct options *options, struct history_file *file)
{
  struct query_metrics metrics;
  struct buffer out = { 0 };
  struct error error;
  int code = 1;

  if (query_list (file, options->metric, &metrics, &error) < 0)
    log_error ("%s", error.text);
  else if (options->query_format == QUERY_FORMAT_JSON)
    query_write_list_json (&out, &metrics);
  else if (options->query_format == QUERY_FORMAT_CSV)
    query_write_list_csv (&out, &metrics);
  else
    query_write_list (&out, &metrics);
  if (out.length)
    code = put (options, &out);
  if (out.length && !metrics.count)
    log_warning ("no metric of the history matches \"%.64s\"", options->metric ? options->metric : "*");
  query_metrics_free (&metrics);
  buffer_free (&out);
  return code;
}

/* What is wrong with the question, or who cannot answer it: the exit code. */
static int
refuse (const struct options *options, const char *key, struct error *error)
{
  fault (options, key, error);
  log_error ("%s%s", error->text,
             key && strcmp (key, "metric") == 0 ? "; \"synop-aggregator query --list\" shows all" : "");
  return key ? 2 : 1;
}

static int
ask (const struct options *options, struct history_file *file, const struct query *query, int64_t now_ns)
{
  struct query_answer answer;
  struct error error;
  const char *key;
  int code;

  if (query_answer (file, query, now_ns, &answer, &key, &error) < 0)
    return refuse (options, key, &error);
  code = show (options, &answer);
  if (replay_broken (replay_path (options), "chunks or blocks of minutes and hours", answer.broken) != 0)
    code = 1;
  query_answer_free (&answer);
  return code;
}

/* ---- this instant, from a running aggregator ---- */

static int
answer_now (const struct options *options, const struct query *query, struct buffer *line)
{
  struct query_answer answer;
  struct error error;
  const char *key;
  int code;

  if (query_instant_answer (query, buffer_text (line), &answer, &key, &error) < 0)
    return refuse (options, key, &error);
  code = show (options, &answer);
  query_answer_free (&answer);
  return code;
}

static int
ask_now (const struct options *options, const struct reach *reach, const struct query *query)
{
  struct buffer request = { 0 }, line = { 0 };
  struct error error;
  const char *key;
  int code = 1;

  if (query_instant_request (query, &request, &key, &error) < 0)
    code = refuse (options, key, &error);
  else if (reach_request (reach, buffer_text (&request), &line, &error) < 0)
    client_log_no_answer (options, reach, &error);
  else
    code = answer_now (options, query, &line);
  buffer_free (&request);
  buffer_free (&line);
  return code;
}

/* ---- of the past, from an aggregator of which the history is ---- */

static int
put_far (void *context, const void *bytes, size_t length, struct error *error)
{
  (void) error;
  buffer_add (context, bytes, length);
  return 0;
}

static void
add_look (const struct options *options, struct reach_question *question)
{
  static const char *const canvases[] = { "terminal", "png", "svg", "pdf" };
  struct query_look look = look_of (options);
  char number[24];

  if (*options->output_path)
    query_canvas_of (options->output_path, &look.canvas);
  reach_parameter (question, "canvas", canvases[look.canvas]);
  snprintf (number, sizeof number, "%zu", look.width < SIZE_MOST ? look.width : SIZE_MOST);
  reach_parameter (question, "width", number);
  snprintf (number, sizeof number, "%zu", look.height < SIZE_MOST ? look.height : SIZE_MOST);
  reach_parameter (question, "height", number);
  reach_parameter (question, "colour", look.colour ? "yes" : "");
}

/* Times as this host reads them; none that was not given. */
static void
add_times (const struct options *options, const struct query *query, int64_t now_ns, struct reach_question *question)
{
  struct history_query when;
  char text[CLOCK_TEXT_SIZE];
  struct error error;
  const char *key;

  if (query_interval (query, now_ns, &when.from_ns, &when.to_ns, &key, &error) < 0)
    return;
  if (*options->from) {
    clock_text (when.from_ns, text);
    reach_parameter (question, "from", text);
  }
  if (*options->to) {
    clock_text (when.to_ns, text);
    reach_parameter (question, "to", text);
  }
}

static const char *const forms[] = {
  [QUERY_FORMAT_TABLE] = "table", [QUERY_FORMAT_JSON] = "json",     [QUERY_FORMAT_CSV] = "csv",
  [QUERY_FORMAT_PLOT] = "plot",   [QUERY_FORMAT_LEVELS] = "levels", [QUERY_FORMAT_PARQUET] = "parquet",
  [QUERY_FORMAT_ARROW] = "arrow"
};

static void
make_list (const struct options *options, struct reach_question *question)
{
  reach_path (question, "metrics");
  reach_parameter (question, "metric", options->metric);
  reach_parameter (question, "format", forms[options->query_format]);
}

static void
make_question (const struct options *options, const struct query *query, int64_t now_ns,
               struct reach_question *question)
{
  const struct {
    const char *key, *value;
  } given[] = { { "metric", options->metric },
                { "node", options->node },
                { "row", options->row },
                { "job", options->of_job },
                { "user", options->user },
                { "scheduler", options->scheduler },
                { "step", options->step },
                { "rows", options->rows ? "yes" : "" },
                { "rate", options->rate ? "yes" : "" },
                { "combined", options->combined ? "yes" : "" },
                { "fold", options->fold },
                { "top", options->top },
                { "bottom", options->bottom },
                { "format", forms[format_of (options)] } };

  reach_path (question, "query");
  for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
    reach_parameter (question, given[i].key, given[i].value);
  add_times (options, query, now_ns, question);
  add_look (options, question);
}

static int
ask_far (const struct options *options, const struct reach *reach, const struct query *query, int64_t now_ns)
{
  struct reach_question question = { 0 };
  struct buffer answer = { 0 };
  struct error error;
  int code = 1;

  if (options->list)
    make_list (options, &question);
  else
    make_question (options, query, now_ns, &question);
  if (reach_ask (reach, &question, &answer, put_far, &error) == 0)
    code = put (options, &answer);
  else
    log_error ("%s", error.text);
  reach_question_free (&question);
  buffer_free (&answer);
  return code;
}

static int
run_near (const struct options *options, const struct query *query, int64_t now_ns, int64_t to_ns)
{
  struct history_file *file;
  struct error error;
  int code;

  catch_up (options, to_ns);
  file = history_file_open (replay_path (options), &error);
  if (!file) {
    log_error ("%s", error.text);
    return 1;
  }
  code = options->list ? show_list (options, file) : ask (options, file, query, now_ns);
  history_file_close (file);
  return code;
}

int
query_run (const struct options *options)
{
  struct query query = { 0 };
  int64_t now = clock_wall (), from, to;
  const char *key;
  struct error error;
  struct reach reach;
  int code = 2;

  reach_init (&reach, options);
  if (check_output (options, &error) < 0 || read_query (options, &query, &error) < 0)
    log_error ("%s", error.text);
  else if (options->now && !options->list)
    code = ask_now (options, &reach, &query);
  else if (query_interval (&query, now, &from, &to, &key, &error) < 0)
    fault (options, key, &error), log_error ("%s", error.text);
  else
    code = reach_is_far (&reach, replay_path (options)) ? ask_far (options, &reach, &query, now)
                                                        : run_near (options, &query, now, to);
  reach_free (&reach);
  query_free (&query);
  return code;
}
