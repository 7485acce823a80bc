/* A cluster's clocks on a virtual clock: nodes whose oscillators drift and wander, steps, and a network between them and
 * the aggregator, all from a fixed seed. It knows the truth, so it can say how wrong the model is and whether the truth
 * lies within the bound that the model gives. */
#ifndef SYNOP_CLOCK_SIM_H
#define SYNOP_CLOCK_SIM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/uplink/probe_schedule.h"
#include "aggregator/core/clock_model.h"

/* One way of the network, in us: a uniform delay, and a share of packets that are late by a uniform amount on top. */
struct sim_path {
  double from, to;
  double late_share, late_from, late_to;
  double loss; /* share of packets that never arrive */
};

struct sim_scenario {
  const char *name;
  struct sim_path there, back;
  double frequency_ppm; /* each node's, uniform within plus and minus */
  double wander_ppb;    /* random walk of the frequency: deviation after one second */
  double warm_ppm;      /* a warm-up: the frequency changes by this much, sine-shaped, over warm_s */
  double warm_s;
  double step_s, step_at;            /* the node's clock jumps by step_s at second step_at (0: never) */
  double suspend_s;                  /* it stands still for so long, beginning at step_at */
  double frequency_step_ppm;         /* and its frequency changes, at step_at */
  bool aggregator_restarts;          /* at step_at: the model begins anew */
  int nodes, seconds, settle;        /* errors count from second `settle` on */
  double median_us, p99_us, outside; /* what must hold */
  double recovery_probes;            /* after the step: until the error is back under p99_us; 0: not asked */
};

struct sim_result {
  double median_us, p99_us, outside, bound_p99_us;
  double probes_per_node_s;
  int worst_recovery;
};

static uint64_t sim_state;

static inline double
sim_random (void) /* xorshift64*: uniform in 0 to 1 */
{
  sim_state ^= sim_state >> 12;
  sim_state ^= sim_state << 25;
  sim_state ^= sim_state >> 27;
  return (double) ((sim_state * UINT64_C (2685821657736338717)) >> 11) * 0x1p-53;
}

static inline double
sim_normal (void)
{
  return sqrt (-2 * log (1 - sim_random ())) * cos (6.283185307179586 * sim_random ());
}

/* The delay of one packet in ns; negative: lost. */
static inline double
sim_delay (const struct sim_path *path)
{
  if (sim_random () < path->loss)
    return -1;
  double us = path->from + (path->to - path->from) * sim_random ();
  if (sim_random () < path->late_share)
    us += path->late_from + (path->late_to - path->late_from) * sim_random ();
  return us * 1000;
}

/* A node's clock is kept as its reading at whole milliseconds of true time, walked forward as time goes on. */
struct sim_node {
  double frequency; /* s/s: the reading runs this much faster than the truth */
  double away_ns;   /* reading minus truth, without the start below */
  int64_t start_ns; /* what it read at the start */
  double walked_to; /* s of true time */
  bool stepped;
  struct clock_model model;
  unsigned sent;
  double first_probe, next_probe; /* s */
  int probes_since_step;
  int recovered_after;
};

static inline void
sim_walk (struct sim_node *node, const struct sim_scenario *s, double to)
{
  while (node->walked_to < to) {
    double dt = to - node->walked_to < 0.25 ? to - node->walked_to : 0.25;
    double warm = 0;
    if (s->warm_ppm > 0)
      warm = s->warm_ppm * 1e-6 * (1 - cos (6.283185307179586 * node->walked_to / s->warm_s)) / 2;
    node->away_ns += (node->frequency + warm) * dt * 1e9;
    node->frequency += s->wander_ppb * 1e-9 * sqrt (dt) * sim_normal ();
    node->walked_to += dt;
    if (s->step_at > 0 && !node->stepped && node->walked_to >= s->step_at) {
      node->stepped = true;
      node->away_ns += (s->step_s - s->suspend_s) * 1e9;
      node->walked_to += s->suspend_s;
      node->next_probe += s->suspend_s;
      node->frequency += s->frequency_step_ppm * 1e-6;
      node->recovered_after = -1;
      node->probes_since_step = 0;
      if (s->aggregator_restarts) {
        clock_model_init (&node->model);
        node->sent = 0;
        node->first_probe = node->next_probe = node->walked_to + 0.5;
      }
    }
  }
}

