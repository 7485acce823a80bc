/* FlatBuffers, as far as Arrow's metadata needs them, written from the front: flatbuffers.dev, "FlatBuffer Internals".
 *
 * A table begins with the signed distance back to its vtable, which says where each field lies in it. What is not a number
 * lies behind the table, and the field holds the distance to it: flat_table, flat_vector and flat_text are given the place
 * of that field. All is aligned to its size, as seen from the beginning of the buffer. */
#ifndef SYNOP_AGGREGATOR_FLATBUFFER_H
#define SYNOP_AGGREGATOR_FLATBUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"

#define FLAT_OFFSET 4 /* size of a field that holds a distance */

struct flat_field {
  unsigned size; /* in bytes; 0: the field is left out, and has its default */
  uint64_t value;
};

/* Returns the place of the root's field. The buffer is empty. */
size_t flat_begin (struct buffer *out);
/* Returns where the table lies. */
size_t flat_table (struct buffer *out, size_t place, const struct flat_field *fields, size_t count);
size_t flat_place (const struct buffer *out, size_t table, unsigned field); /* of one that is there */
/* Then come `count` items of `size` bytes, at most 8 of them aligned. Returns where the first will lie. */
size_t flat_vector (struct buffer *out, size_t place, size_t count, size_t size);
size_t flat_offsets (struct buffer *out, size_t place,
                     size_t count); /* a vector of places, to be filled: 4 bytes each */
void flat_text (struct buffer *out, size_t place, const char *text);
void flat_number (struct buffer *out, uint64_t value, unsigned size);

#endif
