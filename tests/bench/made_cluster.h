/* A cluster that is made up: its nodes' names and values, the same whoever asks, live or of the past. */
#ifndef SYNOP_BENCH_MADE_CLUSTER_H
#define SYNOP_BENCH_MADE_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/metric.h"
#include "synop/schema.h"
#include "synop/table.h"

#define MADE_METRICS 12

/* "r001n01": 40 nodes a rack. */
void made_name (char *name, size_t size, unsigned index);
unsigned made_index (const char *name);

struct made_metric {
  const char *group, *metric, *row; /* row "": of the node; else so many rows of that name and a number */
  unsigned rows;
  double low, high; /* percent for a share; a counter's in a second */
  unsigned pace;    /* metrics of the same pace go up and down together */
};
extern const struct made_metric made_metrics[MADE_METRICS];

/* In the metric's unit; of a counter: in a second. */
double made_value (unsigned index, size_t metric, unsigned row, double seconds);
/* One that never sends, or is silent just then. */
bool made_is_away (unsigned index, double seconds);

struct schema *made_schema (void);
/* The number of a metric in the groups of the schema. */
size_t made_column (const struct group *group, const char *name);

#endif
