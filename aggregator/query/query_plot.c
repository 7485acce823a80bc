/* See query_plot.h. */
#include "aggregator/query/query_plot.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "aggregator/query/query_text.h"
#include "aggregator/report/gnuplot.h"
#include "aggregator/report/job_plot.h"
#include "synop/clock.h"

#define TITLE_MAX 120

int
query_canvas_of (const char *path, enum query_canvas *canvas)
{
  static const char *const ends[] = { [QUERY_PNG] = ".png", [QUERY_SVG] = ".svg", [QUERY_PDF] = ".pdf" };
  size_t length = strlen (path);

  for (size_t i = QUERY_PNG; i <= QUERY_PDF; i++)
    if (length > 4 && strcmp (path + length - 4, ends[i]) == 0) {
      *canvas = (enum query_canvas) i;
      return 0;
    }
  return -1;
}

static void
set_terminal (struct buffer *script, const struct query_look *look)
{
  buffer_add_string (script, "set encoding utf8\n");
  switch (look->canvas) {
  case QUERY_TERMINAL:
    buffer_printf (script, "set terminal dumb noenhanced size %zu,%zu %s\n", look->width, look->height,
                   look->colour ? "ansi" : "mono");
    break;
  case QUERY_PNG:
    buffer_add_string (script, "set terminal pngcairo noenhanced size 1200,500 font '" PLOT_FONT ",11'\n");
    break;
  case QUERY_SVG:
    buffer_add_string (script, "set terminal svg size 1000,420 dynamic noenhanced font '" PLOT_FONT ",11'\n");
    break;
  default:
    buffer_add_string (script, "set terminal pdfcairo size 10in,4.2in noenhanced font '" PLOT_FONT ",10'\n");
  }
}

/* gnuplot knows no time zones: times are given as if local time were UTC. */
static double
local_seconds (int64_t time_ns)
{
  time_t seconds = (time_t) (time_ns / NS_PER_S);
  struct tm tm = { 0 };

  localtime_r (&seconds, &tm);
  return (double) time_ns / NS_PER_S + (double) tm.tm_gmtoff;
}

/* Seconds between two times of the axis, so that there are at most so many. */
static int
tick_step (double seconds, size_t most)
{
  static const int nice[] = { 1,   2,    5,    10,   15,    30,    60,    120,   300,    600,
                              900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800 };
  size_t i = 0;

  while (i + 1 < sizeof nice / sizeof nice[0] && seconds / nice[i] > (double) most)
    i++;
  return seconds / nice[i] > (double) most ? (int) (seconds / (double) most) : nice[i];
}

/* Where the curves begin, when nobody asked for another time. */
static int64_t
begin_of (const struct query_answer *answer)
{
  bool late = answer->usual && answer->gap_count && answer->gaps[0].from_ns == answer->from_ns;

  return late ? answer->gaps[0].to_ns : answer->from_ns;
}

static void
set_axes (struct buffer *script, const struct query_answer *answer, const struct query_look *look)
{
  double low = 0, high = 0;
  int64_t length = answer->to_ns - begin_of (answer);
  const char *format = length > 3 * 86400 * NS_PER_S ? "%m-%d"
                       : length > 86400 * NS_PER_S   ? "%m-%d %H:%M"
                       : length < 10 * 60 * NS_PER_S ? "%H:%M:%S"
                                                     : "%H:%M";

  for (size_t i = 0; i < answer->series_count; i++) {
    low = fmin (low, answer->series[i].min);
    high = fmax (high, answer->series[i].max);
  }
  buffer_printf (script, "set xdata time\nset timefmt '%%s'\nset format x '%s'\nset xrange ['%.3f':'%.3f']\n", format,
                 local_seconds (begin_of (answer)), local_seconds (answer->to_ns));
  buffer_printf (script, "set xtics %d\n",
                 tick_step ((double) length / NS_PER_S, look->canvas == QUERY_TERMINAL ? look->width / 14 : 10));
  if (low == 0)
    buffer_add_string (script, high > 0 ? "set yrange [0:*]\n" : "set yrange [0:1]\n");
  if (look->canvas == QUERY_TERMINAL)
    buffer_add_string (script, "set border 3\nset tics nomirror scale 0.5\nset key outside bottom center horizontal "
                               "samplen 2 width 2\nset tmargin 2\n");
  else
    buffer_add_string (script, "set border 3 lw 0.7 lc rgb '#808080'\nset tics nomirror scale 0.5\n"
                               "set grid ytics lc rgb '#d8d8d8' lw 0.5\nset key outside right top Left reverse\n");
}

