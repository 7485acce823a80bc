/* A4 pages as a script for gnuplot, which sets the words too, so that nothing else is needed.
 *
 * A page is one multiplot: its pictures come first, its words and lines are gathered and drawn last, over an empty plot
 * of the whole page. The number of pages is known at the end alone, and is put where it belongs then. */
#ifndef SYNOP_AGGREGATOR_JOB_PAPER_H
#define SYNOP_AGGREGATOR_JOB_PAPER_H

#include "aggregator/report/job_plot.h"

#define PAPER_WIDTH 595.28
#define PAPER_HEIGHT 841.89
#define PAPER_MARGIN 38.0
#define PAPER_INNER (PAPER_WIDTH - 2 * PAPER_MARGIN)

struct paper {
  const struct job_report *report;
  struct buffer script;
  struct buffer words; /* of the page: drawn when it ends */
  struct canvas canvas, words_canvas;
  size_t page;
  double y;
  double left, right; /* of the column in which words and tables are set */
};

void paper_init (struct paper *paper, const struct job_report *report);
void paper_free (struct paper *paper);
void paper_begin (struct paper *paper); /* a page */
void paper_end (struct paper *paper);
bool paper_need (struct paper *paper, double height); /* a page begins where less than that is left; true: it did */
/* The script, with the number of pages in its place. */
void paper_script (const struct paper *paper, struct buffer *script);

/* In the current line. */
void paper_text (struct paper *paper, double x, const struct plot_text *style, const char *text, size_t limit);
void paper_box (struct paper *paper, double left, double width, const char *color);
/* Over the width of the column. */
void paper_stripe (struct paper *paper, double top, double height, const char *color);

/* `with`: the height of what must stand on the same page. */
void paper_heading (struct paper *paper, const char *text, double with);
/* A text in lines, of which there are `most` at most. */
void paper_lines (struct paper *paper, double x, const struct plot_text *style, const char *text, size_t most);
void paper_sentence (struct paper *paper, const struct plot_text *style, struct buffer *sentence, size_t most);

#endif
