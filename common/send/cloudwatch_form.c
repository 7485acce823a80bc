/* PutMetricData in the Query protocol: a form.
 *
 *   Action=PutMetricData&Version=2010-08-01&Namespace=N&MetricData.member.1.MetricName=M&MetricData.member.1.Timestamp=T
 *   &MetricData.member.1.Unit=U&MetricData.member.1.StorageResolution=1
 *   &MetricData.member.1.Dimensions.member.1.Name=D&MetricData.member.1.Dimensions.member.1.Value=V
 *   &MetricData.member.1.Values.member.1=V&MetricData.member.1.Counts.member.1=C          or .Value=V, of one
 *   &MetricData.member.2... */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/send/cloudwatch_private.h"
#include "synop/number.h"

#define VALUE_MAX 1024 /* bytes of a dimension's value */

/* As a form has it. It takes no text but ASCII's, without controls. */
static void
put_text (struct buffer *body, const char *text, size_t most)
{
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
  char *to = buffer_reserve (body, 3 * strnlen (text, most)), *begin = to;

  for (size_t i = 0; i < most && text[i]; i++) {
    bool good = text[i] >= ' ' && text[i] <= '~';
    if (good && strchr (plain, text[i]))
      *to++ = text[i];
    else
      to += sprintf (to, "%%%02X", good ? (unsigned char) text[i] : '?');
  }
  body->length += (size_t) (to - begin);
}

static void
put_number (struct buffer *body, double value)
{
  char *to = buffer_reserve (body, NUMBER_SIZE);

  body->length += (size_t) (number_put_real (to, value) - to);
}

static void
put_time (struct buffer *body, int64_t time_s)
{
  time_t time = (time_t) time_s;
  struct tm tm = { 0 };
  char text[32];

  gmtime_r (&time, &tm);
  strftime (text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
  put_text (body, text, sizeof text);
}

static void
put_dimensions (struct buffer *body, const char *member, const struct cloudwatch_metric *metric)
{
  struct cloudwatch_dimension dimensions[CLOUDWATCH_DIMENSIONS_MAX];
  size_t count = cloudwatch_dimensions (metric->series, metric->node, dimensions);

  for (size_t i = 0; i < count; i++) {
    buffer_printf (body, "%sDimensions.member.%zu.Name=", member, i + 1);
    put_text (body, dimensions[i].name, CLOUDWATCH_NAME_MAX);
    buffer_printf (body, "%sDimensions.member.%zu.Value=", member, i + 1);
    put_text (body, dimensions[i].value, VALUE_MAX);
  }
}

static void
put_values (struct buffer *body, const char *member, const struct cloudwatch_fold *fold,
            const struct cloudwatch_metric *metric)
{
  const double *values = fold->values + metric->values, *counts = fold->counts + metric->values;
  bool counted = metric->samples > metric->count;

  if (metric->count == 1 && !counted) {
    buffer_printf (body, "%sValue=", member);
    put_number (body, values[0]);
    return;
  }
  for (size_t i = 0; i < metric->count; i++) {
    buffer_printf (body, "%sValues.member.%zu=", member, i + 1);
    put_number (body, values[i]);
    if (counted) {
      buffer_printf (body, "%sCounts.member.%zu=", member, i + 1);
      put_number (body, counts[i]);
    }
  }
}

static void
put_metric (struct buffer *body, const struct cloudwatch_form *form, const struct cloudwatch_fold *fold,
            const struct cloudwatch_metric *metric, const struct cloudwatch_name *name, size_t number)
{
  char member[48];

  snprintf (member, sizeof member, "&MetricData.member.%zu.", number);
  buffer_printf (body, "%sMetricName=", member);
  put_text (body, name->name, CLOUDWATCH_NAME_MAX);
  buffer_printf (body, "%sTimestamp=", member);
  put_time (body, metric->time_s);
  if (*name->unit) {
    buffer_printf (body, "%sUnit=", member);
    put_text (body, name->unit, CLOUDWATCH_NAME_MAX);
  }
  if (form->resolution_s == 1)
    buffer_printf (body, "%sStorageResolution=1", member);
  put_dimensions (body, member, metric);
  put_values (body, member, fold, metric);
}

size_t
cloudwatch_put_form (struct buffer *body, const struct cloudwatch_form *form, const struct cloudwatch_fold *fold,
                     size_t from, size_t most)
{
  struct cloudwatch_name first, name;
  size_t count = 0;

  buffer_clear (body);
  cloudwatch_name (fold->metrics[from].series->family->public, &first);
  buffer_add_string (body, "Action=PutMetricData&Version=2010-08-01&Namespace=");
  put_text (body, *first.namespace ? first.namespace : form->namespace, CLOUDWATCH_NAME_MAX);
  most = most < CLOUDWATCH_METRICS_MAX ? most : CLOUDWATCH_METRICS_MAX;
  for (; count < most && from + count < fold->metric_count; count++) {
    const struct cloudwatch_metric *metric = &fold->metrics[from + count];
    size_t before = body->length;
    cloudwatch_name (metric->series->family->public, &name);
    if (strcmp (name.namespace, first.namespace) != 0)
      break;
    put_metric (body, form, fold, metric, &name, count + 1);
    if (body->length > CLOUDWATCH_BYTES_MAX && count > 0) {
      body->length = before;
      break;
    }
  }
  return count;
}
