/* See alerts_past.h. */
#include "aggregator/alerts/alerts_past.h"

#include <stdlib.h>

#include "aggregator/alerts/alerts_line.h"

#define BACK (7 * 86400 * NS_PER_S)
#define EVENTS_MAX 100000 /* the newest */
#define READ_AT_ONCE 256

bool
alerts_take_line (struct alerts *alerts, int64_t time_ns, const char *text, size_t length)
{
  struct alerts_line line;
  struct event event;

  alerts_line_read (&line, text, length);
  event = (struct event){ .type = line.event ? event_type (line.event) : EVENT_TYPES,
                          .wall_ns = time_ns,
                          .node = line.node,
                          .text = line.text,
                          .reason = line.reason,
                          .seconds = line.seconds,
                          .groups = line.groups,
                          .group_count = line.group_count,
                          .count = line.count };
  if (event.type != EVENT_TYPES)
    alerts_take (alerts, &event);
  alerts_line_free (&line);
  return event.type != EVENT_TYPES;
}

int
alerts_past (struct alerts *alerts, struct history_file *file, int64_t until_ns, struct error *error)
{
  struct stored_event events[READ_AT_ONCE];
  struct event_list list = { 0 };
  int found = history_file_event_list (file, until_ns - BACK, until_ns, NULL, &list, error);

  for (size_t at = list.count > EVENTS_MAX ? list.count - EVENTS_MAX : 0; found >= 0 && at < list.count;
       at += READ_AT_ONCE) {
    size_t count = list.count - at < READ_AT_ONCE ? list.count - at : READ_AT_ONCE;
    found = history_file_events (file, list.rows + at, count, events, error);
    for (int i = 0; i < found; i++) {
      if (!events[i].broken && event_type (events[i].type) != EVENT_TYPES)
        alerts_take_line (alerts, events[i].time_ns, events[i].line, events[i].length);
      stored_event_free (&events[i]);
    }
  }
  free (list.rows);
  return found < 0 ? -1 : 0;
}
