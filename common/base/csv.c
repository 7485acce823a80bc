/* See csv.h. */
#include "synop/csv.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "synop/number.h"

void
csv_text (struct buffer *out, const char *text)
{
  bool formula = *text && strchr ("=+-@\t\r", *text);

  if (!formula && !strpbrk (text, ",\"\n\r")) {
    buffer_add_string (out, text);
    return;
  }
  buffer_add_string (out, formula ? "\"'" : "\"");
  for (; *text; text++)
    buffer_add (out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
  buffer_add_string (out, "\"");
}

void
csv_number (struct buffer *out, double value)
{
  if (isfinite (value))
    out->length = (size_t) (number_put_real (buffer_reserve (out, NUMBER_SIZE), value) - out->data);
}
