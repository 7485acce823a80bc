/* Every metric of every group has a bound; what was seen of real kernels and cards is over it, and nothing of the recorded
 * machines, nor of this one. */
#include "tests/unit/agent/sampler_test.h"

#include "agent/sampling/bounds.h"
#include "agent/sampling/sampling.h"
#include "synop/clock.h"

#define IMPOSSIBLE "impossible values are left out: "

/* Nobody may forget one. */
static void
test_every_metric_has_a_bound (void **state)
{
  (void) state;
  for (size_t i = 0; i < sampler_count; i++)
    for (size_t k = 0; k < samplers[i]->group->metric_count; k++) {
      const struct group *declared = samplers[i]->group;
      const struct metric *metric = &declared->metrics[k];
      double least, most;

      if (metric->kind == TEXT)
        continue;
      if (!bounds_limits (metric, &least, &most) || !(least < most && most < 1e30))
        fail_msg ("%s.%s has no bound", declared->name, metric->name);
      if (metric->bound.of && (!bounds_of (declared, metric) || !(metric->bound.times > 0)))
        fail_msg ("%s.%s: its bound is %g times %s, which is no gauge beside it", declared->name, metric->name,
                  metric->bound.times, metric->bound.of);
    }
}

static struct sampling *
sampling_of (const struct sampler *const *list, size_t count, const struct sampler_context *context)
{
  int64_t periods[64];

  assert_true (count < 64);
  for (size_t i = 0; i < count; i++)
    periods[i] = NS_PER_S;
  return sampling_create (list, periods, count, context);
}

/* A sample of all, as if a second after the one before; of workers too, once they have answered. */
static void
sample_all (struct sampling *sampling, struct sample *sample)
{
  static int64_t ahead_ns;
  bool late = true;

  for (int turn = 0; turn < 100 && late; turn++) {
    int64_t now_ns = clock_monotonic () + (ahead_ns += NS_PER_S);

    sampling_start (sampling, now_ns);
    sampling_run (sampling, now_ns, sample);
    late = false;
    for (size_t i = 0; i < sample->count; i++)
      late |= strcmp (sample->tables[i]->error, "timed out") == 0;
  }
  assert_false (late);
}

static void
test_recorded_machines (void **state)
{
  static const char *const roots[] = { "",
                                       "tests/roots/infiniband",
                                       "tests/roots/amdgpu",
                                       "tests/roots/thermal",
                                       "tests/roots/neuron",
                                       ROOT_PROCFS,
                                       ROOT_BIG480 };

  (void) state;
  for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
    struct agent_options *options;
    struct sampling *sampling;
    struct sample sample;

    if (roots[i][0] && access (roots[i], R_OK) != 0) {
      print_message ("# left out: %s is absent\n", roots[i]);
      continue;
    }
    options = options_for (roots[i], "%s", "[neuron]\ncommand = off\n");
    sampling = sampling_of (samplers, sampler_count, &options->context);
    for (int turn = 0; turn < 3; turn++) {
      sample_all (sampling, &sample);
      for (size_t k = 0; k < sample.count; k++)
        if (strstr (sample.tables[k]->error, IMPOSSIBLE))
          fail_msg ("%s: %s: %s", roots[i], sample.tables[k]->group->name, sample.tables[k]->error);
    }
    sampling_destroy (sampling);
    agent_options_destroy (options);
  }
}

static const char *
error_of (const struct sample *sample, const char *name)
{
  for (size_t i = 0; i < sample->count; i++)
    if (strcmp (sample->tables[i]->group->name, name) == 0)
      return sample->tables[i]->error;
  fail_msg ("no %s", name);
  return NULL;
}

