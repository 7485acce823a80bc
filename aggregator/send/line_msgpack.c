/* See line_msgpack.h. */
#include "aggregator/send/line_msgpack.h"

#include <jansson.h>
#include <msgpack.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int
take (void *out, const char *bytes, size_t length)
{
  buffer_add (out, bytes, length);
  return 0;
}

static void
pack_text (msgpack_packer *packer, const char *text, size_t length)
{
  msgpack_pack_str (packer, length);
  msgpack_pack_str_body (packer, text, length);
}

static void pack (msgpack_packer *packer, json_t *value);

static void
pack_object (msgpack_packer *packer, json_t *object)
{
  const char *key;
  json_t *value;

  msgpack_pack_map (packer, json_object_size (object));
  json_object_foreach (object, key, value)
  {
    pack_text (packer, key, strlen (key));
    pack (packer, value);
  }
}

static void
pack_array (msgpack_packer *packer, json_t *array)
{
  msgpack_pack_array (packer, json_array_size (array));
  for (size_t i = 0; i < json_array_size (array); i++)
    pack (packer, json_array_get (array, i));
}

/* It is as deep as our own lines are. */
static void
pack (msgpack_packer *packer, json_t *value)
{
  switch (json_typeof (value)) {
  case JSON_OBJECT:
    pack_object (packer, value);
    break;
  case JSON_ARRAY:
    pack_array (packer, value);
    break;
  case JSON_STRING:
    pack_text (packer, json_string_value (value), json_string_length (value));
    break;
  case JSON_INTEGER:
    msgpack_pack_int64 (packer, json_integer_value (value));
    break;
  case JSON_REAL:
    msgpack_pack_double (packer, json_real_value (value));
    break;
  case JSON_TRUE:
    msgpack_pack_true (packer);
    break;
  case JSON_FALSE:
    msgpack_pack_false (packer);
    break;
  case JSON_NULL:
    msgpack_pack_nil (packer);
    break;
  }
}

/* jansson takes no whole number over 2^63 - 1: such get a ".0". */
static json_t *
load_large (const char *line, size_t length)
{
  struct buffer text = { 0 };
  bool quoted = false;
  json_t *value;

  for (size_t i = 0; i < length; i++) {
    size_t digits = 0;
    while (!quoted && i + digits < length && line[i + digits] >= '0' && line[i + digits] <= '9')
      digits++;
    buffer_add (&text, line + i, digits ? digits : 1);
    if (digits >= 19 && i + digits < length && !strchr (".eE", line[i + digits]) && (i == 0 || line[i - 1] != '.'))
      buffer_add_string (&text, ".0");
    if (line[i] == '\\' && quoted)
      buffer_add (&text, &line[++i], 1);
    else if (line[i] == '"')
      quoted = !quoted;
    i += digits ? digits - 1 : 0;
  }
  value = json_loadb (text.data, text.length, JSON_ALLOW_NUL, NULL);
  buffer_free (&text);
  return value;
}

void
line_msgpack_put (struct buffer *out, const char *line, size_t length)
{
  json_t *value = json_loadb (line, length, JSON_ALLOW_NUL, NULL);
  msgpack_packer packer;

  if (!value)
    value = load_large (line, length);
  if (!value)
    abort (); /* it is ours */
  msgpack_packer_init (&packer, out, take);
  pack (&packer, value);
  json_decref (value);
}
