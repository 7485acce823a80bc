/* Ticks: instants of cluster time at which all nodes sample. The frames of one tick make one combined report.
 *
 * A frame belongs to a tick when one of its groups is due at the tick's instant (agents sample at multiples of a
 * group's period in cluster time) and when it was sampled then: to within the bound of its time and a tenth of the
 * node's shortest period or the tick's, whichever is shorter. While its time is only that of its receipt, half of that
 * period is enough, whatever groups it has. A node is in a tick once. All other frames are between ticks and in no
 * combined report.
 *
 * A tick closes when every node that it waits for has reported, or after the grace. It waits for nodes that are due
 * (a multiple of one of their groups' periods is at its instant: a period of 700 ms is at each 7th tick of 1 s) and
 * that reported in one of the last ticks in which they were due: a node that fell silent, or whose clock is far off,
 * delays nothing. Frames that come later are late: the stream has them, marked, and no combined report changes.
 * Pure: no clock, no socket. */
#ifndef SYNOP_TICK_H
#define SYNOP_TICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/combine.h"

struct ticks;

/* The ticks' state of one node: embed it in the node. */
struct tick_member {
  bool joined;       /* expected, or seen; undone by tick_leave */
  size_t slot;       /* in the ticks' list */
  int64_t last;      /* index of the newest tick that it reported in, in time or late */
  int64_t expected;  /* index of the tick in which tick_expect was called */
  int64_t period_ns; /* of its frames: the shortest of its groups' */
  int64_t stride;    /* it is due in each tick whose index is a multiple of this */
  uint32_t waited;   /* a bit for each open tick that waits for it */
  uint32_t reported; /* a bit for each open tick that has its frame */
};

enum tick_place {
  TICK_IN,        /* part of a tick that is open */
  TICK_LATE,      /* its tick was combined already */
  TICK_BETWEEN,   /* at no tick's instant, or the node is in the tick already */
  TICK_MISPLACED, /* in the future by more than a tick: its clock is not known well enough */
};

struct tick_line {   /* one combined report; valid during the call */
  int64_t time_ns;   /* cluster time of the tick */
  int64_t period_ns; /* of the ticks */
  size_t reporting;  /* nodes whose frames are in it */
  size_t waited_for; /* nodes that were waited for, and did not report */
  int64_t spread_ns; /* between the first and the last sample instant, as mapped */
  int64_t bound_ns;  /* the largest error bound among them; -1 when one has none */
  const struct combine *combine;
};

struct ticks_options {
  int64_t period_ns, grace_ns; /* 0 < grace <= period */
  void *context;
  void (*line) (void *context, const struct tick_line *line);
  int64_t
      after_ns; /* ticks that have frames from before this are not combined: a run before may have taken these. 0: none */
};

/* The tick nearest to an instant of cluster time. */
int64_t tick_nearest (int64_t time_ns, int64_t period_ns);

struct ticks *ticks_create (const struct ticks_options *options);
void ticks_destroy (struct ticks *ticks);

/* The node sent a hello: the next ticks wait for it. */
void tick_expect (struct ticks *ticks, struct tick_member *member, int64_t period_ns, int64_t now_ns);
/* Adds a frame sampled at `time_ns` of cluster time, with error bound `bound_ns` (-1: unknown). */
enum tick_place tick_frame (struct ticks *ticks, struct tick_member *member, const char *node, int64_t time_ns,
                            int64_t bound_ns, int64_t period_ns, const struct schema *schema,
                            const struct report_group *groups, int64_t now_ns);
/* The node is gone: no tick waits for it. */
void tick_leave (struct ticks *ticks, struct tick_member *member);

/* Closes the ticks that are due. To be called after each batch of frames and at `ticks_next_ns`. A tick without
 * frames is reported too, but for those that passed while the aggregator was stopped. */
void ticks_advance (struct ticks *ticks, int64_t now_ns);
int64_t ticks_next_ns (const struct ticks *ticks); /* when ticks_advance is due, in cluster time; INT64_MAX: never */
/* Cluster time jumped: closes the open ticks as they are; the next ones begin at the new time. */
void ticks_restart (struct ticks *ticks, int64_t now_ns);

#endif
