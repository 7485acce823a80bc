/* See alerts.h. */
#include "aggregator/alerts/alerts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/access/access_rows.h"
#include "aggregator/alerts/faults.h"
#include "synop/array.h"
#include "synop/memory.h"
#include "synop/quantity.h"

static const struct kind {
  bool begins; /* this event begins an alert, or makes one go on */
  bool bad;    /* an alarm rather than a warning */
  int64_t lasting_ns;
} kinds[EVENT_TYPES] = {
  [EVENT_NODE_STALE] = { true, false, INT64_MAX },
  [EVENT_NODE_DOWN] = { true, true, INT64_MAX },
  [EVENT_GROUP_FAILED] = { true, false, INT64_MAX },
  [EVENT_HISTORY_FAILED] = { true, true, INT64_MAX },
  [EVENT_FAULT] = { true, true, ALERT_ERRORS_LAST },
  [EVENT_GAP] = { true, false, ALERT_MOMENTS_LAST },
  [EVENT_CLOCK_OFFSET] = { true, false, ALERT_MOMENTS_LAST },
  [EVENT_CLOCK_STEP] = { true, false, ALERT_MOMENTS_LAST },
  [EVENT_DUPLICATE_NODE] = { true, false, ALERT_MOMENTS_LAST },
  [EVENT_REJECTED] = { true, false, ALERT_MOMENTS_LAST },
};

/* A node that is silent is one alert, whatever it is called by then. */
static enum event_type
kind_of (enum event_type type)
{
  return type == EVENT_NODE_STALE ? EVENT_NODE_DOWN : type;
}

static bool
stands (const struct alert *alert, int64_t at_ns)
{
  int64_t lasting =
      alert->type == EVENT_FAULT && !fault_is_counted (alert->what) ? INT64_MAX : kinds[alert->type].lasting_ns;

  return alert->pending || lasting == INT64_MAX || at_ns - alert->last_ns < lasting;
}

/* ---- the table ---- */

static void
alert_clear (struct alert *alert)
{
  free (alert->what);
  free (alert->text);
}

static struct alert_node *
node_find (const struct alerts *alerts, const char *name)
{
  struct alert_node *node;

  HASH_FIND_STR (alerts->nodes, name, node);
  return node;
}

static struct alert_node *
node_get (struct alerts *alerts, const char *name)
{
  struct alert_node *node = node_find (alerts, name);

  if (!node) {
    node = memory_new (1, sizeof *node);
    node->name = memory_string (name);
    HASH_ADD_KEYPTR (hh, alerts->nodes, node->name, strlen (node->name), node);
  }
  return node;
}

static void
node_drop (struct alerts *alerts, struct alert_node *node)
{
  if (!node)
    return;
  HASH_DEL (alerts->nodes, node);
  for (size_t i = 0; i < node->count; i++)
    alert_clear (&node->list[i]);
  free (node->list);
  free (node->name);
  free (node);
}

void
alerts_free (struct alerts *alerts)
{
  struct alert_node *node, *next;

  HASH_ITER (hh, alerts->nodes, node, next)
  {
    node_drop (alerts, node);
  }
}

static void
remove_at (struct alert_node *node, size_t at)
{
  alert_clear (&node->list[at]);
  memmove (node->list + at, node->list + at + 1, (--node->count - at) * sizeof node->list[0]);
}

static struct alert *
find (const struct alert_node *node, enum event_type type, const char *what)
{
  for (size_t i = 0; node && i < node->count; i++)
    if (kind_of (node->list[i].type) == kind_of (type) && strcmp (node->list[i].what, what) == 0)
      return &node->list[i];
  return NULL;
}

struct alert *
alerts_find (const struct alerts *alerts, const char *node, enum event_type type, const char *what, int64_t at_ns)
{
  struct alert *alert = find (node_find (alerts, node), type, what);

  return alert && stands (alert, at_ns) ? alert : NULL;
}

/* ---- events ---- */

static void
end (struct alerts *alerts, const char *name, enum event_type type, const char *what)
{
  struct alert_node *node = node_find (alerts, name);
  const struct alert *alert = find (node, type, what);

  if (alert)
    remove_at (node, (size_t) (alert - node->list));
  if (node && node->count == 0)
    node_drop (alerts, node);
}

static char *
text_of (const struct event *event, const char *what)
{
  const char *text = event->text ? event->text : "", *reason = event->reason ? event->reason : "";

  switch (event->type) {
  case EVENT_NODE_STALE:
    return memory_string ("stale: it is silent");
  case EVENT_NODE_DOWN:
    return memory_string ("down: no frames come");
  case EVENT_GROUP_FAILED:
    return memory_format ("%s: %s", what, *text ? text : "it fails");
  case EVENT_HISTORY_FAILED:
    return memory_format ("the history cannot be written: %s", text);
  case EVENT_GAP:
    return memory_format ("%" PRIu64 " frames lost", event->count);
  case EVENT_CLOCK_OFFSET:
    return memory_format ("clock off by %s", quantity_text (event->seconds, "seconds").text);
  case EVENT_CLOCK_STEP:
    return memory_format ("%s clock jumped by %s", reason, quantity_text (event->seconds, "seconds").text);
  case EVENT_DUPLICATE_NODE:
    return memory_string ("a second agent uses its key");
  case EVENT_REJECTED:
    return memory_format ("%s: %s", reason, text);
  default:
    return memory_string (text);
  }
}

