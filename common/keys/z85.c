/* Z85 as ZeroMQ writes it; see z85.h. */
#include "common/keys/z85.h"

#include <string.h>

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

void
z85_encode (const uint8_t *bytes, size_t length, char *text)
{
  for (size_t i = 0; i + 4 <= length; i += 4) {
    uint32_t value = (uint32_t) bytes[i] << 24 | (uint32_t) bytes[i + 1] << 16 | (uint32_t) bytes[i + 2] << 8 |
                     (uint32_t) bytes[i + 3];
    for (int digit = 4; digit >= 0; digit--) {
      text[digit] = digits[value % 85];
      value /= 85;
    }
    text += 5;
  }
  *text = '\0';
}

int
z85_decode (const char *text, size_t length, uint8_t *bytes)
{
  for (size_t i = 0; i + 5 <= length; i += 5) {
    uint64_t value = 0;
    for (size_t digit = 0; digit < 5; digit++) {
      const char *found = text[i + digit] != '\0' ? strchr (digits, text[i + digit]) : NULL;
      if (found == NULL)
        return -1;
      value = value * 85 + (uint64_t) (found - digits);
    }
    if (value > UINT32_MAX)
      return -1;
    for (int shift = 24; shift >= 0; shift -= 8)
      *bytes++ = (uint8_t) (value >> shift);
  }
  return 0;
}
