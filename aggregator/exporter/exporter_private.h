/* What both sides of the exporter share. exporter.c and exporter_put.c: the main thread's; exporter_shown.c (tables),
 * exporter_scrape.c (a scrape's text), exporter_families.c (families that are made here): that of who writes. All of struct
 * exporter is under its lock. */
#ifndef SYNOP_AGGREGATOR_EXPORTER_PRIVATE_H
#define SYNOP_AGGREGATOR_EXPORTER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "aggregator/core/node.h"
#include "aggregator/exporter/exporter.h"
#include "aggregator/exporter/exporter_scrape.h"
#include "synop/buffer.h"
#include "synop/exposition.h"
#include "synop/series.h"

/* Copies of schemas, each held once: those of the core go with its last node. */
struct exporter_schema {
  struct exporter_schema *next;
  struct schema *schema;
  size_t users;
};

/* A table as it came, behind what makes a frame of it. */
struct exporter_table {
  struct buffer bytes;
  uint64_t sequence; /* 0: there is none */
  int64_t monotonic_ns, time_ns;
};

/* A group's newest table, and the one that its counters are compared with. */
struct exporter_group {
  struct exporter_table now, before;
  uint64_t version; /* grows with each */
};

struct exporter_state {
  char name[FRAME_NODE_MAX + 1];
  enum node_state state;
  bool clocked, drift_known;
  int64_t seen_ns; /* cluster time; 0: never */
  int64_t offset_ns, bound_ns;
  double drift;
  uint64_t received, lost, missing, rejected;
};

struct exporter_node {
  size_t users;
  struct exporter_state state;
  struct exporter_schema *schema; /* NULL: no frame has come */
  struct exporter_group *groups;  /* one for each of the schema's */
  int64_t time_ns;                /* of its newest frame */
  struct exporter_shown *shown;   /* its tables as who writes has read them; NULL: not yet */
};

#define EXPORTER_STATS 6 /* sum, mean, min, max, p50, p95 */
extern const char *const exporter_stats[EXPORTER_STATS];

/* A combined report, numbers in Prometheus' units. */
struct exporter_combined {
  size_t users;
  int64_t time_ns, spread_ns, bound_ns;
  size_t reporting, waited_for;
  struct exporter_combined_metric {
    char *group, *name;           /* synop_cluster_GROUP_METRIC_UNIT */
    double stats[EXPORTER_STATS]; /* NaN: it has none */
  } * metrics;
  size_t count, room;
};

struct exporter_counter {
  const char *name;
  bool total;
  uint64_t value;
};
#define EXPORTER_COUNTERS_MAX 128
struct exporter_counters {
  struct exporter_counter list[EXPORTER_COUNTERS_MAX];
  size_t count;
  int64_t uptime_ns;
};

/* A naming with who uses it. */
struct exporter_names {
  size_t users;
  struct naming *naming;
  bool timestamps;
};

struct exporter {
  pthread_mutex_t lock;
  struct exporter_node **nodes; /* in order of names */
  size_t node_count, node_room;
  struct exporter_schema *schemas;
  size_t schemas_size; /* as naming_schema_size */
  struct exporter_names *names;
  struct exporter_combined *combined; /* NULL: none yet */
  struct exporter_counters counters;
  int64_t epoch_ns;  /* cluster time minus CLOCK_MONOTONIC */
  int64_t wanted_ns; /* cluster time when a scrape with combined reports was last asked for; 0: never */
  atomic_bool crowded;
  struct exporter_counters filling;        /* the main thread's alone */
  uint64_t scrapers[EXPORTER_SCRAPES_MAX]; /* hosts, of scrapes of several nodes that are being written: */
  size_t scrapes;
};

/* With the lock held. */
void exporter_schema_leave (struct exporter *exporter, struct exporter_schema *schema); /* NULL is fine */
void exporter_node_leave (struct exporter *exporter, struct exporter_node *node);
void exporter_combined_leave (struct exporter_combined *combined); /* NULL is fine */
void exporter_names_leave (struct exporter_names *names);

void exporter_shown_leave (struct exporter *exporter, struct exporter_shown *shown); /* NULL is fine */

/* ---- of who writes ---- */

/* A node's tables, read. Shared by all scrapes that are being written: what they hold may change between two pieces. */
struct exporter_shown {
  size_t users;
  struct exporter_schema *schema;
  struct exporter_names *names;
  const struct naming_plan *plan;
  uint64_t *versions;            /* of each group's table; 0: it was not read */
  struct table *tables, *before; /* `before`: NULL: no name is that of a rate */
  int64_t *times;                /* cluster time of each, */
  int64_t time_ns;               /* and of the newest frame */
};

/* The node's tables as they are now. NULL: no frame has come. The caller leaves it. */
struct exporter_shown *exporter_show (struct exporter *exporter, struct exporter_node *node,
                                      struct exporter_names *names);
struct exporter_node *exporter_find (struct exporter *exporter,
                                     const char *name); /* with the lock held; NULL: there is none */

/* Families that are made here: where it stands in them. */
struct exporter_families {
  enum exposition_format format;
  const struct exporter_state *states;
  size_t state_count;
  const struct exporter_combined *combined;
  bool (*only) (const void *context, const char *group);
  const void *context;
  const struct exporter_counters *counters; /* NULL: without what is of the aggregator */
  unsigned part;
  size_t family, item;
};
/* As exposition_next. */
bool exporter_families_next (struct exporter_families *at, struct buffer *out, size_t limit);

#endif
