/* See history_gather.h. */
#include "aggregator/history/history_gather.h"

#include <stdlib.h>
#include <string.h>

#include "synop/hash.h"
#include "synop/memory.h"

#define PLACES 4096             /* size of the hash table; a power of two */
#define OPEN_MAX 4              /* of one node */
#define BYTES_MAX (1024 * 1024) /* of a chunk, without the frame that reaches it */

struct gather {
  struct gather_options options;
  struct open_chunk *places[PLACES];
  struct open_chunk *oldest, *youngest;
  size_t bytes; /* in all of them */
};

struct gather *
gather_create (const struct gather_options *options)
{
  struct gather *gather = memory_new (1, sizeof *gather);

  gather->options = *options;
  return gather;
}

void
open_chunk_destroy (struct open_chunk *chunk)
{
  chunk_free (&chunk->chunk);
  free (chunk);
}

static struct open_chunk **
gather_place_of (struct gather *gather, const char *node)
{
  uint64_t hash = hash_text (node);

  return &gather->places[(size_t) (hash ^ hash >> 32) & (PLACES - 1)];
}

static void
unlink_chunk (struct gather *gather, struct open_chunk *chunk)
{
  struct open_chunk **place = gather_place_of (gather, chunk->node);

  gather->bytes -= chunk->chunk.bytes.length;
  while (*place != chunk)
    place = &(*place)->next;
  *place = chunk->next;
  *(chunk->older ? &chunk->older->younger : &gather->oldest) = chunk->younger;
  *(chunk->younger ? &chunk->younger->older : &gather->youngest) = chunk->older;
}

static void
finish (struct gather *gather, struct open_chunk *chunk)
{
  unlink_chunk (gather, chunk);
  gather->options.whole (gather->options.context, chunk);
}

void
gather_destroy (struct gather *gather)
{
  if (!gather)
    return;
  while (gather->oldest) {
    struct open_chunk *chunk = gather->oldest;
    unlink_chunk (gather, chunk);
    open_chunk_destroy (chunk);
  }
  free (gather);
}

static struct open_chunk *
gather_begin (struct gather *gather, const struct gathered *one, int64_t now_ns)
{
  struct open_chunk *chunk = memory_new (1, sizeof *chunk), **place = gather_place_of (gather, one->node);

  strncpy (chunk->node, one->node, sizeof chunk->node - 1);
  chunk->schema = one->schema;
  chunk->row = (struct chunk_row){ .node = chunk->node,
                                   .session = one->session,
                                   .first = one->sequence,
                                   .last = one->sequence - 1,
                                   .first_time = one->time_ns,
                                   .last_time = one->time_ns,
                                   .first_number = one->number,
                                   .last_number = one->number };
  chunk->opened_ns = now_ns;
  chunk->next = *place;
  *place = chunk;
  chunk->older = gather->youngest;
  *(gather->youngest ? &gather->youngest->younger : &gather->oldest) = chunk;
  gather->youngest = chunk;
  return chunk;
}

/* The open chunk that the frame continues; NULL: it begins one. */
static struct open_chunk *
gather_find (struct gather *gather, const struct gathered *one, bool *there)
{
  struct open_chunk *found = NULL, *oldest = NULL;
  size_t count = 0;

  *there = false;
  for (struct open_chunk *chunk = *gather_place_of (gather, one->node); chunk; chunk = chunk->next) {
    if (strcmp (chunk->node, one->node) != 0)
      continue;
    oldest = !oldest || chunk->opened_ns <= oldest->opened_ns ? chunk : oldest;
    count++;
    if (chunk->row.session != one->session)
      continue;
    *there = *there || (one->sequence >= chunk->row.first && one->sequence <= chunk->row.last);
    if (one->sequence == chunk->row.last + 1)
      found = chunk;
  }
  if (!found && !*there && count == OPEN_MAX)
    finish (gather, oldest);
  return found;
}

static bool
too_far (const struct chunk_row *row, int64_t time_ns)
{
  int64_t first = time_ns < row->first_time ? time_ns : row->first_time;
  int64_t last = time_ns > row->last_time ? time_ns : row->last_time;

  return (uint64_t) last - (uint64_t) first > HISTORY_SPAN_NS;
}

bool
gather_add (struct gather *gather, const struct gathered *one, int64_t now_ns)
{
  bool there;
  struct open_chunk *chunk = gather_find (gather, one, &there);
  struct chunk_row *row;

  if (there)
    return false;
  if (chunk && (chunk->schema != one->schema || too_far (&chunk->row, one->time_ns))) {
    finish (gather, chunk);
    chunk = NULL;
  }
  if (!chunk)
    chunk = gather_begin (gather, one, now_ns);
  row = &chunk->row;
  row->last = one->sequence;
  row->first_time = one->time_ns < row->first_time ? one->time_ns : row->first_time;
  row->last_time = one->time_ns > row->last_time ? one->time_ns : row->last_time;
  row->last_number = one->number;
  chunk_add (&chunk->chunk, one->record, one->record_length);
  if (one->frame)
    chunk_add (&chunk->chunk, one->frame, one->frame_length);
  gather->bytes += one->record_length + (one->frame ? one->frame_length : 0);
  if (row->last - row->first + 1 >= gather->options.chunk_frames || chunk->chunk.bytes.length >= BYTES_MAX)
    finish (gather, chunk);
  while (gather->options.bytes_max && gather->bytes > gather->options.bytes_max)
    finish (gather, gather->oldest);
  return true;
}

int64_t
gather_due (const struct gather *gather)
{
  return gather->oldest ? gather->oldest->opened_ns + gather->options.chunk_ns : INT64_MAX;
}

void
gather_close (struct gather *gather, int64_t now_ns)
{
  while (gather->oldest && gather_due (gather) <= now_ns)
    finish (gather, gather->oldest);
}

bool
gather_close_one (struct gather *gather)
{
  if (gather->oldest)
    finish (gather, gather->oldest);
  return gather->oldest;
}

uint64_t
gather_frames (const struct gather *gather)
{
  uint64_t frames = 0;

  for (const struct open_chunk *chunk = gather->oldest; chunk; chunk = chunk->younger)
    frames += chunk->schema ? chunk->row.last - chunk->row.first + 1 : 0;
  return frames;
}

bool
gather_has_before (const struct gather *gather, int64_t to_ns)
{
  const struct open_chunk *chunk = gather->oldest;

  while (chunk && chunk->row.first_time >= to_ns)
    chunk = chunk->younger;
  return chunk;
}

void
gather_close_before (struct gather *gather, int64_t to_ns)
{
  struct open_chunk *next;

  for (struct open_chunk *chunk = gather->oldest; chunk; chunk = next) {
    next = chunk->younger;
    if (chunk->row.first_time < to_ns)
      finish (gather, chunk);
  }
}
