/* Forms: what messages of a chunk have in common, and the numbers taken out of it. For the files of the chunk only. */
#ifndef SYNOP_AGGREGATOR_HISTORY_FORM_H
#define SYNOP_AGGREGATOR_HISTORY_FORM_H

#include <stdbool.h>

#include "aggregator/history/history_chunk.h"
#include "aggregator/history/history_number.h"
#include "synop/wire.h"

#define CHUNK_RAW_MAX                                                                                                  \
  (4 * CHUNK_BYTES_MAX) /* of the unpacked bytes: forms and columns may be larger than the messages */
#define FORM_HOLE 0xc1

struct form {
  uint64_t hash;
  const uint8_t *bytes; /* when reading: into the raw chunk; else `owned` */
  struct buffer owned;  /* when writing */
  size_t length, holes;
  uint32_t *at; /* when reading: where the holes are */
  size_t at_capacity;
  size_t uses;
  struct number *numbers; /* uses * holes, in the order of use */
  size_t count, capacity; /* of numbers */
};

struct forms {
  struct form *list;
  size_t count, capacity;
};

void forms_free (struct forms *forms);
struct form *forms_add (struct forms *forms);

void chunk_end_message (struct chunk *chunk); /* the bytes after the last message are the next one */

/* history_join.c: the messages of a chunk as their parts, in the order in which a form is used. */
struct part_shapes {
  size_t *parts; /* the forms of all shapes */
  size_t *ends;
  size_t count, part_capacity;
};
struct parts {
  struct forms forms;
  struct part_shapes shapes;
  size_t *messages; /* the shape of each */
  size_t count;
};
bool parts_read (struct parts *parts, struct wire *wire);
/* Reads the numbers of the holes that are wanted, of each form (NULL: of none); NULL: of all. */
bool parts_read_columns (struct parts *parts, struct wire *wire, bool *const *wanted);
const size_t *parts_of (const struct parts *parts, size_t message, size_t *count); /* the forms of a message */
void parts_free (struct parts *parts);
/* What the messages of a chunk were split into: the forms of their parts, message by message. The numbers of a form lie in
 * the order in which it is used. */
struct chunk_parts {
  const struct form *forms;
  size_t form_count;
  const uint32_t *parts; /* indexes of forms */
  const size_t *ends;    /* where the parts of each message end */
  size_t count;          /* of messages */
};

/* Looks at the parts during the call. */
struct chunk_look {
  void *context;
  void (*parts) (void *context, const struct chunk_parts *parts);
};

/* history_split.c: false if a message is not a msgpack array. `out` and `look` may be NULL. */
bool chunk_split (const struct chunk *chunk, struct buffer *out, const struct chunk_look *look);
/* history_join.c */
int chunk_join (struct chunk *chunk, struct wire *wire, const struct chunk_look *look); /* `look` may be NULL */

/* Of an inflated chunk, whose columns are what is left of `wire` then. False: it is stored without forms, or broken. */
bool chunk_read_parts (struct parts *parts, struct wire *wire);

#endif
