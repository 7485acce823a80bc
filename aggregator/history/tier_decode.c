/* Reads the blobs of tiers: see tier_codec.h. The bytes may be anything. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "aggregator/history/tier_codec.h"
#include "aggregator/history/tier_format.h"
#include "aggregator/history/tier_values.h"
#include "synop/array.h"
#include "synop/hash.h"
#include "synop/memory.h"

struct reader_label {
  const char *text;
  size_t length;
};

struct tier_reader {
  ZSTD_DCtx *zstd;
  unsigned format; /* of the blob that is read */
  struct buffer front, directory, piece;
  struct number *numbers; /* of a column */
  size_t number_room;
  uint64_t *series[SERIES_COLUMNS];
  size_t series_room;
  struct values *values;
  size_t *starts; /* of series, in values */
  size_t value_room, start_room;
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
  buffer_free (&reader->front);
  buffer_free (&reader->directory);
  buffer_free (&reader->piece);
  free (reader->numbers);
  for (size_t i = 0; i < SERIES_COLUMNS; i++)
    free (reader->series[i]);
  free (reader->values);
  free (reader->starts);
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

/* ---- what is packed ---- */

/* Takes the checksum from behind `head` bytes of kind. -1: it is that of others. */
static int
check_sum (const uint8_t *bytes, size_t head, size_t length)
{
  uint32_t sum = 0;

  for (size_t i = 0; i < 4; i++)
    sum |= (uint32_t) bytes[head + i] << 8 * i;
  return sum == (uint32_t) hash_add (hash_add (HASH_START, bytes, head), bytes + head + 4, length - head - 4) ? 0 : -1;
}

