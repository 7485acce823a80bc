/* From nodes to the whole job: combined series, how unlike the nodes are, which one is slow, how well the CPUs were used.
 *
 * The combined curve is of the bins' means; where a node has no samples it is that of the others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregator/report/job_report_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define SLOW_PART 0.85   /* of the others' mean CPU use: a node below it stands out, */
#define SLOW_PERCENT 5.0 /* if it is so many percent of its CPUs below, too */
#define IDLE_PERCENT 2.0 /* of its CPUs: a node is idle below it, */
#define IDLE_CPUS 0.5    /* if it uses less than so many of them, */
#define IDLE_GPUS 5.0    /* and its GPUs less than so many percent */

/* ---- combined series ---- */

static double
combine (enum job_combination combination, double so_far, double value, size_t count)
{
  if (count == 0)
    return value;
  return combination == JOB_MAXIMUM ? fmax (so_far, value) : so_far + value;
}

static void
combine_bin (const struct job_report *report, size_t item, size_t bin)
{
  enum job_combination combination = job_items[item].combination;
  struct job_series *all = &report->all[item];
  double value = 0, highest = 0;
  size_t count = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_series *series = &report->nodes[i].series[item];
    if (!series->known || isnan (series->bins[bin]))
      continue;
    value = combine (combination, value, (double) series->bins[bin], count);
    highest =
        combine (combination == JOB_SUM ? JOB_SUM : JOB_MAXIMUM, highest, (double) series->bin_maxima[bin], count);
    count++;
  }
  if (count == 0)
    return;
  all->bins[bin] = (float) (combination == JOB_MEAN ? value / (double) count : value);
  all->bin_maxima[bin] = (float) highest;
}

/* The digits that single precision holds. */
static double
as_known (double value)
{
  char text[32];

  snprintf (text, sizeof text, "%.7g", value);
  return strtod (text, NULL);
}

/* The highest and the lowest of the curve; of items that are maxima, those of the nodes. */
static void
combine_range (const struct job_report *report, size_t item)
{
  struct job_series *all = &report->all[item];

  /* fmin and fmax pass over NaN */
  if (job_items[item].combination == JOB_MAXIMUM) {
    for (size_t i = 0; i < report->node_count; i++) {
      all->minimum = fmin (all->minimum, report->nodes[i].series[item].minimum);
      all->maximum = fmax (all->maximum, report->nodes[i].series[item].maximum);
    }
    return;
  }
  for (size_t bin = 0; bin < report->bins; bin++) {
    all->minimum = fmin (all->minimum, (double) all->bins[bin]);
    all->maximum = fmax (all->maximum, (double) all->bins[bin]);
  }
  all->minimum = as_known (all->minimum);
  all->maximum = as_known (all->maximum);
}

/* The mean and the total, from the nodes'. */
static void
combine_numbers (const struct job_report *report, size_t item)
{
  enum job_combination combination = job_items[item].combination;
  struct job_series *all = &report->all[item];
  size_t means = 0, totals = 0;
  double mean = 0, total = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_series *series = &report->nodes[i].series[item];
    if (!isnan (series->mean))
      mean = combine (combination, mean, series->mean, means++);
    if (!isnan (series->total))
      total = combine (JOB_SUM, total, series->total, totals++);
  }
  if (means)
    all->mean = combination == JOB_MEAN ? mean / (double) means : mean;
  if (totals)
    all->total = total;
}

static void
combine_item (const struct job_report *report, size_t item)
{
  struct job_series *all = &report->all[item];

  for (size_t i = 0; i < report->node_count; i++)
    all->known |= report->nodes[i].series[item].known;
  if (!all->known)
    return;
  all->bins = memory_new (report->bins, sizeof all->bins[0]);
  all->bin_maxima = memory_new (report->bins, sizeof all->bin_maxima[0]);
  for (size_t bin = 0; bin < report->bins; bin++) {
    all->bins[bin] = all->bin_maxima[bin] = nanf ("");
    combine_bin (report, item, bin);
  }
  combine_range (report, item);
  combine_numbers (report, item);
}

/* ---- unlike nodes ---- */

/* The mean of the others of a node that are not idle; NaN: it is alone. */
static double
mean_of_others (const struct job_report *report, size_t item, size_t node)
{
  double sum = 0;
  size_t count = 0;

  for (size_t i = 0; i < report->node_count; i++)
    if (i != node && !report->nodes[i].idle && !isnan (report->nodes[i].series[item].mean)) {
      sum += report->nodes[i].series[item].mean;
      count++;
    }
  return count ? sum / (double) count : nan ("");
}

/* Of two nodes that are equally far, as the nodes of a pair always are: the lower one for a share, else the higher one. */
static bool
is_worse (const struct job_imbalance *one, const struct job_imbalance *other, bool lower)
{
  double far = fabs (one->value - one->mean), most = fabs (other->value - other->mean), slack = 1e-9 * most;

  if (!other->node || far > most + slack)
    return true;
  return far >= most - slack && (lower ? one->value < other->value : one->value > other->value);
}

