/* What both sides of a page share. page.c and page_put.c: the main thread's; page_shown.c (tables), page_scrape.c (a page's
 * text), page_families.c (families that are made here): that of who writes. All of struct page is under its lock. */
#ifndef SYNOP_AGGREGATOR_PAGE_PRIVATE_H
#define SYNOP_AGGREGATOR_PAGE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "aggregator/core/node.h"
#include "aggregator/page/page.h"
#include "aggregator/page/page_scrape.h"
#include "synop/buffer.h"
#include "synop/exposition.h"
#include "synop/series.h"

/* Copies of schemas, each held once: those of the core go with its last node. */
struct page_schema {
  struct page_schema *next;
  struct schema *schema;
  size_t users;
};

/* A table as it came, behind what makes a frame of it. */
struct page_table {
  struct buffer bytes;
  uint64_t sequence; /* 0: there is none */
  int64_t monotonic_ns, time_ns;
};

/* A group's newest table, and the one that its counters are compared with. */
struct page_group {
  struct page_table now, before;
  uint64_t version; /* grows with each */
};

struct page_state {
  char name[FRAME_NODE_MAX + 1];
  enum node_state state;
  bool clocked, drift_known;
  int64_t seen_ns; /* cluster time; 0: never */
  int64_t offset_ns, bound_ns;
  double drift;
  uint64_t received, lost, missing, rejected;
};

struct page_node {
  size_t users;
  struct page_state state;
  struct page_schema *schema; /* NULL: no frame has come */
  struct page_group *groups;  /* one for each of the schema's */
  int64_t time_ns;            /* of its newest frame */
  struct page_shown *shown;   /* its tables as who writes has read them; NULL: not yet */
};

#define PAGE_STATS 6 /* sum, mean, min, max, p50, p95 */
extern const char *const page_stats[PAGE_STATS];

/* A combined report, numbers in Prometheus' units. */
struct page_combined {
  size_t users;
  int64_t time_ns, spread_ns, bound_ns;
  size_t reporting, waited_for;
  struct page_combined_metric {
    char *group, *name;       /* synop_cluster_GROUP_METRIC_UNIT */
    double stats[PAGE_STATS]; /* NaN: it has none */
  } * metrics;
  size_t count, room;
};

struct page_counter {
  const char *name;
  bool total;
  uint64_t value;
};
#define PAGE_COUNTERS_MAX 128
struct page_counters {
  struct page_counter list[PAGE_COUNTERS_MAX];
  size_t count;
  int64_t uptime_ns;
};

/* A naming with who uses it. */
struct page_names {
  size_t users;
  struct naming *naming;
  bool timestamps;
};

struct page {
  pthread_mutex_t lock;
  struct page_node **nodes; /* in order of names */
  size_t node_count, node_room;
  struct page_schema *schemas;
  size_t schemas_size; /* as naming_schema_size */
  struct page_names *names;
  struct page_combined *combined; /* NULL: none yet */
  struct page_counters counters;
  int64_t epoch_ns;  /* cluster time minus CLOCK_MONOTONIC */
  int64_t wanted_ns; /* cluster time when a page with combined reports was last asked for; 0: never */
  atomic_bool crowded;
  struct page_counters filling;        /* the main thread's alone */
  uint64_t scrapers[PAGE_SCRAPES_MAX]; /* hosts, of pages of several nodes that are being written: */
  size_t scrapes;
};

/* With the lock held. */
void page_schema_leave (struct page *page, struct page_schema *schema); /* NULL is fine */
void page_node_leave (struct page *page, struct page_node *node);
void page_combined_leave (struct page_combined *combined); /* NULL is fine */
void page_names_leave (struct page_names *names);

void page_shown_leave (struct page *page, struct page_shown *shown); /* NULL is fine */

/* ---- of who writes ---- */

/* A node's tables, read. Shared by all pages that are being written: what they hold may change between two pieces. */
struct page_shown {
  size_t users;
  struct page_schema *schema;
  struct page_names *names;
  const struct naming_plan *plan;
  uint64_t *versions;            /* of each group's table; 0: it was not read */
  struct table *tables, *before; /* `before`: NULL: no name is that of a rate */
  int64_t *times;                /* cluster time of each, */
  int64_t time_ns;               /* and of the newest frame */
};

/* The node's tables as they are now. NULL: no frame has come. The caller leaves it. */
struct page_shown *page_show (struct page *page, struct page_node *node, struct page_names *names);
struct page_node *page_find (struct page *page, const char *name); /* with the lock held; NULL: there is none */

/* Families that are made here: where it stands in them. */
struct page_families {
  enum exposition_format format;
  const struct page_state *states;
  size_t state_count;
  const struct page_combined *combined;
  bool (*only) (const void *context, const char *group);
  const void *context;
  const struct page_counters *counters; /* NULL: without what is of the aggregator */
  unsigned part;
  size_t family, item;
};
/* As exposition_next. */
bool page_families_next (struct page_families *at, struct buffer *out, size_t limit);

#endif
