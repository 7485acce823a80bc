/* What samplers share: started once, for the first that takes it, and stopped when nobody has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/sampling/service.h"

struct counts {
  int started, given_up, stopped;
};
static struct counts passing, lasting;

struct thing_options {
  int64_t period_ns;
};
static const struct own_options thing_options = { .size = sizeof (struct thing_options) },
                                other_options = { .size = 1 };

struct thing {
  struct counts *counts;
  int64_t period_ns;
  char zeros[64];
};

static void
passing_start (void *state, const struct sampler_context *context)
{
  const struct thing_options *options = context_options (context, &thing_options);
  struct thing *thing = state;

  for (size_t i = 0; i < sizeof thing->zeros; i++)
    assert_int_equal (thing->zeros[i], 0);
  thing->counts = &passing;
  thing->period_ns = options->period_ns;
  passing.started++;
}

static void
lasting_start (void *state, const struct sampler_context *context)
{
  (void) context;
  ((struct thing *) state)->counts = &lasting;
  lasting.started++;
}

static void
thing_give_up (void *state)
{
  ((struct thing *) state)->counts->given_up++;
}

static void
thing_stop (void *state)
{
  ((struct thing *) state)->counts->stopped++;
}

static const struct service service_passing = { .options = &thing_options,
                                                .size = sizeof (struct thing),
                                                .start = passing_start,
                                                .give_up = thing_give_up,
                                                .stop = thing_stop };
static const struct service service_lasting = {
  .size = sizeof (struct thing), .start = lasting_start, .stop = thing_stop, .lasts = true
};
static const struct service *const list[] = { &service_lasting, &service_passing };

static struct sampler_context
begin (void)
{
  static const struct thing_options values = { .period_ns = 7 };
  static const struct own_values own[] = { { &other_options, "" }, { &thing_options, &values } };

  passing = lasting = (struct counts){ 0 };
  return (struct sampler_context){ .root = "", .own = own, .own_count = 2, .services = services_create (list, 2) };
}

static void
test_one_for_all (void **state)
{
  struct sampler_context context = begin ();
  struct thing *one, *two;

  (void) state;
  assert_null (service_find (&context, &service_passing));
  one = service_take (&context, &service_passing);
  two = service_take (&context, &service_passing);
  assert_ptr_equal (one, two);
  assert_ptr_equal (one, service_find (&context, &service_passing));
  assert_int_equal (one->period_ns, 7);
  assert_int_equal (passing.started, 1);
  service_leave (one);
  service_leave (two);
  assert_int_equal (passing.stopped, 0); /* the next sampler finds it as it was */
  services_destroy (context.services);
  assert_int_equal (passing.given_up, 1);
  assert_int_equal (passing.stopped, 1);
  assert_int_equal (lasting.started, 0);
}

/* As at a reload: a sampler that hangs has the old one still. */
static void
test_renewed (void **state)
{
  struct sampler_context context = begin ();
  struct thing *hangs = service_take (&context, &service_passing), *lasts = service_take (&context, &service_lasting);
  struct thing *fresh;

  (void) state;
  services_renew (context.services);
  assert_int_equal (passing.given_up, 1);
  assert_int_equal (passing.stopped, 0);
  assert_null (service_find (&context, &service_passing));
  assert_ptr_equal (service_find (&context, &service_lasting), lasts);
  fresh = service_take (&context, &service_passing);
  assert_ptr_not_equal (fresh, hangs);
  assert_int_equal (passing.started, 2);
  service_leave (hangs);
  assert_int_equal (passing.stopped, 1);
  service_leave (fresh);
  services_destroy (context.services);
  assert_int_equal (passing.stopped, 2);
  assert_int_equal (lasting.stopped, 0); /* it is left after the context has gone */
  service_leave (lasts);
  assert_int_equal (lasting.stopped, 1);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_one_for_all), cmocka_unit_test (test_renewed) };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
