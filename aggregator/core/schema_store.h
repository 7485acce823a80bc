/* Schemas, each held once however many nodes use it. One that no node uses any more is freed, and a node uses few,
 * so their number is bounded by that of the nodes. */
#ifndef SYNOP_AGGREGATOR_SCHEMA_STORE_H
#define SYNOP_AGGREGATOR_SCHEMA_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/schema.h"

struct shared_schema {
  struct shared_schema *next;
  struct schema *schema;
  size_t users;
};

struct schema_store {
  struct shared_schema *first;
  size_t count;
};

/* One that a node is asked for. */
struct schema_want {
  bool wanting;
  uint8_t hash[SCHEMA_HASH_SIZE]; /* that is wanted, or was last */
  unsigned asked;
  int64_t ask_at_ns;
  bool refused; /* the last one of this hash was broken, or cannot be had */
  uint8_t refused_hash[SCHEMA_HASH_SIZE];
};

void schema_want_begin (struct schema_want *want, const uint8_t hash[SCHEMA_HASH_SIZE]);
void schema_want_refuse (struct schema_want *want);
bool schema_want_is (const struct schema_want *want, const uint8_t hash[SCHEMA_HASH_SIZE]); /* this is wanted */
bool schema_want_refused (const struct schema_want *want, const uint8_t hash[SCHEMA_HASH_SIZE]);

void schema_store_free (struct schema_store *store);
struct shared_schema *schema_store_find (const struct schema_store *store, const uint8_t hash[SCHEMA_HASH_SIZE]);
struct shared_schema *schema_store_add (struct schema_store *store, struct schema *schema); /* owns it; no user yet */
void schema_store_use (struct shared_schema *shared);                                       /* NULL is fine */
void schema_store_release (struct schema_store *store, struct shared_schema *shared);       /* NULL is fine */

#endif
