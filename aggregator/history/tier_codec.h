/* Points of tiers as bytes: what a minute or an hour has of one metric of one row, packed in columns.
 *
 *   blob      = 2, kind (0: plain, 1: zstd), checksum (4 bytes), length of the directory (4 bytes), directory, segments
 *   directory = (packed, if the kind says so) count of segments, [length, first metric, last metric]...
 *   segment   = kind, checksum, length of the front, front (packed, if the kind says so), back
 *   front     = series, points, form, count of labels, [length, label]..., lengths of modes, of firsts, of rest, modes,
 *               firsts, rest, values
 *   columns   = of series: metric, node, label + 1 (0: the node as a whole), points, divisor; of points: time, count; of
 *               form 1 (any numbers) then min, max, sum
 *   values    = of form 0: min, max - min, sum - count * min as whole numbers, of which each is divided by the series'
 *               divisor (tier_values.h); a part of them lies in the back
 *
 * The checksum is of what lies behind it, and of the two bytes, or the one, before it: of a blob, of its directory. So of
 * one metric no more is read than the directory and a segment or two.
 *
 * Other lengths and counts are varints, columns those of history_number.h. Time is an index: the minute of the hour, or the
 * hour of the day. Values are raw: before the metric's scale; a share is in units of 0.0001 percent.
 *
 * Blobs of format 1 are read too:
 *
 *   blob     = 1, kind, checksum, payload (packed, if the kind says so)
 *   payload  = count of segments, [length, first metric, last metric]..., segments
 *   segment  = series, points, form, count of labels, [length, label]..., length of modes, of firsts, modes, firsts, rest
 *   columns  = of series: metric, node, label + 1, points; of points: time, count, then form 0 (whole numbers): min,
 *              max - min, sum - count * min; form 1: min, max, sum */
#ifndef SYNOP_AGGREGATOR_TIER_CODEC_H
#define SYNOP_AGGREGATOR_TIER_CODEC_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_number.h"
#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/metric.h"

#define TIER_SHARE_UNIT 1e4 /* a share of 1 percent as it is stored */
#define TIER_WHOLE_MAX 9007199254740992.0

struct tier_cell {
  uint64_t count; /* 0: nothing */
  double sum, min, max;
};

static inline void
tier_cell_add (struct tier_cell *to, double value)
{
  to->min = to->count == 0 || value < to->min ? value : to->min;
  to->max = to->count == 0 || value > to->max ? value : to->max;
  to->sum += value;
  to->count++;
}

static inline void
tier_cell_merge (struct tier_cell *to, const struct tier_cell *from)
{
  if (from->count == 0)
    return;
  to->min = to->count == 0 || from->min < to->min ? from->min : to->min;
  to->max = to->count == 0 || from->max > to->max ? from->max : to->max;
  to->sum += from->sum;
  to->count += from->count;
}

#define TIER_SNAP 1e9         /* sums of decimals are rounded to so many places, where that changes them by */
#define TIER_SNAP_ERROR 1e-12 /* no more than this part: what adding them up has cost */

static inline double
tier_snap (double value)
{
  double near;

  if (!(fabs (value) < 1e9))
    return value;
  near = (double) llround (value * TIER_SNAP) / TIER_SNAP;
  return fabs (near - value) <= TIER_SNAP_ERROR * fabs (value) ? near : value;
}

/* A value as it is stored. */
static inline double
tier_stored (enum metric_kind kind, uint32_t flags, double value)
{
  if (kind != COUNTER || !(flags & METRIC_SHARE))
    return value;
  value = value * TIER_SHARE_UNIT + 0.5;
  return fabs (value) < TIER_WHOLE_MAX ? (double) (int64_t) value : value; /* never below 0 */
}

/* ---- writing ---- */

struct tier_writer;

struct tier_writer *tier_writer_create (int level);    /* of zstd */
void tier_writer_destroy (struct tier_writer *writer); /* NULL is fine */
/* A label of the current segment: its number, from 1. */
uint32_t tier_writer_label (struct tier_writer *writer, const char *label, size_t length);
/* A series of the current segment; metrics come in order. `label` 0: the node as a whole. Those of `times` count whose cell
 * is not empty; with none it is left out. */
void tier_writer_series (struct tier_writer *writer, uint32_t metric, int64_t node, uint32_t label,
                         const struct tier_cell *cells, size_t stride, uint32_t first_time, uint32_t times);
void tier_writer_segment (struct tier_writer *writer); /* ends it: up to two segments, of whole and of other numbers */
/* Adds the blob to `out`, and begins another one. False: there was nothing. */
bool tier_writer_end (struct tier_writer *writer, struct buffer *out);

/* ---- reading ---- */

struct tier_series {
  uint32_t metric;
  int64_t node;
  const char *label; /* NULL: the node as a whole */
  size_t length, count;
  const uint32_t *times; /* each below 60 */
  const struct tier_cell *cells;
};

struct tier_reader;

struct tier_reader *tier_reader_create (void);
void tier_reader_destroy (struct tier_reader *reader); /* NULL is fine */
/* Calls `series` for those of the metrics from `first` to `last`; the blob may be anything. -1: it is broken. */
int tier_reader_read (struct tier_reader *reader, const void *bytes, size_t length, uint32_t first, uint32_t last,
                      void *context, void (*series) (void *context, const struct tier_series *series),
                      struct error *error);
/* The same of a blob that is fetched piece by piece. */
struct tier_source {
  const void *bytes; /* all of it; NULL: it is fetched */
  size_t length;
  void *context;
  int (*fetch) (void *context, void *to, size_t offset, size_t length); /* within the length; -1: it cannot be read */
};
int tier_reader_read_source (struct tier_reader *reader, const struct tier_source *source, uint32_t first,
                             uint32_t last, void *context,
                             void (*series) (void *context, const struct tier_series *series), struct error *error);

#endif
