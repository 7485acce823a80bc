/* See job_line.h. */
#include "aggregator/views/job_line.h"

#include "aggregator/views/job_facts.h"

#include <math.h>
#include <string.h>

const char *const job_text_names[JOB_TEXTS] = { "scheduler", "user", "name", "command", "array" };

static const char *const event_names[] = { "started", "node", "resumed", "ended", "facts" }; /* as enum job_event */

static void
texts_write (struct json *json, const struct job_line *line)
{
  for (size_t i = 0; i < JOB_TEXTS; i++)
    json_text (json_key (json, job_text_names[i]), line->texts[i]);
  json_real (json_key (json, "cpus"), line->cpus);
}

static void
nodes_write (struct json *json, const struct job_line *line)
{
  json_array (json_key (json, "nodes"));
  for (size_t i = 0; i < line->node_count; i++)
    json_text (json, line->nodes[i]);
  json_array_end (json);
}

void
job_line_stored (struct job_line *line, int64_t time_ns, const char *const *node, const char *text, size_t length)
{
  static const char begin[] = "{\"type\":\"" JOB_LINE_TYPE "\",\"event\":\"";
  static const char *const none[JOB_TEXTS] = { "", "", "", "", "" };
  const char *name = text + sizeof begin - 1;

  *line = (struct job_line){ .time_ns = time_ns,
                             .label = "",
                             .texts = none,
                             .cpus = nan (""),
                             .nodes = node,
                             .node_count = *node != NULL,
                             .reason = "",
                             .summary = "{}",
                             .summary_length = 2,
                             .facts = "null",
                             .line = text,
                             .line_length = length };
  for (enum job_event event = JOB_STARTED; event <= JOB_FACTS; event++)
    if (length > sizeof begin + strlen (event_names[event]) &&
        strncmp (name, event_names[event], strlen (event_names[event])) == 0)
      line->event = event;
}

void
job_line_write (struct json *json, const struct job_line *line)
{
  if (line->line) {
    buffer_add (&json->out, line->line, line->line_length);
    return;
  }
  json_object (json);
  json_text (json_key (json, "type"), JOB_LINE_TYPE);
  json_text (json_key (json, "event"), event_names[line->event]);
  json_time (json_key (json, "time"), line->time_ns);
  json_text (json_key (json, "job_id"), line->label);
  if (line->event == JOB_NODE) {
    json_text (json_key (json, "node"), line->nodes[0]);
  } else if (line->event == JOB_FACTS) {
    json_text (json_key (json, job_text_names[JOB_SCHEDULER]), line->texts[JOB_SCHEDULER]);
    json_text (json_key (json, job_text_names[JOB_USER]), line->texts[JOB_USER]);
    json_time (json_key (json, "started"), line->started_ns);
  } else {
    texts_write (json, line);
    nodes_write (json, line);
    json_time (json_key (json, "started"), line->started_ns);
  }
  if (line->event == JOB_ENDED) {
    json_time (json_key (json, "ended"), line->ended_ns);
    json_text (json_key (json, "reason"), line->reason);
    json_key (json, "summary");
    buffer_add (&json->out, line->summary, line->summary_length);
    json->comma = true;
  }
  if (line->event == JOB_FACTS) {
    json_key (json, JOB_FACTS_KEY);
    buffer_add_string (&json->out, line->facts);
    json->comma = true;
  }
  json_object_end (json);
  json_newline (json);
}

int
job_label_check (const char *label, size_t length, struct error *error)
{
  if (length == 0 || length > JOB_LABEL_MAX)
    return error_set (error, "the id of a job has 1 to %d bytes", JOB_LABEL_MAX);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char) label[i] <= ' ' || label[i] == 127)
      return error_set (error, "the id of a job has no spaces and no control characters");
  return 0;
}
