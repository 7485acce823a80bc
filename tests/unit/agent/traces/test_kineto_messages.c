/* Kineto's datagrams, the texts of a trace, and what the kernel says of a process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/traces/kineto_messages.h"
#include "agent/traces/peer.h"
#include "agent/traces/trace_text.h"
#include "agent/traces/trace_tool.h"
#include "synop/clock.h"

/* ---- datagrams ---- */

static size_t
make (char *bytes, const char *type, uint64_t size, const void *payload, size_t length)
{
  memset (bytes, 0, KINETO_HEAD);
  memcpy (bytes, &size, sizeof size);
  strncpy (bytes + 8, type, 32);
  memcpy (bytes + KINETO_HEAD, payload, length);
  return KINETO_HEAD + length;
}

static void
test_context (void **state)
{
  const struct {
    int32_t gpu, pid;
    int64_t job;
  } context = { 3, 4711, 123 };
  struct kineto_message message;
  char bytes[256];

  (void) state;
  assert_true (kineto_read (&message, bytes, make (bytes, "ctxt", 16, &context, 16)));
  assert_int_equal (message.kind, KINETO_CONTEXT);
  assert_int_equal (message.gpu, 3);
  assert_int_equal (message.pid, 4711);
  assert_false (kineto_read (&message, bytes, make (bytes, "ctxt", 15, &context, 15)));
  assert_false (kineto_read (&message, bytes, make (bytes, "ctxt", 16, &context, 12)));
  assert_false (kineto_read (&message, bytes, make (bytes, "ctxtx", 16, &context, 16)));
  make (bytes, "ctxt", 16, &context, 16);
  memset (bytes + 8, 'c', 32); /* no end */
  assert_false (kineto_read (&message, bytes, KINETO_HEAD + 16));
  for (size_t length = 0; length < KINETO_HEAD + 16; length++) {
    make (bytes, "ctxt", 16, &context, 16);
    assert_false (kineto_read (&message, bytes, length));
  }
}

static void
test_request (void **state)
{
  int32_t request[4 + KINETO_PIDS_MAX + 1] = { 2, 3, 0, 0, 10, 9, 8 };
  struct kineto_message message;
  char bytes[KINETO_HEAD + sizeof request];

  (void) state;
  assert_true (kineto_read (&message, bytes, make (bytes, "req", 28, request, 28)));
  assert_int_equal (message.kind, KINETO_REQUEST);
  assert_true (message.activities);
  assert_int_equal (message.pid, 10);
  assert_int_equal (message.gpu, -1);
  assert_false (kineto_read (&message, bytes, make (bytes, "req", 24, request, 24)));
  assert_false (kineto_read (&message, bytes, make (bytes, "req", 32, request, 32)));
  request[1] = -1;
  assert_false (kineto_read (&message, bytes, make (bytes, "req", 12, request, 12)));
  request[1] = 0;
  request[0] = 1;
  assert_true (kineto_read (&message, bytes, make (bytes, "req", 16, request, 16)));
  assert_false (message.activities);
  assert_int_equal (message.pid, 0);
  request[1] = KINETO_PIDS_MAX + 1;
  assert_false (kineto_read (&message, bytes, make (bytes, "req", sizeof request, request, sizeof request)));
}

static void
test_answer (void **state)
{
  static const char head[16] = { 4, 0, 0, 0, 0, 0, 0, 0, 'r', 'e', 'q' };
  char bytes[KINETO_HEAD + 4];

  (void) state;
  memset (bytes, 'x', sizeof bytes);
  assert_int_equal (kineto_write (bytes, KINETO_REQUEST, "A=1\n", 4), KINETO_HEAD + 4);
  assert_memory_equal (bytes, head, sizeof head);
  assert_memory_equal (bytes + KINETO_HEAD, "A=1\n", 4);
  assert_int_equal (kineto_write (bytes, KINETO_REQUEST, NULL, 0), KINETO_HEAD);
}

/* ---- paths ---- */

