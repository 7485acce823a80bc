/* Lines of orders for who asked, and their events. See trace_desk.h. */
#include <inttypes.h>
#include <stdio.h>

#include "aggregator/traces/trace_desk_private.h"
#include "synop/clock.h"

static const char *const states[TRACE_STATES] = { "found", "begun", "ended", "failed", "unregistered" };

struct trace_sum
trace_order_sum (const struct trace_order *order)
{
  struct trace_sum sum = { 0 };

  for (size_t i = 0; i < order->node_count; i++) {
    const struct traced_node *node = &order->nodes[i];
    sum.nodes_failed += node->state == TRACED_FAILED;
    sum.nodes += node->count > 0;
    for (size_t j = 0; j < node->count; j++) {
      enum trace_state state = node->processes[j].state;
      sum.processes += state != TRACE_UNREGISTERED;
      sum.ended += state == TRACE_ENDED;
      sum.failed += state == TRACE_FAILED;
      sum.unregistered += state == TRACE_UNREGISTERED;
    }
  }
  return sum;
}

/* ---- lines ---- */

static void
begin (struct json *json, const char *what)
{
  json_object (json);
  json_text (json_key (json, "type"), "trace");
  json_text (json_key (json, "what"), what);
}

static void
put (struct trace_order *order, struct json *json)
{
  struct line *line;

  json_object_end (json);
  json_newline (json);
  if (order->reader && !order->choosing) {
    line = line_create (json->out.data, json->out.length);
    outlet_put (order->reader->outlet, line);
    line_release (line);
    order->reader->fresh = true;
  }
  json_free (json);
}

void
trace_line_order (struct trace_order *order)
{
  struct json json = { 0 };
  char id[20];

  snprintf (id, sizeof id, "%016" PRIx64, order->request.id);
  begin (&json, "order");
  json_text (json_key (&json, "id"), id);
  json_text (json_key (&json, "job_id"), order->job);
  if (order->request.kind == TRACE_BEGIN) {
    json_text (json_key (&json, "tool"), order->tool);
    json_time (json_key (&json, "start"), order->start_ns);
    json_text (json_key (&json, "output"), order->output);
  }
  json_uint (json_key (&json, "nodes"), order->node_count);
  put (order, &json);
}

void
trace_line_node (struct trace_order *order, const struct traced_node *node)
{
  static const char *const words[] = { "asked", "listed", "done", "failed" };
  struct json json = { 0 };

  begin (&json, "node");
  json_text (json_key (&json, "node"), node->name);
  json_text (json_key (&json, "state"), words[node->state]);
  json_uint (json_key (&json, "processes"), node->count);
  if (node->error)
    json_text (json_key (&json, "error"), node->error);
  put (order, &json);
}

static void
put_known (struct json *json, const char *key, int64_t value)
{
  if (value >= 0)
    json_int (json_key (json, key), value);
}

void
trace_line_process (struct trace_order *order, const struct traced_node *node, const struct traced_process *process)
{
  struct json json = { 0 };

  begin (&json, "process");
  json_text (json_key (&json, "node"), node->name);
  json_int (json_key (&json, "pid"), process->pid);
  put_known (&json, "rank", process->rank);
  put_known (&json, "uid", process->uid);
  put_known (&json, "device", process->device);
  json_text (json_key (&json, "state"), states[process->state]);
  if (*process->job)
    json_text (json_key (&json, "job_id"), process->job);
  if (process->begun_ns) {
    json_time (json_key (&json, "begun"), process->begun_ns);
    if (process->bound_ns >= 0)
      json_real (json_key (&json, "bound"), (double) process->bound_ns / NS_PER_S);
  }
  if (process->state == TRACE_ENDED)
    json_uint (json_key (&json, "size"), process->size);
  if (*process->path)
    json_text (json_key (&json, "path"), process->path);
  if (*process->error)
    json_text (json_key (&json, "error"), process->error);
  put (order, &json);
}

static void
put_sum (struct trace_order *order, const char *what)
{
  struct trace_sum sum = trace_order_sum (order);
  struct json json = { 0 };

  begin (&json, what);
  json_uint (json_key (&json, "processes"), sum.processes);
  json_uint (json_key (&json, "ended"), sum.ended);
  json_uint (json_key (&json, "failed"), sum.failed);
  json_uint (json_key (&json, "unregistered"), sum.unregistered);
  json_uint (json_key (&json, "nodes_failed"), sum.nodes_failed);
  put (order, &json);
}

void
trace_line_listed (struct trace_order *order)
{
  put_sum (order, "listed");
}

void
trace_line_end (struct trace_order *order)
{
  put_sum (order, "end");
}

/* ---- events ---- */

/* Why the first that failed did; "": none did. */
static void
first_failure (const struct trace_order *order, char *text, size_t size)
{
  *text = '\0';
  for (size_t i = 0; i < order->node_count && !*text; i++) {
    const struct traced_node *node = &order->nodes[i];
    if (node->state == TRACED_FAILED)
      snprintf (text, size, "; %s: %s", node->name, node->error);
    for (size_t j = 0; j < node->count && !*text; j++)
      if (node->processes[j].state == TRACE_FAILED)
        snprintf (text, size, "; %s: %s", node->name, node->processes[j].error);
  }
}

void
trace_event (const struct trace_desk_options *options, const struct trace_order *order, enum event_type type,
             int64_t wall_ns)
{
  struct trace_sum sum = trace_order_sum (order);
  char text[640], why[400], start[CLOCK_TEXT_SIZE];

  first_failure (order, why, sizeof why);
  clock_text (order->start_ns, start);
  if (type == EVENT_TRACE_BEGUN)
    snprintf (text, sizeof text, "%s of %zu processes on %zu nodes from %s on, asked for by %s", order->tool,
              sum.processes, sum.nodes, start, order->user);
  else
    snprintf (text, sizeof text, "%s of %s: %zu of %zu traces are there%s", order->tool, start, sum.ended,
              sum.processes, why);
  options->event (options->context, &(struct event){ .type = type,
                                                     .wall_ns = wall_ns,
                                                     .reason = order->job,
                                                     .text = text,
                                                     .count = type == EVENT_TRACE_BEGUN ? sum.processes : sum.ended });
}
