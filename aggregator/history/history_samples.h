/* One metric's values in a chunk of frames, as they came: without the other metrics, and mostly without the frames, whose
 * numbers lie in columns in the chunk (history_chunk.h). */
#ifndef SYNOP_AGGREGATOR_HISTORY_SAMPLES_H
#define SYNOP_AGGREGATOR_HISTORY_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_file.h"
#include "synop/table.h"

/* The labels of a table's rows: samples of one form share them. */
struct sample_labels {
  struct buffer text;
  size_t *ends;
  size_t count, capacity;
};

struct sample {
  uint64_t sequence;
  int64_t monotonic_ns, time_ns; /* of the node; of the cluster */
  int64_t period_ns;
  uint64_t distance;                  /* to the frame with the base of its changes; 0: none */
  bool there;                         /* the frame has a table of the group */
  size_t rows;                        /* 1 for a metric of the node */
  size_t at;                          /* the first of its values */
  const struct sample_labels *labels; /* NULL: a metric of the node */
};

struct samples {
  int64_t id; /* of the chunk */
  uint64_t session, first, last;
  bool by_frames; /* it is stored without forms, or they are not what they should be */
  const struct schema *schema;
  const struct group *group; /* NULL: the schema has no such metric, and there are no samples */
  const struct metric *metric;
  struct sample *list; /* one for each frame, in order of sequence */
  size_t count;
  struct value *values; /* of all rows of all samples */
  bool *counted;        /* whether such a row counts in the fold (METRIC_COUNTS) */
  size_t value_count, value_room;
  struct sample_labels **labels;
  size_t label_count, label_room;
  struct ZSTD_DCtx_s *zstd; /* these two are used again */
  struct buffer raw;
};

/* Reads a chunk's bytes: 0, or -1 and error. `samples` may hold others, which go. */
int samples_read (struct samples *samples, struct history_file *file, const struct chunk_row *row, const void *bytes,
                  size_t length, const char *group, const char *metric, struct error *error);
void samples_free (struct samples *samples);

const char *sample_label (const struct sample_labels *labels, size_t row, size_t *length);
/* The row with that label, looked for first at `hint`; SIZE_MAX: none. */
size_t sample_find_row (const struct sample_labels *labels, const char *label, size_t length, size_t hint);

#endif
