/* Splits messages into forms and columns: the writing side of history_chunk.c, which has the format. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_form.h"
#include "synop/array.h"

void
forms_free (struct forms *forms)
{
  for (size_t i = 0; i < forms->count; i++) {
    buffer_free (&forms->list[i].owned);
    free (forms->list[i].numbers);
    free (forms->list[i].at);
  }
  free (forms->list);
}

struct form *
forms_add (struct forms *forms)
{
  struct form *form = array_add (forms->list, forms->count, forms->capacity);
  *form = (struct form){ 0 };
  return form;
}

/* The size of a number as msgpack-c writes it, and any writer that takes the shortest way. */
static size_t
shortest (const struct number *number)
{
  int64_t negative = (int64_t) number->bits;

  switch (number->class) {
  case NUMBER_NIL:
    return 1;
  case NUMBER_UINT:
    return number->bits < 128           ? 1
           : number->bits <= UINT8_MAX  ? 2
           : number->bits <= UINT16_MAX ? 3
           : number->bits <= UINT32_MAX ? 5
                                        : 9;
  case NUMBER_NEGATIVE:
    return negative >= -32 ? 1 : negative >= INT8_MIN ? 2 : negative >= INT16_MIN ? 3 : negative >= INT32_MIN ? 5 : 9;
  default:
    return 9;
  }
}

struct splitter {
  struct forms forms;
  struct buffer form; /* of the current part */
  struct number *numbers;
  size_t count, capacity;
  bool first; /* the first number of the part has not come yet */
  struct buffer shape;
  uint32_t *parts; /* of all messages */
  size_t *ends;
  size_t part_count, part_capacity, end_count, end_capacity;
};

static bool
token_number (const struct wire_token *token, size_t length, struct number *number)
{
  switch (token->type) {
  case WIRE_NIL:
    *number = (struct number){ NUMBER_NIL, 0 };
    break;
  case WIRE_UINT:
    *number = (struct number){ NUMBER_UINT, token->as.u };
    break;
  case WIRE_INT:
    *number = (struct number){ NUMBER_NEGATIVE, (uint64_t) token->as.i };
    break;
  case WIRE_REAL:
    *number = (struct number){ .class = NUMBER_REAL };
    memcpy (&number->bits, &token->as.d, sizeof number->bits);
    break;
  default:
    return false;
  }
  return length == shortest (number);
}

static struct wire_token
take_token (struct splitter *splitter, struct wire *wire)
{
  const uint8_t *from = wire->at;
  struct wire_token token = wire_next (wire);
  size_t length = (size_t) (wire->at - from);
  struct number number;

  if (token_number (&token, length, &number) && !(splitter->first && number.class != NUMBER_NIL)) {
    *array_add (splitter->numbers, splitter->count, splitter->capacity) = number;
    buffer_add (&splitter->form, &(char){ (char) FORM_HOLE }, 1);
  } else {
    splitter->first = splitter->first && token.type != WIRE_UINT;
    buffer_add (&splitter->form, from, length);
  }
  return token;
}

/* Takes a value with all that it contains. */
static void
take_value (struct splitter *splitter, struct wire *wire)
{
  for (uint64_t left = 1; left && !wire->bad; left--) {
    struct wire_token token = take_token (splitter, wire);
    left += token.type == WIRE_ARRAY ? token.length : token.type == WIRE_MAP ? 2 * (uint64_t) token.length : 0;
  }
}

