/* Ticks: instants of cluster time at which all nodes sample. The frames of one tick make one combined report.
 *
 * A frame is a tick's when one of its groups is due at the tick's instant (agents sample at multiples of a group's period
 * in cluster time) and when it was sampled there: to within the bound of its time and a tenth of the node's shortest
 * period or the tick's, whichever is shorter. As long as its time is only that of its receipt, half of that period will
 * do, whatever is in it. A node is in a tick once. All else lies between ticks and is in no combined report.
 *
 * A tick closes when every node that is waited for has reported, or after the grace. Waited for are nodes that reported
 * in one of the last ticks that they were due in: one that fell silent, or whose clock is far off, holds up nobody. Due
 * they are where a multiple of a group's period is: those of 700 ms at each 7th tick of 1 s.
 * What comes later is late: it goes to the stream, marked, and no combined report changes. Pure: no clock, no socket. */
#ifndef SYNOP_TICK_H
#define SYNOP_TICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/combine.h"

struct ticks;

/* What the ticks know of one node: embed it in the node. */
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
  TICK_BETWEEN,   /* at no tick's instant, or the tick has a frame of the node already */
  TICK_MISPLACED, /* ahead of now by more than a tick: its clock is not known well enough */
};

struct tick_line {   /* one combined report; valid during the call */
  int64_t time_ns;   /* cluster time of the tick */
  int64_t period_ns; /* of the ticks */
  size_t reporting;  /* nodes whose frames are in it */
  size_t waited_for; /* nodes that were waited for in vain */
  int64_t spread_ns; /* between the first and the last sample instant, as mapped */
  int64_t bound_ns;  /* the largest error bound among them; -1 when one has none */
  const struct combine *combine;
};

struct ticks_options {
  int64_t period_ns, grace_ns; /* 0 < grace <= period */
  void *context;
  void (*line) (void *context, const struct tick_line *line);
};

/* The tick that an instant of cluster time is nearest to. */
int64_t tick_nearest (int64_t time_ns, int64_t period_ns);

struct ticks *ticks_create (const struct ticks_options *options);
void ticks_destroy (struct ticks *ticks);

/* The node said that it is there: the next ticks wait for it. */
void tick_expect (struct ticks *ticks, struct tick_member *member, int64_t period_ns, int64_t now_ns);
/* A frame sampled at `time_ns` of cluster time, known to `bound_ns` (-1: unknown), while it is `now_ns`. */
enum tick_place tick_frame (struct ticks *ticks, struct tick_member *member, const char *node, int64_t time_ns,
                            int64_t bound_ns, int64_t period_ns, const struct schema *schema,
                            const struct report_group *groups, int64_t now_ns);
/* The node is gone: nobody waits for it any more. */
void tick_leave (struct ticks *ticks, struct tick_member *member);

/* Closes what is due. Call after each batch of frames and at `ticks_next_ns`. A tick in which nobody reported is told
 * too, but not the many that went by while the aggregator was away. */
void ticks_advance (struct ticks *ticks, int64_t now_ns);
int64_t
ticks_next_ns (const struct ticks *ticks); /* when to look again at the latest, in cluster time; INT64_MAX: rest */
/* Cluster time jumped: open ticks are closed as they are, and the next ones begin at the new time. */
void ticks_restart (struct ticks *ticks, int64_t now_ns);

#endif
