/* The combined report of one tick: every metric of every group, combined over the nodes.
 *
 * A node's value of a metric is what its own line shows: the value of the node, or the fold of its rows, without rows
 * that other nodes have too (METRIC_SHARED). Nodes are identified by name; groups by name and section; a metric by its
 * whole definition, since nodes may have different schemas: where definitions of one name differ, the one that most
 * nodes have is written and the values of the others are counted.
 *
 *  "network": {"nodes": 3, "errors": 0, "period": {"min": 1.0, "max": 1.0},
 *              "tcp_established": {"nodes": 3, "sum": 12, "mean": 4, "min": 2, "min_node": "n1", "max": 6,
 *                                  "max_node": "n3", "p50": 4, "p95": 6},
 *              "total": {"rx_bytes": {...}}}
 *
 * What is derived of counters (synop/derived.h) is that of their sums over the nodes: "mean" of a ratio, "sum" of a rate.
 *
 * "sum" where the fold is a sum; "p50" and "p95" (nearest rank: values that a node had) for gauges and shares.
 *
 * In GROUP_ROWS the minimum and maximum are those of single rows, over the rows that count of all nodes whose schema
 * sets this flag:
 *
 *  "use": {"nodes": 3, "rows": 24, "mean": 71.5, "min": 0, "min_node": "n2", "min_row": "5", "max": 100, ...} */
#ifndef SYNOP_COMBINE_H
#define SYNOP_COMBINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/derived.h"
#include "synop/json.h"
#include "synop/report.h"
#include "synop/schema.h"

struct combine;

/* Limits on the definitions of one tick, and on how many of them one node may bring in; the rest is left out and
 * counted. An agent has some hundreds, and all agents of one version have the same. */
#define COMBINE_METRICS_MAX 65536
#define COMBINE_NODE_METRICS_MAX 2048

struct combine *combine_create (void);
void combine_destroy (struct combine *combine);
void combine_clear (struct combine *combine); /* memory stays */

/* Adds one node's frame: `groups` has schema->group_count entries, `now` NULL where the frame has none. No pointer
 * of the arguments is kept. */
void combine_add (struct combine *combine, const char *node, const struct schema *schema,
                  const struct report_group *groups);

/* The report as values. Its pointers are valid during the call only. */
struct combine_group {
  const char *name, *section;    /* section "": none */
  const char *fold_name;         /* the key under which metrics of rows lie in the report; "": it has none */
  uint64_t nodes, errors;        /* nodes that have it, and of them those on which it failed */
  double period_min, period_max; /* s */
};

/* The minimum or maximum, and where it is. */
struct combine_end {
  struct value value;
  const char *node;
  const char *row; /* its label; NULL: the node as a whole */
  size_t row_length;
};

struct combine_metric {
  const char *name; /* its definition: */
  enum metric_kind kind;
  enum metric_unit unit;
  enum metric_fold fold;
  uint32_t flags;   /* METRIC_OF_NODE: of nodes, else the fold of their rows; METRIC_SHARE */
  uint64_t nodes;   /* with a value, at least one */
  uint64_t rows;    /* of GROUP_ROWS; 0: ends are those of nodes */
  struct value sum; /* over the nodes; meaningful where `fold` is FOLD_SUM */
  double mean;
  struct combine_end min, max;
  struct value p50, p95; /* VALUE_MISSING: it has none */
};

/* What is derived of the sums of the nodes' counters. */
struct combine_derived {
  const struct derived *derived;
  uint64_t nodes; /* with a value of each counter */
  double value;
};

struct combine_walk {
  void *context;
  void (*group) (void *context, const struct combine_group *group); /* before its metrics; may be NULL */
  void (*metric) (void *context, const struct combine_group *group, const struct combine_metric *metric);
  /* Behind the group's metrics; may be NULL. */
  void (*derived) (void *context, const struct combine_group *group, const struct combine_derived *derived);
  bool (*only) (const void *context, const char *group); /* which groups; NULL: all */
  const void *only_context;
  bool plain; /* without p50 and p95, for which values are sorted */
};

/* Visits the report in its order: section by section, and in each group the metrics of nodes first. Returns how many
 * values were left out, since most nodes define their metric otherwise, or over a limit. */
uint64_t combine_walk (const struct combine *combine, const struct combine_walk *walk);

/* Writes the members of the report object; the caller has opened it. `left_out` (may be NULL) and `only`: as in a
 * walk. */
void combine_write (const struct combine *combine, struct json *json,
                    bool (*only) (const void *context, const char *group), const void *context, uint64_t *left_out);
/* Has the report a group for which `only` returns true? */
bool combine_has (const struct combine *combine, bool (*only) (const void *context, const char *group),
                  const void *context);

#endif
