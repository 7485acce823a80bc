/* Whom a scheduler is asked about, and when: inquiries, on a clock of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/scheduler/inquiries.h"
#include "synop/clock.h"
#include "synop/memory.h"

struct scene {
  struct inquiries *inquiries;
  int64_t now_ns;
  size_t reports;
  char shown[512];
};

static void
report (void *context, const struct inquiry *inquiry)
{
  struct scene *scene = context;

  scene->reports++;
  snprintf (scene->shown, sizeof scene->shown, "%s %s", inquiry->label, inquiry->shown);
}

static int
begin (void **state)
{
  struct scene *scene = memory_new (1, sizeof *scene);

  scene->now_ns = 1000 * NS_PER_S;
  scene->inquiries = inquiries_create (report, scene);
  *state = scene;
  return 0;
}

static int
finish (void **state)
{
  struct scene *scene = *state;

  inquiries_destroy (scene->inquiries);
  free (scene);
  return 0;
}

static bool
note (struct scene *scene, int64_t key, const char *label, bool ended)
{
  return inquiries_note (scene->inquiries, key, label, "slurm", "ana", 5 * NS_PER_S, ended, NULL, scene->now_ns);
}

/* The one job that is due after so many seconds; NULL: none is, at any time before. */
static struct inquiry *
due_after (struct scene *scene, int seconds)
{
  struct inquiry *due[4];

  scene->now_ns += seconds * NS_PER_S - 1;
  assert_int_equal (inquiries_take (scene->inquiries, &scheduler_slurm, due, 4, scene->now_ns), 0);
  scene->now_ns += 1;
  return inquiries_take (scene->inquiries, &scheduler_slurm, due, 4, scene->now_ns) == 1 ? due[0] : NULL;
}

static void
answer (struct scene *scene, struct inquiry *inquiry, enum job_outcome outcome, bool final)
{
  struct job_facts facts;

  job_facts_init (&facts);
  facts.outcome = outcome;
  facts.final = final;
  facts.known = true;
  inquiries_answer (scene->inquiries, inquiry, &facts, false, scene->now_ns);
}

static void
say_nothing (struct scene *scene, struct inquiry *inquiry, bool absent)
{
  struct job_facts facts;

  job_facts_init (&facts);
  job_facts_set_error (&facts, "sacct: no");
  inquiries_answer (scene->inquiries, inquiry, &facts, absent, scene->now_ns);
}

static void
test_begin_and_end (void **state)
{
  struct scene *scene = *state;

  assert_true (note (scene, 7, "5/1", false));
  struct inquiry *inquiry = due_after (scene, 1);
  assert_string_equal (inquiry->id, "5");
  assert_int_equal (inquiry->started_ns, 5 * NS_PER_S);
  answer (scene, inquiry, JOB_OUTCOME_RUNNING, false);
  assert_string_equal (scene->shown, "5/1 {\"outcome\":\"running\",\"final\":false}");
  assert_null (due_after (scene, 100000));
  note (scene, 7, "5/1", true);
  answer (scene, due_after (scene, 1), JOB_OUTCOME_COMPLETED, true);
  assert_string_equal (scene->shown, "5/1 {\"outcome\":\"completed\",\"final\":true}");
  assert_int_equal (scene->reports, 2);
  assert_null (due_after (scene, 100000));
}

/* Accounting is late: asked again, at longer and longer intervals, and at last no more. */
static void
test_retries (void **state)
{
  static const int waits[] = { 1, 3, 6, 12, 24, 48, 96 };
  struct scene *scene = *state;

  note (scene, 7, "5", true);
  for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
    answer (scene, due_after (scene, waits[i]), JOB_OUTCOME_RUNNING, false);
  assert_int_equal (scene->reports, 1);
  assert_null (due_after (scene, 100000));
}

