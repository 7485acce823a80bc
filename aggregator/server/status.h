/* The data of `aggregator status`: every listed node and every counter. */
#ifndef SYNOP_AGGREGATOR_STATUS_H
#define SYNOP_AGGREGATOR_STATUS_H

#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/views/views.h"
#include "synop/buffer.h"
#include "synop/json.h"
#include "synop/link.h"
#include "synop/viewer.h"

struct status_readers {
  uint64_t clients, clients_refused, lines_dropped;
};

struct status {
  const struct cluster *cluster;
  const struct views *views;   /* NULL: none */
  const struct viewer *viewer; /* for status_write_json */
  const char *listen;
  int64_t uptime_ns;
  struct instant now;
  struct link_counts link;
  struct status_readers readers;
};

void status_each_counter (const struct status *status, void *to, view_counter_fn *take);
void status_write_node (struct json *json, const struct node *node, const struct viewer *viewer, struct instant now);
void status_write_json (const struct status *status, struct json *json); /* a line */
void status_write_table (const struct status *status, struct buffer *out);

#endif
