/* neuron-monitor's reports of both generations as tables: values, sums of periods, what is stale, and what is no report. */
#include "tests/unit/agent/sampler_test.h"

#include <jansson.h>

#include "agent/neuron/neuron_report.h"
#include "synop/clock.h"

#define NEWER "tests/roots/neuron/newer.jsonl"
#define OLDER "tests/roots/neuron/older.jsonl"

static int
take_text (struct neuron_reports *reports, const char *text, size_t length, int64_t now_ns, struct error *error)
{
  json_t *report = neuron_report_parse (text, length, error);
  int rc = report ? neuron_reports_take (reports, report, now_ns, error) : -1;

  json_decref (report);
  return rc;
}

static int
take (struct neuron_reports *reports, const char *text, int64_t now_ns)
{
  struct error error = { "" };
  int rc = take_text (reports, text, strlen (text), now_ns, &error);

  assert_true (rc == 0 || error.text[0]);
  return rc;
}

/* The lines of a stream up to that one, a second between them. */
static void
take_lines (struct neuron_reports *reports, const char *path, int lines)
{
  char *line = NULL;
  size_t size = 0;
  FILE *file = fopen (path, "r");

  assert_non_null (file);
  for (int i = 1; i <= lines; i++) {
    assert_true (getline (&line, &size, file) > 0);
    assert_int_equal (take (reports, line, i * NS_PER_S), 0);
  }
  free (line);
  fclose (file);
}

/* As a sampler would show that kind at that time; for sampled_close_table. */
static struct sampled
filled (const struct neuron_reports *reports, enum neuron_kind kind, int64_t now_ns)
{
  static struct sampler samplers_of[NEURON_KINDS];
  struct sampled sampled = { .sampler = &samplers_of[kind] };

  samplers_of[kind].group = &neuron_groups[kind];
  table_init (&sampled.table, &neuron_groups[kind]);
  neuron_reports_fill (reports, kind, now_ns, &sampled.table);
  return sampled;
}

static void
test_newer (void **state)
{
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  take_lines (&reports, NEWER, 1);
  sampled = filled (&reports, NEURON_RUNTIMES, NS_PER_S);
  assert_int_equal (sampled.table.rows, 2);
  assert_uint (&sampled, "20843", "pid", 20843);
  assert_text (&sampled, "20843", "neuron_runtime_tag", "train");
  assert_missing (&sampled, "20843", "row_error");
  assert_missing (&sampled, "20843", "address");
  assert_text (&sampled, "21050", "row_error", "cannot reach the runtime");
  table_free (&sampled.table);

  sampled = filled (&reports, NEURON_CORES, NS_PER_S);
  assert_int_equal (sampled.table.rows, 2); /* the other runtime's are null */
  assert_real (&sampled, "20843/0", "neuroncore_utilization", 42.01);
  assert_uint (&sampled, "20843/0", "flops", UINT64_C (1234567891011));
  table_free (&sampled.table);

  sampled = filled (&reports, NEURON_EXECUTIONS, NS_PER_S);
  assert_uint (&sampled, "20843", "completed", 50);
  assert_real (&sampled, "20843", "total_latency_p100", 0.016);
  assert_text (&sampled, "21050", "row_error", "timed out");
  assert_missing (&sampled, "21050", "completed");
  table_free (&sampled.table);

  sampled = filled (&reports, NEURON_MEMORY, NS_PER_S);
  assert_uint (&sampled, "20843", "host", UINT64_C (6997643264));
  assert_uint (&sampled, "20843", "neuron_device", UINT64_C (12519788544));
  assert_uint (&sampled, "20843", "host_dma_buffers", 1048576);
  assert_missing (&sampled, "21050", "neuron_device");
  table_free (&sampled.table);

  sampled = filled (&reports, NEURON_CORE_MEMORY, NS_PER_S);
  assert_uint (&sampled, "20843/0", "model_code", 176285056);
  table_free (&sampled.table);

  sampled = filled (&reports, NEURON_MODELS, NS_PER_S);
  assert_int_equal (sampled.table.rows, 2);
  assert_text (&sampled, "20843/10005:sg_00", "name", "resnet/50");
  assert_uint (&sampled, "20843/10005:sg_00", "is_running", 1);
  assert_uint (&sampled, "20843/10005:sg_01", "neuron_device", 8192);
  assert_uint (&sampled, "20843/10005:sg_01", "neuron_device_index", 12);
  table_free (&sampled.table);

  sampled = filled (&reports, NEURON_HARDWARE, NS_PER_S);
  assert_uint (&sampled, NULL, "neuron_device_count", 2);
  assert_text (&sampled, "", "neuroncore_version", "v3d");
  assert_uint (&sampled, "", "neuron_device_memory_size", UINT64_C (103079215104));
  table_free (&sampled.table);

  sampled = filled (&reports, NEURON_INSTANCE, NS_PER_S);
  assert_text (&sampled, "", "availability_zone", "us-west-2b");
  table_free (&sampled.table);
  neuron_reports_free (&reports);
}

