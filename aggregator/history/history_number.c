/* See history_number.h.
 *
 *   a column = a mode byte in `modes`, and
 *     0 to 95: scale * 12 + kind * 3 + order
 *       scale   0: integers; 1 to 7: doubles that are n / 10^(scale - 1)
 *       kind    0: unsigned; 1: signed (some are negative)
 *       order   0: all are the same; 1: differences; 2: differences of differences
 *       `firsts` has the first number, `rest` the differences, all as zigzag varints
 *     254: all nil
 *     255: any numbers; for each, `rest` has its class, and a varint, or the 8 bytes of a double, or nothing for nil */
#include "aggregator/history/history_number.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ORDER_SAME, ORDER_FIRST, ORDER_SECOND, ORDERS };
enum { KIND_UNSIGNED, KIND_SIGNED, KINDS };
#define MODE_SCALE (4 * ORDERS)
#define SCALES 8
#define MODE_NIL 254
#define MODE_ANY 255
#define DECIMAL_MAX 9e15 /* below this doubles hold every integer */

static const double powers[SCALES] = { 1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6 };

void
varint_write (struct buffer *out, uint64_t value)
{
  char *to = buffer_reserve (out, 10);
  size_t length = 0;

  for (; value > 0x7f; value >>= 7)
    to[length++] = (char) (0x80 | (value & 0x7f));
  to[length++] = (char) value;
  out->length += length;
}

uint64_t
varint_read (struct wire *wire, uint64_t max)
{
  uint64_t value = 0;

  for (unsigned shift = 0; shift < 64 && !wire->bad && wire->at < wire->end; shift += 7) {
    uint8_t byte = *wire->at++;
    value |= (uint64_t) (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (value <= max)
        return value;
      break;
    }
  }
  wire->bad = true;
  return 0;
}

static unsigned
varint_size (uint64_t value)
{
  return value ? (unsigned) (63 - __builtin_clzll (value)) / 7 + 1 : 1;
}

static double
real_of (uint64_t bits)
{
  double real;

  memcpy (&real, &bits, sizeof real);
  return real;
}

static uint64_t
bits_of (double real)
{
  uint64_t bits;

  memcpy (&bits, &real, sizeof bits);
  return bits;
}

/* Finds the integer that gives exactly these bits when it is divided by the power of ten. */
static bool
decimal (uint64_t bits, unsigned scale, int64_t *integer)
{
  double scaled = real_of (bits) * powers[scale];

  if (!(fabs (scaled) < DECIMAL_MAX))
    return false;
  *integer = llround (scaled);
  return bits_of ((double) *integer / powers[scale]) == bits;
}

static bool
all_decimal (const struct number *numbers, size_t count, size_t stride, unsigned scale, int64_t *integers)
{
  for (size_t i = 0; i < count; i++)
    if (!decimal (numbers[i * stride].bits, scale, &integers[i]))
      return false;
  return true;
}

static void
write_integers (struct number_streams *out, unsigned mode, const int64_t *integers, size_t count)
{
  uint64_t before = (uint64_t) integers[0], difference = 0, sizes[ORDERS] = { 0 };
  bool same = true;
  unsigned order;

  for (size_t i = 1; i < count; i++) {
    uint64_t now = (uint64_t) integers[i] - before;
    same = same && now == 0;
    sizes[ORDER_FIRST] += varint_size (zigzag (now));
    sizes[ORDER_SECOND] += varint_size (zigzag (now - difference));
    difference = now;
    before = (uint64_t) integers[i];
  }
  order = same ? ORDER_SAME : sizes[ORDER_SECOND] < sizes[ORDER_FIRST] ? ORDER_SECOND : ORDER_FIRST;
  buffer_add (&out->modes, &(char){ (char) (mode + order) }, 1);
  varint_write (&out->firsts, zigzag ((uint64_t) integers[0]));
  before = (uint64_t) integers[0];
  difference = 0;
  for (size_t i = 1; i < count && order != ORDER_SAME; i++) {
    uint64_t now = (uint64_t) integers[i] - before;
    varint_write (&out->rest, zigzag (order == ORDER_SECOND ? now - difference : now));
    difference = now;
    before = (uint64_t) integers[i];
  }
}

static void
write_any (struct number_streams *out, const struct number *numbers, size_t count, size_t stride)
{
  buffer_add (&out->modes, &(char){ (char) MODE_ANY }, 1);
  for (size_t i = 0; i < count; i++) {
    const struct number *number = &numbers[i * stride];
    buffer_add (&out->rest, &(char){ (char) number->class }, 1);
    if (number->class == NUMBER_REAL)
      buffer_add (&out->rest, &number->bits, sizeof number->bits);
    else if (number->class == NUMBER_UINT)
      varint_write (&out->rest, number->bits);
    else if (number->class == NUMBER_NEGATIVE)
      varint_write (&out->rest, zigzag (number->bits));
  }
}

