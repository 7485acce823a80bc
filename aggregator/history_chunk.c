/* See history_chunk.h. Lengths, counts and places are varints.
 *
 *   chunk   = zstd of: 0, count of messages, [length...], messages      as they are
 *           | zstd of: 1, count of forms, [length, form]..., count of shapes, [count of parts, [form...]]...,
 *                      count of messages, [shape...], length of modes, of firsts, modes, firsts, rest
 *   form    = msgpack with c1 (never used in msgpack) in place of each number that moves, and of nil
 *   shape   = the forms of the parts of a message
 *   columns = for each form, for each of its c1: one number each time that the form is used, in order
 *
 * The parts of a message, which is an array: the tables of a frame, that is, each item of an array in it, and what is
 * before, between and behind them. The first number of a part stays in its form: it is the group of a table, so that
 * groups do not share columns. So does a number that is not written in the shortest way. */
#include "aggregator/history_chunk.h"

#include <msgpack.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "aggregator/history_number.h"
#include "synop/memory.h"
#include "synop/wire.h"

#define LEVEL 6
#define RAW_MAX (4 * CHUNK_BYTES_MAX) /* of what zstd unpacks: forms and columns may take more room than messages */
#define HOLE 0xc1
#define WHOLE 0
#define COLUMNS 1

/* ---- a chunk in memory ---- */

void
chunk_free (struct chunk *chunk)
{
  buffer_free (&chunk->bytes);
  free (chunk->ends);
  *chunk = (struct chunk){ 0 };
}

void
chunk_clear (struct chunk *chunk)
{
  buffer_clear (&chunk->bytes);
  chunk->count = 0;
}

static void
end_message (struct chunk *chunk)
{
  if (chunk->count == chunk->capacity) {
    chunk->capacity = chunk->capacity ? chunk->capacity * 2 : 64;
    chunk->ends = memory_resize (chunk->ends, chunk->capacity, sizeof chunk->ends[0]);
  }
  chunk->ends[chunk->count++] = chunk->bytes.length;
}

void
chunk_add (struct chunk *chunk, const void *bytes, size_t length)
{
  buffer_add (&chunk->bytes, bytes, length);
  end_message (chunk);
}

/* ---- forms ---- */

struct form {
  uint64_t hash;
  const uint8_t *bytes; /* when reading: into the raw chunk */
  struct buffer owned;  /* when writing */
  size_t length, holes;
  size_t uses;
  struct number *numbers; /* uses * holes, in the order of use */
  size_t count, capacity; /* of numbers */
};

struct forms {
  struct form *list;
  size_t count, capacity;
};

static void
forms_free (struct forms *forms)
{
  for (size_t i = 0; i < forms->count; i++) {
    buffer_free (&forms->list[i].owned);
    free (forms->list[i].numbers);
  }
  free (forms->list);
}

static struct form *
forms_add (struct forms *forms)
{
  if (forms->count == forms->capacity) {
    forms->capacity = forms->capacity ? forms->capacity * 2 : 32;
    forms->list = memory_resize (forms->list, forms->capacity, sizeof forms->list[0]);
  }
  forms->list[forms->count] = (struct form){ 0 };
  return &forms->list[forms->count++];
}

/* ---- writing ---- */

/* How msgpack-c, and every writer that takes the shortest way, writes a number. */
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
  struct buffer form; /* of the part at hand */
  struct number *numbers;
  size_t count, capacity;
  bool first; /* the first number of the part is still to come */
  struct buffer shape;
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
    if (splitter->count == splitter->capacity) {
      splitter->capacity = splitter->capacity ? splitter->capacity * 2 : 256;
      splitter->numbers = memory_resize (splitter->numbers, splitter->capacity, sizeof splitter->numbers[0]);
    }
    splitter->numbers[splitter->count++] = number;
    buffer_add (&splitter->form, &(char){ (char) HOLE }, 1);
  } else {
    splitter->first = splitter->first && token.type != WIRE_UINT;
    buffer_add (&splitter->form, from, length);
  }
  return token;
}

/* One whole value: it and all that it holds. */
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

