/* Folds the frames of a chunk into minutes: count, sum, least and greatest of what lines show, for each metric of each row
 * and of the node. Pure: from the columns into which the chunk was split, no frame is decoded.
 *
 * A counter's change is that against the frame which its record names. One that lies in an earlier chunk is asked for. */
#ifndef SYNOP_AGGREGATOR_TIER_FOLD_H
#define SYNOP_AGGREGATOR_TIER_FOLD_H

#include "aggregator/history/history_chunk.h"
#include "aggregator/history/history_form.h"
#include "aggregator/history/history_store.h"
#include "aggregator/history/tier_codec.h"
#include "synop/schema.h"

#define MINUTE_NS (60 * INT64_C (1000000000))
#define HOUR_S INT64_C (3600)
#define DAY_S INT64_C (86400)

/* What a chunk has of an hour: a blob whose metrics are numbered as in the schema, one group after the other. */
struct tier_staged {
  int64_t start; /* of the hour, in s since 1970 */
  struct buffer data;
};

struct tier_folded {
  struct tier_staged *staged;
  size_t count, capacity;
  uint64_t left_out; /* values of rows over the limit */
};

/* Who takes the minutes of one hour as they are; those of others are staged. */
struct tier_sink {
  void *context;
  int64_t start;
  void (*series) (void *context, const struct tier_series *series);
};

void tier_folded_free (struct tier_folded *folded);

/* A frame of the same session from before the chunk; false: it cannot be had. */
struct tier_bases {
  void *context;
  bool (*frame) (void *context, uint64_t sequence, const void **bytes, size_t *length);
};

/* The node's number is 0 in what comes out. */
void tier_fold (const struct chunk *chunk, const struct chunk_parts *parts, const struct chunk_row *row,
                const struct schema *schema, const struct tier_bases *bases, const struct tier_sink *sink,
                struct tier_writer *writer, struct tier_folded *folded);

/* The minute of a time. */
static inline int64_t
tier_minute (int64_t time_ns)
{
  return time_ns / MINUTE_NS - (time_ns % MINUTE_NS < 0);
}

#endif
