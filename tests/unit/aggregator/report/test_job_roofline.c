/* How a job computed: machines that do so many instructions, operations and bytes a second play into a history, and the
 * report must find these rates again, what they are of the peaks, and the sentences that follow. */
#include "aggregator/report/job_plot.h"
#include "aggregator/report/job_roofline.h"
#include "aggregator/report/job_sheet.h"
#include "tests/unit/aggregator/report/job_history.h"

#define COUNT(NAME)                                                                                                    \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, .help = "A count."                                                            \
  }
#define PEAK(NAME)                                                                                                     \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "A peak."                                               \
  }
enum counter { INSTRUCTIONS, CYCLES, TASK_TIME, FLOP, DOUBLE, SINGLE, SCALAR, READ_ESTIMATE, WRITTEN_ESTIMATE };
static const struct metric counted_metrics[] = {
  COUNT ("instructions"),
  COUNT ("cycles"),
  { "task_time", COUNTER, UNIT_SECONDS, FOLD_SUM, .per = 1000000000, .help = "Time." },
  COUNT ("flop"),
  COUNT ("flop_double"),
  COUNT ("flop_single"),
  COUNT ("flop_scalar"),
  COUNT ("read_estimate"),
  COUNT ("written_estimate"),
};
static const struct metric flops_metrics[] = { COUNT ("flop"), COUNT ("flop_double"), COUNT ("flop_single"),
                                               COUNT ("flop_scalar") };
static const struct metric bandwidth_metrics[] = { COUNT ("bytes") };
static const struct metric peaks_metrics[] = { PEAK ("memory_bandwidth"), PEAK ("flops_double"),
                                               PEAK ("flops_single") };

enum { CPU, COUNTERS, FLOPS, BANDWIDTH, PEAKS, IO, GROUPS };
#define SOCKETS(NAME, METRICS)                                                                                         \
  {                                                                                                                    \
    NAME, "system_data", "socket", "sockets", "total", 0, "A group.", GROUP_METRICS (METRICS)                          \
  }
static const struct group groups[] = {
  [CPU] = JOB_GROUP (job_cpu),
  [COUNTERS] = { "job_counters", "job_data", "job", "jobs", "total", 0, "A group.", counted_metrics, TASK_TIME + 1 },
  [FLOPS] = SOCKETS ("cpu_flops", flops_metrics),
  [BANDWIDTH] = SOCKETS ("memory_bandwidth", bandwidth_metrics),
  [PEAKS] = { "node_peaks", "system_data", "", "", "", 0, "A group.", GROUP_METRICS (peaks_metrics) },
  [IO] = JOB_GROUP (job_io),
};
/* An agent that counts operations for each job too. */
static const struct group own_counters = { "job_counters", "job_data", "job",      "jobs",
                                           "total",        0,          "A group.", GROUP_METRICS (counted_metrics) };

/* Each second. */
struct machine {
  const char *name;
  double busy; /* of 4 CPUs */
  double ghz, ipc;
  double in_double, in_single, scalar; /* operations; NaN: not parted */
  double bytes;
  double peak_bandwidth, peak_double, peak_single;
  double estimate; /* bytes read by the job's cores; half as many are written */
  double read;     /* from storage */
  bool own;        /* counts operations of each job */
  bool shared;
  bool no_cycles, no_flops, no_bytes, off;
  double peaks_at; /* when the peaks are sampled */
};

static const struct machine plain = {
  "n1", 4, 2.5, 1.5, 60e9, 40e9, 5e9, 50e9, .peak_bandwidth = 200e9, .peak_double = 1e12, .peak_single = 2e12
};

static void
add_operations (struct table *table, size_t row, size_t column, const struct machine *machine, double seconds)
{
  bool parted = !isnan (machine->in_single);

  table_set_uint (table, row, column, (uint64_t) ((machine->in_double + (parted ? machine->in_single : 0)) * seconds));
  if (parted) {
    table_set_uint (table, row, column + 1, (uint64_t) (machine->in_double * seconds));
    table_set_uint (table, row, column + 2, (uint64_t) (machine->in_single * seconds));
  }
  if (!isnan (machine->scalar))
    table_set_uint (table, row, column + 3, (uint64_t) (machine->scalar * seconds));
}

