/* What is wrong now, of the request "nodes ill" and of counters of GPUs; and what happened, as events come. See
 * top_private.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/top/top_private.h"
#include "synop/array.h"
#include "synop/memory.h"
#include "synop/quantity.h"

#define LOG_MAX 2000
#define GPUS_SHOWN "20"

static const char *
text_of (const json_t *object, const char *key)
{
  const char *text = json_string_value (json_object_get (object, key));

  return text ? text : "";
}

static void
list_clear (struct top_event *list, size_t *count)
{
  for (size_t i = 0; i < *count; i++) {
    free (list[i].node);
    free (list[i].text);
  }
  *count = 0;
}

void
events_free (struct top_events *events)
{
  list_clear (events->log, &events->count);
  list_clear (events->now, &events->now_count);
  list_clear (events->fresh, &events->fresh_count);
  list_clear (events->gpus, &events->gpu_count);
  free (events->log);
  free (events->now);
  free (events->fresh);
  free (events->gpus);
  free (events->shown);
  *events = (struct top_events){ 0 };
}

/* ---- what happened ---- */

static uint8_t
style_of (const char *event)
{
  static const char *const bad[] = { "node_down",    "gap",      "duplicate_node", "history_failed",
                                     "node_revoked", "rejected", "dropped",        NULL },
                           *const warning[] = { "node_stale",        "group_failed",
                                                "key_refused",       "clock_offset",
                                                "clock_step",        "over_share",
                                                "jobs_held_back",    "job_disputed",
                                                "connections_ended", NULL },
                           *const good[] = { "node_up", "group_recovered", "history_resumed", "replayed", NULL };

  for (size_t i = 0; bad[i]; i++)
    if (strcmp (event, bad[i]) == 0)
      return STYLE_BAD;
  for (size_t i = 0; warning[i]; i++)
    if (strcmp (event, warning[i]) == 0)
      return STYLE_WARNING;
  for (size_t i = 0; good[i]; i++)
    if (strcmp (event, good[i]) == 0)
      return STYLE_GOOD;
  return STYLE_PLAIN;
}

static void
add_value (struct buffer *out, const char *key, json_t *value)
{
  if (json_is_string (value))
    buffer_printf (out, "  %s: %s", key, json_string_value (value));
  else if (json_is_number (value))
    buffer_printf (out, "  %s: %.15g", key, json_number_value (value));
  for (size_t i = 0; i < json_array_size (value); i++) {
    const char *word = json_string_value (json_array_get (value, i));
    buffer_printf (out, "%s%s", i ? "," : "  ", word ? word : "");
  }
}

/* The event's name, and what it says beside the time and the node. */
static char *
describe (json_t *event)
{
  struct buffer text = { 0 };
  char *copy;

  buffer_add_string (&text, text_of (event, "event"));
  for (void *at = json_object_iter (event); at; at = json_object_iter_next (event, at)) {
    const char *key = json_object_iter_key (at);
    if (strcmp (key, "type") != 0 && strcmp (key, "event") != 0 && strcmp (key, "time") != 0 &&
        strcmp (key, "node") != 0)
      add_value (&text, key, json_object_iter_value (at));
  }
  copy = memory_string (buffer_text (&text));
  buffer_free (&text);
  return copy;
}

/* Room for one more, without the oldest if there are enough. */
static struct top_event *
log_add (struct top_events *events)
{
  if (events->count == LOG_MAX) {
    size_t one = 1;
    list_clear (events->log, &one);
    memmove (events->log, events->log + 1, --events->count * sizeof events->log[0]);
  }
  return array_add (events->log, events->count, events->room);
}

void
events_append (struct top_events *events, struct top_events *since)
{
  for (size_t i = 0; i < since->count; i++)
    *log_add (events) = since->log[i];
  free (since->log);
}

