/* What the cluster shows to Prometheus: each node's newest tables, its state, the last combined report, the aggregator's counters.
 *
 * The main thread puts in what comes, and does next to nothing for it: of a frame the bytes of its tables are copied, as
 * they came. A scrape takes them out, in another thread (exporter_scrape.h). One lock is between the two, held
 * for the copy of one node. */
#ifndef SYNOP_AGGREGATOR_EXPORTER_H
#define SYNOP_AGGREGATOR_EXPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "synop/naming.h"

struct exporter;

struct exporter *exporter_create (struct naming *naming, bool timestamps); /* owns the naming */
void exporter_destroy (struct exporter *exporter);                         /* nobody writes any more */
/* Other names from the next scrape on. */
void exporter_set_naming (struct exporter *exporter, struct naming *naming, bool timestamps);
/* It has made more plans than nodes need, since they have often come with other schemas: it should be made anew. Reported once a time. */
bool exporter_is_crowded (struct exporter *exporter);

void exporter_put_frame (struct exporter *exporter, const struct cluster_frame *frame);
void exporter_put_tick (struct exporter *exporter, const struct cluster_tick_line *line);
/* The nodes' states, and which there are; about once a second. */
void exporter_put_nodes (struct exporter *exporter, const struct cluster *cluster, int64_t monotonic_ns);

/* The aggregator's counters: begin, each of them, end. `total`: it only grows. Names must outlive the exporter. */
void exporter_begin_counters (struct exporter *exporter);
void exporter_put_counter (struct exporter *exporter, const char *name, bool total, uint64_t value);
void exporter_end_counters (struct exporter *exporter, int64_t uptime_ns);

#endif
