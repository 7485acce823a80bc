/* See job_groups.h. */
#include "aggregator/report/job_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synop/buffer.h"
#include "synop/memory.h"

#define NEAR_PERCENT 5.0       /* of use: alike */
#define NEAR_PART 0.1          /* of memory: alike, */
#define NEAR_BYTES (256 << 20) /* and so is what differs by less */

static bool
is_near (double one, double other, double far)
{
  return isnan (one) ? isnan (other) : fabs (one - other) <= far;
}

static bool
is_memory_near (double one, double other)
{
  return is_near (one, other, fmax (NEAR_PART * one, NEAR_BYTES));
}

/* ---- nodes ---- */

static int
rank_node (const struct job_report *report, size_t node)
{
  const struct job_node *here = &report->nodes[node];

  return here->lost ? 0 : here->samples == 0 ? 1 : here->idle ? 2 : node == report->slowest ? 3 : 4;
}

static int
compare_nodes (const void *one, const void *other, void *context)
{
  const struct job_report *report = context;
  size_t a = *(const size_t *) one, b = *(const size_t *) other;
  double left = report->nodes[a].series[JOB_CPU_USAGE].mean, right = report->nodes[b].series[JOB_CPU_USAGE].mean;
  int ranks = rank_node (report, a) - rank_node (report, b);

  if (ranks)
    return ranks;
  if (isnan (left) != isnan (right))
    return isnan (left) ? -1 : 1;
  if (left < right || left > right)
    return left < right ? -1 : 1;
  return a < b ? -1 : a > b;
}

static bool
are_alike (const struct job_report *report, size_t a, size_t b)
{
  const struct job_series *one = report->nodes[a].series, *other = report->nodes[b].series;

  return rank_node (report, a) == rank_node (report, b) &&
         (report->nodes[a].gap_seconds > 0) == (report->nodes[b].gap_seconds > 0) &&
         is_near (one[JOB_CPU_USAGE].mean, other[JOB_CPU_USAGE].mean, NEAR_PERCENT) &&
         is_near (one[JOB_GPU_USAGE].mean, other[JOB_GPU_USAGE].mean, NEAR_PERCENT) &&
         is_memory_near (one[JOB_MEMORY_PEAK].maximum, other[JOB_MEMORY_PEAK].maximum);
}

void
job_node_groups_init (struct job_node_groups *groups, const struct job_report *report)
{
  size_t *order = memory_new (report->node_count, sizeof *order);

  *groups = (struct job_node_groups){ .group = memory_new (report->node_count, sizeof groups->group[0]) };
  for (size_t i = 0; i < report->node_count; i++)
    order[i] = i;
  qsort_r (order, report->node_count, sizeof *order, compare_nodes, (void *) report);
  for (size_t i = 0; i < report->node_count; i++) {
    size_t g = 0;
    while (g < groups->count && !are_alike (report, groups->first[g], order[i]))
      g++;
    groups->group[order[i]] = g;
    if (g == JOB_GROUPS_MAX) {
      groups->left_out++;
      continue;
    }
    if (g == groups->count)
      groups->first[groups->count++] = order[i];
    groups->nodes[g]++;
  }
  free (order);
}

void
job_node_groups_free (struct job_node_groups *groups)
{
  free (groups->group);
  *groups = (struct job_node_groups){ 0 };
}

/* ---- GPUs ---- */

static bool
have_same_trouble (const struct report_gpu *one, const struct report_gpu *other)
{
  struct buffer first = { 0 }, second = { 0 };
  bool same;

  gpu_trouble (&first, one);
  gpu_trouble (&second, other);
  same = strcmp (buffer_text (&first), buffer_text (&second)) == 0;
  buffer_free (&first);
  buffer_free (&second);
  return same;
}

static bool
are_gpus_alike (const struct report_gpu *one, const struct report_gpu *other)
{
  double memory = one->memory.count ? one->memory.highest : nan ("");
  double others = other->memory.count ? other->memory.highest : nan ("");

  return is_near (job_gpu_mean (&one->utilization), job_gpu_mean (&other->utilization), NEAR_PERCENT) &&
         is_memory_near (memory, others) && strcmp (one->type, other->type) == 0 && have_same_trouble (one, other);
}

void
job_gpu_groups_init (struct job_gpu_groups *groups, const struct gpu_list *list)
{
  *groups = (struct job_gpu_groups){ .group = memory_new (list->count, sizeof groups->group[0]) };
  for (size_t i = 0; i < list->count; i++) {
    size_t g = 0;
    while (g < groups->count && !are_gpus_alike (list->places[groups->first[g]].gpu, list->places[i].gpu))
      g++;
    groups->group[list->places[i].at] = g;
    if (g == JOB_GROUPS_MAX) {
      groups->left_out++;
      continue;
    }
    if (g == groups->count)
      groups->first[groups->count++] = i;
    groups->gpus[g]++;
  }
}

void
job_gpu_groups_free (struct job_gpu_groups *groups)
{
  free (groups->group);
  *groups = (struct job_gpu_groups){ 0 };
}
