/* hwmon on a recorded machine, and on one that is written on the spot. */
#include "tests/unit/agent/sampler_test.h"

#define ROOT_HWMON "tests/roots/hwmon"

static void
sensors_of_a_machine (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_hwmon, ROOT_HWMON);
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, "platform_coretemp_0/temp1", "temperature", 41000);
  assert_uint (&sampled, "platform_coretemp_0/temp1", "temperature_max", 84000);
  assert_uint (&sampled, "platform_coretemp_0/temp1", "temperature_critical", 100000);
  assert_missing (&sampled, "platform_coretemp_0/temp1", "temperature_critical_hysteresis");
  assert_uint (&sampled, "platform_coretemp_0/temp1", "critical_alarm", 0);
  assert_text (&sampled, "platform_coretemp_0/temp1", "label", "Package id 0");
  assert_missing (&sampled, "platform_coretemp_0/temp1", "chip_name");
  assert_text (&sampled, "platform_coretemp_0", "chip_name", "coretemp");
  assert_missing (&sampled, "platform_coretemp_0", "temperature");
  assert_uint (&sampled, "platform_coretemp_0/temp2", "temperature", 39000); /* single cores too */
  assert_uint (&sampled, "platform_coretemp_0/fan1", "fan", 1234);
  assert_uint (&sampled, "platform_coretemp_0/fan1", "fan_minimum", 400);
  assert_missing (&sampled, "platform_coretemp_0/fan1", "temperature_max");
  assert_missing (&sampled, "platform_coretemp_0/temp1", "fan_minimum");
  assert_missing (&sampled, "platform_coretemp_0/fan1", "temperature");
  assert_uint (&sampled, "platform_coretemp_0/power1", "power", 65000000);
  assert_uint (&sampled, "platform_coretemp_0/energy1", "energy", 12345678);
  assert_false (sampled_has_row (&sampled, "platform_coretemp_0/in0"));
  sampled_close (&sampled);
}

static void
sensor_that_is_garbage (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/sys/class/hwmon/hwmon0/name", "k10 temp!\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon0/temp1_input", "warm\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon0/temp1_crit", "very\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon0/power1_input", "7\n");
  scratch_write (&scratch, "/sys/class/hwmon/hwmon0/power1_average", "8\n");
  sampled_open (&sampled, &sampler_hwmon, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_non_null (strstr (sampled.table.error, "temp1_input: Bad message"));
  assert_missing (&sampled, "k10_temp/temp1", "temperature");
  assert_missing (&sampled, "k10_temp/temp1", "temperature_critical");
  assert_uint (&sampled, "k10_temp/power1", "power", 7);
  assert_int_equal (sampled.table.rows, 3);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
machine_without_any (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_hwmon, "/nonexistent");
  assert_false (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  sampled_close (&sampled);
}

static void
warm_samples_allocate_nothing (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_hwmon, ROOT_HWMON);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (sensors_of_a_machine),
    cmocka_unit_test (sensor_that_is_garbage),
    cmocka_unit_test (machine_without_any),
    cmocka_unit_test (warm_samples_allocate_nothing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
