/* What of a node's energy is a job's: alone, beside others, with GPUs, at its end. Time passes without being waited for. */
#include "tests/unit/agent/job/job_machine.h"

#include <math.h>

#include "agent/gpu/gpu.h"
#include "agent/gpu/gpu_seen.h"
#include "tests/unit/agent/energy/powercap.h"

static int64_t later_ns;

int64_t __real_clock_monotonic (void);
int64_t __wrap_clock_monotonic (void);

int64_t
__wrap_clock_monotonic (void)
{
  return __real_clock_monotonic () + later_ns;
}

struct scene {
  struct machine machine;
  struct sampled gpu, energy;
  struct gpus *gpus;
  uint64_t package_j, dram_j, gpu_j[2];
  bool gpus_are_late; /* they are read behind the sample */
};

static void
gpus_read (struct scene *scene)
{
  struct seen_gpu *seen = gpu_seen_begin (scene->gpus->seen, 2);

  for (size_t i = 0; i < 2; i++) {
    seen[i] = (struct seen_gpu){ .utilization = 5, .energy_mj = scene->gpu_j[i] * 1000, .power_mw = 25000 };
    snprintf (seen[i].uuid, sizeof seen[i].uuid, "GPU-%zu", i);
    snprintf (seen[i].label, sizeof seen[i].label, "%zu", i);
  }
  gpu_seen_end (scene->gpus->seen);
}

static void
counters_set (struct scene *scene)
{
  if (!scene->gpus_are_late)
    gpus_read (scene);
  energy_set (&scene->machine.scratch, "intel-rapl:0", scene->package_j * 1000000);
  energy_set (&scene->machine.scratch, "intel-rapl:0:0", scene->dram_j * 1000000);
}

/* So many jobs, as of the processes that are there; what is asked in threads takes a while. */
static void
sample (struct scene *scene, size_t jobs)
{
  int64_t end_ns = __real_clock_monotonic () + 60 * NS_PER_S;

  later_ns += NS_PER_S;
  counters_set (scene);
  do {
    usleep (5000);
    assert_int_equal (sampled_again (&scene->gpu), 0);
    assert_int_equal (sampled_again (&scene->energy), 0);
  } while (scene->energy.table.rows < jobs && __real_clock_monotonic () < end_ns);
  assert_string_equal (scene->energy.table.error, "");
  assert_int_equal (scene->energy.table.rows, jobs);
}

static void
put (struct scene *scene, int pid, const char *environment, unsigned ticks)
{
  machine_put (&scene->machine,
               (struct made){ .pid = pid, .environment = environment, .start = 50, .user = ticks, .system = 1 });
}

static void
scene_begin (struct scene *scene)
{
  *scene = (struct scene){ .package_j = 1000, .dram_j = 500, .gpu_j = { 100, 200 } };
  machine_init (&scene->machine);
  zone_make (&scene->machine.scratch, "intel-rapl:0", "package-0", 0);
  zone_make (&scene->machine.scratch, "intel-rapl:0:0", "dram", 0);
  sampled_open (&scene->gpu, &sampler_job_gpu, scene->machine.scratch.root);
  scene->energy.options = scene->gpu.options;
  sampled_open (&scene->energy, &sampler_job_energy, scene->machine.scratch.root);
  scene->gpus = service_take (&scene->gpu.options->context, &service_gpus);
}

static void
scene_end (struct scene *scene)
{
  service_leave (scene->gpus);
  sampled_close (&scene->energy);
  sampled_close (&scene->gpu);
  scratch_free (&scene->machine.scratch);
}

static void
assert_joules (const struct scene *scene, const char *job, const char *metric, double expected)
{
  double joules = value_double (sampled_value (&scene->energy, job, metric)) / 1e6;

  if (!(fabs (joules - expected) < 1e-3))
    fail_msg ("%s of %s: %g J; expected %g", metric, job, joules, expected);
}

static double
power_of (const struct scene *scene, const char *job)
{
  return value_double (sampled_value (&scene->energy, job, "power"));
}

#define A "SYNOP_JOB_ID=a CUDA_VISIBLE_DEVICES=0"
#define B "SYNOP_JOB_ID=b CUDA_VISIBLE_DEVICES=1"

