/* See data_folder.h. */
#include "synop/data_folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A program that was not installed lies in build, or in a folder there. */
static void
sources_folder (const char *program, int length, const char *sources, const char *name, char *folder, size_t size)
{
  static const char *const ups[] = { "/../../../..", "/../../..", "/../..", "/.." };

  for (size_t i = 0; i < sizeof ups / sizeof ups[0]; i++) {
    snprintf (folder, size, "%.*s%s/%s/%s", length, program, ups[i], sources, name);
    if (access (folder, X_OK) == 0)
      return;
  }
}

void
data_folder (const char *sources, const char *name, char *folder, size_t size)
{
  char program[PATH_MAX], *slash;
  ssize_t length = readlink ("/proc/self/exe", program, sizeof program - 1);

  program[length > 0 ? length : 0] = '\0';
  slash = strrchr (program, '/');
  if (slash != NULL && strncmp (slash + 1, "synop-", strlen ("synop-")) == 0)
    snprintf (folder, size, "%.*s/../share%s/%s", (int) (slash - program), program, slash, name);
  else
    sources_folder (program, slash ? (int) (slash - program) : 0, sources, name, folder, size);
}
