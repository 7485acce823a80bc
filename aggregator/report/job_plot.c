/* See job_plot.h: what all pictures share. */
#include "aggregator/report/job_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/report/gnuplot.h"
#include "aggregator/report/job_curve.h"
#include "aggregator/report/job_words.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define LEAST 1e-9 /* gnuplot can make no axis of a smaller range */

void
plot_text (const struct canvas *canvas, double x, double y, const struct plot_text *style, const char *text,
           size_t limit)
{
  buffer_add_string (canvas->script, "set label ");
  gnuplot_quote (canvas->script, text, limit);
  buffer_printf (canvas->script, " at screen %.5f,%.5f %s front noenhanced font '" PLOT_FONT "%s,%g' tc rgb '%s'\n",
                 x / canvas->width, 1 - y / canvas->height, style->align, style->bold ? ":Bold" : "", style->size,
                 style->color);
}

void
plot_begin (const struct canvas *canvas, const struct area *frame)
{
  buffer_add_string (canvas->script,
                     "reset\nset style fill noborder\nset tics nomirror\nset tics scale 0.5\nunset key\n"
                     "set border 3 lw 0.7 lc rgb '#808080'\n"
                     "set tics font '" PLOT_FONT ",7' textcolor rgb '" PLOT_BLACK "'\n");
  buffer_printf (canvas->script,
                 "set lmargin at screen %.5f\nset rmargin at screen %.5f\nset tmargin at screen %.5f\n"
                 "set bmargin at screen %.5f\n",
                 frame->left / canvas->width, (frame->left + frame->width) / canvas->width,
                 1 - frame->top / canvas->height, 1 - (frame->top + frame->height) / canvas->height);
}

/* ---- axes ---- */

/* "90 s", "1.5 h": a multiple of `step` in the unit that suits it. */
void
plot_elapsed (struct buffer *script, double seconds, double step)
{
  static const struct {
    double seconds;
    const char *name;
  } units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
  size_t unit = 0;

  while (unit < 3 && step < units[unit].seconds * 0.999)
    unit++;
  if (seconds == 0)
    buffer_add_string (script, "0");
  else
    buffer_printf (script, "%.6g %s", seconds / units[unit].seconds, units[unit].name);
}

static void
put_clock (struct buffer *script, int64_t time_ns, const char *format)
{
  time_t seconds = (time_t) (time_ns / NS_PER_S);
  char text[64];
  struct tm local;

  if (localtime_r (&seconds, &local) && strftime (text, sizeof text, format, &local) > 0)
    buffer_printf (script, "\\n%s", text);
}

static int
day_of (int64_t time_ns)
{
  time_t seconds = (time_t) (time_ns / NS_PER_S);
  struct tm local = { 0 };

  localtime_r (&seconds, &local);
  return local.tm_yday;
}

double
plot_time_step (double length, size_t most)
{
  static const double steps[] = { 0.01,  0.02,   0.05,   0.1,    0.2,     0.5,     1,       2,
                                  5,     10,     15,     30,     60,      120,     300,     600,
                                  900,   1200,   1800,   3600,   7200,    10800,   21600,   43200,
                                  86400, 172800, 432000, 864000, 1728000, 4320000, 8640000, 17280000 };
  double step = steps[0];

  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    step = steps[i];
    if (length / step <= (double) most)
      break;
  }
  return step;
}

void
plot_time_axis (const struct canvas *canvas, const struct job_report *report, size_t most)
{
  double length = curve_seconds (report), step = plot_time_step (length, most);
  int last_day = -1;

  buffer_printf (canvas->script, "set xrange [0:%.9g]\nset xtics (", length);
  for (double x = 0; x <= length * 1.0001; x += step) {
    int64_t at = report->started_ns + (int64_t) (x * NS_PER_S);
    buffer_add_string (canvas->script, x > 0 ? ", \"" : "\"");
    plot_elapsed (canvas->script, x, step);
    put_clock (canvas->script, at, length < 1800 ? "%H:%M:%S" : "%H:%M");
    if (day_of (at) != last_day)
      put_clock (canvas->script, at, "%d %b");
    last_day = day_of (at);
    buffer_printf (canvas->script, "\" %.9g", x);
  }
  buffer_add_string (canvas->script, ")\n");
}

double
plot_top (const char *unit, double maximum)
{
  double shown = maximum / scale_for (unit, maximum).divisor;

  if (!(shown > LEAST))
    return 1;
  if (strcmp (unit, "%") == 0 && shown > 40 && shown <= 100)
    return 100;
  return shown;
}

/* About five steps of 1, 2, 2.5 or 5 times a power of ten. */
double
plot_value_step (double top)
{
  static const double steps[] = { 1, 2, 2.5, 5, 10 };
  double power = pow (10, floor (log10 (top / 5))), step = power;

  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    step = power * steps[i];
    if (top / step <= 5.0001)
      break;
  }
  return step;
}

