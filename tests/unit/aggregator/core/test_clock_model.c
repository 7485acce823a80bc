/* The clock model against the truth, in a simulation with a fixed seed: hundreds of nodes, minutes of cluster time. Each
 * scenario asserts the error, the share of ticks in which the truth lies outside the bound, and the recovery. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/sim/clock_sim.h"

#define LAN                                                                                                            \
  {                                                                                                                    \
    .from = 50, .to = 500, .late_share = 0.05, .late_from = 1000, .late_to = 20000                                     \
  }
#define FAST                                                                                                           \
  {                                                                                                                    \
    .from = 20, .to = 60, .late_share = 0.02, .late_from = 100, .late_to = 5000                                        \
  }
#define CONGESTED                                                                                                      \
  {                                                                                                                    \
    .from = 50, .to = 500, .late_share = 0.05, .late_from = 10000, .late_to = 100000                                   \
  }
#define WAN                                                                                                            \
  {                                                                                                                    \
    .from = 40000, .to = 45000, .late_share = 0.02, .late_from = 5000, .late_to = 50000                                \
  }
#define USUAL .frequency_ppm = 200, .wander_ppb = 1, .nodes = 300, .seconds = 900

/* The limits: what the issue of the design asks for of the LAN (median 20 us, p99 100 us, outside 1 %); for the others
 * what was seen plus about a fifth. The reason of each stands beside it. */
static const struct sim_scenario scenarios[] = {
  { "LAN", LAN, LAN, USUAL, .median_us = 20, .p99_us = 100, .outside = 0.01 },
  { "LAN, an hour, probes at rest", LAN, LAN, .frequency_ppm = 200, .wander_ppb = 1, .nodes = 100, .seconds = 3600,
    .median_us = 22, .p99_us = 100, .outside = 0.01 },
  { "fast path", FAST, FAST, USUAL, .median_us = 4, .p99_us = 40, .outside = 0.01 },
  /* late packets only loosen limits: hardly worse than the LAN */
  { "congested LAN", CONGESTED, CONGESTED, USUAL, .median_us = 20, .p99_us = 110, .outside = 0.01 },
  /* the delays spread by 5 ms, eleven times the LAN's; the rest comes from the first minutes, in which a path of 80 ms
   * leaves the frequency open */
  { "WAN 40 ms", WAN, WAN, USUAL, .median_us = 500, .p99_us = 2900, .outside = 0.01 },
  /* half of what the ways differ by (1 ms) cannot be seen; the bound must hold it */
  { "asymmetric", { .from = 1050, .to = 1500 }, LAN, USUAL, .median_us = 520, .p99_us = 600, .outside = 0.01 },
  { "500 ppm", LAN, LAN, .frequency_ppm = 500, .wander_ppb = 1, .nodes = 300, .seconds = 900, .median_us = 20,
    .p99_us = 100, .outside = 0.01 },
  /* ten times the wander of ordinary quartz */
  { "wander", LAN, LAN, .frequency_ppm = 200, .wander_ppb = 10, .nodes = 300, .seconds = 900, .median_us = 35,
    .p99_us = 150, .outside = 0.01 },
  /* 1 ppm up and down within half an hour, at most 1.7 ppb a second: more than WANDER allows for */
  { "warms up", LAN, LAN, .frequency_ppm = 200, .wander_ppb = 1, .warm_ppm = 1, .warm_s = 1800, .nodes = 300,
    .seconds = 1800, .median_us = 40, .p99_us = 150, .outside = 0.01 },
  { "loss of a tenth",
    { 50, 500, 0.05, 1000, 20000, 0.1 },
    { 50, 500, 0.05, 1000, 20000, 0.1 },
    USUAL,
    .median_us = 20,
    .p99_us = 110,
    .outside = 0.01 },
  { "10 s step", LAN, LAN, USUAL, .step_at = 500, .step_s = 10, .median_us = 22, .p99_us = 130, .outside = 0.01,
    .recovery_probes = 5 },
  { "suspend of a minute", LAN, LAN, USUAL, .step_at = 500, .suspend_s = 60, .median_us = 22, .p99_us = 130,
    .outside = 0.01, .recovery_probes = 5 },
  /* NTP begins to slew: nothing can be known of it before the next probe, up to 53 s later; then the old limits are
   * found out and given up */
  { "frequency jumps by 100 ppm", LAN, LAN, USUAL, .step_at = 500, .frequency_step_ppm = 100, .median_us = 25,
    .p99_us = 1000, .outside = 0.03, .recovery_probes = 5 },
  { "aggregator restarts", LAN, LAN, USUAL, .step_at = 500, .aggregator_restarts = true, .median_us = 22, .p99_us = 150,
    .outside = 0.01, .recovery_probes = 5 },
};

