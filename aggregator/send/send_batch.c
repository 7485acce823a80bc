/* See send_batch.h. */
#include "aggregator/send/send_batch.h"

#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

#define PARTS_MAX 1000
#define SIZE_FULL ((size_t) 1024 * 1024) /* receivers take some MB */
#define SAMPLE_SIZE 64                   /* beside the texts of its labels */

void
send_batch_init (struct send_batch *batch, const struct send_type *type)
{
  *batch = (struct send_batch){ .part_most = type->load_most ? type->load_most : PARTS_MAX,
                                .size_most = type->load_bytes ? type->load_bytes : SIZE_FULL,
                                .folds = type->folds || type->lines };
}

void
send_batch_begin (struct send_batch *batch)
{
  batch->part_count = batch->count = batch->size = 0;
  buffer_clear (&batch->text);
}

void
send_batch_free (struct send_batch *batch)
{
  free (batch->samples);
  free (batch->lines);
  buffer_free (&batch->text);
  free (batch->parts);
}

bool
send_batch_is_full (const struct send_batch *batch)
{
  return batch->part_count >= batch->part_most || batch->size >= batch->size_most;
}

bool
send_batch_may (struct send_batch *batch, const struct send_node *node, bool late)
{
  if (batch->part_count == 0)
    batch->late = late;
  for (size_t i = 0; !batch->folds && i < batch->part_count; i++)
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
send_batch_add_line (struct send_batch *batch, const char *node, const struct buffer *line)
{
  size_t name = strlen (node) + 1;

  if (batch->count == batch->room) {
    batch->room = batch->room ? 2 * batch->room : 64;
    batch->lines = memory_resize (batch->lines, batch->room, sizeof batch->lines[0]);
  }
  batch->lines[batch->count++] = (struct send_line){ batch->text.length, batch->text.length + name, line->length };
  buffer_add (&batch->text, node, name);
  buffer_add (&batch->text, line->data, line->length);
  batch->size = batch->text.length;
}

struct send_load
send_batch_load (const struct send_batch *batch, size_t from, size_t to)
{
  return (struct send_load){ .samples = batch->samples ? batch->samples + from : NULL,
                             .lines = batch->lines ? batch->lines + from : NULL,
                             .text = batch->text.data,
                             .count = to - from };
}

size_t
send_batch_middle (const struct send_batch *batch, size_t from, size_t to)
{
  size_t first = 0, end;

  while (batch->parts[first].end <= from)
    first++;
  end = first;
  while (batch->parts[end].end < to)
    end++;
  return end > first ? batch->parts[first + (end - first - 1) / 2].end : 0;
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
