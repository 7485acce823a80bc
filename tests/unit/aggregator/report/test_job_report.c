/* A job's report: totals, gaps, lost nodes, the slow one; what it cannot know; as text. */
#include <sys/resource.h>

#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_document.h"
#include "aggregator/report/job_energy.h"
#include "tests/unit/aggregator/report/job_history.h"

#define GIB ((uint64_t) 1 << 30)

static void
assert_near (double value, double expected)
{
  if (!(fabs (value - expected) <= 1e-9 * fmax (1, fabs (expected))))
    fail_msg ("%.12g rather than %.12g", value, expected);
}

static const struct job_series *
series_of (const struct job_report *report, size_t node, size_t item)
{
  return &report->nodes[node].series[item];
}

static void
put_steady (struct scratch *scratch, const char *node, uint64_t first, uint64_t last, double busy, uint64_t rss)
{
  for (uint64_t i = first; i <= last; i++) {
    struct job_sample sample = steady (i, 4, busy, rss);
    put_sample (scratch, node, "123", &sample);
  }
}

/* ---- sums ---- */

static void
test_totals (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n2", 1, 11, 4, 2 * GIB);
  put_steady (scratch, "n10", 1, 11, 1, 3 * GIB);
  report = make_job_report (scratch, "n2,n10", 10, true, NULL);
  assert_int_equal (report->node_count, 2);
  assert_int_equal (report->nodes[0].samples, 11);
  assert_near (series_of (report, 0, JOB_CPU_USER)->total, 36);
  assert_near (series_of (report, 0, JOB_CPU_SYSTEM)->total, 4);
  assert_near (series_of (report, 1, JOB_CPU_USER)->total, 9);
  assert_near (report->all[JOB_CPU_USER].total, 45);
  assert_near (report->cpu_time, 50);
  assert_near (report->cpus, 8);
  assert_near (report->cpu_efficiency, 50. / 80 * 100);
  assert_near (series_of (report, 0, JOB_CPU_USAGE)->mean, 100);
  assert_near (series_of (report, 1, JOB_CPU_USAGE)->mean, 25);
  assert_near (report->all[JOB_CPU_USAGE].mean, 62.5);
  assert_true (isnan (series_of (report, 0, JOB_CPU_USAGE)->total));
  assert_near (series_of (report, 0, JOB_READ)->total, 10000);
  assert_near (series_of (report, 0, JOB_READ)->mean, 1000);
  assert_near (report->all[JOB_WRITE].total, 10000);
  /* of the node: between the first and the last sample, without lo */
  assert_near (series_of (report, 0, JOB_NETWORK_RECEIVED)->total, 30000);
  assert_near (series_of (report, 0, JOB_NETWORK_RECEIVED)->maximum, 3000);
  assert_near (report->all[JOB_NETWORK_SENT].total, 40000);
  assert_near (report->all[JOB_MEMORY].mean, (double) (5 * GIB));
  assert_near (report->memory_peak, (double) (3 * GIB + 1000));
  assert_int_equal (report->memory_peak_node, 1);
  assert_false (report->all[JOB_ENERGY].known);
  assert_int_equal (report->unknown_count, 0);
  assert_int_equal (report->period_ns, SECOND_NS);
  assert_int_equal (report->bins, 10);
  for (size_t i = 0; i < report->bins; i++) {
    assert_near ((double) series_of (report, 1, JOB_CPU_USAGE)->bins[i], 25);
    assert_near ((double) report->all[JOB_CPU_USAGE].bins[i], 62.5);
    assert_near ((double) report->all[JOB_CPU_USAGE].bin_maxima[i], 100);
    assert_near ((double) report->all[JOB_READ].bins[i], 2000);
  }
  job_report_destroy (report);
}

