/* A scrape: values as text, written in pieces, in whichever thread asks: one at a time. */
#ifndef SYNOP_AGGREGATOR_EXPORTER_SCRAPE_H
#define SYNOP_AGGREGATOR_EXPORTER_SCRAPE_H

#include "aggregator/core/node.h"
#include "aggregator/exporter/exporter.h"
#include "synop/buffer.h"
#include "synop/exposition.h"

#define EXPORTER_SCRAPES_MAX 8 /* of several nodes, at once; of one host half */

struct exporter_ask {
  enum exposition_format format;
  const char *node;           /* this one, and its series have no label for it; NULL: those that `nodes` has */
  const char *nodes, *groups; /* globs; NULL or "": all */
  uint64_t host;              /* who asks */
  int64_t now_ns;             /* CLOCK_MONOTONIC */
  bool all;                   /* what is of users too: their jobs, processes, runtimes */
  bool values;                /* of the nodes */
  bool own;                   /* what is made here: of the aggregator, the nodes' states, combined reports */
};

enum exporter_found {
  EXPORTER_FOUND,
  EXPORTER_NO_NODE,
  EXPORTER_SILENT,
  EXPORTER_TOO_MANY
}; /* silent: the node is down, or was never heard */

struct exporter_scrape;
enum exporter_found exporter_scrape_begin (struct exporter *exporter, const struct exporter_ask *ask,
                                           struct exporter_scrape **scrape);
bool exporter_scrape_next (void *scrape, struct buffer *out, size_t limit); /* as exposition_next, to the end */
void exporter_scrape_end (void *scrape);

/* Prometheus' HTTP service discovery: a target for each node. */
void exporter_targets (struct exporter *exporter, const char *host, bool tls, struct buffer *out);

#endif