void
events_take (struct top_events *events, const char *line, size_t length)
{
  json_t *root = json_loadb (line, length, 0, NULL);
  const char *time = text_of (root, "time");
  struct top_event *event;

  if (strcmp (text_of (root, "type"), "event") == 0) {
    event = log_add (events);
    *event = (struct top_event){ .style = style_of (text_of (root, "event")),
                                 .node = memory_string (text_of (root, "node")),
                                 .text = describe (root) };
    if (strlen (time) >= 19)
      snprintf (event->time, sizeof event->time, "%.8s", time + 11);
  }
  json_decref (root);
}

/* ---- what is wrong now ---- */

static void
add_finding (struct top_events *events, uint8_t style, const char *node, char *text)
{
  struct top_event *event = array_add (events->fresh, events->fresh_count, events->fresh_room);

  *event = (struct top_event){ .time = "now", .style = style, .node = memory_string (node), .text = text };
}

void
events_take_ill (struct top_events *events, const char *line, size_t length)
{
  json_t *root = json_loadb (line, length, 0, NULL), *failing = json_object_get (root, "failing"),
         *seen = json_object_get (root, "last_seen");
  const char *node = text_of (root, "node"), *state = text_of (root, "state");

  if (strcmp (state, "down") == 0 || strcmp (state, "stale") == 0)
    add_finding (events, strcmp (state, "down") == 0 ? STYLE_BAD : STYLE_WARNING, node,
                 memory_format ("%s for %s", state, quantity_age (json_number_value (seen)).text));
  else if (strcmp (state, "never") == 0)
    add_finding (events, STYLE_FAINT, node, memory_string ("was never seen"));
  for (size_t i = 0; i < json_array_size (failing); i++) {
    const json_t *group = json_array_get (failing, i);
    add_finding (events, STYLE_WARNING, node,
                 memory_format ("%s fails: %s", text_of (group, "group"), text_of (group, "error")));
  }
  json_decref (root);
}

static int
compare_findings (const void *one, const void *other)
{
  const struct top_event *a = one, *b = other;
  bool a_bad = a->style == STYLE_BAD, b_bad = b->style == STYLE_BAD, a_faint = a->style == STYLE_FAINT,
       b_faint = b->style == STYLE_FAINT;
  int order = a_bad != b_bad ? b_bad - a_bad : a_faint - b_faint;

  return order ? order : strverscmp (a->node, b->node);
}

void
events_ill_end (struct top_events *events)
{
  list_clear (events->now, &events->now_count);
  free (events->now);
  events->now = events->fresh;
  events->now_count = events->fresh_count;
  events->fresh = NULL;
  events->fresh_count = events->fresh_room = 0;
  events->filled = true;
  if (events->now_count)
    qsort (events->now, events->now_count, sizeof events->now[0], compare_findings);
}

/* ---- GPUs ---- */

static const struct {
  const char *metric, *text;
  bool counts; /* how many is worth saying */
} faults[] = {
  { "gpu.xid_errors", "XID errors a second", true },
  { "gpu.ecc_uncorrected", "memory errors a second that could not be corrected", true },
  { "gpu.remapped_rows_failed", "a row of its memory could not be remapped: it should be replaced", false },
  { "gpu.remapped_rows_pending", "rows of its memory are to be remapped at the next reset", false },
  { "gpu.retired_pages_pending", "pages of its memory are to be retired at the next reset", false },
  { "gpu.throttled_hw_thermal", "the hardware holds its clocks down for heat", false },
};
#define FAULTS (sizeof faults / sizeof faults[0])

bool
events_ask_gpus (const struct top_metrics *metrics, struct buffer *request)
{
  bool all = true;

  buffer_add_string (request, "watch");
  for (size_t i = 0; i < FAULTS; i++) {
    all &= metrics_has (metrics, faults[i].metric);
    buffer_printf (request, "\tmetric=%s", faults[i].metric);
  }
  buffer_add_string (request, "\trow=*\ttop=" GPUS_SHOWN "\n");
  return all;
}