void
number_column_write (struct number_streams *out, const struct number *numbers, size_t count, size_t stride,
                     int64_t *scratch)
{
  unsigned classes = 0;
  bool large = false; /* an unsigned number that does not fit int64_t */

  for (size_t i = 0; i < count; i++) {
    const struct number *number = &numbers[i * stride];
    classes |= 1u << number->class;
    large = large || (number->class == NUMBER_UINT && number->bits >> 63);
    scratch[i] = (int64_t) number->bits;
  }
  if (classes == 1u << NUMBER_NIL) {
    buffer_add (&out->modes, &(char){ (char) MODE_NIL }, 1);
    return;
  }
  if (classes == 1u << NUMBER_UINT) {
    write_integers (out, KIND_UNSIGNED * ORDERS, scratch, count);
    return;
  }
  if (!large && (classes & ~(1u << NUMBER_UINT)) == 1u << NUMBER_NEGATIVE) {
    write_integers (out, KIND_SIGNED * ORDERS, scratch, count);
    return;
  }
  for (unsigned scale = 1; classes == 1u << NUMBER_REAL && scale < SCALES; scale++)
    if (all_decimal (numbers, count, stride, scale, scratch)) {
      write_integers (out, scale * MODE_SCALE + KIND_SIGNED * ORDERS, scratch, count);
      return;
    }
  write_any (out, numbers, count, stride);
}

/* ---- reading ---- */

static struct number
number_of (uint64_t bits, unsigned scale, unsigned kind)
{
  if (scale)
    return (struct number){ NUMBER_REAL, bits_of ((double) (int64_t) bits / powers[scale]) };
  return (struct number){ kind == KIND_SIGNED && bits >> 63 ? NUMBER_NEGATIVE : NUMBER_UINT, bits };
}

static int
read_integers (struct number_sources *in, unsigned mode, struct number *numbers, size_t count, size_t stride)
{
  unsigned scale = mode / MODE_SCALE, kind = mode / ORDERS % (MODE_SCALE / ORDERS), order = mode % ORDERS;
  uint64_t bits = unzigzag (varint_read (&in->firsts, UINT64_MAX)), difference = 0;

  if (kind >= KINDS)
    return -1;
  for (size_t i = 0; i < count; i++) {
    if (i && order != ORDER_SAME) {
      uint64_t stored = unzigzag (varint_read (&in->rest, UINT64_MAX));
      difference = order == ORDER_SECOND ? difference + stored : stored;
      bits += difference;
    }
    numbers[i * stride] = number_of (bits, scale, kind);
  }
  return in->firsts.bad || in->rest.bad ? -1 : 0;
}

static int
read_any (struct wire *rest, struct number *numbers, size_t count, size_t stride)
{
  for (size_t i = 0; i < count; i++) {
    struct number *number = &numbers[i * stride];
    if (rest->at == rest->end)
      return -1;
    *number = (struct number){ .class = (enum number_class) * rest->at++ };
    if (number->class > NUMBER_REAL)
      return -1;
    if (number->class == NUMBER_REAL) {
      if (rest->end - rest->at < (ptrdiff_t) sizeof number->bits)
        return -1;
      memcpy (&number->bits, rest->at, sizeof number->bits);
      rest->at += sizeof number->bits;
    } else if (number->class == NUMBER_UINT) {
      number->bits = varint_read (rest, UINT64_MAX);
    } else if (number->class == NUMBER_NEGATIVE) {
      number->bits = unzigzag (varint_read (rest, UINT64_MAX));
    }
  }
  return rest->bad ? -1 : 0;
}

int
number_column_read (struct number_sources *in, struct number *numbers, size_t count, size_t stride)
{
  unsigned mode;

  if (in->modes.at == in->modes.end)
    return -1;
  mode = *in->modes.at++;
  if (mode < SCALES * MODE_SCALE)
    return read_integers (in, mode, numbers, count, stride);
  if (mode == MODE_ANY)
    return read_any (&in->rest, numbers, count, stride);
  if (mode != MODE_NIL)
    return -1;
  for (size_t i = 0; i < count; i++)
    numbers[i * stride] = (struct number){ .class = NUMBER_NIL };
  return 0;
}

/* ---- skipping ---- */

/* A varint ends with the first byte below 0x80. */
static int
skip_varints (struct wire *wire, size_t count)
{
  uint64_t word;

  for (; count >= sizeof word && wire->end - wire->at >= (ptrdiff_t) sizeof word; wire->at += sizeof word) {
    memcpy (&word, wire->at, sizeof word);
    count -= (~word >> 7 & UINT64_C (0x0101010101010101)) * UINT64_C (0x0101010101010101) >> 56; /* bytes below 0x80 */
  }
  for (; count > 0 && wire->at < wire->end; wire->at++)
    count -= *wire->at < 0x80;
  return count ? -1 : 0;
}

static int
skip_any (struct wire *rest, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    unsigned class = rest->at < rest->end ? *rest->at++ : NUMBER_REAL + 1;
    if (class > NUMBER_REAL || (class == NUMBER_REAL && rest->end - rest->at < (ptrdiff_t) sizeof (uint64_t)))
      return -1;
    if (class == NUMBER_REAL)
      rest->at += sizeof (uint64_t);
    else if (class != NUMBER_NIL && skip_varints (rest, 1) < 0)
      return -1;
  }
  return 0;
}

int
number_column_skip (struct number_sources *in, size_t count)
{
  unsigned mode = in->modes.at < in->modes.end ? *in->modes.at++ : MODE_NIL - 1;

  if (mode < SCALES * MODE_SCALE)
    return skip_varints (&in->firsts, 1) == 0 &&
                   (mode % ORDERS == ORDER_SAME || skip_varints (&in->rest, count - 1) == 0)
               ? 0
               : -1;
  return mode == MODE_ANY ? skip_any (&in->rest, count) : mode == MODE_NIL ? 0 : -1;
}
