/* Labels of rows become keys of JSON objects: each is UTF-8, not too long, and unique in its table. */
#ifndef SYNOP_COMMON_LABELS_H
#define SYNOP_COMMON_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/table.h"

/* UTF-8 of at most TABLE_LABEL_MAX bytes. */
bool label_is_sound (const char *label, size_t length);
/* Makes a valid label of one that is not: U+FFFD replaces invalid UTF-8, the end is cut to fit, and '~' and 16
 * hexadecimal digits are added, a hash of the original. So different labels stay different, and each is mapped to
 * the same one every time. Returns the length. */
size_t label_mend (char mended[TABLE_LABEL_MAX], const char *label, size_t length);

/* A set of labels, each by its offset from `base`, which may move with all of them from call to call. Chosen labels
 * cannot make it slow: the hash has a random key. */
struct label_set;
struct label_set *label_set_create (size_t most);
void label_set_destroy (struct label_set *set);       /* NULL is fine */
size_t label_set_bytes (const struct label_set *set); /* memory that it holds; NULL: none */
bool label_set_add (struct label_set *set, const char *base, struct table_label label); /* false: it was there */

#endif