/* The part at hand is whole: its form is found or new, its numbers go there, and the next part begins. */
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
  }
  if (form->count + splitter->count > form->capacity) {
    form->capacity = 2 * form->capacity + splitter->count;
    form->numbers = memory_resize (form->numbers, form->capacity, sizeof form->numbers[0]);
  }
  if (splitter->count)
    memcpy (form->numbers + form->count, splitter->numbers, splitter->count * sizeof form->numbers[0]);
  form->count += splitter->count;
  form->uses++;
  varint_write (&splitter->shape, index);
  buffer_clear (&splitter->form);
  splitter->count = 0;
  splitter->first = true;
}

/* Leaves the forms of its parts in `shape`. False when it is not an array of msgpack values. */
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

/* Shapes, each once, and which one each message has. */
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
    if (form->uses > room) {
      room = form->uses;
      scratch = memory_resize (scratch, room, sizeof scratch[0]);
    }
    for (size_t hole = 0; hole < form->holes; hole++)
      number_column_write (streams, form->numbers + hole, form->uses, form->holes, scratch);
  }
  free (scratch);
}

static void
write_forms (const struct forms *forms, const struct shapes *shapes, size_t messages, struct buffer *out)
{
  struct number_streams streams = { 0 };

  buffer_add (out, &(char){ COLUMNS }, 1);
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

static bool
write_split (const struct chunk *chunk, struct buffer *out)
{
  struct splitter splitter = { 0 };
  struct shapes shapes = { 0 };
  bool fits = true;

  for (size_t i = 0; i < chunk->count && fits; i++) {
    size_t length;
    const void *bytes = chunk_message (chunk, i, &length);
    fits = split (&splitter, bytes, length);
    if (fits)
      use_shape (&shapes, &splitter.shape);
  }
  if (fits)
    write_forms (&splitter.forms, &shapes, chunk->count, out);
  forms_free (&splitter.forms);
  buffer_free (&splitter.form);
  buffer_free (&splitter.shape);
  free (splitter.numbers);
  chunk_free (&shapes.list);
  buffer_free (&shapes.used);
  return fits;
}

static void
write_whole (const struct chunk *chunk, struct buffer *out)
{
  buffer_add (out, &(char){ WHOLE }, 1);
  varint_write (out, chunk->count);
  for (size_t i = 0; i < chunk->count; i++)
    varint_write (out, chunk->ends[i] - (i ? chunk->ends[i - 1] : 0));
  buffer_add (out, chunk->bytes.data, chunk->bytes.length);
}

static bool
comes_back (const struct chunk *chunk, const struct buffer *raw)
{
  struct chunk again = { 0 };
  bool same = raw->length <= RAW_MAX && chunk_read (&again, raw->data, raw->length, NULL) == 0 &&
              again.count == chunk->count && again.bytes.length == chunk->bytes.length &&
              memcmp (again.bytes.data, chunk->bytes.data, chunk->bytes.length) == 0 &&
              memcmp (again.ends, chunk->ends, chunk->count * sizeof chunk->ends[0]) == 0;

  chunk_free (&again);
  return same;
}

static void
compress (const struct buffer *raw, struct buffer *out)
{
  size_t room = ZSTD_compressBound (raw->length), length;
  ZSTD_CCtx *zstd = ZSTD_createCCtx ();

  if (!zstd)
    abort ();
  ZSTD_CCtx_setParameter (zstd, ZSTD_c_compressionLevel, LEVEL);
  ZSTD_CCtx_setParameter (zstd, ZSTD_c_checksumFlag, 1);
  length = ZSTD_compress2 (zstd, buffer_reserve (out, room), room, raw->data, raw->length);
  if (ZSTD_isError (length)) /* there is room: it has no memory */
    abort ();
  out->length += length;
  ZSTD_freeCCtx (zstd);
}

void
chunk_pack (const struct chunk *chunk, struct buffer *out)
{
  struct buffer raw = { 0 };

  if (chunk->count == 0 || !write_split (chunk, &raw) || !comes_back (chunk, &raw)) {
    buffer_clear (&raw);
    write_whole (chunk, &raw);
  }
  compress (&raw, out);
  buffer_free (&raw);
}

/* ---- reading ---- */

static int
broken (struct error *error)
{
  return error_set (error, "the chunk is broken");
}

static int
read_whole (struct chunk *chunk, struct wire *wire)
{
  size_t count = (size_t) varint_read (wire, CHUNK_MESSAGES_MAX), total = 0;

  for (size_t i = 0; i < count && !wire->bad; i++) {
    total += (size_t) varint_read (wire, CHUNK_BYTES_MAX);
    chunk->bytes.length = total; /* the bytes follow */
    end_message (chunk);
  }
  chunk->bytes.length = 0;
  if (wire->bad || total != (size_t) (wire->end - wire->at) || total > CHUNK_BYTES_MAX)
    return -1;
  buffer_add (&chunk->bytes, wire->at, total);
  return 0;
}

/* Goes on to the next hole; false at the end. What looks like one inside a text is none. The head of an array or a map
 * is stepped over by hand: it may promise more items than the form has, since other parts follow. */
static bool
find_hole (struct wire *form)
{
  while (form->at < form->end && !form->bad && *form->at != HOLE) {
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
count_holes (struct form *form)
{
  struct wire wire = wire_over (form->bytes, form->length);

  for (; find_hole (&wire); wire.at++)
    form->holes++;
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
  size_t count = (size_t) varint_read (wire, RAW_MAX);

  for (size_t i = 0; i < count && !wire->bad; i++) {
    size_t length = (size_t) varint_read (wire, RAW_MAX);
    const uint8_t *bytes = take_bytes (wire, length);
    if (!bytes)
      return false;
    struct form *form = forms_add (forms);
    form->bytes = bytes;
    form->length = length;
    if (!count_holes (form))
      return false;
  }
  return !wire->bad;
}

struct shape_list {
  size_t *parts; /* forms of all shapes */
  size_t *ends;
  size_t count, capacity, part_capacity;
};

static bool
read_shapes (struct shape_list *shapes, size_t forms, struct wire *wire)
{
  size_t total = 0;

  shapes->count = (size_t) varint_read (wire, CHUNK_MESSAGES_MAX);
  shapes->ends = memory_new (shapes->count, sizeof shapes->ends[0]);
  for (size_t i = 0; i < shapes->count && !wire->bad; i++) {
    size_t parts = (size_t) varint_read (wire, (uint64_t) (wire->end - wire->at));
    for (size_t k = 0; k < parts && !wire->bad; k++) {
      if (total == shapes->part_capacity) {
        shapes->part_capacity = 2 * total + 64;
        shapes->parts = memory_resize (shapes->parts, shapes->part_capacity, sizeof shapes->parts[0]);
      }
      shapes->parts[total++] = (size_t) varint_read (wire, forms ? forms - 1 : 0);
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

/* Counts how often each form is used, and so how many numbers follow and how large the messages are at the least: what
 * is over the limit is refused before any room is made for it. */
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
  size_t modes = (size_t) varint_read (wire, RAW_MAX), firsts = (size_t) varint_read (wire, RAW_MAX);
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

/* Copies the form, with its next numbers in the holes. */
static void
put_form (struct form *form, struct buffer *out)
{
  struct wire wire = wire_over (form->bytes, form->length);
  const uint8_t *from = wire.at;
  msgpack_packer packer;

  wire_packer (&packer, out);
  while (find_hole (&wire)) {
    buffer_add (out, from, (size_t) (wire.at - from));
    put_number (&packer, &form->numbers[form->count++]);
    from = ++wire.at;
  }
  buffer_add (out, from, (size_t) (wire.end - from));
}

static int
read_split (struct chunk *chunk, struct wire *wire)
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
    end_message (chunk);
  }
  result = 0;
done:
  reading_free (&reading);
  return result;
}

int
chunk_read (struct chunk *chunk, const void *bytes, size_t length, struct error *error)
{
  struct wire wire = wire_over (bytes, length);
  uint8_t kind = length ? *wire.at++ : UINT8_MAX;
  int result = kind == WHOLE ? read_whole (chunk, &wire) : kind == COLUMNS ? read_split (chunk, &wire) : -1;

  return result == 0 ? 0 : broken (error);
}

int
chunk_unpack (struct chunk *chunk, const void *bytes, size_t length, struct error *error)
{
  unsigned long long size = ZSTD_getFrameContentSize (bytes, length);
  struct buffer raw = { 0 };
  size_t got;
  int result;

  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > RAW_MAX)
    return broken (error);
  got = ZSTD_decompress (buffer_reserve (&raw, (size_t) size + 1), (size_t) size, bytes, length);
  if (ZSTD_isError (got) || got != size)
    result = error_set (error, "the chunk is broken: %s", ZSTD_isError (got) ? ZSTD_getErrorName (got) : "cut short");
  else
    result = chunk_read (chunk, raw.data, (size_t) size, error);
  buffer_free (&raw);
  return result;
}