/* Two sockets, of which the second does three quarters, since long before the job. */
static void
add_sockets (struct table tables[GROUPS], const struct machine *machine, double seconds)
{
  static const char *const labels[] = { "0", "1" };

  for (size_t i = 0; i < 2; i++) {
    double since = (seconds + 1000) * (i ? 0.75 : 0.25);
    if (!machine->no_flops && !machine->own)
      add_operations (&tables[FLOPS], table_add_row (&tables[FLOPS], labels[i], 1), 0, machine, since);
    if (!machine->no_bytes)
      table_set_uint (&tables[BANDWIDTH], table_add_row (&tables[BANDWIDTH], labels[i], 1), 0,
                      (uint64_t) (machine->bytes * since));
  }
}

static void
add_counters (struct table *table, size_t row, const struct machine *machine, double seconds)
{
  double cycles = machine->busy * machine->ghz * 1e9 * seconds;

  table_set_uint (table, row, TASK_TIME, (uint64_t) (machine->busy * 1e9 * seconds));
  if (!machine->no_cycles) {
    table_set_uint (table, row, CYCLES, (uint64_t) cycles);
    table_set_uint (table, row, INSTRUCTIONS, (uint64_t) (cycles * machine->ipc));
  }
  if (machine->own)
    add_operations (table, row, FLOP, machine, seconds);
  if (machine->estimate > 0) {
    table_set_uint (table, row, READ_ESTIMATE, (uint64_t) (machine->estimate * seconds));
    table_set_uint (table, row, WRITTEN_ESTIMATE, (uint64_t) (machine->estimate * seconds / 2));
  }
}

static void
fill_machine (struct table tables[GROUPS], const struct machine *machine, double seconds)
{
  size_t row = table_add_row (&tables[CPU], "123", 3);
  uint64_t time = (uint64_t) (machine->busy * seconds * 1e9);

  table_set_uint (&tables[CPU], row, 0, time);
  table_set_uint (&tables[CPU], row, 1, 0);
  table_set_uint (&tables[CPU], row, 2, time / 4);
  table_set_real (&tables[CPU], row, 3, 4);
  row = table_add_row (&tables[IO], "123", 3);
  table_set_uint (&tables[IO], row, 0, (uint64_t) (machine->read * seconds));
  if (machine->shared)
    table_add_row (&tables[CPU], "other", 5);
  if (machine->off)
    return;
  add_sockets (tables, machine, seconds);
  add_counters (&tables[COUNTERS], table_add_row (&tables[COUNTERS], "123", 3), machine, seconds);
  if (machine->peak_bandwidth > 0 && seconds == machine->peaks_at) {
    table_set_real (&tables[PEAKS], TABLE_NODE, 0, machine->peak_bandwidth);
    table_set_real (&tables[PEAKS], TABLE_NODE, 1, machine->peak_double);
    table_set_real (&tables[PEAKS], TABLE_NODE, 2, machine->peak_single);
  }
}

static void
put_second (struct scratch *scratch, const struct machine *machine, unsigned second)
{
  struct table tables[GROUPS];
  const struct table *list[GROUPS];
  struct report_group pairs[GROUPS] = { 0 };
  struct frame_header header = { .session = 5, .sequence = second + 1 };
  struct buffer bytes = { 0 };
  struct cluster_frame frame = { .header = &header,
                                 .time_ns = scratch->start_ns + second * SECOND_NS,
                                 .bound_ns = -1,
                                 .drift_ppb = INT64_MIN,
                                 .probe_age_ms = -1,
                                 .schema = scratch->schema,
                                 .groups = pairs };

  strcpy (header.node, machine->name);
  memcpy (header.schema, scratch->schema->hash, SCHEMA_HASH_SIZE);
  header.monotonic_ns = (5000 + second) * SECOND_NS;
  for (size_t i = 0; i < GROUPS; i++) {
    table_init (&tables[i], scratch->schema->groups[i]);
    tables[i].monotonic_ns = header.monotonic_ns;
    tables[i].period_ns = SECOND_NS;
    list[i] = pairs[i].now = &tables[i];
  }
  fill_machine (tables, machine, second);
  frame_write (&bytes, &header, scratch->schema, list, GROUPS);
  frame.bytes = bytes.data;
  frame.length = bytes.length;
  history_put_frame (scratch->history, &frame);
  for (size_t i = 0; i < GROUPS; i++)
    table_free (&tables[i]);
  buffer_free (&bytes);
}

