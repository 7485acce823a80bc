/* See ring_store.h. Records lie one after the other, each at a multiple of 8 bytes, and none wraps around the end:
 *
 *   sum (8 bytes)     SipHash-2-4, with the file's key, of all that follows
 *   mark (4)          derived from the key too: where a record may begin
 *   length (4)        of the frame
 *   serial (8)        1, 2, 3... over all sessions: which record is newer
 *   frame             or a schema, as on the wire: bytes that are no frame's head are one
 *
 * Nothing else is written, and no place is marked as the end: opening the file searches whole records, and goes on behind
 * the newest. So a record that was half written when the agent was killed, or of which a power cut left some pages out, is
 * void. The key makes sure that no frame can contain bytes that pass for a record. The sum is checked on each read, so
 * nothing is sent that somebody else wrote into the file.
 *
 * The schema of a frame is put before the first frame that has it, so that it can be sent to an aggregator that does not
 * know it. When its space is needed while frames of it are held, it is put again; schemas take at most half of the space.
 * Agents that do not know such records skip them.
 *
 * The list of frames (40 bytes each) is in memory. Opening a file: ring_find.c. */
#include "agent/uplink/ring_store_private.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "synop/frame.h"
#include "synop/memory.h"

#define RELEASE_EVERY ((size_t) 256 * 1024) /* bytes written to memory, after which empty pages are released */

static uint32_t
store_mark (const struct ring_store *store)
{
  uint32_t mark;

  memcpy (&mark, store->file.key, sizeof mark);
  return ~mark;
}

static void
record_sum (const struct ring_store *store, const struct ring_record *record, uint8_t sum[crypto_shorthash_BYTES])
{
  size_t from = offsetof (struct ring_record, mark);

  crypto_shorthash (sum, (const uint8_t *) record + from, sizeof *record - from + record->length, store->file.key);
}

const struct ring_record *
ring_record_at (struct ring_store *store, size_t at)
{
  const struct ring_record *record;
  uint8_t sum[sizeof record->sum];
  size_t room = store->file.size - at;

  if (room < sizeof *record || !(record = ring_file_read (&store->file, at, sizeof *record)))
    return NULL;
  if (record->mark != store_mark (store) || record->length > FRAME_BYTES_MAX || record->length > room - sizeof *record)
    return NULL;
  record = ring_file_read (&store->file, at, sizeof *record + record->length);
  if (!record)
    return NULL;
  record_sum (store, record, sum);
  return memcmp (sum, record->sum, sizeof sum) == 0 ? record : NULL;
}

/* ---- the list ---- */

struct ring_entry *
ring_entry_at (const struct ring_store *store, size_t index)
{
  return &store->entries[(store->head + index) & (store->capacity - 1)];
}

void
ring_entry_append (struct ring_store *store, const struct ring_entry *entry)
{
  if (store->count == store->capacity) {
    size_t capacity = store->capacity ? store->capacity * 2 : 256;
    struct ring_entry *entries = memory_new (capacity, sizeof *entries);

    for (size_t i = 0; i < store->count; i++)
      entries[i] = *ring_entry_at (store, i);
    free (store->entries);
    store->entries = entries;
    store->capacity = capacity;
    store->head = 0;
  }
  store->count++;
  *ring_entry_at (store, store->count - 1) = *entry;
}

static void
drop_oldest (struct ring_store *store)
{
  store->head = (store->head + 1) & (store->capacity - 1);
  store->count--;
  store->hint = 0;
}

void
ring_store_drop_before (struct ring_store *store, int64_t at_ns)
{
  while (store->count && ring_entry_at (store, 0)->at_ns < at_ns)
    drop_oldest (store);
}