/* Counts of periods add up; what is no count any more leaves the sum as it was; a value too great to be one is none. */
static void
test_sums (void **state)
{
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  take_lines (&reports, NEWER, 3);
  sampled = filled (&reports, NEURON_EXECUTIONS, 3 * NS_PER_S);
  assert_uint (&sampled, "20843", "completed", 50 + 7);
  assert_uint (&sampled, "20843", "completed_with_err", 2 + 2 + 2);
  assert_uint (&sampled, "20843", "errors_numerical", 3);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_DEVICES, 3 * NS_PER_S);
  assert_uint (&sampled, "0", "mem_ecc_corrected", 3 + 2 + 1);
  assert_uint (&sampled, "1", "mem_ecc_uncorrected", 3);
  assert_missing (&sampled, "1", "sram_ecc_corrected");
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_CORES, 3 * NS_PER_S);
  assert_missing (&sampled, "20843/0", "flops");
  assert_missing (&sampled, "20843/0", "neuroncore_utilization");
  table_free (&sampled.table);
  neuron_reports_free (&reports);
}

/* Not even the sum of counts that can be, each alone. */
static void
test_sum_that_cannot_be (void **state)
{
  static const char great[] = "{\"neuron_runtime_data\":[{\"pid\":7,\"report\":{\"execution_stats\":{"
                              "\"execution_summary\":{\"completed\":9007199254740000}}}}]}";
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  for (int64_t second = 1; second <= 3; second++) {
    assert_int_equal (take (&reports, great, second * NS_PER_S), 0);
    sampled = filled (&reports, NEURON_EXECUTIONS, second * NS_PER_S);
    assert_uint (&sampled, "7", "completed", UINT64_C (9007199254740000));
    table_free (&sampled.table);
  }
  neuron_reports_free (&reports);
}

static void
test_older (void **state)
{
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  take_lines (&reports, OLDER, 2);
  sampled = filled (&reports, NEURON_RUNTIMES, 2 * NS_PER_S);
  assert_uint (&sampled, "0", "runtime_index", 0);
  assert_missing (&sampled, "0", "pid");
  assert_text (&sampled, "1", "row_error", "connection refused");
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_CORES, 2 * NS_PER_S);
  assert_real (&sampled, "0/0", "matmul_utilization", 12.5);
  assert_uint (&sampled, "0/0", "alignment_corrections", 4);
  assert_text (&sampled, "0/0", "active_models", "10001:sg_00,10002:sg_00");
  assert_missing (&sampled, "0/1", "active_models");
  assert_uint (&sampled, "0/1", "estimated_cycles", 987654);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_EXECUTIONS, 2 * NS_PER_S);
  assert_uint (&sampled, "0", "completed", 14);
  assert_missing (&sampled, "0", "total_latency_p50");
  assert_real (&sampled, "0", "device_latency_p50", 0.003);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_MEMORY, 2 * NS_PER_S);
  assert_uint (&sampled, "0", "neuron_device", 2097152);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_MODELS, 2 * NS_PER_S);
  assert_uint (&sampled, "0/7bea561aa46311ed910c02c01684f658:sg_00", "host", 1024);
  assert_uint (&sampled, "0/7bea561aa46311ed910c02c01684f658:sg_00", "neuroncore_index", 1);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_VCPU, 2 * NS_PER_S);
  assert_uint (&sampled, "0", "system", 3);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_DEVICES, 2 * NS_PER_S);
  assert_uint (&sampled, "0", "mem_ecc_corrected", 3);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_INSTANCE, 2 * NS_PER_S);
  assert_text (&sampled, "", "instance_type", "inf1.6xlarge");
  table_free (&sampled.table);
  neuron_reports_free (&reports);
}

