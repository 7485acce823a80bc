/* Valid labels. Foreign ones that are not are refused, our own are replaced: a mount point may have any bytes and
 * length. */
#include "common/data/labels.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "synop/json_string.h"
#include "synop/memory.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define HASH_LENGTH (sizeof "~0123456789abcdef" - 1)

static size_t
character_length (const char *at, size_t left)
{
  return (unsigned char) *at < 0x80 ? 1 : json_utf8_length ((const unsigned char *) at, left);
}

bool
label_is_sound (const char *label, size_t length)
{
  if (length > TABLE_LABEL_MAX)
    return false;
  for (size_t at = 0, step; at < length; at += step)
    if ((step = character_length (label + at, length - at)) == 0)
      return false;
  return true;
}

size_t
label_mend (char mended[TABLE_LABEL_MAX], const char *label, size_t length)
{
  static const uint8_t no_key[crypto_shorthash_KEYBYTES]; /* the same in every run */
  uint8_t hash[crypto_shorthash_BYTES];
  size_t used = 0;

  for (size_t at = 0; at < length;) {
    size_t size = character_length (label + at, length - at);
    const char *character = size ? label + at : REPLACEMENT;
    size_t wide = size ? size : strlen (REPLACEMENT);

    if (used + wide > TABLE_LABEL_MAX - HASH_LENGTH)
      break;
    memcpy (mended + used, character, wide);
    used += wide;
    at += size ? size : 1;
  }
  crypto_shorthash (hash, (const uint8_t *) label, length, no_key);
  mended[used++] = '~';
  for (size_t i = 0; i < sizeof hash; i++) {
    mended[used++] = "0123456789abcdef"[hash[i] >> 4];
    mended[used++] = "0123456789abcdef"[hash[i] & 15];
  }
  return used;
}

/* ---- sets ---- */

struct label_set {
  uint8_t key[crypto_shorthash_KEYBYTES];
  size_t mask;
  struct table_label places[]; /* the offset and 1; 0: free */
};

struct label_set *
label_set_create (size_t most)
{
  struct label_set *set;
  size_t places = 4;

  while (places < 2 * most)
    places *= 2;
  set = memory_new (1, sizeof *set + places * sizeof set->places[0]);
  set->mask = places - 1;
  randombytes_buf (set->key, sizeof set->key);
  return set;
}

void
label_set_destroy (struct label_set *set)
{
  free (set);
}

size_t
label_set_bytes (const struct label_set *set)
{
  return set ? sizeof *set + (set->mask + 1) * sizeof set->places[0] : 0;
}

bool
label_set_add (struct label_set *set, const char *base, struct table_label label)
{
  const char *text = base + label.offset;
  struct table_label *place;
  uint64_t hash;

  crypto_shorthash ((unsigned char *) &hash, (const unsigned char *) text, label.length, set->key);
  for (size_t at = (size_t) hash & set->mask; (place = &set->places[at])->offset != 0; at = (at + 1) & set->mask)
    if (place->length == label.length && memcmp (base + place->offset - 1, text, label.length) == 0)
      return false;
  *place = (struct table_label){ label.offset + 1, label.length };
  return true;
}
