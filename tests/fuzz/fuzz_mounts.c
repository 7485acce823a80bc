/* The kernel's lists of mounts: any text is read, and what comes of it holds to its rules. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/source/mounts.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check (const struct mounts *mounts)
{
  for (size_t i = 0; i < mounts->count; i++) {
    const struct mount *mount = &mounts->list[i];
    if (mount->point[0] != '/' || mount->type[0] == '\0')
      abort ();
    for (size_t j = 0; j < i; j++)
      if (strcmp (mounts->list[j].point, mount->point) == 0 ||
          (mount->id[0] && strcmp (mounts->list[j].id, mount->id) == 0))
        abort ();
  }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct mounts mounts = { 0 };

  if (size > 16 * 1024)
    return 0;
  mounts_parse (&mounts, (const char *) data, size, MOUNTS_INFO, "/boot*,/snap/*", NULL);
  check (&mounts);
  mounts_parse (&mounts, (const char *) data, size, MOUNTS_TABLE, NULL, "nfs*");
  check (&mounts);
  mounts_free (&mounts);
  return 0;
}
