/* See job_line.h. */
#include "aggregator/stream/job_line.h"

const char *const job_text_names[JOB_TEXTS] = { "scheduler", "user", "name", "command", "array" };

static const char *const event_names[] = { "started", "node", "resumed", "ended" }; /* as enum job_event */

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
job_line_write (struct json *json, const struct job_line *line)
{
  json_object (json);
  json_text (json_key (json, "type"), JOB_LINE_TYPE);
  json_text (json_key (json, "event"), event_names[line->event]);
  json_time (json_key (json, "time"), line->time_ns);
  json_text (json_key (json, "job_id"), line->label);
  if (line->event == JOB_NODE) {
    json_text (json_key (json, "node"), line->nodes[0]);
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
  json_object_end (json);
  json_newline (json);
}

static void
stream_write (const void *line, struct json *json, const struct globs *groups)
{
  (void) groups;
  job_line_write (json, line);
}

struct stream_line
job_stream_line (const struct job_line *line)
{
  return (struct stream_line){ .type = JOB_LINE_TYPE,
                               .node = line->event == JOB_NODE ? line->nodes[0] : NULL,
                               .write = stream_write,
                               .context = line };
}
