/* Answers and lists for programs: JSON and CSV, with values as they are; see query.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/levels.h"
#include "aggregator/query/query_private.h"
#include "synop/clock.h"
#include "synop/csv.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "synop/number.h"

const char *const query_shows_names[] = { "mean", "change", "rate", "computed" };

#define POINT_SIZE (5 * (NUMBER_SIZE + 1) + 3)
#define FLUSH_AT (64 * 1024)

/* ---- JSON ---- */

static void
json_interval (struct json *json, int64_t from_ns, int64_t to_ns)
{
  json_time (json_key (json, "from"), from_ns);
  json_time (json_key (json, "to"), to_ns);
}

static char *
put_real (char *to, double value)
{
  if (isfinite (value))
    return number_put_real (to, value);
  memcpy (to, "null", 4);
  return to + 4;
}

/* "[t," of a step: all series have the same. */
struct step_text {
  char text[NUMBER_SIZE + 2];
  uint8_t length;
};

/* t is in seconds since 1970, at the beginning of the step. */
static struct step_text *
step_texts (const struct query_answer *answer)
{
  struct step_text *texts = memory_new (answer->steps, sizeof *texts);

  for (size_t step = 0; step < answer->steps; step++) {
    int64_t time_ns = answer->from_ns + (int64_t) step * answer->step_ns;
    char *to = texts[step].text;
    *to++ = '[';
    if (time_ns % NS_PER_S)
      to = number_put_places (to, (double) time_ns / NS_PER_S, 3);
    else
      to = number_put_int (to, time_ns / NS_PER_S);
    *to++ = ',';
    texts[step].length = (uint8_t) (to - texts[step].text);
  }
  return texts;
}

/* The number, or the text before it once more where that is the same. */
static char *
put_end (char *to, double value, double before, const char *text, size_t length)
{
  if (!(value == before))
    return put_real (to, value);
  memcpy (to, text, length);
  return to + length;
}

/* [t, value, min, max, count]. There may be hundreds of thousands. */
static char *
put_point (char *to, const struct step_text *time, const struct query_value *value)
{
  const char *text;
  size_t length;

  memcpy (to, time->text, sizeof time->text);
  to += time->length;
  if (value->count) {
    text = to;
    to = put_real (to, value->value);
    length = (size_t) (to - text);
    *to++ = ',';
    to = put_end (to, value->min, value->value, text, length);
    *to++ = ',';
    to = put_end (to, value->max, value->value, text, length);
    *to++ = ',';
    to = number_put_uint (to, value->count);
  } else {
    to = stpcpy (to, "null,null,null,0");
  }
  *to++ = ']';
  *to++ = ',';
  return to;
}

static void
put_points (struct buffer *out, const struct step_text *times, const struct query_answer *answer,
            const struct query_series *series)
{
  for (size_t step = 0; step < answer->steps; step++) {
    char *from = buffer_reserve (out, POINT_SIZE);
    out->length += (size_t) (put_point (from, &times[step], &series->values[step]) - from);
  }
  out->length -= answer->steps > 0; /* the last comma */
}

static void
json_series (struct json *json, const struct step_text *times, const struct query_answer *answer,
             const struct query_series *series)
{
  json_object (json);
  json_text (json_key (json, "node"), *series->node ? series->node : NULL);
  json_text (json_key (json, "row"), series->row);
  json_real (json_key (json, "mean"), series->mean);
  json_real (json_key (json, "min"), series->min);
  json_real (json_key (json, "max"), series->max);
  json_uint (json_key (json, "missing"), series->missing);
  json_array (json_key (json, "points"));
  put_points (&json->out, times, answer, series);
  json_array_end (json);
  json_object_end (json);
}

void
query_write_json (struct buffer *out, const struct query_answer *answer, query_flush_fn *flush, void *context)
{
  struct step_text *times = step_texts (answer);
  struct json json = { .out = *out };

  json_object (&json);
  json_text (json_key (&json, "metric"), answer->metric);
  json_text (json_key (&json, "unit"), answer->unit);
  json_text (json_key (&json, "shows"), query_shows_names[answer->shows]);
  json_text (json_key (&json, "fold"), answer->fold ? query_fold_names[answer->fold] : NULL);
  json_interval (&json, answer->from_ns, answer->to_ns);
  json_real_places (json_key (&json, "step"), (double) answer->step_ns / NS_PER_S, 9);
  json_bool (json_key (&json, "complete"), answer->now_ns >= answer->to_ns);
  json_array (json_key (&json, "tiers"));
  for (size_t i = 0; i < answer->piece_count; i++) {
    json_object (&json);
    json_text (json_key (&json, "tier"), query_tier_names[answer->pieces[i].tier]);
    json_interval (&json, answer->pieces[i].from_ns, answer->pieces[i].to_ns);
    json_object_end (&json);
  }
  json_array_end (&json);
  json_array (json_key (&json, "missing"));
  for (size_t i = 0; i < answer->gap_count; i++) {
    json_object (&json);
    json_interval (&json, answer->gaps[i].from_ns, answer->gaps[i].to_ns);
    json_object_end (&json);
  }
  json_array_end (&json);
  json_uint (json_key (&json, "folded"), answer->folded);
  json_uint (json_key (&json, "left_out"), answer->left_out);
  json_uint (json_key (&json, "broken"), answer->broken);
  if (answer->others)
    json_bool (json_key (&json, "others_left_out"), true);
  json_array (json_key (&json, "series"));
  for (size_t i = 0; i < answer->series_count; i++) {
    json_series (&json, times, answer, &answer->series[i]);
    if (flush && json.out.length >= FLUSH_AT)
      flush (context, &json.out);
  }
  json_array_end (&json);
  json_object_end (&json);
  json_newline (&json);
  *out = json.out;
  free (times);
}

