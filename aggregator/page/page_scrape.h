/* A page of values as text, written in pieces, in whichever thread asks: one at a time. */
#ifndef SYNOP_AGGREGATOR_PAGE_SCRAPE_H
#define SYNOP_AGGREGATOR_PAGE_SCRAPE_H

#include "aggregator/core/node.h"
#include "aggregator/page/page.h"
#include "synop/buffer.h"
#include "synop/exposition.h"

#define PAGE_SCRAPES_MAX 8 /* of several nodes, at once; of one host half */

struct page_ask {
  enum exposition_format format;
  const char *node;           /* this one, and its series have no label for it; NULL: those that `nodes` has */
  const char *nodes, *groups; /* globs; NULL or "": all */
  uint64_t host;              /* who asks */
  int64_t now_ns;             /* CLOCK_MONOTONIC */
  bool values;                /* of the nodes */
  bool own;                   /* what is made here: of the aggregator, the nodes' states, combined reports */
};

enum page_found {
  PAGE_FOUND,
  PAGE_NO_NODE,
  PAGE_SILENT,
  PAGE_TOO_MANY
}; /* silent: the node is down, or was never heard */

struct page_scrape;
enum page_found page_scrape_begin (struct page *page, const struct page_ask *ask, struct page_scrape **scrape);
bool page_scrape_next (void *scrape, struct buffer *out, size_t limit); /* as exposition_next, to the end */
void page_scrape_end (void *scrape);

/* Prometheus' HTTP service discovery: a target for each node. */
void page_targets (struct page *page, const char *host, bool tls, struct buffer *out);

#endif