/* Frames that come late change nothing, nor do those of a second start of the agent. */
static void
test_late_and_sessions (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n1", 1, 5, 2, GIB);
  put_steady (scratch, "n1", 9, 20, 2, GIB);
  put_steady (scratch, "n1", 6, 8, 2, GIB); /* late */
  for (uint64_t i = 21; i <= 31; i++) {
    struct job_sample sample = steady (i, 4, 2, GIB);
    sample.session = 2; /* sessions are in no order but that of time */
    sample.sequence = i - 20;
    put_sample (scratch, "n1", "123", &sample);
  }
  report = make_job_report (scratch, "n1", 30, true, NULL);
  assert_int_equal (report->nodes[0].samples, 31);
  assert_int_equal (report->nodes[0].gap_count, 0);
  assert_near (report->cpu_time, 60);
  assert_near (series_of (report, 0, JOB_CPU_USAGE)->mean, 50);
  assert_near (series_of (report, 0, JOB_CPU_USAGE)->maximum, 50);
  assert_near (series_of (report, 0, JOB_NETWORK_RECEIVED)->total, 90000);
  assert_near (series_of (report, 0, JOB_READ)->total, 30000);
  job_report_destroy (report);
}

/* A counter of the job that falls began anew: what it held counts. One of the node that falls is not known in between. */
static void
test_falls (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  for (uint64_t i = 1; i <= 11; i++) {
    struct job_sample sample = steady (i, 4, 4, GIB);
    if (i > 6) {
      sample.user_ms = 100 * (i - 6);
      sample.read = 10 * (i - 6);
      sample.received = 1000 * (i - 6);
    }
    put_sample (scratch, "n1", "123", &sample);
  }
  report = make_job_report (scratch, "n1", 10, true, NULL);
  assert_near (series_of (report, 0, JOB_CPU_USER)->total, 3.6 * 5 + 0.5);
  assert_near (series_of (report, 0, JOB_READ)->total, 5050);
  assert_near (series_of (report, 0, JOB_NETWORK_RECEIVED)->total, 3000 * 5 + 1000 * 4);
  assert_true (series_of (report, 0, JOB_READ)->minimum >= 0);
  job_report_destroy (report);
}

/* What was before the first sample is in the job's own counters, and in nothing else. */
static void
test_begins_late (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n1", 101, 121, 4, GIB);
  report = make_job_report (scratch, "n1", 120, true, NULL);
  assert_near (report->cpu_time, 480);
  assert_near (report->cpu_efficiency, 100);
  assert_near (series_of (report, 0, JOB_NETWORK_RECEIVED)->total, 60000);
  assert_int_equal (report->nodes[0].gap_count, 1);
  assert_near (report->nodes[0].gap_seconds, 100);
  assert_true (report->nodes[0].gaps[0].from_ns == report->started_ns);
  assert_false (report->nodes[0].lost);
  assert_true (says (report, "The history begins at"));
  assert_true (isnan (series_of (report, 0, JOB_MEMORY)->bins[50]));
  assert_false (isnan (series_of (report, 0, JOB_MEMORY)->bins[110]));
  job_report_destroy (report);
}

/* What the job used before the first sample counts from its start, if the agent was there. */
static void
test_first_sample (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  for (uint64_t i = 1; i <= 10; i++) {
    struct job_sample sample = steady (i + 1, 4, 4, GIB);
    sample.at -= 0.5; /* its counters began half a second before */
    if (i == 1)
      sample.user_ms = 1800, sample.system_ms = 200, sample.read = 500;
    put_sample (scratch, "n1", "123", &sample);
    sample.user_ms = 420; /* all was done at once */
    sample.system_ms = 0;
    sample.read = 42;
    put_sample (scratch, "n2", "123", &sample);
    sample.at += 5; /* its agent came later */
    sample.absent = i > 5;
    put_sample (scratch, "n3", "123", &sample);
  }
  report = make_job_report (scratch, "n1,n2,n3", 9.5, true, NULL);
  assert_near (series_of (report, 0, JOB_READ)->mean, 10000 / 9.5);
  assert_near (series_of (report, 0, JOB_CPU_USER)->mean, 36 / 9.5);
  assert_near ((double) series_of (report, 0, JOB_READ)->bins[0], 1000);
  assert_near (series_of (report, 1, JOB_CPU_USAGE)->mean, 42 / 4. / 9.5);
  assert_near (series_of (report, 1, JOB_CPU_USAGE)->maximum, 21);
  assert_near (series_of (report, 1, JOB_READ)->mean, 42 / 9.5);
  assert_near (series_of (report, 1, JOB_READ)->total, 42);
  assert_near (series_of (report, 2, JOB_CPU_USAGE)->maximum, 0);
  assert_near (series_of (report, 2, JOB_READ)->total, 42);
  job_report_destroy (report);
}

