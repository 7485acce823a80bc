/* "Did you mean": the fewest letters to add, drop, change or swap with their neighbours. */
#include "synop/config_suggest.h"
#include "synop/config.h"

#include <string.h>

static size_t
least (size_t one, size_t other)
{
  return one < other ? one : other;
}

static size_t
distance (const char *one, const char *other)
{
  size_t rows[3][SUGGESTION_MAX + 1];
  size_t *before = rows[0], *above = rows[1], *row = rows[2];
  size_t width = strlen (other);

  for (size_t column = 0; column <= width; column++)
    above[column] = column;
  for (size_t i = 1; one[i - 1] != '\0'; i++) {
    row[0] = i;
    for (size_t j = 1; j <= width; j++) {
      size_t changed = above[j - 1] + (one[i - 1] != other[j - 1]);
      row[j] = least (changed, least (above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
        row[j] = least (row[j], before[j - 2] + 1);
    }
    size_t *oldest = before;
    before = above;
    above = row;
    row = oldest;
  }
  return above[width];
}

void
suggestion_consider (struct suggestion *suggestion, const char *candidate)
{
  size_t length = strlen (suggestion->word), longest = strlen (candidate);
  if (length > longest)
    longest = length;
  if (length == 0 || longest > SUGGESTION_MAX)
    return;
  size_t away = distance (suggestion->word, candidate);
  if (away <= longest / 3 + 1 && away < longest && (*suggestion->best == '\0' || away < suggestion->distance)) {
    strcpy (suggestion->best, candidate);
    suggestion->distance = away;
  }
}

void
config_hint_nearest (struct error *error, const char *word, const char *const *candidates)
{
  struct suggestion suggestion = { .word = word };

  for (; *candidates != NULL; candidates++)
    suggestion_consider (&suggestion, *candidates);
  if (*suggestion.best != '\0' && suggestion.distance > 0)
    error_set (error, "%s; did you mean %s?", error->text, suggestion.best);
}
