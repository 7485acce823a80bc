/* Points of many series in memory, by metric: each has a cell for each minute of an hour, or hour of a day. What several
 * blobs have of one series is added up. */
#ifndef SYNOP_AGGREGATOR_TIER_GRID_H
#define SYNOP_AGGREGATOR_TIER_GRID_H

#include "aggregator/history/tier_codec.h"

struct grid_series {
  int64_t node;
  uint32_t label;          /* 0: the node as a whole; else in the grid's labels, from 1 */
  uint32_t first, room;    /* times that have cells */
  struct tier_cell *cells; /* NULL: none yet */
};

struct grid_section {
  int64_t metric;
  bool rows; /* of rows, or of nodes as a whole */
  struct grid_series *series;
  size_t count, capacity;
  size_t hint;     /* where the next series is expected */
  uint32_t *table; /* hashed: index + 1 */
  size_t table_size;
};

struct grid_label {
  char *text;
  size_t length;
  uint32_t written, stamp; /* its number in the segment `stamp` */
};

struct tier_grid {
  uint32_t times; /* of a series, at most */
  struct grid_section *sections;
  size_t count, capacity;
  uint32_t *table; /* of sections, hashed: index + 1 */
  size_t table_size;
  struct grid_label *labels;
  size_t label_count, label_capacity;
  uint32_t *label_table;
  size_t label_table_size;
  uint32_t stamp;
  size_t cells; /* in all sections */
};

struct tier_grid *tier_grid_create (uint32_t times);
void tier_grid_clear (struct tier_grid *grid);
void tier_grid_destroy (struct tier_grid *grid); /* NULL is fine */

/* Adds the points of a series under another number of metric and node. With `times` of the grid 1 all become one. */
void tier_grid_add (struct tier_grid *grid, int64_t metric, int64_t node, const struct tier_series *series);
/* Adds all that another has, each series at one time. */
void tier_grid_add_all (struct tier_grid *grid, const struct tier_grid *from, uint32_t time);
/* Puts in the cells of a section of another grid that have as many samples as those here, or more. */
void tier_grid_put_fuller (struct tier_grid *grid, const struct tier_grid *from, const struct grid_section *section);
/* Writes a section as a blob with one segment; its metric is 0 there. `time`: what is added to each time. False: it has
 * nothing. */
bool tier_grid_write (struct tier_grid *grid, const struct grid_section *section, uint32_t time,
                      struct tier_writer *writer, struct buffer *out);

/* Writes all sections as one blob, in order of metrics, which have their own numbers there. False: there is nothing. */
bool tier_grid_write_all (struct tier_grid *grid, uint32_t time, struct tier_writer *writer, struct buffer *out);

#endif
