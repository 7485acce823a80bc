/* See ring_store.h. Records lie one behind the other, each at a multiple of 8 bytes, and none goes over the end:
 *
 *   sum (8 bytes)     SipHash-2-4, with the file's key, of all that follows
 *   mark (4)          of the key too: where a record may begin
 *   length (4)        of the frame
 *   serial (8)        1, 2, 3... over all sessions: which record is newer
 *   frame
 *
 * Nothing else is written, and no place is marked as the end: who opens the file looks for whole records, and goes on
 * behind the newest. So a record that was half written when the agent was killed, or of which a power cut left some
 * pages out, is none. The key makes sure that no frame can hold what looks like a record. What is read is held against
 * its sum each time, so nothing is sent that somebody else wrote into the file.
 *
 * The list of what is held (40 bytes a frame) is in memory. */
#include "agent/ring_store.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "synop/frame.h"
#include "synop/memory.h"

#define ALIGN 8
#define RELEASE_EVERY ((size_t) 256 * 1024) /* bytes written to memory, then pages that hold nothing are let go of */

struct record {
  uint8_t sum[crypto_shorthash_BYTES];
  uint32_t mark, length;
  uint64_t serial;
  uint8_t frame[];
};

static size_t
record_size (size_t length)
{
  return (sizeof (struct record) + length + ALIGN - 1) & ~(size_t) (ALIGN - 1);
}

static uint32_t
store_mark (const struct ring_store *store)
{
  uint32_t mark;

  memcpy (&mark, store->file.key, sizeof mark);
  return ~mark;
}

static void
record_sum (const struct ring_store *store, const struct record *record, uint8_t sum[crypto_shorthash_BYTES])
{
  size_t from = offsetof (struct record, mark);

  crypto_shorthash (sum, (const uint8_t *) record + from, sizeof *record - from + record->length, store->file.key);
}

