/* The blobs of tiers in a file that is read: of a large one no more than is asked for. */
#ifndef SYNOP_AGGREGATOR_TIER_BLOBS_H
#define SYNOP_AGGREGATOR_TIER_BLOBS_H

#include <sqlite3.h>

#include "aggregator/history/tier_codec.h"

enum tier_table { TIER_TABLE_BLOCKS, TIER_TABLE_PARTS, TIER_TABLE_STAGED, TIER_TABLES };

/* All zeros at first. */
struct tier_blobs {
  struct tier_reader *reader;
  sqlite3_blob *handles[TIER_TABLES];
  struct buffer small; /* one as a whole */
};

/* Calls `series` for those of a metric in the data of a row. */
int tier_blobs_read (struct tier_blobs *blobs, sqlite3 *database, enum tier_table table, int64_t row, uint32_t metric,
                     void *context, void (*series) (void *context, const struct tier_series *series),
                     struct error *error);
void tier_blobs_close (struct tier_blobs *blobs);

#endif
