/* Labels of rows become keys of JSON objects: each is UTF-8, not too long, and stands once in its table. */
#ifndef SYNOP_COMMON_LABELS_H
#define SYNOP_COMMON_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/table.h"

/* UTF-8 of at most TABLE_LABEL_MAX bytes. */
bool label_is_sound (const char *label, size_t length);
/* Makes a sound one of a label that is not: U+FFFD stands for what is no UTF-8, what does not fit is cut off, and at the
 * end stand '~' and 16 hexadecimal digits, a hash of the label as it was. So labels that differ stay different, and each
 * is the same whenever it comes. Returns the length. */
size_t label_mend (char mended[TABLE_LABEL_MAX], const char *label, size_t length);

/* Labels that were seen, by where they lie behind `base`, which may move with all of them from call to call. Whoever
 * chooses them cannot make it slow: the hash has a key of its own. */
struct label_set;
struct label_set *label_set_create (size_t most);
void label_set_destroy (struct label_set *set);       /* NULL is fine */
size_t label_set_bytes (const struct label_set *set); /* memory that it holds; NULL: none */
bool label_set_add (struct label_set *set, const char *base, struct table_label label); /* false: it was there */

#endif
