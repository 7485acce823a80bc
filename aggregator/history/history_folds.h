/* Folds chunks as they are closed: of the history's thread. It keeps, for each node, the last tables of its sessions, as the
 * frames that have them, since the counters of the next chunk are compared with these. */
#ifndef SYNOP_AGGREGATOR_HISTORY_FOLDS_H
#define SYNOP_AGGREGATOR_HISTORY_FOLDS_H

#include "aggregator/history/history_gather.h"
#include "aggregator/history/tier_fold.h"

struct history_folds;

struct history_folds *history_folds_create (void);
void history_folds_destroy (struct history_folds *folds);

/* The schema with this hash, of these bytes; valid until the next call. NULL: it cannot be read. */
const struct schema *history_folds_schema (struct history_folds *folds, const uint8_t hash[SCHEMA_HASH_SIZE],
                                           const struct buffer *bytes);
struct tier_writer *history_folds_writer (struct history_folds *folds);
/* Packs a chunk, and folds its frames. `gather` has the node's other open chunks. */
void history_folds_pack (struct history_folds *folds, const struct gather *gather, const struct open_chunk *chunk,
                         const struct schema *schema, struct buffer *packed, struct tier_folded *folded);

#endif