static void
test_scenario (void **state)
{
  const struct sim_scenario *scenario = *state;
  struct sim_scenario few = *scenario;
  struct sim_result r;

#ifdef SANITIZED /* a third of the nodes: each is dear */
  few.nodes /= 3;
#endif
  r = sim_run (&few, 1);
  print_message (
      "# %s: median %.1f us, p99 %.1f us, p99 of the bound %.0f us, outside %.3f %%, %.3f probes/s, recovery %d\n",
      scenario->name, r.median_us, r.p99_us, r.bound_p99_us, r.outside * 100, r.probes_per_node_s, r.worst_recovery);
  assert_true (r.median_us <= scenario->median_us);
  assert_true (r.p99_us <= scenario->p99_us);
  assert_true (r.outside <= scenario->outside);
  if (scenario->recovery_probes > 0)
    assert_true (r.worst_recovery <= scenario->recovery_probes);
}

/* Two clocks that agree, a path of 100 us there and back: everything can be said beforehand. */
static void
test_exact (void **state)
{
  (void) state;
  struct clock_model model;
  clock_model_init (&model);
  assert_false (clock_model_usable (&model));
  for (int64_t i = 0; i < 200; i++) {
    int64_t at = i * INT64_C (1000000000);
    struct clock_probe probe = {
      .t1 = at - 5000000000, .t2 = at + 100000, .t3 = at + 110000, .t4 = at - 5000000000 + 210000
    };
    assert_int_equal (clock_model_add (&model, &probe), CLOCK_FITS);
  }
  int64_t node = 300 * INT64_C (1000000000), cluster = clock_model_cluster_ns (&model, node);
  assert_in_range (cluster - (node + 5000000000) + 20000, 0, 40000);
  assert_in_range (clock_model_node_ns (&model, cluster) - node + 2, 0, 4);
  assert_in_range (clock_model_bound_ns (&model, model.reference_ns), 90000, 120000);
  assert_true (clock_model_bound_ns (&model, node) > clock_model_bound_ns (&model, model.reference_ns));
}

static void
test_refuses_contradictions (void **state)
{
  (void) state;
  struct clock_model model;
  clock_model_init (&model);
  const struct clock_probe backwards = { .t1 = 1000, .t4 = 999, .t2 = 5, .t3 = 6 };
  const struct clock_probe answered_before = { .t1 = 1000, .t4 = 2000, .t2 = 7, .t3 = 6 };
  const struct clock_probe longer_there = { .t1 = 1000, .t4 = 2000, .t2 = 0, .t3 = 900000 };
  assert_int_equal (clock_model_add (&model, &backwards), CLOCK_REFUSED);
  assert_int_equal (clock_model_add (&model, &answered_before), CLOCK_REFUSED);
  assert_int_equal (clock_model_add (&model, &longer_there), CLOCK_REFUSED);
  assert_false (clock_model_usable (&model));
  const struct clock_probe good = { .t1 = 100000, .t4 = 300000, .t2 = 7000, .t3 = 8000 };
  const struct clock_probe older = { .t1 = 50000, .t4 = 60000, .t2 = 7000, .t3 = 8000 };
  assert_int_equal (clock_model_add (&model, &good), CLOCK_FITS);
  assert_int_equal (clock_model_add (&model, &older), CLOCK_REFUSED);
}

/* Times as an enemy would choose them: no overflow that a sanitizer sees, no endless loop. */
static void
test_extremes (void **state)
{
  (void) state;
  struct clock_model model;
  clock_model_init (&model);
  sim_state = 7;
  const int64_t values[] = { 0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX / 17, INT64_MIN / 17, 1000000000 };
  const size_t n = sizeof values / sizeof values[0];
  for (int i = 0; i < 20000; i++) {
    struct clock_probe p = { .t1 = values[(size_t) (sim_random () * (double) n)],
                             .t4 = values[(size_t) (sim_random () * (double) n)],
                             .t2 = values[(size_t) (sim_random () * (double) n)],
                             .t3 = values[(size_t) (sim_random () * (double) n)] };
    clock_model_add (&model, &p);
    if (clock_model_usable (&model))
      clock_model_bound_ns (&model, 12345);
  }
}

int
main (void)
{
  cmocka_set_message_output (CM_OUTPUT_TAP);
  enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0], OTHERS = 3 };
  struct CMUnitTest tests[SCENARIOS + OTHERS] = {
    cmocka_unit_test (test_exact),
    cmocka_unit_test (test_refuses_contradictions),
    cmocka_unit_test (test_extremes),
  };
  for (size_t i = 0; i < SCENARIOS; i++)
    tests[OTHERS + i] = (struct CMUnitTest){ .name = scenarios[i].name,
                                             .test_func = test_scenario,
                                             .initial_state = (void *) (uintptr_t) &scenarios[i] };
  return cmocka_run_group_tests (tests, NULL, NULL);
}