static void
put_machine (struct scratch *scratch, const struct machine *machine, unsigned seconds)
{
  for (unsigned i = 0; i <= seconds; i++)
    put_second (scratch, machine, i);
}

static int
make_scratch (void **state, bool own)
{
  static const struct group *list[GROUPS]; /* the schema keeps it */
  struct scratch *scratch;

  for (size_t i = 0; i < GROUPS; i++)
    list[i] = own && i == COUNTERS ? &own_counters : &groups[i];
  scratch_create (state);
  scratch = *state;
  schema_destroy (scratch->schema);
  scratch->schema = schema_create (list, GROUPS);
  scratch_open (scratch);
  return 0;
}

static int
make_plain (void **state)
{
  return make_scratch (state, false);
}

static int
make_own (void **state)
{
  return make_scratch (state, true);
}

/* ---- what is looked at ---- */

static void
assert_near (double value, double expected)
{
  if (!(fabs (value - expected) <= 1e-6 * fabs (expected)))
    fail_msg ("%.12g rather than %.12g", value, expected);
}

/* Of the text for a terminal. */
static void
assert_text (const struct job_report *report, const char *has, const char *lacks)
{
  struct job_look look = { 400, true, false };
  struct buffer text = { 0 };

  job_report_text (report, &look, &text);
  if (has && !strstr (buffer_text (&text), has))
    fail_msg ("it lacks \"%s\": %s", has, buffer_text (&text));
  if (lacks && strstr (buffer_text (&text), lacks))
    fail_msg ("it has \"%s\": %s", lacks, buffer_text (&text));
  buffer_free (&text);
}

static void
assert_json (const struct job_report *report, const char *has)
{
  struct json json = { 0 };

  job_report_json (report, &json);
  if (!strstr (buffer_text (&json.out), has))
    fail_msg ("it lacks %s: %s", has, buffer_text (&json.out));
  json_free (&json);
}

/* All sentences, or NULL for none. */
static void
assert_remarks (const struct job_report *report, const char *expected)
{
  struct buffer made = { 0 };

  for (size_t i = 0; i < report->remark_count; i++)
    buffer_printf (&made, "%s%s", i ? "\n" : "", report->remarks[i]);
  assert_string_equal (buffer_text (&made), expected ? expected : "");
  buffer_free (&made);
}

/* ---- figures ---- */

/* The second node does half, with slower CPUs and less memory. */
static void
test_figures (void **state)
{
  struct scratch *scratch = *state;
  struct machine other = {
    "n2", 2, 2, 0.5, 10e9, 0, 10e9, 80e9, .peak_bandwidth = 100e9, .peak_double = 0.5e12, .peak_single = 1e12
  };
  struct job_roofline one, two, both;
  struct job_report *report;

  put_machine (scratch, &plain, 10);
  put_machine (scratch, &other, 10);
  report = make_job_report (scratch, "n1,n2", 10, true, NULL);
  one = job_roofline_of_node (report, 0);
  two = job_roofline_of_node (report, 1);
  both = job_roofline_of (report, NULL);
  assert_near (one.ipc, 1.5);
  assert_near (one.ghz, 2.5);
  assert_near (one.flops, 100e9);
  assert_near (one.flops_double, 60e9);
  assert_near (one.flops_single, 40e9);
  assert_near (one.vectors, 95);
  assert_near (one.bandwidth, 50e9);
  assert_near (one.intensity, 2);
  assert_near (one.flops_share, 100 * (0.06 + 0.02)); /* the time that they take at the peak of either */
  assert_near (one.bandwidth_share, 25);
  assert_near (one.peaks.flops_single, 2e12);
  assert_near (two.ipc, 0.5);
  assert_true (two.vectors == 0);
  assert_near (two.intensity, 0.125);
  assert_near (two.flops_share, 2);
  assert_near (two.bandwidth_share, 80);
  assert_near (both.ipc, (1.5 * 4 * 2.5 + 0.5 * 2 * 2) / (4 * 2.5 + 2 * 2));
  assert_near (both.ghz, (4 * 2.5 + 2 * 2) / 6.);
  assert_near (both.flops, 110e9);
  assert_near (both.vectors, 100 * 95 / 110.);
  assert_near (both.intensity, 110 / 130.);
  assert_near (both.flops_share, 100 * (60 + 20 + 10) / 1500.);
  assert_near (both.bandwidth_share, 100 * 130 / 300.);
  assert_near (both.peaks.bandwidth, 300e9);
  assert_false (both.flops_shared || both.bandwidth_shared || both.estimated);
  assert_text (
      report, "Memory bandwidth  121 GiB/s in the mean, 121 GiB/s at most, 43.3 % of the peak, 0.85 FLOP/byte\n", NULL);
  assert_text (report,
               "Floating point    110 GFLOP/s (double precision 70.0 GFLOP/s, single 40.0 GFLOP/s), 86.4 % by vector "
               "instructions, 6.00 % of the peak\n",
               NULL);
  assert_text (report, "Instructions      1.21 a cycle, at 2.33 GHz\n", NULL);
  assert_json (report, "\"memory_bandwidth_share\":25,\"peaks\":{\"memory_bandwidth\":200000000000,");
  assert_json (report, "\"counters\":{\"ipc\":0.5,\"ghz\":2,\"flops\":10000000000,");
  job_report_destroy (report);
}

