/* processes, on machines that are written on the spot, and on this one; what the agent itself costs. */
#include <sys/resource.h>
#include <time.h>

#include "tests/unit/agent/sampler_test.h"

static void
process_write (const struct scratch *scratch, int pid, const char *stat)
{
  char path[64];

  snprintf (path, sizeof path, "/proc/%d/stat", pid);
  scratch_write (scratch, path, stat);
}

static void
processes_by_state (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };
  char fifo[256];

  (void) state;
  scratch_init (&scratch);
  process_write (&scratch, 1, "1 (init) S 0 1 1 0\n");
  process_write (&scratch, 2, "2 (R) D (x) R 0 0 0 0\n"); /* names may be anything */
  process_write (&scratch, 30, "30 (kworker/0:0) I 2 0 0 0\n");
  process_write (&scratch, 31, "31 (kworker/0:1) I 2 0 0 0\n");
  process_write (&scratch, 400, "400 (nfs) D 1 1 1 0\n");
  process_write (&scratch, 401, "401 (gone) Z 1 1 1 0\n");
  process_write (&scratch, 402, "402 (vi) T 1 1 1 0\n");
  process_write (&scratch, 403, "403 (gdb) t 1 1 1 0\n");
  process_write (&scratch, 404, "404 (new) ? 1 1 1 0\n"); /* a state of a newer kernel */
  process_write (&scratch, 405, "no process\n");
  scratch_write (&scratch, "/proc/406/status", "State: R\n");
  scratch_write (&scratch, "/proc/407/status", "State: R\n");
  snprintf (fifo, sizeof fifo, "%s/proc/407/stat", scratch.root);
  assert_int_equal (mkfifo (fifo, 0600), 0); /* is not waited for */
  scratch_write (&scratch, "/proc/stat", "cpu 1 2 3\n");
  sampled_open (&sampled, &sampler_processes, scratch.root);
  assert_false (sampled_may_block (&sampled));
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, NULL, "processes", 9);
  assert_uint (&sampled, NULL, "running", 1);
  assert_uint (&sampled, NULL, "sleeping", 1);
  assert_uint (&sampled, NULL, "idle", 2);
  assert_uint (&sampled, NULL, "blocked", 1);
  assert_uint (&sampled, NULL, "zombies", 1);
  assert_uint (&sampled, NULL, "stopped", 1);
  assert_uint (&sampled, NULL, "traced", 1);
  for (int pid = 1000; pid < 1200; pid++)
    process_write (&scratch, pid, "1000 (many) S 1 1 1 0\n");
  assert_int_equal (sampled_again (&sampled), 0);
  assert_uint (&sampled, NULL, "processes", 209);
  assert_true (sampled_may_block (&sampled));
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
machine_without_processes (void **state)
{
  struct scratch scratch;
  struct sampled sampled = { 0 };

  (void) state;
  scratch_init (&scratch);
  sampled_open (&sampled, &sampler_processes, scratch.root);
  assert_int_equal (sampled_again (&sampled), -1);
  assert_non_null (strstr (sampled.table.error, "/proc: No such file or directory"));
  scratch_write (&scratch, "/proc/stat", "cpu 1 2 3\n"); /* a recorded machine */
  assert_int_equal (sampled_again (&sampled), 0);
  assert_missing (&sampled, NULL, "processes");
  sampled_close (&sampled);
  scratch_free (&scratch);
}

static void
the_agent_itself (void **state)
{
  static const struct sampler *const list[] = { &sampler_load, &sampler_vm, &sampler_agent };
  int64_t spent_ns[] = { 1500, 0, 42 };
  struct sampler_context context = { .root = "", .samplers = list, .spent_ns = spent_ns, .sampler_count = 3 };
  struct sampled sampled = { .sampler = &sampler_agent };
  struct rlimit limit;

  (void) state;
  sampled.state = sampler_agent.open (&context);
  table_init (&sampled.table, sampler_agent.group);
  assert_int_equal (sampled_again (&sampled), 0);
  assert_string_equal (sampled.table.error, "");
  assert_int_equal (getrlimit (RLIMIT_NOFILE, &limit), 0);
  assert_uint (&sampled, NULL, "open_files_max", limit.rlim_cur);
  assert_in_range (sampled_value (&sampled, NULL, "open_files")->as.u, 3, 100);
  assert_true (sampled_value (&sampled, NULL, "memory")->as.u > 500000);
  assert_true (sampled_value (&sampled, NULL, "virtual_memory")->as.u > sampled_value (&sampled, NULL, "memory")->as.u);
  assert_in_range (sampled_value (&sampled, NULL, "start_time")->as.u / 100, (uint64_t) time (NULL) - 600,
                   (uint64_t) time (NULL) + 1);
  assert_uint (&sampled, "load", "sample_time", 1500);
  assert_false (sampled_has_row (&sampled, "vm")); /* never sampled */
  assert_uint (&sampled, "agent", "sample_time", 42);
  sampled_close (&sampled);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (processes_by_state),
    cmocka_unit_test (machine_without_processes),
    cmocka_unit_test (the_agent_itself),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
