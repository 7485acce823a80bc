/* Protobuf's bytes, put one behind the other: whoever calls has made room.
 *
 * Written by hand: it is lengths and bytes, and a library wants a struct, on the heap, for each label of each sample. */
#ifndef SYNOP_AGGREGATOR_PROTOBUF_H
#define SYNOP_AGGREGATOR_PROTOBUF_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VARINT_MAX 10
enum { WIRE_VARINT, WIRE_64, WIRE_BYTES };
#define FIELD(number, wire) (char) ((number) << 3 | (wire)) /* up to 15 */

static inline size_t
varint_size (uint64_t number)
{
  return ((size_t) (63 - __builtin_clzll (number | 1)) * 9 + 73) / 64;
}

static inline char *
put_varint (char *to, uint64_t number)
{
  for (; number >= 0x80; number >>= 7)
    *to++ = (char) (number | 0x80);
  *to++ = (char) number;
  return to;
}

static inline char *
put_number (char *to, char field, uint64_t number)
{
  *to++ = field;
  return put_varint (to, number);
}

static inline size_t
bytes_size (size_t length)
{
  return 1 + varint_size (length) + length;
}

static inline char *
put_bytes (char *to, char field, const void *bytes, size_t length)
{
  to = put_number (to, field, length);
  memcpy (to, bytes, length);
  return to + length;
}

static inline char *
put_real (char *to, char field, uint64_t bits)
{
  bits = htole64 (bits);
  *to++ = field;
  memcpy (to, &bits, sizeof bits);
  return to + sizeof bits;
}

#endif
