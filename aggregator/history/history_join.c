/* Rebuilds messages from forms and columns: the reading side of history_chunk.c, which has the format. The bytes may
 * be anything: each count is checked against the limits before memory is allocated for it. */
#include <msgpack.h>

#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_form.h"
#include "synop/array.h"
#include "synop/memory.h"

#define NUMBER_MAX 9 /* a head and eight bytes */

/* Finds the next hole; false at the end. A c1 within a text is not a hole. Heads of arrays and maps are skipped by
 * hand: their items may be in other parts. */
static bool
find_hole (struct wire *form)
{
  while (form->at < form->end && !form->bad && *form->at != FORM_HOLE) {
    ptrdiff_t left = form->end - form->at, size = 1;
    uint8_t head = *form->at;
    if (head >= 0xdc && head <= 0xdf)
      size = head & 1 ? 5 : 3;
    if ((head & 0xe0) == 0x80 || size > 1)
      form->at += size < left ? size : left;
    else
      wire_next (form);
  }
  return form->at < form->end && !form->bad;
}

static bool
note_holes (struct form *form)
{
  struct wire wire = wire_over (form->bytes, form->length);

  for (; find_hole (&wire); wire.at++)
    *array_add (form->at, form->holes, form->at_capacity) = (uint32_t) (wire.at - form->bytes);
  return !wire.bad;
}

static const uint8_t *
take_bytes (struct wire *wire, size_t length)
{
  const uint8_t *at = wire->at;

  if (wire->bad || length > (size_t) (wire->end - wire->at)) {
    wire->bad = true;
    return NULL;
  }
  wire->at += length;
  return at;
}

static bool
read_forms (struct forms *forms, struct wire *wire)
{
  size_t count = (size_t) varint_read (wire, CHUNK_RAW_MAX);

  for (size_t i = 0; i < count && !wire->bad; i++) {
    size_t length = (size_t) varint_read (wire, CHUNK_RAW_MAX);
    const uint8_t *bytes = take_bytes (wire, length);
    if (!bytes)
      return false;
    struct form *form = forms_add (forms);
    form->bytes = bytes;
    form->length = length;
    if (!note_holes (form))
      return false;
  }
  return !wire->bad;
}

struct shape_list {
  size_t *parts; /* the forms of all shapes */
  size_t *ends;
  size_t count, capacity, part_capacity;
};

static bool
read_shapes (struct shape_list *shapes, size_t forms, struct wire *wire)
{
  size_t total = 0;

  shapes->count = (size_t) varint_read (wire, CHUNK_MESSAGES_MAX);
  shapes->ends = memory_new (shapes->count, sizeof shapes->ends[0]);
  shapes->part_capacity = 64;
  shapes->parts = memory_new (shapes->part_capacity, sizeof shapes->parts[0]);
  for (size_t i = 0; i < shapes->count && !wire->bad; i++) {
    size_t parts = (size_t) varint_read (wire, (uint64_t) (wire->end - wire->at));
    for (size_t k = 0; k < parts && !wire->bad; k++) {
      *array_add (shapes->parts, total, shapes->part_capacity) = (size_t) varint_read (wire, forms ? forms - 1 : 0);
      wire->bad = wire->bad || forms == 0;
    }
    shapes->ends[i] = total;
  }
  return !wire->bad;
}

struct reading {
  struct forms forms;
  struct shape_list shapes;
  size_t *messages; /* the shape of each */
  size_t count;
};

static void
reading_free (struct reading *reading)
{
  forms_free (&reading->forms);
  free (reading->shapes.parts);
  free (reading->shapes.ends);
  free (reading->messages);
}

static const size_t *
message_parts (const struct reading *reading, size_t message, size_t *count)
{
  size_t shape = reading->messages[message], from = shape ? reading->shapes.ends[shape - 1] : 0;

  *count = reading->shapes.ends[shape] - from;
  return reading->shapes.parts + from;
}

/* Counts the uses of each form, and thereby the numbers that follow and the least size of the messages: what is over
 * the limit is refused before memory is allocated for it. */
