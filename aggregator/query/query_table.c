/* The table of an answer, for a terminal: times down and series across where they fit, else a line for each series with
 * its curve; see query.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query_text.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define LABEL_MAX 30
#define CURVE_MAX 30 /* characters */
#define CURVE_LEAST 8
#define GAP_ONE_LINE 3 /* steps without a value that are one line */
#define NUMBER 9       /* characters of a number */

/* Characters, not bytes. */
static size_t
width_of (const char *text)
{
  size_t count = 0;

  for (; *text; text++)
    count += ((unsigned char) *text & 0xc0) != 0x80;
  return count;
}

static void
add_cell (struct buffer *out, const char *text, size_t width, bool right)
{
  size_t taken = width_of (text);
  int pad = (int) (taken < width ? width - taken : 0);

  buffer_printf (out, "%*s%s%*s", right ? pad : 0, "", text, right ? 0 : pad, "");
}

/* Blanks at the end of a line go. */
static void
end_line (struct buffer *out)
{
  while (out->length && out->data[out->length - 1] == ' ')
    out->length--;
  buffer_add_string (out, "\n");
}

static struct words
number_text (double value, const struct scale *scale, int places)
{
  struct words words = { "-" };

  if (!isnan (value))
    snprintf (words.text, sizeof words.text, "%.*f", places, value / scale->divisor);
  return words;
}

/* ---- heading ---- */

static bool
one_node (const struct query_answer *answer)
{
  for (size_t i = 1; i < answer->series_count; i++)
    if (strcmp (answer->series[i].node, answer->series[0].node) != 0)
      return false;
  return answer->series_count > 0;
}

static bool
one_row (const struct query_answer *answer)
{
  for (size_t i = 1; i < answer->series_count; i++)
    if (strcmp (answer->series[i].row ? answer->series[i].row : "",
                answer->series[0].row ? answer->series[0].row : "") != 0)
      return false;
  return answer->series_count > 0;
}

struct words
query_label (const struct query_answer *answer, const struct query_series *series)
{
  bool node = !one_node (answer) || !series->row || one_row (answer), row = series->row && !one_row (answer);
  struct buffer text = { 0 };
  struct words words;

  if (answer->fold && !*series->node)
    buffer_add_string (&text, query_fold_names[answer->fold]);
  else if (!*series->node)
    buffer_add_string (&text, series->row ? series->row : "cluster");
  else
    buffer_printf (&text, "%s%s%s", node ? series->node : "", node && row ? "/" : "", row ? series->row : "");
  words = words_short (buffer_text (&text), LABEL_MAX);
  buffer_free (&text);
  return words;
}

void
query_write_title (struct buffer *out, const struct query_answer *answer)
{
  static const char *const shows[] = { "mean of ", "change in ", "mean of ", "in steps of " };
  const struct query_series *first = answer->series_count ? &answer->series[0] : NULL;
  struct scale scale = query_scale (answer);

  words_add (out, answer->metric, 80);
  if (*scale.unit)
    buffer_printf (out, " in %s", scale.unit);
  if (!answer->instant) {
    buffer_printf (out, ", %s", shows[answer->shows]);
    query_duration (out, answer->step_ns);
  }
  if (answer->fold)
    buffer_printf (out, ", %s of %zu", query_fold_names[answer->fold], answer->folded);
  if (first && *first->node && one_node (answer) && first->row && !one_row (answer))
    buffer_printf (out, ", on %s", first->node);
  if (first && *first->node && first->row && one_row (answer)) {
    buffer_add_string (out, ", ");
    words_add (out, first->row, LABEL_MAX);
  }
}

static void
heading (struct buffer *out, const struct query_answer *answer)
{
  query_write_title (out, answer);
  buffer_add_string (out, "\n");
  if (!answer->instant) {
    query_time (out, answer->from_ns, "%Y-%m-%d %H:%M:%S", false);
    buffer_add_string (out, " to ");
  }
  query_time (out, answer->to_ns, "%Y-%m-%d %H:%M:%S %Z", false);
  buffer_add_string (out, "\n\n");
}

