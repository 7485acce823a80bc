/* What minutes have of the job's GPUs: of each GPU by itself, and of a node's together. Within a minute it is not known which
 * of several GPUs did most at the same time: the most of all is the fold of the most of each. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/tier_fold.h"
#include "aggregator/report/job_report_gpus.h"
#include "aggregator/report/job_report_minutes.h"
#include "synop/clock.h"
#include "synop/memory.h"

/* A minute of a node's GPUs together: a million of them in a large job's report. */
struct together {
  float sum, min, max;
  uint32_t count;
  uint16_t gpus;
};

struct one_gpu {
  struct report_gpu *gpu;
  size_t node;
};

struct adding {
  struct job_minutes *minutes;
  struct job_report *report;
  struct job_tally *const *tallies;
  const char *metric;
  size_t number;              /* of the metric, */
  size_t item;                /* and its item; JOB_ITEM_COUNT: it has none */
  struct together **together; /* one a node, from the job's first minute on; NULL: none */
  struct one_gpu *gpus;       /* of all nodes, each node's one after the other, */
  size_t *firsts;             /* from here on */
};

static void *
take_series (void *context, const char *name, const char *row, size_t length, const struct metric *metric)
{
  const struct adding *adding = context;
  size_t node = job_minutes_node (adding->minutes, name);

  (void) metric;
  if (node == SIZE_MAX || !adding->tallies[node] || !job_minutes_any (adding->minutes, node))
    return NULL;
  for (size_t i = 0; i < adding->report->nodes[node].gpu_count; i++) {
    const char *label = adding->report->nodes[node].gpus[i].label;
    if (strlen (label) == length && memcmp (label, row, length) == 0)
      return &adding->gpus[adding->firsts[node] + i];
  }
  return NULL;
}

static size_t
minutes_of (const struct job_report *report)
{
  return (size_t) (tier_minute (report->until_ns) - tier_minute (report->started_ns) + 1);
}

static void
put_together (struct adding *adding, size_t node, const struct history_point *point)
{
  struct together *to;

  if (!adding->together[node])
    adding->together[node] = memory_new (minutes_of (adding->report), sizeof *to);
  to = &adding->together[node][tier_minute (point->time_ns) - tier_minute (adding->report->started_ns)];
  to->gpus++;
  to->count = point->count > to->count ? (uint32_t) point->count : to->count;
  to->sum += (float) point->sum;
  to->min += (float) point->min;
  to->max += (float) point->max;
}

static void
take_points (void *context, void *series, const struct history_point *points, size_t count)
{
  struct adding *adding = context;
  const struct one_gpu *one = series;
  const struct job_tally *power;
  double passed;

  if (!one)
    return;
  power = &adding->tallies[one->node][JOB_GPU_USAGE];
  passed = power->passed ? power->passed_seconds / (double) power->passed : 1;
  for (size_t i = 0; i < count; i++) {
    double period = job_minutes_period (adding->minutes, one->node, points[i].time_ns);
    if (!job_minutes_take (adding->minutes, one->node, &points[i]))
      continue;
    job_gpus_take_minute (one->gpu, adding->number, &points[i], period > 0 ? period : passed);
    if (adding->item < JOB_ITEM_COUNT && adding->tallies[one->node][adding->item].metric)
      put_together (adding, one->node, &points[i]);
  }
}

static void
tally_node (const struct adding *adding, size_t node)
{
  struct job_tally *tally = &adding->tallies[node][adding->item];
  struct job_series *series = &adding->report->nodes[node].series[adding->item];
  size_t count = minutes_of (adding->report);

  for (size_t i = 0; i < count; i++) {
    const struct together *from = &adding->together[node][i];
    double divisor = tally->metric->fold == FOLD_MEAN ? from->gpus : 1;
    struct history_point point = { .time_ns = (tier_minute (adding->report->started_ns) + (int64_t) i) * MINUTE_NS,
                                   .span_ns = MINUTE_NS,
                                   .count = from->count,
                                   .sum = (double) from->sum / divisor,
                                   .min = (double) from->min / divisor,
                                   .max = (double) from->max / divisor };
    if (from->count)
      job_tally_minute (tally, adding->report, series, &point,
                        job_minutes_period (adding->minutes, node, point.time_ns));
  }
}

static size_t
item_of (const char *metric)
{
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++)
    if (job_item_is_of_gpus (i) && strcmp (job_items[i].metric, metric) == 0)
      return i;
  return JOB_ITEM_COUNT;
}

static int
add_metric (struct adding *adding, size_t number, struct error *error)
{
  const struct points_into into = { adding, take_series, take_points };
  int result;

  adding->number = number;
  adding->metric = job_gpus_metric (number);
  adding->item = item_of (adding->metric);
  adding->together = memory_new (adding->report->node_count, sizeof adding->together[0]);
  result = job_minutes_read (adding->minutes, "gpu", adding->metric, true, &into, error);
  for (size_t i = 0; i < adding->report->node_count; i++) {
    if (adding->together[i])
      tally_node (adding, i);
    free (adding->together[i]);
  }
  free (adding->together);
  return result;
}

int
job_minutes_add_gpus (struct job_minutes *minutes, struct job_scene *scene, struct job_tally *const *tallies,
                      struct error *error)
{
  struct job_report *report = scene->report;
  struct adding adding = { .minutes = minutes, .report = report, .tallies = tallies };
  size_t count = 0;
  int result = 0;

  for (size_t i = 0; i < report->node_count; i++)
    count += job_minutes_any (minutes, i) ? report->nodes[i].gpu_count : 0;
  if (count == 0)
    return 0;
  adding.gpus = memory_new (count, sizeof adding.gpus[0]);
  adding.firsts = memory_new (report->node_count, sizeof adding.firsts[0]);
  count = 0;
  for (size_t i = 0; i < report->node_count; i++) {
    adding.firsts[i] = count;
    for (size_t k = 0; job_minutes_any (minutes, i) && k < report->nodes[i].gpu_count; k++)
      adding.gpus[count++] = (struct one_gpu){ &report->nodes[i].gpus[k], i };
  }
  for (size_t i = 0; i < JOB_GPUS_METRICS && result == 0; i++)
    result = add_metric (&adding, i, error);
  for (size_t i = 0; i < count; i++)
    job_gpus_end_minutes (adding.gpus[i].gpu);
  free (adding.firsts);
  free (adding.gpus);
  return result;
}
