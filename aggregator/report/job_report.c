/* See job_report.h: what is known of the job, the order of the work, and the report's memory. */
#include "aggregator/report/job_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_report_private.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define NAMED_MAX 10 /* jobs that an error names */

struct texts {
  char **list;
  size_t count, capacity;
  const char **unknown, **remarks, **traces;
  size_t unknown_capacity, remark_capacity, trace_capacity;
};

static const char *
keep (struct job_report *report, const char *text)
{
  struct texts *texts = report->memory;

  return *array_add (texts->list, texts->count, texts->capacity) = memory_string (text ? text : "");
}

static const char *
keep_sentence (struct job_report *report, const char *format, va_list arguments)
{
  char *text = NULL;
  const char *kept;

  if (vasprintf (&text, format, arguments) < 0)
    abort ();
  kept = keep (report, text);
  free (text);
  return kept;
}

void
job_report_say (struct job_report *report, const char *format, ...)
{
  struct texts *texts = report->memory;
  va_list arguments;

  va_start (arguments, format);
  *array_add (texts->unknown, report->unknown_count, texts->unknown_capacity) =
      keep_sentence (report, format, arguments);
  va_end (arguments);
  report->unknown = texts->unknown;
}

void
job_report_remark (struct job_report *report, const char *format, ...)
{
  struct texts *texts = report->memory;
  va_list arguments;

  va_start (arguments, format);
  *array_add (texts->remarks, report->remark_count, texts->remark_capacity) = keep_sentence (report, format, arguments);
  va_end (arguments);
  report->remarks = texts->remarks;
}

void
job_report_trace (struct job_report *report, const char *format, ...)
{
  struct texts *texts = report->memory;
  va_list arguments;

  va_start (arguments, format);
  *array_add (texts->traces, report->trace_count, texts->trace_capacity) = keep_sentence (report, format, arguments);
  va_end (arguments);
  report->traces = texts->traces;
}

void
job_report_add_gap (struct job_node *node, int64_t from_ns, int64_t to_ns)
{
  if (to_ns <= from_ns)
    return;
  node->gaps = memory_resize (node->gaps, node->gap_count + 1, sizeof node->gaps[0]);
  node->gaps[node->gap_count++] = (struct job_gap){ from_ns, to_ns };
  node->gap_seconds += (double) (to_ns - from_ns) / NS_PER_S;
}

double
job_report_share (const struct job_report *report, uint64_t samples)
{
  double all = 0;

  for (size_t i = 0; i < report->node_count; i++)
    all += (double) report->nodes[i].samples;
  return all > 0 ? 100 * (double) samples / all : 0;
}

/* ---- beginning and end of a report ---- */

static void
free_series (struct job_series *series)
{
  for (size_t i = 0; series && i < JOB_ITEM_COUNT; i++) {
    free (series[i].bins);
    free (series[i].bin_maxima);
  }
  free (series);
}

static void
free_node (struct job_node *node)
{
  free_series (node->series);
  free (node->gaps);
  free (node->gpus);
}

void
job_report_destroy (struct job_report *report)
{
  struct texts *texts;

  if (!report)
    return;
  for (size_t i = 0; i < report->node_count; i++)
    free_node (&report->nodes[i]);
  free_series (report->all);
  free (report->nodes);
  free (report->imbalances);
  job_advice_free (report);
  job_facts_free (&report->facts);
  texts = report->memory;
  for (size_t i = 0; i < texts->count; i++)
    free (texts->list[i]);
  free (texts->list);
  free (texts->unknown);
  free (texts->remarks);
  free (texts->traces);
  free (texts);
  free (report);
}

static struct job_series *
make_series (void)
{
  struct job_series *series = memory_new (JOB_ITEM_COUNT, sizeof *series);

  for (size_t i = 0; i < JOB_ITEM_COUNT; i++)
    series[i].total = series[i].mean = series[i].minimum = series[i].maximum = nan ("");
  return series;
}

static void
begin_node (struct job_node *node)
{
  *node = (struct job_node){ .name = node->name,
                             .lost = node->lost,
                             .cpus = nan (""),
                             .first_ns = node->first_ns,
                             .peaks = { nan (""), nan (""), nan (""), nan (""), nan ("") },
                             .series = make_series () };
}

void
job_report_forget (struct job_report *report)
{
  report->bins = 0;
  report->minute_samples = report->hour_samples = report->bare_samples = 0;
  report->whole_gpus = report->whole_flops = false;
  for (size_t i = 0; i < report->node_count; i++) {
    free_node (&report->nodes[i]);
    begin_node (&report->nodes[i]);
  }
}