/* A name is used again at once: the last sample of the run before it has its totals, and is taken after this run began. */
static void
test_run_before (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  for (uint64_t i = 1; i <= 10; i++) {
    struct job_sample sample = steady (i, 4, 4, GIB);
    if (i <= 2)
      sample.user_ms += 500000, sample.read += 500000;
    put_sample (scratch, "n1", "123", &sample);
  }
  report = make_job_report_after (scratch, "n1", 1, 9, true, NULL);
  assert_int_equal (report->nodes[0].samples, 8);
  assert_near (report->cpu_time, 36);
  assert_near (series_of (report, 0, JOB_READ)->total, 9000);
  assert_near (series_of (report, 0, JOB_CPU_USAGE)->maximum, 100);
  job_report_destroy (report);
}

/* The last row has the totals, but no processes to sample. */
static void
test_last_row (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n1", 1, 3, 4, GIB);
  struct job_sample sample = steady (4, 4, 4, 0);
  sample.gone = true;
  sample.rss_peak = 2 * GIB;
  put_sample (scratch, "n1", "123", &sample);
  report = make_job_report (scratch, "n1", 3, true, NULL);
  assert_near (series_of (report, 0, JOB_MEMORY)->minimum, (double) GIB);
  assert_near (series_of (report, 0, JOB_MEMORY)->mean, (double) GIB);
  assert_near (series_of (report, 0, JOB_PROCESSES)->minimum, 3);
  assert_near (series_of (report, 0, JOB_THREADS)->mean, 12);
  assert_near (series_of (report, 0, JOB_CPU_USAGE)->mean, 100);
  assert_near (report->memory_peak, (double) (2 * GIB));
  assert_near (report->cpu_time, 12);
  job_report_destroy (report);
}

/* ---- gaps and lost nodes ---- */

static void
test_gaps (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;
  const struct job_node *node;

  put_steady (scratch, "n1", 1, 61, 4, GIB);
  put_steady (scratch, "n2", 1, 21, 4, GIB); /* a pause of 10 s */
  scratch->start_ns -= 387137;               /* samples are not taken at the very instant */
  put_steady (scratch, "n2", 31, 61, 4, GIB);
  scratch->start_ns += 387137;
  put_steady (scratch, "n3", 1, 31, 4, GIB); /* and silence */
  put_steady (scratch, "n4", 1, 51, 4, GIB); /* silent at the end, but it comes back */
  put_steady (scratch, "n4", 66, 70, 4, GIB);
  for (uint64_t i = 1; i <= 61; i++) { /* the job leaves it, the node goes on */
    struct job_sample sample = steady (i, 4, 4, GIB);
    sample.absent = i > 30;
    put_sample (scratch, "n5", "123", &sample);
  }
  report = make_job_report (scratch, "n1,n2,n3,n4,n5", 60, true, NULL);
  node = report->nodes;
  assert_int_equal (node[0].gap_count, 0);
  assert_false (node[0].lost);
  assert_int_equal (node[1].gap_count, 1);
  assert_near (node[1].gap_seconds, 9.999612863);
  assert_near (node[1].series[JOB_CPU_USER].total, 3.6 * 60);
  assert_near (node[1].series[JOB_NETWORK_RECEIVED].total, 180000);
  assert_true (isnan (node[1].series[JOB_MEMORY].bins[25]));
  assert_false (isnan (node[1].series[JOB_MEMORY].bins[15]));
  assert_false (node[1].lost);
  assert_int_equal (node[2].gap_count, 1);
  assert_near (node[2].gap_seconds, 30);
  assert_true (node[2].lost);
  assert_true (node[2].last_ns == report->started_ns + 30 * SECOND_NS);
  assert_near (node[3].gap_seconds, 10);
  assert_false (node[3].lost);
  assert_int_equal (node[4].gap_count, 0);
  assert_int_equal (node[4].samples, 30);
  assert_false (node[4].lost);
  assert_true (says (report, "n3 was lost at"));
  assert_true (says (report, "n2 has no data for 10 s"));
  assert_near (report->cpu_efficiency, (240 + 240 + 120 + 200 + 116) / (4. * 5 * 60) * 100);
  job_report_destroy (report);
}

