/* The curves of an answer as gnuplot draws them (aggregator/report/gnuplot.h): a picture, or characters on a terminal. */
#ifndef SYNOP_AGGREGATOR_QUERY_PLOT_H
#define SYNOP_AGGREGATOR_QUERY_PLOT_H

#include "aggregator/query/query.h"

enum query_canvas { QUERY_TERMINAL, QUERY_PNG, QUERY_SVG, QUERY_PDF };

struct query_look {
  enum query_canvas canvas;
  size_t width, height; /* of a terminal, in characters */
  bool colour;          /* of a terminal */
};

#define QUERY_CURVES_MAX 12 /* more could not be told apart; the first of them are drawn */

/* "load.png" to QUERY_PNG; -1: it ends in neither .png, .svg nor .pdf. */
int query_canvas_of (const char *path, enum query_canvas *canvas);

/* Adds what gnuplot draws. -1 and error: it is not installed, or there is nothing to draw. */
int query_plot (struct buffer *out, const struct query_answer *answer, const struct query_look *look,
                struct error *error);

#endif