/* A CPU that does not part its operations: all are held against the peak in double precision. */
static void
test_not_parted (void **state)
{
  struct scratch *scratch = *state;
  struct machine amd = plain;
  struct job_report *report;
  struct job_roofline one;

  amd.in_single = amd.scalar = nan ("");
  put_machine (scratch, &amd, 10);
  report = make_job_report (scratch, "n1", 10, true, NULL);
  one = job_roofline_of_node (report, 0);
  assert_near (one.flops, 60e9);
  assert_near (one.flops_share, 6);
  assert_true (isnan (one.flops_double) && isnan (one.flops_single) && isnan (one.vectors));
  assert_text (report, "Floating point    60.0 GFLOP/s, 6.00 % of the peak\n", "vector");
  assert_json (report, "\"vectors\":null");
  job_report_destroy (report);
}

/* Peaks are sampled once a minute: of a short job they are found behind its end. Without any there are no shares. */
static void
test_peaks (void **state)
{
  struct scratch *scratch = *state;
  struct machine machine = plain, without = plain;
  struct job_report *report;

  machine.peaks_at = 12;
  without.name = "n2";
  without.peak_bandwidth = 0;
  put_machine (scratch, &machine, 15);
  put_machine (scratch, &without, 10);
  report = make_job_report (scratch, "n1,n2", 10, true, NULL);
  assert_near (job_roofline_of_node (report, 0).bandwidth_share, 25);
  assert_true (isnan (job_roofline_of_node (report, 1).bandwidth_share));
  assert_near (job_roofline_of (report, NULL).bandwidth_share, 25);
  job_report_destroy (report);
  report = make_job_report (scratch, "n2", 10, true, NULL);
  assert_text (report, "FLOP/byte", "of the peak");
  assert_true (plot_roofline_height (report) > 0);
  job_report_destroy (report);
}

/* Peaks of another machine, or of a busy one: a job that does twice as much is not bound by memory, as far as is known. */
static void
test_peaks_that_are_too_low (void **state)
{
  struct scratch *scratch = *state;
  struct machine memory = plain, flops = plain, right = plain;
  struct job_report *report;

  memory.bytes = 2 * memory.peak_bandwidth;
  flops.name = "n2";
  flops.in_double = 4 * flops.peak_double;
  right.name = "n3";
  right.bytes = 1.2 * right.peak_bandwidth; /* more than the triad: it reads alone */
  right.in_single = nan ("");
  right.in_double = right.peak_single; /* single precision, as far as is known */
  put_machine (scratch, &memory, 70);
  put_machine (scratch, &flops, 70);
  put_machine (scratch, &right, 70);
  report = make_job_report (scratch, "n1,n2,n3", 70, true, NULL);
  assert_text (report, "The peaks of n[1,2] are too low, since the job did more: measured while something else ran",
               NULL);
  assert_text (report, "It is bound by memory on n3: 224 GiB/s, which is 120 % of the peak.", NULL);
  job_report_destroy (report);
  report = make_job_report (scratch, "n3", 70, true, NULL);
  assert_text (report, "It is bound by memory", "too low");
  job_report_destroy (report);
}

