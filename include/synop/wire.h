/* Reading msgpack without trust: a cursor over foreign bytes. It reads token by token and allocates nothing; every
 * size in the bytes is checked against the bytes that are left before it is used. Writing is msgpack-c's. */
#ifndef SYNOP_WIRE_H
#define SYNOP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"

struct wire {
  const uint8_t *at, *end;
  bool bad; /* an error was met; stays set, and every read after it gives 0 */
};

enum wire_type {
  WIRE_BAD,
  WIRE_NIL,
  WIRE_BOOL,
  WIRE_UINT,
  WIRE_INT,
  WIRE_REAL,
  WIRE_TEXT,
  WIRE_BINARY,
  WIRE_ARRAY,
  WIRE_MAP,
  WIRE_EXTENSION
};

struct wire_token {
  enum wire_type type; /* WIRE_INT: negative numbers only */
  uint32_t length;     /* of a text, of bytes; items of an array; pairs of a map */
  union {
    bool b;
    uint64_t u;
    int64_t i;
    double d;
    const uint8_t *bytes; /* of a text, binary or extension */
  } as;
};

struct wire wire_over (const void *bytes, size_t length);
/* One token of any type; of an array or a map it is the head alone. Broken: WIRE_BAD, and `bad`. */
struct wire_token wire_next_any (struct wire *wire);
static inline struct wire_token
wire_next (struct wire *wire)
{
  if (!wire->bad && wire->at < wire->end && *wire->at < 0x80) /* small numbers, as most values are */
    return (struct wire_token){ .type = WIRE_UINT, .as.u = *wire->at++ };
  return wire_next_any (wire);
}

/* The next byte; 0xc1 (never used) at the end. */
static inline uint8_t
wire_peek (const struct wire *wire)
{
  return wire->bad || wire->at >= wire->end ? 0xc1 : *wire->at;
}

/* Each of these reads one token; a token of another type, or too few bytes, sets `bad`. */
/* The count of items; more than max, or than bytes are left: bad. */
uint32_t wire_array_any (struct wire *wire, uint32_t max);
static inline uint32_t
wire_array (struct wire *wire, uint32_t max)
{
  uint32_t count = wire_peek (wire) ^ 0x90;

  if (count >= 0x10 || count > max || count >= wire->end - wire->at) /* it is not one of the short ones */
    return wire_array_any (wire, max);
  wire->at++;
  return count;
}
uint64_t wire_uint (struct wire *wire, uint64_t max);
int64_t wire_int (struct wire *wire);
double wire_real (struct wire *wire); /* floats and integers */
bool wire_bool (struct wire *wire);
const char *wire_text (struct wire *wire, size_t *length, size_t max); /* str; into the bytes, not NUL-terminated */
const uint8_t *wire_binary (struct wire *wire, size_t *length, size_t max); /* bin */
/* Reads a nil if one is next: true. Else false, and nothing is read. */
static inline bool
wire_nil (struct wire *wire)
{
  bool nil = wire_peek (wire) == 0xc0;

  wire->at += nil;
  return nil;
}
void wire_skip (struct wire *wire); /* one whole value, at most 32 levels deep */
/* Skips the items of an array that this version does not know. */
void wire_skip_items (struct wire *wire, uint32_t count);

/* msgpack-c's packer over a struct buffer: `msgpack_packer p; wire_packer (&p, &buffer);`. */
struct msgpack_packer;
void wire_packer (struct msgpack_packer *packer, struct buffer *out);
void wire_pack_text (struct msgpack_packer *packer, const char *text, size_t length);
void wire_pack_binary (struct msgpack_packer *packer, const void *bytes, size_t length);

#endif
