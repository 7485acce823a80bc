/* What the machine can do at most: the loops compute what they should, the file, and the group that reads it. */
#include "tests/unit/agent/sampler_test.h"

#include <math.h>

#include "agent/peaks/peaks.h"
#include "agent/peaks/peaks_kernels.h"

static void
kernels_compute (void **state)
{
  size_t supported = 0;

  (void) state;
  for (size_t i = 0; i < peaks_kernel_count; i++) {
    const struct peaks_kernel *kernel = &peaks_kernels[i];
    long registers;

    if (!kernel->is_supported ())
      continue;
    supported++;
    /* x = 0.75 x + 0.25 goes to 1 in each register, and a lane of their sum is returned. */
    registers = lround (kernel->double_precision (1000));
    assert_int_equal (lround (kernel->single_precision (1000)), registers);
    assert_int_equal (kernel->double_operations % (2 * registers), 0);
    assert_int_equal (kernel->single_operations,
                      kernel->double_operations * (strcmp (kernel->name, "scalar") == 0 ? 1 : 2));
    /* The first round: 0.75 * 0.01 i + 0.25. */
    assert_true (kernel->double_precision (1) < kernel->double_precision (2));
  }
  assert_true (supported > 0);
}

static void
triad_computes (void **state)
{
  double *arrays = aligned_alloc (64, 3 * 64 * sizeof (double)), *b = arrays + 64, *c = arrays + 128;

  (void) state;
  for (int i = 0; i < 64; i++) {
    b[i] = i;
    c[i] = 1000 + i;
  }
  peaks_triad (arrays, b, c, 64);
  for (int i = 0; i < 64; i++)
    assert_true (arrays[i] == i + 3.0 * (1000 + i));
  free (arrays);
}

static void
measured_and_kept (void **state)
{
  struct peaks peaks, again;
  struct scratch scratch;
  struct error error;
  char path[256];

  (void) state;
  scratch_init (&scratch);
  assert_int_equal (peaks_measure (&peaks, 300 * NS_PER_MS, &error), 0);
  assert_true (peaks.memory_bandwidth > 1e6 && peaks.flops_double > 1e6 &&
               peaks.flops_single > 1e6); /* beside others, sanitized */
  assert_true (peaks.threads >= 1 && peaks.vectors[0]);
  snprintf (path, sizeof path, "%s/lib/peaks.json", scratch.root);
  assert_int_equal (peaks_write (&peaks, path, &error), 0);
  assert_int_equal (peaks_read (&again, path, &error), 1);
  assert_true (fabs (again.memory_bandwidth / peaks.memory_bandwidth - 1) < 1e-5);
  assert_true (fabs (again.flops_double / peaks.flops_double - 1) < 1e-5);
  assert_true (fabs (again.flops_single / peaks.flops_single - 1) < 1e-5);
  assert_int_equal (again.threads, peaks.threads);
  assert_string_equal (again.vectors, peaks.vectors);
  assert_int_equal (peaks_write (&peaks, path, &error), 0);
  scratch_free (&scratch);
}

static void
bad_files (void **state)
{
  static const char *const wrong[] = { "",
                                       "{",
                                       "{\"flops_double\": 1e999}",
                                       "\x01\x02",
                                       "{}",
                                       "[]",
                                       "{\"flops_double\": -1, \"memory_bandwidth\": \"x\", \"threads\": 1e300}",
                                       "{\"flops_single\": 0, \"vectors\": 7}" };
  struct scratch scratch;
  struct peaks peaks;
  struct error error;
  char path[256];

  (void) state;
  scratch_init (&scratch);
  snprintf (path, sizeof path, "%s/peaks.json", scratch.root);
  assert_int_equal (peaks_read (&peaks, path, &error), 0);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    scratch_write (&scratch, "/peaks.json", wrong[i]);
    assert_int_equal (peaks_read (&peaks, path, &error), -1);
    assert_non_null (strstr (error.text, path));
  }
  scratch_write (&scratch, "/peaks.json", "{\"flops_single\": 5, \"vectors\": 7, \"threads\": 1e300}");
  assert_int_equal (peaks_read (&peaks, path, &error), 1); /* what it has is taken */
  assert_true (peaks.memory_bandwidth == 0 && peaks.flops_double == 0 && peaks.flops_single == 5);
  assert_string_equal (peaks.vectors, "");
  assert_int_equal (peaks.threads, 0);
  assert_int_equal (peaks_read (&peaks, scratch.root, &error), -1);
  assert_int_equal (peaks_write (&peaks, "/proc/none/peaks.json", &error), -1);
  assert_non_null (strstr (error.text, "/proc/none/peaks.json"));
  scratch_free (&scratch);
}

static void
group_of_file (void **state)
{
  struct sampled sampled = { .ini = "[peaks]\nflops_single = 5e12\nfile = /peaks.json\n" };
  struct scratch scratch;

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_node_peaks, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_missing (&sampled, NULL, "memory_bandwidth");
  assert_real (&sampled, NULL, "flops_single", 5e12);
  scratch_write (&scratch, "/peaks.json",
                 "{\"memory_bandwidth\": 2e11, \"flops_single\": 1e12, \"vectors\": \"avx2\"}");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_real (&sampled, NULL, "memory_bandwidth", 2e11);
  assert_real (&sampled, NULL, "flops_single", 5e12);
  assert_text (&sampled, NULL, "vectors", "avx2");
  assert_missing (&sampled, NULL, "flops_double");
  scratch_write (&scratch, "/peaks.json", "{");
  sampled_again (&sampled);
  assert_non_null (strstr (sampled.table.error, "/peaks.json"));
  assert_missing (&sampled, NULL, "memory_bandwidth");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (kernels_compute), cmocka_unit_test (triad_computes), cmocka_unit_test (measured_and_kept),
    cmocka_unit_test (bad_files),       cmocka_unit_test (group_of_file),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
