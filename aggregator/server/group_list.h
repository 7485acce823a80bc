/* The groups and metrics that nodes have, as the aggregator learned them from their schemas. */
#ifndef SYNOP_AGGREGATOR_GROUP_LIST_H
#define SYNOP_AGGREGATOR_GROUP_LIST_H

#include "aggregator/core/cluster.h"
#include "synop/buffer.h"

/* Of all nodes that have ever sent a schema: the names of the groups, one a line. */
void group_list_names (const struct cluster *cluster, struct buffer *out);
/* Of the nodes that are up: a line of JSON for each group, by name, with its metrics and how many nodes have them. */
void group_list_json (const struct cluster *cluster, struct buffer *out);

#endif
