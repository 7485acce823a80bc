/* Which node was slow, in one picture (see job_plot.h): a row for each node, the one with the lowest mean on top; its
 * values over time as colours from pale to dark, and its mean as a bar. The node that stands out has a bar of another
 * colour, and its name is in the title. Hatched: no samples.
 *
 * Over OVERVIEW_ROWS nodes: the lowest, then all between as one row, then the highest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_curve.h"
#include "aggregator/report/job_plot_overview_private.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define ROWS_LOW 28
#define ROWS_HIGH 6

#define TITLE_HEIGHT 30
#define FOOT_HEIGHT 42

enum job_item_id
plot_overview_item (const struct job_report *report)
{
  static const enum job_item_id best[] = { JOB_CPU_USAGE, JOB_GPU_USAGE };

  if (report->node_count == 0)
    return JOB_ITEM_COUNT;
  for (size_t i = 0; i < sizeof best / sizeof best[0]; i++)
    if (plot_has_item (report, best[i]))
      return best[i];
  for (int item = 0; item < JOB_ITEM_COUNT; item++)
    if (plot_has_item (report, (enum job_item_id) item))
      return (enum job_item_id) item;
  return JOB_ITEM_COUNT;
}

static size_t
row_count (const struct job_report *report)
{
  return report->node_count <= OVERVIEW_ROWS ? report->node_count : ROWS_LOW + 1 + ROWS_HIGH;
}

static double
row_height (size_t rows)
{
  double height = 260.0 / (double) (rows ? rows : 1);

  return height > 26 ? 26 : height < 9 ? 9 : height;
}

double
plot_overview_height (const struct job_report *report)
{
  size_t rows = row_count (report);

  return TITLE_HEIGHT + FOOT_HEIGHT + row_height (rows) * (double) (rows > 2 ? rows : 2);
}

/* ---- the rows ---- */

/* Those without a value first: nothing is as slow. */
static int
compare_rows (const void *one, const void *other)
{
  const struct overview_row *a = one, *b = other;

  if (isnan (a->mean) != isnan (b->mean))
    return isnan (a->mean) ? -1 : 1;
  if (!isnan (a->mean) && a->mean != b->mean)
    return a->mean < b->mean ? -1 : 1;
  return a->node < b->node ? -1 : a->node > b->node;
}

/* Keeps the slow node among those that are shown, whatever else is below it. */
static void
choose_rows (struct overview *view, struct overview_row *sorted, size_t count)
{
  size_t low = count <= OVERVIEW_ROWS ? count : ROWS_LOW, known = 0;

  memcpy (view->rows, sorted, low * sizeof *sorted);
  view->count = low;
  if (low == count)
    return;
  for (size_t i = low; i < count - ROWS_HIGH; i++) {
    if (sorted[i].node == view->report->slowest) {
      struct overview_row swap = view->rows[low - 1];
      view->rows[low - 1] = sorted[i];
      sorted[i] = swap;
    }
  }
  view->rows[low] = (struct overview_row){ SIZE_MAX, 0 };
  for (size_t i = low; i < count - ROWS_HIGH; i++) {
    view->others[sorted[i].node] = true;
    view->other_count++;
    if (!isnan (sorted[i].mean))
      view->rows[low].mean += (sorted[i].mean - view->rows[low].mean) / (double) ++known;
  }
  if (!known)
    view->rows[low].mean = nan ("");
  memcpy (view->rows + low + 1, sorted + count - ROWS_HIGH, ROWS_HIGH * sizeof *sorted);
  view->count = low + 1 + ROWS_HIGH;
}

