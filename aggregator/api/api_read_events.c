/* Events of the history: the newest that are wanted, found from the end. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/access/access_rows.h"
#include "aggregator/api/api_route.h"
#include "aggregator/views/job_line.h"
#include "synop/array.h"
#include "synop/globs.h"
#include "synop/json.h"
#include "synop/memory.h"

#define READ_AT_ONCE 256

struct finding {
  const struct viewer *viewer;
  struct globs types, nodes;
  size_t most;
  char **lines; /* the newest first, without their newlines */
  size_t count, room;
  size_t left_out, damaged;
};

static bool
is_wanted (const struct finding *finding, const struct stored_event *event)
{
  return strcmp (event->type, JOB_LINE_TYPE) != 0 && globs_match (&finding->types, event->type) &&
         (finding->nodes.count == 0 || (event->node && globs_match (&finding->nodes, event->node)));
}

static bool
is_seen (const struct finding *finding, const struct stored_event *event)
{
  return access_sees_event (
      finding->viewer,
      &(struct event){ .type = event_type (event->type), .line = event->line, .line_length = event->length });
}

static void
take (struct finding *finding, const struct stored_event *event)
{
  if (event->broken) {
    finding->damaged++;
  } else if (is_wanted (finding, event) && is_seen (finding, event)) {
    if (finding->count == finding->most)
      finding->left_out++;
    else
      *array_add (finding->lines, finding->count, finding->room) =
          memory_format ("%.*s", (int) (event->length - (event->line[event->length - 1] == '\n')), event->line);
  }
}

/* From the end; those beyond the limit are counted too. */
static int
find (struct finding *finding, struct history_file *file, const struct event_list *list, struct error *error)
{
  struct stored_event events[READ_AT_ONCE];

  for (size_t end = list->count; end > 0;) {
    size_t begin = end > READ_AT_ONCE ? end - READ_AT_ONCE : 0;
    int count = history_file_events (file, list->rows + begin, end - begin, events, error);
    if (count < 0)
      return -1;
    for (int i = count; i-- > 0;) {
      take (finding, &events[i]);
      stored_event_free (&events[i]);
    }
    end = begin;
  }
  return 0;
}

static void
write_found (const struct finding *finding, struct json *json)
{
  json_object (json);
  json_array (json_key (json, "events"));
  for (size_t i = finding->count; i-- > 0;) {
    buffer_add_string (&json->out, i + 1 < finding->count ? ",\n" : "\n");
    buffer_add_string (&json->out, finding->lines[i]);
  }
  json->comma = true;
  json_array_end (json);
  json_uint (json_key (json, "left_out"), finding->left_out);
  json_uint (json_key (json, "damaged"), finding->damaged);
  if (!finding->viewer->all)
    json_bool (json_key (json, "others_left_out"), true);
  json_object_end (json);
  json_newline (json);
}

int
api_read_events (struct api_read *read, struct api_error *error)
{
  const char *types = api_value (read->ask, "type"), *nodes = api_value (read->ask, "node");
  struct finding finding = { .viewer = &read->viewer, .most = strtoul (api_value (read->ask, "limit"), NULL, 10) };
  struct event_list list = { 0 };
  struct json json = { 0 };
  int64_t from_ns, to_ns;
  struct error why;
  int result;

  if (api_read_interval (read, &from_ns, &to_ns, error) < 0)
    return -1;
  globs_init (&finding.types, types ? types : "");
  globs_init (&finding.nodes, nodes ? nodes : "");
  result = history_file_event_list (read->file, from_ns, to_ns, NULL, &list, &why);
  if (result == 0)
    result = find (&finding, read->file, &list, &why);
  if (result == 0)
    write_found (&finding, &json);
  else
    api_error_set (error, 500, NULL, "%s", why.text);
  read->out = json.out;
  for (size_t i = 0; i < finding.count; i++)
    free (finding.lines[i]);
  free (finding.lines);
  free (list.rows);
  globs_free (&finding.types);
  globs_free (&finding.nodes);
  return result;
}
