/* See send_window.h. */
#include "aggregator/send/send_window.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/tick.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/wire.h"

#define BYTES_MAX ((size_t) 16 * 1024 * 1024)

static int64_t
floor_divide (int64_t value, int64_t by)
{
  return value / by - (value % by < 0);
}

bool
send_is_due (int64_t time_ns, int64_t table_period_ns, int64_t every_ns)
{
  int64_t tick;

  if (table_period_ns <= 0 || table_period_ns >= every_ns)
    return true;
  tick = tick_nearest (time_ns, table_period_ns);
  return floor_divide (tick, every_ns) != floor_divide (tick - table_period_ns, every_ns);
}

/* Looks at the heads of its tables alone. */
static bool
is_wanted (const struct schema *schema, const struct frame_header *header, int64_t time_ns, const uint8_t *bytes,
           size_t length, int64_t every_ns)
{
  struct wire wire = wire_over (bytes + header->tables_offset, length - header->tables_offset);
  uint32_t count = wire_array (&wire, SCHEMA_GROUPS_MAX);

  for (uint32_t i = 0; i < count && !wire.bad; i++) {
    uint32_t fields = wire_array (&wire, UINT32_MAX);
    size_t group = (size_t) wire_uint (&wire, SCHEMA_GROUPS_MAX);
    int64_t period = (int64_t) wire_uint (&wire, INT64_MAX);
    if (wire.bad || fields < 2 || group >= schema->group_count)
      return false;
    if (schema->groups[group]->flags & GROUP_ONCE || send_is_due (time_ns, period, every_ns))
      return true;
    wire_skip_items (&wire, fields - 2);
  }
  return false;
}

static void
keep (struct send_window *window, int64_t chunk, int64_t time_ns, const void *record, size_t record_length,
      const void *frame, size_t frame_length)
{
  struct send_frame *kept;

  if (window->count == window->capacity) {
    window->capacity = window->capacity ? 2 * window->capacity : 256;
    window->frames = memory_resize (window->frames, window->capacity, sizeof window->frames[0]);
  }
  kept = &window->frames[window->count++];
  *kept = (struct send_frame){
    time_ns, chunk, window->bytes.length, record_length, window->bytes.length + record_length, frame_length
  };
  buffer_add (&window->bytes, record, record_length);
  buffer_add (&window->bytes, frame, frame_length);
}

static int
read_frame (struct send_window *window, struct history_file *file, const struct chunk_row *row, size_t index,
            int64_t every_ns, struct error *error)
{
  struct frame_header header;
  struct frame_record record;
  const struct schema *schema;
  size_t length, frame_length;
  const void *bytes = chunk_message (&window->chunk, 2 * index, &length);
  const void *frame = chunk_message (&window->chunk, 2 * index + 1, &frame_length);

  if (frame_read_header (frame, frame_length, &header, error) < 0)
    return -1;
  if (frame_record_read (&record, bytes, length, header.monotonic_ns) < 0)
    return error_set (error, "what is kept beside a frame is broken");
  schema = history_file_schema (file, header.schema, error);
  if (!schema)
    return -1;
  if (is_wanted (schema, &header, record.time_ns, frame, frame_length, every_ns))
    keep (window, row->id, record.time_ns, bytes, length, frame, frame_length);
  return 0;
}

static void
read_chunk (struct send_window *window, struct history_file *file, const struct chunk_row *row, int64_t every_ns)
{
  struct error error = { "it does not hold what it should" };
  int result = history_file_read (file, row->id, &window->chunk, NULL, &error);

  if (result == 1) /* deleted meanwhile */
    return;
  if (result == 0 && window->chunk.count != 2 * (row->last - row->first + 1))
    result = -1;
  for (size_t i = 0; result == 0 && i < window->chunk.count / 2; i++)
    result = read_frame (window, file, row, i, every_ns, &error);
  if (result < 0) {
    window->broken++;
    log_warning ("chunk %" PRId64 " (%s, from %" PRIu64 " to %" PRIu64 ") is not sent, or not all of it: %s", row->id,
                 row->node, row->first, row->last, error.text);
  }
}

static int
compare (const void *one, const void *other)
{
  const struct send_frame *a = one, *b = other;

  if (a->time_ns != b->time_ns)
    return a->time_ns < b->time_ns ? -1 : 1;
  return (a->chunk > b->chunk) - (a->chunk < b->chunk);
}

static void
clear (struct send_window *window)
{
  buffer_clear (&window->bytes);
  window->count = 0;
}

int
send_window_load (struct send_window *window, struct history_file *file, const struct globs *nodes, int64_t every_ns,
                  struct history_place *place, struct error *error)
{
  bool again = place->until > place->chunk;
  const struct chunk_list *list = &window->list;

  clear (window);
  window->list.count = 0;
  if (history_file_chunks_after (file, place->chunk, SEND_WINDOW_CHUNKS, &window->list, error) < 0)
    return -1;
  for (size_t i = 0; i < list->count; i++) {
    const struct chunk_row *row = &list->rows[i];
    if (again ? row->id > place->until : window->bytes.length >= BYTES_MAX)
      break;
    if (*row->node && globs_match (nodes, row->node))
      read_chunk (window, file, row, every_ns);
    place->until = again ? place->until : row->id;
  }
  if (window->count)
    qsort (window->frames, window->count, sizeof window->frames[0], compare);
  return 0;
}

void
send_window_read (struct send_window *window, struct history_file *file, const struct chunk_list *list,
                  int64_t every_ns)
{
  clear (window);
  for (size_t i = 0; i < list->count; i++)
    read_chunk (window, file, &list->rows[i], every_ns);
  if (window->count)
    qsort (window->frames, window->count, sizeof window->frames[0], compare);
}

void
send_window_free (struct send_window *window)
{
  buffer_free (&window->bytes);
  free (window->frames);
  chunk_free (&window->chunk);
  free (window->list.rows);
}

int
send_window_frame (const struct send_window *window, const struct send_frame *frame, struct send_frame_parts *parts)
{
  parts->bytes = window->bytes.data + frame->frame;
  parts->length = frame->frame_length;
  return frame_read_header (parts->bytes, parts->length, &parts->header, NULL) < 0
             ? -1
             : frame_record_read (&parts->record, window->bytes.data + frame->record, frame->record_length,
                                  parts->header.monotonic_ns);
}
