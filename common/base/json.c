/* Writes JSON.
 *
 * Each function first reserves room for the longest result, writes, and then sets the length: no other checks. */
#include "synop/json.h"

#include <math.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/json_string.h"
#include "synop/number.h"

void
json_free (struct json *json)
{
  buffer_free (&json->out);
  json->comma = false;
}

void
json_clear (struct json *json)
{
  buffer_clear (&json->out);
  json->comma = false;
}

/* Room for `most` bytes and the comma, which is written. */
static inline char *
json_begin (struct json *json, size_t most)
{
  struct buffer *out = &json->out;
  char *to = out->capacity - out->length > most ? out->data + out->length : buffer_reserve (out, most + 1);

  if (json->comma)
    *to++ = ',';
  return to;
}

static inline void
json_finish (struct json *json, const char *to, bool comma)
{
  json->out.length = (size_t) (to - json->out.data);
  json->comma = comma;
}

static void
json_put (struct json *json, const char *text, size_t length, bool comma)
{
  char *to = json_begin (json, length);

  memcpy (to, text, length);
  json_finish (json, to + length, comma);
}

static inline void
json_open (struct json *json, char begin)
{
  char *to = json_begin (json, 1);

  *to++ = begin;
  json_finish (json, to, false);
}

static inline void
json_close (struct json *json, char end)
{
  json->comma = false;

  char *to = json_begin (json, 1);

  *to++ = end;
  json_finish (json, to, true);
}

void
json_object (struct json *json)
{
  json_open (json, '{');
}

void
json_object_end (struct json *json)
{
  json_close (json, '}');
}

void
json_array (struct json *json)
{
  json_open (json, '[');
}

void
json_array_end (struct json *json)
{
  json_close (json, ']');
}

void
json_newline (struct json *json)
{
  json->comma = false;
  json_open (json, '\n');
}

void
json_null (struct json *json)
{
  json_put (json, "null", 4, true);
}

void
json_bool (struct json *json, bool value)
{
  json_put (json, value ? "true" : "false", value ? 4 : 5, true);
}

/* ---- texts ---- */

#define STRING_SIZE(length) (6 * (length) + 3) /* all controls, quotes, a colon */

struct json *
json_key_n (struct json *json, const char *key, size_t length)
{
  char *to = json_string_put (json_begin (json, STRING_SIZE (length)), key, length);

  *to++ = ':';
  json_finish (json, to, false);
  return json;
}

struct json *
json_key (struct json *json, const char *name)
{
  size_t length = strlen (name);
  char *to = json_begin (json, STRING_SIZE (length));

  *to++ = '"';
  memcpy (to, name, length);
  memcpy (to + length, "\":", 2);
  json_finish (json, to + length + 2, false);
  return json;
}

void
json_text_n (struct json *json, const char *text, size_t length)
{
  json_finish (json, json_string_put (json_begin (json, STRING_SIZE (length)), text, length), true);
}

void
json_text (struct json *json, const char *text)
{
  if (text == NULL)
    json_null (json);
  else
    json_text_n (json, text, strlen (text));
}

void
json_time (struct json *json, int64_t wall_ns)
{
  char text[CLOCK_TEXT_SIZE];

  json_text_n (json, text, clock_text (wall_ns, text));
}

/* ---- numbers ---- */

void
json_uint (struct json *json, uint64_t value)
{
  json_finish (json, number_put_uint (json_begin (json, NUMBER_SIZE), value), true);
}

void
json_int (struct json *json, int64_t value)
{
  json_finish (json, number_put_int (json_begin (json, NUMBER_SIZE), value), true);
}

void
json_real (struct json *json, double value)
{
  if (isfinite (value))
    json_finish (json, number_put_real (json_begin (json, NUMBER_SIZE), value), true);
  else
    json_null (json);
}

void
json_real_places (struct json *json, double value, int places)
{
  if (isfinite (value))
    json_finish (json, number_put_places (json_begin (json, NUMBER_SIZE), value, places), true);
  else
    json_null (json);
}
