/* See hybrid.h.
 *
 *   run of equal numbers:   varint (length << 1), the number in whole bytes, the lowest first
 *   run of groups of eight: varint (groups << 1 | 1), the numbers' bits, the lowest first; the last group is filled up */
#include "aggregator/columnar/hybrid.h"

#include "aggregator/columnar/thrift.h"

#define GROUP 8 /* numbers; fewer equal ones are not worth a run of their own */

static size_t
count_equal (const uint32_t *numbers, size_t count)
{
  size_t equal = 1;

  while (equal < count && numbers[equal] == numbers[0])
    equal++;
  return equal;
}

static void
equal_add (struct buffer *out, uint32_t number, size_t count, unsigned width)
{
  varint_add (out, (uint64_t) count << 1);
  for (unsigned bit = 0; bit < width; bit += 8)
    buffer_add (out, &(uint8_t){ (uint8_t) (number >> bit) }, 1);
}

static void
packed_add (struct buffer *out, const uint32_t *numbers, size_t count, unsigned width)
{
  size_t groups = (count + GROUP - 1) / GROUP;
  uint64_t bits = 0;
  unsigned held = 0;

  varint_add (out, (uint64_t) groups << 1 | 1);
  for (size_t i = 0; i < groups * GROUP; i++) {
    bits |= (uint64_t) (i < count ? numbers[i] : 0) << held;
    for (held += width; held >= 8; held -= 8, bits >>= 8)
      buffer_add (out, &(uint8_t){ (uint8_t) bits }, 1);
  }
}

void
hybrid_add (struct buffer *out, const uint32_t *numbers, size_t count, unsigned width)
{
  for (size_t i = 0, end; i < count; i = end) {
    size_t equal = count_equal (numbers + i, count - i);
    end = i + equal;
    if (equal >= GROUP) {
      equal_add (out, numbers[i], equal, width);
      continue;
    }
    for (end = i + GROUP; end < count && count_equal (numbers + end, count - end) < GROUP;)
      end += GROUP;
    end = end < count ? end : count;
    packed_add (out, numbers + i, end - i, width);
  }
}

unsigned
hybrid_width (uint32_t largest)
{
  return largest ? 32 - (unsigned) __builtin_clz (largest) : 1;
}

void
bits_add (struct buffer *out, const char *bytes, size_t count)
{
  uint8_t byte = 0;

  for (size_t i = 0; i < count; i++) {
    byte |= (uint8_t) ((bytes[i] != 0) << i % 8);
    if (i % 8 == 7 || i + 1 == count) {
      buffer_add (out, &byte, 1);
      byte = 0;
    }
  }
}