void
overview_init (struct overview *view, const struct canvas *canvas, const struct job_report *report)
{
  struct overview_row *sorted = memory_new (report->node_count, sizeof *sorted);
  size_t known = 0;

  *view =
      (struct overview){ .canvas = canvas, .report = report, .item = plot_overview_item (report), .mean = nan ("") };
  view->others = memory_new (report->node_count, sizeof *view->others);
  for (size_t i = 0; view->item < JOB_ITEM_COUNT && i < report->node_count; i++) {
    const struct job_series *series = &report->nodes[i].series[view->item];
    sorted[i] = (struct overview_row){ i, series->known ? series->mean : nan ("") };
    if (isnan (sorted[i].mean))
      continue;
    view->mean = known++ ? view->mean + (sorted[i].mean - view->mean) / (double) known : sorted[i].mean;
  }
  if (view->item < JOB_ITEM_COUNT) {
    qsort (sorted, report->node_count, sizeof *sorted, compare_rows);
    choose_rows (view, sorted, report->node_count);
  }
  free (sorted);
}

void
overview_free (struct overview *view)
{
  free (view->others);
}

/* ---- the title ---- */

static void
put_range (struct buffer *title, const struct overview *view)
{
  const struct job_item *item = &job_items[view->item];
  double lowest = nan (""), most = view->rows[view->count - 1].mean;

  for (size_t i = view->count; i-- > 0;)
    if (!isnan (view->rows[i].mean))
      lowest = view->rows[i].mean;
  buffer_printf (title, "%s of %zu nodes: ", item->title, view->report->node_count);
  buffer_printf (title, "mean %s, ", words_value (view->mean, item->unit).text);
  buffer_printf (title, "from %s ", words_value (lowest, item->unit).text);
  buffer_printf (title, "to %s", words_value (most, item->unit).text);
}

static void
put_lost (struct buffer *title, const struct job_report *report)
{
  struct buffer lost = { 0 };

  words_lost_nodes (&lost, report, 24);
  if (lost.length) {
    buffer_add_string (title, "; lost: ");
    buffer_add (title, lost.data, lost.length);
  }
  buffer_free (&lost);
}

void
plot_overview_title (struct buffer *title, const struct job_report *report)
{
  struct overview view;
  const struct job_item *item;

  overview_init (&view, NULL, report);
  if (view.item == JOB_ITEM_COUNT) {
    buffer_add_string (title, "No samples of this job");
  } else if (report->slowest < report->node_count && view.item == JOB_CPU_USAGE) {
    const struct job_node *node = &report->nodes[report->slowest];
    item = &job_items[view.item];
    words_add (title, node->name, OVERVIEW_NAME);
    buffer_printf (title, " was slow: %s %s, ", item->title,
                   words_value (node->series[view.item].mean, item->unit).text);
    buffer_printf (title, "the others %s", words_value (report->slowest_others, item->unit).text);
  } else if (report->node_count == 1) {
    item = &job_items[view.item];
    buffer_printf (title, "%s of ", item->title);
    words_add (title, report->nodes[0].name, OVERVIEW_NAME);
    buffer_printf (title, ": mean %s", words_value (view.mean, item->unit).text);
  } else {
    put_range (title, &view);
    buffer_add_string (title, "; no node stands out");
  }
  put_lost (title, report);
  overview_free (&view);
}

/* ---- the two plots ---- */

void
overview_label (const struct overview *view, const struct overview_row *row, struct buffer *label)
{
  if (row->node == SIZE_MAX) {
    buffer_printf (label, "%zu others, mean", view->other_count);
  } else {
    words_add (label, view->report->nodes[row->node].name, OVERVIEW_NAME);
    if (view->report->nodes[row->node].lost)
      buffer_add_string (label, " (lost)");
  }
}

bool
overview_is_marked (const struct overview *view, const struct overview_row *row)
{
  return view->item == JOB_CPU_USAGE && row->node != SIZE_MAX && row->node == view->report->slowest;
}

void
overview_fill_row (const struct overview *view, const struct overview_row *row, float *curve)
{
  const struct job_report *report = view->report;
  const struct job_node *node = row->node == SIZE_MAX ? NULL : &report->nodes[row->node];
  struct curve_band band;

  if (node) {
    curve_fill (report, node, node->series[view->item].bins, curve);
    return;
  }
  curve_band_init (&band, report, view->item, view->others);
  memcpy (curve, band.mean, report->bins * sizeof *curve);
  curve_band_free (&band);
}

