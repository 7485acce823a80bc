/* See ring.h. Records lie one behind the other, each at a multiple of 8 bytes, and none goes over the end:
 *
 *   sum (8 bytes)     SipHash-2-4, with the file's key, of all that follows
 *   mark (4)          of the key too: where a record may begin
 *   length (4)        of the frame
 *   serial (8)        1, 2, 3... over all sessions: which record is newer
 *   frame
 *
 * Nothing else is written, and no place is marked as the end: who opens the file looks for whole records, and goes on
 * behind the newest. So a record that was half written when the agent was killed, or of which a power cut left some
 * pages out, is none. The key makes sure that no frame can hold what looks like a record.
 *
 * The list of what is held (40 bytes a frame) is in memory, since walking the file would touch all its pages. */
#include "agent/ring.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ring_file.h"
#include "synop/frame.h"
#include "synop/memory.h"

#define ALIGN 8
#define RELEASE_EVERY ((size_t) 256 * 1024) /* bytes written, then pages are let go of */

struct record {
  uint8_t sum[crypto_shorthash_BYTES];
  uint32_t mark, length;
  uint64_t serial;
  uint8_t frame[];
};

struct entry {
  uint64_t session, sequence, serial;
  int64_t at_ns; /* when it was added, on this session's CLOCK_MONOTONIC */
  uint32_t offset, length;
};

struct ring {
  struct ring_file file;
  int64_t max_age_ns;
  char node[FRAME_NODE_MAX + 1];
  struct entry *entries; /* a queue in a circle: the oldest is at `head` */
  size_t head, count, capacity;
  size_t at; /* where the next record goes */
  size_t written, hint;
  uint64_t serial; /* of the newest */
};

static size_t
record_size (size_t length)
{
  return (sizeof (struct record) + length + ALIGN - 1) & ~(size_t) (ALIGN - 1);
}

static uint32_t
ring_mark (const struct ring *ring)
{
  uint32_t mark;

  memcpy (&mark, ring->file.key, sizeof mark);
  return ~mark;
}

static void
record_sum (const struct ring *ring, const struct record *record, uint8_t sum[crypto_shorthash_BYTES])
{
  size_t from = offsetof (struct record, mark);

  crypto_shorthash (sum, (const uint8_t *) record + from, sizeof *record - from + record->length, ring->file.key);
}

/* ---- the list ---- */

static struct entry *
entry_at (const struct ring *ring, size_t index)
{
  return &ring->entries[(ring->head + index) & (ring->capacity - 1)];
}

static void
entry_append (struct ring *ring, const struct entry *entry)
{
  if (ring->count == ring->capacity) {
    size_t capacity = ring->capacity ? ring->capacity * 2 : 256;
    struct entry *entries = memory_new (capacity, sizeof *entries);

    for (size_t i = 0; i < ring->count; i++)
      entries[i] = *entry_at (ring, i);
    free (ring->entries);
    ring->entries = entries;
    ring->capacity = capacity;
    ring->head = 0;
  }
  ring->count++;
  *entry_at (ring, ring->count - 1) = *entry;
}

static void
drop_oldest (struct ring *ring)
{
  ring->head = (ring->head + 1) & (ring->capacity - 1);
  ring->count--;
  ring->hint = 0;
}

static void
drop_aged (struct ring *ring, int64_t now_ns)
{
  while (ring->count && now_ns - entry_at (ring, 0)->at_ns > ring->max_age_ns)
    drop_oldest (ring);
}

/* The oldest is always the first in the way of what is written. */
static void
drop_from (struct ring *ring, size_t from, size_t to)
{
  while (ring->count && entry_at (ring, 0)->offset < to &&
         entry_at (ring, 0)->offset + record_size (entry_at (ring, 0)->length) > from)
    drop_oldest (ring);
}

/* ---- adding ---- */

/* A file's pages are in the page cache, whether they are mapped or not. Of memory only what holds no frame may go. */
static void
release_pages (struct ring *ring)
{
  size_t oldest = ring->count ? entry_at (ring, 0)->offset : ring->at;

  ring->written = 0;
  if (ring->file.fd >= 0)
    ring_file_release (&ring->file, 0, ring->file.size);
  else if (oldest < ring->at) {
    ring_file_release (&ring->file, 0, oldest);
    ring_file_release (&ring->file, ring->at, ring->file.size);
  } else
    ring_file_release (&ring->file, ring->at, ring->count ? oldest : ring->file.size);
}

void
ring_add (struct ring *ring, const struct ring_frame *frame, int64_t now_ns)
{
  size_t size = record_size (frame->length);
  struct record *record;

  drop_aged (ring, now_ns);
  if (size > ring->file.size || frame->length > FRAME_BYTES_MAX)
    return;
  if (ring->at + size > ring->file.size) {
    drop_from (ring, ring->at, ring->file.size);
    ring->at = 0;
  }
  drop_from (ring, ring->at, ring->at + size);
  record = (struct record *) (ring->file.records + ring->at);
  record->mark = ring_mark (ring);
  record->length = (uint32_t) frame->length;
  record->serial = ++ring->serial;
  memcpy (record->frame, frame->bytes, frame->length);
  record_sum (ring, record, record->sum);
  entry_append (ring, &(struct entry){ .session = frame->session,
                                       .sequence = frame->sequence,
                                       .serial = ring->serial,
                                       .at_ns = now_ns,
                                       .offset = (uint32_t) ring->at,
                                       .length = (uint32_t) frame->length });
  ring->at += size;
  ring->written += size;
  if (ring->written >= RELEASE_EVERY)
    release_pages (ring);
}

