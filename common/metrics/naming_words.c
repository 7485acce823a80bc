/* The words of a line of a names file. */
#include "common/metrics/naming_words.h"

#include <string.h>

#include "synop/memory.h"

static void
skip_blanks (struct reading *reading)
{
  while (reading->at < reading->end && (*reading->at == ' ' || *reading->at == '\t' || *reading->at == '\r'))
    reading->at++;
}

char
words_peek (struct reading *reading)
{
  skip_blanks (reading);
  return reading->at < reading->end ? *reading->at : '\0';
}

bool
words_take (struct reading *reading, char character)
{
  bool there = words_peek (reading) == character;

  reading->at += there;
  return there;
}

char *
words_keep (struct reading *reading, const char *text, size_t length)
{
  return naming_keep (reading->naming, memory_copy (text, length));
}

int
words_expected (struct reading *reading, const char *what, struct error *error)
{
  int left = (int) (reading->end - reading->at);

  if (left == 0)
    return error_set (error, "the line ends, expected %s", what);
  return error_set (error, "\"%.*s\": expected %s", left < 40 ? left : 40, reading->at, what);
}

/* Characters up to a blank or one of `ends`; "" when there are none. */
void
words_word (struct reading *reading, const char *ends, char word[WORD_MAX])
{
  const char *begin;

  skip_blanks (reading);
  begin = reading->at;
  while (reading->at < reading->end && reading->at - begin < WORD_MAX - 1 && (unsigned char) *reading->at > ' ' &&
         strchr (ends, *reading->at) == NULL)
    reading->at++;
  memcpy (word, begin, (size_t) (reading->at - begin));
  word[reading->at - begin] = '\0';
}

/* "a text", where \" \\ and \n may stand. */
char *
words_quoted (struct reading *reading, struct error *error)
{
  struct buffer text = { 0 };
  char *kept = NULL;

  if (!words_take (reading, '"')) {
    words_expected (reading, "a text in quotes", error);
    return NULL;
  }
  while (reading->at < reading->end && *reading->at != '"') {
    char character = *reading->at++;

    if (character == '\\' && reading->at < reading->end) {
      character = *reading->at++;
      character = character == 'n' ? '\n' : character;
    }
    buffer_add (&text, &character, 1);
  }
  if (reading->at < reading->end)
    kept = words_keep (reading, text.length ? text.data : "", text.length);
  else
    error_set (error, "a text in quotes does not end on its line");
  reading->at += reading->at < reading->end;
  buffer_free (&text);
  return kept;
}

bool
is_name_letter (char character)
{
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || character == '_';
}

bool
is_name (const char *name, bool colons)
{
  if (name[0] == '\0' || (name[0] >= '0' && name[0] <= '9'))
    return false;
  for (; *name; name++)
    if (!is_name_letter (*name) && !(*name >= '0' && *name <= '9') && !(colons && *name == ':'))
      return false;
  return true;
}
