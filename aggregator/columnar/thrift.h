/* Apache Thrift's compact protocol, as far as Parquet's metadata needs it: apache/thrift, doc/specs/thrift-compact-protocol.md.
 *
 * A struct is fields in order of their ids: a byte with the step of the id and the type, then the value; a zero byte ends it.
 * Integers are zigzag varints. */
#ifndef SYNOP_AGGREGATOR_THRIFT_H
#define SYNOP_AGGREGATOR_THRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/buffer.h"

enum thrift_type {
  THRIFT_TRUE = 1,
  THRIFT_FALSE,
  THRIFT_I32 = 5,
  THRIFT_I64,
  THRIFT_BINARY = 8,
  THRIFT_LIST,
  THRIFT_STRUCT = 12
};
#define THRIFT_DEPTH 8

/* Zeroed at first. */
struct thrift {
  struct buffer out;
  unsigned last[THRIFT_DEPTH]; /* id of the last field, of each struct that is open */
  unsigned depth;
};

#define THRIFT_ITEM 0 /* as id: an item of a list, or the outermost struct */

void thrift_open (struct thrift *thrift, unsigned id);
void thrift_close (struct thrift *thrift);
/* Then come `count` items. */
void thrift_list (struct thrift *thrift, unsigned id, enum thrift_type type, size_t count);
void thrift_bool (struct thrift *thrift, unsigned id, bool value); /* no item */
void thrift_i32 (struct thrift *thrift, unsigned id, int32_t value);
void thrift_i64 (struct thrift *thrift, unsigned id, int64_t value);
void thrift_binary (struct thrift *thrift, unsigned id, const void *bytes, size_t length);
void thrift_text (struct thrift *thrift, unsigned id, const char *text);
void thrift_nothing (struct thrift *thrift, unsigned id); /* a struct without fields */

void varint_add (struct buffer *out, uint64_t value); /* ULEB128 */

#endif
