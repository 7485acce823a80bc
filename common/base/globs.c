/* Lists of patterns; see globs.h. */
#include "synop/globs.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

/* The length of the next pattern, at `*at`, without the blanks around it; 0 at the end. What stands behind a backslash is of
 * the pattern. */
static size_t
next_pattern (const char **at)
{
  size_t length = 0, end = 0;

  *at += strspn (*at, ", \t");
  for (const char *from = *at; from[end] && from[end] != ',';) {
    bool blank = from[end] == ' ' || from[end] == '\t';
    end += from[end] == '\\' && from[end + 1] ? 2 : 1;
    length = blank ? length : end;
  }
  return length;
}

bool
globs_list_matches (const char *list, const char *name)
{
  char pattern[PATH_MAX];
  size_t length;

  for (const char *at = list; at && (length = next_pattern (&at)) != 0; at += length) {
    if (length >= sizeof pattern) /* longer than any name */
      continue;
    memcpy (pattern, at, length);
    pattern[length] = '\0';
    if (fnmatch (pattern, name, 0) == 0)
      return true;
  }
  return false;
}

void
globs_init (struct globs *globs, const char *list)
{
  size_t length;
  char *to = memory_new (strlen (list) + 1, 1);

  *globs = (struct globs){ .text = to };
  for (const char *at = list; (length = next_pattern (&at)) != 0; at += length) {
    memcpy (to, at, length);
    to += length + 1;
    globs->count++;
  }
}

void
globs_free (struct globs *globs)
{
  free (globs->text);
  *globs = (struct globs){ 0 };
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

/* Behind a '[' the first character, or the one after '!' or '^', is a member even where it is ']'. */
static bool
is_closed (const char *pattern)
{
  for (; *pattern; pattern++) {
    if (*pattern == '\\' && pattern[1]) {
      pattern++;
    } else if (*pattern == '[') {
      pattern += 1 + (pattern[1] == '!' || pattern[1] == '^');
      pattern = *pattern ? strchr (pattern + 1, ']') : NULL;
      if (!pattern)
        return false;
    }
  }
  return true;
}

int
globs_list_check (const char *value, struct error *error)
{
  struct globs globs;
  const char *pattern;
  int result = 0;

  globs_init (&globs, value);
  pattern = globs.text;
  for (size_t i = 0; i < globs.count && result == 0; i++, pattern += strlen (pattern) + 1)
    if (!is_closed (pattern))
      result = error_set (error, "\"%.64s\" has a '[' without its ']' (commas part patterns)", pattern);
  globs_free (&globs);
  return result;
}

bool
globs_list_is_cheap (const char *list)
{
  size_t stars = 0;

  for (const char *at = list; at && *at; at++) {
    stars = *at == ',' ? 0 : stars + (*at == '*');
    if (stars > GLOB_STARS_MAX || at - list >= GLOBS_LENGTH_MAX)
      return false;
    at += *at == '\\' && at[1];
  }
  return true;
}
