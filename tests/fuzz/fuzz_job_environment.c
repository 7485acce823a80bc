/* What /proc says of a process, which a process writes itself: any bytes are read, and what comes of them are texts that
 * may stand in a table. The environment and the cgroup are parted by the first two NULs in a row. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/job/job_identity.h"
#include "synop/json_string.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check_text (const char *text, size_t size)
{
  size_t length = strnlen (text, size);

  if (length == size)
    abort ();
  for (size_t at = 0; at < length;) {
    const unsigned char *c = (const unsigned char *) text + at;
    size_t bytes = *c < 0x80 ? *c >= 0x20 && *c != 0x7f : json_utf8_length (c, length - at);
    if (bytes == 0)
      abort ();
    at += bytes;
  }
}

static void
check_label (const char *text, size_t size)
{
  size_t length = strnlen (text, size);

  if (length == 0 || length == size)
    abort ();
  for (size_t i = 0; i < length; i++)
    if (text[i] <= ' ' || text[i] >= 127)
      abort ();
}

static void
check (const struct job_identity *identity, bool found)
{
  size_t id = strnlen (identity->id, sizeof identity->id);

  if (strnlen (identity->folder, sizeof identity->folder) == sizeof identity->folder ||
      identity->scheduler > JOB_OTHER || (identity->folder[0] && identity->folder[0] != '/'))
    abort ();
  if (!found)
    return;
  check_label (identity->id, sizeof identity->id);
  check_label (identity->label, sizeof identity->label);
  if (strncmp (identity->label, identity->id, id) != 0 || (identity->label[id] != '\0') != (identity->run > 0) ||
      strchr (identity->id, '/'))
    abort ();
  check_text (identity->step, sizeof identity->step);
  check_text (identity->user, sizeof identity->user);
  check_text (identity->name, sizeof identity->name);
  check_text (identity->array, sizeof identity->array);
  check_text (identity->gpus, sizeof identity->gpus);
  check_text (identity->node_list, sizeof identity->node_list);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const char *text = (const char *) data, *part = size ? memmem (data, size, "\0\0", 2) : NULL;
  size_t environment = part ? (size_t) (part - text) + 1 : size;
  size_t at = part ? environment + 1 : size;
  struct job_identity identity;
  /* Copies of just that size, so that reading past them is seen. */
  char *first = malloc (environment + 1), *second = malloc (size - at + 1);

  if (first && second) {
    memcpy (first + 1, text, environment);
    memcpy (second + 1, text + at, size - at);
    bool found = job_identify (first + 1, environment, second + 1, size - at, "JOB_ID,,OTHER_JOB", &identity);
    check (&identity, found);
  }
  free (first);
  free (second);
  return 0;
}
