/* What may answer at the metadata service's address: any bytes, whole or in pieces, and any JSON. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/neuron/imds.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check_json (const char *bytes, size_t length)
{
  static const char *const keys[] = { "vmId", "id", "a" };
  json_t *object = json_loadb (bytes, length, 0, NULL);
  char text[IMDS_TEXT_SIZE];

  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (imds_json_text (object, keys[i], text) != (text[0] != '\0'))
      abort ();
    for (const char *c = text; *c; c++)
      if (*c < ' ' || *c > '~')
        abort ();
  }
  json_decref (object);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const char *bytes = (const char *) data;
  struct buffer body = { 0 }, early = { 0 };
  struct error error;
  int whole = imds_parse_answer (bytes, size, 1, &body, &error);

  if (whole == IMDS_MORE)
    abort ();
  if (whole == 0)
    check_json (body.data, body.length);
  /* An answer that is whole before its end is the same at its end. */
  if (imds_parse_answer (bytes, size, 0, &early, &error) == 0 &&
      (whole != 0 || early.length != body.length ||
       (early.length > 0 && memcmp (early.data, body.data, early.length) != 0)))
    abort ();
  check_json (bytes, size);
  buffer_free (&body);
  buffer_free (&early);
  return 0;
}