/* Of what is counted by node, other jobs have a part. */
static void
test_shared (void **state)
{
  struct scratch *scratch = *state;
  struct machine machine = plain;
  struct job_report *report;
  struct job_roofline one;

  machine.shared = true;
  machine.bytes = 190e9;
  machine.scalar = 100e9;
  put_machine (scratch, &machine, 80);
  report = make_job_report (scratch, "n1", 80, true, NULL);
  one = job_roofline_of_node (report, 0);
  assert_true (one.flops_shared && one.bandwidth_shared);
  assert_near (one.intensity, 100. / 190);
  assert_text (report, "0.53 FLOP/byte, by whole nodes with other jobs on them\n", NULL);
  assert_text (report, "8.00 % of the peak, by whole nodes with other jobs on them\n", NULL);
  assert_remarks (report, NULL);
  assert_json (report, "\"flops_shared\":true,\"memory_bandwidth_shared\":true,\"memory_bandwidth_estimated\":false");
  job_report_destroy (report);
}

/* An agent that counts for each job: the node's count of bytes is not mixed with operations that are the job's. */
static void
test_own_counters (void **state)
{
  struct scratch *scratch = *state;
  struct machine shared = plain, alone = plain, blind = plain, mixed = plain;
  struct job_report *report;
  struct job_roofline one;

  shared.own = alone.own = blind.own = shared.shared = true;
  shared.estimate = alone.estimate = blind.estimate = 20e9;
  shared.scalar = 99e9;
  alone.name = "n2";
  blind.name = "n3";
  blind.no_bytes = true;
  mixed.name = "n4";
  mixed.own = mixed.shared = true;
  put_machine (scratch, &shared, 70);
  put_machine (scratch, &alone, 70);
  put_machine (scratch, &blind, 70);
  put_machine (scratch, &mixed, 70);
  report = make_job_report (scratch, "n1,n2,n3", 70, true, NULL);
  assert_false (report->whole_flops);
  one = job_roofline_of_node (report, 0);
  assert_near (one.flops, 100e9);
  assert_true (one.estimated && !one.flops_shared && !one.bandwidth_shared);
  assert_near (one.bandwidth, 30e9);
  assert_near (one.intensity, 100 / 30.);
  one = job_roofline_of_node (report, 1);
  assert_true (!one.estimated);
  assert_near (one.intensity, 2);
  one = job_roofline_of_node (report, 2);
  assert_near (one.bandwidth, 30e9);
  assert_text (report, "102 GiB/s in the mean by estimate, 18.3 % of the peak, 2.73 FLOP/byte\n", "whole nodes with");
  assert_false (says (report, "of memory") || says (report, "what memory moved"));
  assert_remarks (report, "It computes without vectors on n1: vector instructions did 1.00 % of 100 GFLOP/s.");
  job_report_destroy (report);
  report = make_job_report (scratch, "n4", 70, true, NULL);
  one = job_roofline_of_node (report, 0);
  assert_near (one.flops, 100e9);
  assert_true (one.bandwidth_shared && isnan (one.intensity));
  job_report_destroy (report);
}

/* ---- sentences ---- */

static void
test_remarks (void **state)
{
  struct scratch *scratch = *state;
  struct machine machine = plain, bound = plain, scalar = plain, waits = plain;
  struct job_report *report;

  bound.name = "n2";
  bound.bytes = 150e9;
  scalar.name = "n3";
  scalar.scalar = 92e9;
  waits.name = "n4";
  waits.busy = 1;
  waits.read = 50e6;
  put_machine (scratch, &machine, 100);
  put_machine (scratch, &bound, 100);
  put_machine (scratch, &scalar, 100);
  put_machine (scratch, &waits, 100);
  report = make_job_report (scratch, "n1", 100, true, NULL);
  assert_remarks (report, NULL);
  job_report_destroy (report);
  report = make_job_report (scratch, "n2", 100, true, NULL);
  assert_remarks (report, "It is bound by memory: 140 GiB/s, which is 75.0 % of the peak.");
  assert_text (report, "\nWhat its counters show\n  - It is bound by memory: 140 GiB/s", NULL);
  assert_json (report, "\"remarks\":[\"It is bound by memory: 140 GiB/s");
  job_report_destroy (report);
  report = make_job_report (scratch, "n1,n2,n3", 100, true, NULL);
  assert_remarks (report, "It is bound by memory on n2: 140 GiB/s, which is 75.0 % of the peak.\n"
                          "It computes without vectors on n3: vector instructions did 8.00 % of 100 GFLOP/s.");
  job_report_destroy (report);
  report = make_job_report (scratch, "n4", 100, true, NULL);
  assert_remarks (report, "It waits, or runs fewer threads than it has CPUs: it used 25.0 % of them in the mean, and "
                          "meanwhile read 47.7 MiB/s from storage.");
  job_report_destroy (report);
  report = make_job_report (scratch, "n2,n3,n4", 59, true, NULL); /* too short */
  assert_remarks (report, NULL);
  job_report_destroy (report);
}

