/* See history_folds.h. */
#include "aggregator/history/history_folds.h"

#include <stdlib.h>
#include <string.h>

#include "synop/array.h"
#include "synop/frame.h"
#include "synop/hash_table.h"
#include "synop/memory.h"

#define LEVEL 1 /* of zstd: what is staged goes soon */
#define SCHEMAS_MAX 64
#define TAILS 3                       /* of a node: live frames, late ones, those of the session before */
#define TAIL_FRAMES 16                /* groups of one period have theirs in one */
#define TAIL_BYTES ((size_t) 1 << 20) /* of one tail */

struct tail_frame {
  uint64_t sequence;
  uint64_t groups[SCHEMA_GROUPS_MAX / 64]; /* whose last table is in it */
  char *bytes;
  size_t length;
};

struct tail {
  uint64_t session, last; /* 0: none; the last frame of its chunks */
  uint64_t used;
  struct tail_frame frames[TAIL_FRAMES];
  size_t count;
};

struct tail_node {
  UT_hash_handle hh;
  struct tail tails[TAILS];
  char name[];
};

struct fold_schema {
  UT_hash_handle hh;
  uint8_t hash[SCHEMA_HASH_SIZE];
  struct schema *schema;
};

struct history_folds {
  struct tail_node *nodes;
  struct fold_schema *schemas;
  struct tier_writer *writer;
  uint64_t used;
};

struct history_folds *
history_folds_create (void)
{
  struct history_folds *folds = memory_new (1, sizeof *folds);

  folds->writer = tier_writer_create (LEVEL);
  return folds;
}

static void
tail_clear (struct tail *tail)
{
  while (tail->count)
    free (tail->frames[--tail->count].bytes);
}

static void
drop_schemas (struct history_folds *folds)
{
  struct fold_schema *held, *next;

  HASH_ITER (hh, folds->schemas, held, next)
  {
    HASH_DEL (folds->schemas, held);
    schema_destroy (held->schema);
    free (held);
  }
}

void
history_folds_destroy (struct history_folds *folds)
{
  struct tail_node *node, *next;

  if (!folds)
    return;
  HASH_ITER (hh, folds->nodes, node, next)
  {
    HASH_DEL (folds->nodes, node);
    for (size_t i = 0; i < TAILS; i++)
      tail_clear (&node->tails[i]);
    free (node);
  }
  drop_schemas (folds);
  tier_writer_destroy (folds->writer);
  free (folds);
}

const struct schema *
history_folds_schema (struct history_folds *folds, const uint8_t hash[SCHEMA_HASH_SIZE], const struct buffer *bytes)
{
  struct fold_schema *held;
  struct schema *schema;

  HASH_FIND (hh, folds->schemas, hash, SCHEMA_HASH_SIZE, held);
  if (held)
    return held->schema;
  schema = schema_read (bytes->data, bytes->length, NULL);
  if (!schema || memcmp (schema->hash, hash, SCHEMA_HASH_SIZE) != 0) {
    schema_destroy (schema);
    return NULL;
  }
  if (HASH_COUNT (folds->schemas) >= SCHEMAS_MAX)
    drop_schemas (folds);
  held = memory_new (1, sizeof *held);
  memcpy (held->hash, hash, SCHEMA_HASH_SIZE);
  held->schema = schema;
  HASH_ADD (hh, folds->schemas, hash, SCHEMA_HASH_SIZE, held);
  return schema;
}

struct tier_writer *
history_folds_writer (struct history_folds *folds)
{
  return folds->writer;
}

/* ---- tails ---- */

static struct tail_node *
find_node (struct history_folds *folds, const char *name)
{
  struct tail_node *node;
  size_t length = strlen (name);

  HASH_FIND (hh, folds->nodes, name, length, node);
  if (node)
    return node;
  node = memory_new (1, sizeof *node + length + 1);
  memcpy (node->name, name, length);
  HASH_ADD_KEYPTR (hh, folds->nodes, node->name, length, node);
  return node;
}

