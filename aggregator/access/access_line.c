/* See access_line.h. */
#include "aggregator/access/access_line.h"

#include <jansson.h>

#include "synop/memory.h"

char *
access_line_text (const char *line, size_t length, const char *name)
{
  json_t *parsed = json_loadb (line, length, JSON_DISABLE_EOF_CHECK, NULL);
  char *text = memory_string (json_string_value (json_object_get (parsed, name)));

  json_decref (parsed);
  return text;
}

bool
access_line_each (const char *line, size_t length, const char *name, void *context,
                  void (*take) (void *context, const char *text))
{
  json_t *parsed = json_loadb (line, length, JSON_DISABLE_EOF_CHECK, NULL);
  const json_t *list = json_object_get (parsed, name);
  bool fine = json_is_array (list);

  for (size_t i = 0; i < json_array_size (list) && fine; i++) {
    const char *text = json_string_value (json_array_get (list, i));
    fine = text != NULL;
    if (fine)
      take (context, text);
  }
  json_decref (parsed);
  return fine;
}
