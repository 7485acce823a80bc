/* See job_roofline.h. */
#include "aggregator/report/job_roofline.h"

#include <math.h>

#include "aggregator/report/job_columns.h"
#include "aggregator/report/job_words.h"

/* Sums over nodes that know both. */
struct quotient {
  double over, under;
};

static void
quotient_add (struct quotient *quotient, double over, double under)
{
  if (isnan (over) || isnan (under))
    return;
  quotient->over += over;
  quotient->under += under;
}

static double
quotient_value (const struct quotient *quotient)
{
  double value = quotient->under > 0 ? quotient->over / quotient->under : nan ("");

  return job_is_beyond (value) ? nan ("") : value;
}

/* A sum of what is known; NaN: nothing is. */
static void
sum_add (double *sum, double value)
{
  if (!isnan (value))
    *sum = isnan (*sum) ? value : *sum + value;
}

struct sums {
  struct quotient ipc, ghz, vectors, intensity, flops_share, bandwidth_share;
};

/* Of the time that the operations take at the peaks: in both precisions together where the CPU parts them, else as if all
 * were double. Over the peak in double precision, which weighs nodes by what they can do. */
static double
at_peak (const struct job_series *series, const struct job_peaks *peaks)
{
  double in_double = series[JOB_FLOP_DOUBLE].mean, in_single = series[JOB_FLOP_SINGLE].mean;

  if (isnan (in_double) || isnan (in_single))
    return series[JOB_FLOP].mean;
  return in_double + (in_single > 0 ? in_single * peaks->flops_double / peaks->flops_single : 0);
}

/* Counted at other times than all, scalar ones may seem to be more. */
static double
by_vectors (double flops, double scalar)
{
  return scalar > flops ? 0 : flops - scalar;
}

/* Bytes a second between a node's CPUs and its memory: as the memory counted them, unless other jobs' are among them and the
 * job's own can be estimated. */
struct traffic {
  double bytes;
  bool estimated, shared;
};

static struct traffic
traffic_of (const struct job_node *node)
{
  double counted = node->series[JOB_MEMORY_BANDWIDTH].mean, estimate = nan ("");

  sum_add (&estimate, node->series[JOB_MEMORY_READ].mean);
  sum_add (&estimate, node->series[JOB_MEMORY_WRITTEN].mean);
  if (!isnan (estimate) && (node->shared || isnan (counted)))
    return (struct traffic){ estimate, true, false };
  return (struct traffic){ counted, false, node->shared && !isnan (counted) };
}

static void
roofline_add (struct job_roofline *roofline, struct sums *sums, const struct job_report *report,
              const struct job_node *node)
{
  const struct job_series *series = node->series;
  double flops = series[JOB_FLOP].mean;
  struct traffic traffic = traffic_of (node);
  bool flops_shared = node->shared && report->whole_flops && !isnan (flops);

  quotient_add (&sums->ipc, series[JOB_INSTRUCTIONS].total, series[JOB_CYCLES].total);
  quotient_add (&sums->ghz, series[JOB_CYCLES].total / 1e9, series[JOB_TASK_TIME].total);
  quotient_add (&sums->vectors, by_vectors (flops, series[JOB_FLOP_SCALAR].mean), flops);
  if (flops_shared == traffic.shared)
    quotient_add (&sums->intensity, flops, traffic.bytes);
  quotient_add (&sums->flops_share, at_peak (series, &node->peaks), node->peaks.flops_double);
  quotient_add (&sums->bandwidth_share, traffic.bytes, node->peaks.bandwidth);
  sum_add (&roofline->flops, flops);
  sum_add (&roofline->flops_double, series[JOB_FLOP_DOUBLE].mean);
  sum_add (&roofline->flops_single, series[JOB_FLOP_SINGLE].mean);
  sum_add (&roofline->bandwidth, traffic.bytes);
  sum_add (&roofline->peaks.bandwidth, node->peaks.bandwidth);
  sum_add (&roofline->peaks.flops_double, node->peaks.flops_double);
  sum_add (&roofline->peaks.flops_single, node->peaks.flops_single);
  roofline->flops_shared |= flops_shared;
  roofline->bandwidth_shared |= traffic.shared;
  roofline->estimated |= traffic.estimated;
}

