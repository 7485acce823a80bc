/* Columns of numbers, as a chunk of history holds them: one place of a table through all frames of the chunk.
 *
 * Numbers that grow evenly cost little as differences, and less as differences of these; decimals ("0.25") are whole
 * numbers with a scale; what never changes costs one number. All of it is exact: bits come back as they were. */
#ifndef SYNOP_AGGREGATOR_HISTORY_NUMBER_H
#define SYNOP_AGGREGATOR_HISTORY_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/wire.h"

enum number_class { NUMBER_NIL, NUMBER_UINT, NUMBER_NEGATIVE, NUMBER_REAL };

struct number {
  enum number_class class;
  uint64_t bits; /* of the unsigned, the negative int64_t, the double; 0 for nil */
};

/* The three parts of a column go into three streams, each of which compresses better on its own. */
struct number_streams {
  struct buffer modes, firsts, rest;
};

/* Adds the column of `count` (1 or more) numbers that lie `stride` apart. `scratch` has room for twice the count. */
void number_column_write (struct number_streams *out, const struct number *numbers, size_t count, size_t stride,
                          int64_t *scratch);

struct number_sources {
  struct wire modes, firsts, rest;
};

/* The opposite; -1 when the streams are broken. */
int number_column_read (struct number_sources *in, struct number *numbers, size_t count, size_t stride);

/* LEB128: seven bits a byte, the lowest first. */
void varint_write (struct buffer *out, uint64_t value);
uint64_t varint_read (struct wire *wire, uint64_t max); /* more than max: bad, and 0 */

#endif
