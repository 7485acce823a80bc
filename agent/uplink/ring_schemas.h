/* Which schemas the frames in a ring have, and where their records lie. A few: an agent has one, and another one after a
 * reload or an upgrade. See ring_store.c. */
#ifndef SYNOP_AGENT_RING_SCHEMAS_H
#define SYNOP_AGENT_RING_SCHEMAS_H

#include <stddef.h>
#include <stdint.h>

#include "synop/schema.h"

#define RING_SCHEMAS_MAX 16

struct ring_schema {
  uint8_t hash[SCHEMA_HASH_SIZE];
  uint64_t last; /* serial of the last frame that has it; of the next one when that will */
  size_t offset; /* of its record */
  size_t length; /* of its bytes; 0: there is no record */
  void *saved;   /* its bytes, while its place is written over; else NULL */
};

/* `{0}` is an empty one. */
struct ring_schemas {
  struct ring_schema list[RING_SCHEMAS_MAX];
  size_t count;
};

struct ring_schema *ring_schemas_find (struct ring_schemas *schemas,
                                       const uint8_t hash[SCHEMA_HASH_SIZE]); /* or NULL */
/* Makes it when it is not there; where there is no room the one that was not used for longest goes. Valid until one is
 * made or removed. */
struct ring_schema *ring_schemas_get (struct ring_schemas *schemas, const uint8_t hash[SCHEMA_HASH_SIZE]);
void ring_schemas_remove (struct ring_schemas *schemas, struct ring_schema *schema);
struct ring_schema *ring_schemas_oldest (struct ring_schemas *schemas); /* not used for longest; NULL: none is there */
void ring_schemas_free (struct ring_schemas *schemas);

#endif
