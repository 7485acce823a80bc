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

static bool
read_shapes (struct part_shapes *shapes, size_t forms, struct wire *wire)
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

void
parts_free (struct parts *parts)
{
  forms_free (&parts->forms);
  free (parts->shapes.parts);
  free (parts->shapes.ends);
  free (parts->messages);
}

const size_t *
parts_of (const struct parts *parts, size_t message, size_t *count)
{
  size_t shape = parts->messages[message], from = shape ? parts->shapes.ends[shape - 1] : 0;

  *count = parts->shapes.ends[shape] - from;
  return parts->shapes.parts + from;
}

/* Counts the uses of each form, and thereby the numbers that follow and the least size of the messages: what is over
 * the limit is refused before memory is allocated for it. */
static bool
read_messages (struct parts *parts, struct wire *wire)
{
  size_t least = 0;

  parts->count = (size_t) varint_read (wire, CHUNK_MESSAGES_MAX);
  parts->messages = memory_new (parts->count, sizeof parts->messages[0]);
  for (size_t i = 0; i < parts->count && !wire->bad; i++) {
    size_t count;
    const size_t *forms;
    parts->messages[i] = (size_t) varint_read (wire, UINT32_MAX);
    if (wire->bad || parts->messages[i] >= parts->shapes.count)
      return false;
    forms = parts_of (parts, i, &count);
    for (size_t k = 0; k < count; k++) {
      struct form *form = &parts->forms.list[forms[k]];
      form->uses++;
      least += form->length;
      if (form->length == 0 || least > CHUNK_BYTES_MAX)
        return false;
    }
  }
  return !wire->bad;
}

bool
parts_read (struct parts *parts, struct wire *wire)
{
  return read_forms (&parts->forms, wire) && read_shapes (&parts->shapes, parts->forms.count, wire) &&
         read_messages (parts, wire);
}

bool
parts_read_columns (struct parts *parts, struct wire *wire, bool *const *wanted)
{
  size_t modes = (size_t) varint_read (wire, CHUNK_RAW_MAX), firsts = (size_t) varint_read (wire, CHUNK_RAW_MAX);
  const uint8_t *at_modes = take_bytes (wire, modes), *at_firsts = take_bytes (wire, firsts);
  struct number_sources in;

  if (wire->bad)
    return false;
  in = (struct number_sources){ wire_over (at_modes, modes), wire_over (at_firsts, firsts), *wire };
  for (size_t i = 0; i < parts->forms.count; i++) {
    struct form *form = &parts->forms.list[i];
    if (!wanted || wanted[i])
      form->numbers = memory_new (form->uses * form->holes, sizeof form->numbers[0]);
    for (size_t hole = 0; hole < form->holes && form->uses; hole++) {
      bool kept = !wanted || (wanted[i] && wanted[i][hole]);
      if ((kept ? number_column_read (&in, form->numbers + hole, form->uses, form->holes)
                : number_column_skip (&in, form->uses)) < 0)
        return false;
    }
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

/* Shows the parts as they are when messages are split. */
static void
show_parts (const struct parts *parts, const struct chunk_look *look)
{
  size_t *ends = memory_new (parts->count, sizeof *ends), total = 0;
  uint32_t *list = NULL;
  size_t capacity = 0;

  for (size_t i = 0; i < parts->count; i++) {
    size_t count;
    const size_t *forms = parts_of (parts, i, &count);
    for (size_t k = 0; k < count; k++)
      *array_add (list, total, capacity) = (uint32_t) forms[k];
    ends[i] = total;
  }
  look->parts (look->context, &(struct chunk_parts){ parts->forms.list, parts->forms.count, list, ends, parts->count });
  free (ends);
  free (list);
}

int
chunk_join (struct chunk *chunk, struct wire *wire, const struct chunk_look *look)
{
  struct parts parts = { 0 };
  int result = -1;

  if (!parts_read (&parts, wire) || !parts_read_columns (&parts, wire, NULL))
    goto done;
  for (size_t i = 0; i < parts.count; i++) {
    size_t count;
    const size_t *forms = parts_of (&parts, i, &count);
    for (size_t k = 0; k < count; k++)
      put_form (&parts.forms.list[forms[k]], &chunk->bytes);
    if (chunk->bytes.length > CHUNK_BYTES_MAX)
      goto done;
    chunk_end_message (chunk);
  }
  result = 0;
  if (look)
    show_parts (&parts, look);
done:
  parts_free (&parts);
  return result;
}