/* A runtime that is in no report any more, and all of them when nothing comes. */
static void
test_stale (void **state)
{
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  assert_true (reports.patience_ns == 0);
  take_lines (&reports, NEWER, 3);
  assert_true (reports.patience_ns > 4 * NS_PER_S);
  assert_true (reports.patience_ns < 4.1 * NS_PER_S);
  sampled = filled (&reports, NEURON_RUNTIMES, 5.4 * NS_PER_S);
  assert_int_equal (sampled.table.rows, 2);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_RUNTIMES, 6 * NS_PER_S);
  assert_int_equal (sampled.table.rows, 1); /* the third line did not tell of the second */
  assert_true (sampled_has_row (&sampled, "20843"));
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_RUNTIMES, 7 * NS_PER_S);
  assert_int_equal (sampled.table.rows, 0);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_HARDWARE, 700 * NS_PER_S);
  assert_int_equal (sampled.table.rows, 1); /* a fact */
  table_free (&sampled.table);
  neuron_reports_free (&reports);
}

/* A group of a longer period is told with each report, as it was. */
static void
test_repeated (void **state)
{
  static const char slow[] =
      "{\"neuron_runtime_data\":[{\"pid\":7,\"report\":{\"execution_stats\":{\"period\":5.000123,"
      "\"execution_summary\":{\"completed\":10}}}}]}";
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  assert_int_equal (take (&reports, slow, 1 * NS_PER_S), 0);
  assert_int_equal (take (&reports, slow, 2 * NS_PER_S), 0);
  assert_int_equal (take (&reports, slow, 3 * NS_PER_S), 0);
  sampled = filled (&reports, NEURON_EXECUTIONS, 3 * NS_PER_S);
  assert_uint (&sampled, "7", "completed", 10);
  table_free (&sampled.table);
  assert_int_equal (take (&reports, slow, 6 * NS_PER_S), 0); /* the period has passed: these are others */
  sampled = filled (&reports, NEURON_EXECUTIONS, 6 * NS_PER_S);
  assert_uint (&sampled, "7", "completed", 20);
  table_free (&sampled.table);
  neuron_reports_free (&reports);
}

/* A runtime whose groups all have a long period is there between its reports, and for some of them after. */
static void
test_slow_runtime (void **state)
{
  static const char slow[] = "{\"neuron_runtime_data\":[{\"pid\":7,\"report\":{\"memory_used\":{\"period\":30},"
                             "\"execution_stats\":{\"period\":10}}}]}";
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  assert_int_equal (take (&reports, slow, NS_PER_S), 0);
  for (int64_t second = 2; second < 100; second++) {
    sampled = filled (&reports, NEURON_RUNTIMES, second * NS_PER_S);
    assert_int_equal (sampled.table.rows, second <= 77);
    table_free (&sampled.table);
    sampled = filled (&reports, NEURON_EXECUTIONS, second * NS_PER_S);
    assert_int_equal (sampled.table.rows, second <= 27);
    table_free (&sampled.table);
  }
  neuron_reports_free (&reports);
}

/* In the older generation each runtime tells of its devices. */
static void
test_runtimes_that_share_a_device (void **state)
{
  static const char both[] =
      "{\"runtime_data\":[{\"runtime_index\":0,\"report\":{\"hw_counters\":{\"devices\":[{\"device_index\":0,"
      "\"mem_ecc_corrected\":3},{\"device_index\":1}]}}},{\"runtime_index\":1,\"report\":{\"hw_counters\":{"
      "\"devices\":[{\"device_index\":1},{\"device_index\":0,\"mem_ecc_corrected\":3},{\"device_index\":2}]}}}]}";
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  assert_int_equal (take (&reports, both, NS_PER_S), 0);
  sampled = filled (&reports, NEURON_DEVICES, NS_PER_S);
  assert_int_equal (sampled.table.rows, 3); /* a name that is there twice were no JSON */
  assert_uint (&sampled, "0", "mem_ecc_corrected", 3);
  table_free (&sampled.table);
  neuron_reports_free (&reports);
}

