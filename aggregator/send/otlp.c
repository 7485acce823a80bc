/* OTLP's metrics:
 *
 *   ExportMetricsServiceRequest: resource_metrics = 1 ..., one for each node
 *   ResourceMetrics: resource = 1, scope_metrics = 2        Resource: attributes = 1 ...
 *   ScopeMetrics: scope = 1, metrics = 2 ...                InstrumentationScope: name = 1, version = 2
 *   Metric: name = 1, description = 2, unit = 3, gauge = 5 or sum = 7
 *   Gauge: data_points = 1 ...                              Sum: the same, aggregation_temporality = 2, is_monotonic = 3
 *   NumberDataPoint: start_time = 2, time = 3 (fixed64, ns), as_double = 4, attributes = 7 ..., flags = 8
 *   KeyValue: key = 1, value = 2                            AnyValue: string_value = 1
 *
 * A series that ends has a point without a value. A length stands before what it is of, so that inner messages are made first. */
#include "aggregator/send/otlp.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/send/protobuf.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/version.h"

#define CUMULATIVE 2
#define NO_VALUE 1
#define TIME_SIZE 9 /* of a fixed64 with its key */

/* ---- attributes ---- */

static void
add_message (struct buffer *out, char field, const void *bytes, size_t length)
{
  char *to = buffer_reserve (out, bytes_size (length) + VARINT_MAX);

  out->length = (size_t) (put_bytes (to, field, bytes, length) - out->data);
}

static size_t
attribute_length (size_t key, size_t value)
{
  return bytes_size (key) + bytes_size (bytes_size (value));
}

static void
add_attribute (struct buffer *out, char field, const char *key, const char *value, size_t value_length)
{
  size_t key_length = strlen (key), length = attribute_length (key_length, value_length);
  char *to = buffer_reserve (out, bytes_size (length) + VARINT_MAX);

  to = put_number (to, field, length);
  to = put_bytes (to, FIELD (1, WIRE_BYTES), key, key_length);
  to = put_number (to, FIELD (2, WIRE_BYTES), bytes_size (value_length));
  to = put_bytes (to, FIELD (1, WIRE_BYTES), value, value_length);
  out->length = (size_t) (to - out->data);
}

/* Those of a series' points, for all nodes. */
struct encoded {
  size_t length;
  char bytes[];
};

/* It is an attribute of the resource, or the metric's name. */
static bool
is_elsewhere (const struct otlp *otlp, const struct send_label *label)
{
  const char *name = label->name->text;

  if (!label->value || strcmp (name, "__name__") == 0)
    return true;
  if (strcmp (name, "job") == 0)
    return strcmp (label->value->text, otlp->service) == 0;
  for (size_t i = 0; i < otlp->extra_count; i++)
    if (strcmp (name, otlp->all[i].name) == 0 && strcmp (label->value->text, otlp->all[i].value) == 0)
      return true;
  return false;
}

static const struct encoded *
encode (const struct otlp *otlp, struct send_series *series)
{
  struct encoded *encoded = series->encoded;
  struct buffer all = { 0 };

  if (encoded)
    return encoded;
  for (size_t i = 0; i < series->label_count; i++) {
    const struct send_label *label = &series->labels[i];
    if (!is_elsewhere (otlp, label))
      add_attribute (&all, FIELD (7, WIRE_BYTES), label->name->text, label->value->text, label->value->length);
  }
  series->encoded = encoded = memory_new (1, sizeof *encoded + all.length);
  encoded->length = all.length;
  if (all.length)
    memcpy (encoded->bytes, all.data, all.length);
  buffer_free (&all);
  return encoded;
}

/* ---- points ---- */

static bool
is_sum (const struct send_series *series)
{
  return series->family->public->type == FAMILY_COUNTER;
}

static void
add_point (struct otlp *otlp, const struct send_sample *sample)
{
  const struct encoded *attributes = encode (otlp, sample->series);
  bool sum = is_sum (sample->series);
  size_t length = (sum ? TIME_SIZE : 0) + TIME_SIZE + (sample->stale ? 2 : TIME_SIZE) + attributes->length;
  char *to = buffer_reserve (&otlp->points, bytes_size (length) + VARINT_MAX);
  uint64_t bits;

  memcpy (&bits, &sample->value, sizeof bits);
  to = put_number (to, FIELD (1, WIRE_BYTES), length);
  if (sum)
    to = put_real (to, FIELD (2, WIRE_64), (uint64_t) (sample->start_ms * NS_PER_MS));
  to = put_real (to, FIELD (3, WIRE_64), (uint64_t) (sample->time_ms * NS_PER_MS));
  if (!sample->stale)
    to = put_real (to, FIELD (4, WIRE_64), bits);
  memcpy (to, attributes->bytes, attributes->length);
  to += attributes->length;
  if (sample->stale)
    to = put_number (to, FIELD (8, WIRE_VARINT), NO_VALUE);
  otlp->points.length = (size_t) (to - otlp->points.data);
}

/* ---- metrics ---- */

