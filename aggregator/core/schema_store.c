/* A list, since a cluster has one schema, or two during an upgrade. */
#include "aggregator/core/schema_store.h"

#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

void
schema_store_free (struct schema_store *store)
{
  while (store->first) {
    struct shared_schema *shared = store->first;
    store->first = shared->next;
    schema_destroy (shared->schema);
    free (shared);
  }
  store->count = 0;
}

struct shared_schema *
schema_store_find (const struct schema_store *store, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  struct shared_schema *shared = store->first;

  while (shared && memcmp (shared->schema->hash, hash, SCHEMA_HASH_SIZE) != 0)
    shared = shared->next;
  return shared;
}

struct shared_schema *
schema_store_add (struct schema_store *store, struct schema *schema)
{
  struct shared_schema *shared = memory_new (1, sizeof *shared);

  shared->schema = schema;
  shared->next = store->first;
  store->first = shared;
  store->count++;
  return shared;
}

void
schema_store_use (struct shared_schema *shared)
{
  if (shared)
    shared->users++;
}

void
schema_store_release (struct schema_store *store, struct shared_schema *shared)
{
  struct shared_schema **place = &store->first;

  if (!shared || --shared->users > 0)
    return;
  while (*place != shared)
    place = &(*place)->next;
  *place = shared->next;
  store->count--;
  schema_destroy (shared->schema);
  free (shared);
}
