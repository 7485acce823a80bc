/* Words of schedulers: ids, command lines without their secrets, amounts, durations; and facts as JSON and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/scheduler/scheduler.h"
#include "synop/clock.h"
#include "synop/json.h"

static void
command_is (const char *line, const char *shown)
{
  char *command = scheduler_command (line);

  assert_string_equal (command, shown);
  free (command);
}

static void
test_commands (void **state)
{
  (void) state;
  command_is ("sbatch -n 4 --mem=20G train.sh  --epochs 5", "sbatch -n 4 --mem=20G train.sh --epochs 5");
  command_is ("/home/ana/very/long/path/of/a/script/run_2026_11_23_v7.sh",
              "/home/ana/very/long/path/of/a/script/run_2026_11_23_v7.sh");
  command_is ("sbatch --export=ALL,TOKEN=abc run.sh", "sbatch --export=*** run.sh");
  command_is ("srun ./x --password hunter2 y", "srun ./x --password *** y");
  command_is ("srun ./x --api-key=12 y", "srun ./x --api-key=*** y");
  command_is ("env DB_PASS=a srun x", "env DB_PASS=*** srun x");
  command_is ("curl -H Authorization: Bearer xyz", "curl -H Authorization: *** ***");
  command_is ("git clone https://ana:pw1@host/x", "git clone https://***@host/x");
  command_is ("run gh"
              "p_16C7e42F292c6912E7710c838347Ae178B4a",
              "run ***");
  command_is ("run --id=16C7e42F292c6912E7710c838347Ae178B4a", "run --id=***");
  command_is ("srun x -k 5 --keep y", "srun x -k 5 --keep y");
  command_is ("", "");
}

static void
test_numbers (void **state)
{
  (void) state;
  assert_true (scheduler_bytes ("4gb", 1) == 4.0 * (1 << 30));
  assert_true (scheduler_bytes ("300M", 1) == 300.0 * (1 << 20));
  assert_true (scheduler_bytes ("2097152kb", 1) == 2097152.0 * 1024);
  assert_true (scheduler_bytes ("12", 1024) == 12 * 1024);
  assert_true (scheduler_bytes ("12b", 1024) == 12);
  assert_true (scheduler_bytes ("1.5 T", 1) == 1.5 * 1024 * (1 << 30));
  assert_true (isnan (scheduler_bytes ("none", 1)) && isnan (scheduler_bytes ("-3M", 1)));
  assert_true (isnan (scheduler_bytes (NULL, 1)) && isnan (scheduler_bytes ("3 parsecs", 1)));
  assert_true (isnan (scheduler_bytes ("inf", 1)));
  assert_true (scheduler_seconds ("1-02:03:04") == 93784);
  assert_true (scheduler_seconds ("02:03:04") == 7384);
  assert_true (scheduler_seconds ("03:04") == 184);
  assert_true (scheduler_seconds ("90") == 90);
  assert_true (isnan (scheduler_seconds ("UNLIMITED")) && isnan (scheduler_seconds (NULL)));
  assert_true (isnan (scheduler_seconds ("-5")) && isnan (scheduler_seconds ("")));
  assert_true (scheduler_time (1.5) == INT64_C (1500000000) && scheduler_time (4e9) == INT64_C (4000000000000000000));
  assert_true (scheduler_time (0) == 0 && scheduler_time (-1) == 0 && scheduler_time (5e9) == 0 &&
               scheduler_time (nan ("")) == 0);
}

static void
test_tres (void **state)
{
  struct job_facts facts;

  (void) state;
  job_facts_init (&facts);
  scheduler_set_tres (&facts, "billing=2,cpu=2,gres/gpu:a100=3,gres/gpu=3,mem=600M,node=2");
  scheduler_share_memory (&facts);
  assert_true (facts.numbers[JOB_FACT_CPUS] == 2 && facts.numbers[JOB_FACT_NODES] == 2);
  assert_true (facts.numbers[JOB_FACT_MEMORY] == 600.0 * (1 << 20));
  assert_true (facts.numbers[JOB_FACT_MEMORY_PER_NODE] == 300.0 * (1 << 20));
  assert_true (facts.numbers[JOB_FACT_GPUS] == 3);
  assert_string_equal (facts.texts[JOB_FACT_GPU_TYPE], "a100");
  scheduler_set_tres (&facts, ",,=,cpu,cpu=,=3,cpu==,mem=-1M,node=nan,gres/gpu:=x");
  assert_true (facts.numbers[JOB_FACT_CPUS] == 2 && facts.numbers[JOB_FACT_NODES] == 2);
  job_facts_free (&facts);
}

static void
fill (struct job_facts *facts)
{
  job_facts_init (facts);
  facts->outcome = JOB_OUTCOME_TIMEOUT;
  facts->final = facts->known = true;
  job_facts_set_text (facts, JOB_FACT_STATE, "TIMEOUT", 7);
  job_facts_set_text (facts, JOB_FACT_COMMAND, "a\033[31m\"\\\n\xff z", 11);
  facts->numbers[JOB_FACT_EXIT_CODE] = 0;
  facts->numbers[JOB_FACT_MEMORY] = 20.0 * (1 << 30);
  facts->times_ns[JOB_FACT_SUBMITTED] = 1795407741 * NS_PER_S;
  facts->times_ns[JOB_FACT_STARTED] = 1795407800 * NS_PER_S + 250 * NS_PER_MS;
}

/* What was written is read back. */
static void
test_json (void **state)
{
  struct job_facts facts, back, copy;
  struct json json = { 0 }, again = { 0 };

  (void) state;
  fill (&facts);
  job_facts_write (&json, &facts);
  assert_int_equal (job_facts_read (&back, buffer_text (&json.out)), 0);
  job_facts_copy (&copy, &back);
  job_facts_write (&again, &copy);
  assert_string_equal (buffer_text (&json.out), buffer_text (&again.out));
  assert_int_equal (back.times_ns[JOB_FACT_STARTED], facts.times_ns[JOB_FACT_STARTED]);
  assert_string_equal (back.texts[JOB_FACT_COMMAND], "a_[31m\"\\__ ");
  assert_true (job_facts_wait (&back) == 59.25);
  assert_true (isnan (back.numbers[JOB_FACT_GPUS]) && back.final && back.known);
  job_facts_free (&facts);
  job_facts_free (&back);
  job_facts_free (&copy);
  json_free (&json);
  json_free (&again);
}

static void
test_json_of_others (void **state)
{
  static const char *const none[] = { "", "null", "[]", "7", "{", "\"x\"", "{\"outcome\"}" };
  struct job_facts facts;

  (void) state;
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
    assert_int_equal (job_facts_read (&facts, none[i]), -1);
    assert_true (job_facts_are_empty (&facts));
  }
  assert_int_equal (
      job_facts_read (&facts, "{\"outcome\":\"odd\",\"submitted\":\"soon\",\"cpus\":\"many\",\"state\":7}"), 0);
  assert_true (facts.known && facts.outcome == JOB_OUTCOME_UNKNOWN && facts.times_ns[0] == 0);
  job_facts_free (&facts);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_commands), cmocka_unit_test (test_numbers),        cmocka_unit_test (test_tres),
    cmocka_unit_test (test_json),     cmocka_unit_test (test_json_of_others),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
