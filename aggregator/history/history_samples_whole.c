/* See history_samples.h: samples themselves, and those of a chunk that is stored without forms. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "aggregator/history/history_record.h"
#include "aggregator/history/history_samples_private.h"
#include "synop/array.h"
#include "synop/frame.h"
#include "synop/memory.h"
#include "synop/report.h"

struct sample *
samples_add (struct samples *samples)
{
  struct sample *sample;

  if (samples->count % 64 == 0)
    samples->list = memory_resize (samples->list, samples->count + 64, sizeof samples->list[0]);
  sample = &samples->list[samples->count++];
  *sample = (struct sample){ 0 };
  return sample;
}

size_t
samples_add_values (struct samples *samples, size_t count)
{
  size_t at = samples->value_count;

  if (at + count > samples->value_room) {
    samples->value_room = 2 * (at + count);
    samples->values = memory_resize (samples->values, samples->value_room, sizeof samples->values[0]);
    samples->counted = memory_resize (samples->counted, samples->value_room, sizeof samples->counted[0]);
  }
  for (size_t i = at; i < at + count; i++)
    samples->values[i] = (struct value){ .type = VALUE_MISSING };
  samples->value_count += count;
  return at;
}

struct sample_labels *
samples_add_labels (struct samples *samples)
{
  struct sample_labels *labels = memory_new (1, sizeof *labels);

  *array_add (samples->labels, samples->label_count, samples->label_room) = labels;
  return labels;
}

void
samples_clear (struct samples *samples)
{
  for (size_t i = 0; i < samples->label_count; i++) {
    buffer_free (&samples->labels[i]->text);
    free (samples->labels[i]->ends);
    free (samples->labels[i]);
  }
  samples->label_count = samples->value_count = samples->count = 0;
  samples->id = 0;
  samples->by_frames = false;
  samples->schema = NULL;
  samples->group = NULL;
  samples->metric = NULL;
}

void
samples_free (struct samples *samples)
{
  samples_clear (samples);
  free (samples->list);
  free (samples->values);
  free (samples->counted);
  free (samples->labels);
  ZSTD_freeDCtx (samples->zstd);
  buffer_free (&samples->raw);
  *samples = (struct samples){ 0 };
}

void
samples_choose (struct samples *samples, const struct samples_wanted *wanted, const uint8_t *hash,
                struct samples_columns *columns)
{
  *columns = (struct samples_columns){ SIZE_MAX, SIZE_MAX, SIZE_MAX };
  samples->schema = history_file_schema (wanted->file, hash, NULL);
  for (size_t i = 0; samples->schema && i < samples->schema->group_count; i++) {
    const struct group *group = samples->schema->groups[i];
    if (strcmp (group->name, wanted->group) != 0)
      continue;
    for (size_t k = 0; k < group->metric_count; k++)
      if (strcmp (group->metrics[k].name, wanted->metric) == 0 && group->metrics[k].kind != TEXT) {
        *columns = (struct samples_columns){ i, k, report_gates_of (group).counts };
        samples->group = group;
        samples->metric = &group->metrics[k];
      }
  }
}

/* ---- labels ---- */

const char *
sample_label (const struct sample_labels *labels, size_t row, size_t *length)
{
  size_t from = row ? labels->ends[row - 1] : 0;

  *length = labels->ends[row] - from;
  return *length ? labels->text.data + from : "";
}

static bool
is_label (const struct sample_labels *labels, size_t row, const char *label, size_t length)
{
  size_t other;
  const char *text = sample_label (labels, row, &other);

  return other == length && memcmp (text, label, length) == 0;
}

size_t
sample_find_row (const struct sample_labels *labels, const char *label, size_t length, size_t hint)
{
  if (hint < labels->count && is_label (labels, hint, label, length))
    return hint;
  for (size_t row = 0; row < labels->count; row++)
    if (is_label (labels, row, label, length))
      return row;
  return SIZE_MAX;
}

/* ---- frames ---- */

struct frames {
  struct samples *samples;
  struct samples_columns columns;
  struct table table;
  bool made, found;
};