static void
test_path (void **state)
{
  const struct trace_words words = { "12/0", "n1", 7, 4711 }, unknown = { "12", "n1", -1, 4711 };
  static const char *const wrong[] = {
    "", "relative/x", "/a/../b", "/a/./b", "/a//b", "/a/", "/a/{rank", "/a/rank}", "/a/{uid}", "/a/\nb", "/..", "/a/..",
  };
  char path[TRACES_PATH_MAX + 1], large[TRACES_PATH_MAX + 1];
  struct error error;

  (void) state;
  assert_int_equal (trace_path ("/t/{job}/{node}-{rank}_{pid}.json", &words, path, &error), 0);
  assert_string_equal (path, "/t/12_0/n1-7_4711.json");
  assert_int_equal (trace_path ("/t/{rank}", &unknown, path, &error), 0);
  assert_string_equal (path, "/t/pid4711");
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_int_equal (trace_path (wrong[i], &words, path, &error), -1);
  memset (large, 'a', sizeof large);
  large[0] = '/';
  large[sizeof large - 1] = 0;
  assert_int_equal (trace_path (large, &words, path, &error), 0);
  assert_int_equal (strlen (path), TRACES_PATH_MAX);
  memcpy (large + TRACES_PATH_MAX - 5, "{job}", 5); /* five bytes become four: it fits still */
  assert_int_equal (trace_path (large, &words, path, &error), 0);
  memcpy (large + TRACES_PATH_MAX - 6, "{rank}", 6);
  memcpy (large + 2, "{node}{node}{node}{node}", 24);
  assert_int_equal (trace_path (large, &words, path, &error), 0);
  assert_int_equal (trace_path (large, &(struct trace_words){ "1", "a-very-long-name", 1, 1 }, path, &error), -1);
}

static void
test_folders (void **state)
{
  struct error error;
  size_t behind = 0;

  (void) state;
  assert_int_equal (trace_path_check ("/shared/t/x", "/tmp,/shared/t/", &behind, &error), 0);
  assert_int_equal (behind, strlen ("/shared/t/"));
  assert_int_equal (trace_path_check ("/shared/tx", "/tmp,/shared/t", &behind, &error), -1);
  assert_int_equal (trace_path_check ("/shared/t", "/shared/t", &behind, &error), -1);
  assert_int_equal (trace_path_check ("/x", "/", &behind, &error), 0);
  assert_int_equal (behind, 1);
  assert_int_equal (trace_path_check ("/tmp/x", "", &behind, &error), -1);
  assert_non_null (strstr (error.text, "folders"));
}

static void
test_kineto_path (void **state)
{
  char other[TRACES_PATH_MAX + 1];

  (void) state;
  assert_true (trace_path_kineto ("/t/n1-0.json", 12, other));
  assert_string_equal (other, "/t/n1-0_12.json");
  assert_true (trace_path_kineto ("/t/a.pt.trace.json.gz", 12, other));
  assert_string_equal (other, "/t/a_12.pt.trace.json.gz");
  assert_false (trace_path_kineto ("/t/a.trace", 12, other));
}

/* ---- configurations ---- */

static void
test_config (void **state)
{
  struct traces_request request = { .duration_ns = 500 * NS_PER_MS, .config = "PROFILE_WITH_STACK=true" };
  char text[KINETO_ANSWER_MAX];
  size_t length = trace_config (text, &request, "/t/a", 1700000000123000000, 10 * NS_PER_S);

  (void) state;
  assert_int_equal (length, strlen (text));
  assert_string_equal (text, "PROFILE_START_TIME=1700000000123\nACTIVITIES_DURATION_MSECS=500\n"
                             "ACTIVITIES_WARMUP_PERIOD_SECS=5\nACTIVITIES_LOG_FILE=/t/a\nPROFILE_WITH_STACK=true\n");
  assert_true (trace_config (text, &request, "/t/a", 1700000000123999999, 3050 * NS_PER_MS));
  assert_non_null (strstr (text, "PROFILE_START_TIME=1700000000123\n"));
  assert_non_null (strstr (text, "WARMUP_PERIOD_SECS=2\n"));
  assert_int_equal (trace_config (text, &request, "/t/a", 0, 99 * NS_PER_MS), 0);
  assert_int_equal (trace_config (text, &request, "/t/a", 0, -1), 0);
  request.iterations = 3;
  request.config = "";
  assert_true (trace_config (text, &request, "/t/a", 0, -1));
  assert_string_equal (text, "PROFILE_START_ITERATION=0\nACTIVITIES_ITERATIONS=3\nPROFILE_START_ITERATION_ROUNDUP=10\n"
                             "ACTIVITIES_LOG_FILE=/t/a\n");
}

