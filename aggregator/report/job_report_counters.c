/* What counters of the hardware say of a job, as sentences for people: what it is bound by, and what could not be
 * counted.
 *
 * A remark needs a job of a minute at least, and counts that no other job has a part in: else it is not known whose doing it
 * is. */
#include <math.h>
#include <stdlib.h>

#include "aggregator/report/job_report_private.h"
#include "aggregator/report/job_roofline.h"
#include "aggregator/report/job_words.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define LEAST_SECONDS 60
#define MEMORY_BOUND 70.0 /* percent of the peak of bandwidth */
#define PEAK_EXCEEDED                                                                                                  \
  125.0             /* percent of a peak, above which that is wrong: to read alone is a little faster than the triad */
#define SCALAR 10.0 /* percent of operations by vectors, below which there are none to speak of, */
#define SCALAR_FLOPS 1e8   /* if there are so many operations in a second of CPU time */
#define WAITING 50.0       /* percent of its CPUs, below which a job waits */
#define GPUS_BUSY 20.0     /* percent: the CPUs wait for them, as they should */
#define TRAFFIC_LEAST 10e6 /* bytes a second and node that are worth naming */

/* Bytes a second of the fastest link; what was known before, if that is more. */
static double
fastest_link (double before, const struct table *links, size_t column)
{
  for (size_t row = 0; links && column != JOB_COLUMNS_NONE && row < links->rows; row++) {
    double bits = job_gauge (links, row, column);
    before = bits > 0 ? fmax (before, bits / 8) : before;
  }
  return before;
}

void
job_peaks_take (struct job_peaks *peaks, const struct job_columns *columns, const struct report_group *groups)
{
  const struct table *table = columns->peaks == JOB_COLUMNS_NONE ? NULL : groups[columns->peaks].now;
  size_t network = columns->group[JOB_NETWORK_RECEIVED], infiniband = columns->group[JOB_INFINIBAND_RECEIVED];

  if (table) {
    double bandwidth = job_gauge (table, TABLE_NODE, columns->peaks_bandwidth);
    double in_double = job_gauge (table, TABLE_NODE, columns->peaks_double);
    double in_single = job_gauge (table, TABLE_NODE, columns->peaks_single);
    peaks->bandwidth = bandwidth > 0 ? bandwidth : peaks->bandwidth;
    peaks->flops_double = in_double > 0 ? in_double : peaks->flops_double;
    peaks->flops_single = in_single > 0 ? in_single : peaks->flops_single;
  }
  if (network != JOB_COLUMNS_NONE)
    peaks->network = fastest_link (peaks->network, groups[network].now, columns->network_speed);
  if (infiniband != JOB_COLUMNS_NONE)
    peaks->infiniband = fastest_link (peaks->infiniband, groups[infiniband].now, columns->infiniband_rate);
}

/* ---- what it is bound by ---- */

/* " on n1,n3", unless it is true of all that had samples. */
static void
add_where (struct buffer *to, const struct job_report *report, const bool *chosen)
{
  bool all = true;

  for (size_t i = 0; i < report->node_count; i++)
    all &= chosen[i] || report->nodes[i].samples == 0;
  if (all)
    return;
  buffer_add_string (to, " on ");
  words_nodes (to, report, chosen, JOB_NAMES_LENGTH);
}

/* What it did is more than the node can do, as far as that is known. CPUs that do not part their operations may have done all of
 * them in single precision. */
static bool
has_low_peaks (const struct job_report *report, size_t node)
{
  struct job_roofline roofline = job_roofline_of_node (report, node);
  double flops_most = fmax (roofline.peaks.flops_double, roofline.peaks.flops_single);

  return (!roofline.estimated && roofline.bandwidth_share > PEAK_EXCEEDED) ||
         100 * roofline.flops > PEAK_EXCEEDED * flops_most;
}

static bool
is_memory_bound (const struct job_report *report, size_t node)
{
  return !report->nodes[node].shared && !has_low_peaks (report, node) &&
         job_roofline_of_node (report, node).bandwidth_share > MEMORY_BOUND;
}

static bool
is_scalar (const struct job_report *report, size_t node)
{
  const struct job_series *series = report->nodes[node].series;
  double seconds = series[JOB_CPU_USER].total + series[JOB_CPU_SYSTEM].total;
  struct job_roofline roofline = job_roofline_of_node (report, node);

  return !roofline.flops_shared && roofline.vectors < SCALAR && series[JOB_FLOP].total > SCALAR_FLOPS * seconds;
}

/* The nodes that it is true of. False: there are none. */
static bool
choose (const struct job_report *report, bool (*is) (const struct job_report *, size_t), bool *chosen)
{
  bool any = false;

  for (size_t i = 0; i < report->node_count; i++) {
    chosen[i] = is (report, i);
    any |= chosen[i];
  }
  return any;
}

