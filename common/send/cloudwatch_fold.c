/* Samples become metrics: see cloudwatch.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/send/cloudwatch_private.h"
#include "synop/exposition.h"
#include "synop/memory.h"

#define LARGEST 0x1p360 /* either way */
#define SERVICE_LABEL "job"
#define INSTANCE_LABEL "InstanceId"

/* ---- names ---- */

static const char *
unit_of (const struct metric_family *family)
{
  static const struct {
    const char *suffix, *unit;
  } suffixes[] = { { "seconds", "Seconds" }, { "bytes", "Bytes" }, { "bytes_per_second", "Bytes/Second" } };
  static const char *const units[METRIC_UNITS] = { [UNIT_COUNT] = "Count",
                                                   [UNIT_BYTES] = "Bytes",
                                                   [UNIT_SECONDS] = "Seconds",
                                                   [UNIT_PERCENT] = "Percent",
                                                   [UNIT_BITS_PER_SECOND] = "Bits/Second" };
  const char *suffix = exposition_unit (family);

  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
    if (strcmp (suffix, suffixes[i].suffix) == 0)
      return suffixes[i].unit;
  return !*suffix && units[family->unit] ? units[family->unit] : "";
}

void
cloudwatch_name (const struct metric_family *family, struct cloudwatch_name *name)
{
  const char *slash = family->quoted ? strrchr (family->name, '/') : NULL;
  size_t length = slash ? (size_t) (slash - family->name) : 0;

  length = length < CLOUDWATCH_NAME_MAX ? length : CLOUDWATCH_NAME_MAX;
  memcpy (name->namespace, family->name, length);
  name->namespace[length] = '\0';
  name->name = slash ? slash + 1 : family->name;
  name->unit = unit_of (family);
}

static bool
is_label (const struct send_label *label, const char *name)
{
  return strcmp (label->name->text, name) == 0;
}

size_t
cloudwatch_dimensions (const struct send_series *series, const struct send_symbol *node,
                       struct cloudwatch_dimension *dimensions)
{
  bool names_instance = false;
  size_t count = 0;

  for (size_t i = 0; series->family->public->quoted && i < series->label_count; i++)
    names_instance |= is_label (&series->labels[i], INSTANCE_LABEL);
  for (size_t i = 0; i < series->label_count; i++) {
    const struct send_label *label = &series->labels[i];
    if (is_label (label, "__name__") || is_label (label, SERVICE_LABEL) || (i == series->instance && names_instance))
      continue;
    if (count == CLOUDWATCH_DIMENSIONS_MAX)
      return SIZE_MAX;
    dimensions[count++] =
        (struct cloudwatch_dimension){ label->name->text, label->value ? label->value->text : node->text };
  }
  return count;
}

/* ---- order ---- */

static const char *
namespace_of (const struct send_sample *sample, struct cloudwatch_name *name)
{
  cloudwatch_name (sample->series->family->public, name);
  return name->namespace;
}

static int
compare_pointers (const void *one, const void *other)
{
  return ((uintptr_t) one > (uintptr_t) other) - ((uintptr_t) one < (uintptr_t) other);
}

static int
compare (const void *one, const void *other)
{
  const struct send_sample *a = *(const struct send_sample *const *) one,
                           *b = *(const struct send_sample *const *) other;
  struct cloudwatch_name first, second;
  int order = 0;

  if (a->series->family != b->series->family)
    order = strcmp (namespace_of (a, &first), namespace_of (b, &second));
  if (order == 0)
    order = compare_pointers (a->series, b->series);
  if (order == 0)
    order = compare_pointers (a->node, b->node);
  if (order == 0)
    order = (a->time_ms > b->time_ms) - (a->time_ms < b->time_ms);
  return order ? order : (a > b) - (a < b);
}

/* ---- the fold ---- */

static bool
fits (const struct send_sample *sample)
{
  struct cloudwatch_dimension dimensions[CLOUDWATCH_DIMENSIONS_MAX];

  return fabs (sample->value) <= LARGEST && /* nor NaN */
         cloudwatch_dimensions (sample->series, sample->node, dimensions) != SIZE_MAX;
}

static size_t
put_in_order (struct cloudwatch_fold *fold, const struct send_sample *samples, size_t count, int64_t oldest_s)
{
  size_t kept = 0;

  if (count > fold->order_room) {
    fold->order_room = count;
    fold->order = memory_resize (fold->order, count, sizeof (const struct send_sample *));
  }
  for (size_t i = 0; i < count; i++) {
    const struct send_sample *sample = &samples[i];
    if (sample->time_ms / 1000 < oldest_s)
      fold->old++;
    else if (!fits (sample))
      fold->unfit++;
    else
      fold->order[kept++] = sample;
  }
  if (kept > 1)
    qsort (fold->order, kept, sizeof (const struct send_sample *), compare);
  return kept;
}

static struct cloudwatch_metric *
add_metric (struct cloudwatch_fold *fold, const struct send_sample *sample, int64_t time_s)
{
  struct cloudwatch_metric *metric;

  if (fold->metric_count == fold->metric_room) {
    fold->metric_room = fold->metric_room ? 2 * fold->metric_room : 256;
    fold->metrics = memory_resize (fold->metrics, fold->metric_room, sizeof *fold->metrics);
  }
  metric = &fold->metrics[fold->metric_count++];
  *metric = (struct cloudwatch_metric){ sample->series, sample->node, time_s, fold->value_count, 0, 0 };
  return metric;
}

/* False: it has no room for another value. */
static bool
add_value (struct cloudwatch_fold *fold, struct cloudwatch_metric *metric, double value)
{
  for (size_t i = metric->values; i < metric->values + metric->count; i++)
    if (fold->values[i] == value) {
      fold->counts[i]++;
      metric->samples++;
      return true;
    }
  if (metric->count == CLOUDWATCH_VALUES_MAX)
    return false;
  if (fold->value_count == fold->value_room) {
    fold->value_room = fold->value_room ? 2 * fold->value_room : 1024;
    fold->values = memory_resize (fold->values, fold->value_room, sizeof fold->values[0]);
    fold->counts = memory_resize (fold->counts, fold->value_room, sizeof fold->counts[0]);
  }
  fold->values[fold->value_count] = value;
  fold->counts[fold->value_count++] = 1;
  metric->count++;
  metric->samples++;
  return true;
}

void
cloudwatch_fold (struct cloudwatch_fold *fold, const struct send_sample *samples, size_t count, int64_t resolution_s,
                 int64_t oldest_s)
{
  struct cloudwatch_metric *metric = NULL;
  size_t kept;

  fold->metric_count = fold->value_count = 0;
  fold->old = fold->unfit = 0;
  kept = put_in_order (fold, samples, count, oldest_s);
  for (size_t i = 0; i < kept; i++) {
    const struct send_sample *sample = fold->order[i];
    int64_t time_s = sample->time_ms / 1000 / resolution_s * resolution_s;
    if (!metric || metric->series != sample->series || metric->node != sample->node || metric->time_s != time_s ||
        !add_value (fold, metric, sample->value)) {
      metric = add_metric (fold, sample, time_s);
      add_value (fold, metric, sample->value);
    }
  }
}

void
cloudwatch_fold_free (struct cloudwatch_fold *fold)
{
  free (fold->metrics);
  free (fold->values);
  free (fold->counts);
  free (fold->order);
}