static int
unpack (struct tier_reader *reader, unsigned kind, struct wire *wire, struct buffer *into)
{
  size_t length = (size_t) (wire->end - wire->at);
  unsigned long long size;

  if (wire->bad || kind > TIER_ZSTD)
    return -1;
  if (kind == TIER_PLAIN)
    return 0;
  size = ZSTD_getFrameContentSize (wire->at, length);
  if (size > TIER_PAYLOAD_MAX)
    return -1;
  buffer_clear (into);
  if (ZSTD_decompressDCtx (reader->zstd, buffer_reserve (into, (size_t) size + 1), (size_t) size, wire->at, length) !=
      size)
    return -1;
  *wire = wire_over (into->data, (size_t) size);
  return 0;
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
  for (size_t i = 0; i < (reader->format == TIER_FORMAT_FIRST ? SERIES_DIVISOR : SERIES_COLUMNS); i++) {
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

/* Their times, and how many samples they have. */
static int
read_times (struct tier_reader *reader, struct number_sources *in, size_t count)
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
  return 0;
}

/* Values that are columns; of format 1 `whole` ones too. */
static int
read_columns (struct tier_reader *reader, struct number_sources *in, size_t count, bool whole)
{
  for (size_t column = POINT_MIN; column < POINT_COLUMNS; column++) {
    if (next_column (reader, in, count) < 0)
      return -1;
    for (size_t k = 0; k < count; k++) {
      if (whole && reader->numbers[k].class == NUMBER_REAL)
        return -1;
      take_value (&reader->cells[k], column, whole, &reader->numbers[k]);
    }
  }
  return 0;
}

/* The cells of a series from values, whose minimum and sum are whole numbers to be divided. */
static void
take_values (struct tier_cell *cells, const struct values *values, size_t count, uint64_t divisor)
{
  double by = (double) divisor;

  for (size_t i = 0; i < count; i++) {
    const struct values *one = &values[i];
    cells[i].min = (double) (int64_t) one->min / by;
    cells[i].max = (double) (int64_t) (one->min + one->range) / by;
    cells[i].sum = (double) (int64_t) (one->above + cells[i].count * one->min) / by;
  }
}

/* Whole numbers of format 2, series by series. */
static int
read_values (struct tier_reader *reader, struct wire *front, struct wire *back, size_t count, size_t points)
{
  struct values_reader from;
  size_t at = 0;

  array_reserve (reader->values, reader->value_room, points);
  array_reserve (reader->starts, reader->start_room, count);
  if (values_begin (&from, front, back) < 0)
    return -1;
  for (size_t k = 0; k < count; at += (size_t) reader->series[SERIES_POINTS][k++]) {
    size_t of = (size_t) reader->series[SERIES_POINTS][k];
    uint64_t divisor = reader->series[SERIES_DIVISOR][k], before;
    if (divisor == 0 || divisor > TIER_DIVISOR_MAX || values_read (&from, reader->values + at, of, &before) < 0 ||
        before > k)
      return -1;
    if (before && reader->series[SERIES_POINTS][k - before] != of)
      return -1;
    if (before)
      memcpy (reader->values + at, reader->values + reader->starts[k - before], of * sizeof reader->values[0]);
    reader->starts[k] = at;
    take_values (reader->cells + at, reader->values + at, of, divisor);
  }
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

struct wanted {
  uint32_t first, last; /* metrics */
  void *context;
  void (*series) (void *context, const struct tier_series *series);
};

static int
read_segment (struct tier_reader *reader, struct wire wire, struct wire back, const struct wanted *wanted)
{
  size_t count = (size_t) varint_read (&wire, TIER_SERIES_MAX), points = (size_t) varint_read (&wire, TIER_POINTS_MAX);
  bool whole = varint_read (&wire, TIER_FORMS - 1) == TIER_WHOLE,
       columns = !whole || reader->format == TIER_FORMAT_FIRST;
  uint64_t modes, firsts, rest;
  struct number_sources in;

  if (wire.bad || read_labels (reader, &wire) < 0)
    return -1;
  modes = varint_read (&wire, TIER_PAYLOAD_MAX);
  firsts = varint_read (&wire, TIER_PAYLOAD_MAX);
  rest = reader->format == TIER_FORMAT_FIRST ? 0 : varint_read (&wire, TIER_PAYLOAD_MAX);
  in.modes = take (&wire, modes);
  in.firsts = take (&wire, firsts);
  in.rest = reader->format == TIER_FORMAT_FIRST ? wire : take (&wire, rest);
  if (in.modes.bad || in.firsts.bad || in.rest.bad || read_series (reader, &in, count, points) < 0 ||
      read_times (reader, &in, points) < 0 ||
      (columns ? read_columns (reader, &in, points, whole) : read_values (reader, &wire, &back, count, points)) < 0)
    return -1;
  for (size_t k = 0; k < points; k++)
    if (reader->cells[k].count == 0 || !isfinite (reader->cells[k].sum))
      return -1;
  show_series (reader, count, wanted->first, wanted->last, wanted->context, wanted->series);
  return 0;
}

/* ---- blobs ---- */

static int
read_first_format (struct tier_reader *reader, const uint8_t *bytes, size_t length, const struct wanted *wanted)
{
  struct wire payload = wire_over (bytes + TIER_HEAD_FIRST, length - TIER_HEAD_FIRST), directory, segments;
  const struct wire none = { bytes, bytes, false };
  uint64_t count, total = 0;

  reader->format = TIER_FORMAT_FIRST;
  if (check_sum (bytes, 2, length) < 0 || unpack (reader, bytes[1], &payload, &reader->front) < 0)
    return -1;
  count = varint_read (&payload, TIER_SEGMENTS_MAX);
  directory = segments = payload;
  for (uint64_t i = 0; i < 3 * count; i++)
    varint_read (&segments, UINT64_MAX); /* behind the directory they begin */
  for (uint64_t i = 0; i < count && !segments.bad; i++) {
    struct wire segment = take (&segments, varint_read (&directory, TIER_PAYLOAD_MAX));
    uint64_t from = varint_read (&directory, UINT32_MAX), to = varint_read (&directory, UINT32_MAX);
    total += (uint64_t) (segment.end - segment.at);
    if (directory.bad || segments.bad ||
        (to >= wanted->first && from <= wanted->last && read_segment (reader, segment, none, wanted) < 0))
      return -1;
  }
  return !segments.bad && segments.at == segments.end && total ? 0 : -1;
}

/* Bytes of the source; NULL: they cannot be had. */
static const uint8_t *
fetch (struct buffer *into, const struct tier_source *source, size_t offset, size_t length)
{
  if (offset > source->length || length > source->length - offset)
    return NULL;
  if (source->bytes)
    return (const uint8_t *) source->bytes + offset;
  buffer_clear (into);
  return source->fetch (source->context, buffer_reserve (into, length + 1), offset, length) == 0
             ? (const uint8_t *) into->data
             : NULL;
}

static int
read_piece (struct tier_reader *reader, const uint8_t *bytes, size_t length, const struct wanted *wanted)
{
  struct wire back, front;

  if (!bytes || length < TIER_SEGMENT_HEAD || check_sum (bytes, 1, length) < 0)
    return -1;
  back = wire_over (bytes + TIER_SEGMENT_HEAD, length - TIER_SEGMENT_HEAD);
  front = take (&back, varint_read (&back, TIER_PAYLOAD_MAX));
  return unpack (reader, bytes[0], &front, &reader->front) < 0 ? -1 : read_segment (reader, front, back, wanted);
}

static int
read_blob (struct tier_reader *reader, const struct tier_source *source, const uint8_t *head,
           const struct wanted *wanted)
{
  size_t at = 0, length = TIER_HEAD;
  struct wire directory;
  const uint8_t *bytes;
  uint64_t count;
  unsigned kind = head[1];

  for (size_t i = 0; i < 4; i++)
    length += (size_t) head[6 + i] << 8 * i;
  bytes = fetch (&reader->piece, source, 0, length);
  if (!bytes || check_sum (bytes, 2, length) < 0)
    return -1;
  reader->format = TIER_FORMAT;
  directory = wire_over (bytes + TIER_HEAD, length - TIER_HEAD);
  if (kind == TIER_PLAIN) { /* it stays while segments are read */
    buffer_clear (&reader->directory);
    buffer_add (&reader->directory, bytes + TIER_HEAD, length - TIER_HEAD);
    directory = wire_over (reader->directory.data, length - TIER_HEAD);
  }
  if (unpack (reader, kind, &directory, &reader->directory) < 0)
    return -1;
  count = varint_read (&directory, TIER_SEGMENTS_MAX);
  for (at = length; count > 0 && !directory.bad; count--, at += length) {
    uint64_t from, to;
    length = (size_t) varint_read (&directory, TIER_PAYLOAD_MAX);
    from = varint_read (&directory, UINT32_MAX);
    to = varint_read (&directory, UINT32_MAX);
    if (to >= wanted->first && from <= wanted->last && !directory.bad &&
        read_piece (reader, fetch (&reader->piece, source, at, length), length, wanted) < 0)
      return -1;
  }
  return !directory.bad && directory.at == directory.end && at == source->length ? 0 : -1;
}

int
tier_reader_read_source (struct tier_reader *reader, const struct tier_source *source, uint32_t first, uint32_t last,
                         void *context, void (*series) (void *context, const struct tier_series *series),
                         struct error *error)
{
  const struct wanted wanted = { first, last, context, series };
  const uint8_t *bytes = fetch (&reader->piece, source, 0, TIER_HEAD);
  int result = -1;

  if (bytes && bytes[0] == TIER_FORMAT)
    result = read_blob (reader, source, bytes, &wanted);
  else if (bytes && bytes[0] == TIER_FORMAT_FIRST && (bytes = fetch (&reader->piece, source, 0, source->length)))
    result = read_first_format (reader, bytes, source->length, &wanted);
  return result < 0 ? broken (error) : 0;
}

int
tier_reader_read (struct tier_reader *reader, const void *bytes, size_t length, uint32_t first, uint32_t last,
                  void *context, void (*series) (void *context, const struct tier_series *series), struct error *error)
{
  const struct tier_source source = { .bytes = bytes, .length = length };

  return tier_reader_read_source (reader, &source, first, last, context, series, error);
}
