/* Writes JSON. Numbers are made by hand, since snprintf alone would cost more than the rest of a line.
 *
 * Each function reserves the most that it may need, writes, and then sets the length: no other checks. */
#include "synop/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/json_string.h"

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

void
json_key_n (struct json *json, const char *key, size_t length)
{
  char *to = json_string_put (json_begin (json, STRING_SIZE (length)), key, length);

  *to++ = ':';
  json_finish (json, to, false);
}

void
json_key (struct json *json, const char *name)
{
  size_t length = strlen (name);
  char *to = json_begin (json, STRING_SIZE (length));

  *to++ = '"';
  memcpy (to, name, length);
  memcpy (to + length, "\":", 2);
  json_finish (json, to + length + 2, false);
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

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                  "8081828384858687888990919293949596979899";

static const uint64_t whole_powers[] = { UINT64_C (1),
                                         UINT64_C (10),
                                         UINT64_C (100),
                                         UINT64_C (1000),
                                         UINT64_C (10000),
                                         UINT64_C (100000),
                                         UINT64_C (1000000),
                                         UINT64_C (10000000),
                                         UINT64_C (100000000),
                                         UINT64_C (1000000000),
                                         UINT64_C (10000000000),
                                         UINT64_C (100000000000),
                                         UINT64_C (1000000000000),
                                         UINT64_C (10000000000000),
                                         UINT64_C (100000000000000),
                                         UINT64_C (1000000000000000),
                                         UINT64_C (10000000000000000),
                                         UINT64_C (100000000000000000),
                                         UINT64_C (1000000000000000000),
                                         UINT64_C (10000000000000000000) };
#define PLACES_WHOLE 19 /* 10^19 is the last that fits */

/* The last `count` digits of a number, with zeros before it when it has fewer. */
static inline char *
digits_put (char *to, uint64_t number, int count)
{
  char *at = to + count;

  for (; at - to >= 2; number /= 100) {
    at -= 2;
    memcpy (at, digit_pairs + number % 100 * 2, 2);
  }
  if (at != to)
    *to = (char) ('0' + number % 10);
  return to + count;
}

static inline char *
whole_put (char *to, uint64_t number)
{
  if (number < 10) {
    *to = (char) ('0' + number);
    return to + 1;
  }

  int count = (64 - __builtin_clzll (number)) * 1233 >> 12; /* log10, or one more */

  return digits_put (to, number, count + (number >= whole_powers[count]));
}

/* `digits` / 10^`places`. */
static char *
number_put (char *to, uint64_t digits, int places)
{
  if (places == 0)
    return whole_put (to, digits);

  uint64_t whole = places > PLACES_WHOLE ? 0 : digits / whole_powers[places];

  to = whole_put (to, whole);
  *to++ = '.';
  return digits_put (to, places > PLACES_WHOLE ? digits : digits - whole * whole_powers[places], places);
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
