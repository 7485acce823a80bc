/* A text as a JSON string; see json_string.h. Nearly all texts are short keys of plain ASCII: they are copied whole, and
 * what needs care goes byte by byte. */
#include "common/json_string.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

#define EACH_BYTE(byte) (UINT64_C (0x0101010101010101) * (byte))

/* Whether all of these eight bytes stand in a string as they are: ASCII from the blank on, no quote, no backslash. */
static inline bool
are_plain (uint64_t bytes)
{
  uint64_t quotes = bytes ^ EACH_BYTE ('"');
  uint64_t slashes = bytes ^ EACH_BYTE ('\\');
  /* A byte's high bit: it was less than what is taken away, or, in `bytes`, it is not ASCII. */
  uint64_t odd = (bytes - EACH_BYTE (0x20)) | (quotes - EACH_BYTE (1)) | (slashes - EACH_BYTE (1)) | bytes;

  return (odd & EACH_BYTE (0x80)) == 0;
}

/* Copies a text that is plain as a whole, as nearly all are: in pieces of which the last two may overlap. */
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
      size_t bytes = json_utf8_length (at, (size_t) (end - at));

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
