/* Columns of numbers in a chunk of history: one cell of a table through all frames of the chunk.
 *
 * Numbers that grow evenly are short as differences, and shorter as differences of these; decimals ("0.25") become
 * integers with a scale; a constant column costs one number. Reading gives exactly the same bits. */
#ifndef SYNOP_AGGREGATOR_HISTORY_NUMBER_H
#define SYNOP_AGGREGATOR_HISTORY_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/wire.h"

enum number_class { NUMBER_NIL, NUMBER_UINT, NUMBER_NEGATIVE, NUMBER_REAL };

struct number {
  enum number_class class;
  uint64_t bits; /* the unsigned, the negative int64_t or the double as bits; 0 for nil */
};

/* Each of the three parts of a column has a stream of its own, which compresses better. */
struct number_streams {
  struct buffer modes, firsts, rest;
};

/* Adds the column of `count` (1 or more) numbers, each `stride` after the other. `scratch` has room for twice the
 * count. */
void number_column_write (struct number_streams *out, const struct number *numbers, size_t count, size_t stride,
                          int64_t *scratch);

struct number_sources {
  struct wire modes, firsts, rest;
};

/* Reads such a column; -1: the streams are broken. */
int number_column_read (struct number_sources *in, struct number *numbers, size_t count, size_t stride);
int number_column_skip (struct number_sources *in, size_t count); /* goes behind it */

/* The sign as the lowest bit. Differences wrap around, so that any two 64-bit numbers have one. */
static inline uint64_t
zigzag (uint64_t value)
{
  return (value << 1) ^ (0 - (value >> 63));
}

static inline uint64_t
unzigzag (uint64_t value)
{
  return (value >> 1) ^ (0 - (value & 1));
}

/* LEB128: seven bits a byte, the lowest first. */
void varint_write (struct buffer *out, uint64_t value);
uint64_t varint_read (struct wire *wire, uint64_t max); /* over max: 0, and the wire is bad */

#endif