static void
test_config_check (void **state)
{
  static const char *const wrong[] = { "A",
                                       "=1",
                                       "a=1",
                                       "A B=1",
                                       "ACTIVITIES_LOG_FILE=/etc/passwd",
                                       "A=1\nACTIVITIES_LOG_FILE=/x",
                                       "A=1\r\n",
                                       "A=1#B",
                                       "PROFILE_START_TIME=1",
                                       "ACTIVITIES_DURATION_MSECS=9",
                                       "ACTIVITIES_LOG_URL=x" };
  static const char *const groups[] = { "load", "gpu", NULL };
  char large[TRACES_CONFIG_MAX + 2];
  struct error error;

  (void) state;
  assert_int_equal (trace_config_check (TRACES_KINETO, "", &error), 0);
  assert_int_equal (trace_config_check (TRACES_KINETO, "A=1\n\nB_2=x y\n", &error), 0);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_int_equal (trace_config_check (TRACES_KINETO, wrong[i], &error), -1);
  memset (large, 'a', sizeof large);
  memcpy (large, "A=", 2);
  large[sizeof large - 1] = 0;
  assert_int_equal (trace_config_check (TRACES_KINETO, large, &error), -1);
  large[sizeof large - 2] = 0;
  assert_int_equal (trace_config_check (TRACES_KINETO, large, &error), 0);
  assert_int_equal (trace_config_check (TRACES_PERF, "A=1", &error), -1);
  assert_int_equal (trace_config_check (TRACES_COUNTERS, "groups=gpu\nperiod=10ms", &error), 0);
  assert_int_equal (trace_config_check (TRACES_COUNTERS, "A=1", &error), -1);
  assert_int_equal (tool_check_counters ("groups=gpu,load\nperiod=10ms", groups, &error), 0);
  assert_int_equal (tool_check_counters ("groups=gpus", groups, &error), -1);
  assert_int_equal (tool_check_counters ("groups=gpu\nperiod=9ms", groups, &error), -1);
  assert_int_equal (tool_check_counters ("groups=gpu\nperiod=101ms", groups, &error), -1);
}

/* ---- processes ---- */

static void
test_status (void **state)
{
  struct peer peer = { .pid = 4711 };

  (void) state;
  assert_true (peer_parse_status (&peer, "Name:\tpython\nNSpid:\t4711\t12\t3\nUid:\t5\t5\t5\t5\nGid:\t6\t7\t6\t6\n"
                                         "Groups:\t6 20 30 \nThreads:\t1\n"));
  assert_int_equal (peer.uid, 5);
  assert_int_equal (peer.gid, 6);
  assert_int_equal (peer.group_count, 3);
  assert_true (peer_is_in (&peer, 30));
  assert_false (peer_is_in (&peer, 3));
  assert_true (peer_calls_itself (&peer, 3));
  assert_true (peer_calls_itself (&peer, 4711));
  assert_false (peer_calls_itself (&peer, 6));
  assert_false (peer_parse_status (&peer, "Name:\tx\nUid:\t5\t0\t5\t5\nGid:\t6\n")); /* it changes its user */
  assert_false (peer_parse_status (&peer, "Name:\tx\nUid:\t5\t5\t0\t5\nGid:\t6\n"));
  assert_false (peer_parse_status (&peer, "Name:\tx\n"));
}

static void
test_rank (void **state)
{
  static const char slurm[] = "A=1\0SLURM_PROCID=12\0RANK=7", none[] = "RANK=x\0PMI_RANK=-1",
                    mpi[] = "OMPI_COMM_WORLD_RANK=3";

  (void) state;
  assert_int_equal (peer_rank (slurm, sizeof slurm), 7);
  assert_int_equal (peer_rank (none, sizeof none), -1);
  assert_int_equal (peer_rank (mpi, sizeof mpi), 3);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_context), cmocka_unit_test (test_request),      cmocka_unit_test (test_answer),
    cmocka_unit_test (test_path),    cmocka_unit_test (test_folders),      cmocka_unit_test (test_kineto_path),
    cmocka_unit_test (test_config),  cmocka_unit_test (test_config_check), cmocka_unit_test (test_status),
    cmocka_unit_test (test_rank),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
