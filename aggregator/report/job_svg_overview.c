/* Which node was slow, as SVG, see job_svg.h: the rows are those of job_plot_overview.c. */
#include <math.h>
#include <stdlib.h>

#include "aggregator/report/job_markup.h"
#include "aggregator/report/job_plot_overview_private.h"
#include "aggregator/report/job_svg.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define WIDTH 1000.0
#define NAMES 170.0
#define MAP 560.0
#define ROW 18.0
#define CELLS 140
#define LEVELS 10

/* Cells of equal colour are one; a value is a level from pale to dark. */
static void
svg_row (const struct overview *view, struct buffer *out, const float *curve, double y, double dark)
{
  size_t bins = view->report->bins, cells = bins < CELLS ? bins : CELLS;
  double width = MAP / (double) cells;
  int levels[CELLS];

  for (size_t c = 0; c < cells; c++) {
    size_t from = c * bins / cells, to = (c + 1) * bins / cells, known = 0;
    double sum = 0;
    for (size_t i = from; i < to; i++)
      if (!isnan (curve[i])) {
        sum += (double) curve[i];
        known++;
      }
    levels[c] = known ? (int) fmin (LEVELS - 1, sum / (double) known / dark * LEVELS) : -1;
  }
  for (size_t c = 0, end; c < cells; c = end) {
    for (end = c + 1; end < cells && levels[end] == levels[c];)
      end++;
    if (levels[c] < 0)
      buffer_printf (out, "<rect class=\"gap\" ");
    else
      buffer_printf (out, "<rect class=\"v%d\" ", levels[c]);
    buffer_printf (out, "x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", NAMES + (double) c * width, y,
                   (double) (end - c) * width, ROW - 2);
  }
}

static void
svg_node (const struct overview *view, struct buffer *out, const struct overview_row *row, double y, double dark,
          double most)
{
  const char *unit = job_items[view->item].unit;
  bool marked = overview_is_marked (view, row);
  float *curve = memory_new (view->report->bins, sizeof *curve);
  struct buffer label = { 0 };
  double bars = WIDTH - NAMES - MAP - 90;

  overview_fill_row (view, row, curve);
  overview_label (view, row, &label);
  buffer_printf (out, "<g><title>");
  markup_text (out, buffer_text (&label), 60);
  buffer_printf (out, ": mean %s</title>", words_value (row->mean, unit).text);
  svg_row (view, out, curve, y, dark);
  buffer_printf (out, "<text class=\"e%s\" x=\"%.1f\" y=\"%.1f\">", marked ? " b" : "", NAMES - 5, y + 12);
  markup_text (out, buffer_text (&label), OVERVIEW_NAME + 8);
  buffer_printf (out, "</text><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" ", marked ? "mark" : "bar", NAMES + MAP + 12, y);
  buffer_printf (out, "width=\"%.1f\" height=\"%.1f\"/>", isnan (row->mean) ? 0 : row->mean / most * bars, ROW - 2);
  buffer_printf (out, "<text class=\"e%s\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", marked ? " b" : "", WIDTH - 2,
                 y + 12, isnan (row->mean) ? "no samples" : words_value (row->mean, unit).text);
  buffer_free (&label);
  free (curve);
}

void
svg_overview (struct buffer *out, const struct job_report *report)
{
  struct overview view;
  struct buffer title = { 0 };
  double dark, most = 0, height;

  overview_init (&view, NULL, report);
  if (view.item < JOB_ITEM_COUNT && report->node_count > 1) {
    height = ROW * (double) view.count + 24;
    dark = overview_darkest (&view);
    for (size_t i = 0; i < view.count; i++)
      most = fmax (most, view.rows[i].mean);
    plot_overview_title (&title, report);
    buffer_add_string (out, "<h2>");
    markup_text (out, buffer_text (&title), 200);
    buffer_printf (out,
                   "</h2>\n<figure class=\"wide\"><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
                   WIDTH, height, job_items[view.item].title);
    buffer_printf (out, "<text class=\"q\" x=\"%.1f\" y=\"12\">%s over time, up to %s; the lowest node first</text>",
                   NAMES, job_items[view.item].title, words_value (dark, job_items[view.item].unit).text);
    buffer_printf (out, "<text class=\"q\" x=\"%.1f\" y=\"12\">mean</text>\n", NAMES + MAP + 12);
    for (size_t i = 0; i < view.count; i++)
      svg_node (&view, out, &view.rows[i], 20 + ROW * (double) i, dark > 0 ? dark : 1, most > 0 ? most : 1);
    buffer_add_string (out, "</svg></figure>\n");
  }
  buffer_free (&title);
  overview_free (&view);
}
