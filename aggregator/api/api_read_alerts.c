/* Alerts of an instant of the past, by the events of the history. */
#include <string.h>

#include "aggregator/alerts/alerts_past.h"
#include "aggregator/api/api_route.h"
#include "aggregator/query/when.h"
#include "synop/globs.h"

static bool
is_wanted (const void *nodes, const char *node, const struct alert *alert)
{
  (void) alert;
  return globs_match (nodes, node);
}

/* Lines become the members of a list. */
static void
write_list (struct buffer *out, const struct buffer *lines)
{
  const char *at = lines->data, *stop = at + lines->length;

  buffer_add_string (out, "{\"alerts\":[");
  while (at < stop) {
    const char *end = memchr (at, '\n', (size_t) (stop - at));
    buffer_add_string (out, at == lines->data ? "\n" : ",\n");
    buffer_add (out, at, (size_t) (end - at));
    at = end + 1;
  }
  buffer_add_string (out, "]}\n");
}

int
api_read_alerts (struct api_read *read, struct api_error *error)
{
  const char *names = api_value (read->ask, "node");
  struct alerts alerts = { 0 };
  struct json lines = { 0 };
  struct globs nodes;
  struct error why;
  int64_t at_ns;
  int result;

  if (when_parse (api_value (read->ask, "at"), read->now_ns, &at_ns, &why) < 0)
    return api_error_set (error, 400, "at", "%s", why.text);
  globs_init (&nodes, names ? names : "");
  result = alerts_past (&alerts, read->file, at_ns, &why);
  if (result == 0)
    alerts_write (&alerts, &read->viewer, at_ns, is_wanted, &nodes, &lines);
  else
    api_error_set (error, 500, NULL, "%s", why.text);
  write_list (&read->out, &lines.out);
  alerts_free (&alerts);
  globs_free (&nodes);
  json_free (&lines);
  return result;
}