/* Frees the space that is to be written. A schema that frames still have is saved, to be put again. */
static void
drop_schemas (struct ring_store *store, size_t from, size_t to)
{
  uint64_t oldest = store->count ? ring_entry_at (store, 0)->serial : store->serial + 1;

  for (size_t i = store->schemas.count; i-- > 0;) {
    struct ring_schema *schema = &store->schemas.list[i];
    const struct ring_record *record;

    if (schema->saved || schema->offset >= to || schema->offset + ring_record_size (schema->length) <= from)
      continue;
    record = schema->last >= oldest ? ring_record_at (store, schema->offset) : NULL;
    if (record && record->length == schema->length)
      schema->saved = memory_copy (record->frame, record->length);
    else
      ring_schemas_remove (&store->schemas, schema);
  }
}

/* The oldest frame is always the first in the way of a record. */
static void
drop_from (struct ring_store *store, size_t from, size_t to)
{
  while (store->count && ring_entry_at (store, 0)->offset < to &&
         ring_entry_at (store, 0)->offset + ring_record_size (ring_entry_at (store, 0)->length) > from)
    drop_oldest (store);
  drop_schemas (store, from, to);
}

bool
ring_entry_read (struct ring_store *store, size_t index, struct ring_frame *frame)
{
  const struct ring_entry *entry = ring_entry_at (store, index);
  const struct ring_record *record = ring_record_at (store, entry->offset);

  if (!record || record->serial != entry->serial)
    return false;
  *frame = (struct ring_frame){ entry->session, entry->sequence, record->frame, record->length };
  return true;
}

/* ---- adding ---- */

/* The distance from the next record's place to that offset. */
static size_t
distance_to (const struct ring_store *store, size_t offset)
{
  return offset >= store->at ? offset - store->at : offset + store->file.size - store->at;
}

static void
release_pages (struct ring_store *store)
{
  size_t size = store->file.size, free = store->count ? distance_to (store, ring_entry_at (store, 0)->offset) : size;

  store->written = 0;
  for (size_t i = 0; i < store->schemas.count; i++) {
    size_t distance = distance_to (store, store->schemas.list[i].offset);

    free = distance < free ? distance : free;
  }
  ring_file_release (&store->file, store->at, free < size - store->at ? store->at + free : size);
  if (free > size - store->at)
    ring_file_release (&store->file, 0, free - (size - store->at));
}

/* Writes a record at the next place and drops what lies there; returns the place, or -1 (errno). */
static ssize_t
put_record (struct ring_store *store, const void *bytes, size_t length)
{
  size_t size = ring_record_size (length), at;
  struct ring_record *record;

  if (store->at + size > store->file.size) {
    drop_from (store, store->at, store->file.size);
    store->at = 0;
  }
  at = store->at;
  drop_from (store, at, at + size);
  buffer_clear (&store->record);
  record = (struct ring_record *) buffer_reserve (&store->record, size);
  record->mark = store_mark (store);
  record->length = (uint32_t) length;
  record->serial = store->serial + 1;
  memcpy (record->frame, bytes, length);
  record_sum (store, record, record->sum);
  if (ring_file_write (&store->file, at, record, sizeof *record + length) < 0)
    return -1;
  store->serial++;
  store->at += size;
  store->written += size;
  return (ssize_t) at;
}

/* Puts schemas again whose space was needed. One that cannot be written now is put with the next record. */
static void
put_saved (struct ring_store *store)
{
  for (size_t i = 0; i < store->schemas.count;) {
    uint8_t hash[SCHEMA_HASH_SIZE];
    struct ring_schema *schema = &store->schemas.list[i++];
    void *bytes = schema->saved;
    ssize_t at;

    if (!bytes)
      continue;
    memcpy (hash, schema->hash, sizeof hash);
    at = put_record (store, bytes, schema->length); /* may drop or save others */
    if (at < 0)
      return;
    schema = ring_schemas_find (&store->schemas, hash);
    schema->offset = (size_t) at;
    schema->saved = NULL;
    free (bytes);
    i = 0;
  }
  if (store->written >= RELEASE_EVERY)
    release_pages (store);
}

