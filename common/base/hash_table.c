/* See hash_table.h. */
#include "synop/hash_table.h"

#include <pthread.h>
#include <sodium.h>

static uint8_t hash_key[crypto_shorthash_KEYBYTES];

static void
draw_key (void)
{
  if (sodium_init () < 0)
    abort ();
  crypto_shorthash_keygen (hash_key);
}

uint64_t
hash_keyed (const void *bytes, size_t length)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  uint64_t hash;

  _Static_assert(sizeof hash == crypto_shorthash_BYTES, "the hash is one word");
  pthread_once (&once, draw_key);
  crypto_shorthash ((uint8_t *) &hash, bytes, length, hash_key);
  return hash;
}
