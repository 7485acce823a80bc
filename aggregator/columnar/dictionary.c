/* See dictionary.h. */
#include "aggregator/columnar/dictionary.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

#define BUCKETS 16 /* bytes of uthash's buckets for each text, about */

static bool
is_last (const struct dictionary *dictionary, const char *text, size_t length)
{
  const struct dictionary_text *last = dictionary->last;

  return last && last->length == length && memcmp (last->text, text, length) == 0;
}

uint32_t
dictionary_index (struct dictionary *dictionary, const char *text, size_t length)
{
  struct dictionary_text *known;

  if (is_last (dictionary, text, length))
    return dictionary->last->index;
  HASH_FIND (hh, dictionary->texts, text, length, known);
  if (!known) {
    known = memory_new (1, sizeof *known + length + 1);
    known->length = length;
    memcpy (known->text, text, length);
    known->index = dictionary->count++;
    HASH_ADD_KEYPTR (hh, dictionary->texts, known->text, length, known);
    dictionary->bytes += sizeof *known + length + BUCKETS;
  }
  dictionary->last = known;
  return known->index;
}

void
dictionary_free (struct dictionary *dictionary)
{
  struct dictionary_text *text = dictionary->texts, *next;

  HASH_CLEAR (hh, dictionary->texts); /* frees the buckets alone */
  for (; text; text = next) {
    next = text->hh.next;
    free (text);
  }
  *dictionary = (struct dictionary){ 0 };
}
