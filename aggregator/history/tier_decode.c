/* Reads the blobs of tiers: see tier_codec.h. The bytes may be anything. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "aggregator/history/tier_codec.h"
#include "aggregator/history/tier_format.h"
#include "synop/array.h"
#include "synop/hash.h"
#include "synop/memory.h"

struct reader_label {
  const char *text;
  size_t length;
};

struct tier_reader {
  ZSTD_DCtx *zstd;
  struct buffer payload;
  struct number *numbers; /* of a column */
  size_t number_room;
  uint64_t *series[SERIES_COLUMNS];
  size_t series_room;
  uint32_t *times;
  struct tier_cell *cells;
  size_t time_room, cell_room;
  struct reader_label *labels;
  size_t label_count, label_room;
};

struct tier_reader *
tier_reader_create (void)
{
  struct tier_reader *reader = memory_new (1, sizeof *reader);

  reader->zstd = ZSTD_createDCtx ();
  if (!reader->zstd)
    abort ();
  return reader;
}

void
tier_reader_destroy (struct tier_reader *reader)
{
  if (!reader)
    return;
  ZSTD_freeDCtx (reader->zstd);
  buffer_free (&reader->payload);
  free (reader->numbers);
  for (size_t i = 0; i < SERIES_COLUMNS; i++)
    free (reader->series[i]);
  free (reader->times);
  free (reader->cells);
  free (reader->labels);
  free (reader);
}

static int
broken (struct error *error)
{
  return error_set (error, "it is broken");
}

/* ---- the payload ---- */

static int
open_payload (struct tier_reader *reader, const void *bytes, size_t length, struct wire *payload)
{
  const uint8_t *head = bytes;
  unsigned long long size;
  uint32_t sum = 0;

  if (length < TIER_HEAD || head[0] != TIER_FORMAT)
    return -1;
  for (size_t i = 0; i < 4; i++)
    sum |= (uint32_t) head[2 + i] << 8 * i;
  if (sum != (uint32_t) hash_add (hash_add (HASH_START, head, 2), head + TIER_HEAD, length - TIER_HEAD))
    return -1;
  if (head[1] == TIER_PLAIN) {
    *payload = wire_over (head + TIER_HEAD, length - TIER_HEAD);
    return 0;
  }
  size = ZSTD_getFrameContentSize (head + TIER_HEAD, length - TIER_HEAD);
  if (head[1] != TIER_ZSTD || size > TIER_PAYLOAD_MAX)
    return -1;
  buffer_clear (&reader->payload);
  if (ZSTD_decompressDCtx (reader->zstd, buffer_reserve (&reader->payload, (size_t) size + 1), (size_t) size,
                           head + TIER_HEAD, length - TIER_HEAD) != size)
    return -1;
  *payload = wire_over (reader->payload.data, (size_t) size);
  return 0;
}

static struct wire
take (struct wire *wire, uint64_t length)
{
  struct wire part = { wire->at, wire->at, true };

  if (wire->bad || length > (uint64_t) (wire->end - wire->at)) {
    wire->bad = true;
    return part;
  }
  wire->at += length;
  return (struct wire){ part.at, wire->at, false };
}

/* ---- a segment ---- */

static int
read_labels (struct tier_reader *reader, struct wire *wire)
{
  uint64_t count = varint_read (wire, TIER_SERIES_MAX);

  reader->label_count = 0;
  for (uint64_t i = 0; i < count && !wire->bad; i++) {
    struct wire text = take (wire, varint_read (wire, TIER_PAYLOAD_MAX));
    *array_add (reader->labels, reader->label_count, reader->label_room) =
        (struct reader_label){ (const char *) text.at, (size_t) (text.end - text.at) };
  }
  return wire->bad ? -1 : 0;
}

static int
next_column (struct tier_reader *reader, struct number_sources *in, size_t count)
{
  array_reserve (reader->numbers, reader->number_room, count);
  return count ? number_column_read (in, reader->numbers, count, 1) : -1;
}

static double
to_double (const struct number *number)
{
  double real;

  if (number->class == NUMBER_UINT)
    return (double) number->bits;
  if (number->class == NUMBER_NEGATIVE)
    return (double) (int64_t) number->bits;
  memcpy (&real, &number->bits, sizeof real);
  return real;
}

/* Reads the columns of the series: their sum of points is `points`, and every label is there. */
static int
read_series (struct tier_reader *reader, struct number_sources *in, size_t count, size_t points)
{
  uint64_t sum = 0;

  if (count > reader->series_room) {
    reader->series_room = count * 2;
    for (size_t i = 0; i < SERIES_COLUMNS; i++)
      reader->series[i] = memory_resize (reader->series[i], reader->series_room, sizeof reader->series[i][0]);
  }
  for (size_t i = 0; i < SERIES_COLUMNS; i++) {
    if (next_column (reader, in, count) < 0)
      return -1;
    for (size_t k = 0; k < count; k++)
      reader->series[i][k] = reader->numbers[k].bits;
  }
  for (size_t k = 0; k < count; k++) {
    if (reader->series[SERIES_LABEL][k] > reader->label_count || reader->series[SERIES_POINTS][k] > TIER_TIMES_MAX)
      return -1;
    sum += reader->series[SERIES_POINTS][k];
  }
  return sum == points ? 0 : -1;
}

