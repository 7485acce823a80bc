/* Minimum, maximum and sum of whole numbers, series by series, as bytes: of what makes them few.
 *
 * A number is a token, and the bits that it says follow. Tokens are few and alike, and are packed by zstd; bits have no
 * pattern, and lie behind as they are. Minimum, maximum, sum and rest have a stream each of tokens and of bits.
 *
 *   token  below 16: the number; else 16 + 4 * (its length in bits - 5) + the two bits behind its highest; the others follow,
 *          the lowest first
 *   plan   a byte for each series: 255: it is as an earlier one, by the number in the first stream so many series before;
 *          else minimum + 3 * maximum + 15 * sum:
 *
 *   minimum  0: all are the one number; 1: one in the middle, and differences to it; 2: the first, and differences
 *   maximum  0: as the minimum; 1: one range (maximum - minimum); 2: the least range, and what others are above it;
 *            3: the first maximum, and differences; 4: one in the middle, and differences to it
 *   sum      of what is above the minimum: S = sum - count * minimum. 0: none; 1: one S; 2: the least S, and what others
 *            are above it; 3: the first S, and differences; 4: where the range is not 0: S / range, and in the last
 *            stream what remains
 *
 * Those of minimum, maxima and differences have their sign as the lowest bit (zigzag), and so has the S of 1 and 3. */
#ifndef SYNOP_AGGREGATOR_TIER_VALUES_H
#define SYNOP_AGGREGATOR_TIER_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/wire.h"

#define VALUES_STREAMS 4
#define VALUES_MOST 60 /* points of a series */

/* A point's values as whole numbers; they may wrap around where bytes are damaged. */
struct values {
  uint64_t min, range, above; /* maximum - minimum; sum - count * minimum */
};

/* ---- writing ---- */

struct values_out {
  struct buffer tokens, bits;
  uint64_t held; /* bits that are no whole byte yet */
  unsigned held_count;
};

struct values_writer {
  struct buffer plans;
  struct values_out streams[VALUES_STREAMS];
};

void values_clear (struct values_writer *writer);
void values_free (struct values_writer *writer);
void values_write (struct values_writer *writer, const struct values *values, size_t count);
void values_write_same (struct values_writer *writer, uint64_t before); /* as the series so many before */
/* Lengths of tokens and of bits, plans and tokens go to `front`, bits to `back`. */
void values_end (struct values_writer *writer, struct buffer *front, struct buffer *back);

/* ---- reading ---- */

struct values_in {
  const uint8_t *token, *tokens_end, *bits, *bits_end;
  uint64_t held;
  unsigned held_count;
  bool bad;
};

struct values_reader {
  const uint8_t *plans, *plans_end;
  struct values_in streams[VALUES_STREAMS];
};

/* Takes what values_end wrote from the ends' beginnings. -1: it is broken. */
int values_begin (struct values_reader *reader, struct wire *front, struct wire *back);
/* The next series: its values, or by how many it is before, which those are of. -1: it is broken. */
int values_read (struct values_reader *reader, struct values *values, size_t count, uint64_t *before);

#endif