/* ---- times down ---- */

struct columns {
  size_t time;    /* width of the first */
  size_t *widths; /* of each series */
  struct scale scale;
  int places;
};

static size_t
number_width (const struct query_answer *answer, const struct query_series *series, const struct columns *columns)
{
  size_t most = 1;

  for (size_t step = 0; step < answer->steps; step++) {
    const struct query_value *value = &series->values[step];
    size_t width = value->count ? width_of (number_text (value->value, &columns->scale, columns->places).text) : 1;
    most = width > most ? width : most;
  }
  return most;
}

/* Returns the width of a line. */
static size_t
measure_columns (struct columns *columns, const struct query_answer *answer)
{
  struct buffer time = { 0 };
  size_t all;

  query_time (&time, answer->from_ns, query_time_format (answer), answer->step_ns % NS_PER_S != 0);
  all = columns->time = time.length > 4 ? time.length : 4;
  columns->widths = memory_new (answer->series_count, sizeof columns->widths[0]);
  for (size_t i = 0; i < answer->series_count; i++) {
    size_t label = width_of (query_label (answer, &answer->series[i]).text);
    columns->widths[i] = number_width (answer, &answer->series[i], columns);
    columns->widths[i] = label > columns->widths[i] ? label : columns->widths[i];
    all += 2 + columns->widths[i];
  }
  buffer_free (&time);
  return all;
}

/* How many steps from this one on no series has a value for. */
static size_t
gap_at (const struct query_answer *answer, size_t step)
{
  int64_t from = answer->from_ns + (int64_t) step * answer->step_ns;

  for (size_t i = 0; i < answer->gap_count; i++)
    if (answer->gaps[i].from_ns == from)
      return (size_t) ((answer->gaps[i].to_ns - from) / answer->step_ns);
  return 0;
}

static void
times_down (struct buffer *out, const struct query_answer *answer, const struct columns *columns)
{
  add_cell (out, "TIME", columns->time, false);
  for (size_t i = 0; i < answer->series_count; i++) {
    buffer_add_string (out, "  ");
    add_cell (out, query_label (answer, &answer->series[i]).text, columns->widths[i], true);
  }
  end_line (out);
  for (size_t step = 0; step < answer->steps; step++) {
    struct buffer time = { 0 };
    size_t gap = gap_at (answer, step);
    query_time (&time, answer->from_ns + (int64_t) step * answer->step_ns, query_time_format (answer),
                answer->step_ns % NS_PER_S != 0);
    add_cell (out, buffer_text (&time), columns->time, false);
    buffer_free (&time);
    if (gap >= GAP_ONE_LINE) {
      buffer_printf (out, "  ... %zu steps without a value\n", gap);
      step += gap - 1;
      continue;
    }
    for (size_t i = 0; i < answer->series_count; i++) {
      const struct query_value *value = &answer->series[i].values[step];
      double number = value->count ? value->value : (double) NAN;
      buffer_add_string (out, "  ");
      add_cell (out, number_text (number, &columns->scale, columns->places).text, columns->widths[i], true);
    }
    end_line (out);
  }
}

/* ---- a line for each series ---- */

/* The mean of the steps that share a character. */
static double
mean_of_steps (const struct query_answer *answer, const struct query_series *series, size_t at, size_t width)
{
  size_t from = at * answer->steps / width, to = (at + 1) * answer->steps / width, known = 0;
  double sum = 0;

  for (size_t step = from; step < (to > from ? to : from + 1); step++)
    if (series->values[step].count) {
      sum += series->values[step].value;
      known++;
    }
  return known ? sum / (double) known : (double) NAN;
}

/* All curves have one scale, from 0 or the least value to the greatest. */
static void
add_curve (struct buffer *out, const struct query_answer *answer, const struct query_series *series, size_t width,
           double least, double most)
{
  static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

  for (size_t i = 0; i < width; i++) {
    double value = mean_of_steps (answer, series, i, width);
    double part = most > least ? (value - least) / (most - least) : 0;
    buffer_add_string (out, isnan (value) ? " " : blocks[(size_t) fmin (7, fmax (0, part * 8))]);
  }
}