static struct job_report *
make_report (const struct job_record *job, int64_t now_ns)
{
  struct job_report *report = memory_new (1, sizeof *report);

  report->memory = memory_new (1, sizeof (struct texts));
  report->id = keep (report, job->label);
  report->shown = keep (report, job->shown ? job->shown : job->label);
  report->scheduler = keep (report, job->scheduler);
  report->user = keep (report, job->user);
  report->name = keep (report, job->name);
  report->command = keep (report, job->command);
  report->array = keep (report, job->array);
  report->reason = keep (report, job->reason);
  job_facts_copy (&report->facts, &job->facts);
  report->started_ns = job->started_ns;
  report->ended_ns = job->ended_ns;
  report->until_ns = job->ended_ns ? job->ended_ns : now_ns;
  if (report->until_ns < report->started_ns)
    report->until_ns = report->started_ns;
  report->after_ns = job->after_ns < report->until_ns ? job->after_ns : 0;
  report->cpus = job->cpus;
  report->slowest_others = report->cpu_time = report->cpu_efficiency = report->memory_peak = nan ("");
  report->slowest = report->memory_peak_node = SIZE_MAX;
  report->cluster = "";
  report->prices = (struct job_prices){ nan (""), nan (""), "" };
  report->node_count = job->node_count;
  report->nodes = memory_new (job->node_count, sizeof report->nodes[0]);
  for (size_t i = 0; i < job->node_count; i++) {
    report->nodes[i].name = keep (report, job->nodes[i].name);
    report->nodes[i].first_ns = job->nodes[i].first_ns;
    begin_node (&report->nodes[i]);
  }
  report->all = make_series ();
  report->imbalances = memory_new (JOB_ITEM_COUNT, sizeof report->imbalances[0]);
  return report;
}

/* "lost_nodes":["n3"] of the summary with which the job ended; names of nodes need no escapes in JSON. */
static void
take_lost (struct job_report *report, const char *summary)
{
  const char *at = summary ? strstr (summary, "\"lost_nodes\":[") : NULL, *end = at ? strchr (at, ']') : NULL;

  for (size_t i = 0; end && i < report->node_count; i++) {
    char *name = memory_format ("\"%s\"", report->nodes[i].name);
    const char *found = strstr (at, name);
    report->nodes[i].lost = found && found < end;
    free (name);
  }
}

struct job_report *
job_report_make (struct history_file *file, const struct job_record *job, const struct viewer *viewer, int64_t now_ns,
                 struct replay_progress *progress, struct error *error)
{
  struct job_report *report = make_report (job, now_ns);
  struct job_scene scene = { .file = file, .report = report, .viewer = viewer, .progress = progress };

  scene.watches = memory_new (report->node_count, sizeof scene.watches[0]);
  take_lost (report, job->summary);
  if (job_report_samples (&scene, error) < 0 || job_report_traces (&scene, error) < 0) {
    job_report_destroy (report);
    report = NULL;
  } else {
    job_report_gaps (&scene);
    job_report_nodes (report);
    job_report_remarks (report);
    job_report_unknown (&scene);
  }
  free (scene.watches);
  return report;
}

/* ---- where to look ---- */

static int
compare_names (const void *one, const void *other, void *context)
{
  const struct job_report *report = context;

  return strcmp (report->nodes[*(const size_t *) one].name, report->nodes[*(const size_t *) other].name);
}

struct job_walk
job_walk (const struct job_report *report)
{
  struct job_walk walk = { .order = memory_new (report->node_count, sizeof walk.order[0]),
                           .names = memory_new (report->node_count, sizeof walk.names[0]) };

  for (size_t i = 0; i < report->node_count; i++)
    walk.order[i] = i;
  qsort_r (walk.order, report->node_count, sizeof walk.order[0], compare_names, (void *) report);
  for (size_t i = 0; i < report->node_count; i++)
    walk.names[i] = report->nodes[walk.order[i]].name;
  walk.history = (struct history_walk){ .from_ns = report->after_ns < report->started_ns ? report->started_ns
                                                                                         : report->after_ns + 1,
                                        .to_ns = report->until_ns,
                                        .nodes = walk.names,
                                        .node_count = report->node_count };
  return walk;
}

void
job_walk_free (struct job_walk *walk)
{
  free (walk->order);
  free (walk->names);
}

/* ---- which job ---- */

/* The newest jobs, for who mistyped. */
static int
no_such_job (struct history_file *file, const struct job_choice *choice, struct error *error)
{
  struct job_query query = { .from_ns = INT64_MIN, .to_ns = INT64_MAX };
  struct job_list list = { 0 };
  struct buffer names = { 0 };
  char whose[80] = "", scheduler[80] = "";

  if (choice->viewer && !choice->viewer->all)
    return error_set (error, "no job %.128s of yours", choice->label);
  if (job_store_list (file, &query, &list, error) < 0)
    return -1;
  if (choice->user && *choice->user)
    snprintf (whose, sizeof whose, " of user %.64s", choice->user);
  if (choice->scheduler && *choice->scheduler)
    snprintf (scheduler, sizeof scheduler, " of scheduler %.48s", choice->scheduler);
  for (size_t i = list.count; i-- > 0 && list.count - i <= NAMED_MAX;)
    buffer_printf (&names, "%s%s", names.length ? ", " : "", list.jobs[i].label);
  if (list.count == 0)
    error_set (error, "there is no job %.128s%s%s; the history has no jobs at all", choice->label, whose, scheduler);
  else
    error_set (error, "there is no job %.128s%s%s; the newest that there %s: %s", choice->label, whose, scheduler,
               list.count == 1 ? "is" : "are", buffer_text (&names));
  buffer_free (&names);
  job_list_free (&list);
  return -1;
}

struct job_report *
job_report_read (struct history_file *file, const struct job_choice *choice, int64_t now_ns,
                 struct replay_progress *progress, struct error *error)
{
  struct job_record record = { 0 };
  struct job_report *report = NULL;
  int found = job_store_find (file, choice, &record, error);

  if (found == 0)
    no_such_job (file, choice, error);
  else if (found > 0)
    report = job_report_make (file, &record, choice->viewer, now_ns, progress, error);
  if (found > 0)
    job_record_free (&record);
  return report;
}
