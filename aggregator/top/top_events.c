/* What is wrong now, of the request "alerts"; and what happened, as events come. See
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
  free (events->log);
  free (events->now);
  free (events->fresh);
  free (events->shown);
  free (events->marks);
  *events = (struct top_events){ 0 };
}

/* ---- what happened ---- */

static uint8_t
style_of (const char *event)
{
  static const char *const bad[] = { "node_down",      "gap",          "duplicate_node",
                                     "history_failed", "node_revoked", "rejected",
                                     "dropped",        "fault",        NULL },
                           *const warning[] = { "node_stale",        "group_failed",
                                                "key_refused",       "clock_offset",
                                                "clock_step",        "over_share",
                                                "jobs_held_back",    "job_disputed",
                                                "connections_ended", NULL },
                           *const good[] = { "node_up",  "group_recovered", "history_resumed",
                                             "replayed", "fault_over",      NULL };

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

void
events_take_alert (struct top_events *events, const char *line, size_t length)
{
  json_t *root = json_loadb (line, length, 0, NULL);
  const char *since = text_of (root, "since"), *today = events->today;
  bool old = strlen (since) >= 19 && *today && strncmp (since, today, 10) != 0;
  struct top_event *event = array_add (events->fresh, events->fresh_count, events->fresh_room);

  *event = (struct top_event){ .style = strcmp (text_of (root, "level"), "alarm") == 0 ? STYLE_BAD : STYLE_WARNING,
                               .node = memory_string (text_of (root, "node")),
                               .text = memory_string (text_of (root, "text")) };
  if (strlen (since) >= 19)
    snprintf (event->time, sizeof event->time, "%.8s", old ? since + 2 : since + 11);
  json_decref (root);
}

static int
compare_marks (const void *one, const void *other)
{
  const struct top_mark *a = one, *b = other;
  int order = strcmp (a->node, b->node);

  return order ? order : (a->style == STYLE_WARNING) - (b->style == STYLE_WARNING);
}

static int
compare_node (const void *name, const void *mark)
{
  return strcmp (name, ((const struct top_mark *) mark)->node);
}

/* A mark for each node that has alerts: of the gravest. */
static void
make_marks (struct top_events *events)
{
  size_t kept = 0;

  events->marks = memory_resize (events->marks, events->now_count + 1, sizeof events->marks[0]);
  for (size_t i = 0; i < events->now_count; i++)
    events->marks[i] = (struct top_mark){ events->now[i].node, events->now[i].style };
  if (events->now_count)
    qsort (events->marks, events->now_count, sizeof events->marks[0], compare_marks);
  for (size_t i = 0; i < events->now_count; i++)
    if (*events->marks[i].node && (kept == 0 || strcmp (events->marks[kept - 1].node, events->marks[i].node) != 0))
      events->marks[kept++] = events->marks[i];
  events->mark_count = kept;
}

void
events_alerts_end (struct top_events *events)
{
  list_clear (events->now, &events->now_count);
  free (events->now);
  events->now = events->fresh;
  events->now_count = events->fresh_count;
  events->fresh = NULL;
  events->fresh_count = events->fresh_room = 0;
  events->filled = true;
  make_marks (events);
}

uint8_t
events_mark (const struct top_events *events, const char *node)
{
  const struct top_mark *mark =
      events->mark_count ? bsearch (node, events->marks, events->mark_count, sizeof events->marks[0], compare_node)
                         : NULL;

  return mark ? mark->style : STYLE_PLAIN;
}

/* The gravest come first. */
const char *
events_alert_of (const struct top_events *events, const char *node)
{
  for (size_t i = 0; i < events->now_count; i++)
    if (strcmp (events->now[i].node, node) == 0)
      return events->now[i].text;
  return "";
}

/* ---- the view ---- */

/* Findings, then the events, the newest first. */
static const struct top_event *
event_at (const struct top_events *events, size_t index)
{
  if (index < events->now_count)
    return &events->now[index];
  index -= events->now_count;
  return &events->log[events->count - 1 - index];
}

void
events_order (struct top_events *events, const char *filter)
{
  size_t all = events->now_count + events->count;

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
  const char *span = *events->past_error ? "since top was started" : "of the last hour";
  int end = y + rows, node = canvas->width < 60 ? 10 : 18;

  if (!events->filled)
    canvas_text (canvas, 0, y, canvas->width, STYLE_FAINT, "Asking what is wrong ...");
  else if (events->now_count)
    canvas_printf (canvas, 0, y, canvas->width, STYLE_WARNING, "%zu wrong now; then the events %s", events->now_count,
                   span);
  else
    canvas_printf (canvas, 0, y, canvas->width, STYLE_GOOD, "Nothing is wrong now; these are the events %s.", span);
  if (*events->past_error)
    canvas_printf (canvas, 0, ++y, canvas->width, STYLE_WARNING, "Events of before are not known: %s",
                   events->past_error);
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
