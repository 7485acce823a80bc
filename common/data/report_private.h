/* What the files of reports share: finding rows, and the group that is being written. */
#ifndef SYNOP_REPORT_PRIVATE_H
#define SYNOP_REPORT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/derived.h"
#include "synop/json.h"
#include "synop/report.h"

/* table_find_row, counted; SIZE_MAX also when the frame's limit of searched rows is reached. */
size_t report_row_find (const struct table *table, const char *label, size_t length, size_t expected, size_t *searched);
bool report_folds (const struct metric *metric); /* are its rows folded? */

/* A group that is being written. */
struct sheet {
  struct json *json;
  const struct group *group;
  const struct table *now;
  const struct table *before; /* NULL: there is none to compare with */
  int64_t elapsed_ns;         /* the nominal period without a table before */
  size_t *searched;           /* for rows of tables before, in all groups */
  struct derived_list derived;
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