/* Each so many `times`. */
static void
put_values (const struct overview *view, const struct overview_row *row, int times)
{
  const struct job_report *report = view->report;
  struct buffer *script = view->canvas->script;
  float *curve = memory_new (report->bins, sizeof *curve);

  overview_fill_row (view, row, curve);
  for (size_t i = 0; i < report->bins; i++)
    for (int k = 0; k < times; k++) {
      if (isnan (curve[i]))
        buffer_add_string (script, " NaN");
      else
        buffer_printf (script, " %.4g", (double) curve[i]);
    }
  buffer_add_string (script, "\n");
  free (curve);
}

double
overview_darkest (const struct overview *view)
{
  const char *unit = job_items[view->item].unit;
  double most = 0;

  for (size_t n = 0; n < view->report->node_count; n++) {
    const float *bins = view->report->nodes[n].series[view->item].bins;
    for (size_t i = 0; bins && i < view->report->bins; i++)
      most = fmax (most, (double) bins[i]);
  }
  return plot_top (unit, most) * scale_for (unit, most).divisor;
}

static void
put_rows_axis (const struct overview *view)
{
  buffer_printf (view->canvas->script, "set yrange [%g:-0.5]\nunset ytics\n", (double) view->count - 0.5);
}

static void
put_names (const struct overview *view, const struct area *frame)
{
  double height = frame->height / (double) view->count;
  struct buffer label = { 0 };

  for (size_t i = 0; i < view->count; i++) {
    bool marked = overview_is_marked (view, &view->rows[i]);
    struct plot_text style = { "right", marked ? PLOT_MARK : PLOT_BLACK, height < 10 ? 7 : 8, marked };
    buffer_clear (&label);
    overview_label (view, &view->rows[i], &label);
    plot_text (view->canvas, frame->left - 3, frame->top + ((double) i + 0.5) * height, &style, buffer_text (&label),
               OVERVIEW_NAME + 8);
  }
  buffer_free (&label);
}

static void
put_titles (const struct overview *view, const struct area *frame, double left)
{
  static const struct plot_text style = { "left", PLOT_BLACK, 10, true };
  static const struct plot_text caption = { "left", PLOT_GREY, 7, false };
  struct buffer title = { 0 };

  plot_overview_title (&title, view->report);
  plot_text (view->canvas, left, frame->top - 21, &style, buffer_text (&title), 110);
  buffer_clear (&title);
  buffer_printf (&title, "%s over time%s; hatched: no samples", job_items[view->item].title,
                 view->report->node_count > 1 ? ", the lowest node first" : "");
  plot_text (view->canvas, frame->left, frame->top - 6, &caption, buffer_text (&title), 90);
  buffer_free (&title);
}

static void
heat_plot (const struct overview *view, const struct area *frame, double left, double bar_left, double bar_width)
{
  struct buffer *script = view->canvas->script;
  const char *unit = job_items[view->item].unit;
  double dark = overview_darkest (view), foot = frame->top + frame->height;
  /* gnuplot draws no image of one row or one column: then each stands twice, at half its size. */
  int twice_x = view->report->bins == 1 ? 2 : 1, twice_y = view->count == 1 ? 2 : 1;

  plot_begin (view->canvas, frame);
  put_titles (view, frame, left);
  put_names (view, frame);
  plot_time_axis (view->canvas, view->report, 6);
  put_rows_axis (view);
  buffer_add_string (script, "$heat << EOD\n");
  for (size_t i = 0; i < view->count; i++)
    for (int k = 0; k < twice_y; k++)
      put_values (view, &view->rows[i], twice_x);
  buffer_add_string (script, "EOD\n");
  buffer_add_string (script,
                     "set object 1 rect from graph 0,0 to graph 1,1 behind fs pattern 4 border lc rgb '#b0b0b0' fc rgb "
                     "'#b0b0b0'\n");
  plot_colors (view->canvas, bar_left, foot + 3, bar_width, unit, dark);
  buffer_printf (script,
                 "set border 15 lw 0.5 lc rgb '#808080'\n"
                 "plot $heat matrix using (($1 + 0.5) * %.9g):(($2 + 0.5) / %d - 0.5):3 with image notitle\n",
                 curve_seconds (view->report) / (double) view->report->bins / twice_x, twice_y);
}

