/* What a node's power is made of, on machines that are written on the spot; time passes without being waited for. */
#include <math.h>

#include "agent/energy/energy.h"
#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_seen.h"
#include "synop/clock.h"
#include "tests/unit/agent/energy/powercap.h"

static int64_t now_ns = 1000 * NS_PER_S;
static int64_t step_ns; /* that passes whenever the time is asked for */

int64_t __wrap_clock_monotonic (void);

int64_t
__wrap_clock_monotonic (void)
{
  return now_ns += step_ns;
}

struct scene {
  struct scratch scratch;
  struct sampled sampled;
  struct gpus *gpus;
};

static void
scene_init (struct scene *scene)
{
  *scene = (struct scene){ 0 };
  scratch_init (&scene->scratch);
}

static void
scene_open (struct scene *scene)
{
  sampled_open (&scene->sampled, &sampler_node_power, scene->scratch.root);
  scene->gpus = service_take (&scene->sampled.options->context, &service_gpus);
}

/* A sample so many milliseconds after the one before. */
static void
scene_sample (struct scene *scene, int ms)
{
  now_ns += ms * NS_PER_MS;
  sampled_may_block (&scene->sampled);
  assert_int_equal (sampled_again (&scene->sampled), 0);
}

static void
scene_free (struct scene *scene)
{
  service_leave (scene->gpus);
  sampled_close (&scene->sampled);
  scratch_free (&scene->scratch);
}

static void
gpus_put (struct scene *scene, size_t count, uint64_t energy_mj, uint64_t power_mw)
{
  struct seen_gpu *seen = gpu_seen_begin (scene->gpus->seen, count);

  for (size_t i = 0; i < count; i++) {
    seen[i] = (struct seen_gpu){ .utilization = 5, .energy_mj = energy_mj, .power_mw = power_mw };
    snprintf (seen[i].uuid, sizeof seen[i].uuid, "GPU-%zu", i);
  }
  gpu_seen_end (scene->gpus->seen);
}

static void
meter_set (struct scene *scene, const char *chip, const char *label, double watts)
{
  char path[128], text[64];

  snprintf (path, sizeof path, "/sys/class/hwmon/%s/device/name", chip);
  scratch_write (&scene->scratch, path, "power_meter\n");
  if (label) {
    snprintf (path, sizeof path, "/sys/class/hwmon/%s/device/power1_oem_info", chip);
    snprintf (text, sizeof text, "%s\n", label);
    scratch_write (&scene->scratch, path, text);
  }
  snprintf (path, sizeof path, "/sys/class/hwmon/%s/device/power1_average", chip);
  snprintf (text, sizeof text, "%.0f\n", watts * 1e6);
  scratch_write (&scene->scratch, path, text);
}

static double
number (const struct scene *scene, const char *part, const char *metric)
{
  return value_double (sampled_value (&scene->sampled, part, metric));
}

static void
assert_near (double value, double expected, double slack)
{
  if (!(fabs (value - expected) <= slack))
    fail_msg ("%.9g; expected %.9g within %g", value, expected, slack);
}

static double
joules_of_node (const struct scene *scene)
{
  static const char *const parts[] = { "cpu", "dram", "gpu", "other" };
  double sum = 0;

  for (size_t i = 0; i < 4; i++)
    if (sampled_has_row (&scene->sampled, parts[i]))
      sum += number (scene, parts[i], "energy") / 1e6;
  return sum;
}

/* Packages hold cores: 3 + 5 W of packages, 1 + 2 W of memory, and nothing measures the rest. */
static void
sockets_and_memory (void **state)
{
  struct scene scene;

  (void) state;
  scene_init (&scene);
  intel_make (&scene.scratch);
  scratch_remove (&scene.scratch, "/sys/class/powercap/intel-rapl:2");
  scene_open (&scene);
  assert_false (sampled_may_block (&scene.sampled));
  scene_sample (&scene, 0);
  assert_uint (&scene.sampled, "cpu", "energy", 0);
  assert_missing (&scene.sampled, "cpu", "power");
  energy_set (&scene.scratch, "intel-rapl:0", 4000000);
  energy_set (&scene.scratch, "intel-rapl:0:0", 3000000);
  energy_set (&scene.scratch, "intel-rapl:1", 7000000);
  energy_set (&scene.scratch, "intel-rapl:0:1", 1200000);
  energy_set (&scene.scratch, "intel-rapl:1:1", 2300000);
  scene_sample (&scene, 1000);
  assert_int_equal (scene.sampled.table.rows, 2);
  assert_uint (&scene.sampled, "cpu", "energy", 8000000);
  assert_near (number (&scene, "cpu", "power"), 8, 1e-9);
  assert_text (&scene.sampled, "cpu", "source", "RAPL");
  assert_uint (&scene.sampled, "dram", "energy", 3000000);
  assert_uint (&scene.sampled, NULL, "whole", 0);
  scene_free (&scene);
}