static void
begin (struct alerts *alerts, const struct event *event, const char *what)
{
  struct alert_node *node = node_get (alerts, event->node ? event->node : "");
  struct alert *alert = find (node, event->type, what);
  bool goes_on = alert && stands (alert, event->wall_ns);

  if (!alert && node->count == ALERTS_OF_NODE_MAX)
    remove_at (node, 0);
  if (!alert) {
    alert = array_add (node->list, node->count, node->room);
    *alert = (struct alert){ .what = memory_string (what) };
  }
  free (alert->text);
  alert->type = event->type;
  alert->text = text_of (event, what);
  alert->count = event->count + (goes_on && fault_is_counted (what) ? alert->count : 0);
  alert->since_ns = goes_on ? alert->since_ns : event->wall_ns;
  alert->last_ns = alert->seen_ns = event->wall_ns;
  alert->pending = 0;
}

void
alerts_take (struct alerts *alerts, const struct event *event)
{
  const char *node = event->node ? event->node : "", *reason = event->reason ? event->reason : "";

  switch (event->type) {
  case EVENT_NODE_UP:
    end (alerts, node, EVENT_NODE_DOWN, "");
    break;
  case EVENT_NODE_REVOKED:
    node_drop (alerts, node_find (alerts, node));
    break;
  case EVENT_GROUP_RECOVERED:
    for (size_t i = 0; i < event->group_count; i++)
      end (alerts, node, EVENT_GROUP_FAILED, event->groups[i]);
    break;
  case EVENT_FAULT_OVER:
    end (alerts, node, EVENT_FAULT, reason);
    break;
  case EVENT_HISTORY_RESUMED:
  case EVENT_AGGREGATOR_STARTED:
    end (alerts, "", EVENT_HISTORY_FAILED, "");
    break;
  case EVENT_GROUP_FAILED:
    for (size_t i = 0; i < event->group_count; i++)
      begin (alerts, event, event->groups[i]);
    break;
  default:
    if (kinds[event->type].begins)
      begin (alerts, event, event->type == EVENT_FAULT ? reason : "");
  }
}

void
alerts_forget (struct alerts *alerts, int64_t at_ns)
{
  struct alert_node *node, *next;

  HASH_ITER (hh, alerts->nodes, node, next)
  {
    for (size_t i = node->count; i-- > 0;)
      if (!stands (&node->list[i], at_ns))
        remove_at (node, i);
    if (node->count == 0)
      node_drop (alerts, node);
  }
}

/* ---- lines ---- */

struct standing {
  const char *node;
  const struct alert *alert;
};

static int
compare (const void *one, const void *other)
{
  const struct standing *a = one, *b = other;
  int order = kinds[b->alert->type].bad - kinds[a->alert->type].bad;

  order = order ? order : strverscmp (a->node, b->node);
  return order ? order : strcmp (a->alert->what, b->alert->what);
}

static void
write_text (struct json *json, const struct alert *alert)
{
  char *text = alert->type == EVENT_FAULT && fault_is_counted (alert->what)
                   ? memory_format ("%s: %" PRIu64, alert->text, alert->count + alert->pending)
                   : memory_string (alert->text);

  json_text (json_key (json, "text"), text);
  free (text);
}

static void
write_one (struct json *json, const char *node, const struct alert *alert)
{
  json_object (json);
  json_text (json_key (json, "node"), node);
  json_text (json_key (json, "alert"), event_name (alert->type));
  json_text (json_key (json, "level"), kinds[alert->type].bad ? "alarm" : "warning");
  json_text (json_key (json, "what"), alert->what);
  write_text (json, alert);
  json_time (json_key (json, "since"), alert->since_ns);
  json_time (json_key (json, "last"), alert->last_ns);
  json_object_end (json);
  json_newline (json);
}

/* As the event by which it began. */
static bool
is_seen (const struct viewer *viewer, const struct alert *alert)
{
  const char *const group = alert->what;

  return access_sees_event (
      viewer,
      &(struct event){ .type = alert->type, .groups = &group, .group_count = alert->type == EVENT_GROUP_FAILED });
}

void
alerts_write (const struct alerts *alerts, const struct viewer *viewer, int64_t at_ns, alert_still_fn *still,
              const void *context, struct json *json)
{
  struct standing *list = NULL;
  size_t count = 0, room = 0;

  for (const struct alert_node *node = alerts->nodes; node; node = node->hh.next)
    for (size_t i = 0; i < node->count; i++)
      if (stands (&node->list[i], at_ns) && is_seen (viewer, &node->list[i]) &&
          (!still || still (context, node->name, &node->list[i])))
        *array_add (list, count, room) = (struct standing){ node->name, &node->list[i] };
  if (count)
    qsort (list, count, sizeof list[0], compare);
  for (size_t i = 0; i < count; i++)
    write_one (json, list[i].node, list[i].alert);
  free (list);
}
