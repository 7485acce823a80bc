/* The list of missing frames, against a plain array of booleans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/missing.h"

#define SESSIONS 3
#define FRAMES 400

static uint64_t state_of_chance = 88172645463325252u;

static uint64_t
chance (uint64_t below)
{
  state_of_chance ^= state_of_chance << 13;
  state_of_chance ^= state_of_chance >> 7;
  state_of_chance ^= state_of_chance << 17;
  return state_of_chance % below;
}

static void
check (const struct missing *missing, bool model[SESSIONS][FRAMES])
{
  uint64_t frames = 0;

  for (uint64_t session = 0; session < SESSIONS; session++)
    for (uint64_t i = 1; i < FRAMES; i++) {
      frames += model[session][i];
      assert_int_equal (missing_has (missing, session + 1, i), model[session][i]);
    }
  assert_int_equal (missing->frames, frames);
  for (size_t i = 0; i < missing->count; i++) {
    assert_true (missing->ranges[i].from <= missing->ranges[i].to);
    for (size_t j = 0; j < i; j++)
      assert_true (missing->ranges[i].session != missing->ranges[j].session ||
                   missing->ranges[i].from > missing->ranges[j].to || missing->ranges[i].to < missing->ranges[j].from);
  }
}

static void
test_against_a_model (void **state)
{
  struct missing missing = { 0 };
  bool model[SESSIONS][FRAMES] = { { false } };

  (void) state;
  for (int step = 0; step < 3000; step++) {
    uint64_t session = chance (SESSIONS), from = 1 + chance (FRAMES - 1);
    uint64_t to = from + chance (step % 3 ? 4 : 80);
    bool add = chance (2);

    to = to < FRAMES ? to : FRAMES - 1;
    assert_true ((add ? missing_add : missing_remove) (&missing, session + 1, from, to));
    for (uint64_t i = from; i <= to; i++)
      model[session][i] = add;
    check (&missing, model);
  }
  missing_free (&missing);
}

static void
test_find (void **state)
{
  struct missing missing = { 0 };
  struct missing_range found;

  (void) state;
  assert_false (missing_find (&missing, 1, 1, UINT64_MAX, &found));
  assert_true (missing_add (&missing, 1, 10, 20));
  assert_true (missing_add (&missing, 1, 30, INT64_MAX));
  assert_true (missing_find (&missing, 1, 1, 15, &found));
  assert_true (found.from == 10 && found.to == 15);
  assert_true (missing_find (&missing, 1, 15, UINT64_MAX, &found));
  assert_true (found.from == 15 && found.to == 20);
  assert_false (missing_find (&missing, 1, 21, 29, &found));
  assert_false (missing_find (&missing, 2, 1, UINT64_MAX, &found));
  missing_free (&missing);
}

static void
test_bound (void **state)
{
  struct missing missing = { 0 };

  (void) state;
  assert_true (missing_add (&missing, 1, 1, 100000));
  for (uint64_t i = 1; i < MISSING_RANGES_MAX; i++)
    assert_true (missing_remove (&missing, 1, i * 10, i * 10));
  assert_int_equal (missing.count, MISSING_RANGES_MAX);
  assert_false (missing_remove (&missing, 1, 50000, 50000)); /* would be one more */
  assert_true (missing_has (&missing, 1, 50000));
  assert_false (missing_add (&missing, 2, 1, 1));
  assert_true (missing_remove (&missing, 1, 99990, 100000)); /* an end is taken off */
  assert_true (missing_remove (&missing, 1, 1, 9));
  assert_true (missing_add (&missing, 2, 1, 1));
  missing_free (&missing);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_against_a_model),
    cmocka_unit_test (test_find),
    cmocka_unit_test (test_bound),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