int
ring_store_put (struct ring_store *store, const struct ring_frame *frame, int64_t at_ns)
{
  struct frame_header header;
  struct ring_schema *schema;
  ssize_t at;

  if (ring_record_size (frame->length) > store->file.size || frame->length > FRAME_BYTES_MAX)
    return 0;
  at = put_record (store, frame->bytes, frame->length);
  if (at < 0)
    return -1;
  ring_entry_append (store, &(struct ring_entry){ .session = frame->session,
                                                  .sequence = frame->sequence,
                                                  .serial = store->serial,
                                                  .at_ns = at_ns,
                                                  .offset = (uint32_t) at,
                                                  .length = (uint32_t) frame->length });
  if (frame_read_header (frame->bytes, frame->length, &header, NULL) == 0 &&
      (schema = ring_schemas_find (&store->schemas, header.schema)) != NULL)
    schema->last = store->serial;
  put_saved (store);
  return 0;
}

/* ---- schemas ---- */

void
ring_store_schemas_fit (struct ring_store *store, size_t more)
{
  for (;;) {
    size_t bytes = more;

    for (size_t i = 0; i < store->schemas.count; i++)
      bytes += ring_record_size (store->schemas.list[i].length);
    if (bytes <= store->file.size / 2 || store->schemas.count == 0)
      return;
    ring_schemas_remove (&store->schemas, ring_schemas_oldest (&store->schemas));
  }
}

int
ring_store_keep_schema (struct ring_store *store, const uint8_t hash[SCHEMA_HASH_SIZE], const void *bytes,
                        size_t length)
{
  struct ring_schema *schema;
  ssize_t at;

  schema = ring_schemas_find (&store->schemas, hash);
  if (schema)
    schema->last = store->serial + 1; /* for the next frame */
  if (schema || length == 0 || ring_record_size (length) > store->file.size / 2)
    return 0;
  ring_store_schemas_fit (store, ring_record_size (length));
  at = put_record (store, bytes, length);
  if (at < 0)
    return -1;
  schema = ring_schemas_get (&store->schemas, hash);
  schema->offset = (size_t) at;
  schema->length = length;
  schema->last = store->serial + 1;
  put_saved (store);
  return 0;
}

bool
ring_store_schema (struct ring_store *store, const uint8_t hash[SCHEMA_HASH_SIZE], const void **bytes, size_t *length)
{
  const struct ring_schema *schema = ring_schemas_find (&store->schemas, hash);
  const struct ring_record *record;

  if (!schema)
    return false;
  record = schema->saved ? NULL : ring_record_at (store, schema->offset);
  if (!schema->saved && (!record || record->length != schema->length))
    return false;
  *bytes = record ? record->frame : schema->saved;
  *length = schema->length;
  return true;
}

bool
ring_store_schema_poll (struct ring_store *store, const uint8_t hash[SCHEMA_HASH_SIZE], const void **bytes,
                        size_t *length)
{
  const struct ring_schema *schema = ring_schemas_find (&store->schemas, hash);
  enum ring_file_state state = RING_FILE_READY;

  if (schema && !schema->saved)
    state = ring_file_poll (&store->file, schema->offset, sizeof (struct ring_record) + schema->length);
  if (state == RING_FILE_LATER)
    *bytes = NULL;
  return state == RING_FILE_LATER || (state == RING_FILE_READY && ring_store_schema (store, hash, bytes, length));
}

/* Copies the schema of a frame before it. */
static int
copy_schema (struct ring_store *from, struct ring_store *to, const struct ring_frame *frame)
{
  struct frame_header header;
  const void *bytes;
  size_t length;

  if (frame_read_header (frame->bytes, frame->length, &header, NULL) < 0 ||
      ring_schemas_find (&to->schemas, header.schema) || !ring_store_schema (from, header.schema, &bytes, &length))
    return 0;
  return ring_store_keep_schema (to, header.schema, bytes, length);
}

/* ---- the whole store ---- */

