/* See text.h. */
#include "synop/text.h"

#include "synop/json_string.h"

uint32_t
text_character (const char *text, size_t left, size_t *length)
{
  const unsigned char *at = (const unsigned char *) text;
  size_t bytes = at[0] < 0x80 ? 1 : json_utf8_length (at, left);
  uint32_t c = bytes < 2 ? at[0] : at[0] & (0xffu >> (bytes + 1));

  *length = bytes ? bytes : 1;
  for (size_t i = 1; i < bytes; i++)
    c = c << 6 | (at[i] & 0x3f);
  return bytes ? c : TEXT_BROKEN;
}

bool
text_is_unsound (uint32_t c)
{
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff ||
         (c >= 0xfff9 && c <= 0xfffb) || (c & 0xfffe) == 0xfffe || c >= 0xe0000 || (c >= 0xe000 && c <= 0xf8ff);
}