/* Through the samplers, in place and in workers. */
static void
test_garbage_in_files (void **state)
{
  static const struct sampler *const list[] = { &sampler_cpu_usage, &sampler_cpu_frequency, &sampler_thermal,
                                                &sampler_memory_info, &sampler_infiniband };
  static const struct {
    const char *path, *text, *group, *error;
  } files[] = {
    { "/proc/stat",
      "cpu0 100 0 0 0 0 0 0 0 0 0\nctxt 18446744073709551615\nintr 5\nprocesses 5\nprocs_running 1\n"
      "procs_blocked 0\nsoftirq 5\n",
      "cpu_usage", "context_switch_count, 1.8447e+19 in all (at most 9.2234e+18)" },
    { "/proc/meminfo", "MemTotal: 4096 kB\nMemFree: 2048 kB\nCommitted_AS: 18014398509481962 kB\n", "memory_info",
      "committed, 1.8447e+19 bytes (at most 4.6117e+18)" },
    { "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "18446744073709551615\n", "cpu_frequency",
      "current of 0, 1.8447e+22 hertz (at most 1e+11)" },
    { "/sys/class/thermal/thermal_zone0/temp", "-273150\n", "thermal",
      "temperature of thermal_zone0, -273.15 celsius (at least -100)" },
    { "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "18446744073709551615\n", "infiniband",
      "port_rcv_data of mlx5_0:1, 7.3787e+19 bytes in all (at most 3.6893e+19)" },
  };
  struct sampler_context context = { 0 };
  struct scratch scratch;
  struct sampling *sampling;
  struct sample sample;

  (void) state;
  scratch_init (&scratch);
  context.root = scratch.root;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    scratch_write (&scratch, files[i].path, files[i].text);
  scratch_write (&scratch, "/sys/class/thermal/thermal_zone0/type", "acpitz\n");
  sampling = sampling_of (list, sizeof list / sizeof list[0], &context);
  sample_all (sampling, &sample);
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    const char *error = error_of (&sample, files[i].group);
    if (!strstr (error, files[i].error))
      fail_msg ("%s: \"%s\"; expected \"%s\"", files[i].group, error, files[i].error);
  }
  sampling_destroy (sampling);
  scratch_free (&scratch);
}

#define OF_NODE "intr 1\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 1\n"

/* The hypervisor tells what it took of a CPU all at once: 5 s of steal in one, and the CPU was busy beside. */
static void
test_steal_in_lumps (void **state)
{
  static const struct sampler *const list[] = { &sampler_cpu_usage };
  struct sampler_context context = { 0 };
  struct scratch scratch;
  struct sampling *sampling;
  struct sample sample;

  (void) state;
  scratch_init (&scratch);
  context.root = scratch.root;
  scratch_write (&scratch, "/proc/stat", "cpu0 100 0 0 0 0 0 0 0 0 0\n" OF_NODE);
  sampling = sampling_of (list, 1, &context);
  sampling_start (sampling, NS_PER_S);
  sampling_run (sampling, NS_PER_S, &sample);
  scratch_write (&scratch, "/proc/stat", "cpu0 190 0 0 0 0 0 0 500 0 0\n" OF_NODE);
  sampling_run (sampling, 2 * NS_PER_S, &sample);
  assert_string_equal (error_of (&sample, "cpu_usage"), "");
  sampling_destroy (sampling);
  scratch_free (&scratch);
}

/* A CPU that has worked for millions of years since the sample before. */
static void
test_garbage_of_one_cpu (void **state)
{
  static const struct sampler *const list[] = { &sampler_cpu_usage };
  struct sampler_context context = { 0 };
  struct scratch scratch;
  struct sampling *sampling;
  struct sample sample;

  (void) state;
  scratch_init (&scratch);
  context.root = scratch.root;
  scratch_write (&scratch, "/proc/stat", "cpu0 100 0 0 0 0 0 0 0 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\n" OF_NODE);
  sampling = sampling_of (list, 1, &context);
  sampling_start (sampling, NS_PER_S);
  sampling_run (sampling, NS_PER_S, &sample);
  assert_string_equal (error_of (&sample, "cpu_usage"), "");
  scratch_write (&scratch, "/proc/stat",
                 "cpu0 100 0 0 0 0 0 0 0 0 0\ncpu1 1844674407370955161 0 0 0 0 0 0 0 0 0\n" OF_NODE);
  sampling_run (sampling, 2 * NS_PER_S, &sample);
  assert_non_null (strstr (error_of (&sample, "cpu_usage"), IMPOSSIBLE "busy of 1, 1.84"));
  sampling_destroy (sampling);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_every_metric_has_a_bound), cmocka_unit_test (test_recorded_machines),
    cmocka_unit_test (test_garbage_in_files),         cmocka_unit_test (test_garbage_of_one_cpu),
    cmocka_unit_test (test_steal_in_lumps),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
