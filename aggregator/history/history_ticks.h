/* Combined reports in the tiers: of each tick the sum, mean, minimum and maximum of every metric, as rows of these names of
 * node "". The core notes the values of a tick (history_ticks_write); the writer adds up those of a chunk of ticks. */
#ifndef SYNOP_AGGREGATOR_HISTORY_TICKS_H
#define SYNOP_AGGREGATOR_HISTORY_TICKS_H

#include "aggregator/core/combine.h"
#include "aggregator/history/tier_store.h"

/* The values of a tick as bytes. */
void history_ticks_write (struct buffer *out, const struct combine *combine);

/* Ticks that wait for their chunk to be closed; of the writer's thread. */
struct history_ticks;

struct history_ticks *history_ticks_create (void);
void history_ticks_destroy (struct history_ticks *ticks);
void history_ticks_add (struct history_ticks *ticks, uint64_t sequence, int64_t time_ns, const void *bytes,
                        size_t length);

/* Which metrics the ticks of a chunk have. */
struct ticks_metrics {
  struct buffer definitions;
  size_t count;
};
/* Folds those up to that number, which are taken out. `metrics` is freed with its buffer. */
void history_ticks_fold (struct history_ticks *ticks, uint64_t last, struct tier_writer *writer,
                         struct ticks_metrics *metrics, struct tier_folded *folded);
struct tier_list history_ticks_list (const struct ticks_metrics *metrics);

#endif
