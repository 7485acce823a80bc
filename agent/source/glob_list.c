/* See glob_list.h. */
#include "agent/source/glob_list.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

static bool
glob_matches (const char *glob, size_t length, const char *name)
{
  char text[PATH_MAX];

  if (length == 0 || length >= sizeof text) /* a longer one could match no name either */
    return false;
  memcpy (text, glob, length);
  text[length] = '\0';
  return fnmatch (text, name, 0) == 0;
}

bool
glob_list_matches (const char *list, const char *name)
{
  const char *at = list;

  while (at != NULL && *at != '\0') {
    size_t length = strcspn (at, ",");
    size_t before = strspn (at, " \t");
    size_t trimmed = length;
    while (trimmed > before && (at[trimmed - 1] == ' ' || at[trimmed - 1] == '\t'))
      trimmed--;
    if (glob_matches (at + before, trimmed - before, name))
      return true;
    at += length + (at[length] == ',');
  }
  return false;
}
