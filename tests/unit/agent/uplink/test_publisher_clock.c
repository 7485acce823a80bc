/* The publisher's probes, what it makes of their answers, and the instants at which it samples once it knows cluster
 * time. */
#include "agent/uplink/probe_schedule.h"
#include "tests/unit/agent/uplink/publisher_stage.h"

/* A burst, then ever more seldom, never more than one a second, and at last at rest; the second exchange of each comes
 * with the answer to the first; each message tells the four times of the exchange before. */
static void
test_probes (void **state)
{
  int64_t last = 0;

  (void) state;
  is_welcomed (true);
  for (size_t i = 0; i < 250; i++) {
    const struct control *probe = &sent[sent_count - 1];
    int64_t pause = now_ns - last;

    assert_int_equal (probe->type, CONTROL_PROBE);
    assert_int_equal (probe->t1, now_ns);
    assert_int_equal (probe->has_last, i > 0);
    if (i > 0) {
      assert_int_equal (probe->last[0], last);
      assert_int_equal (probe->last[1], last + 7);
      assert_int_equal (probe->last[2], last + 8);
      assert_int_equal (probe->last[3], last + S / 100);
      if (i % PROBE_EXCHANGES != 0)
        assert_int_equal (pause, S / 100);
      else if (i < PROBE_BURST * PROBE_EXCHANGES)
        assert_int_equal (pause, PROBE_BURST_NS);
      else
        assert_in_range (pause, i > 180 ? PROBE_REST_NS / 2 : S, PROBE_REST_NS * 3 / 2);
    }
    last = now_ns;
    run_until (now_ns + S / 100);
    hears ((struct control){
        .type = CONTROL_PROBE_ANSWER, .session = SESSION, .known = true, .t1 = last, .t2 = last + 7, .t3 = last + 8 });
    for (size_t before = count_sent (CONTROL_PROBE); count_sent (CONTROL_PROBE) == before;)
      run_until (timers[1].due_ns);
  }
  assert_int_equal (reconnects, 0); /* no pause is so long that it counts as silence */
}

/* An aggregator that welcomes and never knows, as when another agent has the same key: hellos become seldom. Then it
 * knows the session, and forgets it: the next hello comes soon. */
static void
test_never_known (void **state)
{
  size_t heard = 0, hellos;

  (void) state;
  happens (LINK_UP);
  for (bool known = false;; known = true) {
    for (int64_t stop = now_ns + 150 * S; now_ns < stop; run_until (now_ns + S / 100))
      for (; heard < sent_count; heard++) {
        if (sent[heard].type == CONTROL_HELLO)
          hears_welcome (true);
        else
          hears_answer_to (sent[heard].t1, SESSION, known);
      }
    if (known)
      break;
    /* The first, one at once, and after 1, 2, 4, 8, 16, 30, 30, 30 s and more. */
    assert_in_range (count_sent (CONTROL_HELLO), 7, 10);
    assert_in_range (sent_count, 50, 200);
  }

  while (sent_count == heard)
    run_until (now_ns + S / 100);
  hellos = count_sent (CONTROL_HELLO);
  hears_answer (SESSION, false);
  assert_int_equal (count_sent (CONTROL_HELLO), hellos + 1);
}

/* At once, and not at all for answers that nobody waits for. */
static void
test_flood_of_answers (void **state)
{
  (void) state;
  is_welcomed (true);
  for (; now_ns < START + 30 * S; run_until (now_ns + S / 100))
    for (int i = 0; i < 10; i++)
      hears_answer_to (now_ns + i + 1, SESSION, false);
  assert_int_equal (count_sent (CONTROL_HELLO), 1);
  hears_answer (SESSION, false);
  assert_int_equal (count_sent (CONTROL_HELLO), 2);
}

static void
test_flood_of_welcomes (void **state)
{
  (void) state;
  happens (LINK_UP);
  for (; now_ns < START + 10 * S; run_until (now_ns + S / 100))
    hears_welcome (false);
  assert_in_range (count_sent (CONTROL_PROBE), 10, 10 * PROBE_BURST);
  assert_in_range (count_sent (CONTROL_SCHEMA), 10, 40);
  assert_int_equal (count_sent (CONTROL_HELLO), 1);
  assert_in_range (frame_count, 9, 10);
  happens (LINK_DOWN); /* the next one may be another aggregator */
  is_welcomed (true);
  assert_int_equal (sent[sent_count - 1].type, CONTROL_PROBE);
}

