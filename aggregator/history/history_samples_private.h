/* What the two ways to read samples share: by the forms of a chunk, and by its frames. */
#ifndef SYNOP_AGGREGATOR_HISTORY_SAMPLES_PRIVATE_H
#define SYNOP_AGGREGATOR_HISTORY_SAMPLES_PRIVATE_H

#include "aggregator/history/history_form.h"
#include "aggregator/history/history_samples.h"

struct samples_wanted {
  struct history_file *file;
  const char *group, *metric;
};

struct samples_columns { /* of the schema */
  size_t group, column;
  size_t gate; /* the column that says whether a row counts; SIZE_MAX: none */
};

/* Sets schema, group and metric; the schema stays NULL when the file does not have it, the group where it has no such
 * metric. */
void samples_choose (struct samples *samples, const struct samples_wanted *wanted, const uint8_t *hash,
                     struct samples_columns *columns);
struct sample *samples_add (struct samples *samples);
size_t samples_add_values (struct samples *samples, size_t count); /* the first of them */
struct sample_labels *samples_add_labels (struct samples *samples);
void samples_clear (struct samples *samples);

/* ---- history_samples_layout.c ---- */

/* A number of a form, or what stands for it in every use. */
struct sample_cell {
  uint32_t hole; /* UINT32_MAX: none */
  struct value value;
};

/* Where a table's form has what is wanted. */
struct sample_layout {
  struct sample_cell period;
  struct sample_cell *cells; /* a row each; NULL: all are missing */
  struct sample_cell *gates; /* whether the row counts; NULL: all do */
  size_t rows;
  bool rows_known; /* by the labels or a column before */
  struct sample_labels *labels;
};

/* A cell: a hole, or a value that is the same in every use. */
struct sample_cell sample_cell_next (struct wire *form, uint32_t *holes);
struct value sample_cell_value (const struct sample_cell *cell, const struct form *form, size_t use);
uint64_t sample_cell_number (const struct sample_cell *cell, const struct form *form, size_t use); /* 0: it is none */
/* [group, period, error, labels, values of the node, columns]. False: it is none. */
bool sample_layout_read (struct samples *samples, const struct samples_columns *columns, const struct form *bytes,
                         struct sample_layout *layout);

/* ---- history_samples_whole.c ---- */

int samples_read_whole (struct samples *samples, const struct samples_wanted *wanted, const struct buffer *raw,
                        struct error *error);

#endif