static struct job_roofline
roofline_begin (void)
{
  const double none = nan ("");

  return (struct job_roofline){
    .flops = none, .flops_double = none, .flops_single = none, .bandwidth = none, .peaks = { none, none, none }
  };
}

static void
roofline_end (struct job_roofline *roofline, const struct sums *sums)
{
  roofline->ipc = quotient_value (&sums->ipc);
  roofline->ghz = quotient_value (&sums->ghz);
  roofline->vectors = 100 * quotient_value (&sums->vectors);
  roofline->intensity = quotient_value (&sums->intensity);
  roofline->flops_share = 100 * quotient_value (&sums->flops_share);
  roofline->bandwidth_share = 100 * quotient_value (&sums->bandwidth_share);
  roofline->known = !isnan (roofline->ipc) || !isnan (roofline->ghz) || !isnan (roofline->flops);
}

struct job_roofline
job_roofline_of_node (const struct job_report *report, size_t node)
{
  struct job_roofline roofline = roofline_begin ();
  struct sums sums = { 0 };

  roofline_add (&roofline, &sums, report, &report->nodes[node]);
  roofline_end (&roofline, &sums);
  return roofline;
}

struct job_roofline
job_roofline_of (const struct job_report *report, const bool *chosen)
{
  struct job_roofline roofline = roofline_begin ();
  struct sums sums = { 0 };

  for (size_t i = 0; i < report->node_count; i++)
    if (!chosen || chosen[i])
      roofline_add (&roofline, &sums, report, &report->nodes[i]);
  roofline_end (&roofline, &sums);
  return roofline;
}

/* ---- words ---- */

/* A comma between what is there already and what comes. */
static struct buffer *
clause (struct buffer *to)
{
  buffer_add_string (to, to->length ? ", " : "");
  return to;
}

static void
add_shared (struct buffer *to, bool shared)
{
  if (shared)
    buffer_add_string (to, ", by whole nodes with other jobs on them");
}

void
job_instructions_words (struct buffer *to, const struct job_report *report)
{
  struct job_roofline roofline = job_roofline_of (report, NULL);

  if (!isnan (roofline.ipc))
    buffer_printf (to, "%s a cycle", words_number (roofline.ipc).text);
  if (!isnan (roofline.ghz))
    buffer_printf (clause (to), "at %s GHz", words_number (roofline.ghz).text);
}

void
job_flops_words (struct buffer *to, const struct job_report *report)
{
  struct job_roofline roofline = job_roofline_of (report, NULL);

  if (isnan (roofline.flops))
    return;
  buffer_add_string (to, words_value (roofline.flops, "FLOP/s").text);
  if (roofline.flops_double > 0 && roofline.flops_single > 0) {
    buffer_printf (to, " (double precision %s, ", words_value (roofline.flops_double, "FLOP/s").text);
    buffer_printf (to, "single %s)", words_value (roofline.flops_single, "FLOP/s").text);
  } else if (roofline.flops_double > 0 || roofline.flops_single > 0) {
    buffer_printf (to, " in %s precision", roofline.flops_double > 0 ? "double" : "single");
  }
  if (!isnan (roofline.vectors))
    buffer_printf (clause (to), "%s %% by vector instructions", words_number (roofline.vectors).text);
  if (!isnan (roofline.flops_share))
    buffer_printf (clause (to), "%s %% of the peak", words_number (roofline.flops_share).text);
  add_shared (to, roofline.flops_shared);
}

void
job_bandwidth_words (struct buffer *to, const struct job_report *report)
{
  struct job_roofline roofline = job_roofline_of (report, NULL);
  const struct job_series *all = &report->all[JOB_MEMORY_BANDWIDTH];

  if (isnan (roofline.bandwidth))
    return;
  buffer_printf (to, "%s in the mean", words_value (roofline.bandwidth, "B/s").text);
  if (roofline.estimated)
    buffer_add_string (to, " by estimate");
  else
    buffer_printf (to, ", %s at most", words_value (all->maximum, "B/s").text);
  if (!isnan (roofline.bandwidth_share))
    buffer_printf (to, ", %s %% of the peak", words_number (roofline.bandwidth_share).text);
  if (!isnan (roofline.intensity))
    buffer_printf (to, ", %s FLOP/byte", words_number (roofline.intensity).text);
  add_shared (to, roofline.bandwidth_shared);
}