static void
test_lost_of_summary (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n1", 1, 11, 4, GIB);
  put_steady (scratch, "n11", 1, 11, 4, GIB);
  report = make_job_report (scratch, "n1,n11", 10, true, "{\"lost_nodes\":[\"n11\"],\"per_node\":{\"n1\":{}}}");
  assert_false (report->nodes[0].lost);
  assert_true (report->nodes[1].lost);
  job_report_destroy (report);
}

/* ---- a job that runs, one without samples ---- */

static void
test_running (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n1", 1, 31, 4, GIB);
  report = make_job_report (scratch, "n1", 31.5, false, NULL);
  assert_int_equal (report->ended_ns, 0);
  assert_true (report->until_ns == report->started_ns + 30 * SECOND_NS);
  assert_int_equal (report->nodes[0].gap_count, 0);
  assert_near (report->cpu_efficiency, 100);
  assert_int_equal (report->unknown_count, 0);
  job_report_destroy (report);
  report = make_job_report (scratch, "n1", 3600, false, NULL); /* and nobody wrote since */
  assert_true (report->until_ns == report->started_ns + 30 * SECOND_NS);
  assert_false (report->nodes[0].lost);
  assert_true (says (report, "The history ends at"));
  for (size_t i = 0; i < report->bins; i++)
    assert_false (isnan (report->all[JOB_MEMORY].bins[i]));
  job_report_destroy (report);
}

/* When all fall silent together it is the history that ends, not the nodes. */
static void
test_cut (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n1", 1, 31, 4, GIB);
  put_steady (scratch, "n2", 1, 31, 4, GIB);
  report = make_job_report (scratch, "n1,n2", 60, true, NULL);
  assert_false (report->nodes[0].lost || report->nodes[1].lost);
  assert_near (report->nodes[1].gap_seconds, 30);
  assert_true (says (report, "The history ends at"));
  job_report_destroy (report);
}

static void
test_nothing (void **state)
{
  struct scratch *scratch = *state;
  struct job_look look = { 80, true, false };
  struct job_report *report;
  struct buffer text = { 0 };
  struct json json = { 0 };

  put_steady (scratch, "n1", 1, 3, 4, GIB); /* long before */
  scratch->start_ns += 600 * SECOND_NS;
  report = make_job_report (scratch, "n1", 60, true, NULL);
  assert_int_equal (report->nodes[0].samples, 0);
  assert_near (report->nodes[0].gap_seconds, 60);
  assert_false (report->nodes[0].lost);
  assert_true (says (report, "no samples"));
  assert_true (isnan (report->cpu_time));
  job_report_text (report, &look, &text);
  job_report_json (report, &json);
  job_report_destroy (report);
  report = make_job_report (scratch, "", 0, true, NULL);
  assert_true (says (report, "No node has shown this job"));
  job_report_text (report, &look, &text);
  assert_non_null (memmem (text.data, text.length, " 0\n\n", 4));
  job_report_json (report, &json);
  job_report_destroy (report);
  assert_null (memmem (text.data, text.length, "nan", 3));
  assert_null (memmem (json.out.data, json.out.length, "nan", 3));
  buffer_free (&text);
  json_free (&json);
}

/* ---- what is unlike, what is not known ---- */

static void
test_slow_node (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n1", 1, 11, 4, GIB);
  put_steady (scratch, "n2", 1, 11, 0.4, GIB);
  put_steady (scratch, "n3", 1, 11, 3.6, 4 * GIB);
  report = make_job_report (scratch, "n1,n2,n3", 10, true, NULL);
  assert_int_equal (report->slowest, 1);
  assert_string_equal (report->imbalances[JOB_CPU_USAGE].node, "n2");
  assert_near (report->imbalances[JOB_CPU_USAGE].value, 10);
  assert_near (report->imbalances[JOB_CPU_USAGE].mean, 95);
  assert_near (report->imbalances[JOB_CPU_USAGE].percent, (100 / (200. / 3) - 1) * 100);
  assert_string_equal (report->imbalances[JOB_MEMORY].node, "n3");
  assert_null (report->imbalances[JOB_READ].node); /* alike */
  assert_true (isnan (report->imbalances[JOB_ENERGY].percent));
  job_report_destroy (report);
}

