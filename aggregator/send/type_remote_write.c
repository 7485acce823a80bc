/* Prometheus' remote write 1.0: protobuf in one snappy block.
 *
 *   WriteRequest: timeseries = 1 ...
 *   TimeSeries:   labels = 1 ..., samples = 2
 *   Label:        name = 1, value = 2
 *   Sample:       value = 1 (double), timestamp = 2 (ms)
 *
 * Written by hand: it is lengths and bytes, and a library wants a struct, on the heap, for each label of each sample. */
#include <endian.h>
#include <math.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/send/send_type.h"

#define NAME "__name__"
#define VARINT_MAX 10
#define STALE_MARKER UINT64_C (0x7ff0000000000002)
#define FIELD(number, wire) (char) ((number) << 3 | (wire))
enum { WIRE_VARINT, WIRE_64, WIRE_BYTES };

static size_t
varint_size (uint64_t number)
{
  size_t size = 1;

  for (; number >= 0x80; number >>= 7)
    size++;
  return size;
}

static char *
put_varint (char *to, uint64_t number)
{
  for (; number >= 0x80; number >>= 7)
    *to++ = (char) (number | 0x80);
  *to++ = (char) number;
  return to;
}

static char *
put_bytes (char *to, char field, const void *bytes, size_t length)
{
  *to++ = field;
  to = put_varint (to, length);
  memcpy (to, bytes, length);
  return to + length;
}

static size_t
bytes_size (size_t length)
{
  return 1 + varint_size (length) + length;
}

static size_t
label_size (size_t name, size_t value)
{
  return bytes_size (name) + bytes_size (value);
}

static char *
put_label (char *to, const char *name, size_t name_length, const char *value, size_t length)
{
  *to++ = FIELD (1, WIRE_BYTES);
  to = put_varint (to, label_size (name_length, length));
  to = put_bytes (to, FIELD (1, WIRE_BYTES), name, name_length);
  return put_bytes (to, FIELD (2, WIRE_BYTES), value, length);
}

static char *
put_sample (char *to, const struct send_sample *sample)
{
  uint64_t bits, time = (uint64_t) sample->time_ms;

  memcpy (&bits, &sample->value, sizeof bits);
  bits = htole64 (sample->stale ? STALE_MARKER : bits);
  *to++ = FIELD (2, WIRE_BYTES);
  *to++ = (char) (1 + sizeof bits + 1 + varint_size (time));
  *to++ = FIELD (1, WIRE_64);
  memcpy (to, &bits, sizeof bits);
  to += sizeof bits;
  *to++ = FIELD (2, WIRE_VARINT);
  return put_varint (to, time);
}

/* The name is a label too, and stands in its place among them. */
static void
remote_write_add (struct buffer *body, const struct send_sample *sample)
{
  const char *family = sample->family->name;
  size_t family_length = strlen (family), length = bytes_size (label_size (strlen (NAME), family_length)), at = 0;
  char *to;

  for (size_t i = 0; i < sample->label_count; i++)
    length += bytes_size (label_size (strlen (sample->labels[i].name), sample->labels[i].length));
  length += bytes_size (1 + sizeof (double) + 1 + varint_size ((uint64_t) sample->time_ms));
  to = buffer_reserve (body, 1 + VARINT_MAX + length);
  *to++ = FIELD (1, WIRE_BYTES);
  to = put_varint (to, length);
  for (; at < sample->label_count && strcmp (sample->labels[at].name, NAME) < 0; at++)
    to = put_label (to, sample->labels[at].name, strlen (sample->labels[at].name), sample->labels[at].value,
                    sample->labels[at].length);
  to = put_label (to, NAME, strlen (NAME), family, family_length);
  for (; at < sample->label_count; at++)
    to = put_label (to, sample->labels[at].name, strlen (sample->labels[at].name), sample->labels[at].value,
                    sample->labels[at].length);
  to = put_sample (to, sample);
  body->length = (size_t) (to - body->data);
}

static void
remote_write_pack (const void *body, size_t length, struct buffer *request)
{
  size_t packed = snappy_max_compressed_length (length);
  char *to = buffer_reserve (request, packed);

  if (snappy_compress (body, length, to, &packed) != SNAPPY_OK)
    abort (); /* it has no other reason than too little room */
  request->length += packed;
}

/* Redirections are no answer: the url is to be mended, and nothing is wrong with what was sent. */
static enum send_verdict
remote_write_judge (const struct send_answer *answer)
{
  if (answer->status >= 200 && answer->status < 300)
    return SEND_TAKEN;
  return answer->status >= 400 && answer->status < 500 && answer->status != 429 ? SEND_REFUSED : SEND_AGAIN;
}

static const char *const headers[] = { "Content-Type: application/x-protobuf", "Content-Encoding: snappy",
                                       "X-Prometheus-Remote-Write-Version: 0.1.0", NULL };

const struct send_type send_remote_write = { "remote_write", headers, remote_write_add, remote_write_pack,
                                             remote_write_judge };
