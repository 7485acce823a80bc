/* Parquet's hybrid of run lengths and packed bits: Encodings.md, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)". */
#ifndef SYNOP_AGGREGATOR_HYBRID_H
#define SYNOP_AGGREGATOR_HYBRID_H

#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"

/* Numbers of at most `width` bits, 1 to 32. */
void hybrid_add (struct buffer *out, const uint32_t *numbers, size_t count, unsigned width);
unsigned hybrid_width (uint32_t largest);

/* The bits of bytes that are 0 or 1, the lowest first: the last byte is filled with zeros. Booleans of Parquet ("Plain"),
 * bitmaps of Arrow. */
void bits_add (struct buffer *out, const char *bytes, size_t count);

#endif
