/* What the files of the node's screen share: node_screen.c (lines), node_page.c (the node as a whole), node_devices.c
 * (tables of devices), node_jobs.c. */
#ifndef SYNOP_NODE_SCREEN_PRIVATE_H
#define SYNOP_NODE_SCREEN_PRIVATE_H

#include <jansson.h>

#include "synop/canvas.h"
#include "synop/node_screen.h"

/* The page that is drawn, any number of rows, of which a window is shown. */
struct node_page {
  struct canvas *canvas;
  int y; /* the next row */
  json_t *system, *jobs;
};

void node_page_draw (struct node_page *page);
void node_page_cpus (struct node_page *page);

void node_devices_draw (struct node_page *page);
void node_jobs_draw (struct node_page *page, size_t most); /* `most` 0: all */

/* ---- values ---- */

double node_number (json_t *object, const char *key);           /* NaN: missing */
const char *node_text (json_t *object, const char *key);        /* "": missing */
json_t *node_group (json_t *section, const char *name);         /* NULL: missing, as all of these take */
double node_rate (json_t *group, json_t *row, const char *key); /* a change in the period, by the second */

/* ---- tables ---- */

struct node_column {
  const char *title; /* NULL: no more columns */
  int width;         /* 0: what is left */
  bool left;         /* its text; else it stands at the right */
};
/* Draws the heads of the columns in the next row. */
void node_table_head (struct node_page *page, const struct node_column *columns);
/* One cell in the next row. */
void node_table_cell (struct node_page *page, const struct node_column *columns, size_t column, const char *text);
void node_table_bar (struct node_page *page, const struct node_column *columns, size_t column, double share,
                     const char *text);

/* The rows of an object of rows, those with the greatest weight first, at most so many; the others are counted. */
struct node_row {
  const char *name;
  json_t *values;
  double weight;
};
#define NODE_ROWS_MAX 64
size_t node_rows (json_t *rows, double (*weigh) (json_t *group, json_t *row), json_t *group, struct node_row *out,
                  size_t most, size_t *left_out);

#endif
