/* Different texts, numbered in order of arrival. */
#ifndef SYNOP_AGGREGATOR_DICTIONARY_H
#define SYNOP_AGGREGATOR_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "synop/hash_table.h"

struct dictionary_text {
  UT_hash_handle hh;
  uint32_t index;
  size_t length;
  char text[];
};

/* Zeroed at first. */
struct dictionary {
  struct dictionary_text *texts; /* HASH_ITER: in order of index */
  struct dictionary_text *last;  /* that was asked for */
  uint32_t count;
  size_t bytes; /* of memory */
};

/* The number of that text, which is added if it is new. */
uint32_t dictionary_index (struct dictionary *dictionary, const char *text, size_t length);
void dictionary_free (struct dictionary *dictionary);

#endif