/* NULL: there is none. Valid until the store is used again. */
static const struct record *
whole_record (struct ring_store *store, size_t at)
{
  const struct record *record;
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

static struct ring_entry *
entry_at (const struct ring_store *store, size_t index)
{
  return &store->entries[(store->head + index) & (store->capacity - 1)];
}

static void
entry_append (struct ring_store *store, const struct ring_entry *entry)
{
  if (store->count == store->capacity) {
    size_t capacity = store->capacity ? store->capacity * 2 : 256;
    struct ring_entry *entries = memory_new (capacity, sizeof *entries);

    for (size_t i = 0; i < store->count; i++)
      entries[i] = *entry_at (store, i);
    free (store->entries);
    store->entries = entries;
    store->capacity = capacity;
    store->head = 0;
  }
  store->count++;
  *entry_at (store, store->count - 1) = *entry;
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
  while (store->count && entry_at (store, 0)->at_ns < at_ns)
    drop_oldest (store);
}

/* The oldest is always the first in the way of what is written. */
static void
drop_from (struct ring_store *store, size_t from, size_t to)
{
  while (store->count && entry_at (store, 0)->offset < to &&
         entry_at (store, 0)->offset + record_size (entry_at (store, 0)->length) > from)
    drop_oldest (store);
}

static bool
entry_read (struct ring_store *store, size_t index, struct ring_frame *frame)
{
  const struct ring_entry *entry = entry_at (store, index);
  const struct record *record = whole_record (store, entry->offset);

  if (!record || record->serial != entry->serial)
    return false;
  *frame = (struct ring_frame){ entry->session, entry->sequence, record->frame, record->length };
  return true;
}

/* ---- adding ---- */

static void
release_pages (struct ring_store *store)
{
  size_t oldest = store->count ? entry_at (store, 0)->offset : store->at;

  store->written = 0;
  if (oldest < store->at) {
    ring_file_release (&store->file, 0, oldest);
    ring_file_release (&store->file, store->at, store->file.size);
  } else
    ring_file_release (&store->file, store->at, store->count ? oldest : store->file.size);
}

int
ring_store_put (struct ring_store *store, const struct ring_frame *frame, int64_t at_ns)
{
  size_t size = record_size (frame->length);
  struct record *record;

  if (size > store->file.size || frame->length > FRAME_BYTES_MAX)
    return 0;
  if (store->at + size > store->file.size) {
    drop_from (store, store->at, store->file.size);
    store->at = 0;
  }
  drop_from (store, store->at, store->at + size);
  buffer_clear (&store->record);
  record = (struct record *) buffer_reserve (&store->record, size);
  record->mark = store_mark (store);
  record->length = (uint32_t) frame->length;
  record->serial = store->serial + 1;
  memcpy (record->frame, frame->bytes, frame->length);
  record_sum (store, record, record->sum);
  if (ring_file_write (&store->file, store->at, record, sizeof *record + frame->length) < 0)
    return -1;
  entry_append (store, &(struct ring_entry){ .session = frame->session,
                                             .sequence = frame->sequence,
                                             .serial = ++store->serial,
                                             .at_ns = at_ns,
                                             .offset = (uint32_t) store->at,
                                             .length = (uint32_t) frame->length });
  store->at += size;
  store->written += size;
  if (store->written >= RELEASE_EVERY)
    release_pages (store);
  return 0;
}

int
ring_store_pour (struct ring_store *from, struct ring_store *to, const struct ring_store *but)
{
  struct control_held held[CONTROL_HELD_MAX + 1]; /* of no more sessions is anybody told */
  size_t held_count = but ? ring_store_sessions (but, held, CONTROL_HELD_MAX + 1) : 0;

  for (size_t i = 0; i < from->count; i++) {
    int64_t at_ns = entry_at (from, i)->at_ns;
    struct ring_frame frame;
    bool twice = false;

    if (!entry_read (from, i, &frame))
      continue;
    for (size_t k = 0; k < held_count; k++)
      twice |= held[k].session == frame.session && frame.sequence >= held[k].first;
    if (!twice && ring_store_put (to, &frame, at_ns) < 0)
      return -1;
  }
  return 0;
}

int
ring_store_clear (struct ring_store *store)
{
  store->head = store->count = store->at = store->hint = 0;
  store->serial = 0;
  return ring_file_renew (&store->file);
}

/* ---- opening ---- */

static int
compare_serial (const void *one, const void *other)
{
  uint64_t a = ((const struct ring_entry *) one)->serial, b = ((const struct ring_entry *) other)->serial;

  return a < b ? -1 : a > b;
}

/* From the newest one back, as long as they lie as they were written, once around. Returns the first of them. */
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

/* Lists what the file holds, which is found in the order of its places. */
static void
store_find (struct ring_store *store)
{
  for (size_t at = 0; at + sizeof (struct record) <= store->file.size;) {
    const struct record *record = whole_record (store, at);

    if (record)
      entry_append (
          store, &(struct ring_entry){ .serial = record->serial, .offset = (uint32_t) at, .length = record->length });
    at += record ? record_size (record->length) : ALIGN;
  }
  if (store->count == 0)
    return;
  qsort (store->entries, store->count, sizeof store->entries[0], compare_serial);

  size_t first = sound_from (store->entries, store->count);
  const struct ring_entry *newest = entry_at (store, store->count - 1);

  store->serial = newest->serial;
  store->at = newest->offset + record_size (newest->length);
  if (store->at > store->file.size)
    store->at = store->file.size;
  store->head = first;
  store->count -= first;
}

/* Keeps of that what is of this node, and young enough. A wall clock that was set back makes a frame no younger than
 * new. */
static void
store_sift (struct ring_store *store, const struct ring_options *options, int64_t now_ns, int64_t wall_ns)
{
  size_t kept = 0;

  for (size_t i = 0; i < store->count; i++) {
    struct ring_entry entry = *entry_at (store, i);
    struct frame_header header;
    struct ring_frame frame;

    if (!entry_read (store, i, &frame) || frame_read_header (frame.bytes, frame.length, &header, NULL) < 0 ||
        strcmp (header.node, options->node) != 0)
      continue;
    if (header.wall_ns < wall_ns && wall_ns - options->max_age_ns > header.wall_ns)
      continue;
    entry.session = header.session;
    entry.sequence = header.sequence;
    entry.at_ns = header.wall_ns < wall_ns ? now_ns - (wall_ns - header.wall_ns) : now_ns;
    *entry_at (store, kept++) = entry;
  }
  store->count = kept;
}

int
ring_store_open (struct ring_store *store, const struct ring_options *options, int64_t now_ns, int64_t wall_ns,
                 struct error *warning)
{
  *store = (struct ring_store){ 0 };
  if (ring_file_open (&store->file, options->path, options->size & ~(size_t) (ALIGN - 1), warning) < 0)
    return -1;
  store_find (store);
  store_sift (store, options, now_ns, wall_ns);
  return 0;
}

void
ring_store_in_memory (struct ring_store *store, size_t size)
{
  *store = (struct ring_store){ 0 };
  ring_file_memory (&store->file, size & ~(size_t) (ALIGN - 1));
}

void
ring_store_free (struct ring_store *store)
{
  ring_file_close (&store->file);
  free (store->entries);
  buffer_free (&store->record);
}

/* ---- reading ---- */

bool
ring_store_next (struct ring_store *store, uint64_t session, uint64_t from, uint64_t to, struct ring_frame *frame)
{
  size_t hint = store->hint + 1 < store->count ? store->hint + 1 : 0;

  if (hint && (entry_at (store, hint)->session != session || entry_at (store, hint)->sequence != from))
    hint = 0; /* it is not the frame behind the one before */
  for (size_t i = hint; i < store->count; i++) {
    const struct ring_entry *entry = entry_at (store, i);

    if (entry->session != session || entry->sequence < from || entry->sequence > to || !entry_read (store, i, frame))
      continue;
    store->hint = i;
    return true;
  }
  return false;
}

size_t
ring_store_sessions (const struct ring_store *store, struct control_held *sessions, size_t max)
{
  size_t count = 0;

  for (size_t i = store->count; i-- > 0;) {
    const struct ring_entry *entry = entry_at (store, i);

    if (count == 0 || sessions[count - 1].session != entry->session) {
      if (count == max)
        break;
      sessions[count++] = (struct control_held){ entry->session, entry->sequence, entry->sequence };
    }
    sessions[count - 1].first = entry->sequence;
  }
  return count;
}