/* psys holds packages and memory: 20 W of which they have 8. */
static void
psys_holds_packages (void **state)
{
  struct scene scene;

  (void) state;
  scene_init (&scene);
  intel_make (&scene.scratch);
  scene_open (&scene);
  scene_sample (&scene, 0);
  energy_set (&scene.scratch, "intel-rapl:0", 1000000 + 6000000);
  energy_set (&scene.scratch, "intel-rapl:0:1", 200000 + 2000000);
  energy_set (&scene.scratch, "intel-rapl:2", 9000000 + 20000000);
  scene_sample (&scene, 1000);
  assert_uint (&scene.sampled, "other", "energy", 12000000);
  assert_near (number (&scene, "other", "power"), 12, 1e-9);
  assert_text (&scene.sampled, "other", "source", "RAPL psys");
  assert_near (joules_of_node (&scene), 20, 1e-9);
  assert_uint (&scene.sampled, NULL, "whole", 1);
  /* One that counts less than its parts, as some machines' does, is not the whole: the parts are. */
  energy_set (&scene.scratch, "intel-rapl:0", 1000000 + 106000000);
  energy_set (&scene.scratch, "intel-rapl:2", 9000000 + 21000000);
  scene_sample (&scene, 1000);
  assert_uint (&scene.sampled, "other", "energy", 12000000);
  assert_near (number (&scene, "other", "power"), 0, 1e-9);
  assert_near (joules_of_node (&scene), 120, 1e-9);
  scene_free (&scene);
}

/* A machine of 300 and 500 W by turns, 2.3 s each, whose meter says the power of that moment: the energy is the integral,
 * within a sample's change for each turn. CPUs have 100 W of it and GPUs 50, at any time. */
static void
meter_of_the_machine (void **state)
{
  struct scene scene;
  double joules = 0, turns = 0;

  (void) state;
  scene_init (&scene);
  zone_make (&scene.scratch, "intel-rapl:0", "package-0", 0);
  meter_set (&scene, "hwmon1", NULL, 300);
  meter_set (&scene, "hwmon2", NULL, 9999); /* a second one measures the same, or a part */
  scene_open (&scene);
  assert_true (sampled_may_block (&scene.sampled));
  gpus_put (&scene, 2, 0, 25000);
  scene_sample (&scene, 1000);
  for (int ms = 0; ms < 100000; ms += 100) {
    bool high = ms / 2300 % 2;

    joules += (high ? 500 : 300) * 0.1;
    turns += ms % 2300 == 0;
    if (ms % 1000 == 900) {
      meter_set (&scene, "hwmon1", NULL, high ? 500 : 300);
      energy_set (&scene.scratch, "intel-rapl:0", (uint64_t) (ms + 100) * 100000);
      gpus_put (&scene, 2, (uint64_t) (ms + 100) * 25, 25000);
      scene_sample (&scene, 1000);
    }
  }
  assert_near (joules_of_node (&scene), joules, 200 * sqrt (turns)); /* they err both ways */
  assert_near (number (&scene, "cpu", "energy") / 1e6, 10000, 1e-6);
  assert_near (number (&scene, "gpu", "energy") / 1e6, 5000 - 50, 50.001); /* one reading later */
  assert_near (number (&scene, "gpu", "power"), 50, 1e-9);
  assert_near (number (&scene, "cpu", "power") + number (&scene, "gpu", "power") + number (&scene, "other", "power"),
               500, 200.001);
  assert_text (&scene.sampled, "other", "source", "ACPI power meter");
  assert_uint (&scene.sampled, NULL, "whole", 1);
  scene_free (&scene);
}

/* Of sensors that hold each other the outer one counts. */
static void
grace_sensors (void **state)
{
  struct scene scene;

  (void) state;
  scene_init (&scene);
  meter_set (&scene, "hwmon1", "Module Power Socket 0", 600);
  meter_set (&scene, "hwmon2", "Grace Power Socket 0", 200);
  meter_set (&scene, "hwmon3", "CPU Power Socket 0", 150);
  meter_set (&scene, "hwmon4", "SysIO Power Socket 0", 20);
  meter_set (&scene, "hwmon5", "Grace Power Socket 1", 100);
  meter_set (&scene, "hwmon6", "Module Power Socket 1", 400);
  scene_open (&scene);
  gpus_put (&scene, 1, UINT64_MAX, 350000); /* a GPU that says its power alone */
  scene_sample (&scene, 1000);
  gpus_put (&scene, 1, UINT64_MAX, 350000);
  scene_sample (&scene, 2000);
  gpus_put (&scene, 1, UINT64_MAX, 350000);
  scene_sample (&scene, 2000);
  assert_near (number (&scene, "cpu", "energy") / 1e6, 1200, 1e-6);
  assert_near (number (&scene, "cpu", "power"), 300, 1e-9);
  assert_text (&scene.sampled, "cpu", "source", "Grace sensors");
  assert_near (number (&scene, "gpu", "energy") / 1e6, 1050, 1e-6);
  assert_near (number (&scene, "other", "power"), 350, 1e-9);
  assert_text (&scene.sampled, "other", "source", "module sensors");
  assert_near (joules_of_node (&scene), 4000, 700); /* GPUs' first reading is later */
  scene_free (&scene);
}