static uint64_t
hash_bytes (const char *bytes, size_t length)
{
  uint64_t hash = length, word;

  for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
    memcpy (&word, bytes, sizeof word);
    hash = (hash ^ word) * UINT64_C (0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  for (; length; bytes++, length--)
    hash = (hash ^ (uint8_t) *bytes) * UINT64_C (0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

/* Ends a part: its form is found or new, its numbers go there, and the next part begins. */
static void
end_part (struct splitter *splitter)
{
  uint64_t hash = hash_bytes (splitter->form.data, splitter->form.length);
  struct form *form = NULL;
  size_t index = 0;

  if (splitter->form.length == 0)
    return;
  for (; index < splitter->forms.count && !form; index++) {
    struct form *one = &splitter->forms.list[index];
    if (one->hash == hash && one->length == splitter->form.length &&
        memcmp (one->owned.data, splitter->form.data, one->length) == 0)
      form = one;
  }
  index -= form != NULL;
  if (!form) {
    form = forms_add (&splitter->forms);
    form->hash = hash;
    form->length = splitter->form.length;
    form->holes = splitter->count;
    buffer_add (&form->owned, splitter->form.data, splitter->form.length);
    form->bytes = (const uint8_t *) form->owned.data;
  }
  array_reserve (form->numbers, form->capacity, form->count + splitter->count);
  if (splitter->count)
    memcpy (form->numbers + form->count, splitter->numbers, splitter->count * sizeof form->numbers[0]);
  form->count += splitter->count;
  form->uses++;
  varint_write (&splitter->shape, index);
  *array_add (splitter->parts, splitter->part_count, splitter->part_capacity) = (uint32_t) index;
  buffer_clear (&splitter->form);
  splitter->count = 0;
  splitter->first = true;
}

/* Splits a message; `shape` gets the forms of its parts. False: not an array of msgpack values. */
static bool
split (struct splitter *splitter, const void *bytes, size_t length)
{
  struct wire wire = wire_over (bytes, length);
  struct wire_token head;

  buffer_clear (&splitter->shape);
  splitter->first = true;
  head = take_token (splitter, &wire);
  if (head.type != WIRE_ARRAY)
    return false;
  for (uint32_t i = 0; i < head.length && !wire.bad; i++) {
    uint8_t next = wire_peek (&wire);
    if ((next & 0xf0) != 0x90 && next != 0xdc && next != 0xdd) {
      take_value (splitter, &wire);
      continue;
    }
    struct wire_token inner = take_token (splitter, &wire);
    end_part (splitter);
    for (uint32_t k = 0; k < inner.length && !wire.bad; k++) {
      take_value (splitter, &wire);
      end_part (splitter);
    }
  }
  end_part (splitter);
  return !wire.bad && wire.at == wire.end;
}

/* The distinct shapes, and the shape of each message. */
struct shapes {
  struct chunk list;
  struct buffer used;
};

static void
use_shape (struct shapes *shapes, const struct buffer *shape)
{
  size_t index = 0, length;

  while (index < shapes->list.count) {
    const void *one = chunk_message (&shapes->list, index, &length);
    if (length == shape->length && memcmp (one, shape->data, length) == 0)
      break;
    index++;
  }
  if (index == shapes->list.count)
    chunk_add (&shapes->list, shape->data, shape->length);
  varint_write (&shapes->used, index);
}

static void
write_columns (const struct forms *forms, struct number_streams *streams)
{
  int64_t *scratch = NULL;
  size_t room = 0;

  for (size_t i = 0; i < forms->count; i++) {
    const struct form *form = &forms->list[i];
    array_reserve (scratch, room, form->uses);
    for (size_t hole = 0; hole < form->holes; hole++)
      number_column_write (streams, form->numbers + hole, form->uses, form->holes, scratch);
  }
  free (scratch);
}

static void
write_forms (const struct forms *forms, const struct shapes *shapes, size_t messages, struct buffer *out)
{
  struct number_streams streams = { 0 };

  varint_write (out, forms->count);
  for (size_t i = 0; i < forms->count; i++) {
    varint_write (out, forms->list[i].length);
    buffer_add (out, forms->list[i].owned.data, forms->list[i].length);
  }
  varint_write (out, shapes->list.count);
  for (size_t i = 0; i < shapes->list.count; i++) {
    size_t length, parts = 0;
    const char *shape = chunk_message (&shapes->list, i, &length);
    for (size_t k = 0; k < length; k++)
      parts += (uint8_t) shape[k] < 0x80;
    varint_write (out, parts);
    buffer_add (out, shape, length);
  }
  varint_write (out, messages);
  buffer_add (out, shapes->used.data, shapes->used.length);
  write_columns (forms, &streams);
  varint_write (out, streams.modes.length);
  varint_write (out, streams.firsts.length);
  buffer_add (out, streams.modes.data, streams.modes.length);
  buffer_add (out, streams.firsts.data, streams.firsts.length);
  buffer_add (out, streams.rest.data, streams.rest.length);
  buffer_free (&streams.modes);
  buffer_free (&streams.firsts);
  buffer_free (&streams.rest);
}

bool
chunk_split (const struct chunk *chunk, struct buffer *out, const struct chunk_look *look)
{
  struct splitter splitter = { 0 };
  struct shapes shapes = { 0 };
  bool fits = true;

  for (size_t i = 0; i < chunk->count && fits; i++) {
    size_t length;
    const void *bytes = chunk_message (chunk, i, &length);
    fits = split (&splitter, bytes, length);
    *array_add (splitter.ends, splitter.end_count, splitter.end_capacity) = splitter.part_count;
    if (fits && out)
      use_shape (&shapes, &splitter.shape);
  }
  if (fits && out)
    write_forms (&splitter.forms, &shapes, chunk->count, out);
  if (fits && look)
    look->parts (look->context, &(struct chunk_parts){ splitter.forms.list, splitter.forms.count, splitter.parts,
                                                       splitter.ends, chunk->count });
  forms_free (&splitter.forms);
  buffer_free (&splitter.form);
  buffer_free (&splitter.shape);
  free (splitter.numbers);
  free (splitter.parts);
  free (splitter.ends);
  chunk_free (&shapes.list);
  buffer_free (&shapes.used);
  return fits;
}
