/* Jobs and reports on them, from the history. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/api/api_route.h"
#include "aggregator/history/job_json.h"
#include "aggregator/history/job_store.h"
#include "aggregator/jobs/jobs.h"
#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_document.h"
#include "aggregator/report/job_list_table.h"
#include "aggregator/report/job_report.h"
#include "aggregator/report/job_report_write.h"
#include "synop/globs.h"

#define WIDTH_MIN 40 /* of a report */

static void
write_object (struct json *json, const struct job_list *list, size_t first)
{
  json_object (json);
  json_array (json_key (json, "jobs"));
  for (size_t i = first; i < list->count; i++)
    job_json (json, &list->jobs[i]);
  json_array_end (json);
  json_uint (json_key (json, "left_out"), first);
  json_uint (json_key (json, "damaged"), list->damaged);
  if (list->others)
    json_bool (json_key (json, "others_left_out"), true);
  json_object_end (json);
  json_newline (json);
}

static void
write_lines (struct json *json, const struct job_list *list, size_t first)
{
  for (size_t i = first; i < list->count; i++) {
    job_json (json, &list->jobs[i]);
    json_newline (json);
  }
}

static void
write_table (struct json *json, const struct job_list *list, size_t first)
{
  const struct job_list shown = { .jobs = list->jobs + first, .count = list->count - first };

  job_list_table (&json->out, &shown);
  if (first)
    buffer_printf (&json->out, "%zu older jobs are left out.\n", first);
  if (list->damaged)
    buffer_printf (&json->out, "%zu damaged jobs are left out.\n", list->damaged);
  if (list->others)
    buffer_add_string (&json->out, "Jobs of other users are left out.\n");
}

static void
write_list (struct api_read *read, struct json *json, struct job_list *list)
{
  size_t most = strtoul (api_value (read->ask, "limit"), NULL, 10), first = list->count > most ? list->count - most : 0;
  char form = *api_value (read->ask, "format");

  for (size_t i = first; i < list->count; i++)
    jobs_complete (&list->jobs[i]);
  if (form != 'j')
    read->type = "text/plain;charset=utf-8";
  (form == 'j' ? write_object : form == 'l' ? write_lines : write_table) (json, list, first);
}

int
api_read_jobs (struct api_read *read, struct api_error *error)
{
  struct job_query query = { .running = api_is_yes (api_value (read->ask, "running")) };
  const char *names = api_value (read->ask, "user");
  struct job_list list = { 0 };
  struct json json = { 0 };
  struct globs users;
  struct error why;
  int result;

  if (api_read_interval (read, &query.from_ns, &query.to_ns, error) < 0)
    return -1;
  globs_init (&users, names ? names : "");
  query.users = &users;
  query.viewer = &read->viewer;
  result = job_store_list (read->file, &query, &list, &why);
  if (result == 0)
    write_list (read, &json, &list);
  else
    api_error_set (error, 500, NULL, "%s", why.text);
  read->out = json.out;
  job_list_free (&list);
  globs_free (&users);
  return result;
}

/* ---- a report ---- */

static double
price (const char *text)
{
  return *text ? strtod (text, NULL) : nan ("");
}

/* -1 and error: there is none of that id, or several. */
static int
find (struct api_read *read, const struct job_choice *choice, struct api_error *error)
{
  struct job_record record;
  struct error why;
  int found = job_store_find (read->file, choice, &record, &why);

  if (found > 0)
    job_record_free (&record);
  else if (found == JOB_STORE_SEVERAL)
    return api_error_set (error, 409, strstr (why.text, "--scheduler") ? "scheduler" : "user", "%s", why.text);
  else if (found < 0)
    return api_error_set (error, 500, NULL, "%s", why.text);
  return found;
}

static struct job_report *
read_report (struct api_read *read, struct api_error *error)
{
  const struct job_choice choice = { api_value_of_path (read->ask), api_value (read->ask, "user"),
                                     api_value (read->ask, "scheduler"), &read->viewer };
  int found = find (read, &choice, error);
  struct advice_limits limits;
  struct job_report *report;
  struct error why;

  if (found < 0)
    return NULL;
  report = job_report_read (read->file, &choice, read->now_ns, NULL, &why);
  if (!report) {
    api_error_set (error, found == 0 ? 404 : 500, NULL, "%s", why.text);
    return NULL;
  }
  report->cluster = read->words[API_WORD_CLUSTER];
  report->prices = (struct job_prices){ price (read->words[API_WORD_PRICE]), price (read->words[API_WORD_CO2]),
                                        read->words[API_WORD_CURRENCY] };
  if (!advice_limits_parse (&limits, read->words[API_WORD_ADVICE]))
    limits = advice_limits_default;
  job_advice (report, &limits);
  return report;
}

static int
add_json (const struct job_report *report, struct buffer *out, struct error *error)
{
  struct json json = { 0 };

  (void) error;
  job_report_json (report, &json);
  *out = json.out;
  return 0;
}

int
api_read_job (struct api_read *read, struct api_error *error)
{
  struct job_report *report = read_report (read, error);

  if (!report)
    return -1;
  add_json (report, &read->out, NULL);
  job_report_destroy (report);
  return 0;
}

/* ---- a report as a file ---- */

static int
add_csv (const struct job_report *report, struct buffer *out, struct error *error)
{
  (void) error;
  job_report_csv (report, out);
  return 0;
}

static int
add_jobstats (const struct job_report *report, struct buffer *out, struct error *error)
{
  return job_report_jobstats (report, out, error);
}

static const struct form {
  const char *name, *type, *ending;
  job_document_fn *make;
} forms[] = {
  { "html", "text/html", "html", job_report_html_make },
  { "pdf", "application/pdf", "pdf", job_report_pdf_make },
  { "csv", "text/csv", "csv", add_csv },
  { "json", "application/json", "json", add_json },
  { "text", "text/plain;charset=utf-8", "txt", NULL },
  { "jobstats", "text/plain;charset=utf-8", "txt", add_jobstats },
};

static int
add_text (const struct api_read *read, const struct job_report *report, struct buffer *out)
{
  size_t width = strtoul (api_value (read->ask, "width"), NULL, 10);
  const struct job_look look = { .width = width < WIDTH_MIN ? WIDTH_MIN : width,
                                 .utf8 = !api_is_yes (api_value (read->ask, "ascii")),
                                 .colour = api_is_yes (api_value (read->ask, "colour")) };

  job_report_text (report, &look, out);
  return 0;
}

/* "job-123_1.pdf": no id has a name that a header, a shell or a file system takes for something else. */
static void
name_file (struct api_read *read, const char *ending)
{
  const char *id = api_value_of_path (read->ask);

  snprintf (read->name, sizeof read->name, "job-%.100s.%s", id, ending);
  for (char *at = read->name; *at; at++)
    if (!strchr ("-._", *at) && !(*at >= '0' && *at <= '9') && !(*at >= 'a' && *at <= 'z') &&
        !(*at >= 'A' && *at <= 'Z'))
      *at = '_';
}

int
api_read_report (struct api_read *read, struct api_error *error)
{
  const char *format = api_value (read->ask, "format");
  const struct form *form = forms;
  struct job_report *report = read_report (read, error);
  struct error why;
  int result;

  if (!report)
    return -1;
  while (strcmp (form->name, format) != 0) /* the route has no others */
    form++;
  result = form->make ? form->make (report, &read->out, &why) : add_text (read, report, &read->out);
  if (result < 0)
    api_error_set (error, 500, NULL, "%s", why.text);
  read->type = form->type;
  name_file (read, form->ending);
  job_report_destroy (report);
  return result;
}
