/* Comma-separated lists of shell patterns: "n1,gpu*"; "\,": a comma of the pattern. */
#ifndef SYNOP_GLOBS_H
#define SYNOP_GLOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/error.h"

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

/* -1 and error: a pattern of the list has a '[' without its ']', and would match nothing. */
int globs_list_check (const char *list, struct error *error);

/* Of strangers, whose patterns are to cost little: a short list, with few stars in each pattern. */
#define GLOBS_LENGTH_MAX 1024
#define GLOB_STARS_MAX 4
bool globs_list_is_cheap (const char *list);

#endif
