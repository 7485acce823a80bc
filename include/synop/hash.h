/* FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv): for tables, and to detect damage, since it changes
 * with any single byte. Not where somebody could choose inputs that collide and gain by it. */
#ifndef SYNOP_HASH_H
#define SYNOP_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_START UINT64_C (14695981039346656037)

static inline uint64_t
hash_add (uint64_t hash, const void *bytes, size_t length)
{
  for (const uint8_t *at = bytes, *end = at + length; at < end; at++)
    hash = (hash ^ *at) * UINT64_C (1099511628211);
  return hash;
}

static inline uint64_t
hash_text (const char *text)
{
  return hash_add (HASH_START, text, strlen (text));
}

#endif
