/* See send_batch.h. */
#include "aggregator/send/send_batch.h"

#include <stdlib.h>

#include "synop/memory.h"

#define PARTS_MAX 1000
#define SIZE_FULL ((size_t) 1024 * 1024) /* receivers take some MB */
#define SAMPLE_SIZE 64                   /* beside the texts of its labels */

void
send_batch_begin (struct send_batch *batch)
{
  batch->part_count = batch->count = batch->size = 0;
}

void
send_batch_free (struct send_batch *batch)
{
  free (batch->samples);
  free (batch->parts);
}

bool
send_batch_is_full (const struct send_batch *batch)
{
  return batch->part_count >= PARTS_MAX || batch->size >= SIZE_FULL;
}

bool
send_batch_may (struct send_batch *batch, const struct send_node *node, bool late)
{
  if (batch->part_count == 0)
    batch->late = late;
  for (size_t i = 0; i < batch->part_count; i++)
    if (batch->parts[i].node == node)
      return false;
  return batch->late == late;
}

void
send_batch_add (void *context, const struct send_sample *sample)
{
  struct send_batch *batch = context;

  if (batch->count == batch->room) {
    batch->room = batch->room ? 2 * batch->room : 1024;
    batch->samples = memory_resize (batch->samples, batch->room, sizeof batch->samples[0]);
  }
  batch->samples[batch->count++] = *sample;
  batch->size += sample->series->size + sample->node->length + SAMPLE_SIZE;
}

void
send_batch_end_part (struct send_batch *batch, const struct send_node *node, int64_t time_ns, int64_t chunk)
{
  if (batch->part_count == batch->part_room) {
    batch->part_room = batch->part_room ? 2 * batch->part_room : 64;
    batch->parts = memory_resize (batch->parts, batch->part_room, sizeof batch->parts[0]);
  }
  batch->parts[batch->part_count++] = (struct send_part){ node, time_ns, chunk, batch->count };
}