/* Another node is farther from the others than the slow one, and one has no samples: the others are those that have. */
static void
test_slow_among_unlike (void **state)
{
  static const double busy[] = { 2, 2, 2, 1.4, 4 };
  struct scratch *scratch = *state;
  const struct advice_limits limits = { 0 };
  struct job_look look = { 200, true, false };
  struct job_report *report;
  struct buffer text = { 0 };
  char name[16];

  for (size_t i = 0; i < 5; i++) {
    snprintf (name, sizeof name, "n%zu", i + 1);
    put_steady (scratch, name, 1, 11, busy[i], GIB);
  }
  report = make_job_report (scratch, "n1,n2,n3,n4,n5,n6", 10, true, NULL);
  job_advice (report, &limits);
  assert_int_equal (report->slowest, 3);
  assert_string_equal (report->imbalances[JOB_CPU_USAGE].node, "n5");
  assert_near (report->slowest_others, 62.5);
  job_report_text (report, &look, &text);
  buffer_add (&text, "", 1);
  assert_non_null (strstr (text.data, "n4 was slow: it used 35.0 % of its CPUs, the others 62.5 %."));
  buffer_free (&text);
  job_report_destroy (report);
}

static void
test_alike (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n1", 1, 11, 4, GIB);
  put_steady (scratch, "n2", 1, 11, 3.8, GIB);
  report = make_job_report (scratch, "n1,n2", 10, true, NULL);
  assert_true (report->slowest == SIZE_MAX);
  assert_string_equal (report->imbalances[JOB_CPU_USAGE].node, "n2"); /* of two the one that does less */
  job_report_destroy (report);
}

static void
test_unknown (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_steady (scratch, "n1", 1, 11, 4, GIB);
  for (uint64_t i = 1; i <= 11; i++) {
    struct job_sample sample = steady (i, 0, 4, GIB);
    sample.no_memory = sample.other = true;
    sample.source = "processes";
    sample.error = "may not be read";
    put_sample (scratch, "n2", "123", &sample);
  }
  report = make_job_report (scratch, "n1,n2", 10, true, NULL);
  assert_true (says (report, "Of n2 it is not known: memory."));
  assert_true (says (report, "n2 reported an error of job_io: may not be read"));
  assert_true (says (report, "is not counted: on n2."));
  assert_true (says (report, "Other jobs ran on n2 meanwhile"));
  assert_false (says (report, "n1"));
  assert_near (report->cpu_time, 80);
  assert_near (report->cpu_efficiency, 100); /* of n1 alone */
  job_report_destroy (report);
}

/* A group whose error tells of other values: its counters are counted as ever. */
static void
test_error_of_other_values (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  for (uint64_t i = 1; i <= 11; i++) {
    struct job_sample sample = steady (i, 4, 4, GIB);
    sample.network_error = "/proc/net/netstat: cut short";
    put_sample (scratch, "n1", "123", &sample);
  }
  report = make_job_report (scratch, "n1", 10, true, NULL);
  assert_near (series_of (report, 0, JOB_NETWORK_RECEIVED)->total, 30000);
  assert_true (says (report, "n1 reported an error of network: /proc/net/netstat: cut short"));
  job_report_destroy (report);
}

static void
put_gpus (struct scratch *scratch, const char *node, unsigned count, const char *gpus, const char *mute)
{
  for (uint64_t i = 1; i <= 11; i++) {
    struct job_sample sample = steady (i, 4, 4, GIB);
    sample.node_gpus = count;
    sample.gpus = gpus;
    sample.mute = mute;
    sample.amd = strncmp (node, "amd", 3) == 0;
    put_sample (scratch, node, "123", &sample);
  }
}

static void
check_text (const struct job_report *report, const char *has, const char *lacks)
{
  struct job_look look = { 400, true, false };
  struct buffer text = { 0 };

  job_report_text (report, &look, &text);
  buffer_add (&text, "", 1);
  if (has && !strstr (text.data, has))
    fail_msg ("it lacks %s: %s", has, text.data);
  if (lacks && strstr (text.data, lacks))
    fail_msg ("it has %s: %s", lacks, text.data);
  buffer_free (&text);
}

