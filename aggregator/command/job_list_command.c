/* See commands.h. */
#include "aggregator/command/commands.h"

#include "aggregator/history/history_file.h"
#include "aggregator/history/job_json.h"
#include "aggregator/history/job_store.h"
#include "aggregator/jobs/jobs.h"
#include "aggregator/report/job_list_table.h"
#include "synop/file.h"
#include "synop/globs.h"
#include "synop/log.h"

#define JOBS_MOST "10000"

/* ---- the command ---- */

static int
show (const struct options *options, struct job_list *list)
{
  struct json json = { 0 };
  struct buffer text = { 0 };
  int code;

  for (size_t i = 0; i < list->count; i++)
    jobs_complete (&list->jobs[i]);
  for (size_t i = 0; options->json && i < list->count; i++) {
    job_json (&json, &list->jobs[i]);
    json_newline (&json);
  }
  if (!options->json)
    job_list_table (&text, list);
  code = file_print (options->json ? &json.out : &text);
  json_free (&json);
  buffer_free (&text);
  return code;
}

static int
ask_far (const struct options *options, const struct reach *reach, const struct history_query *when)
{
  struct reach_question question = { 0 };
  int code;

  reach_path (&question, "jobs");
  command_interval (&question, when);
  reach_parameter (&question, "user", options->user);
  reach_parameter (&question, "running", options->running ? "yes" : "");
  reach_parameter (&question, "limit", JOBS_MOST);
  reach_parameter (&question, "format", options->json ? "lines" : "table");
  code = reach_print (reach, &question);
  reach_question_free (&question);
  return code;
}

static int
list_near (const struct options *options, const struct history_query *when)
{
  struct job_query query = { .from_ns = when->from_ns, .to_ns = when->to_ns, .running = options->running };
  struct job_list list = { 0 };
  struct history_file *file;
  struct globs users;
  struct error error;
  int code = 1;

  globs_init (&users, options->user);
  query.users = &users;
  catch_up (options, when->to_ns);
  file = history_file_open (replay_path (options), &error);
  if (file && job_store_list (file, &query, &list, &error) == 0)
    code = show (options, &list);
  else
    log_error ("%s", error.text);
  if (list.damaged) {
    log_error ("%s: %zu %s left out; %s", replay_path (options), list.damaged,
               list.damaged == 1 ? "job is" : "jobs are", error.text);
    code = 1;
  }
  history_file_close (file);
  job_list_free (&list);
  globs_free (&users);
  return code;
}

int
job_list_run (const struct options *options)
{
  struct history_query when;
  struct reach reach;
  struct error error;
  int code;

  if (replay_interval (options, "jobs", &when, &error) < 0) {
    log_error ("%s", error.text);
    return 2;
  }
  reach_init (&reach, options);
  code = reach_is_far (&reach, replay_path (options)) ? ask_far (options, &reach, &when) : list_near (options, &when);
  reach_free (&reach);
  return code;
}
