/* Schemas, each kept once however many nodes use it. A schema without users is freed, and a node uses few, so the
 * number of nodes bounds that of schemas. */
#ifndef SYNOP_AGGREGATOR_SCHEMA_STORE_H
#define SYNOP_AGGREGATOR_SCHEMA_STORE_H

#include <stddef.h>

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

void schema_store_free (struct schema_store *store);
struct shared_schema *schema_store_find (const struct schema_store *store, const uint8_t hash[SCHEMA_HASH_SIZE]);
struct shared_schema *schema_store_add (struct schema_store *store, struct schema *schema); /* owns it; no user yet */
void schema_store_use (struct shared_schema *shared);                                       /* NULL is fine */
void schema_store_release (struct schema_store *store, struct shared_schema *shared);       /* NULL is fine */

#endif