/* As UCUM has it. */
static const char *
unit_of (const struct send_family *family)
{
  static const struct {
    const char *ours, *ucum;
  } units[] = { { "seconds", "s" }, { "bytes", "By" }, { "bytes_per_second", "By/s" }, { "joules", "J" },
                { "hertz", "Hz" },  { "ratio", "1" },  { "celsius", "Cel" },           { "watts", "W" },
                { "volts", "V" },   { "amperes", "A" } };

  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strcmp (family->unit->text, units[i].ours) == 0)
      return units[i].ucum;
  return !family->unit->length && family->public->unit == UNIT_PERCENT ? "%" : "";
}

static void
end_metric (struct otlp *otlp, const struct send_series *series)
{
  const struct send_family *family = series->family;
  const char *unit = unit_of (family);
  struct buffer *out = &otlp->metrics;
  size_t name = strlen (family->public->name), help = family->help->length, more = is_sum (series) ? 4 : 0;
  size_t data = otlp->points.length + more;
  size_t length = bytes_size (name) + bytes_size (help) + bytes_size (strlen (unit)) + bytes_size (data);
  char *to = buffer_reserve (out, bytes_size (length) + VARINT_MAX);

  to = put_number (to, FIELD (2, WIRE_BYTES), length);
  to = put_bytes (to, FIELD (1, WIRE_BYTES), family->public->name, name);
  to = put_bytes (to, FIELD (2, WIRE_BYTES), family->help->text, help);
  to = put_bytes (to, FIELD (3, WIRE_BYTES), unit, strlen (unit));
  to = put_number (to, more ? FIELD (7, WIRE_BYTES) : FIELD (5, WIRE_BYTES), data);
  memcpy (to, otlp->points.data, otlp->points.length);
  to += otlp->points.length;
  if (more) {
    to = put_number (to, FIELD (2, WIRE_VARINT), CUMULATIVE);
    to = put_number (to, FIELD (3, WIRE_VARINT), true);
  }
  out->length = (size_t) (to - out->data);
  buffer_clear (&otlp->points);
}

/* ---- nodes ---- */

static void
end_node (struct otlp *otlp, const struct send_symbol *node, struct buffer *body)
{
  struct buffer resource = { 0 }, all = { 0 };

  add_attribute (&resource, FIELD (1, WIRE_BYTES), "host.name", node->text, node->length);
  add_attribute (&resource, FIELD (1, WIRE_BYTES), "service.name", otlp->service, strlen (otlp->service));
  if (otlp->extras.length)
    buffer_add (&resource, otlp->extras.data, otlp->extras.length);
  add_message (&all, FIELD (1, WIRE_BYTES), resource.data, resource.length);
  add_message (&all, FIELD (2, WIRE_BYTES), otlp->metrics.data, otlp->metrics.length);
  add_message (body, FIELD (1, WIRE_BYTES), all.data, all.length);
  buffer_free (&resource);
  buffer_free (&all);
}

static void
begin_node (struct otlp *otlp)
{
  buffer_clear (&otlp->metrics);
  buffer_add (&otlp->metrics, otlp->scope.data, otlp->scope.length);
}

void
otlp_put (struct otlp *otlp, const struct send_load *load, struct buffer *body)
{
  buffer_clear (&otlp->points);
  for (size_t i = 0; i < load->count; i++) {
    const struct send_sample *sample = &load->samples[i], *next = i + 1 < load->count ? sample + 1 : NULL;
    bool last = !next || next->node != sample->node;
    if (i == 0 || sample[-1].node != sample->node)
      begin_node (otlp);
    add_point (otlp, sample);
    if (last || next->series->family != sample->series->family)
      end_metric (otlp, sample->series);
    if (last)
      end_node (otlp, sample->node, body);
  }
}

/* ---- start and end ---- */

void
otlp_init (struct otlp *otlp, const struct send_options *options)
{
  const char *at = options->labels;
  struct buffer scope = { 0 };

  *otlp = (struct otlp){ .service = options->job, .all = memory_new (SEND_EXTRAS_MAX, sizeof (struct send_extra)) };
  while (otlp->extra_count < SEND_EXTRAS_MAX && send_extra_next (&at, &otlp->all[otlp->extra_count], NULL) > 0) {
    const struct send_extra *extra = &otlp->all[otlp->extra_count++];
    add_attribute (&otlp->extras, FIELD (1, WIRE_BYTES), extra->name, extra->value, strlen (extra->value));
  }
  add_message (&scope, FIELD (1, WIRE_BYTES), "synop", strlen ("synop"));
  add_message (&scope, FIELD (2, WIRE_BYTES), SYNOP_VERSION, strlen (SYNOP_VERSION));
  add_message (&otlp->scope, FIELD (1, WIRE_BYTES), scope.data, scope.length);
  buffer_free (&scope);
}

void
otlp_free (struct otlp *otlp)
{
  buffer_free (&otlp->extras);
  buffer_free (&otlp->points);
  buffer_free (&otlp->metrics);
  buffer_free (&otlp->scope);
  free (otlp->all);
}