static void
remark_bounds (struct job_report *report)
{
  bool *chosen = memory_new (report->node_count, sizeof *chosen);
  struct buffer where = { 0 };
  struct job_roofline roofline;

  if (choose (report, is_memory_bound, chosen)) {
    roofline = job_roofline_of (report, chosen);
    add_where (&where, report, chosen);
    job_report_remark (report, "It is bound by memory%s: %s, which is %s %% of the peak.", buffer_text (&where),
                       words_value (roofline.bandwidth, "B/s").text, words_number (roofline.bandwidth_share).text);
  }
  if (choose (report, is_scalar, chosen)) {
    roofline = job_roofline_of (report, chosen);
    buffer_clear (&where);
    add_where (&where, report, chosen);
    job_report_remark (report, "It computes without vectors%s: vector instructions did %s %% of %s.",
                       buffer_text (&where), words_number (roofline.vectors).text,
                       words_value (roofline.flops, "FLOP/s").text);
  }
  buffer_free (&where);
  free (chosen);
}

/* "read 1.20 GB/s from storage, received ...": what was worth naming while it waited. */
static void
add_traffic (struct buffer *to, const struct job_report *report)
{
  static const struct {
    enum job_item_id item;
    const char *format;
  } ways[] = {
    { JOB_READ, "%sread %s from storage" },
    { JOB_WRITE, "%swrote %s to storage" },
    { JOB_NETWORK_RECEIVED, "%sreceived %s by network" },
    { JOB_NETWORK_SENT, "%ssent %s by network" },
    { JOB_INFINIBAND_RECEIVED, "%sreceived %s by InfiniBand" },
    { JOB_INFINIBAND_SENT, "%ssent %s by InfiniBand" },
  };

  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    double mean = report->all[ways[i].item].mean;
    if (mean > TRAFFIC_LEAST * (double) report->node_count)
      buffer_printf (to, ways[i].format, to->length ? ", " : "", words_value (mean, "B/s").text);
  }
}

static void
remark_waiting (struct job_report *report)
{
  double used = report->all[JOB_CPU_USAGE].mean;
  struct buffer traffic = { 0 };

  if (!(used < WAITING) || report->all[JOB_GPU_USAGE].mean > GPUS_BUSY)
    return;
  add_traffic (&traffic, report);
  job_report_remark (report, "It waits, or runs fewer threads than it has CPUs: it used %s %% of them in the mean%s%s.",
                     words_number (used).text,
                     traffic.length ? ", and meanwhile " : ", with little traffic of storage and network",
                     buffer_text (&traffic));
  buffer_free (&traffic);
}

void
job_report_remarks (struct job_report *report)
{
  bool counted = false;

  for (size_t i = JOB_MEMORY_BANDWIDTH; i <= JOB_TASK_TIME; i++)
    counted |= report->all[i].known;
  if (!counted || report->until_ns - report->started_ns < LEAST_SECONDS * NS_PER_S)
    return;
  remark_bounds (report);
  remark_waiting (report);
}

/* ---- what is not known ---- */

void
job_report_unknown_counters (struct job_scene *scene)
{
  struct job_report *report = scene->report;
  bool *cycles = memory_new (report->node_count, sizeof *cycles),
       *flops = memory_new (report->node_count, sizeof *flops);
  bool *bytes = memory_new (report->node_count, sizeof *bytes), *low = memory_new (report->node_count, sizeof *low);
  bool counted = false;

  for (size_t i = JOB_MEMORY_BANDWIDTH; i <= JOB_TASK_TIME; i++)
    counted |= report->all[i].known;
  for (size_t i = 0; counted && i < report->node_count; i++) {
    const struct job_series *series = report->nodes[i].series;
    bool sampled = report->nodes[i].samples > 0;
    bool moved = series[JOB_MEMORY_BANDWIDTH].known || series[JOB_MEMORY_READ].known;
    cycles[i] = sampled && !series[JOB_CYCLES].known && !series[JOB_FLOP].known && !moved;
    flops[i] = sampled && !cycles[i] && !series[JOB_FLOP].known;
    bytes[i] = sampled && !cycles[i] && !moved;
    low[i] = has_low_peaks (report, i);
  }
  job_report_say_of (report, cycles,
                     "The CPUs of %s count nothing that the agent may read, as those of most virtual machines, or its "
                     "counters are off: synop-agent --list-groups there says why.",
                     "");
  job_report_say_of (report, flops,
                     "Of %s it is not known how many floating-point operations the job did: synop-agent --list-groups "
                     "there says why.",
                     "");
  job_report_say_of (report, bytes,
                     "Of %s it is not known what memory moved: its memory controllers count nothing that the agent may "
                     "read; synop-agent --list-groups there says why.",
                     "");
  job_report_say_of (report, low,
                     "The peaks of %s are too low, since the job did more: measured while something else ran, or on "
                     "another machine. synop-agent bench-node measures them anew.",
                     "");
  free (low);
  free (bytes);
  free (flops);
  free (cycles);
}
