/* A line of a names file, taken apart from left to right: words, texts in quotes, single characters. */
#ifndef SYNOP_NAMING_WORDS_H
#define SYNOP_NAMING_WORDS_H

#include "common/metrics/naming_private.h"

#define WORD_MAX 200 /* characters: longer than any name may be */

struct reading {
  struct naming *naming;
  char *file;
  unsigned line;
  const char *at, *end;     /* of the line */
  const char *group, *rows; /* of the block; group NULL: there is none yet */
  struct name_labels labels;
};

/* The next character behind blanks; '\0': the line ends. */
char words_peek (struct reading *reading);
bool words_take (struct reading *reading, char character); /* if it is that one */
/* Characters up to a blank or one of `ends`; "" when there are none. */
void words_word (struct reading *reading, const char *ends, char word[WORD_MAX]);
/* "a text", where \" \\ and \n may stand; NULL and error when it is none. */
char *words_quoted (struct reading *reading, struct error *error);
char *words_keep (struct reading *reading, const char *text, size_t length);
/* Says what stands there instead. Returns -1. */
int words_expected (struct reading *reading, const char *what, struct error *error);

bool is_name_letter (char character);
bool is_name (const char *name, bool colons); /* of a metric or label; of a family with colons */

#endif
