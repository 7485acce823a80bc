/* Counters beside traces; see trace_counters.h. Each metric is a question to the history, as `query` takes it. */
#include "aggregator/traces/trace_counters.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query.h"
#include "aggregator/traces/trace_event.h"
#include "synop/clock.h"
#include "synop/json.h"
#include "synop/log.h"
#include "synop/memory.h"

#define USUAL "gpu.utilization,gpu.power,cpu_usage.busy,network.rx_bytes,network.tx_bytes,infiniband.port_rcv_data"
#define ROWS_MAX 16     /* more rows of a node are one curve, the node's */
#define AROUND NS_PER_S /* values of a node come once a second: curves begin before the trace and end behind it */
#define STEPS_MAX 3600

struct track {
  const struct trace_counters *counters;
  struct trace_out *out;
  struct buffer nodes; /* texts with a NUL behind each: the order of processes */
};

static size_t
node_process (struct track *track, const char *node)
{
  size_t number = 0;

  for (size_t at = 0; at < track->nodes.length; at += strlen (track->nodes.data + at) + 1, number++)
    if (strcmp (track->nodes.data + at, node) == 0)
      return track->counters->process + number;
  buffer_add (&track->nodes, node, strlen (node) + 1);
  return track->counters->process + number;
}

static int
event_put (struct track *track, struct json *json)
{
  int rc = trace_out_event (track->out, json->out.data, json->out.length);

  json_clear (json);
  return rc;
}

/* {"ph":"C","name":"gpu.power 0 (watts)","pid":9,"ts":12.000,"args":{"value":3}} */
static int
series_put (struct track *track, const struct query_answer *answer, const struct query_series *series,
            struct json *json)
{
  char *name = memory_format ("%s%s%s%s%s%s", answer->metric, series->row ? " " : "", series->row ? series->row : "",
                              *answer->unit ? " (" : "", answer->unit, *answer->unit ? ")" : "");
  size_t process = node_process (track, series->node);
  int rc = 0;

  for (size_t i = 0; rc == 0 && i < answer->steps; i++) {
    const struct query_value *value = &series->values[i];

    if (!value->count || !isfinite (value->value))
      continue;
    json_object (json);
    json_text (json_key (json, "ph"), "C");
    json_text (json_key (json, "name"), name);
    json_uint (json_key (json, "pid"), process);
    json_real (json_key (json, "ts"),
               (double) (answer->from_ns + (int64_t) i * answer->step_ns - track->counters->from_ns) / 1000);
    json_object (json_key (json, "args"));
    json_real (json_key (json, "value"), value->value);
    json_object_end (json);
    json_object_end (json);
    rc = event_put (track, json);
  }
  free (name);
  return rc;
}

static int
ask (const struct trace_counters *counters, struct history_file *file, const char *metric, bool rows,
     struct query_answer *answer, struct error *error)
{
  int64_t length_ns = counters->to_ns - counters->from_ns + 2 * AROUND;
  int64_t step_s = length_ns / NS_PER_S / STEPS_MAX + 1;
  char from[CLOCK_TEXT_SIZE], to[CLOCK_TEXT_SIZE], step[32];
  const char *words[][2] = { { "metric", metric }, { "node", counters->nodes },    { "from", from }, { "to", to },
                             { "step", step },     { "rows", rows ? "yes" : "no" } };
  struct query query = { 0 };
  const char *key = NULL;
  int rc = 0;

  clock_text (counters->from_ns - AROUND, from);
  clock_text (counters->to_ns + AROUND, to);
  snprintf (step, sizeof step, "%" PRId64 "s", step_s);
  for (size_t i = 0; rc == 0 && i < sizeof words / sizeof words[0]; i++)
    rc = query_set (&query, words[i][0], words[i][1], error);
  if (rc == 0)
    rc = query_answer (file, &query, clock_wall (), answer, &key, error);
  query_free (&query);
  return rc < 0 && key ? 1 : rc;
}

static bool
has_many_rows (const struct query_answer *answer)
{
  size_t rows = 0;

  for (size_t i = 0; i < answer->series_count; i++) {
    rows = i && strcmp (answer->series[i].node, answer->series[i - 1].node) == 0 ? rows + 1 : 1;
    if (rows > ROWS_MAX)
      return true;
  }
  return false;
}

/* Counters of the kernel are shown as change in a second where a step is one. */
static int
metric_put (struct track *track, struct history_file *file, const char *metric, struct error *error)
{
  struct query_answer answer = { 0 };
  struct json json = { 0 };
  bool rows = true;
  int rc;

  for (;; rows = false) {
    rc = ask (track->counters, file, metric, rows, &answer, error);
    if (rc == 0 && !(rows && (has_many_rows (&answer) || answer.series_count == 0)))
      break;
    if (rc == 0)
      query_answer_free (&answer);
    if (rc < 0 || !rows)
      break;
  }
  if (rc == 1 && !*track->counters->metrics)
    return 0;
  if (rc != 0)
    return -1;
  for (size_t i = 0; rc == 0 && i < answer.series_count; i++)
    rc = series_put (track, &answer, &answer.series[i], &json);
  query_answer_free (&answer);
  json_free (&json);
  return rc < 0 ? trace_out_error (track->out, error) : 0;
}

static int
names_put (struct track *track, struct error *error)
{
  struct json json = { 0 };
  size_t number = track->counters->process;
  int rc = 0;

  for (size_t at = 0; rc == 0 && at < track->nodes.length; at += strlen (track->nodes.data + at) + 1, number++) {
    char *name = memory_format ("node %s", track->nodes.data + at);

    json_object (&json);
    json_text (json_key (&json, "ph"), "M");
    json_text (json_key (&json, "name"), "process_name");
    json_uint (json_key (&json, "pid"), number);
    json_object (json_key (&json, "args"));
    json_text (json_key (&json, "name"), name);
    json_object_end (&json);
    json_object_end (&json);
    rc = event_put (track, &json);
    free (name);
  }
  json_free (&json);
  return rc < 0 ? trace_out_error (track->out, error) : 0;
}

int
trace_counters_put (const struct trace_counters *counters, struct history_file *file, struct trace_out *out,
                    struct error *error)
{
  struct track track = { .counters = counters, .out = out };
  char *list = memory_string (*counters->metrics ? counters->metrics : USUAL), *rest = NULL;
  int rc = 0;

  for (char *metric = strtok_r (list, ", ", &rest); rc == 0 && metric; metric = strtok_r (NULL, ", ", &rest))
    rc = metric_put (&track, file, metric, error);
  if (rc == 0)
    rc = names_put (&track, error);
  free (list);
  buffer_free (&track.nodes);
  return rc;
}