static void
put_data (struct buffer *script, const struct query_answer *answer, const struct query_series *series, size_t index,
          const struct scale *scale)
{
  buffer_printf (script, "$s%zu << EOD\n", index);
  for (size_t step = 0; step < answer->steps; step++) {
    const struct query_value *value = &series->values[step];
    double middle = local_seconds (answer->from_ns + (int64_t) step * answer->step_ns + answer->step_ns / 2);
    if (value->count)
      buffer_printf (script, "%.3f %.9g\n", middle, value->value / scale->divisor);
    else
      buffer_add_string (script, "\n"); /* the curve has a gap */
  }
  buffer_add_string (script, "EOD\n");
}

static bool
has_values (const struct query_series *series)
{
  return !isnan (series->mean);
}

/* A curve that never goes on for two steps would not be seen without points. */
static void
put_curves (struct buffer *script, const struct query_answer *answer, const struct query_look *look)
{
  static const char *const colours[QUERY_CURVES_MAX] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                         "#e69f00", "#56b4e9", "#7f3c8d", "#80ba5a",
                                                         "#a5692a", "#555555", "#c0392b", "#16a085" };
  size_t drawn = 0;

  for (size_t i = 0; i < answer->series_count && drawn < QUERY_CURVES_MAX; i++) {
    if (!has_values (&answer->series[i]))
      continue;
    buffer_printf (script, "%s $s%zu using 1:2 ", drawn ? "," : "plot", i);
    if (look->canvas == QUERY_TERMINAL)
      buffer_printf (script, "with lines lt %zu ", drawn + 1);
    else
      buffer_printf (script, "with linespoints pt 7 ps 0.25 lw 1.6 lc rgb '%s' ", colours[drawn]);
    buffer_add_string (script, "title ");
    gnuplot_quote (script, query_label (answer, &answer->series[i]).text, 40);
    drawn++;
  }
  buffer_add_string (script, "\n");
}

int
query_plot (struct buffer *out, const struct query_answer *answer, const struct query_look *look, struct error *error)
{
  struct buffer script = { 0 }, title = { 0 };
  struct scale scale = query_scale (answer);
  size_t curves = 0;
  int result;

  for (size_t i = 0; i < answer->series_count; i++)
    curves += has_values (&answer->series[i]);
  if (!curves)
    return error_set (error, "there is nothing to draw: no node has a value in this time");
  set_terminal (&script, look);
  query_write_title (&title, answer);
  if (curves > QUERY_CURVES_MAX)
    buffer_printf (&title, " (%d of %zu)", QUERY_CURVES_MAX, curves);
  buffer_add_string (&script, "set title ");
  gnuplot_quote (&script, buffer_text (&title), TITLE_MAX);
  buffer_add_string (&script, "\n");
  set_axes (&script, answer, look);
  for (size_t i = 0, kept = 0; i < answer->series_count && kept < QUERY_CURVES_MAX; i++)
    if (has_values (&answer->series[i])) {
      put_data (&script, answer, &answer->series[i], i, &scale);
      kept++;
    }
  put_curves (&script, answer, look);
  result = gnuplot_run (&script, GNUPLOT_LIMIT, out, error);
  if (result == 0 && *out->data == '\f') /* of a terminal: it would clear the screen */
    memmove (out->data, out->data + 1, --out->length);
  buffer_free (&script);
  buffer_free (&title);
  return result;
}
