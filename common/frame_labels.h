/* Labels of rows become keys of JSON objects: each is UTF-8 and stands once in its table. */
#ifndef SYNOP_COMMON_FRAME_LABELS_H
#define SYNOP_COMMON_FRAME_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/table.h"

bool label_is_utf8 (const char *label, size_t length);

/* Labels that were seen. Whoever chooses them cannot make it slow: the hash has a key of its own. */
struct label_set {
  struct label_seen {
    const char *text; /* not owned; NULL: none */
    size_t length;
  } * seen;
  size_t mask;
  uint8_t key[16];
};
void label_set_init (struct label_set *set, size_t most);
void label_set_free (struct label_set *set);
bool label_set_add (struct label_set *set, const char *label, size_t length); /* false: it was there */

bool table_labels_are_sound (const struct table *table);
/* A copy (`to` is not begun) with sound labels: what is not UTF-8 becomes U+FFFD, a label that was there gets a
 * number. */
void table_copy_sound (struct table *to, const struct table *from);

#endif