/* Of a minimum that others are counted from. What is none is of a damaged block. */
static uint64_t
whole_bits (double value)
{
  return fabs (value) <= TIER_WHOLE_MAX ? (uint64_t) (int64_t) value : 0;
}

static void
take_value (struct tier_cell *cell, size_t column, bool whole, const struct number *number)
{
  uint64_t min = whole && column != POINT_MIN ? whole_bits (cell->min) : 0;

  if (column == POINT_MIN)
    cell->min = to_double (number);
  else if (column == POINT_MAX)
    cell->max = whole ? (double) (int64_t) (number->bits + min) : to_double (number);
  else
    cell->sum = whole ? (double) (int64_t) (number->bits + cell->count * min) : to_double (number);
}

static int
read_points (struct tier_reader *reader, struct number_sources *in, size_t count, bool whole)
{
  array_reserve (reader->times, reader->time_room, count);
  array_reserve (reader->cells, reader->cell_room, count);
  if (next_column (reader, in, count) < 0)
    return -1;
  for (size_t k = 0; k < count; k++) {
    if (reader->numbers[k].bits >= TIER_TIMES_MAX)
      return -1;
    reader->times[k] = (uint32_t) reader->numbers[k].bits;
  }
  if (next_column (reader, in, count) < 0)
    return -1;
  for (size_t k = 0; k < count; k++)
    reader->cells[k].count = reader->numbers[k].bits;
  for (size_t column = POINT_MIN; column < POINT_COLUMNS; column++) {
    if (next_column (reader, in, count) < 0)
      return -1;
    for (size_t k = 0; k < count; k++) {
      if (whole && reader->numbers[k].class == NUMBER_REAL)
        return -1;
      take_value (&reader->cells[k], column, whole, &reader->numbers[k]);
    }
  }
  for (size_t k = 0; k < count; k++)
    if (reader->cells[k].count == 0 || !isfinite (reader->cells[k].sum))
      return -1;
  return 0;
}

static void
show_series (struct tier_reader *reader, size_t count, uint32_t first, uint32_t last, void *context,
             void (*series) (void *context, const struct tier_series *series))
{
  size_t at = 0;

  for (size_t k = 0; k < count; at += reader->series[SERIES_POINTS][k++]) {
    uint64_t metric = reader->series[SERIES_METRIC][k], label = reader->series[SERIES_LABEL][k];
    struct tier_series one = { .metric = (uint32_t) metric,
                               .node = (int64_t) reader->series[SERIES_NODE][k],
                               .label = label ? reader->labels[label - 1].text : NULL,
                               .length = label ? reader->labels[label - 1].length : 0,
                               .count = (size_t) reader->series[SERIES_POINTS][k],
                               .times = reader->times + at,
                               .cells = reader->cells + at };
    if (metric >= first && metric <= last)
      series (context, &one);
  }
}

static int
read_segment (struct tier_reader *reader, struct wire wire, uint32_t first, uint32_t last, void *context,
              void (*series) (void *context, const struct tier_series *series))
{
  size_t count = (size_t) varint_read (&wire, TIER_SERIES_MAX), points = (size_t) varint_read (&wire, TIER_POINTS_MAX);
  uint64_t form = varint_read (&wire, TIER_FORMS - 1), modes, firsts;
  struct wire at_modes, at_firsts;
  struct number_sources in;

  if (wire.bad || read_labels (reader, &wire) < 0)
    return -1;
  modes = varint_read (&wire, TIER_PAYLOAD_MAX);
  firsts = varint_read (&wire, TIER_PAYLOAD_MAX);
  at_modes = take (&wire, modes);
  at_firsts = take (&wire, firsts);
  in = (struct number_sources){ at_modes, at_firsts, wire };
  if (wire.bad || read_series (reader, &in, count, points) < 0 ||
      read_points (reader, &in, points, form == TIER_WHOLE) < 0)
    return -1;
  show_series (reader, count, first, last, context, series);
  return 0;
}

int
tier_reader_read (struct tier_reader *reader, const void *bytes, size_t length, uint32_t first, uint32_t last,
                  void *context, void (*series) (void *context, const struct tier_series *series), struct error *error)
{
  struct wire payload, directory, segments;
  uint64_t count, total = 0;

  if (open_payload (reader, bytes, length, &payload) < 0)
    return broken (error);
  count = varint_read (&payload, TIER_SEGMENTS_MAX);
  directory = segments = payload;
  for (uint64_t i = 0; i < 3 * count; i++)
    varint_read (&segments, UINT64_MAX); /* behind the directory they begin */
  if (segments.bad)
    return broken (error);
  for (uint64_t i = 0; i < count; i++) {
    struct wire segment = take (&segments, varint_read (&directory, TIER_PAYLOAD_MAX));
    uint64_t from = varint_read (&directory, UINT32_MAX), to = varint_read (&directory, UINT32_MAX);
    total += (uint64_t) (segment.end - segment.at);
    if (directory.bad || segments.bad)
      return broken (error);
    if (to >= first && from <= last && read_segment (reader, segment, first, last, context, series) < 0)
      return broken (error);
  }
  return segments.at == segments.end && total ? 0 : broken (error);
}
