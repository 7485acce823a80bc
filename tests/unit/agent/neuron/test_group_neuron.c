/* The Neuron groups on the driver's sysfs: values, changes, devices that come and go, and nodes without any. */
#include "tests/unit/agent/sampler_test.h"

#include <sys/stat.h>

#define ROOT "tests/roots/neuron"
#define DEVICE "/sys/devices/virtual/neuron_device/neuron0"

static const struct sampler *const groups[] = {
  &sampler_runtime_info,       &sampler_neuroncore_counters,     &sampler_execution_stats,
  &sampler_memory_used,        &sampler_neuroncore_memory_usage, &sampler_loaded_models,
  &sampler_neuron_hw_counters, &sampler_neuron_hardware_info,    &sampler_neuron_runtime_vcpu_usage,
};
#define GROUPS (sizeof groups / sizeof groups[0])

static void
sample (struct sampled *sampled, const struct sampler *sampler, const char *root)
{
  *sampled = (struct sampled){ .ini = "[neuron]\ncommand = off\n" };
  sampled_open (sampled, sampler, root);
  assert_true (sampled_may_block (sampled));
  assert_int_equal (sampled_again (sampled), 0);
}

static void
test_values (void **state)
{
  struct sampled sampled;

  (void) state;
  sample (&sampled, &sampler_runtime_info, ROOT);
  assert_text (&sampled, "driver", "source", "driver");
  sampled_close (&sampled);

  sample (&sampled, &sampler_execution_stats, ROOT);
  assert_int_equal (sampled.table.rows, 1);
  assert_uint (&sampled, "driver", "completed", 100 + 101 + 100 + 101);
  assert_uint (&sampled, "driver", "timed_out", 8);
  assert_uint (&sampled, "driver", "errors_generic", 4);
  assert_missing (&sampled, "driver", "errors_model"); /* this driver has none */
  sampled_close (&sampled);

  sample (&sampled, &sampler_memory_used, ROOT);
  assert_uint (&sampled, "driver", "host", 2 * (4096 + 8192 + 12288 + 16384)); /* total: present is the last change */
  assert_uint (&sampled, "driver", "host_tensors", 2 * 16384);
  assert_uint (&sampled, "driver", "neuron_device", 4 * 15000);
  sampled_close (&sampled);

  sample (&sampled, &sampler_neuroncore_memory_usage, ROOT);
  assert_int_equal (sampled.table.rows, 4);
  assert_uint (&sampled, "driver/3", "tensors", 5000);
  sampled_close (&sampled);

  sample (&sampled, &sampler_neuron_hw_counters, ROOT);
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "0", "mem_ecc_uncorrected", 3);  /* a file */
  assert_uint (&sampled, "0", "sram_ecc_uncorrected", 1); /* a folder */
  assert_real (&sampled, "0", "power_average", 18.86);
  assert_real (&sampled, "0", "power_max", 25);
  assert_missing (&sampled, "1", "power_average");
  sampled_close (&sampled);

  sample (&sampled, &sampler_neuron_hardware_info, ROOT);
  assert_uint (&sampled, NULL, "neuron_device_count", 2);
  assert_text (&sampled, "1", "neuron_device_type", "Trainium1");
  assert_text (&sampled, "1", "neuroncore_version", "NCv2");
  assert_text (&sampled, "1", "connected_devices", "0");
  assert_uint (&sampled, "1", "neuroncore_per_device_count", 2);
  sampled_close (&sampled);
}

