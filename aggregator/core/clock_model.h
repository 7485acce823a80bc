/* Where a node's CLOCK_MONOTONIC lies in cluster time, which is the aggregator's CLOCK_MONOTONIC.
 *
 * Every probe gives two limits that hold whatever the network does, since no message arrives before it was sent. With
 * offset (m) = cluster time - node time at the node's time m:
 *
 *     offset (t1) <= t2 - t1        the probe, sent at t1 (node), arrived at t2 (cluster)
 *     offset (t4) >= t3 - t4        its answer, sent at t3 (cluster), arrived at t4 (node)
 *
 * The model is the set of all lines (offset and frequency now) that keep every limit of the last minutes, where a limit
 * of age a is loosened by what the frequency may have changed since: WANDER / 2 * a^2. The estimate is the middle of that
 * set and the bound its half width, so the truth lies within the bound as long as no clock wanders faster than WANDER. A
 * packet that queued only gives a limit that is loose, so outliers need no filter: it is the minimum-delay rule of NTP's
 * clock filter (RFC 5905, 10), held for both directions on their own and for a drifting clock, as the skew estimates from
 * convex hulls do (Moon, Skelly, Towsley, INFOCOM 1999; Zhang, Liu, Xia, INFOCOM 2002). What it cannot see is an
 * asymmetry of the path: half of it is an error of the estimate; the bound holds it.
 *
 * Limits that no line can keep mean that a clock stepped, slept or changed its frequency: the oldest are given up until
 * a line fits. Pure: no clock is read, nothing is allocated. All times are int64_t ns. */
#ifndef SYNOP_CLOCK_MODEL_H
#define SYNOP_CLOCK_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_MODEL_PROBES 64

struct clock_probe {
  int64_t t1, t4; /* node */
  int64_t t2, t3; /* cluster */
};

struct clock_model {
  struct clock_probe probes[CLOCK_MODEL_PROBES]; /* a ring, oldest at `first` */
  size_t first, count;
  int64_t reference_ns; /* node time of the estimate */
  int64_t offset_ns;    /* cluster - node at the reference */
  double frequency;     /* change of the offset per second, in s/s; 1e-6 is 1 ppm */
  double frequency_low, frequency_high;
  double half_width_ns; /* of the offset at the reference */
  bool frequency_known; /* the interval comes from probes, not from what oscillators may do */
};

enum clock_verdict {
  CLOCK_REFUSED,   /* the four times contradict each other: not added */
  CLOCK_FITS,      /* added */
  CLOCK_FREQUENCY, /* added; the frequency had changed: older probes were dropped */
  CLOCK_STEPPED,   /* added; the offset had jumped: older probes were dropped */
};

void clock_model_init (struct clock_model *model);
enum clock_verdict clock_model_add (struct clock_model *model, const struct clock_probe *probe);
static inline bool
clock_model_usable (const struct clock_model *model)
{
  return model->count > 0;
}
/* Node time to cluster time and back; the model must be usable. */
int64_t clock_model_cluster_ns (const struct clock_model *model, int64_t node_ns);
int64_t clock_model_node_ns (const struct clock_model *model, int64_t cluster_ns);
/* The error bound of the mapped time of `node_ns`. */
int64_t clock_model_bound_ns (const struct clock_model *model, int64_t node_ns);

#endif