/* What is told of GPUs is of the job's own; where a job has none nothing is told, and nothing is missing. */
static void
test_gpus_of_the_job (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_gpus (scratch, "n1", 8, "1,3", NULL);
  put_gpus (scratch, "n2", 8, NULL, NULL);
  put_gpus (scratch, "n3", 0, NULL, NULL);
  report = make_job_report (scratch, "n1,n2,n3", 10, true, NULL);
  assert_near (report->all[JOB_GPU_USAGE].mean, 20);
  assert_near (report->all[JOB_GPU_MEMORY].maximum, 4);
  assert_near (report->all[JOB_GPU_ENERGY].total, 40);
  assert_false (report->nodes[1].series[JOB_GPU_USAGE].known || report->whole_gpus);
  assert_false (says (report, "gpu_usage"));
  check_text (report, "GPUs              used 20.0 % in the mean, memory at most 4.00 B\n", "GPU 2 ");
  check_text (report, "\n  GPU 1 on n1     1  10.0 %", "  GPU 2 ");
  job_report_destroy (report);

  report = make_job_report (scratch, "n2", 10, true, NULL);
  check_text (report, NULL, "GPU");
  job_report_destroy (report);
}

/* Where it is not known which are the job's, all of the node's count. */
static void
test_gpus_of_nodes (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  put_gpus (scratch, "n1", 8, NULL, "no scan");
  put_gpus (scratch, "amd1", 8, NULL, NULL); /* AMD's processes are not known */
  put_gpus (scratch, "n4", 10, "9,...", NULL);
  put_steady (scratch, "n5", 1, 11, 4, GIB);
  report = make_job_report (scratch, "n1,amd1", 10, true, NULL);
  assert_near (report->all[JOB_GPU_USAGE].mean, 35);
  assert_near (report->all[JOB_GPU_ENERGY].total, 560);
  check_text (report, "used 35.0 % in the mean, memory at most 56.0 B, by whole nodes", "Each GPU");
  job_report_destroy (report);
  report = make_job_report (scratch, "n4", 10, true, NULL);
  check_text (report, "GPUs              memory at most 9.00 B\n", "GPU ...");
  check_text (report, "\n  GPU 9 on n4     1  9.00 B   0 %  90.0 J\n", "use");
  job_report_destroy (report);
}

/* Rates are per second, whatever the period. */
static void
test_rates (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  for (uint64_t i = 1; i <= 11; i++) {
    struct job_sample sample = steady (i, 4, 2, GIB);
    sample.at *= 2;
    put_sample (scratch, "n1", "123", &sample);
  }
  report = make_job_report (scratch, "n1", 20, true, NULL);
  assert_near (series_of (report, 0, JOB_READ)->total, 10000);
  assert_near (series_of (report, 0, JOB_READ)->mean, 500);
  assert_near ((double) series_of (report, 0, JOB_READ)->bins[10], 500);
  assert_near (series_of (report, 0, JOB_NETWORK_SENT)->maximum, 1000);
  assert_near (series_of (report, 0, JOB_CPU_USAGE)->mean, 25);
  job_report_destroy (report);
}

/* More samples than bins: means and maxima of them. */
static void
test_bins (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;

  for (uint64_t i = 1; i <= 1801; i++) {
    struct job_sample sample = steady (i, 4, 4, i % 3 == 0 ? 3 * GIB : 0);
    put_sample (scratch, "n1", "123", &sample);
  }
  report = make_job_report (scratch, "n1", 1800, true, NULL);
  assert_int_equal (report->bins, 600);
  assert_int_equal (report->bin_ns, 3 * SECOND_NS);
  for (size_t i = 1; i < 600; i++) {
    assert_near ((double) report->all[JOB_MEMORY].bins[i], (double) GIB);
    assert_near ((double) report->all[JOB_MEMORY].bin_maxima[i], (double) (3 * GIB));
  }
  job_report_destroy (report);
}

/* ---- numbers that no machine has ---- */

/* A node tells values at the ends of what can be written, and periods: they are left out, with a word, and all that is made
 * of the report is whole. */
