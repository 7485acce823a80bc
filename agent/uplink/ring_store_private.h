/* What ring_store.c (putting and reading) and ring_find.c (opening a file) share. */
#ifndef SYNOP_AGENT_RING_STORE_PRIVATE_H
#define SYNOP_AGENT_RING_STORE_PRIVATE_H

#include <sodium.h>

#include "agent/uplink/ring_store.h"

#define RING_ALIGN 8

struct ring_record {
  uint8_t sum[crypto_shorthash_BYTES];
  uint32_t mark, length;
  uint64_t serial;
  uint8_t frame[];
};

static inline size_t
ring_record_size (size_t length)
{
  return (sizeof (struct ring_record) + length + RING_ALIGN - 1) & ~(size_t) (RING_ALIGN - 1);
}

/* NULL: there is no record. Valid until the store is used again. */
const struct ring_record *ring_record_at (struct ring_store *store, size_t at);

struct ring_entry *ring_entry_at (const struct ring_store *store, size_t index);
void ring_entry_append (struct ring_store *store, const struct ring_entry *entry);
bool ring_entry_read (struct ring_store *store, size_t index, struct ring_frame *frame);

/* Forgets schemas, those not used for longest first, until there is room for so many bytes more. */
void ring_store_schemas_fit (struct ring_store *store, size_t more);

#endif
