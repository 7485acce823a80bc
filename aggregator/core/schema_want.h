/* An unknown schema that is requested from a node: that of its current frames (node.h), or of late frames
 * (node_replay.h). cluster_schema.c sends the requests. */
#ifndef SYNOP_AGGREGATOR_SCHEMA_WANT_H
#define SYNOP_AGGREGATOR_SCHEMA_WANT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "synop/schema.h"

struct schema_want {
  bool wanting;
  uint8_t hash[SCHEMA_HASH_SIZE]; /* of the schema that is wanted, or was last */
  unsigned asked;                 /* requests so far */
  int64_t ask_at_ns;              /* not before */
  bool refused;                   /* the node does not have it, or it is not valid */
  uint8_t refused_hash[SCHEMA_HASH_SIZE];
};

static inline bool
schema_want_is (const struct schema_want *want, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  return memcmp (want->hash, hash, SCHEMA_HASH_SIZE) == 0;
}

static inline bool
schema_want_is_refused (const struct schema_want *want, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  return want->refused && memcmp (want->refused_hash, hash, SCHEMA_HASH_SIZE) == 0;
}

/* ask_at_ns stays: a node that names one schema after the other gets no more requests. */
static inline void
schema_want_begin (struct schema_want *want, const uint8_t hash[SCHEMA_HASH_SIZE])
{
  want->wanting = true;
  want->asked = 0;
  memcpy (want->hash, hash, SCHEMA_HASH_SIZE);
}

static inline void
schema_want_refuse (struct schema_want *want)
{
  want->wanting = false;
  want->refused = true;
  memcpy (want->refused_hash, want->hash, SCHEMA_HASH_SIZE);
}

#endif
