/* A comma-separated list of shell patterns, for filters: "n1,gpu*". An empty one matches everything. */
#ifndef SYNOP_AGGREGATOR_GLOBS_H
#define SYNOP_AGGREGATOR_GLOBS_H

#include <stdbool.h>
#include <stddef.h>

struct globs {
  char *text; /* owned; patterns with a NUL behind each */
  size_t count;
};

void globs_init (struct globs *globs, const char *list);
void globs_free (struct globs *globs);
bool globs_match (const struct globs *globs, const char *name);

#endif
