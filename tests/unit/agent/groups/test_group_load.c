/* load and pressure on recorded machines and on this one. */
#include "tests/unit/agent/sampler_test.h"

static void
load_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_load, ROOT_SMALL);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_real (&sampled, NULL, "load_1", 0.20);
  assert_real (&sampled, NULL, "load_5", 1.18);
  assert_real (&sampled, NULL, "load_15", 12.07);
  assert_uint (&sampled, NULL, "runnable", 3);
  assert_uint (&sampled, NULL, "tasks", 812);
  assert_real (&sampled, NULL, "uptime", 350735.47);
  sampled_close (&sampled);
}

static void
load_of_odd (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_load, ROOT_ODD);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_real (&sampled, NULL, "load_1", 0.02);
  assert_missing (&sampled, NULL, "load_5");
  assert_missing (&sampled, NULL, "load_15");
  assert_missing (&sampled, NULL, "tasks");
  assert_missing (&sampled, NULL, "uptime");
  sampled_close (&sampled);
}

static void
load_without_a_source (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/uptime", "12.50 3.00\n");
  sampled_open (&sampled, &sampler_load, scratch.root);
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/loadavg: No such file"));
  assert_real (&sampled, NULL, "uptime", 12.5); /* one file's absence does not cost the other's value */
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
pressure_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_pressure, ROOT_SMALL);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "cpu_some_total", 3317274);
  assert_real (&sampled, NULL, "cpu_some_avg10", 0.69);
  assert_real (&sampled, NULL, "cpu_some_avg60", 0.81);
  assert_real (&sampled, NULL, "cpu_some_avg300", 0.26);
  assert_uint (&sampled, NULL, "cpu_full_total", 0);
  assert_uint (&sampled, NULL, "memory_full_total", 4672893);
  assert_real (&sampled, NULL, "memory_full_avg60", 0.20);
  assert_uint (&sampled, NULL, "io_some_total", UINT64_MAX);
  assert_real (&sampled, NULL, "io_some_avg300", 100.0);
  assert_uint (&sampled, NULL, "irq_full_total", 990);
  for (size_t i = 0; i < sampled.sampler->group->metric_count; i++)
    assert_int_not_equal (sampled_value (&sampled, NULL, sampled.sampler->group->metrics[i].name)->type, VALUE_MISSING);
  sampled_close (&sampled);
}

static void
pressure_of_odd (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_pressure, ROOT_ODD);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "cpu_some_total", 15);
  assert_missing (&sampled, NULL, "cpu_full_total");
  assert_missing (&sampled, NULL, "memory_some_avg10");
  assert_missing (&sampled, NULL, "memory_some_total");
  assert_missing (&sampled, NULL, "io_some_total");
  sampled_close (&sampled);
}

static void
pressure_without_a_source (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_pressure, scratch.root);
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "no pressure stall information"));
  scratch_write (&scratch, "/proc/pressure/cpu", "?\n");
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc/pressure/cpu: Bad message"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
recorded_procfs (void **state)
{
  struct sampled load = { 0 }, pressure = { 0 };

  (void) state;
  need_root (ROOT_PROCFS);
  sampled_open (&load, &sampler_load, ROOT_PROCFS);
  assert_int_equal (sampled_again (&load), 0);
  assert_real (&load, NULL, "load_15", 0.05);
  assert_uint (&load, NULL, "tasks", 497);
  assert_missing (&load, NULL, "uptime");
  sampled_close (&load);
  sampled_open (&pressure, &sampler_pressure, ROOT_PROCFS);
  assert_int_equal (sampled_again (&pressure), 0);
  assert_real (&pressure, NULL, "io_full_avg300", 4.95);
  assert_uint (&pressure, NULL, "memory_full_total", 25);
  sampled_close (&pressure);
}

static void
warm_samples_allocate_nothing (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_load, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_pressure, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_load, "");
  assert_warm_without_allocation (&sampler_pressure, "");
}

static void
live (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_load, "");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled_value (&sampled, NULL, "load_1")->type, VALUE_REAL);
  assert_true (sampled_value (&sampled, NULL, "tasks")->as.u > 0);
  assert_true (sampled_value (&sampled, NULL, "uptime")->as.d > 0);
  sampled_close (&sampled);
  if (assert_counters_do_not_fall (&sampler_pressure))
    return;
  print_message ("# skipped: this kernel has no pressure stall information\n");
  skip ();
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (load_of_small),
    cmocka_unit_test (load_of_odd),
    cmocka_unit_test (load_without_a_source),
    cmocka_unit_test (pressure_of_small),
    cmocka_unit_test (pressure_of_odd),
    cmocka_unit_test (pressure_without_a_source),
    cmocka_unit_test (recorded_procfs),
    cmocka_unit_test (warm_samples_allocate_nothing),
    cmocka_unit_test (live),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