static bool
read_messages (struct reading *reading, struct wire *wire)
{
  size_t least = 0;

  reading->count = (size_t) varint_read (wire, CHUNK_MESSAGES_MAX);
  reading->messages = memory_new (reading->count, sizeof reading->messages[0]);
  for (size_t i = 0; i < reading->count && !wire->bad; i++) {
    size_t parts;
    const size_t *forms;
    reading->messages[i] = (size_t) varint_read (wire, UINT32_MAX);
    if (wire->bad || reading->messages[i] >= reading->shapes.count)
      return false;
    forms = message_parts (reading, i, &parts);
    for (size_t k = 0; k < parts; k++) {
      struct form *form = &reading->forms.list[forms[k]];
      form->uses++;
      least += form->length;
      if (form->length == 0 || least > CHUNK_BYTES_MAX)
        return false;
    }
  }
  return !wire->bad;
}

static bool
read_columns (struct forms *forms, struct wire *wire)
{
  size_t modes = (size_t) varint_read (wire, CHUNK_RAW_MAX), firsts = (size_t) varint_read (wire, CHUNK_RAW_MAX);
  const uint8_t *at_modes = take_bytes (wire, modes), *at_firsts = take_bytes (wire, firsts);
  struct number_sources in;

  if (wire->bad)
    return false;
  in = (struct number_sources){ wire_over (at_modes, modes), wire_over (at_firsts, firsts), *wire };
  for (size_t i = 0; i < forms->count; i++) {
    struct form *form = &forms->list[i];
    form->numbers = memory_new (form->uses * form->holes, sizeof form->numbers[0]);
    for (size_t hole = 0; hole < form->holes && form->uses; hole++)
      if (number_column_read (&in, form->numbers + hole, form->uses, form->holes) < 0)
        return false;
  }
  return in.modes.at == in.modes.end && in.firsts.at == in.firsts.end && in.rest.at == in.rest.end;
}

static void
put_number (msgpack_packer *packer, const struct number *number)
{
  double real;

  switch (number->class) {
  case NUMBER_NIL:
    msgpack_pack_nil (packer);
    break;
  case NUMBER_UINT:
    msgpack_pack_uint64 (packer, number->bits);
    break;
  case NUMBER_NEGATIVE:
    msgpack_pack_int64 (packer, (int64_t) number->bits);
    break;
  default:
    memcpy (&real, &number->bits, sizeof real);
    msgpack_pack_double (packer, real);
  }
}

static int
put_bytes (void *context, const char *bytes, size_t length)
{
  char **to = context;

  memcpy (*to, bytes, length);
  *to += length;
  return 0;
}

/* Copies the form, with its next numbers in the holes. */
static void
put_form (struct form *form, struct buffer *out)
{
  size_t from = 0;
  msgpack_packer packer;
  char *to;

  msgpack_packer_init (&packer, &to, put_bytes);
  for (size_t i = 0; i < form->holes; i++) {
    size_t length = form->at[i] - from;
    if (out->capacity - out->length < length + NUMBER_MAX)
      buffer_reserve (out, length + NUMBER_MAX);
    to = out->data + out->length;
    put_bytes (&to, (const char *) form->bytes + from, length);
    put_number (&packer, &form->numbers[form->count++]);
    out->length = (size_t) (to - out->data);
    from = form->at[i] + 1;
  }
  buffer_add (out, form->bytes + from, form->length - from);
}

int
chunk_join (struct chunk *chunk, struct wire *wire)
{
  struct reading reading = { 0 };
  int result = -1;

  if (!read_forms (&reading.forms, wire) || !read_shapes (&reading.shapes, reading.forms.count, wire) ||
      !read_messages (&reading, wire) || !read_columns (&reading.forms, wire))
    goto done;
  for (size_t i = 0; i < reading.count; i++) {
    size_t parts;
    const size_t *forms = message_parts (&reading, i, &parts);
    for (size_t k = 0; k < parts; k++)
      put_form (&reading.forms.list[forms[k]], &chunk->bytes);
    if (chunk->bytes.length > CHUNK_BYTES_MAX)
      goto done;
    chunk_end_message (chunk);
  }
  result = 0;
done:
  reading_free (&reading);
  return result;
}
