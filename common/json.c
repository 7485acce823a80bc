/* Writes JSON. Numbers are made by hand, since snprintf alone would cost more than the rest of a line.
 *
 * Each function reserves the most that it may need, writes, and then sets the length: no other checks. */
#include "synop/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "synop/clock.h"

#define NUMBER_SIZE 40 /* a comma, a sign, 20 digits, or what %.15g makes */

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

static void
json_close (struct json *json, char end)
{
  json->comma = false;
  json_put (json, &end, 1, true);
}

void
json_object (struct json *json)
{
  json_put (json, "{", 1, false);
}

void
json_object_end (struct json *json)
{
  json_close (json, '}');
}

void
json_array (struct json *json)
{
  json_put (json, "[", 1, false);
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
  json_put (json, "\n", 1, false);
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

/* The length of the UTF-8 character that begins at `at`, which is not ASCII; 0 when it is none. */
static size_t
utf8_length (const unsigned char *at, size_t left)
{
  unsigned first = at[0];
  unsigned low = 0x80, high = 0xbf; /* of the second byte */
  size_t length;

  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0)
      low = 0xa0; /* less would be overlong */
    else if (first == 0xed)
      high = 0x9f; /* more would be a surrogate */
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0)
      low = 0x90;
    else if (first == 0xf4)
      high = 0x8f; /* more would be over U+10FFFF */
  } else {
    return 0;
  }
  if (left < length || at[1] < low || at[1] > high)
    return 0;
  for (size_t i = 2; i < length; i++)
    if ((at[i] & 0xc0) != 0x80)
      return 0;
  return length;
}

static char *
control_put (char *to, unsigned char control)
{
  static const char digits[] = "0123456789abcdef";
  static const char letters[0x20] = { ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't' };

  *to++ = '\\';
  if (letters[control] != 0) {
    *to++ = letters[control];
    return to;
  }
  memcpy (to, "u00", 3);
  to[3] = digits[control >> 4];
  to[4] = digits[control & 15];
  return to + 5;
}

static char *
string_put (char *to, const char *text, size_t length)
{
  const unsigned char *at = (const unsigned char *) text;
  const unsigned char *end = at + length;

  *to++ = '"';
  while (at < end) {
    unsigned char c = *at;

    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
      *to++ = (char) c;
      at++;
    } else if (c >= 0x80) {
      size_t bytes = utf8_length (at, (size_t) (end - at));

      memcpy (to, bytes == 0 ? (const unsigned char *) "\xef\xbf\xbd" : at, bytes == 0 ? 3 : bytes);
      to += bytes == 0 ? 3 : bytes;
      at += bytes == 0 ? 1 : bytes;
    } else if (c < 0x20) {
      to = control_put (to, c);
      at++;
    } else {
      *to++ = '\\';
      *to++ = (char) c;
      at++;
    }
  }
  *to++ = '"';
  return to;
}

#define STRING_SIZE(length) (6 * (length) + 3) /* all controls, quotes, a colon */

void
json_key_n (struct json *json, const char *key, size_t length)
{
  char *to = string_put (json_begin (json, STRING_SIZE (length)), key, length);

  *to++ = ':';
  json_finish (json, to, false);
}

void
json_key (struct json *json, const char *key)
{
  json_key_n (json, key, strlen (key));
}

void
json_text_n (struct json *json, const char *text, size_t length)
{
  json_finish (json, string_put (json_begin (json, STRING_SIZE (length)), text, length), true);
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

/* `digits` / 10^`places`. */
static char *
number_put (char *to, uint64_t digits, int places)
{
  char text[32]; /* 20 digits, or 22 places, and "0." */
  char *at = text + sizeof text;
  int count = 0;

  do {
    if (count == places && places > 0)
      *--at = '.';
    *--at = (char) ('0' + digits % 10);
    digits /= 10;
    count++;
  } while (digits != 0 || count <= places);

  size_t length = (size_t) (text + sizeof text - at);

  memcpy (to, at, length);
  return to + length;
}

void
json_uint (struct json *json, uint64_t value)
{
  json_finish (json, number_put (json_begin (json, NUMBER_SIZE), value, 0), true);
}

void
json_int (struct json *json, int64_t value)
{
  char *to = json_begin (json, NUMBER_SIZE);

  if (value < 0)
    *to++ = '-';
  json_finish (json, number_put (to, value < 0 ? -(uint64_t) value : (uint64_t) value, 0), true);
}

/* The same without the zeros at its end. */
static char *
decimal_put (char *to, uint64_t digits, int places)
{
  while (places >= 4 && digits % 10000 == 0) {
    digits /= 10000;
    places -= 4;
  }
  while (places > 0 && digits % 10 == 0) {
    digits /= 10;
    places--;
  }
  return number_put (to, digits, places);
}

static const double powers_of_ten[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* Between 1e-7 and 1e15 the power of ten that makes a whole number of 15 digits is exact as a double, so that the
 * product is off by less than a tenth of the last digit: a value that has 15 digits or fewer comes out as it was
 * written. What lies outside is rare, and left to snprintf. */
static char *
real_put (char *to, double value)
{
  if (value < 0) {
    *to++ = '-';
    value = -value;
  }
  if (value == 0.0) {
    *to++ = '0';
    return to;
  }
  if (!(value >= 1e-7 && value < 1e15))
    return to + snprintf (to, NUMBER_SIZE - 2, "%.15g", value);

  uint64_t bits;

  memcpy (&bits, &value, sizeof bits);

  int places = 14 - (((int) (bits >> 52) - 1023) * 1233 >> 12); /* 14 - log10, or one less than that */

  if (value * powers_of_ten[places] >= 1e15)
    places--;
  return decimal_put (to, (uint64_t) (value * powers_of_ten[places] + 0.5), places);
}

void
json_real (struct json *json, double value)
{
  if (isfinite (value))
    json_finish (json, real_put (json_begin (json, NUMBER_SIZE), value), true);
  else
    json_null (json);
}

void
json_real_places (struct json *json, double value, int places)
{
  double scaled = fabs (value) * powers_of_ten[places];

  if (!(scaled < 1e15)) {
    json_real (json, value);
    return;
  }

  char *to = json_begin (json, NUMBER_SIZE);
  uint64_t digits = (uint64_t) (scaled + 0.5);

  if (value < 0 && digits != 0)
    *to++ = '-';
  json_finish (json, decimal_put (to, digits, places), true);
}