/* A group without rows tells its error in the runtime's row; one with rows has them alone. */
static void
test_errors_of_groups (void **state)
{
  static const char line[] =
      "{\"neuron_runtime_data\":[{\"pid\":7,\"error\":\"\",\"report\":{"
      "\"neuroncore_counters\":{\"period\":1,\"error\":\"timed out\",\"neuroncores_in_use\":null},"
      "\"memory_used\":{\"period\":1,\"error\":\"gone\",\"loaded_models\":[]},"
      "\"neuron_runtime_vcpu_usage\":{\"period\":1,\"error\":\"\",\"vcpu_usage\":{\"user\":1.5}}}},"
      "{\"pid\":8,\"report\":{\"neuroncore_counters\":{\"error\":\"\",\"neuroncores_in_use\":{\"1\":{}}}}}]}";
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  assert_int_equal (take (&reports, line, NS_PER_S), 0);
  sampled = filled (&reports, NEURON_CORES, NS_PER_S);
  assert_int_equal (sampled.table.rows, 2);
  assert_text (&sampled, "7", "row_error", "timed out");
  assert_missing (&sampled, "8/1", "row_error");
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_MODELS, NS_PER_S);
  assert_text (&sampled, "7", "row_error", "gone");
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_MEMORY, NS_PER_S);
  assert_text (&sampled, "7", "row_error", "gone");
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_VCPU, NS_PER_S);
  assert_missing (&sampled, "7", "row_error");
  assert_real (&sampled, "7", "user", 1.5);
  table_free (&sampled.table);
  sampled = filled (&reports, NEURON_RUNTIMES, NS_PER_S);
  assert_missing (&sampled, "7", "row_error"); /* its groups have them */
  table_free (&sampled.table);
  neuron_reports_free (&reports);
}

static void
test_what_is_no_report (void **state)
{
  static const char *const bad[] = { "",
                                     "neuron-monitor: starting",
                                     "{\"neuron_runtime_data\": [",
                                     "[]",
                                     "{}",
                                     "12",
                                     "null",
                                     "{\"runtimes\": []}",
                                     "{\"system_data\": {}} {\"system_data\": {}}",
                                     "\xff\xfe{\"system_data\": {}}" };
  static const char *const odd[] = {
    "{\"neuron_runtime_data\": null, \"system_data\": null, \"instance_info\": null, \"neuron_hardware_info\": null}",
    "{\"neuron_runtime_data\": {\"pid\": 3}, \"system_data\": []}",
    "{\"neuron_runtime_data\": [null, 3, \"x\", [], {}]}",
    "{\"neuron_runtime_data\": [{\"pid\": \"x\", \"report\": {\"memory_used\": 3, \"execution_stats\": []}}]}",
    "{\"neuron_runtime_data\": [{\"pid\": -1, \"report\": {\"memory_used\": {\"loaded_models\": [null, {\"subgraphs\": "
    "3}, {\"subgraphs\": {\"a\": null}}], \"neuron_runtime_used_bytes\": 7}}}]}",
    "{\"system_data\": {\"neuron_hw_counters\": {\"period\": \"x\", \"neuron_devices\": [null, "
    "{\"neuron_device_index\": -3, \"mem_ecc_corrected\": -1}, {\"mem_ecc_corrected\": \"many\"}]}}}",
  };
  struct neuron_reports reports = { 0 };

  (void) state;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal (take (&reports, bad[i], NS_PER_S), -1);
  assert_true (reports.reported_ns == 0);
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    assert_int_equal (take (&reports, odd[i], NS_PER_S), 0);
    for (int kind = 0; kind < NEURON_KINDS; kind++) {
      struct sampled sampled = filled (&reports, (enum neuron_kind) kind, NS_PER_S);

      table_free (&sampled.table);
    }
  }
  neuron_reports_free (&reports);
}

/* A report of the runtimes from `first` on, and of runtime 1 behind them, each with an execution more. */
static void
take_runtimes (struct neuron_reports *reports, int first, int count, int64_t now_ns)
{
  static const char form[] =
      "{\"pid\": %d, \"report\": {\"execution_stats\": {\"execution_summary\": {\"completed\": 1}}}}";
  struct buffer line = { 0 };
  struct error error;

  buffer_add_string (&line, "{\"neuron_runtime_data\": [");
  for (int i = 0; i < count; i++) {
    buffer_printf (&line, form, first + i);
    buffer_add_string (&line, ",");
  }
  buffer_printf (&line, form, 1);
  buffer_add_string (&line, "]}");
  assert_int_equal (take_text (reports, line.data, line.length, now_ns, &error), 0);
  buffer_free (&line);
}

