/* What is wrong: alerts, by events. An alert begins by one and stands until another one ends it, or for a while. */
#ifndef SYNOP_AGGREGATOR_ALERTS_H
#define SYNOP_AGGREGATOR_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/event.h"
#include "synop/clock.h"
#include "synop/hash_table.h"
#include "synop/json.h"
#include "synop/viewer.h"

#define ALERTS_OF_NODE_MAX 64               /* then the oldest goes */
#define ALERT_ERRORS_LAST (3600 * NS_PER_S) /* so long errors that were counted stand, */
#define ALERT_MOMENTS_LAST (600 * NS_PER_S) /* and what happened once: lost frames, a clock that jumped */

struct alert {
  enum event_type type;
  char *what; /* the group, the metric; "": the type says it */
  char *text;
  uint64_t count;            /* of a fault: errors since `since_ns`, or parts that have it */
  int64_t since_ns, last_ns; /* the first and the last event of it */
  int64_t seen_ns;           /* the last frame that had the fault */
  uint64_t pending;          /* errors that no event has reported yet */
};

struct alert_node {
  char *name; /* "": of the aggregator itself */
  struct alert *list;
  size_t count, room;
  UT_hash_handle hh;
};

struct alerts {
  struct alert_node *nodes; /* those with alerts */
};

void alerts_free (struct alerts *alerts);

/* Events in the order of their time; most begin and end nothing. */
void alerts_take (struct alerts *alerts, const struct event *event);

/* What stands at that time; NULL: nothing of that kind. */
struct alert *alerts_find (const struct alerts *alerts, const char *node, enum event_type type, const char *what,
                           int64_t at_ns);
void alerts_forget (struct alerts *alerts, int64_t at_ns); /* those that are over by then */

/* A line for each that stands at that time and that the viewer sees, the gravest first. still (NULL: all) says whether that is so by what else is
 * known. */
typedef bool alert_still_fn (const void *context, const char *node, const struct alert *alert);
void alerts_write (const struct alerts *alerts, const struct viewer *viewer, int64_t at_ns, alert_still_fn *still,
                   const void *context, struct json *json);

#endif
