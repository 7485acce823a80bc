/* See tier_codec.h. This is the writing side; tier_decode.c reads. */
#include "aggregator/history/tier_codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "aggregator/history/tier_format.h"
#include "synop/array.h"
#include "synop/hash.h"
#include "synop/memory.h"

#define PLAIN_MOST 64    /* bytes that are not worth packing */
#define SNAP 1e6         /* sums of decimals are rounded to so many places, where that changes them by */
#define SNAP_ERROR 1e-12 /* no more than this part: what adding them up has cost */

/* A segment that grows, column by column. */
struct segment {
  struct number *series[SERIES_COLUMNS], *points[POINT_COLUMNS];
  size_t series_count, series_room, point_count, point_room;
  uint32_t first, last; /* metrics */
};

struct tier_writer {
  struct segment segments[TIER_FORMS];
  struct buffer labels, directory, body, payload;
  uint32_t label_count;
  struct number_streams streams;
  size_t segment_count;
  int64_t *scratch;
  size_t scratch_room;
  ZSTD_CCtx *zstd;
};

struct tier_writer *
tier_writer_create (int level)
{
  struct tier_writer *writer = memory_new (1, sizeof *writer);

  writer->zstd = ZSTD_createCCtx ();
  if (!writer->zstd)
    abort ();
  ZSTD_CCtx_setParameter (writer->zstd, ZSTD_c_compressionLevel, level);
  return writer;
}

void
tier_writer_destroy (struct tier_writer *writer)
{
  if (!writer)
    return;
  for (size_t form = 0; form < TIER_FORMS; form++) {
    for (size_t i = 0; i < SERIES_COLUMNS; i++)
      free (writer->segments[form].series[i]);
    for (size_t i = 0; i < POINT_COLUMNS; i++)
      free (writer->segments[form].points[i]);
  }
  buffer_free (&writer->labels);
  buffer_free (&writer->directory);
  buffer_free (&writer->body);
  buffer_free (&writer->payload);
  buffer_free (&writer->streams.modes);
  buffer_free (&writer->streams.firsts);
  buffer_free (&writer->streams.rest);
  free (writer->scratch);
  ZSTD_freeCCtx (writer->zstd);
  free (writer);
}

/* ---- numbers ---- */

static bool
is_whole (double value)
{
  return fabs (value) <= TIER_WHOLE_MAX && value == (double) (int64_t) value;
}

static struct number
whole_number (double value)
{
  int64_t whole = (int64_t) value;

  return (struct number){ whole < 0 ? NUMBER_NEGATIVE : NUMBER_UINT, (uint64_t) whole };
}

static struct number
real_number (double value)
{
  struct number number = { .class = NUMBER_REAL };

  memcpy (&number.bits, &value, sizeof value);
  return number;
}

static double
snap (double value)
{
  double near = llround (value * SNAP) / SNAP;

  return fabs (value) < 1e9 && fabs (near - value) <= SNAP_ERROR * fabs (value) ? near : value;
}

/* ---- series ---- */

static void
grow (struct number **columns, size_t count, size_t *room, size_t needed)
{
  if (needed <= *room)
    return;
  *room = needed * 2 + 64;
  for (size_t i = 0; i < count; i++)
    columns[i] = memory_resize (columns[i], *room, sizeof columns[i][0]);
}

uint32_t
tier_writer_label (struct tier_writer *writer, const char *label, size_t length)
{
  varint_write (&writer->labels, length);
  buffer_add (&writer->labels, label, length);
  return ++writer->label_count;
}

static void
add_point (struct segment *segment, bool whole, uint32_t time, const struct tier_cell *cell)
{
  size_t at = segment->point_count++;
  struct number **points = segment->points;

  points[POINT_TIME][at] = (struct number){ NUMBER_UINT, time };
  points[POINT_COUNT][at] = (struct number){ NUMBER_UINT, cell->count };
  if (whole) {
    uint64_t min = (uint64_t) (int64_t) cell->min;
    points[POINT_MIN][at] = whole_number (cell->min);
    points[POINT_MAX][at] = (struct number){ NUMBER_UINT, (uint64_t) (int64_t) cell->max - min };
    points[POINT_SUM][at] = (struct number){ NUMBER_UINT, (uint64_t) (int64_t) cell->sum - cell->count * min };
  } else {
    points[POINT_MIN][at] = real_number (cell->min);
    points[POINT_MAX][at] = real_number (cell->max);
    points[POINT_SUM][at] = real_number (snap (cell->sum));
  }
}