int
ring_store_copy (struct ring_store *from, struct ring_store *to, const struct ring_store *but)
{
  struct control_held held[CONTROL_HELD_MAX + 1]; /* no more sessions are listed for the aggregator */
  size_t held_count = but ? ring_store_sessions (but, held, CONTROL_HELD_MAX + 1) : 0;

  for (size_t i = 0; i < from->count; i++) {
    int64_t at_ns = ring_entry_at (from, i)->at_ns;
    struct ring_frame frame;
    bool twice = false;

    if (!ring_entry_read (from, i, &frame))
      continue;
    for (size_t k = 0; k < held_count; k++)
      twice |= held[k].session == frame.session && frame.sequence >= held[k].first;
    if (twice)
      continue;
    if (copy_schema (from, to, &frame) < 0)
      return -1;
    if (ring_entry_read (from, i, &frame) && ring_store_put (to, &frame, at_ns) < 0)
      return -1;
  }
  return 0;
}

int
ring_store_clear (struct ring_store *store)
{
  store->head = store->count = store->at = store->hint = 0;
  store->serial = 0;
  ring_schemas_free (&store->schemas);
  return ring_file_renew (&store->file);
}

void
ring_store_in_memory (struct ring_store *store, size_t size)
{
  *store = (struct ring_store){ 0 };
  ring_file_memory (&store->file, size & ~(size_t) (RING_ALIGN - 1));
}

void
ring_store_free (struct ring_store *store)
{
  ring_file_close (&store->file);
  free (store->entries);
  ring_schemas_free (&store->schemas);
  buffer_free (&store->record);
}

/* ---- reading ---- */

/* The frames of a session are contiguous: finds the first entry of another session behind `from`. */
static size_t
run_end (const struct ring_store *store, size_t from)
{
  uint64_t session = ring_entry_at (store, from)->session;
  size_t low = from, step = 1, high;

  while (low + step < store->count && ring_entry_at (store, low + step)->session == session) {
    low += step;
    step *= 2;
  }
  high = low + step < store->count ? low + step : store->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;

    if (ring_entry_at (store, middle)->session == session)
      low = middle;
    else
      high = middle;
  }
  return high;
}

/* The first entry of a session's frames, which are in order, with a number of at least `sequence`; or `end`. */
static size_t
run_find (const struct ring_store *store, size_t begin, size_t end, uint64_t sequence)
{
  while (begin < end) {
    size_t middle = begin + (end - begin) / 2;

    if (ring_entry_at (store, middle)->sequence < sequence)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/* As ring_entry_read, but never waits for a disk. */
static bool
entry_poll (struct ring_store *store, size_t index, struct ring_frame *frame)
{
  const struct ring_entry *entry = ring_entry_at (store, index);
  enum ring_file_state state =
      ring_file_poll (&store->file, entry->offset, sizeof (struct ring_record) + entry->length);

  *frame = (struct ring_frame){ entry->session, entry->sequence, NULL, entry->length };
  return state == RING_FILE_LATER || (state == RING_FILE_READY && ring_entry_read (store, index, frame));
}

bool
ring_store_next (struct ring_store *store, uint64_t session, uint64_t from, uint64_t to, size_t most,
                 struct ring_frame *frame)
{
  size_t hint = store->hint + 1 < store->count ? store->hint + 1 : 0, end;

  if (hint && (ring_entry_at (store, hint)->session != session || ring_entry_at (store, hint)->sequence != from))
    hint = 0; /* it is not the next frame */
  for (size_t begin = hint; begin < store->count; begin = end) {
    end = run_end (store, begin);
    if (ring_entry_at (store, begin)->session != session)
      continue;
    for (size_t i = run_find (store, begin, end, from); i < end && ring_entry_at (store, i)->sequence <= to; i++)
      if (ring_entry_at (store, i)->length <= most && entry_poll (store, i, frame)) {
        store->hint = i;
        return true;
      }
  }
  return false;
}

size_t
ring_store_sessions (const struct ring_store *store, struct control_held *sessions, size_t max)
{
  size_t count = 0;

  for (size_t i = store->count; i-- > 0;) {
    const struct ring_entry *entry = ring_entry_at (store, i);

    if (count == 0 || sessions[count - 1].session != entry->session) {
      if (count == max)
        break;
      sessions[count++] = (struct control_held){ entry->session, entry->sequence, entry->sequence };
    }
    sessions[count - 1].first = entry->sequence;
  }
  return count;
}