static void
job_nodes_compare (const struct job_report *report, size_t item)
{
  struct job_imbalance *worst = &report->imbalances[item];
  double sum = 0, highest = nan ("");
  size_t count = 0;

  *worst = (struct job_imbalance){ .percent = nan (""), .value = nan (""), .mean = nan ("") };
  for (size_t i = 0; i < report->node_count; i++)
    if (!isnan (report->nodes[i].series[item].mean)) {
      sum += report->nodes[i].series[item].mean;
      highest = fmax (highest, report->nodes[i].series[item].mean);
      count++;
    }
  if (count < 2 || sum <= 0)
    return;
  worst->percent = (highest * (double) count / sum - 1) * 100;
  for (size_t i = 0; i < report->node_count; i++) {
    double value = report->nodes[i].series[item].mean;
    /* in one pass, since there may be thousands of nodes */
    double mean = (sum - value) / (double) (count - 1);
    struct job_imbalance one = { worst->percent, report->nodes[i].name, value, mean };
    if (!isnan (value) && is_worse (&one, worst, job_items[item].combination == JOB_MEAN))
      *worst = one;
  }
  if (fabs (worst->value - worst->mean) <= 1e-9 * fabs (worst->mean))
    worst->node = NULL; /* they are alike */
}

static void
find_idle (struct job_report *report)
{
  for (size_t i = 0; i < report->node_count; i++) {
    struct job_node *node = &report->nodes[i];
    double usage = node->series[JOB_CPU_USAGE].mean;
    node->idle = !node->lost && usage < IDLE_PERCENT && !(usage / 100 * node->cpus >= IDLE_CPUS) &&
                 !(node->series[JOB_GPU_USAGE].mean >= IDLE_GPUS);
  }
}

/* One that is idle is not slow. */
static void
find_slowest (struct job_report *report)
{
  double lowest = HUGE_VAL, others;
  size_t found = SIZE_MAX;

  for (size_t i = 0; i < report->node_count; i++)
    if (!report->nodes[i].idle && report->nodes[i].series[JOB_CPU_USAGE].mean < lowest) {
      lowest = report->nodes[i].series[JOB_CPU_USAGE].mean;
      found = i;
    }
  if (found == SIZE_MAX)
    return;
  others = mean_of_others (report, JOB_CPU_USAGE, found);
  if (lowest < SLOW_PART * others && lowest + SLOW_PERCENT < others) {
    report->slowest = found;
    report->slowest_others = others;
  }
}

/* ---- figures of the job ---- */

/* While it runs the last sample of any node counts: what came behind it is not known. */
static int64_t
last_sample (const struct job_report *report)
{
  int64_t last_ns = 0;

  for (size_t i = 0; i < report->node_count && !report->ended_ns; i++)
    last_ns = report->nodes[i].last_ns > last_ns ? report->nodes[i].last_ns : last_ns;
  return last_ns > report->started_ns ? last_ns : report->until_ns;
}

/* CPU time of the nodes, over what they had: a node that was lost had its CPUs all the same. */
static void
sum_cpus (struct job_report *report)
{
  double cpus = 0, seconds = 0, used = 0, here;
  bool whole = report->node_count > 0;
  int64_t until_ns = last_sample (report);

  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_node *node = &report->nodes[i];
    here = node->series[JOB_CPU_USER].total + node->series[JOB_CPU_SYSTEM].total;
    whole &= !isnan (node->cpus);
    cpus += isnan (node->cpus) ? 0 : node->cpus;
    if (isnan (here))
      continue;
    report->cpu_time = isnan (report->cpu_time) ? here : report->cpu_time + here;
    if (!isnan (node->cpus)) {
      seconds += node->cpus * (double) (until_ns - report->started_ns) / NS_PER_S;
      used += here;
    }
  }
  if (whole || (isnan (report->cpus) && cpus > 0))
    report->cpus = cpus;
  if (seconds > 0)
    report->cpu_efficiency = used / seconds * 100;
}

static void
find_peak (struct job_report *report)
{
  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_series *series = report->nodes[i].series;
    double peak = fmax (series[JOB_MEMORY_PEAK].maximum, series[JOB_MEMORY].maximum);
    if (!isnan (peak) && (report->memory_peak_node == SIZE_MAX || peak > report->memory_peak)) {
      report->memory_peak = peak;
      report->memory_peak_node = i;
    }
  }
}

void
job_report_nodes (struct job_report *report)
{
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    combine_item (report, i);
    job_nodes_compare (report, i);
  }
  find_idle (report);
  find_slowest (report);
  sum_cpus (report);
  find_peak (report);
}
