/* uthash's tables (https://troydhanson.github.io/uthash), whose hash is SipHash with a key that this process has drawn:
 * nobody can choose names that collide. Without memory the program aborts. */
#ifndef SYNOP_HASH_TABLE_H
#define SYNOP_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

uint64_t hash_keyed (const void *bytes, size_t length);

#define HASH_FUNCTION(key, length, hash) ((hash) = (unsigned) hash_keyed ((key), (length)))
#define uthash_fatal(message) abort ()
#include <uthash.h>

#endif
