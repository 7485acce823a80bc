/* What OTLP's receivers answer:
 *
 *   ExportMetricsServiceResponse: partial_success = 1    ExportMetricsPartialSuccess: rejected_data_points = 1, error_message = 2
 *   google.rpc.Status: code = 1, message = 2
 *
 * They come from outside: what is broken says nothing. */
#include "aggregator/send/otlp.h"

#include <string.h>

#include "aggregator/send/protobuf.h"

struct reading {
  const char *at, *end;
};

struct field {
  unsigned number;
  uint64_t value;       /* of a varint */
  struct reading bytes; /* of a message or text */
};

static bool
read_varint (struct reading *reading, uint64_t *value)
{
  *value = 0;
  for (unsigned shift = 0; reading->at < reading->end && shift < 64; shift += 7) {
    unsigned char byte = (unsigned char) *reading->at++;
    *value |= (uint64_t) (byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

/* False: the message ends, or is broken. */
static bool
read_field (struct reading *reading, struct field *field)
{
  uint64_t key, length;

  if (!read_varint (reading, &key))
    return false;
  *field = (struct field){ .number = (unsigned) (key >> 3) };
  if ((key & 7) == WIRE_VARINT)
    return read_varint (reading, &field->value);
  if ((key & 7) != WIRE_BYTES || !read_varint (reading, &length) || length > (uint64_t) (reading->end - reading->at))
    return false;
  field->bytes = (struct reading){ reading->at, reading->at + length };
  reading->at += length;
  return true;
}

static void
take_text (const struct reading *bytes, char *text, size_t size)
{
  size_t length = bytes->at ? (size_t) (bytes->end - bytes->at) : 0;

  length = length < size - 1 ? length : size - 1;
  for (size_t i = 0; i < length; i++) {
    bool plain = (unsigned char) bytes->at[i] >= ' ' && bytes->at[i] != 0x7f;
    text[i] = plain ? bytes->at[i] : ' ';
  }
  text[length] = '\0';
}

void
otlp_read_partial (const char *body, size_t length, struct otlp_partial *partial)
{
  struct reading reading = { body, body + length }, inner;
  struct field field;

  *partial = (struct otlp_partial){ 0 };
  while (read_field (&reading, &field)) {
    if (field.number != 1)
      continue;
    inner = field.bytes;
    while (inner.at && read_field (&inner, &field)) {
      if (field.number == 1)
        partial->rejected = field.value;
      else if (field.number == 2)
        take_text (&field.bytes, partial->message, sizeof partial->message);
    }
  }
}

void
otlp_read_status (const char *body, size_t length, char *message, size_t size)
{
  struct reading reading = { body, body + length };
  struct field field;

  *message = '\0';
  while (read_field (&reading, &field))
    if (field.number == 2)
      take_text (&field.bytes, message, size);
}
