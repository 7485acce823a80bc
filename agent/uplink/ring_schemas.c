/* See ring_schemas.h. */
#include "agent/uplink/ring_schemas.h"

#include <stdlib.h>
#include <string.h>

struct ring_schema *
ring_schemas_find (struct ring_schemas *schemas, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  for (size_t i = 0; i < schemas->count; i++)
    if (memcmp (schemas->list[i].hash, hash, SCHEMA_HASH_SIZE) == 0)
      return &schemas->list[i];
  return NULL;
}

struct ring_schema *
ring_schemas_get (struct ring_schemas *schemas, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  struct ring_schema *schema = ring_schemas_find (schemas, hash);

  if (schema)
    return schema;
  if (schemas->count == RING_SCHEMAS_MAX)
    ring_schemas_remove (schemas, ring_schemas_oldest (schemas));
  schema = &schemas->list[schemas->count++];
  *schema = (struct ring_schema){ 0 };
  memcpy (schema->hash, hash, SCHEMA_HASH_SIZE);
  return schema;
}

void
ring_schemas_remove (struct ring_schemas *schemas, struct ring_schema *schema)
{
  free (schema->saved);
  *schema = schemas->list[--schemas->count];
}

struct ring_schema *
ring_schemas_oldest (struct ring_schemas *schemas)
{
  struct ring_schema *oldest = NULL;

  for (size_t i = 0; i < schemas->count; i++)
    if (!oldest || schemas->list[i].last < oldest->last)
      oldest = &schemas->list[i];
  return oldest;
}

void
ring_schemas_free (struct ring_schemas *schemas)
{
  while (schemas->count)
    ring_schemas_remove (schemas, &schemas->list[0]);
}
