/* The processes that have registered: how many of a user and in all, how fast users may ask, who is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/traces/registry.h"
#include "synop/clock.h"

static struct registry registry;

static int
tear_down (void **state)
{
  (void) state;
  registry_free (&registry);
  registry = (struct registry){ 0 };
  return 0;
}

static struct registered *
add (pid_t pid, uid_t uid)
{
  return registry_add (&registry, &(struct peer){ .pid = pid, .uid = uid });
}

static void
test_bounds (void **state)
{
  pid_t pid = 1;

  (void) state;
  for (uid_t uid = 1; uid <= REGISTRY_MAX / REGISTRY_PER_USER; uid++) {
    for (int i = 0; i < REGISTRY_PER_USER; i++)
      assert_non_null (add (pid++, uid));
    assert_null (add (pid, uid));
  }
  assert_null (add (pid, 1000)); /* all have as many as there may be */
  assert_int_equal (registry.count, REGISTRY_MAX);
  assert_int_equal (registry_find (&registry, 7)->process.pid, 7);
  assert_null (registry_find (&registry, pid));
}

static void
test_devices (void **state)
{
  (void) state;
  add (1, 5)->process.device = 2;
  add (2, 5)->process.device = 2;
  add (3, 5)->process.device = 1;
  add (4, 6)->process.device = 2;
  assert_int_equal (registry_count_device (&registry, 5, 2), 2);
  assert_int_equal (registry_count_device (&registry, 7, 2), 0);
}

static void
test_rate (void **state)
{
  int64_t now_ns = 1000 * NS_PER_S;

  (void) state;
  for (int i = 0; i < REGISTRY_BURST; i++)
    assert_non_null (registry_may_ask (&registry, 5, now_ns));
  assert_null (registry_may_ask (&registry, 5, now_ns));
  assert_non_null (registry_may_ask (&registry, 6, now_ns)); /* others are not held back */
  now_ns += NS_PER_S;
  for (int i = 0; i < REGISTRY_RATE; i++)
    assert_non_null (registry_may_ask (&registry, 5, now_ns));
  assert_null (registry_may_ask (&registry, 5, now_ns));
  now_ns += 3600 * NS_PER_S; /* what is left does not add up */
  for (int i = 0; i < REGISTRY_BURST; i++)
    assert_non_null (registry_may_ask (&registry, 5, now_ns));
  assert_null (registry_may_ask (&registry, 5, now_ns));
}

/* The one that has not asked for longest makes room, and its socket is closed. */
static void
test_many_users (void **state)
{
  int ends[2];

  (void) state;
  assert_int_equal (pipe (ends), 0);
  for (uid_t uid = 0; uid < REGISTRY_USERS; uid++)
    assert_non_null (registry_may_ask (&registry, uid, 1 + (uid == 7 ? 0 : uid + 1)));
  registry_may_ask (&registry, 7, 1)->socket = ends[0];
  assert_non_null (registry_may_ask (&registry, 100000, 2000));
  assert_int_equal (registry.user_count, REGISTRY_USERS);
  assert_int_equal (close (ends[0]), -1);
  for (size_t i = 0; i < registry.user_count; i++)
    assert_int_not_equal (registry.users[i].uid, 7);
  registry_may_ask (&registry, 100000, 2000)->socket = ends[1];
  registry_free (&registry);
  assert_int_equal (close (ends[1]), -1);
  registry = (struct registry){ 0 };
}

static void
test_those_that_are_gone (void **state)
{
  struct process_files files;
  struct peer own;

  (void) state;
  assert_int_equal (process_files_open (&files, ""), 0);
  assert_true (peer_read (&files, getpid (), &own));
  assert_non_null (registry_add (&registry, &own));
  own.start++; /* another that had this id */
  assert_non_null (registry_add (&registry, &own));
  registry_prune (&registry, &files);
  assert_int_equal (registry.count, 1);
  assert_int_equal (registry.list[0]->peer.start, own.start - 1);
  process_files_close (&files);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown (test_bounds, tear_down),
    cmocka_unit_test_teardown (test_devices, tear_down),
    cmocka_unit_test_teardown (test_rate, tear_down),
    cmocka_unit_test_teardown (test_many_users, tear_down),
    cmocka_unit_test_teardown (test_those_that_are_gone, tear_down),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