static void
test_numbers_beyond_bounds (void **state)
{
  static const double odd[] = { 1.7e308, -1.7e308, 1e30, 5e-324, -5e-324, 1e-300, 3e38 };
  struct scratch *scratch = *state;
  struct job_report *report;
  char *path = memory_format ("%s/x.pdf", scratch->folder);
  struct error error = { "" };
  struct json json = { 0 };

  put_steady (scratch, "n1", 1, 11, 2, GIB);
  for (uint64_t i = 1; i <= 11; i++) {
    struct job_sample sample = steady (i, i == 3 ? 1e308 : 4, 2, GIB);
    sample.rss_real = odd[i % 7];
    sample.read = i % 2 ? UINT64_MAX : 0;
    sample.period_ns = i > 8 ? INT64_MAX : 0;
    put_sample (scratch, "n2", "123", &sample);
  }
  report = make_job_report (scratch, "n1,n2", 10, true, NULL);
  assert_near (series_of (report, 0, JOB_MEMORY)->mean, (double) GIB);
  assert_true (series_of (report, 1, JOB_MEMORY)->maximum < 1e24);
  assert_true (report->all[JOB_MEMORY].maximum < 1e24 && report->all[JOB_MEMORY].mean >= 0);
  assert_true (says (report, "n2 reported numbers that no machine has"));
  assert_false (says (report, "n1 reported numbers"));
  job_report_json (report, &json);
  if (job_report_pdf (report, path, &error) < 0)
    fail_msg ("%s", error.text);
  assert_int_equal (unlink (path), 0);
  if (job_report_html (report, path, &error) < 0)
    fail_msg ("%s", error.text);
  assert_int_equal (unlink (path), 0);
  json_free (&json);
  job_report_destroy (report);
  free (path);
}

/* ---- text ---- */

static size_t
widest_line (const struct buffer *text)
{
  size_t widest = 0, width = 0;

  for (size_t i = 0; i < text->length; i++) {
    width = text->data[i] == '\n' ? 0 : width + ((text->data[i] & 0xc0) != 0x80);
    widest = width > widest ? width : widest;
  }
  return widest;
}

static void
test_text (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;
  struct buffer nodes = { 0 };

  for (unsigned i = 1; i <= 60; i++) {
    char name[16];
    snprintf (name, sizeof name, "n%u", i);
    put_steady (scratch, name, 1, i == 59 ? 4 : 11, i == 57 ? 0.2 : 4, GIB);
    buffer_printf (&nodes, "%s%s", i > 1 ? "," : "", name);
  }
  buffer_add (&nodes, "", 1);
  report = make_job_report (scratch, nodes.data, 10, true, NULL);
  for (size_t width = 40; width <= 160; width += 30) {
    struct job_look look = { width, width != 70, width == 160 };
    struct buffer text = { 0 };
    const char *lost, *slow, *other;
    job_report_text (report, &look, &text);
    buffer_add (&text, "", 1);
    assert_true (width == 160 || widest_line (&text) <= width);
    lost = strstr (text.data, "  n59 ");
    slow = strstr (text.data, "  n57 ");
    other = strstr (text.data, "  n[1-56,58,60] ");
    assert_non_null (lost);
    assert_true (lost < slow && slow < other);
    assert_non_null (strstr (lost, "LOST"));
    assert_non_null (strstr (slow, "SLOWEST"));
    assert_true (strstr (slow, "SLOWEST") < other);
    assert_true ((strstr (text.data, "\033[1;31m") != NULL) == look.colour);
    for (size_t i = 0; !look.utf8 && i < text.length; i++)
      assert_true ((text.data[i] & 0x80) == 0);
    buffer_free (&text);
  }
  job_report_destroy (report);
  buffer_free (&nodes);
}

/* 360 J a second, of which a quarter is estimated on the second node; nothing measures the whole of the first. */
static void
test_energy (void **state)
{
  struct scratch *scratch = *state;
  struct job_report *report;
  struct buffer words = { 0 };
  bool part = false, estimated = false;

  for (uint64_t i = 1; i <= 11; i++) {
    struct job_sample one = steady (i, 4, 4, 5), two = steady (i, 4, 1, 5);
    one.joules = two.joules = 50 + 360 * (double) (i - 1);
    two.estimated = 10 + 90 * (double) (i - 1);
    put_sample (scratch, "n1", "123", &one);
    put_sample (scratch, "n2", "123", &two);
  }
  report = make_job_report (scratch, "n1,n2", 10, true, NULL);
  assert_near (series_of (report, 0, JOB_ENERGY)->total, 3650);
  assert_near (series_of (report, 1, JOB_ENERGY_ESTIMATED)->total, 910);
  assert_near (report->all[JOB_ENERGY].mean, 720);
  assert_near (job_energy_kwh (report), 7300 / 3.6e6);
  assert_near (job_energy_estimated (report), 100. * 910 / 7300);
  assert_true (isnan (job_energy_cost (report)));
  job_cost_words (&words, report);
  assert_int_equal (words.length, 0);
  report->prices = (struct job_prices){ 300, 400, "EUR" };
  assert_near (job_energy_cost (report), 300 * 7300 / 3.6e6);
  assert_near (job_energy_co2 (report), 400 * 7300 / 3.6e6);
  job_cost_words (&words, report);
  assert_string_equal (buffer_text (&words), "0.61 EUR, 0.81 kg of CO2");
  buffer_clear (&words);
  job_energy_words (&words, report);
  assert_string_equal (buffer_text (&words), "2.03 Wh, 720 W in the mean, 12.5 % of it estimated");
  for (size_t i = 0; i < report->unknown_count; i++) {
    part |= strstr (report->unknown[i], "nothing measures the whole of n1.") != NULL;
    estimated |= strncmp (report->unknown[i], "12.5 % of the energy is estimated", 33) == 0;
  }
  assert_true (part && estimated);
  buffer_free (&words);
  job_report_destroy (report);
}

