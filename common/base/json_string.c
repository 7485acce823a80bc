/* A text as a JSON string; see json_string.h. Nearly all texts are short keys of plain ASCII, which are copied
 * whole; others are written byte by byte. */
#include "synop/json_string.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "synop/text.h"

size_t
json_utf8_length (const unsigned char *at, size_t left)
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

/* "\u202e"; two of them for what lies beyond U+FFFF. */
static char *
escape_put (char *to, uint32_t c)
{
  static const char digits[] = "0123456789abcdef";

  if (c > 0xffff) {
    to = escape_put (to, 0xd7c0 + (c >> 10));
    c = 0xdc00 | (c & 0x3ff);
  }
  *to++ = '\\';
  *to++ = 'u';
  for (int shift = 12; shift >= 0; shift -= 4)
    *to++ = digits[c >> shift & 15];
  return to;
}

static char *
control_put (char *to, unsigned char control)
{
  static const char letters[0x20] = { ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't' };

  if (letters[control] == 0)
    return escape_put (to, control);
  *to++ = '\\';
  *to++ = letters[control];
  return to;
}

/* Writes a character that is not ASCII. Controls and marks of direction are escaped, so that no terminal obeys them. */
static char *
wide_put (char *to, const unsigned char **at, size_t left)
{
  size_t bytes;
  uint32_t c = text_character ((const char *) *at, left, &bytes);

  if (c == TEXT_BROKEN) {
    memcpy (to, "\xef\xbf\xbd", 3);
    to += 3;
  } else if (text_is_unsound (c)) {
    to = escape_put (to, c);
  } else {
    memcpy (to, *at, bytes);
    to += bytes;
  }
  *at += bytes;
  return to;
}

#define EACH_BYTE(byte) (UINT64_C (0x0101010101010101) * (byte))

/* Whether all of these eight bytes stand in a string as they are: ASCII from the blank on, no quote, no backslash. */
static inline bool
are_plain (uint64_t bytes)
{
  uint64_t quotes = bytes ^ EACH_BYTE ('"');
  uint64_t slashes = bytes ^ EACH_BYTE ('\\');
  /* A byte's high bit is set when it was less than the subtracted one or, in `bytes`, is not ASCII. */
  uint64_t odd = (bytes - EACH_BYTE (0x20)) | (quotes - EACH_BYTE (1)) | (slashes - EACH_BYTE (1)) | bytes;

  return (odd & EACH_BYTE (0x80)) == 0;
}

/* Copies a text that is plain as a whole, as nearly all are, in pieces of which the last two may overlap. */
static bool
plain_put (char *to, const char *text, size_t length)
{
  uint64_t eight;
  uint32_t four[2];

  if (length >= 8) {
    for (size_t at = 0; at < length; at += 8) {
      size_t from = at + 8 <= length ? at : length - 8;

      memcpy (&eight, text + from, 8);
      if (!are_plain (eight))
        return false;
      memcpy (to + from, &eight, 8);
    }
    return true;
  }
  if (length < 4)
    return length == 0;
  memcpy (&four[0], text, 4);
  memcpy (&four[1], text + length - 4, 4);
  memcpy (to, &four[0], 4);
  memcpy (to + length - 4, &four[1], 4);
  memcpy (&eight, four, 8);
  return are_plain (eight);
}

static char *
careful_put (char *to, const unsigned char *at, size_t length)
{
  const unsigned char *end = at + length;

  while (at < end) {
    unsigned char c = *at;

    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
      *to++ = (char) c;
      at++;
    } else if (c >= 0x80) {
      to = wide_put (to, &at, (size_t) (end - at));
    } else if (c < 0x20) {
      to = control_put (to, c);
      at++;
    } else {
      *to++ = '\\';
      *to++ = (char) c;
      at++;
    }
  }
  return to;
}

char *
json_string_put (char *to, const char *text, size_t length)
{
  *to++ = '"';
  to = plain_put (to, text, length) ? to + length : careful_put (to, (const unsigned char *) text, length);
  *to++ = '"';
  return to;
}
