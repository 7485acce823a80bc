/* See api_error.h. */
#include "aggregator/api/api_error.h"

#include <stdarg.h>
#include <stdio.h>

#include "synop/json.h"

int
api_error_set (struct api_error *error, unsigned status, const char *parameter, const char *format, ...)
{
  va_list arguments;

  error->status = status;
  error->parameter = parameter;
  va_start (arguments, format);
  vsnprintf (error->message.text, sizeof error->message.text, format, arguments);
  va_end (arguments);
  return -1;
}

void
api_error_write (const struct api_error *error, struct buffer *out)
{
  struct json json = { 0 };

  json_object (&json);
  json_object (json_key (&json, "error"));
  json_text (json_key (&json, "message"), error->message.text);
  if (error->parameter)
    json_text (json_key (&json, "parameter"), error->parameter);
  if (*error->expected)
    json_text (json_key (&json, "expected"), error->expected);
  json_object_end (&json);
  json_object_end (&json);
  json_newline (&json);
  buffer_add (out, json.out.data, json.out.length);
  json_free (&json);
}
