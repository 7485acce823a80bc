/* Opening a ring's file: its whole records are searched and put in the order in which they were written, and those of this
 * node that are young enough are listed. ring_store.c describes a record. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "agent/uplink/ring_store_private.h"
#include "synop/frame.h"

static int
compare_serial (const void *one, const void *other)
{
  uint64_t a = ((const struct ring_entry *) one)->serial, b = ((const struct ring_entry *) other)->serial;

  return a < b ? -1 : a > b;
}

/* Goes from the newest one back as long as they lie as they were written, once around. Returns the first of them. */
static size_t
sound_from (const struct ring_entry *entries, size_t count)
{
  bool around = false;

  for (size_t i = count - 1; i > 0; i--) {
    const struct ring_entry *older = &entries[i - 1], *newer = &entries[i];

    if (older->offset > newer->offset && around)
      return i;
    around |= older->offset > newer->offset;
    if (older->serial == newer->serial || (around && older->offset < entries[count - 1].offset))
      return i;
  }
  return 0;
}

/* Lists the file's records, in the order of their places. */
static void
store_find (struct ring_store *store)
{
  for (size_t at = 0; at + sizeof (struct ring_record) <= store->file.size;) {
    const struct ring_record *record = ring_record_at (store, at);

    if (record)
      ring_entry_append (
          store, &(struct ring_entry){ .serial = record->serial, .offset = (uint32_t) at, .length = record->length });
    at += record ? ring_record_size (record->length) : RING_ALIGN;
  }
  if (store->count == 0)
    return;
  qsort (store->entries, store->count, sizeof store->entries[0], compare_serial);

  size_t first = sound_from (store->entries, store->count);
  const struct ring_entry *newest = ring_entry_at (store, store->count - 1);

  store->serial = newest->serial;
  store->at = newest->offset + ring_record_size (newest->length);
  if (store->at > store->file.size)
    store->at = store->file.size;
  store->head = first;
  store->count -= first;
}

/* A schema that was put again may lie behind some of its frames. */
static void
sift_schema (struct ring_store *store, const struct ring_entry *entry)
{
  const struct ring_record *record = ring_record_at (store, entry->offset);
  uint8_t hash[SCHEMA_HASH_SIZE];
  struct ring_schema *schema;

  if (!record || record->serial != entry->serial || record->length == 0)
    return;
  crypto_generichash (hash, sizeof hash, record->frame, record->length, NULL, 0);
  schema = ring_schemas_get (&store->schemas, hash);
  schema->offset = entry->offset;
  schema->length = record->length;
  schema->last = entry->serial > schema->last ? entry->serial : schema->last;
}

static void
sift_schemas_end (struct ring_store *store)
{
  for (size_t i = store->schemas.count; i-- > 0;)
    if (store->schemas.list[i].length == 0)
      ring_schemas_remove (&store->schemas, &store->schemas.list[i]);
  ring_store_schemas_fit (store, 0);
}

/* Keeps entries of this node that are young enough. When the wall clock was set back, a frame of the future counts as
 * new. */
static void
store_sift (struct ring_store *store, const struct ring_options *options, int64_t now_ns, int64_t wall_ns)
{
  size_t kept = 0;

  for (size_t i = 0; i < store->count; i++) {
    struct ring_entry entry = *ring_entry_at (store, i);
    struct frame_header header;
    struct ring_frame frame;

    if (!ring_entry_read (store, i, &frame))
      continue;
    if (frame_read_header (frame.bytes, frame.length, &header, NULL) < 0) {
      sift_schema (store, &entry);
      continue;
    }
    if (strcmp (header.node, options->node) != 0)
      continue;
    if (header.wall_ns < wall_ns && wall_ns - options->max_age_ns > header.wall_ns)
      continue;
    entry.session = header.session;
    entry.sequence = header.sequence;
    entry.at_ns = header.wall_ns < wall_ns ? now_ns - (wall_ns - header.wall_ns) : now_ns;
    *ring_entry_at (store, kept++) = entry;
    ring_schemas_get (&store->schemas, header.schema)->last = entry.serial;
  }
  store->count = kept;
  sift_schemas_end (store);
}

int
ring_store_open (struct ring_store *store, const struct ring_options *options, int64_t now_ns, int64_t wall_ns,
                 struct error *warning)
{
  *store = (struct ring_store){ 0 };
  if (ring_file_open (&store->file, options->path, options->size & ~(size_t) (RING_ALIGN - 1), warning) < 0)
    return -1;
  store_find (store);
  store_sift (store, options, now_ns, wall_ns);
  return 0;
}
