/* Where in the numbers of a form the values of a table lie: made once for each form of a chunk, however many frames have it.
 * For the files of the fold only. */
#ifndef SYNOP_AGGREGATOR_TIER_LAYOUT_H
#define SYNOP_AGGREGATOR_TIER_LAYOUT_H

#include "aggregator/history/history_form.h"
#include "synop/metric.h"

#define LAYOUT_SERIES_MAX 16384 /* of a group, in a chunk; what is over it is left out */

/* A row of a group in a chunk. Slot 0 is the node as a whole. */
struct slot {
  const char *label; /* NULL: the label is its number, or it is slot 0 */
  uint32_t length, number;
};

/* A group in a chunk. */
struct slots {
  struct slot *list;
  size_t count, capacity;
  uint32_t *table; /* hashed: index + 1 of a slot */
  size_t table_size;
  uint64_t left_out;
};

/* Values of one metric whose holes, rows and slots follow each other. */
struct run {
  uint16_t metric;
  bool of_node;
  uint32_t slot, row, count; /* the first, and how many */
  int32_t hole;              /* below 0: -1 - index of a literal; then there is one */
};

struct layout {
  const struct form *form; /* NULL: this one was not laid out yet */
  uint16_t group;
  bool bad;
  struct run *runs;
  size_t count, capacity;
  struct number *literals; /* numbers that the form itself has */
  size_t literal_count, literal_capacity;
  int32_t period; /* its hole or literal */
  int32_t *gates; /* for each row, of the metric that says whether it counts; NULL: all do */
  uint32_t rows;
};

void slots_free (struct slots *slots);
void layout_free (struct layout *layout);

/* The group of a table's form; -1: it is none. */
int layout_group (const struct form *form);
/* Lays a form out. `gate`: the column that says whether a row counts, or SIZE_MAX. */
void layout_make (struct layout *layout, const struct form *form, const struct group *group, size_t gate,
                  struct slots *slots);

/* `row`: the numbers of this use of the form. */
static inline const struct number *
layout_number (const struct layout *layout, const struct number *row, int32_t hole)
{
  return hole >= 0 ? &row[hole] : &layout->literals[-1 - hole];
}

#endif
