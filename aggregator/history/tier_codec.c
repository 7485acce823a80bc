/* See tier_codec.h. This is the writing side; tier_decode.c reads. */
#include "aggregator/history/tier_codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "aggregator/history/tier_format.h"
#include "aggregator/history/tier_values.h"
#include "synop/array.h"
#include "synop/hash.h"
#include "synop/hash_table.h"
#include "synop/memory.h"

#define PLAIN_MOST 64 /* bytes that are not worth packing */
#define FRACTION_STEPS 24
#define FRACTION_MOST 1e7
#define MEAN_MOST 65536 /* nodes */

/* A segment that grows, column by column. */
struct segment {
  struct number *series[SERIES_COLUMNS], *points[POINT_COLUMNS];
  size_t series_count, series_room, point_count, point_room;
  uint32_t first, last; /* metrics */
};

/* The series of the segment of whole numbers, by which one that comes again is found. */
struct known {
  struct values *values; /* of all points */
  size_t *starts;        /* of series, in values */
  size_t value_room, start_room;
  uint32_t *table; /* hashed: index + 1 */
  size_t table_size;
};

struct tier_writer {
  struct segment segments[TIER_FORMS];
  struct values_writer values;
  struct known known;
  struct buffer labels, directory, body, front, back, packed;
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
  buffer_free (&writer->front);
  buffer_free (&writer->back);
  buffer_free (&writer->packed);
  values_free (&writer->values);
  free (writer->known.values);
  free (writer->known.starts);
  free (writer->known.table);
  buffer_free (&writer->streams.modes);
  buffer_free (&writer->streams.firsts);
  buffer_free (&writer->streams.rest);
  free (writer->scratch);
  ZSTD_freeCCtx (writer->zstd);
  free (writer);
}

/* ---- numbers ---- */

/* The whole number that gives exactly this value when it is divided. */
static bool
whole_of (double value, double divisor, int64_t *whole)
{
  double times = value * divisor;

  if (!(fabs (times) <= TIER_WHOLE_MAX))
    return false;
  *whole = llround (times);
  return (double) *whole / divisor == value;
}

/* Of a sum: nearly this value. */
static bool
whole_near (double value, double divisor, int64_t *whole)
{
  if (whole_of (value, divisor, whole))
    return true;
  return divisor > 1 && fabs (value * divisor) <= TIER_WHOLE_MAX &&
         fabs ((double) *whole / divisor - value) <= TIER_SNAP_ERROR * fabs (value);
}

/* The least number up to `most` of which the value is a fraction, by its continued fraction; 0: none. */
static double
fraction_of (double value, double divisor, double most)
{
  double times = value * divisor, rest = fabs (times) - floor (fabs (times)), before = 0, by = 1;
  int64_t whole;

  for (int i = 0; i < FRACTION_STEPS && rest > 0; i++) {
    double next = 1 / rest, part = floor (next), more = part * by + before;
    before = by;
    by = more;
    rest = next - part;
    if (by > most)
      return 0;
    if (whole_of (value, divisor * by, &whole))
      return by;
  }
  return 0;
}

/* The divisor, times what makes all least and greatest values and sums whole; 0: there is none. */
static double
divisor_from (double divisor, double most, const struct tier_cell *cells, size_t stride, uint32_t times)
{
  int64_t whole;

  for (size_t i = 0; i < 2 * times; i++) {
    const struct tier_cell *cell = &cells[i / 2 * stride];
    double value = i % 2 ? cell->max : cell->min;
    if (cell->count == 0 || whole_of (value, divisor, &whole))
      continue;
    divisor *= fraction_of (value, divisor, most);
    if (divisor == 0 || divisor > TIER_DIVISOR_MAX)
      return 0;
    i = SIZE_MAX; /* of all once more */
  }
  for (size_t i = 0; i < times; i++)
    if (cells[i * stride].count && !whole_near (cells[i * stride].sum, divisor, &whole))
      return 0;
  return divisor;
}

/* Small fractions; or such of decimals that are too long for that, as of ns in s, and means of these. */
static double
find_divisor (const struct tier_cell *cells, size_t stride, uint32_t times)
{
  double divisor = divisor_from (1, FRACTION_MOST, cells, stride, times);

  return divisor > 0 ? divisor : divisor_from (TIER_SNAP, MEAN_MOST, cells, stride, times);
}