/* ---- opening ---- */

static const struct record *
whole_record (const struct ring *ring, size_t at)
{
  const struct record *record = (const struct record *) (ring->file.records + at);
  uint8_t sum[sizeof record->sum];

  if (ring->file.size - at < sizeof *record || record->mark != ring_mark (ring) || record->length > FRAME_BYTES_MAX ||
      record->length > ring->file.size - at - sizeof *record)
    return NULL;
  record_sum (ring, record, sum);
  return memcmp (sum, record->sum, sizeof sum) == 0 ? record : NULL;
}

static int
compare_serial (const void *one, const void *other)
{
  uint64_t a = ((const struct entry *) one)->serial, b = ((const struct entry *) other)->serial;

  return a < b ? -1 : a > b;
}

/* From the newest one back, as long as they lie as they were written, once around. Returns the first of them. */
static size_t
sound_from (const struct entry *entries, size_t count)
{
  bool around = false;

  for (size_t i = count - 1; i > 0; i--) {
    const struct entry *older = &entries[i - 1], *newer = &entries[i];

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
ring_find (struct ring *ring)
{
  for (size_t at = 0; at + sizeof (struct record) <= ring->file.size;) {
    const struct record *record = whole_record (ring, at);

    if (record)
      entry_append (ring,
                    &(struct entry){ .serial = record->serial, .offset = (uint32_t) at, .length = record->length });
    at += record ? record_size (record->length) : ALIGN;
  }
  if (ring->count == 0)
    return;
  qsort (ring->entries, ring->count, sizeof ring->entries[0], compare_serial);

  size_t first = sound_from (ring->entries, ring->count);
  const struct entry *newest = entry_at (ring, ring->count - 1);

  ring->serial = newest->serial;
  ring->at = newest->offset + record_size (newest->length);
  if (ring->at > ring->file.size)
    ring->at = ring->file.size;
  ring->head = first;
  ring->count -= first;
}

/* Keeps of that what is of this node, and young enough. A wall clock that was set back makes a frame no younger than
 * new. */
static void
ring_sift (struct ring *ring, int64_t now_ns, int64_t wall_ns)
{
  size_t kept = 0;

  for (size_t i = 0; i < ring->count; i++) {
    struct entry entry = *entry_at (ring, i);
    const struct record *record = (const struct record *) (ring->file.records + entry.offset);
    struct frame_header header;

    if (frame_read_header (record->frame, record->length, &header, NULL) < 0 || strcmp (header.node, ring->node) != 0)
      continue;
    if (header.wall_ns < wall_ns && wall_ns - ring->max_age_ns > header.wall_ns)
      continue;
    entry.session = header.session;
    entry.sequence = header.sequence;
    entry.at_ns = header.wall_ns < wall_ns ? now_ns - (wall_ns - header.wall_ns) : now_ns;
    *entry_at (ring, kept++) = entry;
  }
  ring->count = kept;
}

struct ring *
ring_create (const struct ring_options *options, int64_t now_ns, int64_t wall_ns, struct error *warning)
{
  struct ring *ring = memory_new (1, sizeof *ring);
  size_t size = options->size & ~(size_t) (ALIGN - 1);

  ring->max_age_ns = options->max_age_ns;
  strncpy (ring->node, options->node, FRAME_NODE_MAX);
  warning->text[0] = '\0';
  if (!options->path[0] || ring_file_open (&ring->file, options->path, size, warning) < 0)
    ring_file_anonymous (&ring->file, size);
  else {
    ring_find (ring);
    ring_sift (ring, now_ns, wall_ns);
    release_pages (ring);
  }
  return ring;
}

void
ring_destroy (struct ring *ring)
{
  if (!ring)
    return;
  ring_file_close (&ring->file);
  free (ring->entries);
  free (ring);
}

/* ---- reading ---- */

bool
ring_next (struct ring *ring, uint64_t session, uint64_t from, uint64_t to, struct ring_frame *frame)
{
  size_t hint = ring->hint + 1 < ring->count ? ring->hint + 1 : 0;

  if (hint && (entry_at (ring, hint)->session != session || entry_at (ring, hint)->sequence != from))
    hint = 0; /* it is not the frame behind the one before */
  for (size_t i = hint; i < ring->count; i++) {
    const struct entry *entry = entry_at (ring, i);

    if (entry->session != session || entry->sequence < from || entry->sequence > to)
      continue;
    ring->hint = i;
    *frame = (struct ring_frame){ session, entry->sequence, ring->file.records + entry->offset + sizeof (struct record),
                                  entry->length };
    return true;
  }
  return false;
}

size_t
ring_sessions (struct ring *ring, int64_t now_ns, struct control_held *sessions, size_t max)
{
  size_t count = 0;

  drop_aged (ring, now_ns);
  for (size_t i = ring->count; i-- > 0;) {
    const struct entry *entry = entry_at (ring, i);

    if (count == 0 || sessions[count - 1].session != entry->session) {
      if (count == max)
        break;
      sessions[count++] = (struct control_held){ entry->session, entry->sequence, entry->sequence };
    }
    sessions[count - 1].first = entry->sequence;
  }
  return count;
}

size_t
ring_count (const struct ring *ring)
{
  return ring->count;
}

bool
ring_is_file (const struct ring *ring)
{
  return ring->file.fd >= 0;
}