static double
last_value (const struct query_answer *answer, const struct query_series *series)
{
  size_t step = answer->steps;

  while (step > 0 && !series->values[step - 1].count)
    step--;
  return step ? series->values[step - 1].value : (double) NAN;
}

static void
series_down (struct buffer *out, const struct query_answer *answer, const struct columns *columns, size_t width)
{
  static const char *const titles[] = { "MEAN", "MIN", "MAX", "LAST" };
  size_t label = 4, taken, curve;
  double least = 0, most = 0;

  for (size_t i = 0; i < answer->series_count; i++) {
    size_t one = width_of (query_label (answer, &answer->series[i]).text);
    label = one > label ? one : label;
    least = fmin (least, answer->series[i].min);
    most = fmax (most, answer->series[i].max);
  }
  taken = label + 4 * (2 + NUMBER) + 2;
  curve = width > taken + CURVE_LEAST ? width - taken : CURVE_LEAST;
  curve = curve > CURVE_MAX ? CURVE_MAX : curve;
  curve = curve > answer->steps ? answer->steps : curve;
  add_cell (out, "NAME", label, false);
  for (size_t i = 0; i < 4; i++)
    buffer_printf (out, "  %*s", NUMBER, titles[i]);
  buffer_add_string (out, "\n");
  for (size_t i = 0; i < answer->series_count; i++) {
    const struct query_series *series = &answer->series[i];
    const double numbers[] = { series->mean, series->min, series->max, last_value (answer, series) };
    add_cell (out, query_label (answer, series).text, label, false);
    for (size_t k = 0; k < 4; k++) {
      buffer_add_string (out, "  ");
      add_cell (out, number_text (numbers[k], &columns->scale, columns->places).text, NUMBER, true);
    }
    buffer_add_string (out, "  ");
    if (answer->steps > 1)
      add_curve (out, answer, series, curve, least, most);
    end_line (out);
  }
}

/* Of one instant: each value with its part of the greatest. */
static void
instant_down (struct buffer *out, const struct query_answer *answer, const struct columns *columns, size_t width)
{
  size_t label = 4, bar;
  double most = 0;

  for (size_t i = 0; i < answer->series_count; i++) {
    size_t one = width_of (query_label (answer, &answer->series[i]).text);
    label = one > label ? one : label;
    most = fmax (most, answer->series[i].max);
  }
  bar = width > label + NUMBER + 4 + CURVE_LEAST ? width - label - NUMBER - 4 : CURVE_LEAST;
  bar = bar > CURVE_MAX ? CURVE_MAX : bar;
  add_cell (out, "NAME", label, false);
  buffer_printf (out, "  %*s\n", NUMBER, "VALUE");
  for (size_t i = 0; i < answer->series_count; i++) {
    double value = answer->series[i].mean, part = most > 0 ? fmax (0, value) / most : 0;
    add_cell (out, query_label (answer, &answer->series[i]).text, label, false);
    buffer_add_string (out, "  ");
    add_cell (out, number_text (value, &columns->scale, columns->places).text, NUMBER, true);
    buffer_add_string (out, "  ");
    for (size_t k = 0; !isnan (value) && k < (size_t) lround (part * (double) bar); k++)
      buffer_add_string (out, "█");
    end_line (out);
  }
}

void
query_write_table (struct buffer *out, const struct query_answer *answer, size_t width)
{
  struct columns columns = { .scale = query_scale (answer) };

  columns.places = query_places (answer, &columns.scale);
  heading (out, answer);
  if (!answer->series_count)
    return;
  if (answer->instant)
    instant_down (out, answer, &columns, width);
  else if (measure_columns (&columns, answer) <= width && !answer->ranked)
    times_down (out, answer, &columns);
  else
    series_down (out, answer, &columns, width);
  free (columns.widths);
}
