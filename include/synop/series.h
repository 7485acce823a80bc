/* Values of nodes as series of families: a walk over the newest tables of many nodes, family by family and, within a
 * family, node by node, which is the order of text formats. */
#ifndef SYNOP_SERIES_H
#define SYNOP_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/naming.h"
#include "synop/table.h"

/* A group's newest table. */
struct series_table {
  const struct table *table;  /* NULL: there is none */
  const struct table *before; /* the one before it, for rates; NULL: there is none */
  int64_t time_ns;            /* since 1970; 0: not known */
  bool hidden;                /* it gives no series, but labels of other series may have its values */
};

/* A node's newest values. */
struct series_node {
  const char *name;
  const struct naming_plan *plan;    /* of its schema */
  const struct series_table *tables; /* as many as the schema has groups */
  int64_t time_ns;                   /* of its newest frame; 0: not known */
  bool untimed;                      /* its series have no time */
};

/* The nodes must not move during the walk; their values may change between two steps. */
struct series_walk {
  const struct naming *naming;
  const struct series_node *nodes;
  size_t node_count;
  size_t family_count;             /* that a node has */
  size_t family, node, entry, row; /* what comes next */
};

/* digits / 10^places with its sign, or a floating point number. */
struct series_value {
  bool real, negative;
  int places;
  uint64_t digits;
  double number;
};

/* A series' newest value. Valid until its table changes. */
struct series {
  const struct metric_family *family;
  const struct series_node *node;
  struct series_value value;
  int64_t time_ns; /* 0: none */
  size_t group;    /* of the schema; SIZE_MAX: it is the node's time */
  /* The rest is private. */
  const struct plan_entry *entry;
  const struct table *table;
  size_t row;
  struct series_text {
    const char *at;
    size_t length;
  } label, captures[4];
};

void series_begin (struct series_walk *walk, const struct naming *naming, const struct series_node *nodes,
                   size_t count);
/* False: the walk is over. Missing values are skipped. */
bool series_next (struct series_walk *walk, struct series *series);

double series_number (const struct series *series);

/* Its labels without the node's name, in no order; an empty one stands for none. Texts lie in `texts`, which is cleared
 * first, from `offset` on. Returns how many there are; `labels` has room for SERIES_LABELS_MAX. */
#define SERIES_LABELS_MAX 520
struct series_label {
  const char *name;
  size_t offset, length;
};
size_t series_labels (const struct series *series, struct series_label *labels, struct buffer *texts);
/* What its labels follow from, beside `entry`, which tells series of one naming apart: a text, maybe in `texts`. */
struct series_text series_key (const struct series *series, struct buffer *texts);

#endif