void
events_take_gpus (struct top_events *events, const char *line, size_t length)
{
  json_t *root = json_loadb (line, length, 0, NULL), *metrics = json_object_get (root, "metrics");

  list_clear (events->gpus, &events->gpu_count);
  for (size_t i = 0; i < json_array_size (metrics) && i < FAULTS; i++) {
    const json_t *rows = json_object_get (json_array_get (metrics, i), "top");
    for (size_t k = 0; k < json_array_size (rows); k++) {
      const json_t *row = json_array_get (rows, k);
      double value = json_number_value (json_object_get (row, "value"));
      if (!(value > 0))
        break;
      *array_add (events->gpus, events->gpu_count, events->gpu_room) =
          (struct top_event){ .time = "now",
                              .style = STYLE_BAD,
                              .node = memory_string (text_of (row, "node")),
                              .text = faults[i].counts
                                          ? memory_format ("GPU %s: %s %s", text_of (row, "row"),
                                                           quantity_short (value, "").text, faults[i].text)
                                          : memory_format ("GPU %s: %s", text_of (row, "row"), faults[i].text) };
    }
  }
  json_decref (root);
}

/* ---- the view ---- */

/* Findings, then the events, the newest first. */
static const struct top_event *
event_at (const struct top_events *events, size_t index)
{
  if (index < events->gpu_count)
    return &events->gpus[index];
  index -= events->gpu_count;
  if (index < events->now_count)
    return &events->now[index];
  index -= events->now_count;
  return &events->log[events->count - 1 - index];
}

void
events_order (struct top_events *events, const char *filter)
{
  size_t all = events->now_count + events->gpu_count + events->count;

  events->shown = memory_resize (events->shown, all + 1, sizeof events->shown[0]);
  events->shown_count = 0;
  for (size_t i = 0; i < all; i++) {
    const struct top_event *event = event_at (events, i);
    if (order_matches (filter, event->node) || order_matches (filter, event->text))
      events->shown[events->shown_count++] = i;
  }
}

const struct top_event *
events_shown (const struct top_events *events, size_t row)
{
  return row < events->shown_count ? event_at (events, events->shown[row]) : NULL;
}

void
events_draw (struct top *top, struct canvas *canvas, int y, int rows)
{
  struct top_events *events = &top->events;
  int end = y + rows, node = canvas->width < 60 ? 10 : 18;
  size_t found = events->now_count + events->gpu_count;

  if (events->filled)
    canvas_printf (canvas, 0, y, canvas->width, found ? STYLE_WARNING : STYLE_GOOD,
                   found ? "%zu wrong now; then the events of the last hour"
                         : "Nothing is wrong now; these are the events of the last hour.",
                   found);
  else
    canvas_text (canvas, 0, y, canvas->width, STYLE_FAINT, "Asking what is wrong ...");
  canvas_restyle (canvas, 0, ++y, canvas->width, STYLE_HEAD);
  canvas_text (canvas, 0, y, 9, STYLE_HEAD, "UTC");
  canvas_text (canvas, 9, y, node, STYLE_HEAD, "NODE");
  canvas_text (canvas, 10 + node, y++, canvas->width, STYLE_HEAD, "WHAT");
  top->list_rows = end - y;
  screen_list_fit (&events->rows, events->shown_count, top->list_rows);
  for (size_t row = events->rows.first; y < end && row < events->shown_count; row++, y++) {
    const struct top_event *event = events_shown (events, row);
    canvas_text (canvas, 0, y, 8, STYLE_FAINT, event->time);
    canvas_text (canvas, 9, y, node, STYLE_PLAIN, *event->node ? event->node : "-");
    canvas_text (canvas, 10 + node, y, canvas->width - 10 - node, event->style, event->text);
    if (top->screen && row == events->rows.selected)
      canvas_restyle (canvas, 0, y, canvas->width, STYLE_SELECTED);
  }
  if (events->shown_count == 0 && events->filled)
    canvas_text (canvas, 0, y, canvas->width, STYLE_FAINT, "No event yet.");
}
