/* The small groups of the kernel and its network: kernel, schedstat, timex, sockets, softnet; on recorded machines and on
 * this one. */
#include <sys/timex.h>

#include "tests/unit/agent/sampler_test.h"

static void
sockets_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_sockets, ROOT_SMALL);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, NULL, "used", 166);
  assert_uint (&sampled, NULL, "tcp_in_use", 8);
  assert_uint (&sampled, NULL, "tcp_orphans", 1);
  assert_uint (&sampled, NULL, "tcp_time_wait", 2);
  assert_uint (&sampled, NULL, "tcp_allocated", 13);
  assert_uint (&sampled, NULL, "tcp_pages", 3);
  assert_uint (&sampled, NULL, "tcp_memory", 3 * (uint64_t) sysconf (_SC_PAGESIZE));
  assert_uint (&sampled, NULL, "udp_memory", 2 * (uint64_t) sysconf (_SC_PAGESIZE));
  assert_uint (&sampled, NULL, "raw_in_use", 1);
  assert_uint (&sampled, NULL, "udp6_in_use", 6);
  for (size_t i = 0; i < sampled.sampler->group->metric_count; i++)
    assert_int_not_equal (sampled_value (&sampled, NULL, sampled.sampler->group->metrics[i].name)->type, VALUE_MISSING);
  sampled_close (&sampled);
}

static void
softnet_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_softnet, ROOT_SMALL);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, "0", "processed", 0x15c73);
  assert_uint (&sampled, "0", "squeezed", 7);
  assert_uint (&sampled, "0", "received_rps", 10);
  assert_uint (&sampled, "0", "backlog", 2);
  assert_uint (&sampled, "1", "dropped", 2);
  assert_uint (&sampled, "1", "flow_limited", 1);
  assert_false (sampled_has_row (&sampled, "2")); /* offline: the third line is of CPU 3 */
  assert_uint (&sampled, "3", "processed", UINT32_MAX);
  sampled_close (&sampled);
}

static void
softnet_of_old_kernels (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/net/softnet_stat",
                 "00000001 00000002 00000003 00000000 00000000 00000000 00000000 00000000 00000000\n"
                 "0000000a 00000000 what\n"
                 "0000000b 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000005\n");
  sampled_open (&sampled, &sampler_softnet, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_non_null (strstr (sampled.table.error, "softnet_stat: 1 lines are not understood"));
  assert_uint (&sampled, "0", "squeezed", 3);
  assert_missing (&sampled, "0", "received_rps");
  assert_false (sampled_has_row (&sampled, "1"));
  assert_uint (&sampled, "2", "processed", 11);
  assert_uint (&sampled, "2", "received_rps", 5);
  assert_missing (&sampled, "2", "backlog");
  scratch_write (&scratch, "/proc/net/softnet_stat", "?\n");
  assert_int_equal (sampled_again (&sampled), -1);
  scratch_write (&scratch, "/proc/net/softnet_stat", "1 2 3\n");
  assert_int_equal (sampled_again (&sampled), -1);
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
schedstat_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_schedstat, ROOT_SMALL);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "0", "running", UINT64_C (31413519337));
  assert_uint (&sampled, "0", "waiting", UINT64_C (4227373563));
  assert_uint (&sampled, "1", "timeslices", UINT64_C (4767485306));
  sampled_close (&sampled);
}

static void
kernel_of_small (void **state)
{
  struct sampled sampled = { 0 };

  (void) state;
  sampled_open (&sampled, &sampler_kernel, ROOT_SMALL);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, NULL, "files_open", 1184);
  assert_uint (&sampled, NULL, "files_max", INT64_MAX);
  assert_uint (&sampled, NULL, "entropy_available", 256);
  assert_uint (&sampled, NULL, "processes_max", 4194304);
  assert_uint (&sampled, NULL, "threads_max", 192731);
  assert_uint (&sampled, NULL, "connections_tracked", 123);
  assert_uint (&sampled, NULL, "connections_tracked_max", 262144);
  sampled_close (&sampled);
}

/* A module that is not loaded is no error; a file that all kernels have is. */
static void
kernel_without_a_source (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  scratch_write (&scratch, "/proc/sys/fs/file-nr", "7\t0\t9\n");
  scratch_write (&scratch, "/proc/sys/kernel/pid_max", "many\n");
  sampled_open (&sampled, &sampler_kernel, scratch.root);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "files_open", 7);
  assert_missing (&sampled, NULL, "connections_tracked");
  assert_missing (&sampled, NULL, "processes_max");
  assert_non_null (strstr (sampled.table.error, "/proc/sys/kernel/pid_max: Bad message"));
  assert_null (strstr (sampled.table.error, "more"));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

/* Against the kernel's own answer, asked a second time. */
static void
timex_live (void **state)
{
  struct sampled sampled = { 0 };
  struct timex timex = { .modes = 0 };
  int result = adjtimex (&timex);

  (void) state;
  if (result < 0) {
    print_message ("# skipped: adjtimex is not allowed here\n");
    skip ();
  }
  sampled_open (&sampled, &sampler_timex, "");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "synchronized", result != TIME_ERROR);
  assert_uint (&sampled, NULL, "tick", (uint64_t) timex.tick * 1000);
  assert_int_equal (sampled_value (&sampled, NULL, "offset")->type == VALUE_MISSING, 0);
  assert_true (sampled_value (&sampled, NULL, "frequency_adjustment")->as.d > 0.99);
  assert_uint (&sampled, NULL, "pps_errors", (uint64_t) timex.errcnt);
  assert_uint (&sampled, NULL, "pps_shift", (uint64_t) timex.shift);
  sampled_close (&sampled);
  sampled_open (&sampled, &sampler_timex, ROOT_SMALL); /* a recorded machine has no clock */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, NULL, "synchronized");
  sampled_close (&sampled);
}

static void
warm_samples_allocate_nothing (void **state)
{
  (void) state;
  assert_warm_without_allocation (&sampler_sockets, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_softnet, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_schedstat, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_kernel, ROOT_SMALL);
  assert_warm_without_allocation (&sampler_softnet, "");
  assert_warm_without_allocation (&sampler_timex, "");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (sockets_of_small),
    cmocka_unit_test (softnet_of_small),
    cmocka_unit_test (softnet_of_old_kernels),
    cmocka_unit_test (schedstat_of_small),
    cmocka_unit_test (kernel_of_small),
    cmocka_unit_test (kernel_without_a_source),
    cmocka_unit_test (timex_live),
    cmocka_unit_test (warm_samples_allocate_nothing),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
