/* See alerts_line.h. */
#include "aggregator/alerts/alerts_line.h"

#include <jansson.h>

static const char *
first_text (const json_t *root, const char *const *keys)
{
  const char *text = NULL;

  for (; *keys && !text; keys++)
    text = json_string_value (json_object_get (root, *keys));
  return text;
}

/* The keys are those of aggregator/core/event.c. */
void
alerts_line_read (struct alerts_line *line, const char *text, size_t length)
{
  static const char *const texts[] = { "error", "detail", "text", NULL }, *const reasons[] = { "what", "clock",
                                                                                               "metric", "reason",
                                                                                               NULL };
  json_t *root = json_loadb (text, length, 0, NULL);
  const json_t *groups = json_object_get (root, "groups"), *lost = json_object_get (root, "lost");

  *line = (struct alerts_line){ .root = root,
                                .event = json_string_value (json_object_get (root, "event")),
                                .node = json_string_value (json_object_get (root, "node")),
                                .text = first_text (root, texts),
                                .reason = first_text (root, reasons),
                                .seconds = json_number_value (json_object_get (root, "seconds")) };
  line->count = (uint64_t) json_integer_value (lost ? lost : json_object_get (root, "count"));
  for (size_t i = 0; i < json_array_size (groups) && line->group_count < ALERTS_LINE_GROUPS; i++)
    if (json_is_string (json_array_get (groups, i)))
      line->groups[line->group_count++] = json_string_value (json_array_get (groups, i));
}

void
alerts_line_free (struct alerts_line *line)
{
  json_decref (line->root);
}
