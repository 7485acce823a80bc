/* What the cluster's pages show: each node's newest tables, its state, the last combined report, the aggregator's counters.
 *
 * The main thread puts in what comes, and does next to nothing for it: of a frame the bytes of its tables are copied, as
 * they came. Whoever writes a page takes them out, in another thread (page_scrape.h). One lock is between the two, held
 * for the copy of one node. */
#ifndef SYNOP_AGGREGATOR_PAGE_H
#define SYNOP_AGGREGATOR_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "synop/naming.h"

struct page;

struct page *page_create (struct naming *naming, bool timestamps); /* owns the naming */
void page_destroy (struct page *page);                             /* nobody writes any more */
/* Other names from the next page on. */
void page_set_naming (struct page *page, struct naming *naming, bool timestamps);
/* It has made more plans than nodes need, since they have often come with other schemas: it should be made anew. Reported once a time. */
bool page_is_crowded (struct page *page);

void page_put_frame (struct page *page, const struct cluster_frame *frame);
void page_put_tick (struct page *page, const struct cluster_tick_line *line);
/* The nodes' states, and which there are; about once a second. */
void page_put_nodes (struct page *page, const struct cluster *cluster, int64_t monotonic_ns);

/* The aggregator's counters: begin, each of them, end. `total`: it only grows. Names must outlive the page. */
void page_begin_counters (struct page *page);
void page_put_counter (struct page *page, const char *name, bool total, uint64_t value);
void page_end_counters (struct page *page, int64_t uptime_ns);

#endif