static void
test_shares (void **state)
{
  struct scene scene;

  (void) state;
  scene_begin (&scene);
  put (&scene, 20, A, 100);
  sample (&scene, 1);
  sample (&scene, 1);
  assert_joules (&scene, "a", "energy", 0);

  /* Alone: all that the node has, also another GPU's. */
  scene.package_j += 100;
  scene.dram_j += 10;
  scene.gpu_j[0] += 50;
  scene.gpu_j[1] += 7;
  sample (&scene, 1);
  assert_joules (&scene, "a", "energy", 167);
  assert_joules (&scene, "a", "estimated", 0);
  assert_uint (&scene.energy, "a", "alone", 1);
  assert_true (power_of (&scene, "a") > 50 && power_of (&scene, "a") <= 50 + 110); /* a busy machine samples later */

  /* Beside another one, which counts from its second sample on. */
  put (&scene, 30, B, 100);
  sample (&scene, 2);
  assert_uint (&scene.energy, "a", "alone", 0);
  put (&scene, 20, A, 130);
  put (&scene, 30, B, 110);
  scene.package_j += 32;
  scene.dram_j += 8;
  scene.gpu_j[0] += 5;
  scene.gpu_j[1] += 3;
  sample (&scene, 2);
  assert_joules (&scene, "a", "energy", 167 + 30 + 5);
  assert_joules (&scene, "a", "estimated", 30);
  assert_joules (&scene, "b", "energy", 10 + 3);
  assert_joules (&scene, "b", "estimated", 10);

  /* While none computes, by CPUs, of which each may use all. */
  scene.package_j += 6;
  sample (&scene, 2);
  assert_joules (&scene, "a", "energy", 167 + 35 + 3);
  assert_joules (&scene, "b", "estimated", 13);

  /* The one that ends has its last sample, and the other is alone then. */
  machine_end (&scene.machine, 30);
  put (&scene, 20, A, 140);
  scene.package_j += 10;
  sample (&scene, 2);
  assert_joules (&scene, "a", "estimated", 33 + 10);
  assert_joules (&scene, "b", "energy", 16);
  scene.dram_j += 4;
  sample (&scene, 1);
  assert_joules (&scene, "a", "energy", 167 + 38 + 10 + 4);
  assert_uint (&scene.energy, "a", "alone", 1);
  scene_end (&scene);
}

/* A load of 50 and 350 W by turns: the job's energy is the integral, within a sample's change. */
static void
test_square_wave (void **state)
{
  struct scene scene;
  double before = 0, joules = 0;

  (void) state;
  scene_begin (&scene);
  put (&scene, 20, A, 100);
  sample (&scene, 1);
  sample (&scene, 1);
  before = value_double (sampled_value (&scene.energy, "a", "energy")) / 1e6;
  for (int second = 0; second < 40; second++) {
    joules += second / 3 % 2 ? 350 : 50;
    scene.package_j = 1000 + (uint64_t) joules;
    sample (&scene, 1);
  }
  assert_joules (&scene, "a", "energy", before + joules);
  scene_end (&scene);
}

/* GPUs are read beside the sampling: what a sample finds may be of the one before, or of two. The power is that which they
 * draw all the same. */
static void
test_power (void **state)
{
  struct scene scene;

  (void) state;
  scene_begin (&scene);
  put (&scene, 20, A, 100);
  sample (&scene, 1);
  sample (&scene, 1);
  for (int i = 0; i < 4; i++) {
    scene.gpus_are_late = i % 2 == 0;
    scene.gpu_j[0] += 25;
    scene.gpu_j[1] += 25;
    sample (&scene, 1);
    if (fabs (power_of (&scene, "a") - 50) > 0.1)
      fail_msg ("%d: %g W", i, power_of (&scene, "a"));
  }
  put (&scene, 30, B, 100);
  sample (&scene, 2);
  for (unsigned i = 0; i < 4; i++) {
    scene.gpus_are_late = i % 2 == 0;
    scene.gpu_j[0] += 25;
    scene.package_j += 100;
    put (&scene, 20, A, 130 + 30 * i);
    put (&scene, 30, B, 110 + 10 * i);
    sample (&scene, 2);
    if (fabs ((power_of (&scene, "a") - 25) / (power_of (&scene, "b") - 25) - 3) > 0.1)
      fail_msg ("%u: %g and %g W", i, power_of (&scene, "a"), power_of (&scene, "b"));
  }
  scene_end (&scene);
}

static void
test_nothing_measures (void **state)
{
  struct machine machine;
  struct sampled sampled = { 0 };

  (void) state;
  machine_init (&machine);
  machine_put (&machine, (struct made){ .pid = 20, .environment = A, .start = 50 });
  sampled_open (&sampled, &sampler_job_energy, machine.scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_int_equal (sampled.table.rows, 0);
  assert_string_equal (sampled.table.error, "");
  sampled_close (&sampled);
  scratch_free (&machine.scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_shares),
    cmocka_unit_test (test_square_wave),
    cmocka_unit_test (test_power),
    cmocka_unit_test (test_nothing_measures),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