/* The reading at a true time at or a little after the one walked to. */
static inline int64_t
sim_reading (const struct sim_node *node, double at_s)
{
  double ahead = (at_s - node->walked_to) * 1e9;
  return node->start_ns + (int64_t) llround (at_s * 1e9) + (int64_t) llround (node->away_ns + node->frequency * ahead);
}

/* One exchange; when its answer came, or less than 0 when none did. */
static inline double
sim_exchange (struct sim_node *node, const struct sim_scenario *s, double at)
{
  double there = sim_delay (&s->there), back = sim_delay (&s->back);
  if (there < 0 || back < 0)
    return -1;
  double held = 20e3 + 30e3 * sim_random (); /* the aggregator's time between receipt and answer, ns */
  double t2 = at + there * 1e-9, t3 = t2 + held * 1e-9, t4 = t3 + back * 1e-9;
  struct clock_probe probe = { .t1 = sim_reading (node, at) };
  probe.t2 = (int64_t) llround (t2 * 1e9);
  probe.t3 = (int64_t) llround (t3 * 1e9);
  probe.t4 = sim_reading (node, t4);
  enum clock_verdict verdict = clock_model_add (&node->model, &probe);
  if (verdict == CLOCK_STEPPED || verdict == CLOCK_FREQUENCY) { /* the aggregator asks for a new burst */
    node->sent = PROBE_BURST / 2;
    node->first_probe = at;
  }
  return t4;
}

static inline void
sim_probe (struct sim_node *node, const struct sim_scenario *s)
{
  double at = node->next_probe, next = at;
  bool answered = false;
  sim_walk (node, s, at);
  if (node->sent == 0)
    node->first_probe = at;
  node->sent++;
  for (int i = 0; i < PROBE_EXCHANGES && next >= 0; i++) {
    next = sim_exchange (node, s, next);
    answered |= next >= 0;
  }
  node->probes_since_step += answered;
  node->next_probe =
      at + (double) probe_pause_ns (node->sent, (int64_t) ((at - node->first_probe) * 1e9), sim_random ()) * 1e-9;
}

static inline int
sim_compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}

static inline struct sim_result
sim_run (const struct sim_scenario *s, uint64_t seed)
{
  sim_state = seed * UINT64_C (0x9e3779b97f4a7c15) + 1;
  size_t most = (size_t) s->nodes * (size_t) s->seconds, count = 0, outside = 0;
  double *errors = malloc (most * sizeof *errors), *bounds = malloc (most * sizeof *bounds);
  struct sim_result result = { 0 };
  long probes = 0;
  for (int n = 0; n < s->nodes; n++) {
    struct sim_node node = { .frequency = s->frequency_ppm * 1e-6 * (2 * sim_random () - 1) };
    node.start_ns = (int64_t) (sim_random () * 1e15);
    clock_model_init (&node.model);
    node.next_probe = sim_random ();
    for (int second = 2; second < s->seconds; second++) {
      while (node.next_probe < second) {
        sim_probe (&node, s);
        probes += second > s->seconds / 2;
      }
      sim_walk (&node, s, second);
      if (node.walked_to > second) /* asleep */
        continue;
      if (!clock_model_usable (&node.model))
        continue;
      int64_t now = sim_reading (&node, second);
      double error = fabs ((double) (clock_model_cluster_ns (&node.model, now) - second * INT64_C (1000000000)));
      double bound = (double) clock_model_bound_ns (&node.model, now);
      if (node.stepped && node.recovered_after < 0) {
        if (error < s->p99_us * 1000 * 5)
          node.recovered_after = node.probes_since_step;
        continue;
      }
      if (second < s->settle)
        continue;
      errors[count] = error / 1000;
      bounds[count++] = bound / 1000;
      outside += error > bound;
    }
    if (node.stepped && (node.recovered_after < 0 || node.recovered_after > result.worst_recovery))
      result.worst_recovery = node.recovered_after < 0 ? 1000 : node.recovered_after;
  }
  qsort (errors, count, sizeof *errors, sim_compare);
  qsort (bounds, count, sizeof *bounds, sim_compare);
  result.median_us = errors[count / 2];
  result.p99_us = errors[count * 99 / 100];
  result.bound_p99_us = bounds[count * 99 / 100];
  result.outside = (double) outside / (double) count;
  result.probes_per_node_s = (double) probes / (double) s->nodes / (s->seconds / 2.0);
  free (errors);
  free (bounds);
  return result;
}

#endif