static struct table *
take_table (void *context, size_t group)
{
  struct frames *frames = context;

  if (group != frames->columns.group)
    return NULL;
  frames->found = true;
  table_begin (&frames->table);
  return &frames->table;
}

static void
take_values (struct frames *frames, struct sample *sample)
{
  struct samples *samples = frames->samples;
  const struct table *table = &frames->table;
  struct report_gates gates = { frames->columns.gate, SIZE_MAX };
  struct sample_labels *labels;

  sample->there = true;
  sample->period_ns = table->period_ns;
  if (samples->metric->flags & METRIC_OF_NODE) {
    sample->rows = 1;
    sample->at = samples_add_values (samples, 1);
    samples->values[sample->at] = *table_get (table, TABLE_NODE, frames->columns.column);
    return;
  }
  labels = samples_add_labels (samples);
  sample->labels = labels;
  sample->rows = table->rows;
  sample->at = samples_add_values (samples, table->rows);
  for (size_t row = 0; row < table->rows; row++) {
    size_t length;
    const char *label = table_label (table, row, &length);
    buffer_add (&labels->text, label, length);
    *array_add (labels->ends, labels->count, labels->capacity) = labels->text.length;
    samples->values[sample->at + row] = *table_get (table, row, frames->columns.column);
    samples->counted[sample->at + row] = report_row_counts (&gates, table, row);
  }
}

/* In a frame's record the distances are in order of groups, of those that the frame has. */
static uint64_t
distance_of (const struct frame_record *record, const bool *has, size_t group)
{
  size_t before = 0;

  for (size_t i = 0; i < group; i++)
    before += has[i];
  return before < record->count ? record->distances[before] : 0;
}

struct having {
  struct frames *frames;
  bool has[SCHEMA_GROUPS_MAX];
};

static struct table *
take_any (void *context, size_t group)
{
  struct having *having = context;

  having->has[group] = true;
  return take_table (having->frames, group);
}

static int
take_frame (struct frames *frames, const struct samples_wanted *wanted, const struct chunk *chunk, size_t index,
            struct error *error)
{
  struct samples *samples = frames->samples;
  struct having having = { .frames = frames };
  struct frame_sink sink = { .context = &having, .take = take_any };
  struct frame_header header;
  struct frame_record record;
  size_t length, frame_length;
  const void *bytes = chunk_message (chunk, 2 * index, &length);
  const void *message = chunk_message (chunk, 2 * index + 1, &frame_length);
  struct sample *sample;

  if (frame_read_header (message, frame_length, &header, error) < 0)
    return -1;
  if (frame_record_read (&record, bytes, length, header.monotonic_ns) < 0)
    return error_set (error, "a frame is broken");
  if (!samples->schema)
    samples_choose (samples, wanted, header.schema, &frames->columns);
  if (!samples->schema || memcmp (samples->schema->hash, header.schema, SCHEMA_HASH_SIZE) != 0)
    return error_set (error, "a schema is missing");
  if (!samples->group)
    return 0;
  if (!frames->made)
    table_init (&frames->table, samples->group);
  frames->made = true;
  frames->found = false;
  if (frame_read_tables (message, frame_length, &header, samples->schema, &sink, error) < 0)
    return -1;
  sample = samples_add (samples);
  sample->sequence = header.sequence;
  sample->monotonic_ns = header.monotonic_ns;
  sample->time_ns = record.time_ns;
  sample->distance = distance_of (&record, having.has, frames->columns.group);
  if (frames->found)
    take_values (frames, sample);
  return 0;
}

int
samples_read_whole (struct samples *samples, const struct samples_wanted *wanted, const struct buffer *raw,
                    struct error *error)
{
  struct frames frames = { .samples = samples };
  struct chunk chunk = { 0 };
  int result = chunk_read (&chunk, raw->data, raw->length, error);

  if (result == 0 && chunk.count % 2)
    result = error_set (error, "it does not hold what it should");
  for (size_t i = 0; i < chunk.count / 2 && result == 0; i++)
    result = take_frame (&frames, wanted, &chunk, i, error);
  if (frames.made)
    table_free (&frames.table);
  chunk_free (&chunk);
  return result;
}