void
plot_value_axis (const struct canvas *canvas, const struct area *frame, const char *unit, double maximum)
{
  double top = plot_top (unit, maximum);

  buffer_printf (canvas->script,
                 "set yrange [0:%.6g]\nset format y '%%g'\nset ytics %.6g offset 0.6,0\n"
                 "set grid ytics lw 0.4 lc rgb '#d0d0d0' dt 1\n"
                 "set label '%s' at screen %.5f,%.5f center rotate by 90 noenhanced font '" PLOT_FONT
                 ",7' tc rgb '" PLOT_BLACK "'\n",
                 top * PLOT_HEADROOM, plot_value_step (top), scale_for (unit, maximum).unit,
                 (frame->left - 27) / canvas->width, 1 - (frame->top + frame->height / 2) / canvas->height);
}

#define COLOR_BAR 6.0 /* high */

void
plot_colors (const struct canvas *canvas, double left, double top, double width, const char *unit, double maximum)
{
  struct scale scale = scale_for (unit, maximum);

  buffer_printf (canvas->script,
                 "set palette defined (0 '#ffffd9', 0.25 '#c7e9b4', 0.5 '#41b6c4', 0.75 '#225ea8', 1 '#081d58')\n"
                 "set cbrange [0:%.6g]\nset colorbox user horizontal origin screen %.5f,%.5f size screen %.5f,%.5f "
                 "noborder\nset cbtics scale 0.4 offset 0,0.4 (",
                 maximum, left / canvas->width, 1 - (top + COLOR_BAR) / canvas->height, width / canvas->width,
                 COLOR_BAR / canvas->height);
  for (int i = 0; i <= 2; i++)
    buffer_printf (canvas->script, "%s'%.3g%s%s' %.6g", i ? ", " : "", maximum / scale.divisor * i / 2,
                   scale.unit[0] ? " " : "", scale.unit[0] == '%' ? "%%" : scale.unit, maximum * i / 2);
  buffer_add_string (canvas->script, ")\n");
}

/* ---- who is shown by name ---- */

struct distance {
  size_t node;
  double far;
};

static int
compare_distances (const void *one, const void *other)
{
  const struct distance *a = one, *b = other;

  if (a->far != b->far)
    return a->far > b->far ? -1 : 1;
  return a->node < b->node ? -1 : a->node > b->node;
}

size_t
plot_farthest (const struct job_report *report, enum job_item_id item, size_t *nodes, size_t most)
{
  struct distance *list = memory_new (report->node_count, sizeof *list);
  size_t known = 0;
  double mean = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_series *series = &report->nodes[i].series[item];
    if (!series->known || isnan (series->mean))
      continue;
    list[known++] = (struct distance){ i, series->mean };
    mean += (series->mean - mean) / (double) known;
  }
  for (size_t i = 0; i < known; i++)
    list[i].far = fabs (list[i].far - mean);
  qsort (list, known, sizeof *list, compare_distances);
  known = known < most ? known : most;
  for (size_t i = 0; i < known; i++)
    nodes[i] = list[i].node;
  free (list);
  return known;
}

bool
plot_has_item (const struct job_report *report, enum job_item_id item)
{
  return job_items[item].panel && report->all[item].known && report->all[item].bins && report->bins > 0;
}

/* The node farthest from the others is marked where it is far: by a tenth of their mean. */
size_t
plot_marked (const struct job_report *report, enum job_item_id item)
{
  const struct job_imbalance *imbalance = &report->imbalances[item];

  if (!imbalance->node || report->node_count < 3 ||
      !(fabs (imbalance->value - imbalance->mean) > 0.1 * fabs (imbalance->mean)))
    return SIZE_MAX;
  for (size_t i = 0; i < report->node_count; i++)
    if (strcmp (report->nodes[i].name, imbalance->node) == 0)
      return i;
  return SIZE_MAX;
}

/* All that a plot of it would show is 0. */
bool
plot_is_zero (const struct job_report *report, enum job_item_id item)
{
  const struct job_series *all = &report->all[item];
  double most = 0;

  for (size_t i = 0; i < report->bins; i++)
    most = fmax (most, fmax (fabs ((double) all->bins[i]), all->bin_maxima ? (double) all->bin_maxima[i] : 0));
  return most == 0;
}

void
plot_zeros (struct buffer *to, const struct job_report *report)
{
  for (int i = 0; i < JOB_ITEM_COUNT; i++) {
    enum job_item_id item = (enum job_item_id) i;
    if (!plot_has_item (report, item) || !plot_is_zero (report, item))
      continue;
    buffer_add_string (to, to->length ? ", " : "Zero throughout: ");
    plot_item_title (to, item);
  }
  if (to->length)
    buffer_add_string (to, ".");
}
