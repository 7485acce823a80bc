/* Sound labels. Those of others are refused otherwise, our own are mended: a mount point may hold any bytes, and two
 * that are longer than a label look alike. */
#include "common/frame_labels.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_string.h"
#include "synop/memory.h"

#define REPLACEMENT "\xef\xbf\xbd"

static size_t
character_length (const char *at, size_t left)
{
  return (unsigned char) *at < 0x80 ? 1 : json_utf8_length ((const unsigned char *) at, left);
}

bool
label_is_utf8 (const char *label, size_t length)
{
  for (size_t at = 0, step; at < length; at += step)
    if ((step = character_length (label + at, length - at)) == 0)
      return false;
  return true;
}

void
label_set_init (struct label_set *set, size_t most)
{
  size_t places = 4;

  _Static_assert(sizeof set->key == crypto_shorthash_KEYBYTES, "the key of the hash");
  while (places < 2 * most)
    places *= 2;
  set->seen = memory_new (places, sizeof *set->seen);
  set->mask = places - 1;
  randombytes_buf (set->key, sizeof set->key);
}

void
label_set_free (struct label_set *set)
{
  free (set->seen);
}

bool
label_set_add (struct label_set *set, const char *label, size_t length)
{
  uint64_t hash;
  size_t at;

  crypto_shorthash ((unsigned char *) &hash, (const unsigned char *) label, length, set->key);
  for (at = (size_t) hash & set->mask; set->seen[at].text; at = (at + 1) & set->mask)
    if (set->seen[at].length == length && memcmp (set->seen[at].text, label, length) == 0)
      return false;
  set->seen[at] = (struct label_seen){ label, length };
  return true;
}

bool
table_labels_are_sound (const struct table *table)
{
  struct label_set set;
  bool sound = true;

  label_set_init (&set, table->rows);
  for (size_t row = 0; row < table->rows && sound; row++) {
    size_t length;
    const char *label = table_label (table, row, &length);
    sound = label_is_utf8 (label, length) && label_set_add (&set, label, length);
  }
  label_set_free (&set);
  return sound;
}

/* Writes as many whole characters as there is room for; returns the length. */
static size_t
label_clean (char *to, size_t room, const char *label, size_t length)
{
  size_t used = 0;

  for (size_t at = 0; at < length;) {
    size_t size = character_length (label + at, length - at);
    const char *character = size ? label + at : REPLACEMENT;
    size_t wide = size ? size : strlen (REPLACEMENT);

    if (used + wide > room)
      break;
    memcpy (to + used, character, wide);
    used += wide;
    at += size ? size : 1;
  }
  return used;
}

static void
row_copy (struct table *to, const struct table *from, size_t row)
{
  for (size_t column = 0; column < from->group->metric_count; column++) {
    const struct value *value = table_get (from, row, column);

    if (value->type == VALUE_TEXT) {
      size_t length;
      const char *text = table_text (from, value, &length);
      table_set_text (to, row, column, text, length);
    } else {
      *table_value (to, row, column) = *value;
    }
  }
}

void
table_copy_sound (struct table *to, const struct table *from)
{
  char *names = memory_new (from->rows, TABLE_LABEL_MAX), *name = names;
  struct label_set set;

  table_init (to, from->group);
  to->monotonic_ns = from->monotonic_ns;
  to->period_ns = from->period_ns;
  memcpy (to->error, from->error, sizeof to->error);
  row_copy (to, from, TABLE_NODE);
  label_set_init (&set, from->rows);
  for (size_t row = 0; row < from->rows; row++) {
    size_t length;
    const char *label = table_label (from, row, &length);
    size_t used = label_clean (name, TABLE_LABEL_MAX, label, length);

    for (size_t number = row; !label_set_add (&set, name, used); number += from->rows) {
      char suffix[24];
      int more = snprintf (suffix, sizeof suffix, "~%zu", number);

      used = label_clean (name, TABLE_LABEL_MAX - (size_t) more, label, length);
      memcpy (name + used, suffix, (size_t) more);
      used += (size_t) more;
    }
    row_copy (to, from, table_add_row (to, name, used));
    name += TABLE_LABEL_MAX;
  }
  label_set_free (&set);
  free (names);
}