/* For tests/bench/part_jobs.py: what the report on a job of so many nodes and seconds costs, as a line of JSON. */
static int
measure (unsigned nodes, unsigned seconds, unsigned period)
{
  struct job_look look = { 80, true, false };
  struct buffer names = { 0 }, documents = { 0 };
  struct job_report *report;
  struct scratch *scratch;
  struct rusage usage;
  struct error error;
  int64_t begin, read, end;
  void *state = NULL;

  job_scratch_create (&state);
  scratch = state;
  for (unsigned n = 0; n < nodes; n++) {
    char name[16];
    struct job_chain chain = { 0 };
    snprintf (name, sizeof name, "n%04u", n);
    buffer_printf (&names, "%s%s", n ? "," : "", name);
    for (unsigned i = 0; i <= seconds / period; i++) {
      struct job_sample sample = steady (i + 1, 8, 7.6, 10 * GIB);
      sample.chain = &chain;
      sample.at = (double) i * period;
      sample.period_ns = period * SECOND_NS;
      put_sample (scratch, name, "123", &sample);
    }
    job_chain_free (&chain);
    history_flush (scratch->history);
  }
  begin = clock_monotonic ();
  report = make_job_report (scratch, buffer_text (&names), seconds, true, NULL);
  job_advice (report, &advice_limits_default);
  read = clock_monotonic ();
  job_report_text (report, &look, &documents);
  buffer_free (&documents);
  job_report_html_make (report, &documents, &error);
  end = clock_monotonic ();
  getrusage (RUSAGE_SELF, &usage);
  printf ("{\"samples\":%llu,\"read_s\":%.3f,\"write_s\":%.3f,\"rss_mib\":%ld}\n",
          (unsigned long long) (report->nodes[0].samples * nodes), (double) (read - begin) / NS_PER_S,
          (double) (end - read) / NS_PER_S, usage.ru_maxrss / 1024);
  job_report_destroy (report);
  buffer_free (&documents);
  buffer_free (&names);
  return scratch_destroy (&state);
}

int
main (int argc, char **argv)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown (NAME, job_scratch_create, scratch_destroy)
  const struct CMUnitTest tests[] = {
    TEST (test_totals),
    TEST (test_energy),
    TEST (test_late_and_sessions),
    TEST (test_falls),
    TEST (test_begins_late),
    TEST (test_gaps),
    TEST (test_lost_of_summary),
    TEST (test_running),
    TEST (test_nothing),
    TEST (test_slow_node),
    TEST (test_slow_among_unlike),
    TEST (test_alike),
    TEST (test_unknown),
    TEST (test_error_of_other_values),
    TEST (test_bins),
    TEST (test_text),
    TEST (test_numbers_beyond_bounds),
    TEST (test_cut),
    TEST (test_rates),
    TEST (test_first_sample),
    TEST (test_last_row),
    TEST (test_run_before),
    TEST (test_gpus_of_the_job),
    TEST (test_gpus_of_nodes),
  };

  if (argc == 5 && strcmp (argv[1], "--measure") == 0)
    return measure ((unsigned) atoi (argv[2]), (unsigned) atoi (argv[3]), (unsigned) atoi (argv[4]));
  cmocka_set_message_output (CM_OUTPUT_TAP);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