/* The tail that the chunk continues, or the one that was used longest ago, emptied. */
static struct tail *
find_tail (struct tail_node *node, const struct chunk_row *row)
{
  struct tail *oldest = &node->tails[0];

  for (size_t i = 0; i < TAILS; i++) {
    struct tail *tail = &node->tails[i];
    if (tail->count && tail->session == row->session && tail->last + 1 == row->first)
      return tail;
    if (tail->used < oldest->used)
      oldest = tail;
  }
  tail_clear (oldest);
  return oldest;
}

static void
tail_add (struct tail *tail, const struct tail_frame *frame, const void *bytes)
{
  struct tail_frame *to = &tail->frames[tail->count++];

  *to = *frame;
  to->bytes = memory_copy (bytes, frame->length);
}

/* What later frames of the groups have taken the place of goes. */
static void
tail_cover (struct tail *tail, const uint64_t *groups)
{
  size_t left = 0;

  for (size_t i = 0; i < tail->count; i++) {
    struct tail_frame *frame = &tail->frames[i];
    uint64_t any = 0;
    for (size_t k = 0; k < SCHEMA_GROUPS_MAX / 64; k++)
      any |= frame->groups[k] &= ~groups[k];
    if (any)
      tail->frames[left++] = *frame;
    else
      free (frame->bytes);
  }
  tail->count = left;
}

static void
update_tail (struct history_folds *folds, const struct open_chunk *chunk, const struct tier_folded *folded)
{
  struct tail *tail = find_tail (find_node (folds, chunk->node), &chunk->row);
  size_t bytes = 0;

  for (size_t i = 0; i < folded->kept_count; i++)
    tail_cover (tail, folded->kept[i].groups);
  for (size_t i = 0; i < tail->count; i++)
    bytes += tail->frames[i].length;
  for (size_t i = 0; i < folded->kept_count; i++) {
    const struct tier_kept *kept = &folded->kept[i];
    struct tail_frame frame = { .sequence = chunk->row.first + kept->frame };
    const void *message = chunk_message (&chunk->chunk, 2 * (size_t) kept->frame + 1, &frame.length);
    memcpy (frame.groups, kept->groups, sizeof frame.groups);
    bytes += frame.length;
    if (tail->count < TAIL_FRAMES && bytes <= TAIL_BYTES) /* else the file has it */
      tail_add (tail, &frame, message);
  }
  tail->session = chunk->row.session;
  tail->last = chunk->row.last;
  tail->used = ++folds->used;
}

/* ---- chunks ---- */

struct packing {
  struct history_folds *folds;
  const struct gather *gather;
  const struct open_chunk *chunk;
  const struct schema *schema;
  struct tier_folded *folded;
};

static bool
find_base (void *context, uint64_t sequence, const void **bytes, size_t *length)
{
  const struct packing *packing = context;
  const struct chunk_row *row = &packing->chunk->row;
  const struct tail_node *node = find_node (packing->folds, packing->chunk->node);

  for (size_t i = 0; i < TAILS; i++)
    for (size_t k = 0; k < node->tails[i].count && node->tails[i].session == row->session; k++)
      if (node->tails[i].frames[k].sequence == sequence) {
        *bytes = node->tails[i].frames[k].bytes;
        *length = node->tails[i].frames[k].length;
        return true;
      }
  return gather_frame (packing->gather, packing->chunk->node, row->session, sequence, bytes, length);
}

static void
fold_parts (void *context, const struct chunk_parts *parts)
{
  const struct packing *packing = context;

  tier_fold (&packing->chunk->chunk, parts, &packing->chunk->row, packing->schema,
             &(struct tier_bases){ context, find_base }, packing->folds->writer, packing->folded);
}

void
history_folds_pack (struct history_folds *folds, const struct gather *gather, const struct open_chunk *chunk,
                    const struct schema *schema, struct buffer *packed, struct tier_folded *folded)
{
  struct packing packing = { folds, gather, chunk, schema, folded };

  chunk_pack (&chunk->chunk, packed, &(struct chunk_look){ &packing, fold_parts });
  update_tail (folds, chunk, folded);
}
