/* Reading msgpack without trust, and a packer over a buffer.
 *
 *   nil c0, false c2, true c3
 *   unsigned: 00-7f itself, cc/cd/ce/cf and 1, 2, 4, 8 bytes     signed: e0-ff itself, d0-d3 and 1, 2, 4, 8 bytes
 *   float: ca and 4 bytes, cb and 8                              ext: c7/c8/c9 length type bytes; d4-d8: 1 to 16 bytes
 *   str: a0-bf length in 5 bits, d9/da/db and length             bin: c4/c5/c6 and length
 *   array: 90-9f count in 4 bits, dc/dd and count                map: 80-8f count of pairs in 4 bits, de/df and count
 *
 * Numbers are big-endian; c1 is never used. An item takes one byte at least, so a count above the bytes that are
 * left is refused before memory is allocated for it. */
#include <msgpack.h>

#include "synop/wire.h"

#include <endian.h>
#include <string.h>

#define DEPTH_MAX 32

struct wire
wire_over (const void *bytes, size_t length)
{
  static const uint8_t nothing[1];
  const uint8_t *start = length == 0 ? nothing : bytes;

  return (struct wire){ .at = start, .end = start + length };
}

static size_t
wire_left (const struct wire *wire)
{
  return (size_t) (wire->end - wire->at);
}

static struct wire_token
wire_fail (struct wire *wire)
{
  wire->bad = true;
  return (struct wire_token){ .type = WIRE_BAD };
}

/* Reads a big-endian number of `size` bytes, which the caller has checked to exist. */
static uint64_t
number_take (struct wire *wire, unsigned size)
{
  const uint8_t *at = wire->at;
  uint64_t eight;
  uint32_t four;

  wire->at += size;
  switch (size) {
  case 1:
    return at[0];
  case 2:
    return (uint64_t) at[0] << 8 | at[1];
  case 4:
    memcpy (&four, at, sizeof four);
    return be32toh (four);
  case 8:
    memcpy (&eight, at, sizeof eight);
    return be64toh (eight);
  default: /* sizes are 1, 2, 4 and 8 */
    return 0;
  }
}

static struct wire_token
token_bytes (struct wire *wire, enum wire_type type, uint64_t length)
{
  size_t extra = type == WIRE_EXTENSION ? 1 : 0; /* the extension's own type */

  if (length + extra > wire_left (wire))
    return wire_fail (wire);

  struct wire_token token = { .type = type, .length = (uint32_t) length, .as.bytes = wire->at + extra };

  wire->at += length + extra;
  return token;
}

static struct wire_token
token_items (struct wire *wire, enum wire_type type, uint64_t count)
{
  if ((type == WIRE_MAP ? 2 * count : count) > wire_left (wire))
    return wire_fail (wire);
  return (struct wire_token){ .type = type, .length = (uint32_t) count };
}

static struct wire_token
token_signed (int64_t number)
{
  if (number >= 0)
    return (struct wire_token){ .type = WIRE_UINT, .as.u = (uint64_t) number };
  return (struct wire_token){ .type = WIRE_INT, .as.i = number };
}

static struct wire_token
token_real (uint8_t head, uint64_t bits)
{
  struct wire_token token = { .type = WIRE_REAL };

  if (head == 0xca) {
    uint32_t half = (uint32_t) bits;
    float number;

    memcpy (&number, &half, sizeof number);
    token.as.d = (double) number;
  } else {
    memcpy (&token.as.d, &bits, sizeof bits);
  }
  return token;
}

/* The bytes of the number behind a head: a value, a length or a count. */
static const uint8_t number_sizes[256] = {
  [0xc4] = 1, [0xc5] = 2, [0xc6] = 4, [0xc7] = 1, [0xc8] = 2, [0xc9] = 4, [0xca] = 4, [0xcb] = 8,
  [0xcc] = 1, [0xcd] = 2, [0xce] = 4, [0xcf] = 8, [0xd0] = 1, [0xd1] = 2, [0xd2] = 4, [0xd3] = 8,
  [0xd9] = 1, [0xda] = 2, [0xdb] = 4, [0xdc] = 2, [0xdd] = 4, [0xde] = 2, [0xdf] = 4,
};

