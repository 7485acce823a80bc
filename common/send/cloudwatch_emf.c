/* Metrics in CloudWatch's embedded metric format, for its agent: a line of JSON.
 *
 *   {"_aws":{"Timestamp":1795372140000,"CloudWatchMetrics":[{"Namespace":"N","Dimensions":[["D"]],
 *    "Metrics":[{"Name":"M","Unit":"Percent"}]}]},"D":"V","M":[1,2]}
 *
 * A metric has at most 100 values in a line, and a line 100 metrics: what has more goes on in the next. */
#include <stdlib.h>
#include <string.h>

#include "common/send/cloudwatch_private.h"
#include "synop/json.h"
#include "synop/memory.h"

#define LINE_VALUES_MAX 100
#define LINE_METRICS_MAX 100

/* Those with the same key share a line: the node, the instant, the namespace, the dimensions. */
struct member {
  const struct cloudwatch_metric *metric;
  struct cloudwatch_name name;
  size_t key, key_length; /* in the texts */
  const struct buffer *texts;
};

static void
add_key (struct buffer *texts, struct member *member)
{
  struct cloudwatch_dimension dimensions[CLOUDWATCH_DIMENSIONS_MAX];
  size_t count = cloudwatch_dimensions (member->metric->series, member->metric->node, dimensions);

  member->key = texts->length;
  buffer_add (texts, &member->metric->node, sizeof member->metric->node);
  buffer_add (texts, &member->metric->time_s, sizeof member->metric->time_s);
  buffer_add (texts, member->name.namespace, strlen (member->name.namespace) + 1);
  for (size_t i = 0; i < count; i++) {
    buffer_add (texts, dimensions[i].name, strlen (dimensions[i].name) + 1);
    buffer_add (texts, dimensions[i].value, strlen (dimensions[i].value) + 1);
  }
  member->key_length = texts->length - member->key;
}

static int
compare_keys (const struct member *one, const struct member *other)
{
  size_t both = one->key_length < other->key_length ? one->key_length : other->key_length;
  int order = memcmp (one->texts->data + one->key, other->texts->data + other->key, both);

  return order ? order : (one->key_length > other->key_length) - (one->key_length < other->key_length);
}

static int
compare (const void *one, const void *other)
{
  const struct member *a = one, *b = other;
  int order = compare_keys (a, b);

  if (order == 0)
    order = strcmp (a->name.name, b->name.name);
  return order ? order : (a->metric > b->metric) - (a->metric < b->metric);
}

/* ---- a line ---- */

static void
put_text_key (struct json *json, const char *key)
{
  json_key_n (json, key, strlen (key));
}

static void
put_directive (struct json *json, const struct cloudwatch_form *form, const struct member *members, size_t count,
               size_t from)
{
  struct cloudwatch_dimension dimensions[CLOUDWATCH_DIMENSIONS_MAX];
  size_t dimension_count = cloudwatch_dimensions (members->metric->series, members->metric->node, dimensions);

  json_text (json_key (json, "Namespace"), *members->name.namespace ? members->name.namespace : form->namespace);
  json_array (json_key (json, "Dimensions"));
  json_array (json);
  for (size_t i = 0; i < dimension_count; i++)
    json_text (json, dimensions[i].name);
  json_array_end (json);
  json_array_end (json);
  json_array (json_key (json, "Metrics"));
  for (size_t i = 0; i < count; i++) {
    if (members[i].metric->samples <= from)
      continue;
    json_object (json);
    json_text (json_key (json, "Name"), members[i].name.name);
    if (*members[i].name.unit)
      json_text (json_key (json, "Unit"), members[i].name.unit);
    if (form->resolution_s == 1)
      json_uint (json_key (json, "StorageResolution"), 1);
    json_object_end (json);
  }
  json_array_end (json);
}

/* Its values from the one with that number on, as often as they were there. */
static void
put_values (struct json *json, const struct cloudwatch_fold *fold, const struct cloudwatch_metric *metric, size_t from)
{
  size_t at = 0;

  json_array (json);
  for (size_t i = metric->values; i < metric->values + metric->count; i++)
    for (double n = 0; n < fold->counts[i]; n++, at++)
      if (at >= from && at < from + LINE_VALUES_MAX)
        json_real (json, fold->values[i]);
  json_array_end (json);
}

static void
put_line (struct json *json, const struct cloudwatch_form *form, const struct cloudwatch_fold *fold,
          const struct member *members, size_t count, size_t from)
{
  struct cloudwatch_dimension dimensions[CLOUDWATCH_DIMENSIONS_MAX];
  size_t dimension_count = cloudwatch_dimensions (members->metric->series, members->metric->node, dimensions);

  json_object (json);
  json_object (json_key (json, "_aws"));
  json_int (json_key (json, "Timestamp"), members->metric->time_s * 1000);
  json_array (json_key (json, "CloudWatchMetrics"));
  json_object (json);
  put_directive (json, form, members, count, from);
  json_object_end (json);
  json_array_end (json);
  json_object_end (json);
  for (size_t i = 0; i < dimension_count; i++) {
    put_text_key (json, dimensions[i].name);
    json_text (json, dimensions[i].value);
  }
  for (size_t i = 0; i < count; i++) {
    if (members[i].metric->samples <= from)
      continue;
    put_text_key (json, members[i].name.name);
    put_values (json, fold, members[i].metric, from);
  }
  json_object_end (json);
  json_newline (json);
}

/* ---- all ---- */

/* Those with the key of the first, each name once. */
static size_t
count_line (const struct member *members, size_t count)
{
  size_t same = 1;

  while (same < count && same < LINE_METRICS_MAX && compare_keys (&members[same], members) == 0 &&
         strcmp (members[same].name.name, members[same - 1].name.name) != 0)
    same++;
  return same;
}

static void
put_members (struct buffer *lines, const struct cloudwatch_form *form, const struct cloudwatch_fold *fold,
             const struct member *members, size_t count)
{
  struct json json = { 0 };
  size_t same, most;

  for (size_t at = 0; at < count; at += same) {
    same = count_line (members + at, count - at);
    most = 0;
    for (size_t i = at; i < at + same; i++)
      most = members[i].metric->samples > most ? members[i].metric->samples : most;
    for (size_t from = 0; from < most; from += LINE_VALUES_MAX) {
      json_clear (&json);
      put_line (&json, form, fold, members + at, same, from);
      buffer_add (lines, json.out.data, json.out.length);
    }
  }
  json_free (&json);
}

void
cloudwatch_put_emf (struct buffer *lines, const struct cloudwatch_form *form, const struct cloudwatch_fold *fold)
{
  struct member *members = memory_new (fold->metric_count, sizeof *members);
  struct buffer texts = { 0 };

  for (size_t i = 0; i < fold->metric_count; i++) {
    members[i] = (struct member){ .metric = &fold->metrics[i], .texts = &texts };
    cloudwatch_name (fold->metrics[i].series->family->public, &members[i].name);
    add_key (&texts, &members[i]);
  }
  if (fold->metric_count > 1)
    qsort (members, fold->metric_count, sizeof *members, compare);
  put_members (lines, form, fold, members, fold->metric_count);
  buffer_free (&texts);
  free (members);
}