/* Few operations need no vectors: what they are is not worth a word. Nor is a use of CPUs that no counter says more of. */
static void
test_no_remarks (void **state)
{
  struct scratch *scratch = *state;
  struct machine few = plain, off = plain;
  struct job_report *report;

  few.in_double = few.scalar = 0.09e9 * 4;
  few.in_single = 0;
  off.name = "n2";
  off.busy = 1;
  off.off = true;
  put_machine (scratch, &few, 100);
  put_machine (scratch, &off, 100);
  report = make_job_report (scratch, "n1", 100, true, NULL);
  assert_remarks (report, NULL);
  job_report_destroy (report);
  report = make_job_report (scratch, "n2", 100, true, NULL);
  assert_remarks (report, NULL);
  assert_false (says (report, "count"));
  assert_json (report, "\"counters\":null");
  assert_text (report, NULL, "Instructions");
  assert_text (report, NULL, "IPC");
  assert_true (plot_roofline_height (report) == 0);
  job_report_destroy (report);
}

static void
test_unknown (void **state)
{
  struct scratch *scratch = *state;
  struct machine machines[] = { plain, plain, plain, plain };
  struct job_report *report;

  machines[0].name = "n1", machines[0].no_bytes = true;
  machines[1].name = "n2", machines[1].no_flops = true;
  machines[2].name = "n3", machines[2].no_flops = machines[2].no_bytes = machines[2].no_cycles = true;
  machines[3].name = "n4", machines[3].off = true;
  for (size_t i = 0; i < 4; i++)
    put_machine (scratch, &machines[i], 10);
  report = make_job_report (scratch, "n1,n2,n3,n4", 10, true, NULL);
  assert_true (says (report, "Of n1 it is not known what memory moved"));
  assert_true (says (report, "Of n2 it is not known how many floating-point operations"));
  assert_true (says (report, "The CPUs of n[3,4] count nothing"));
  assert_false (says (report, "it is not known: "));
  assert_true (isnan (job_roofline_of (report, NULL).intensity));
  assert_true (plot_roofline_height (report) == 0);
  job_report_destroy (report);
}

/* ---- the table of the nodes ---- */

static void
test_table (void **state)
{
  struct scratch *scratch = *state;
  struct machine other = plain;
  struct job_report *report;
  struct sheet_table table;
  size_t last;

  other.name = "n2";
  other.no_bytes = true;
  put_machine (scratch, &plain, 10);
  put_machine (scratch, &other, 10);
  report = make_job_report (scratch, "n1,n2", 10, true, NULL);
  sheet_roofline_init (&table, report);
  last = table.column_count - 1;
  assert_int_equal (table.row_count, 2);
  assert_string_equal (table.columns[3].unit, "GFLOP/s");
  assert_string_equal (table.cells[3], "100");
  assert_string_equal (table.columns[last].head, "Intensity");
  assert_string_equal (table.cells[last], "2.00");
  assert_string_equal (table.cells[table.column_count + last], "-");
  sheet_table_free (&table);
  job_report_destroy (report);
}

int
main (void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown (NAME, make_plain, scratch_destroy)
  const struct CMUnitTest tests[] = {
    TEST (test_figures), TEST (test_not_parted),
    TEST (test_peaks),   TEST (test_peaks_that_are_too_low),
    TEST (test_shared),  cmocka_unit_test_setup_teardown (test_own_counters, make_own, scratch_destroy),
    TEST (test_remarks), TEST (test_no_remarks),
    TEST (test_unknown), TEST (test_table),
  };

  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
