/* What report.c and report_fold.c share: the table before, its rows, and the fold of rows into the node. */
#ifndef SYNOP_REPORT_PRIVATE_H
#define SYNOP_REPORT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/json.h"
#include "synop/report.h"

/* The table before, if `now` can be compared with it; else NULL. */
const struct table *report_before (const struct report_group *pair);

/* Where the next row of a table is expected, 0 at first, and how much was searched in all tables of the frame. */
struct report_search {
  size_t expected;
  size_t *searched;
};
/* table_find_row, counted; SIZE_MAX too when too much was searched in this frame. */
size_t report_row_find (const struct table *table, const char *label, size_t length, size_t expected, size_t *searched);
/* The row of `before` (may be NULL) with the label of row `row` of `now`, or SIZE_MAX. */
size_t report_row_before (const struct table *now, const struct table *before, size_t row,
                          struct report_search *search);

/* What is known of a metric's rows so far. Zeroed at first. */
struct report_fold {
  size_t count;
  bool real; /* whether it lies in `number` or in `whole` */
  double number;
  __int128 whole;
};

bool report_folds (const struct metric *metric); /* are its rows folded? */
void report_fold_add (struct report_fold *fold, enum metric_fold how, const struct value *value);
struct value report_fold_value (const struct report_fold *fold, enum metric_fold how);

/* One group on its way out. */
struct sheet {
  struct json *json;
  const struct group *group;
  const struct table *now;
  const struct table *before; /* NULL: nothing to compare with */
  int64_t elapsed_ns;         /* the nominal period without a table before */
  size_t *searched;           /* for rows of tables before, in all groups */
};

struct sheet sheet_of (struct json *json, const struct report_group *pair, size_t *searched);
void sheet_value_write (const struct sheet *sheet, const struct metric *metric, const struct value *value);
void sheet_period_write (const struct sheet *sheet); /* the member "period", if the group has one */

/* The groups to write, and which of them. */
struct selection {
  const struct report_group *groups;
  size_t count;
  bool (*only) (const void *context, const char *group);
  const void *context;
};

bool selection_shows (const struct selection *selection, size_t i);
bool selection_same_section (const struct selection *selection, size_t one, size_t other);

/* The section REPORT_RUNTIMES, whose first group is `first`. */
void report_runtimes_write (struct json *json, const struct selection *selection, size_t first, size_t *searched);

#endif
