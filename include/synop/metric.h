/* What a metric and a group are: the descriptions from which the wire schema, the JSON keys, --list-groups and
 * docs/metrics.md all come. The agent declares them as const tables; the aggregator learns them from the wire. */
#ifndef SYNOP_METRIC_H
#define SYNOP_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric_kind {
  COUNTER, /* unsigned 64-bit that only grows; a line shows its change in the period */
  GAUGE,   /* a value as it stands */
  TEXT,    /* words: a state, a model name */
  METRIC_KINDS
};

enum metric_unit { /* base units */
                   UNIT_COUNT,
                   UNIT_BYTES,
                   UNIT_SECONDS,
                   UNIT_HERTZ,
                   UNIT_CELSIUS,
                   UNIT_JOULES,
                   UNIT_WATTS,
                   UNIT_PERCENT, /* 0 to 100 */
                   UNIT_RATIO,   /* 0 to 1 */
                   UNIT_BITS_PER_SECOND,
                   UNIT_BOOLEAN, /* 0 or 1 */
                   UNIT_NONE,    /* a text */
                   METRIC_UNITS
};

enum metric_fold { /* how rows become the node, and nodes the cluster */
                   FOLD_NONE,
                   FOLD_SUM,
                   FOLD_MEAN,
                   FOLD_MAX,
                   FOLD_MIN,
                   METRIC_FOLDS
};

enum metric_flag {
  METRIC_OF_NODE = 1, /* one value for the node, beside the rows; without it a value for each row */
  METRIC_SHARE = 2,   /* a COUNTER of seconds, shown as percent of the period that passed */
  METRIC_WRAPS32 = 4, /* a COUNTER that some drivers keep in 32 bits: a fall may be a wrap */
  METRIC_COUNTS = 8,  /* a GAUGE of rows: rows where it is 0 are left out of the fold, so that it has nothing twice */
  METRIC_SHARED =
      16, /* a GAUGE of rows: rows where it is not 0 are other nodes' too, and left out of the cluster's fold */
  METRIC_FLAGS = 31
};

/* The largest possible number, in the metric's unit: a GAUGE as it stands, a COUNTER in a second (a share: seconds).
 * It is physical and generous, so that no true value ever exceeds it. */
struct metric_bound {
  double most; /* 0: the default for its kind and unit (bounds_limits.c) */
  double
      times; /* or so many times the gauge `of` beside it, where that is known and the product is larger than `most` */
  const char *of; /* NULL: none. While that gauge is not known, the default counts */
  bool negative;  /* it may be as far below 0 */
};

struct metric {
  const char *name;
  enum metric_kind kind;
  enum metric_unit unit;
  enum metric_fold fold;
  uint32_t flags; /* METRIC_* above */
  uint32_t times; /* value in `unit` = raw * times / per; 0 stands for 1. kB: 1024; milli-degrees: per 1000 */
  uint32_t per;
  const char *source;        /* for the agent: what its reader looks for (a key, a file, a column); not on the wire */
  const char *help;          /* one sentence with a full stop */
  struct metric_bound bound; /* for the agent, as `source` */
};

enum group_flag {
  GROUP_ONCE = 1, /* facts: sampled and sent once a session, and again after each welcome */
  GROUP_ROWS = 2, /* each row matters: the cluster's minimum and maximum are those of rows, not of nodes */
  GROUP_FLAGS = 3
};

/* A group without a rows_name has METRIC_OF_NODE metrics only. */
struct group {
  const char *name;      /* "cpu_usage" */
  const char *section;   /* where it lies in a report: "system_data", or "" for directly in it */
  const char *row;       /* what a row is: "CPU", "device"; "" without rows */
  const char *rows_name; /* JSON key of the rows: "usage_data"; "" without rows */
  const char *fold_name; /* JSON key of the rows' fold: "average_usage", "total"; "" for none */
  uint32_t flags;        /* GROUP_* above */
  const char *help;
  const struct metric *metrics;
  size_t metric_count;
  const char
      *left_out; /* which rows are not shown though the kernel has them, for people; NULL: none; not on the wire */
  bool
      of_users; /* users make its rows, any number of them: a frame that is too large loses these first; not on the wire */
};

#define GROUP_METRICS(array) .metrics = (array), .metric_count = sizeof (array) / sizeof ((array)[0])

size_t group_node_metrics (const struct group *group); /* how many are METRIC_OF_NODE */

const char *metric_kind_name (enum metric_kind kind); /* "counter" */
const char *metric_unit_name (enum metric_unit unit); /* "bytes"; "" for UNIT_COUNT and UNIT_NONE */
const char *metric_fold_name (enum metric_fold fold); /* "sum"; "none" */

#endif
