/* The schemas of the frames in a ring, and the places of their records. A few: an agent has one, and another one after a
 * reload or an upgrade. See ring_store.c. */
#ifndef SYNOP_AGENT_RING_SCHEMAS_H
#define SYNOP_AGENT_RING_SCHEMAS_H

#include <stddef.h>
#include <stdint.h>

#include "synop/schema.h"

#define RING_SCHEMAS_MAX 16

struct ring_schema {
  uint8_t hash[SCHEMA_HASH_SIZE];
  uint64_t last; /* serial of the last frame that has it, which may be the next to come */
  size_t offset; /* of its record */
  size_t length; /* of its bytes; 0: there is no record */
  void *saved;   /* its bytes, after its place was overwritten; else NULL */
};

/* `{0}` is empty. */
struct ring_schemas {
  struct ring_schema list[RING_SCHEMAS_MAX];
  size_t count;
};

struct ring_schema *ring_schemas_find (struct ring_schemas *schemas,
                                       const uint8_t hash[SCHEMA_HASH_SIZE]); /* or NULL */
/* Adds it if need be; at the limit the one that was not used for longest is removed. Valid until one is added or
 * removed. */
struct ring_schema *ring_schemas_get (struct ring_schemas *schemas, const uint8_t hash[SCHEMA_HASH_SIZE]);
void ring_schemas_remove (struct ring_schemas *schemas, struct ring_schema *schema);
struct ring_schema *ring_schemas_oldest (struct ring_schemas *schemas); /* not used for longest; NULL: there is none */
void ring_schemas_free (struct ring_schemas *schemas);

#endif
