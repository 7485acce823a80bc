/* Calls that hang cost those who ask one wait, and leave nothing behind when they end. */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "synop/clock.h"
#include "synop/patience.h"

struct scene {
  struct patience patience;
  sem_t begun, end, dropped; /* of calls that hang */
  int calls, drops;
};

struct question {
  struct scene *scene;
  int number;
};

static void *
question_make (struct scene *scene, int number)
{
  struct question *question = malloc (sizeof *question);

  *question = (struct question){ scene, number };
  return question;
}

static void
answer (void *context)
{
  struct question *question = context;

  question->scene->calls++;
  question->number *= 2;
}

static void
hang (void *context)
{
  struct question *question = context;

  sem_post (&question->scene->begun);
  sem_wait (&question->scene->end);
}

static void
drop (void *context)
{
  struct question *question = context;
  struct scene *scene = question->scene;

  scene->drops++;
  free (question);
  sem_post (&scene->dropped);
}

static void
begin (struct scene *scene)
{
  *scene = (struct scene){ 0 };
  patience_init (&scene->patience);
  sem_init (&scene->begun, 0, 0);
  sem_init (&scene->end, 0, 0);
  sem_init (&scene->dropped, 0, 0);
}

static void
test_answers (void **state)
{
  struct scene scene;

  (void) state;
  begin (&scene);
  scene.patience.wait_ns = 60 * NS_PER_S;
  for (int i = 0; i < 100; i++) {
    struct question *question = question_make (&scene, i);
    assert_int_equal (patience_ask (&scene.patience, question, answer, drop), 0);
    assert_int_equal (question->number, 2 * i);
    free (question);
  }
  assert_int_equal (scene.calls, 100);
  assert_int_equal (scene.drops, 0);
  assert_true (patience_free (&scene.patience));
}

/* While one hangs nobody is called, nor in the pause behind it; its question goes when it ends. */
static void
test_hangs (void **state)
{
  struct scene scene;
  struct question *question;

  (void) state;
  begin (&scene);
  scene.patience.wait_ns = NS_PER_S / 1000;
  scene.patience.pause_ns = 0;
  assert_int_equal (patience_ask (&scene.patience, question_make (&scene, 1), hang, drop), -1);
  assert_int_equal (scene.drops, 0);
  scene.patience.wait_ns = 60 * NS_PER_S; /* nobody waits so long */
  for (int i = 1; i <= 3; i++) {
    assert_int_equal (patience_ask (&scene.patience, question_make (&scene, i), answer, drop), -1);
    assert_int_equal (scene.drops, i);
    sem_wait (&scene.dropped);
  }
  assert_false (patience_free (&scene.patience));
  sem_wait (&scene.begun);
  sem_post (&scene.end);
  sem_wait (&scene.dropped);
  question = question_make (&scene, 21);
  scene.patience.later_ns = clock_monotonic () + 3600 * NS_PER_S;
  assert_int_equal (patience_ask (&scene.patience, question_make (&scene, 1), answer, drop), -1);
  scene.patience.later_ns = 0;
  assert_int_equal (patience_ask (&scene.patience, question, answer, drop), 0);
  assert_int_equal (question->number, 42);
  assert_int_equal (scene.calls, 1);
  free (question);
  assert_true (patience_free (&scene.patience));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_answers),
    cmocka_unit_test (test_hangs),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