/* A byte for each series. */
static void
json_levels (struct json *json, const struct query_answer *answer, const struct levels *levels, size_t step)
{
  uint8_t *bytes = memory_new (answer->series_count + 1, 1);

  for (size_t i = 0; i < answer->series_count; i++) {
    const struct query_value *value = &answer->series[i].values[step];
    bytes[i] = level_of (levels, value->count ? value->value : (double) NAN);
  }
  levels_write (json, bytes, answer->series_count);
  free (bytes);
}

void
query_write_levels (struct buffer *out, const struct query_answer *answer)
{
  struct json json = { .out = *out };
  double min = (double) NAN, max = (double) NAN;
  struct levels levels;
  bool rows = false;

  json_object (&json);
  json_text (json_key (&json, "metric"), answer->metric);
  json_text (json_key (&json, "unit"), answer->unit);
  json_interval (&json, answer->from_ns, answer->to_ns);
  json_real_places (json_key (&json, "step"), (double) answer->step_ns / NS_PER_S, 9);
  json_array (json_key (&json, "nodes"));
  for (size_t i = 0; i < answer->series_count; i++) {
    json_text (&json, *answer->series[i].node ? answer->series[i].node : NULL);
    min = fmin (min, answer->series[i].min);
    max = fmax (max, answer->series[i].max);
    rows = rows || answer->series[i].row;
  }
  json_array_end (&json);
  if (rows)
    json_array (json_key (&json, "rows"));
  for (size_t i = 0; rows && i < answer->series_count; i++)
    json_text (&json, answer->series[i].row);
  if (rows)
    json_array_end (&json);
  levels = levels_of (answer->unit, min, max);
  levels_write_ends (&json, &levels);
  json_array (json_key (&json, "steps"));
  for (size_t step = 0; step < answer->steps; step++)
    json_levels (&json, answer, &levels, step);
  json_array_end (&json);
  json_object_end (&json);
  json_newline (&json);
  *out = json.out;
}

void
query_write_list_json (struct buffer *out, const struct query_metrics *metrics)
{
  struct json json = { .out = *out };

  json_array (&json);
  for (size_t i = 0; i < metrics->count; i++) {
    const struct query_metric *metric = &metrics->list[i];
    json_object (&json);
    json_text (json_key (&json, "metric"), metric->name);
    json_text (json_key (&json, "unit"), metric->unit);
    json_text (json_key (&json, "kind"), metric->kind);
    json_bool (json_key (&json, "rows"), metric->rows);
    json_uint (json_key (&json, "nodes"), metric->nodes);
    json_text (json_key (&json, "help"), metric->help);
    json_object_end (&json);
  }
  json_array_end (&json);
  json_newline (&json);
  *out = json.out;
}

/* ---- CSV ---- */

static void
csv_column (struct buffer *out, double value)
{
  buffer_add_string (out, ",");
  csv_number (out, value);
}

static void
csv_value (struct buffer *out, const struct query_answer *answer, const struct query_series *series, size_t step)
{
  const struct query_value *value = &series->values[step];
  char time[CLOCK_TEXT_SIZE];

  clock_text (answer->from_ns + (int64_t) step * answer->step_ns, time);
  buffer_printf (out, "%s,", time);
  csv_text (out, series->node);
  buffer_add_string (out, ",");
  csv_text (out, series->row ? series->row : "");
  csv_column (out, value->count ? value->value : (double) NAN);
  csv_column (out, value->count ? value->min : (double) NAN);
  csv_column (out, value->count ? value->max : (double) NAN);
  buffer_printf (out, ",%zu\n", (size_t) value->count);
}

void
query_write_csv (struct buffer *out, const struct query_answer *answer)
{
  struct buffer title = { 0 };

  buffer_printf (&title, "%s%s%s%s", answer->metric, *answer->unit ? " (" : "", answer->unit, *answer->unit ? ")" : "");
  buffer_add_string (out, "time,node,row,");
  csv_text (out, buffer_text (&title));
  buffer_add_string (out, ",min,max,count\n");
  for (size_t i = 0; i < answer->series_count; i++)
    for (size_t step = 0; step < answer->steps; step++)
      csv_value (out, answer, &answer->series[i], step);
  buffer_free (&title);
}

void
query_write_list_csv (struct buffer *out, const struct query_metrics *metrics)
{
  buffer_add_string (out, "metric,unit,kind,rows,nodes,help\n");
  for (size_t i = 0; i < metrics->count; i++) {
    const struct query_metric *metric = &metrics->list[i];
    buffer_printf (out, "%s,%s,%s,%s,%zu,", metric->name, metric->unit, metric->kind, metric->rows ? "yes" : "no",
                   metric->nodes);
    csv_text (out, metric->help);
    buffer_add_string (out, "\n");
  }
}