void
tier_writer_series (struct tier_writer *writer, uint32_t metric, int64_t node, uint32_t label,
                    const struct tier_cell *cells, size_t stride, uint32_t first_time, uint32_t times)
{
  bool whole = true;
  size_t count = 0;
  struct segment *segment;

  for (size_t i = 0; i < times; i++) {
    const struct tier_cell *cell = &cells[i * stride];
    if (cell->count == 0)
      continue;
    count++;
    whole = whole && is_whole (cell->min) && is_whole (cell->max) && is_whole (cell->sum);
  }
  if (count == 0)
    return;
  segment = &writer->segments[whole ? TIER_WHOLE : TIER_OTHER];
  grow (segment->series, SERIES_COLUMNS, &segment->series_room, segment->series_count + 1);
  grow (segment->points, POINT_COLUMNS, &segment->point_room, segment->point_count + count);
  if (segment->series_count == 0)
    segment->first = metric;
  segment->last = metric;
  const uint64_t numbers[SERIES_COLUMNS] = { metric, (uint64_t) node, label, count };
  for (size_t i = 0; i < SERIES_COLUMNS; i++)
    segment->series[i][segment->series_count] = (struct number){ NUMBER_UINT, numbers[i] };
  segment->series_count++;
  for (size_t i = 0; i < times; i++)
    if (cells[i * stride].count)
      add_point (segment, whole, first_time + (uint32_t) i, &cells[i * stride]);
}

/* ---- segments and blobs ---- */

static void
write_columns (struct tier_writer *writer, struct number *const *columns, size_t width, size_t count)
{
  array_reserve (writer->scratch, writer->scratch_room, 2 * count);
  for (size_t i = 0; i < width; i++)
    number_column_write (&writer->streams, columns[i], count, 1, writer->scratch);
}

static void
end_segment (struct tier_writer *writer, struct segment *segment, unsigned form)
{
  struct number_streams *streams = &writer->streams;
  struct buffer *body = &writer->body;
  size_t before = body->length;

  buffer_clear (&streams->modes);
  buffer_clear (&streams->firsts);
  buffer_clear (&streams->rest);
  write_columns (writer, segment->series, SERIES_COLUMNS, segment->series_count);
  write_columns (writer, segment->points, POINT_COLUMNS, segment->point_count);
  varint_write (body, segment->series_count);
  varint_write (body, segment->point_count);
  varint_write (body, form);
  varint_write (body, writer->label_count);
  buffer_add (body, writer->labels.data, writer->labels.length);
  varint_write (body, streams->modes.length);
  varint_write (body, streams->firsts.length);
  buffer_add (body, streams->modes.data, streams->modes.length);
  buffer_add (body, streams->firsts.data, streams->firsts.length);
  buffer_add (body, streams->rest.data, streams->rest.length);
  varint_write (&writer->directory, body->length - before);
  varint_write (&writer->directory, segment->first);
  varint_write (&writer->directory, segment->last);
  writer->segment_count++;
  segment->series_count = segment->point_count = 0;
}

void
tier_writer_segment (struct tier_writer *writer)
{
  for (unsigned form = 0; form < TIER_FORMS; form++)
    if (writer->segments[form].series_count)
      end_segment (writer, &writer->segments[form], form);
  buffer_clear (&writer->labels);
  writer->label_count = 0;
}

/* Adds head and payload; packed if that is shorter. */
static void
write_blob (struct tier_writer *writer, struct buffer *out)
{
  const struct buffer *payload = &writer->payload;
  size_t room = ZSTD_compressBound (payload->length), length = 0;
  uint8_t *head = (uint8_t *) buffer_reserve (out, TIER_HEAD + room);
  uint32_t sum;

  if (payload->length > PLAIN_MOST)
    length = ZSTD_compress2 (writer->zstd, head + TIER_HEAD, room, payload->data, payload->length);
  if (ZSTD_isError (length)) /* not for want of room: zstd has no memory */
    abort ();
  head[0] = TIER_FORMAT;
  head[1] = length && length < payload->length ? TIER_ZSTD : TIER_PLAIN;
  if (head[1] == TIER_PLAIN)
    memcpy (head + TIER_HEAD, payload->data, length = payload->length);
  sum = (uint32_t) hash_add (hash_add (HASH_START, head, 2), head + TIER_HEAD, length);
  for (size_t i = 0; i < 4; i++)
    head[2 + i] = (uint8_t) (sum >> 8 * i);
  out->length += TIER_HEAD + length;
}

bool
tier_writer_end (struct tier_writer *writer, struct buffer *out)
{
  bool any = writer->segment_count;

  if (any) {
    buffer_clear (&writer->payload);
    varint_write (&writer->payload, writer->segment_count);
    buffer_add (&writer->payload, writer->directory.data, writer->directory.length);
    buffer_add (&writer->payload, writer->body.data, writer->body.length);
    write_blob (writer, out);
  }
  buffer_clear (&writer->directory);
  buffer_clear (&writer->body);
  writer->segment_count = 0;
  return any;
}
