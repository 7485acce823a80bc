/* Comma-separated lists of shell patterns: "n1,gpu*". */
#ifndef SYNOP_GLOBS_H
#define SYNOP_GLOBS_H

#include <stdbool.h>
#include <stddef.h>

/* Does one of the patterns match? An empty list (NULL too) matches nothing: used for exclusions. */
bool globs_list_matches (const char *list, const char *name);

/* A filter, whose list is taken apart once. An empty one matches everything. */
struct globs {
  char *text; /* owned; patterns with a NUL behind each */
  size_t count;
};

void globs_init (struct globs *globs, const char *list);
void globs_free (struct globs *globs);
bool globs_match (const struct globs *globs, const char *name);

#endif
