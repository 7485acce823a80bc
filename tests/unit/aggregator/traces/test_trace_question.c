/* What is asked for, as words: what is understood, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/traces/trace_desk.h"
#include "synop/clock.h"

static char words[8192];
static struct error error;

static int
question_read (struct trace_question *question, const char *text)
{
  snprintf (words, sizeof words, "%s", text);
  return trace_question_read (question, words, &error);
}

static void
test_whole (void **state)
{
  struct trace_question question;

  (void) state;
  assert_int_equal (question_read (&question, "begin\tjob=7\tnodes=n*,m1\tdelay=5\tduration=6\titerations=0\tlimit=3\t"
                                              "tool=kineto\toutput=/x/{job}-{node}-{rank}-{pid}\tranks=0,8-10\t"
                                              "options=A=1 B=2"),
                    0);
  assert_false (question.list);
  assert_string_equal (question.job, "7");
  assert_string_equal (question.nodes, "n*,m1");
  assert_string_equal (question.tool, "kineto");
  assert_string_equal (question.output, "/x/{job}-{node}-{rank}-{pid}");
  assert_string_equal (question.options, "A=1 B=2");
  assert_string_equal (question.user, "");
  assert_int_equal (question.delay_ns, 5);
  assert_int_equal (question.duration_ns, 6);
  assert_int_equal (question.iterations, 0);
  assert_int_equal (question.limit, 3);
  assert_int_equal (question.rank_count, 4);
  for (size_t i = 0; i < 4; i++)
    assert_int_equal (question.ranks[i], ((const uint32_t[]){ 0, 8, 9, 10 })[i]);
  assert_int_equal (question_read (&question, "begin\tjob=7\ttool=kineto\toutput=/x\titerations=3"), 0);
  assert_int_equal (question.iterations, 3);
  assert_int_equal (question.duration_ns, 0);
  assert_int_equal (question.rank_count, 0);
}

static void
test_list (void **state)
{
  struct trace_question question;

  (void) state;
  assert_int_equal (question_read (&question, "list"), 0);
  assert_true (question.list);
  assert_string_equal (question.job, "");
  assert_int_equal (question_read (&question, "list\tjob=7"), 0);
  assert_string_equal (question.job, "7");
}

#define GOOD "begin\tjob=7\ttool=kineto\toutput=/x\tduration=5"

static void
test_what_is_at_a_bound (void **state)
{
  struct trace_question question;

  (void) state;
  assert_int_equal (question_read (&question, GOOD "\tranks=0-63"), 0);
  assert_int_equal (question.rank_count, 64);
  assert_int_equal (question_read (&question, GOOD "\tranks=2147483647"), 0);
  assert_int_equal (question_read (&question, GOOD "\tdelay=3600000000000"), 0);
  assert_int_equal (question_read (&question, "begin\tjob=7\ttool=kineto\toutput=/x\titerations=1000000"), 0);
  assert_int_equal (question_read (&question, "begin\tjob=7\ttool=py-spy\toutput=/x\tduration=5\tranks=1"), 0);
  assert_int_equal (question_read (&question, "begin\tjob=7\ttool=rocprof\toutput=/x\tduration=5\tranks=1"), 0);
}

static void
test_what_is_wrong (void **state)
{
  static const struct {
    const char *text, *why;
  } wrong[] = {
    { "", "takes list or begin" },
    { "end", "takes list or begin" },
    { "begin\tjob", "NAME=VALUE" },
    { "begin\tfoo=1", "the word foo is not known" },
    { "begin\tjob=7\ttool=kineto\tduration=5", "takes job=, tool= and output=" },
    { "begin\tjob=7\toutput=/x\tduration=5", "takes job=, tool= and output=" },
    { "begin\ttool=kineto\toutput=/x\tduration=5", "takes job=, tool= and output=" },
    { "begin\tjob=7\ttool=kineto\toutput=/x", "either duration= or iterations=" },
    { GOOD "\titerations=2", "either duration= or iterations=" },
    { GOOD "\tranks=", "\"\" is neither" },
    { GOOD "\tranks=a", "\"a\" is neither" },
    { GOOD "\tranks=1,", "\"\" is neither" },
    { GOOD "\tranks=1-", "\"1-\" is neither" },
    { GOOD "\tranks=-1", "\"-1\" is neither" },
    { GOOD "\tranks=3-1", "\"3-1\" is neither" },
    { GOOD "\tranks=1-2-3", "\"1-2-3\" is neither" },
    { GOOD "\tranks=2147483648", "\"2147483648\" is neither" },
    { GOOD "\tranks=0-64", "no more than 64" },
    { GOOD "\tranks=1,0-63", "no more than 64" },
    { GOOD "\tdelay=3600000000001", "start: it is from now on" },
    { GOOD "\tdelay=-1", "start: it is from now on" },
    { GOOD "\tlimit=x", "a number from 0 to 1000000" },
    { GOOD "\tlimit=", "a number from 0 to 1000000" },
    { GOOD "\tlimit=1000001", "a number from 0 to 1000000" },
    { "begin\tjob=7\ttool=kineto\toutput=/{host}\tduration=5", "\"{host}\" is none of" },
    { "begin\tjob=7\ttool=kineto\toutput=/{job}{\tduration=5", "\"{\" is none of" },
    { "begin\tjob=7\ttool=perf\toutput=/x\tduration=5\tranks=1", "perf traces whole nodes" },
    { "begin\tjob=7\ttool=counters\toutput=/x\tduration=5\tlimit=1", "limit: goes with kineto alone" },
    { "begin\tjob=7\ttool=counters\toutput=/x\titerations=1", "iterations: go with kineto alone" },
    { GOOD "\tnodes=*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a", "too many stars" },
  };
  struct trace_question question;

  (void) state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    if (question_read (&question, wrong[i].text) != -1)
      fail_msg ("\"%s\" was understood", wrong[i].text);
    if (!strstr (error.text, wrong[i].why))
      fail_msg ("\"%s\": \"%s\" is not in \"%s\"", wrong[i].text, wrong[i].why, error.text);
  }
}

static void
test_what_is_too_long (void **state)
{
  struct trace_question question;
  char text[4096];

  (void) state;
  snprintf (text, sizeof text, GOOD "\tjob=%0*d", TRACE_JOB_MAX, 7);
  assert_int_equal (question_read (&question, text), 0);
  snprintf (text, sizeof text, GOOD "\tjob=%0*d", TRACE_JOB_MAX + 1, 7);
  assert_int_equal (question_read (&question, text), -1);
  assert_string_equal (error.text, "job: too long");
  snprintf (text, sizeof text, GOOD "\toutput=/%0*d", TRACE_PATH_MAX, 7);
  assert_int_equal (question_read (&question, text), -1);
  snprintf (text, sizeof text, GOOD "\toptions=%0*d", TRACE_OPTIONS_MAX + 1, 7);
  assert_int_equal (question_read (&question, text), -1);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_whole),
    cmocka_unit_test (test_list),
    cmocka_unit_test (test_what_is_wrong),
    cmocka_unit_test (test_what_is_at_a_bound),
    cmocka_unit_test (test_what_is_too_long),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
