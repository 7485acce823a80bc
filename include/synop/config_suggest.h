/* "Did you mean": the candidate nearest to a word. */
#ifndef SYNOP_CONFIG_SUGGEST_H
#define SYNOP_CONFIG_SUGGEST_H

#include <stddef.h>

#define SUGGESTION_MAX 64
struct suggestion {
  const char *word;
  char best[SUGGESTION_MAX + 1]; /* "" when none is near */
  size_t distance;
};
void suggestion_consider (struct suggestion *suggestion, const char *candidate);

#endif
