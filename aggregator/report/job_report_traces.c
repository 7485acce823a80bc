/* Traces that were made of a job (docs/traces.md), from the events that say so: of that id, in its time. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/access/access_line.h"
#include "aggregator/core/event.h"
#include "aggregator/report/job_report_private.h"
#include "synop/clock.h"

#define AFTER_NS (60 * NS_PER_S) /* behind its end: nodes that do not answer are waited for */
#define READ_AT_ONCE 64
#define TRACES_MAX 20

static void
take (struct job_report *report, const struct stored_event *event)
{
  char *job = event->broken ? NULL : access_line_text (event->line, event->length, "job_id");
  char *detail = event->broken ? NULL : access_line_text (event->line, event->length, "detail");

  if (job && detail && (strcmp (job, report->shown) == 0 || strcmp (job, report->id) == 0))
    job_report_trace (report, "%s.", detail);
  free (detail);
  free (job);
}

static int
take_list (struct job_scene *scene, const struct event_list *list, struct error *error)
{
  struct stored_event events[READ_AT_ONCE];
  struct job_report *report = scene->report;

  for (size_t at = 0; at < list->count; at += READ_AT_ONCE) {
    size_t rest = list->count - at;
    int count =
        history_file_events (scene->file, list->rows + at, rest < READ_AT_ONCE ? rest : READ_AT_ONCE, events, error);
    if (count < 0)
      return -1;
    for (int i = 0; i < count; i++) {
      if (report->trace_count < TRACES_MAX)
        take (report, &events[i]);
      stored_event_free (&events[i]);
    }
  }
  if (report->trace_count == TRACES_MAX)
    job_report_trace (report, "Later ones: \"synop-aggregator replay --type event\".");
  return 0;
}

int
job_report_traces (struct job_scene *scene, struct error *error)
{
  struct event_list list = { 0 };
  int result = history_file_event_list (scene->file, scene->report->started_ns, scene->report->until_ns + AFTER_NS,
                                        event_name (EVENT_TRACE_ENDED), &list, error);

  if (result == 0)
    result = take_list (scene, &list, error);
  free (list.rows);
  return result;
}
