/* Remote write 2.0: texts stand once in a request, and are referred to by their number.
 *
 *   Request:    symbols = 4 ..., of which the first is empty, timeseries = 5 ...
 *   TimeSeries: labels_refs = 1 (packed), samples = 2, metadata = 5
 *   Metadata:   type = 1, help_ref = 3, unit_ref = 4
 *
 * Its fields are none of 1.0's: who takes it for that finds an empty request. */
#include "aggregator/send/remote_write.h"

#include <stdlib.h>

#include "synop/memory.h"

#define REF_MAX 5
#define METADATA_MAX (2 + 2 + 2 * (1 + REF_MAX))

struct request {
  uint64_t number;
  uint32_t symbols;
  struct buffer *body; /* the symbols; behind them, at the end, the series */
};

/* The refs of a series before that to the node's name, and behind it, and its metadata: for one request, in which mostly
 * other nodes have it too. */
struct encoded {
  uint64_t number;
  size_t before, behind, metadata;
  char bytes[];
};

static uint32_t
ref_of (struct request *request, struct send_symbol *symbol)
{
  char *to;

  if (symbol->length == 0)
    return 0;
  if (symbol->request == request->number)
    return symbol->ref;
  symbol->request = request->number;
  symbol->ref = request->symbols++;
  to = buffer_reserve (request->body, 1 + VARINT_MAX + symbol->length);
  to = put_bytes (to, FIELD (4, WIRE_BYTES), symbol->text, symbol->length);
  request->body->length = (size_t) (to - request->body->data);
  return symbol->ref;
}

static char *
put_metadata (char *to, struct request *request, const struct send_family *family)
{
  uint32_t help = ref_of (request, family->help), unit = ref_of (request, family->unit);
  size_t length = 2 + (help ? 1 + varint_size (help) : 0) + (unit ? 1 + varint_size (unit) : 0);

  to = put_number (to, FIELD (5, WIRE_BYTES), length);
  to = put_number (to, FIELD (1, WIRE_VARINT), (uint64_t) metadata_type (family));
  to = help ? put_number (to, FIELD (3, WIRE_VARINT), help) : to;
  return unit ? put_number (to, FIELD (4, WIRE_VARINT), unit) : to;
}

static char *
put_label (char *to, struct request *request, const struct send_label *label)
{
  to = put_varint (to, ref_of (request, label->name));
  return label->value ? put_varint (to, ref_of (request, label->value)) : to;
}

static const struct encoded *
encode (struct request *request, struct send_series *series)
{
  size_t most = 2 * REF_MAX * series->label_count + METADATA_MAX;
  struct encoded *encoded = series->encoded;
  char *to;

  if (encoded && encoded->number == request->number)
    return encoded;
  if (!encoded || encoded->number == NUMBER_1) {
    free (series->encoded);
    series->encoded = encoded = memory_new (1, sizeof *encoded + most);
  }
  encoded->number = request->number;
  to = encoded->bytes;
  for (size_t i = 0; i < series->label_count; i++) {
    to = put_label (to, request, &series->labels[i]);
    if (i == series->instance)
      encoded->before = (size_t) (to - encoded->bytes);
  }
  encoded->behind = (size_t) (to - encoded->bytes) - encoded->before;
  encoded->metadata = (size_t) (put_metadata (to, request, series->family) - to);
  return encoded;
}

static void
put_series (struct buffer *rest, struct request *request, const struct send_sample *sample)
{
  const struct encoded *encoded = encode (request, sample->series);
  uint32_t node = ref_of (request, sample->node);
  size_t refs = encoded->before + varint_size (node) + encoded->behind;
  size_t length = bytes_size (refs) + sample_size (sample) + encoded->metadata;
  char *to = buffer_reserve (rest, 1 + VARINT_MAX + length);

  to = put_number (to, FIELD (5, WIRE_BYTES), length);
  to = put_number (to, FIELD (1, WIRE_BYTES), refs);
  memcpy (to, encoded->bytes, encoded->before);
  to = put_varint (to + encoded->before, node);
  memcpy (to, encoded->bytes + encoded->before, encoded->behind);
  to = put_sample (to + encoded->behind, sample);
  memcpy (to, encoded->bytes + encoded->before + encoded->behind, encoded->metadata);
  rest->length = (size_t) (to + encoded->metadata - rest->data);
}

void
request_put (struct buffer *body, const struct send_sample *samples, size_t count, uint64_t number, struct buffer *rest)
{
  struct request request = { .number = number, .symbols = 1, .body = body };
  static const char empty[] = { FIELD (4, WIRE_BYTES), 0 };

  buffer_clear (rest);
  buffer_add (body, empty, sizeof empty);
  for (size_t i = 0; i < count; i++)
    put_series (rest, &request, &samples[i]);
  buffer_add (body, rest->data, rest->length);
}
