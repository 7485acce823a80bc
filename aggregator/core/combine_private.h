/* The state that combine.c adds up and combine_walk.c reads. */
#ifndef SYNOP_COMBINE_INTERNAL_H
#define SYNOP_COMBINE_INTERNAL_H

#include <stdbool.h>
#include <string.h>

#include "aggregator/core/combine.h"

#define COMBINE_NONE UINT32_MAX                       /* no place: left out */
#define COMBINE_NOTHING (UINT32_MAX - 1)              /* not a number that is combined over nodes */
#define COMBINE_FLAGS (METRIC_OF_NODE | METRIC_SHARE) /* those that change what a value means */

/* The minimum or maximum of the rows of GROUP_ROWS. */
struct combined_row {
  struct value value;
  const char *node;
  struct buffer label;
};

struct combined_rows {
  uint64_t count; /* rows with a value */
  struct combined_row min, max;
};

/* The members that each frame changes come first. */
struct combined_metric {
  struct value min, max;
  const char *min_node, *max_node;
  double sum;
  int64_t whole_sum;
  uint32_t count; /* nodes with a value */
  bool whole;     /* all values are integers, and whole_sum is their sum */
  enum metric_kind kind;
  uint32_t flags;
  uint32_t value_capacity;
  struct value *values;       /* of gauges and shares; NULL: all equal `min` */
  struct combined_rows *rows; /* of GROUP_ROWS; NULL: no row has a value */
  const char *name;
  size_t hash;
  uint32_t group, next; /* next of its group, COMBINE_NONE at the end */
  enum metric_unit unit;
  enum metric_fold fold;
};

struct combined_group {
  const char *name, *section, *fold_name;
  uint32_t nodes, errors;
  uint32_t first_metric, last_metric;
  double period_min, period_max; /* s */
};

struct combine_map {
  uint8_t hash[SCHEMA_HASH_SIZE];
  uint32_t *metrics; /* for each group its index, then those of its metrics, or COMBINE_NONE, COMBINE_NOTHING */
};

struct combine {
  uint8_t key[16]; /* of the hash */
  struct combined_metric *metrics;
  size_t metric_count, metric_capacity;
  uint32_t *slots;
  size_t slot_count;
  struct combined_group *groups;
  size_t group_count, group_capacity;
  struct combine_map *maps;
  size_t map_count, map_capacity;
  char **texts;
  size_t text_count, text_capacity;
  struct value *scratch;
  struct report_range *ranges;
  size_t scratch_capacity; /* of both */
  uint64_t left_out;
};

/* The keys of a group that are not metrics. */
static inline bool
combine_key_is_taken (const char *key)
{
  return strcmp (key, "nodes") == 0 || strcmp (key, "errors") == 0 || strcmp (key, "period") == 0;
}

static inline bool
combine_has_percentiles (const struct combined_metric *metric)
{
  return metric->kind == GAUGE || (metric->flags & METRIC_SHARE);
}

#endif
