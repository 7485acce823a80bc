/* The tiers of a history in its file: minutes and hours of every metric, beside the frames.
 *
 *   tier_metrics  id, owner (the node that brought it), section, family (the group), name, kind, unit, fold, flags, times,
 *                 per, help
 *   tier_maps     hash, ids: the metrics of a schema in its order, as varints; 0: left out
 *   tier_staged   id, start (of an hour, s), batch, node, at (when, s), map, data: what ticks, or a chunk, have of an hour
 *   tier_blocks   id, tier, start (of an hour or a day, s), metric, rows, batch, part, data: what a batch of nodes has of one
 *                 metric; 0: of all, unless that is more than fits into memory. Part 0 is merged; what is in other parts of minutes is not in
 *                 the hours yet
 *   unfolded      chunk, time: chunks that are in no tier yet
 *   tier_repairs  start, batch, first, last: minutes that are made again, of metrics from first to last
 *
 * `data` is in the form of tier_codec.h; the number of the metric is the place in the map, or its id where it has all, else 0.
 * A chunk of frames is unfolded until blocks are made of it, with others of a batch of nodes; ticks are staged in the transaction
 * that stores them. Blocks are merged when the hour is over; hours are made then. Each of these steps is a transaction: whenever
 * it ends, all that is stored is in the file once. Readers add up whatever there is of a minute or an hour. */
#ifndef SYNOP_AGGREGATOR_TIER_STORE_H
#define SYNOP_AGGREGATOR_TIER_STORE_H

#include "aggregator/history/history_store.h"
#include "aggregator/history/tier_fold.h"
#include "synop/metric.h"

#define TIER_BATCH 16 /* nodes */
#define TIER_METRICS_MAX 65536
#define TIER_OWNER_METRICS_MAX 4096 /* that one node may bring */

/* A metric that is folded. */
struct tier_metric {
  const char *section, *group;
  struct metric metric;
};

struct tier_list {
  uint8_t hash[SCHEMA_HASH_SIZE];
  void *context;
  size_t count;
  bool (*metric) (void *context, size_t index, struct tier_metric *metric); /* false: it is not folded */
};

/* Stages what a chunk of ticks has; in the transaction that stores it. */
int tier_store_stage (struct history_store *store, const char *node, const struct tier_list *metrics,
                      const struct tier_folded *folded, struct error *error);
/* The same of a schema. */
struct tier_list tier_schema_list (const struct schema *schema);

struct tier_limits {
  int64_t now_ns;
  int64_t minutes_before_ns, hours_before_ns; /* older is deleted */
  uint64_t max_size;
};
/* Some of the work that is due, in a transaction of its own: chunks that were not folded, blocks, hours, what is too old.
 * Until `until_ns` of CLOCK_MONOTONIC, or a
 * little longer, but for a second at most. 1: there may be more. */
int tier_store_work (struct history_store *store, const struct tier_limits *limits, int64_t until_ns,
                     struct error *error);

struct tier_counts {
  uint64_t left_out; /* values of rows or metrics over their bounds */
  uint64_t broken;   /* blocks that were damaged */
};
struct tier_counts tier_store_take_counts (struct history_store *store); /* since the last call */

#endif