static void
test_no_answer (void **state)
{
  static const int waits[] = { 1, 3, 6, 12, 24, 48, 96 };
  struct scene *scene = *state;

  note (scene, 7, "5", false);
  for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
    assert_int_equal (scene->reports, 0);
    say_nothing (scene, due_after (scene, waits[i]), false);
  }
  assert_string_equal (scene->shown, "5 {\"error\":\"sacct: no\"}");
  note (scene, 7, "5", true); /* at its end it is tried again */
  answer (scene, due_after (scene, 1), JOB_OUTCOME_FAILED, true);
  assert_string_equal (scene->shown, "5 {\"outcome\":\"failed\",\"final\":true}");
}

static void
test_absent (void **state)
{
  struct scene *scene = *state;

  note (scene, 7, "5", true);
  say_nothing (scene, due_after (scene, 1), true);
  assert_int_equal (scene->reports, 1);
  assert_null (due_after (scene, 100000));
}

/* What was known when it began stays known when the scheduler does not answer at its end. */
static void
test_known_stays (void **state)
{
  struct scene *scene = *state;
  struct job_facts facts;

  note (scene, 7, "5", false);
  job_facts_init (&facts);
  job_facts_set_text (&facts, JOB_FACT_PARTITION, "debug", 5);
  facts.outcome = JOB_OUTCOME_RUNNING;
  inquiries_answer (scene->inquiries, due_after (scene, 1), &facts, false, scene->now_ns);
  note (scene, 7, "5", true);
  say_nothing (scene, due_after (scene, 1), true);
  assert_int_equal (scene->reports, 1);
  assert_string_equal (scene->shown, "5 {\"outcome\":\"running\",\"final\":false,\"partition\":\"debug\"}");
}

/* It ends while its start is asked about: its end is asked about next. */
static void
test_ends_meanwhile (void **state)
{
  struct scene *scene = *state;

  note (scene, 7, "5", false);
  struct inquiry *inquiry = due_after (scene, 1);
  note (scene, 7, "5", true);
  assert_null (due_after (scene, 1)); /* not twice at a time */
  answer (scene, inquiry, JOB_OUTCOME_RUNNING, false);
  struct inquiry *again;
  assert_int_equal (inquiries_take (scene->inquiries, &scheduler_slurm, &again, 1, scene->now_ns), 1);
  answer (scene, again, JOB_OUTCOME_CANCELLED, true);
  assert_string_equal (scene->shown, "5 {\"outcome\":\"cancelled\",\"final\":true}");
}

/* Nobody can be asked about what has no scheduler, or is only claimed to be its. */
static void
test_nobody_to_ask (void **state)
{
  static const char *const labels[] = { "5@1002", "-j", "a b", "5;rm", "", "$(x)", "../5" };
  struct scene *scene = *state;

  for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
    assert_true (note (scene, 10 + (int64_t) i, labels[i], false));
  assert_true (inquiries_note (scene->inquiries, 7, "x", "synop", "ana", 0, false, NULL, scene->now_ns));
  assert_null (due_after (scene, 100000));
}

static void
test_bounded (void **state)
{
  struct scene *scene = *state;
  struct inquiry *due[16];

  for (int64_t i = 0; i < INQUIRIES_MAX; i++)
    assert_true (note (scene, 1 + i, "5", false));
  assert_false (note (scene, INQUIRIES_MAX + 1, "5", false));
  assert_int_equal (inquiries_take (scene->inquiries, &scheduler_pbs, due, 16, INT64_MAX - 1), 0);
  assert_int_equal (inquiries_take (scene->inquiries, &scheduler_slurm, due, 16, INT64_MAX - 1), 16);
}

int
main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, begin, finish)
  const struct CMUnitTest tests[] = {
    TEST (test_begin_and_end), TEST (test_retries),        TEST (test_no_answer),     TEST (test_absent),
    TEST (test_known_stays),   TEST (test_ends_meanwhile), TEST (test_nobody_to_ask), TEST (test_bounded),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