/* Of one report that tells of too many the first are shown, and how many are not. */
static void
test_many_runtimes (void **state)
{
  struct neuron_reports reports = { 0 };
  struct sampled sampled;
  const char *label;
  size_t length;

  (void) state;
  for (int64_t second = 1; second <= 2; second++) {
    take_runtimes (&reports, 10000, 2999, second * NS_PER_S);
    sampled = filled (&reports, NEURON_EXECUTIONS, second * NS_PER_S);
    assert_int_equal (sampled.table.rows, 1024);
    label = table_label (&sampled.table, 0, &length);
    assert_memory_equal (label, "10000", length);
    assert_uint (&sampled, "11023", "completed", (uint64_t) second);
    assert_string_equal (sampled.table.error, "1976 runtimes above the limit of 1024 are left out");
    table_free (&sampled.table);
  }
  take_runtimes (&reports, 11000, 1023, 3 * NS_PER_S); /* as many as there is room for */
  sampled = filled (&reports, NEURON_EXECUTIONS, 3 * NS_PER_S);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, "11023", "completed", 3);
  assert_uint (&sampled, "12022", "completed", 1);
  assert_uint (&sampled, "1", "completed", 1);
  table_free (&sampled.table);
  assert_int_equal (take (&reports, "{\"neuron_runtime_data\": []}", 604 * NS_PER_S), 0);
  assert_int_equal (HASH_COUNT (reports.of[NEURON_RUNTIMES].oldest), 0); /* forgotten */
  neuron_reports_free (&reports);
}

/* Runtimes that live shortly, thousands in all: each is shown, and the one that stays goes on counting, though others
 * come before it in reports when there is no room left. */
static void
test_runtimes_that_come_and_go (void **state)
{
  struct neuron_reports reports = { 0 };
  struct sampled sampled;
  char label[16];

  (void) state;
  for (int i = 1; i <= 40; i++) {
    take_runtimes (&reports, 100000 - 100 * i, 100, i * NS_PER_S);
    for (int kind = 0; kind < NEURON_KINDS; kind++)
      assert_in_range (HASH_COUNT (reports.of[kind].oldest), 0, 1024);
    sampled = filled (&reports, NEURON_EXECUTIONS, i * NS_PER_S);
    assert_string_equal (sampled.table.error, "");
    for (int k = 0; k < 100; k++) {
      snprintf (label, sizeof label, "%d", 100000 - 100 * i + k);
      assert_uint (&sampled, label, "completed", 1);
    }
    assert_uint (&sampled, "1", "completed", (uint64_t) i);
    table_free (&sampled.table);
  }
  neuron_reports_free (&reports);
}

/* When there is no room left, new ones that stand in front do not push out those that the same report tells of later. */
static void
test_new_runtimes_in_front (void **state)
{
  struct neuron_reports reports = { 0 };
  struct sampled sampled;

  (void) state;
  take_runtimes (&reports, 2000, 1023, NS_PER_S);
  take_runtimes (&reports, 1999, 1023, 2 * NS_PER_S); /* one more, and 3022 no more */
  sampled = filled (&reports, NEURON_EXECUTIONS, 2 * NS_PER_S);
  assert_int_equal (sampled.table.rows, 1024);
  assert_string_equal (sampled.table.error, "");
  assert_uint (&sampled, "1999", "completed", 1);
  assert_uint (&sampled, "2000", "completed", 2);
  assert_uint (&sampled, "3021", "completed", 2);
  assert_uint (&sampled, "1", "completed", 2);
  table_free (&sampled.table);
  neuron_reports_free (&reports);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_newer),
    cmocka_unit_test (test_sums),
    cmocka_unit_test (test_sum_that_cannot_be),
    cmocka_unit_test (test_older),
    cmocka_unit_test (test_stale),
    cmocka_unit_test (test_repeated),
    cmocka_unit_test (test_what_is_no_report),
    cmocka_unit_test (test_many_runtimes),
    cmocka_unit_test (test_runtimes_that_come_and_go),
    cmocka_unit_test (test_new_runtimes_in_front),
    cmocka_unit_test (test_runtimes_that_share_a_device),
    cmocka_unit_test (test_errors_of_groups),
    cmocka_unit_test (test_slow_runtime),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
