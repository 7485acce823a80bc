/* Events about keys that are not listed: one a minute of each, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/server/refused_keys.h"
#include "synop/clock.h"

#define S NS_PER_S
#define NAME "0123456789012345678901234567890123456789"

struct seen {
  unsigned events;
  uint64_t count; /* of all of them */
  char last[200];
};

static void
take (void *context, const struct event *event)
{
  struct seen *seen = context;

  assert_int_equal (event->type, EVENT_KEY_REFUSED);
  seen->events++;
  seen->count += event->count;
  snprintf (seen->last, sizeof seen->last, "%s (%u)", event->text, (unsigned) event->count);
}

static struct seen
tick (struct refused_keys *refused, int64_t now_ns)
{
  struct seen seen = { 0 };

  refused_keys_tick (refused, (struct instant){ 1000 * S + now_ns, now_ns }, take, &seen);
  return seen;
}

/* A node that tries again each second, for as long as two minutes. */
static void
test_one_a_minute (void **state)
{
  struct refused_keys refused = { 0 };
  struct seen seen = { 0 };
  unsigned events = 0;

  (void) state;
  for (int second = 0; second <= 120; second++) {
    refused_keys_add (&refused, NAME, "10.0.0.7", 2);
    seen = tick (&refused, second * S);
    events += seen.events;
    if (second == 0)
      assert_string_equal (seen.last, "key " NAME " is not listed, from 10.0.0.7 (2)");
  }
  assert_int_equal (events, 3);
  assert_string_equal (seen.last, "key " NAME " is not listed, from 10.0.0.7 (120)");
  assert_int_equal (tick (&refused, 180 * S).events, 0);
  assert_int_equal (refused.used, 0);
  refused_keys_add (&refused, NAME, "10.0.0.7", 1);
  assert_int_equal (tick (&refused, 181 * S).events, 1);
}

/* One key holds back no event of another. */
static void
test_each_key (void **state)
{
  struct refused_keys refused = { 0 };

  (void) state;
  refused_keys_add (&refused, "one", "10.0.0.1", 1);
  assert_int_equal (tick (&refused, 0).events, 1);
  refused_keys_add (&refused, "one", "10.0.0.1", 1);
  refused_keys_add (&refused, "other", "10.0.0.2", 5);
  assert_string_equal (tick (&refused, S).last, "key other is not listed, from 10.0.0.2 (5)");
  assert_string_equal (tick (&refused, 61 * S).last, "key one is not listed, from 10.0.0.1 (1)");
}

/* A new key with each connection, 1,000 a second. */
static void
test_ever_new_keys (void **state)
{
  struct refused_keys refused = { 0 };
  char key[KEY_TEXT_SIZE];
  unsigned events = 0;
  uint64_t count = 0;

  (void) state;
  for (int i = 0; i < 60000; i++) {
    struct seen seen;

    snprintf (key, sizeof key, "%d", i);
    refused_keys_add (&refused, key, "10.0.0.3", 1);
    if (i % 250 != 249)
      continue;
    seen = tick (&refused, i * NS_PER_MS);
    events += seen.events;
    count += seen.count;
  }
  assert_in_range (events, REFUSED_KEYS_MAX + 1, 2 * (REFUSED_KEYS_MAX + 1));
  count += tick (&refused, 120 * S).count;
  assert_int_equal (count, 60000);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_one_a_minute),
    cmocka_unit_test (test_each_key),
    cmocka_unit_test (test_ever_new_keys),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