/* An answer that is not of the probe under way tells nothing. */
static void
test_stray_answers_tell_nothing (void **state)
{
  (void) state;
  is_welcomed (true);
  hears_answer_to (START - 1, SESSION, true);
  run_until (START + S / 4);
  assert_int_equal (count_sent (CONTROL_PROBE), 2);
  assert_false (sent[sent_count - 1].has_last);
}

static void
hears_clock (int64_t node_ns, int64_t cluster_ns, double drift, bool soon)
{
  hears ((struct control){ .type = CONTROL_PROBE_ANSWER,
                           .session = SESSION,
                           .known = true,
                           .t1 = sent[sent_count - 1].t1,
                           .has_clock = true,
                           .clock = { node_ns, cluster_ns, 1000, drift, soon } });
}

/* From its own clock to the cluster's: no two samples that almost touch, and none left out. */
static void
test_own_clock_then_the_clusters (void **state)
{
  (void) state;
  run_until (START + 10 * S + S / 4);
  is_welcomed (true);
  hears_clock (START, INT64_C (1800000000) * S + S / 3, 0, false);
  run_until (START + 20 * S);
  assert_int_equal (frame_count, 9 + 10);
  for (size_t i = 1; i < frame_count; i++) {
    assert_in_range (frame_times[i] - frame_times[i - 1], S / 2, 3 * S / 2);
    if (i > 9)
      assert_in_range ((frame_times[i] - START + S / 3 + 10) % S, 0, 20);
  }
}

/* Once cluster time is known it is its multiples at which is sampled, whatever drift it has. */
static void
test_samples_on_cluster_time (void **state)
{
  const double drift = 300e-6;

  (void) state;
  is_welcomed (true);
  run_until (START + 3 * S + S / 4);
  size_t before = frame_count;

  hears_clock (START, INT64_C (1800000000) * S + S / 3, drift, false);
  run_until (START + 20 * S);
  assert_true (frame_count >= before + 16);
  for (size_t i = before; i < frame_count; i++) {
    int64_t since = frame_times[i] - START;
    int64_t there = S / 3 + since + (int64_t) ((double) since * drift);

    assert_in_range ((there + 10) % S, 0, 20);
    assert_true (i == 0 || frame_times[i] > frame_times[i - 1]);
  }
}

/* A mapping that moves by microseconds makes no instant go by. */
static void
test_better_mapping_skips_nothing (void **state)
{
  (void) state;
  is_welcomed (true);
  for (int i = 1; i < 60; i++) {
    hears_clock (START, INT64_C (1800000000) * S + (i % 2 ? 40000 : -40000), 0, false);
    run_until (START + i * S / 2 - 1000);
  }
  assert_in_range (frame_count, 28, 30);
}

static void
test_probes_soon_when_asked (void **state)
{
  (void) state;
  is_welcomed (true);
  run_until (START + 300 * S);
  size_t before = count_sent (CONTROL_PROBE);

  hears_clock (START, START, 0, true);
  run_until (now_ns + S);
  assert_int_equal (count_sent (CONTROL_PROBE), before + PROBE_EXCHANGES - 1 + PROBE_BURST / 2);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_own_clock_then_the_clusters, begin, end),
    cmocka_unit_test_setup_teardown (test_probes, begin, end),
    cmocka_unit_test_setup_teardown (test_never_known, begin, end),
    cmocka_unit_test_setup_teardown (test_flood_of_answers, begin, end),
    cmocka_unit_test_setup_teardown (test_flood_of_welcomes, begin, end),
    cmocka_unit_test_setup_teardown (test_stray_answers_tell_nothing, begin, end),
    cmocka_unit_test_setup_teardown (test_samples_on_cluster_time, begin, end),
    cmocka_unit_test_setup_teardown (test_better_mapping_skips_nothing, begin, end),
    cmocka_unit_test_setup_teardown (test_probes_soon_when_asked, begin, end),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, make_keys, remove_keys);
}
