/* thermal: zones, sensors and throttle counts. */
#include "tests/unit/agent/sampler_test.h"

#define ROOT "tests/roots/thermal"

static void
test_zones_and_sensors (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_thermal, ROOT);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "thermal_zone0", "temperature", 61500);
  assert_int_equal (sampler_thermal.group->metrics[sampled_column (&sampled, "temperature")].per, 1000);
  assert_text (&sampled, "thermal_zone0", "type", "x86_pkg_temp");
  assert_int_equal (sampled_value (&sampled, "thermal_zone1", "temperature")->type, VALUE_INT);
  assert_int_equal (sampled_value (&sampled, "thermal_zone1", "temperature")->as.i, -8300);
  assert_missing (&sampled, "thermal_zone10", "temperature"); /* cannot be read: there, without a value */
  assert_text (&sampled, "thermal_zone10", "type", "asleep");
  assert_uint (&sampled, "hwmon0/temp1", "temperature", 45125);
  assert_text (&sampled, "hwmon0/temp1", "type", "k10temp Tctl");
  assert_text (&sampled, "hwmon0/temp3", "type", "k10temp");
  assert_text (&sampled, "hwmon2/temp1", "type", "coretemp Package id 0");
  assert_int_equal (sampled.table.rows, 6); /* neither the zone's double nor the core's */
  sampled_close (&sampled);
}

/* Every thread tells its core's count: each core and each package counts once. */
static void
test_throttle_counts (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_thermal, ROOT);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "core_throttle_count", 10 + 11 + 12 + 13);
  assert_uint (&sampled, NULL, "package_throttle_count", 100 + 101);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "core_throttle_count", 10 + 11 + 12 + 13);
  sampled_close (&sampled);
}

static void
test_garbage_is_told (void **state)
{
  static const char *const paths[] = { "/sys/class/thermal/thermal_zone0/temp",
                                       "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count" };

  (void) state;
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    struct scratch scratch;
    struct sampled sampled = { 0 };

    scratch_init (&scratch);
    scratch_write (&scratch, "/sys/class/thermal/thermal_zone0/type", "acpitz\n");
    scratch_write (&scratch, paths[i], "5\n");
    sampled_open (&sampled, &sampler_thermal, scratch.root);
    assert_int_equal (sampled_again (&sampled), 0);
    assert_string_equal (sampled.table.error, "");
    scratch_write (&scratch, paths[i], "monkeys\n");
    assert_int_equal (sampled_again (&sampled), 0);
    assert_non_null (strstr (sampled.table.error, paths[i]));
    assert_non_null (strstr (sampled.table.error, "Bad message"));
    sampled_close (&sampled);
    scratch_free (&scratch);
  }
}

static void
test_machine_without_any (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_thermal, "/nonexistent");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (sampled.table.rows, 0);
  assert_missing (&sampled, NULL, "core_throttle_count");
  sampled_close (&sampled);
}

static void
test_may_block_where_there_is_a_sensor (void **state)
{
  const char *const files[] = { "/sys/class/thermal/thermal_zone0/temp", "/sys/class/hwmon/hwmon0/temp1_input" };
  const char *const labels[] = { "thermal_zone0", "hwmon0/temp1" };

  (void) state;
  for (int kind = 0; kind < 2; kind++) {
    struct scratch scratch;
    struct sampled sampled = { 0 };

    scratch_init (&scratch);
    scratch_write (&scratch, "/sys/class/thermal/cooling_device0/type", "Processor\n");
    sampled_open (&sampled, &sampler_thermal, scratch.root);
    for (int i = 0; i < 60; i++) { /* until sensors are looked for again */
      assert_false (sampled_may_block (&sampled));
      assert_int_equal (sampled_again (&sampled), 0);
      assert_int_equal (sampled.table.rows, 0);
      if (i == 0)
        scratch_write (&scratch, files[kind], "20000\n");
    }
    for (int i = 0; i < 3; i++) {
      assert_true (sampled_may_block (&sampled));
      assert_true (sampled_may_block (&sampled));
      assert_int_equal (sampled_again (&sampled), 0);
      assert_uint (&sampled, labels[kind], "temperature", 20000);
    }
    assert_true (sampled_may_block (&sampled)); /* closed between question and sample */
    sampled_close (&sampled);
    scratch_free (&scratch);
  }
}

static void
test_sensor_goes (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/sys/class/thermal/thermal_zone0/temp", "20000\n");
  sampled_open (&sampled, &sampler_thermal, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "thermal_zone0", "temperature", 20000);
  scratch_write (&scratch, "/sys/class/thermal/thermal_zone0/temp", "N/A\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "thermal_zone0", "temperature");
  scratch_remove (&scratch, "/sys/class/thermal/thermal_zone0");
  scratch_write (&scratch, "/sys/class/thermal/thermal_zone1/temp", "30000\n");
  for (int i = 0; i < 60; i++)
    assert_int_equal (sampled_again (&sampled), 0);
  assert_false (sampled_has_row (&sampled, "thermal_zone0"));
  assert_uint (&sampled, "thermal_zone1", "temperature", 30000);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_recorded_machine (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  need_root (ROOT_PROCFS);
  sampled_open (&sampled, &sampler_thermal, ROOT_PROCFS);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "thermal_zone0", "temperature", 49925);
  assert_int_equal (sampled_value (&sampled, "thermal_zone1", "temperature")->as.i, -44000);
  assert_uint (&sampled, NULL, "core_throttle_count", 10084 + 523);
  assert_uint (&sampled, NULL, "package_throttle_count", 34818);
  sampled_close (&sampled);
}

static void
test_allocates_nothing_when_warm (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_thermal, ROOT);
}

/* A kernel without package_cpus_list: the package's id tells, and a CPU of which nothing does counts for itself. */
static void
test_throttle_counts_by_id (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  char path[128], text[16];

  (void) state;
  scratch_init (&scratch);
  for (int cpu = 0; cpu < 36; cpu++) { /* of 2 packages with 9 cores of 2 threads each */
    const struct {
      const char *file;
      int value;
    } files[] = {
      { "topology/physical_package_id", cpu % 2 },
      { "topology/core_id", cpu / 2 % 9 },
      { "thermal_throttle/core_throttle_count", 1 },
      { "thermal_throttle/package_throttle_count", 18 },
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
      snprintf (path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, files[i].file);
      snprintf (text, sizeof text, "%d\n", files[i].value);
      scratch_write (&scratch, path, text);
    }
  }
  sampled_open (&sampled, &sampler_thermal, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "core_throttle_count", 18);
  assert_uint (&sampled, NULL, "package_throttle_count", 36);
  sampled_close (&sampled);
  scratch_write (&scratch, "/sys/devices/system/cpu/cpu36/thermal_throttle/package_throttle_count", "5\n");
  sampled_open (&sampled, &sampler_thermal, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "package_throttle_count", 41);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_throttle_counts_by_id),
    cmocka_unit_test (test_zones_and_sensors),
    cmocka_unit_test (test_throttle_counts),
    cmocka_unit_test (test_garbage_is_told),
    cmocka_unit_test (test_machine_without_any),
    cmocka_unit_test (test_may_block_where_there_is_a_sensor),
    cmocka_unit_test (test_sensor_goes),
    cmocka_unit_test (test_recorded_machine),
    cmocka_unit_test (test_allocates_nothing_when_warm),
  };
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