struct wire_token
wire_next_any (struct wire *wire)
{
  if (wire->bad || wire->at >= wire->end)
    return wire_fail (wire);

  uint8_t head = *wire->at++;
  unsigned size = number_sizes[head];

  if (size > wire_left (wire))
    return wire_fail (wire);

  uint64_t number = number_take (wire, size);

  switch (head) {
  case 0x00 ... 0x7f:
    return (struct wire_token){ .type = WIRE_UINT, .as.u = head };
  case 0x80 ... 0x8f:
    return token_items (wire, WIRE_MAP, head & 0x0f);
  case 0x90 ... 0x9f:
    return token_items (wire, WIRE_ARRAY, head & 0x0f);
  case 0xa0 ... 0xbf:
    return token_bytes (wire, WIRE_TEXT, head & 0x1f);
  case 0xc0:
    return (struct wire_token){ .type = WIRE_NIL };
  case 0xc1:
    return wire_fail (wire);
  case 0xc2 ... 0xc3:
    return (struct wire_token){ .type = WIRE_BOOL, .as.b = head == 0xc3 };
  case 0xc4 ... 0xc6:
    return token_bytes (wire, WIRE_BINARY, number);
  case 0xc7 ... 0xc9:
    return token_bytes (wire, WIRE_EXTENSION, number);
  case 0xca ... 0xcb:
    return token_real (head, number);
  case 0xcc ... 0xcf:
    return (struct wire_token){ .type = WIRE_UINT, .as.u = number };
  case 0xd0:
    return token_signed ((int8_t) number);
  case 0xd1:
    return token_signed ((int16_t) number);
  case 0xd2:
    return token_signed ((int32_t) number);
  case 0xd3:
    return token_signed ((int64_t) number);
  case 0xd4 ... 0xd8:
    return token_bytes (wire, WIRE_EXTENSION, 1u << (head - 0xd4));
  case 0xd9 ... 0xdb:
    return token_bytes (wire, WIRE_TEXT, number);
  case 0xdc ... 0xdd:
    return token_items (wire, WIRE_ARRAY, number);
  case 0xde ... 0xdf:
    return token_items (wire, WIRE_MAP, number);
  default:
    return (struct wire_token){ .type = WIRE_INT, .as.i = (int8_t) head };
  }
}

uint32_t
wire_array_any (struct wire *wire, uint32_t max)
{
  struct wire_token token = wire_next (wire);

  if (token.type == WIRE_ARRAY && token.length <= max)
    return token.length;
  wire->bad = true;
  return 0;
}

uint64_t
wire_uint (struct wire *wire, uint64_t max)
{
  struct wire_token token = wire_next (wire);

  if (token.type == WIRE_UINT && token.as.u <= max)
    return token.as.u;
  wire->bad = true;
  return 0;
}

int64_t
wire_int (struct wire *wire)
{
  struct wire_token token = wire_next (wire);

  if (token.type == WIRE_INT)
    return token.as.i;
  if (token.type == WIRE_UINT && token.as.u <= INT64_MAX)
    return (int64_t) token.as.u;
  wire->bad = true;
  return 0;
}

double
wire_real (struct wire *wire)
{
  struct wire_token token = wire_next (wire);

  if (token.type == WIRE_REAL)
    return token.as.d;
  if (token.type == WIRE_INT)
    return (double) token.as.i;
  if (token.type == WIRE_UINT)
    return (double) token.as.u;
  wire->bad = true;
  return 0;
}

bool
wire_bool (struct wire *wire)
{
  struct wire_token token = wire_next (wire);

  if (token.type == WIRE_BOOL)
    return token.as.b;
  wire->bad = true;
  return false;
}

static const uint8_t *
wire_bytes (struct wire *wire, enum wire_type type, size_t *length, size_t max)
{
  struct wire_token token = wire_next (wire);

  if (token.type == type && token.length <= max) {
    *length = token.length;
    return token.as.bytes;
  }
  wire->bad = true;
  *length = 0;
  return (const uint8_t *) "";
}

const char *
wire_text (struct wire *wire, size_t *length, size_t max)
{
  return (const char *) wire_bytes (wire, WIRE_TEXT, length, max);
}

const uint8_t *
wire_binary (struct wire *wire, size_t *length, size_t max)
{
  return wire_bytes (wire, WIRE_BINARY, length, max);
}

/* Depth first: `left` holds how many items each open level still has. */
void
wire_skip (struct wire *wire)
{
  uint64_t left[DEPTH_MAX] = { 1 };
  unsigned depth = 1;

  while (depth > 0 && !wire->bad) {
    if (left[depth - 1] == 0) {
      depth--;
      continue;
    }
    left[depth - 1]--;

    struct wire_token token = wire_next (wire);

    if (token.type != WIRE_ARRAY && token.type != WIRE_MAP)
      continue;
    if (depth == DEPTH_MAX)
      wire->bad = true;
    else
      left[depth++] = token.type == WIRE_MAP ? 2 * (uint64_t) token.length : token.length;
  }
}

void
wire_skip_items (struct wire *wire, uint32_t count)
{
  for (uint32_t i = 0; i < count && !wire->bad; i++)
    wire_skip (wire);
}

static int
packer_write (void *data, const char *bytes, size_t length)
{
  buffer_add (data, bytes, length);
  return 0;
}

void
wire_packer (struct msgpack_packer *packer, struct buffer *out)
{
  msgpack_packer_init (packer, out, packer_write);
}

void
wire_pack_text (struct msgpack_packer *packer, const char *text, size_t length)
{
  msgpack_pack_str (packer, length);
  msgpack_pack_str_body (packer, text, length);
}

void
wire_pack_binary (struct msgpack_packer *packer, const void *bytes, size_t length)
{
  msgpack_pack_bin (packer, length);
  msgpack_pack_bin_body (packer, bytes, length);
}
