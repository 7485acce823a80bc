/* Writes JSON, one object a line, into a buffer, and adds the commas. Written by hand since every line of the stream
 * passes here. Texts may hold any bytes: controls and marks of direction (text.h) are escaped, invalid UTF-8 becomes
 * U+FFFD. */
#ifndef SYNOP_JSON_H
#define SYNOP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"

/* Some of these names are libjansson's too: hidden, so that libjansson calls its own. */
#pragma GCC visibility push(hidden)

struct json {
  struct buffer out;
  bool comma; /* the next thing is not the first of its object or array */
};

void json_free (struct json *json);
void json_clear (struct json *json);

void json_object (struct json *json); /* { */
void json_object_end (struct json *json);
void json_array (struct json *json);
void json_array_end (struct json *json);
/* Then comes a value, an object or an array: json_uint (json_key (json, "count"), count). A name stands as it is: no
 * quote, no backslash, no control, nothing that is not ASCII, as names of metrics, groups and nodes have. A key of others
 * may be anything. */
struct json *json_key (struct json *json, const char *name);
struct json *json_key_n (struct json *json, const char *key, size_t length);

void json_null (struct json *json);
void json_bool (struct json *json, bool value);
void json_uint (struct json *json, uint64_t value);
void json_int (struct json *json, int64_t value);
/* Up to 15 significant digits, as few as identify the value; no exponent between 1e-7 and 1e15. NaN and infinity:
 * null. */
void json_real (struct json *json, double value);
/* Rounded to at most `places` digits (0 to 9) behind the point, the zeros at the end left out. */
void json_real_places (struct json *json, double value, int places);
void json_text (struct json *json, const char *text); /* NULL: null */
void json_text_n (struct json *json, const char *text, size_t length);
void json_time (struct json *json, int64_t wall_ns); /* RFC 3339, as clock_text */
void json_newline (struct json *json);               /* ends the line */

#pragma GCC visibility pop

#endif