static struct number
real_number (double value)
{
  struct number number = { .class = NUMBER_REAL };

  memcpy (&number.bits, &value, sizeof value);
  return number;
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

/* ---- series that come again ---- */

static void
known_grow (struct known *known, size_t count)
{
  if (2 * (count + 1) <= known->table_size)
    return;
  known->table_size = known->table_size ? known->table_size * 2 : 64;
  free (known->table);
  known->table = memory_new (known->table_size, sizeof known->table[0]);
  for (size_t i = 0; i < count; i++) {
    size_t length = (known->starts[i + 1] - known->starts[i]) * sizeof known->values[0];
    size_t at = hash_keyed (known->values + known->starts[i], length) & (known->table_size - 1);
    while (known->table[at])
      at = (at + 1) & (known->table_size - 1);
    known->table[at] = (uint32_t) i + 1;
  }
}

/* The latest series that has these values: its index + 1; 0: none. `index` is the new one's, which is known from now on. */
static uint32_t
know (struct known *known, uint32_t index, const struct values *values, size_t count)
{
  size_t length = count * sizeof *values, begin = index ? known->starts[index] : 0, at;
  uint32_t found = 0;

  known_grow (known, index);
  array_reserve (known->starts, known->start_room, index + 2);
  array_reserve (known->values, known->value_room, begin + count);
  memcpy (known->values + begin, values, length);
  known->starts[index] = begin;
  known->starts[index + 1] = begin + count;
  at = hash_keyed (values, length) & (known->table_size - 1);
  for (; known->table[at] && !found; at = (at + 1) & (known->table_size - 1)) {
    uint32_t one = known->table[at] - 1;
    if (known->starts[one + 1] - known->starts[one] == count &&
        memcmp (known->values + known->starts[one], values, length) == 0) {
      found = one + 1;
      break;
    }
  }
  known->table[at] = index + 1;
  return found;
}

/* ---- points ---- */

static void
write_whole (struct tier_writer *writer, const struct tier_cell *cells, size_t stride, uint32_t times, double divisor)
{
  struct values values[TIER_TIMES_MAX];
  uint32_t index = (uint32_t) writer->segments[TIER_WHOLE].series_count - 1, found;
  size_t count = 0;

  for (size_t i = 0; i < times; i++) {
    const struct tier_cell *cell = &cells[i * stride];
    int64_t min = 0, max = 0, sum = 0;
    if (cell->count == 0)
      continue;
    whole_of (cell->min, divisor, &min);
    whole_of (cell->max, divisor, &max);
    whole_near (cell->sum, divisor, &sum);
    values[count++] = (struct values){ (uint64_t) min, (uint64_t) max - (uint64_t) min,
                                       (uint64_t) sum - cell->count * (uint64_t) min };
  }
  found = know (&writer->known, index, values, count);
  if (found)
    values_write_same (&writer->values, index + 1 - found);
  else
    values_write (&writer->values, values, count);
}

static void
add_point (struct segment *segment, bool whole, uint32_t time, const struct tier_cell *cell)
{
  size_t at = segment->point_count++;
  struct number **points = segment->points;

  points[POINT_TIME][at] = (struct number){ NUMBER_UINT, time };
  points[POINT_COUNT][at] = (struct number){ NUMBER_UINT, cell->count };
  if (whole)
    return;
  points[POINT_MIN][at] = real_number (cell->min);
  points[POINT_MAX][at] = real_number (cell->max);
  points[POINT_SUM][at] = real_number (tier_snap (cell->sum));
}

void
tier_writer_series (struct tier_writer *writer, uint32_t metric, int64_t node, uint32_t label,
                    const struct tier_cell *cells, size_t stride, uint32_t first_time, uint32_t times)
{
  size_t count = 0;
  struct segment *segment;
  double divisor;

  for (size_t i = 0; i < times; i++)
    count += cells[i * stride].count > 0;
  if (count == 0)
    return;
  divisor = find_divisor (cells, stride, times);
  segment = &writer->segments[divisor > 0 ? TIER_WHOLE : TIER_OTHER];
  grow (segment->series, SERIES_COLUMNS, &segment->series_room, segment->series_count + 1);
  grow (segment->points, divisor > 0 ? POINT_MIN : POINT_COLUMNS, &segment->point_room, segment->point_count + count);
  if (segment->series_count == 0)
    segment->first = metric;
  segment->last = metric;
  const uint64_t numbers[SERIES_COLUMNS] = { metric, (uint64_t) node, label, count, (uint64_t) divisor };
  for (size_t i = 0; i < SERIES_COLUMNS; i++)
    segment->series[i][segment->series_count] = (struct number){ NUMBER_UINT, numbers[i] };
  segment->series_count++;
  for (size_t i = 0; i < times; i++)
    if (cells[i * stride].count)
      add_point (segment, divisor > 0, first_time + (uint32_t) i, &cells[i * stride]);
  if (divisor > 0)
    write_whole (writer, cells, stride, times, divisor);
}

/* ---- segments and blobs ---- */

static void
write_columns (struct tier_writer *writer, struct number *const *columns, size_t width, size_t count)
{
  array_reserve (writer->scratch, writer->scratch_room, 2 * count);
  for (size_t i = 0; i < width; i++)
    number_column_write (&writer->streams, columns[i], count, 1, writer->scratch);
}

/* What is shorter of the bytes and these packed. */
static const struct buffer *
pack (struct tier_writer *writer, const struct buffer *bytes)
{
  size_t room = ZSTD_compressBound (bytes->length), length;

  if (bytes->length <= PLAIN_MOST)
    return bytes;
  buffer_clear (&writer->packed);
  length = ZSTD_compress2 (writer->zstd, buffer_reserve (&writer->packed, room), room, bytes->data, bytes->length);
  if (ZSTD_isError (length)) /* not for want of room: zstd has no memory */
    abort ();
  writer->packed.length = length;
  return length < bytes->length ? &writer->packed : bytes;
}

/* Writes the sum of what lies before and behind its place. */
static void
write_sum (struct buffer *out, size_t begin, size_t place)
{
  uint8_t *bytes = (uint8_t *) out->data;
  uint32_t sum = (uint32_t) hash_add (hash_add (HASH_START, bytes + begin, place - begin), bytes + place + 4,
                                      out->length - place - 4);

  for (size_t i = 0; i < 4; i++)
    bytes[place + i] = (uint8_t) (sum >> 8 * i);
}

static void
write_front (struct tier_writer *writer, struct segment *segment, unsigned form)
{
  struct number_streams *streams = &writer->streams;
  struct buffer *front = &writer->front;

  buffer_clear (front);
  buffer_clear (&writer->back);
  buffer_clear (&streams->modes);
  buffer_clear (&streams->firsts);
  buffer_clear (&streams->rest);
  write_columns (writer, segment->series, SERIES_COLUMNS, segment->series_count);
  write_columns (writer, segment->points, form == TIER_WHOLE ? POINT_MIN : POINT_COLUMNS, segment->point_count);
  varint_write (front, segment->series_count);
  varint_write (front, segment->point_count);
  varint_write (front, form);
  varint_write (front, writer->label_count);
  buffer_add (front, writer->labels.data, writer->labels.length);
  varint_write (front, streams->modes.length);
  varint_write (front, streams->firsts.length);
  varint_write (front, streams->rest.length);
  buffer_add (front, streams->modes.data, streams->modes.length);
  buffer_add (front, streams->firsts.data, streams->firsts.length);
  buffer_add (front, streams->rest.data, streams->rest.length);
  if (form == TIER_WHOLE)
    values_end (&writer->values, front, &writer->back);
}

static void
end_segment (struct tier_writer *writer, struct segment *segment, unsigned form)
{
  struct buffer *body = &writer->body;
  const struct buffer *front;
  size_t begin = body->length;

  write_front (writer, segment, form);
  front = pack (writer, &writer->front);
  buffer_add (body, (const char[TIER_SEGMENT_HEAD]){ front == &writer->front ? TIER_PLAIN : TIER_ZSTD },
              TIER_SEGMENT_HEAD);
  varint_write (body, front->length);
  buffer_add (body, front->data, front->length);
  buffer_add (body, writer->back.data, writer->back.length);
  write_sum (body, begin, begin + 1);
  varint_write (&writer->directory, body->length - begin);
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
  values_clear (&writer->values);
  if (writer->known.table)
    memset (writer->known.table, 0, writer->known.table_size * sizeof writer->known.table[0]);
  buffer_clear (&writer->labels);
  writer->label_count = 0;
}

bool
tier_writer_end (struct tier_writer *writer, struct buffer *out)
{
  bool any = writer->segment_count;
  size_t begin = out->length;

  if (any) {
    const struct buffer *directory;
    buffer_clear (&writer->front);
    varint_write (&writer->front, writer->segment_count);
    buffer_add (&writer->front, writer->directory.data, writer->directory.length);
    directory = pack (writer, &writer->front);
    buffer_add (out, (const char[TIER_HEAD]){ TIER_FORMAT, directory == &writer->front ? TIER_PLAIN : TIER_ZSTD },
                TIER_HEAD);
    for (size_t i = 0; i < 4; i++)
      out->data[begin + 6 + i] = (char) (directory->length >> 8 * i);
    buffer_add (out, directory->data, directory->length);
    write_sum (out, begin, begin + 2);
    buffer_add (out, writer->body.data, writer->body.length);
  }
  buffer_clear (&writer->directory);
  buffer_clear (&writer->body);
  writer->segment_count = 0;
  return any;
}
