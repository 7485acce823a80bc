/* What the two ways to read samples share: by the forms of a chunk, and by its frames. */
#ifndef SYNOP_AGGREGATOR_HISTORY_SAMPLES_PRIVATE_H
#define SYNOP_AGGREGATOR_HISTORY_SAMPLES_PRIVATE_H

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

int samples_read_whole (struct samples *samples, const struct samples_wanted *wanted, const struct buffer *raw,
                        struct error *error);

#endif
