/* Key files: any bytes give a key or an error, and an error leaves nothing of a key behind. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "synop/keys.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static int
is_text (const char *text, size_t size)
{
  return memchr (text, '\0', size) != NULL && strchr (text, '\n') == NULL;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const uint8_t zero[KEY_SIZE];

  if (size > 4096)
    return 0;
  for (int half = KEY_PUBLIC; half <= KEY_SECRET; half++) {
    uint8_t key[KEY_SIZE] = { 0 }, again[KEY_SIZE];
    char text[KEY_TEXT_SIZE];
    struct error error;
    if (key_file_parse ((const char *) data, size, "fuzz.key", (enum key_half) half, key, &error) == 0) {
      key_text (key, text);
      if (key_from_text (text, strlen (text), again, &error) != 0 || memcmp (key, again, KEY_SIZE) != 0)
        abort ();
    } else if (memcmp (key, zero, KEY_SIZE) != 0 || !is_text (error.text, sizeof error.text)) {
      abort ();
    }
  }
  return 0;
}
