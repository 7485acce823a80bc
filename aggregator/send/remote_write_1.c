/* Remote write 1.0:
 *
 *   WriteRequest:   timeseries = 1 ..., metadata = 3 ...
 *   TimeSeries:     labels = 1 ..., samples = 2
 *   Label:          name = 1, value = 2
 *   MetricMetadata: type = 1, metric_family_name = 2, help = 4, unit = 5
 *
 * The specification leaves metadata out; Prometheus sends it now and then, and receivers take it or leave it. */
#include <stdlib.h>

#include "aggregator/send/remote_write.h"
#include "synop/memory.h"

/* The labels of a series before the one with the node's name, and behind it. */
struct encoded {
  uint64_t number;
  size_t before, behind;
  char bytes[];
};

static size_t
label_size (const struct send_symbol *name, const struct send_symbol *value)
{
  return bytes_size (name->length) + bytes_size (value->length);
}

static char *
put_label (char *to, const struct send_symbol *name, const struct send_symbol *value)
{
  to = put_number (to, FIELD (1, WIRE_BYTES), label_size (name, value));
  to = put_bytes (to, FIELD (1, WIRE_BYTES), name->text, name->length);
  return put_bytes (to, FIELD (2, WIRE_BYTES), value->text, value->length);
}

static const struct encoded *
encode (struct send_series *series)
{
  struct encoded *encoded = series->encoded;
  size_t size = 0;
  char *to;

  if (encoded && encoded->number == NUMBER_1)
    return encoded;
  free (encoded);
  for (size_t i = 0; i < series->label_count; i++)
    if (i != series->instance)
      size += bytes_size (label_size (series->labels[i].name, series->labels[i].value));
  series->encoded = encoded = memory_new (1, sizeof *encoded + size);
  to = encoded->bytes;
  for (size_t i = 0; i < series->label_count; i++) {
    if (i == series->instance)
      encoded->before = (size_t) (to - encoded->bytes);
    else
      to = put_label (to, series->labels[i].name, series->labels[i].value);
  }
  encoded->behind = size - encoded->before;
  return encoded;
}

static void
put_series (struct buffer *body, const struct send_sample *sample)
{
  struct send_series *series = sample->series;
  const struct send_symbol *instance = series->labels[series->instance].name;
  const struct encoded *encoded = encode (series);
  size_t length =
      encoded->before + bytes_size (label_size (instance, sample->node)) + encoded->behind + sample_size (sample);
  char *to = buffer_reserve (body, 1 + VARINT_MAX + length);

  to = put_number (to, FIELD (1, WIRE_BYTES), length);
  memcpy (to, encoded->bytes, encoded->before);
  to = put_label (to + encoded->before, instance, sample->node);
  memcpy (to, encoded->bytes + encoded->before, encoded->behind);
  to = put_sample (to + encoded->behind, sample);
  body->length = (size_t) (to - body->data);
}

static void
put_metadata (struct buffer *body, const struct send_family *family)
{
  size_t name = strlen (family->public->name);
  size_t length = 2 + bytes_size (name) + bytes_size (family->help->length) + bytes_size (family->unit->length);
  char *to = buffer_reserve (body, 1 + VARINT_MAX + length);

  to = put_number (to, FIELD (3, WIRE_BYTES), length);
  to = put_number (to, FIELD (1, WIRE_VARINT), (uint64_t) metadata_type (family));
  to = put_bytes (to, FIELD (2, WIRE_BYTES), family->public->name, name);
  to = put_bytes (to, FIELD (4, WIRE_BYTES), family->help->text, family->help->length);
  to = put_bytes (to, FIELD (5, WIRE_BYTES), family->unit->text, family->unit->length);
  body->length = (size_t) (to - body->data);
}

void
write_request_put (struct buffer *body, const struct send_sample *samples, size_t count, int64_t since_ns,
                   int64_t now_ns)
{
  for (size_t i = 0; i < count; i++)
    put_series (body, &samples[i]);
  for (size_t i = 0; i < count; i++) {
    struct send_family *family = samples[i].series->family;
    if (family->stated_ns >= since_ns && family->stated_ns)
      continue;
    put_metadata (body, family);
    family->stated_ns = now_ns;
  }
}