/* A part of which something is missing is not known, and what was counted meanwhile is not lost. */
static void
a_socket_is_silent (void **state)
{
  struct scene scene;

  (void) state;
  scene_init (&scene);
  intel_make (&scene.scratch);
  scene_open (&scene);
  scene_sample (&scene, 0);
  scratch_write (&scene.scratch, "/sys/class/powercap/intel-rapl:1/energy_uj", "\n");
  energy_set (&scene.scratch, "intel-rapl:0", 2000000);
  energy_set (&scene.scratch, "intel-rapl:2", 9000000 + 10000000);
  scene_sample (&scene, 1000);
  assert_false (sampled_has_row (&scene.sampled, "cpu"));
  assert_true (sampled_has_row (&scene.sampled, "dram"));
  energy_set (&scene.scratch, "intel-rapl:1", 5000000);
  energy_set (&scene.scratch, "intel-rapl:2", 9000000 + 20000000);
  scene_sample (&scene, 1000);
  assert_uint (&scene.sampled, "cpu", "energy", 1000000 + 3000000);
  assert_near (joules_of_node (&scene), 20, 4);
  scene_free (&scene);
}

/* GPUs whose driver hangs are shown no longer than their readings are apart. */
static void
readings_that_grow_old (void **state)
{
  struct scene scene;

  (void) state;
  scene_init (&scene);
  meter_set (&scene, "hwmon1", NULL, 100);
  scene_open (&scene);
  gpus_put (&scene, 1, 5000, 25000);
  scene_sample (&scene, 1000);
  assert_true (sampled_has_row (&scene.sampled, "gpu"));
  scene_sample (&scene, 29000);
  assert_false (sampled_has_row (&scene.sampled, "gpu"));
  assert_true (sampled_has_row (&scene.sampled, "other"));
  scratch_remove (&scene.scratch, "/sys/class/hwmon");
  for (int i = 0; i < 30; i++) /* after which sensors are listed anew */
    scene_sample (&scene, 1000);
  assert_int_equal (scene.sampled.table.rows, 0);
  assert_string_equal (scene.sampled.table.error, "nothing measures power any more");
  scene_free (&scene);
}

static void
machine_without_any (void **state)
{
  struct scene scene;
  char text[512];

  (void) state;
  scene_init (&scene);
  scratch_write (&scene.scratch, "/sys/class/hwmon/hwmon0/name", "coretemp\n");
  scratch_write (&scene.scratch, "/sys/class/hwmon/hwmon0/power1_input", "5\n");
  scene_open (&scene);
  assert_false (sampled_may_block (&scene.sampled));
  scene_sample (&scene, 0);
  assert_int_equal (scene.sampled.table.rows, 0);
  assert_string_equal (scene.sampled.table.error, "");
  energy_absent (&scene.sampled.options->context, text, sizeof text);
  assert_non_null (strstr (text, "no energy counters"));
  scene_free (&scene);
}

static void
warm_samples_allocate_nothing (void **state)
{
  struct scene scene;

  (void) state;
  if (!COUNTS_ALLOCATIONS) {
    print_message ("# skipped: a sanitizer stands in the allocator's place\n");
    skip ();
  }
  scene_init (&scene);
  intel_make (&scene.scratch);
  meter_set (&scene, "hwmon1", NULL, 100);
  step_ns = 500 * NS_PER_MS;
  assert_warm_without_allocation (&sampler_node_power, scene.scratch.root);
  assert_warm_without_allocation (&sampler_energy_rapl, scene.scratch.root);
  step_ns = 0;
  scratch_free (&scene.scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (sockets_and_memory),   cmocka_unit_test (psys_holds_packages),
    cmocka_unit_test (meter_of_the_machine), cmocka_unit_test (grace_sensors),
    cmocka_unit_test (a_socket_is_silent),   cmocka_unit_test (readings_that_grow_old),
    cmocka_unit_test (machine_without_any),  cmocka_unit_test (warm_samples_allocate_nothing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
