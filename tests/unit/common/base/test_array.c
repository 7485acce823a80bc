/* Arrays that grow at their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "synop/array.h"

static void
test_add (void **state)
{
  uint32_t *items = NULL;
  size_t count = 0, room = 0, moves = 0;

  (void) state;
  for (uint32_t i = 0; i < 1000; i++) {
    size_t before = room;

    *array_add (items, count, room) = i;
    moves += room != before;
    assert_true (count <= room);
  }
  assert_int_equal (count, 1000);
  assert_true (moves < 10);
  for (uint32_t i = 0; i < 1000; i++)
    assert_int_equal (items[i], i);
  free (items);
}

static void
test_reserve (void **state)
{
  uint64_t *items = NULL;
  size_t room = 0;

  (void) state;
  array_reserve (items, room, room);
  assert_null (items);
  array_reserve (items, room, 100);
  assert_true (room >= 100);
  items[99] = 1;
  array_reserve (items, room, room);
  assert_int_equal (room, 100);
  array_reserve (items, room, 101);
  assert_true (room >= 200); /* doubled, so that items which are added one by one move seldom */
  assert_int_equal (items[99], 1);
  free (items);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_add),
    cmocka_unit_test (test_reserve),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