/* Time in use and operations show as rates: none at first, none after a reset. */
static void
test_rates (void **state)
{
  struct scratch scratch;
  struct sampled sampled;
  const struct value *value;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, DEVICE "/neuron_core0/stats/other_info/flop_count/total", "1000\n");
  sample (&sampled, &sampler_neuroncore_counters, scratch.root);
  assert_missing (&sampled, "driver/0", "flops");
  scratch_write (&scratch, DEVICE "/neuron_core0/stats/other_info/flop_count/total", "5000000\n");
  assert_int_equal (sampled_again (&sampled), 0);
  value = sampled_value (&sampled, "driver/0", "flops");
  assert_int_equal (value->type, VALUE_REAL);
  assert_true (value->as.d > 0);
  scratch_write (&scratch, DEVICE "/neuron_core0/stats/other_info/flop_count/total", "7\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "driver/0", "flops");
  assert_missing (&sampled, "driver/0", "neuroncore_utilization");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_driver_goes_and_comes (void **state)
{
  struct scratch scratch;
  struct sampled sampled;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, DEVICE "/neuron_core0/stats/status/success/total", "5\n");
  sample (&sampled, &sampler_execution_stats, scratch.root);
  assert_uint (&sampled, "driver", "completed", 5);
  scratch_remove (&scratch, "/sys/devices/virtual/neuron_device");
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "no Neuron device"));
  assert_int_equal (sampled.table.rows, 0);
  scratch_write (&scratch, DEVICE "/neuron_core0/stats/status/success/total", "1\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "driver", "completed", 1);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_odd_files (void **state)
{
  struct scratch scratch;
  struct sampled sampled;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, DEVICE "/neuron_core0/stats/status/success/total", "many\n");
  scratch_write (&scratch, DEVICE "/neuron_core0/stats/status/timeout/total", "");
  scratch_write (&scratch, DEVICE "/neuron_core0/stats/status/hw_error/total", "-1\n");
  scratch_write (&scratch, DEVICE "/stats/power/utilization", "POWER_STATUS_VALID,1,2\n");
  sample (&sampled, &sampler_execution_stats, scratch.root);
  assert_missing (&sampled, "driver", "completed");
  assert_missing (&sampled, "driver", "timed_out");
  assert_missing (&sampled, "driver", "errors_hardware");
  sampled_close (&sampled);
  sample (&sampled, &sampler_neuron_hw_counters, scratch.root);
  assert_missing (&sampled, "0", "power_average");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

#define CORE(N) DEVICE "/neuron_core" #N
#define MEMORY_USAGE "/stats/memory_usage/device_mem/"
#define ALL_BITS "18446744073709551615\n"

/* What is no number, or none that can be, is missing, and the sum of memory that it is a part of. */
static void
test_memory_that_cannot_be (void **state)
{
  static const char *const bad[] = {
    ALL_BITS, "18446744073709551614\n", "99999999999999999999999999\n", "-5\n", "", "0x10\n", "nan\n"
  };
  struct scratch scratch;
  struct sampled sampled;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, CORE (0) MEMORY_USAGE "tensors/total", "1000\n");
  scratch_write (&scratch, CORE (1) MEMORY_USAGE "tensors/total", "500\n");
  scratch_write (&scratch, CORE (1) MEMORY_USAGE "constants/total", "30\n");
  scratch_write (&scratch, CORE (1) MEMORY_USAGE "model_code/present", "3\n"); /* a folder without `total` */
  scratch_write (&scratch, DEVICE "/stats/memory_usage/host_mem/tensors/total", "7\n");
  sample (&sampled, &sampler_memory_used, scratch.root);
  assert_uint (&sampled, "driver", "neuron_device", 1530);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    scratch_write (&scratch, CORE (0) MEMORY_USAGE "tensors/total", bad[i]);
    assert_int_equal (sampled_again (&sampled), 0);
    assert_missing (&sampled, "driver", "neuron_device");
    assert_uint (&sampled, "driver", "host", 7);
  }
  scratch_write (&scratch, CORE (0) MEMORY_USAGE "tensors/total", "600000000000000000\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "driver", "neuron_device", UINT64_C (600000000000000530));
  scratch_write (&scratch, CORE (1) MEMORY_USAGE "tensors/total", "600000000000000000\n"); /* the sum cannot be */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "driver", "neuron_device");
  scratch_write (&scratch, CORE (0) MEMORY_USAGE "tensors/total", "1\n");
  scratch_write (&scratch, CORE (1) MEMORY_USAGE "tensors/total", "2\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "driver", "neuron_device", 33);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* A count of which nothing is said is as it was, as in neuron-monitor's reports; one that never was known is missing. */
static void
test_counts_that_cannot_be (void **state)
{
  struct scratch scratch;
  struct sampled sampled;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, CORE (0) "/stats/status/success/total", ALL_BITS);
  scratch_write (&scratch, CORE (1) "/stats/status/success/total", "20\n");
  sample (&sampled, &sampler_execution_stats, scratch.root);
  assert_missing (&sampled, "driver", "completed");
  scratch_write (&scratch, CORE (0) "/stats/status/success/total", "100\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "driver", "completed", 120);
  scratch_write (&scratch, CORE (0) "/stats/status/success/total", ALL_BITS);
  scratch_write (&scratch, CORE (1) "/stats/status/success/total", "21\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "driver", "completed", 121);
  scratch_write (&scratch, CORE (0) "/stats/status/success/total", "9007199254740994\n"); /* over 2^53 */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "driver", "completed", 121);
  scratch_write (&scratch, CORE (0) "/stats/status/success/total", "105\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, "driver", "completed", 126);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
test_rates_and_facts_that_cannot_be (void **state)
{
  struct scratch scratch;
  struct sampled sampled;

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, CORE (0) "/stats/other_info/flop_count/total", "1000\n");
  scratch_write (&scratch, CORE (0) "/stats/other_info/nc_time_in_use/total", "1000\n");
  scratch_write (&scratch, DEVICE "/core_count", ALL_BITS);
  sample (&sampled, &sampler_neuroncore_counters, scratch.root);
  scratch_write (&scratch, CORE (0) "/stats/other_info/flop_count/total", ALL_BITS);
  scratch_write (&scratch, CORE (0) "/stats/other_info/nc_time_in_use/total", ALL_BITS);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "driver/0", "flops");
  assert_missing (&sampled, "driver/0", "neuroncore_utilization");
  scratch_write (&scratch, CORE (0) "/stats/other_info/flop_count/total", "18446744073709551614\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, "driver/0", "flops");
  sampled_close (&sampled);
  sample (&sampled, &sampler_neuron_hardware_info, scratch.root);
  assert_missing (&sampled, "0", "neuroncore_per_device_count");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* Neither a row nor an error: such a group is in no frame. */
static void
test_node_without_neuron (void **state)
{
  (void) state;
  for (size_t i = 0; i < GROUPS; i++)
    for (int command = 0; command < 2; command++) {
      struct sampled sampled = { .ini = command ? "[neuron]\ncommand = off\n" : NULL };

      assert_true (groups[i]->optional);
      sampled_open (&sampled, groups[i], "/nonexistent");
      assert_false (sampled_may_block (&sampled));
      assert_int_equal (sampled_again (&sampled), 0);
      assert_int_equal (sampled.table.rows, 0);
      assert_string_equal (sampled.table.error, "");
      sampled_close (&sampled);
    }
}

/* A recorded machine is never asked by the neuron-monitor of this one. */
static void
test_recorded_machine_is_read (void **state)
{
  struct sampled sampled = { 0 };
  struct scratch scratch;
  char program[512], *path = strdup (getenv ("PATH"));

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/neuron-monitor", "#!/bin/sh\n");
  snprintf (program, sizeof program, "%s/neuron-monitor", scratch.root);
  assert_int_equal (chmod (program, 0755), 0);
  assert_int_equal (setenv ("PATH", scratch.root, 1), 0);
  sampled_open (&sampled, &sampler_runtime_info, ROOT);
  assert_true (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_text (&sampled, "driver", "source", "driver");
  assert_missing (&sampled, "driver", "job");
  sampled_close (&sampled);
  setenv ("PATH", path, 1);
  free (path);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_values),
    cmocka_unit_test (test_rates),
    cmocka_unit_test (test_driver_goes_and_comes),
    cmocka_unit_test (test_odd_files),
    cmocka_unit_test (test_memory_that_cannot_be),
    cmocka_unit_test (test_counts_that_cannot_be),
    cmocka_unit_test (test_rates_and_facts_that_cannot_be),
    cmocka_unit_test (test_node_without_neuron),
    cmocka_unit_test (test_recorded_machine_is_read),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
