/* Filters of names; see globs.h. */
#include "synop/globs.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

void
globs_init (struct globs *globs, const char *list)
{
  const char *from = list;
  char *to;

  globs->count = 0;
  to = globs->text = memory_new (strlen (list) + 1, 1);
  while (*from) {
    size_t length = strcspn (from, ",");
    if (length) {
      memcpy (to, from, length);
      to += length + 1;
      globs->count++;
    }
    from += length + (from[length] == ',');
  }
}

void
globs_free (struct globs *globs)
{
  free (globs->text);
  globs->text = NULL;
  globs->count = 0;
}

bool
globs_match (const struct globs *globs, const char *name)
{
  const char *pattern = globs->text;

  if (globs->count == 0)
    return true;
  for (size_t i = 0; i < globs->count; i++, pattern += strlen (pattern) + 1)
    if (fnmatch (pattern, name, 0) == 0)
      return true;
  return false;
}