static void
bar_plot (const struct overview *view, const struct area *frame)
{
  static const struct plot_text caption = { "left", PLOT_GREY, 7, false };
  struct buffer *script = view->canvas->script;
  const char *unit = job_items[view->item].unit;
  double most = 0, height = frame->height / (double) view->count;

  for (size_t i = 0; i < view->count; i++)
    most = isnan (view->rows[i].mean) ? most : fmax (most, view->rows[i].mean);
  most = plot_top (unit, most) * scale_for (unit, most).divisor;
  plot_begin (view->canvas, frame);
  plot_text (view->canvas, frame->left, frame->top - 6, &caption,
             view->report->node_count > 1 ? "mean (dashed: of all nodes)" : "mean", 60);
  buffer_printf (script, "set xrange [0:%.6g]\nunset xtics\nset border 2\nset style fill solid 1 noborder\n",
                 most * 1.4);
  put_rows_axis (view);
  if (!isnan (view->mean) && view->report->node_count > 1)
    buffer_printf (script,
                   "set arrow 1 from %.6g, graph 0 to %.6g, graph 1 nohead lw 1 dt (4,3) lc rgb '#404040' front\n",
                   view->mean, view->mean);
  for (size_t i = 0; i < view->count; i++) {
    const struct overview_row *row = &view->rows[i];
    bool marked = overview_is_marked (view, row);
    struct plot_text style = { "right", marked ? PLOT_MARK : PLOT_BLACK, height < 10 ? 7 : 8, marked };
    plot_text (view->canvas, frame->left + frame->width, frame->top + ((double) i + 0.5) * height, &style,
               isnan (row->mean) ? "no samples" : words_value (row->mean, unit).text, 24);
  }
  buffer_add_string (script, "$bars << EOD\n");
  for (size_t i = 0; i < view->count; i++) {
    const struct overview_row *row = &view->rows[i];
    const char *color = overview_is_marked (view, row) ? "0xd55e00" : row->node == SIZE_MAX ? "0xd0d0d0" : "0x9ecae1";
    buffer_printf (script, "0 %zu 0 %.6g %.6g %.6g %s\n", i, isnan (row->mean) ? 0 : row->mean, (double) i - 0.38,
                   (double) i + 0.38, color);
  }
  buffer_add_string (script, "EOD\nplot $bars using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable notitle\n");
}

void
plot_overview (const struct canvas *canvas, const struct area *area, const struct job_report *report)
{
  struct overview view;
  struct buffer text = { 0 };
  size_t longest = 0;
  struct area heat, bars;

  overview_init (&view, canvas, report);
  if (view.item == JOB_ITEM_COUNT)
    goto end;
  for (size_t i = 0; i < view.count; i++) {
    buffer_clear (&text);
    overview_label (&view, &view.rows[i], &text);
    longest = text.length > longest ? text.length : longest;
  }
  heat = (struct area){ area->left + 6 + 4.1 * (double) (longest < 27 ? longest + 1 : 28), area->top + TITLE_HEIGHT, 0,
                        area->height - TITLE_HEIGHT - FOOT_HEIGHT };
  heat.width = (area->left + area->width - heat.left) * 0.68;
  bars = heat;
  bars.left += heat.width + 18;
  bars.width = area->left + area->width - bars.left;
  heat_plot (&view, &heat, area->left, bars.left + 16, bars.width * 0.6);
  bar_plot (&view, &bars);
end:
  buffer_free (&text);
  overview_free (&view);
}
