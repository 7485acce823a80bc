/* Reports of jobs made by hand: nodes that compute in waves, one of them slow, one with a gap; GPUs, some of them in
 * trouble. */
#ifndef SYNOP_TESTS_JOB_STAGE_H
#define SYNOP_TESTS_JOB_STAGE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_report.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define STAGE_STARTED (INT64_C (1795271527) * NS_PER_S) /* 2026-11-21 14:32:07 UTC */

struct stage {
  const char *id, *user, *name, *command;
  size_t nodes, bins;
  const char *node_name; /* with one %zu */
  double seconds;
  size_t slow;     /* its number from 0; SIZE_MAX: none */
  size_t gap_node; /* SIZE_MAX: none; its second quarter has no samples */
  size_t spacing;  /* only each so many bins has a sample; 0 and 1: all */
  bool rich;       /* InfiniBand, energy, memory bandwidth and GPUs too */
  bool blank, runs, odd_names;
  size_t gpus; /* of each node */
  enum {
    UNCOUNTED,
    COUNTED,
    COUNTED_UNLIKE,
    COUNTED_WITHOUT_PEAKS,
    COUNTED_ODD
  } counters; /* of the hardware; nodes alike or not */
};

static const char *const stage_odd_names[] = {
  "</text><script>alert(1)</script>",
  "'; system('touch pwned'); '",
  "`touch pwned`",
  "$(touch pwned)",
  "a\nset output 'pwned'\n",
  "\"{/=90 big}\" &lt;&amp;",
  "\xff\xfe\x01 not UTF-8",
  "@macro #comment \\n %s %d",
  "very-long-name-of-a-node-in-a-far-away-rack-0001.cluster.example.org",
  "EOD",
};
#define STAGE_ODD_NAMES (sizeof stage_odd_names / sizeof stage_odd_names[0])

/* At the ends of what a report lets pass. */
static const double stage_odd_numbers[] = { 1e-300, 1e24, 1, 5e-324, 3e10 };
#define STAGE_ODD_NUMBERS (sizeof stage_odd_numbers / sizeof stage_odd_numbers[0])

struct stage_memory {
  char **names;
  const char *unknown[2], *remarks[1];
};

/* What an item is like on a node at a bin. */
static inline double
stage_value (const struct stage *stage, enum job_item_id item, size_t node, size_t bin)
{
  double at = (double) bin / (double) stage->bins, wave = sin (at * 40 + (double) (node % 7)) * 0.5 + 0.5;
  double busy = (node == stage->slow ? 31 + 4 * wave : 92 + 6 * wave + (double) (node * 7 % 5) * 0.3) *
                (at < 0.03 ? at / 0.03 : 1);

  switch (item) {
  case JOB_CPU_USAGE:
  case JOB_GPU_USAGE:
    return busy;
  case JOB_MEMORY:
  case JOB_MEMORY_PEAK:
  case JOB_GPU_MEMORY:
    return (2 + 9 * at + (double) (node % 3) * 0.4) * 1073741824.0;
  case JOB_MEMORY_LIMIT:
    return 16 * 1073741824.0;
  case JOB_SWAP:
    return 0;
  case JOB_STORAGE_WAIT:
    return 3;
  case JOB_READ:
    return at < 0.1 ? 400e6 * wave : 0;
  case JOB_WRITE:
    return bin % 40 < 3 ? 120e6 : 0;
  case JOB_NETWORK_RECEIVED:
  case JOB_NETWORK_SENT:
    return 2e5 + 1.5e5 * wave;
  case JOB_INFINIBAND_RECEIVED:
  case JOB_INFINIBAND_SENT:
    return busy * 3e7 * (0.5 + wave);
  case JOB_MEMORY_BANDWIDTH:
    return busy * 1.5e9;
  case JOB_FLOP:
    if (stage->counters == COUNTED_ODD)
      return stage_odd_numbers[node % STAGE_ODD_NUMBERS];
    return busy * (0.3 + 0.02 * (double) (node % 9)) * 1e9;
  case JOB_FLOP_DOUBLE:
    return 0.9 * stage_value (stage, JOB_FLOP, node, bin);
  case JOB_FLOP_SINGLE:
    return 0.1 * stage_value (stage, JOB_FLOP, node, bin);
  case JOB_FLOP_SCALAR:
    return 0.25 * stage_value (stage, JOB_FLOP, node, bin);
  case JOB_CYCLES:
    return busy * 0.08 * 2.9e9;
  case JOB_INSTRUCTIONS:
    return 1.3 * busy * 0.08 * 2.9e9;
  case JOB_TASK_TIME:
    return busy * 0.08;
  case JOB_ENERGY:
  case JOB_GPU_ENERGY:
    return 110 + 3.1 * busy;
  default:
    return 8;
  }
}

static inline bool
stage_has (const struct stage *stage, enum job_item_id item)
{
  if (item != JOB_MEMORY_BANDWIDTH && job_item_is_of_counters (item))
    return stage->counters != UNCOUNTED;
  return !stage->blank && item != JOB_OOM_KILLS && item != JOB_CGROUP_PEAK &&
         (stage->rich || item < JOB_INFINIBAND_RECEIVED);
}

static inline void
stage_series (const struct stage *stage, struct job_series *series, enum job_item_id item, size_t node)
{
  size_t count = 0;

  series->bins = memory_new (stage->bins, sizeof (float));
  series->bin_maxima = memory_new (stage->bins, sizeof (float));
  series->total = series->mean = series->minimum = series->maximum = nan ("");
  for (size_t i = 0; i < stage->bins; i++) {
    bool gap = node == stage->gap_node && i >= stage->bins / 4 && i < stage->bins / 2;
    double value = stage_value (stage, item, node, i);
    series->bins[i] = series->bin_maxima[i] = nanf ("");
    if (!stage_has (stage, item) || gap || (stage->spacing > 1 && i % stage->spacing != 0))
      continue;
    series->bins[i] = (float) value;
    series->bin_maxima[i] = (float) (value * 1.02);
    series->minimum = fmin (series->minimum, value);
    series->maximum = fmax (series->maximum, value * 1.02);
    series->mean = count++ ? series->mean + (value - series->mean) / (double) count : value;
  }
  series->known = count > 0;
  if (series->known && (item <= JOB_CPU_SYSTEM || job_item_is_of_counters (item) ||
                        strcmp (job_items[item].unit, "B/s") == 0 || strcmp (job_items[item].unit, "W") == 0))
    series->total = series->mean * stage->seconds;
}

static inline void
stage_all (const struct stage *stage, struct job_report *report, enum job_item_id item)
{
  struct job_series *all = &report->all[item];
  struct job_imbalance *imbalance = &report->imbalances[item];
  bool sum = job_items[item].combination == JOB_SUM;
  double far = 0, mean = 0, most = 0;

  stage_series (stage, all, item, SIZE_MAX - 1);
  for (size_t i = 0; all->known && i < stage->bins; i++) {
    double total = 0, known = 0;
    for (size_t n = 0; n < stage->nodes; n++)
      if (!isnan (report->nodes[n].series[item].bins[i])) {
        total += (double) report->nodes[n].series[item].bins[i];
        known++;
      }
    all->bins[i] = known > 0 ? (float) (sum ? total : total / known) : nanf ("");
    all->bin_maxima[i] = all->bins[i] * 1.02F;
    most = fmax (most, (double) all->bin_maxima[i]);
  }
  for (size_t n = 0; all->known && n < stage->nodes; n++)
    mean += report->nodes[n].series[item].mean / (sum ? 1 : (double) stage->nodes);
  if (all->known) {
    all->mean = mean;
    all->maximum = most;
    all->total *= (double) stage->nodes;
  }
  *imbalance = (struct job_imbalance){ nan (""), NULL, nan (""), nan ("") };
  for (size_t n = 0; stage->nodes > 1 && all->known && n < stage->nodes; n++) {
    double value = report->nodes[n].series[item].mean, whole = mean * (sum ? 1 : (double) stage->nodes);
    double others = (whole - value) / (double) (stage->nodes - 1);
    if (fabs (value - others) > far) {
      far = fabs (value - others);
      *imbalance = (struct job_imbalance){ far / others * 100, report->nodes[n].name, value, others };
    }
  }
}

static inline struct job_gpu_mean
stage_mean (double value, double highest)
{
  return (struct job_gpu_mean){ .sum = value * 100, .highest = highest, .count = 100 };
}

/* All compute, a little less from one to the next, but: GPU 3 of the second node is idle; GPU 5 of the first has XIDs;
 * GPU 2 of each eleventh node is too hot; of each fortieth node all are idle, and its GPU 6 fell off the bus. */
static inline void
stage_gpus (const struct stage *stage, struct job_node *node, size_t number)
{
  node->gpus = memory_new (stage->gpus, sizeof node->gpus[0]);
  node->gpu_count = stage->gpus;
  for (size_t k = 0; k < stage->gpus; k++) {
    struct report_gpu *gpu = &node->gpus[k];
    bool idle = (number == 1 && k == 3) || number % 40 == 39, hot = number % 11 == 10 && k == 2;
    double use = idle ? 0 : hot ? 61 : 97 - (double) (k * 2 + number % 5);
    *gpu = (struct report_gpu){ .samples = 100, .idle = idle ? 100 : 1 };
    snprintf (gpu->label, sizeof gpu->label, "%zu", k);
    gpu->utilization = stage_mean (use, idle ? 0 : 100);
    gpu->memory = stage_mean (70e9, idle ? 0 : 7.5e10);
    gpu->memory_total = 8.5e10;
    snprintf (gpu->type, sizeof gpu->type, "NVIDIA H100 80GB HBM3");
    gpu->energy = stage_mean (stage->seconds * (idle ? 0.7 : 6.1), 0);
    gpu->throttled = stage_mean (hot ? 88 : 0, 100);
    gpu->throttled_power = stage_mean (idle ? 0 : 3.2, 100);
    gpu->throttled_thermal = stage_mean (hot ? 71 : 0, 100);
    gpu->xids = number == 0 && k == 5 ? 3 : number % 40 == 39 && k == 6;
    gpu->xid = !gpu->xids ? 0 : k == 5 ? 48 : 79;
  }
}

static inline struct job_peaks
stage_peaks (const struct stage *stage, size_t node)
{
  double part = stage->counters == COUNTED_UNLIKE && node % 3 == 2 ? 0.5 : 1;

  if (stage->counters == UNCOUNTED || stage->counters == COUNTED_WITHOUT_PEAKS ||
      (stage->counters == COUNTED_ODD && stage->nodes == 1))
    return (struct job_peaks){ nan (""), nan (""), nan (""), nan (""), nan ("") };
  if (stage->counters == COUNTED_ODD)
    return (struct job_peaks){ stage_odd_numbers[(node + stage->nodes) % STAGE_ODD_NUMBERS],
                               stage_odd_numbers[(node + 3) % STAGE_ODD_NUMBERS],
                               stage_odd_numbers[(node + 1) % STAGE_ODD_NUMBERS], nan (""), nan ("") };
  return (struct job_peaks){ 3.1e11 * part, 2.6e12 * part, 5.2e12 * part, nan (""), nan ("") };
}

static inline struct job_report *
stage_report (const struct stage *stage)
{
  struct job_report *report = memory_new (1, sizeof *report);
  struct stage_memory *memory = memory_new (1, sizeof *memory);

  memory->names = memory_new (stage->nodes, sizeof memory->names[0]);
  memory->unknown[0] = "GPUs were not sampled on any node.";
  memory->remarks[0] = "It is bound by memory: 140 GB/s, which is 77.1 % of the peak.";
  memory->unknown[1] = "Processes that began and ended between two samples are counted where a cgroup counts them.";
  *report = (struct job_report){ .id = stage->id,
                                 .shown = stage->id,
                                 .cluster = stage->rich ? "alps" : "",
                                 .scheduler = "slurm",
                                 .user = stage->user,
                                 .name = stage->name,
                                 .command = stage->command,
                                 .array = "",
                                 .reason = stage->runs ? "" : "told",
                                 .started_ns = STAGE_STARTED,
                                 .bins = stage->bins,
                                 .node_count = stage->nodes,
                                 .slowest = stage->slow,
                                 .prices = { nan (""), nan (""), "" },
                                 .unknown = memory->unknown,
                                 .unknown_count = 2,
                                 .remarks = memory->remarks,
                                 .remark_count = stage->counters != UNCOUNTED,
                                 .memory = memory,
                                 .cpus = 8 * (double) stage->nodes,
                                 .cpu_efficiency = 87.3,
                                 .cpu_time = 0.873 * 8 * (double) stage->nodes * stage->seconds,
                                 .memory_peak = 11.2 * 1073741824,
                                 .memory_peak_node = stage->nodes / 2 };
  report->until_ns = STAGE_STARTED + (int64_t) (stage->seconds * NS_PER_S);
  report->ended_ns = stage->runs ? 0 : report->until_ns;
  report->bins_ns = report->started_ns;
  report->bin_ns = stage->bins ? (int64_t) (stage->seconds * NS_PER_S) / (int64_t) stage->bins : 0;
  if (stage->blank)
    report->cpu_time = report->cpu_efficiency = report->memory_peak = nan ("");
  report->nodes = memory_new (stage->nodes, sizeof report->nodes[0]);
  report->all = memory_new (JOB_ITEM_COUNT, sizeof report->all[0]);
  report->imbalances = memory_new (JOB_ITEM_COUNT, sizeof report->imbalances[0]);
  for (size_t n = 0; n < stage->nodes; n++) {
    struct job_node *node = &report->nodes[n];
    memory->names[n] = stage->odd_names ? memory_string (stage_odd_names[n % STAGE_ODD_NAMES])
                                        : memory_format (stage->node_name ? stage->node_name : "n%zu", n + 1);
    *node = (struct job_node){ .name = memory->names[n],
                               .cpus = 8,
                               .first_ns = STAGE_STARTED,
                               .last_ns = report->until_ns,
                               .peaks = stage_peaks (stage, n),
                               .samples = stage->blank ? 0 : stage->bins };
    if (n == stage->gap_node) {
      node->gaps = memory_new (1, sizeof node->gaps[0]);
      node->gaps[0].from_ns = STAGE_STARTED + report->bin_ns * (int64_t) (stage->bins / 4);
      node->gaps[0].to_ns = STAGE_STARTED + report->bin_ns * (int64_t) (stage->bins / 2);
      node->gap_count = 1;
      node->gap_seconds = (double) (node->gaps[0].to_ns - node->gaps[0].from_ns) / NS_PER_S;
    }
    stage_gpus (stage, node, n);
    node->series = memory_new (JOB_ITEM_COUNT, sizeof node->series[0]);
    for (int item = 0; item < JOB_ITEM_COUNT; item++)
      stage_series (stage, &node->series[item], (enum job_item_id) item, n);
  }
  for (int item = 0; item < JOB_ITEM_COUNT; item++)
    stage_all (stage, report, (enum job_item_id) item);
  report->slowest_others = stage->slow == SIZE_MAX ? nan ("") : report->imbalances[JOB_CPU_USAGE].mean;
  job_advice (report, &advice_limits_default);
  return report;
}

static inline void
stage_free_series (struct job_series *series)
{
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    free (series[i].bins);
    free (series[i].bin_maxima);
  }
  free (series);
}

static inline void
stage_free (struct job_report *report)
{
  struct stage_memory *memory = report->memory;

  job_advice_free (report);
  for (size_t n = 0; n < report->node_count; n++) {
    stage_free_series (report->nodes[n].series);
    free (report->nodes[n].gaps);
    free (report->nodes[n].gpus);
    free (memory->names[n]);
  }
  stage_free_series (report->all);
  free (memory->names);
  free (memory);
  free (report->nodes);
  free (report->imbalances);
  free (report);
}

/* The jobs that are drawn, by name. */
static const struct {
  const char *name;
  struct stage stage;
} stages[] = {
  { "slow",
    { "4711", "ada", "cfd-wing", "mpirun ./solver --steps 100000 wing.cfg", 12, 600, NULL, 5025, 6, 3, .rich = true } },
  { "one", { "12", "ada", "build", "make", 1, 300, NULL, 300, SIZE_MAX, SIZE_MAX } },
  { "large", { "42[3].pbs", "grace", "climate", "./model", 1000, 600, "node%04zu", 36000, 616, 99, .rich = true } },
  { "short", { "77/2", "ada", "test", "sleep", 3, 10, NULL, 10, SIZE_MAX, 1 } },
  { "long",
    { "90001", "linus", "train", "python train.py", 20, 600, "gpu-%02zu", 864000, 3, 7, .rich = true, .runs = true } },
  { "empty", { "1000", "ada", "", "", 2, 60, NULL, 60, SIZE_MAX, SIZE_MAX, .blank = true } },
  { "none", { "1001", "", "", "", 0, 0, NULL, 0, SIZE_MAX, SIZE_MAX, .blank = true } },
  { "bin", { "1002", "ada", "blink", "true", 2, 1, NULL, 1, SIZE_MAX, SIZE_MAX } },
  { "sparse", { "1003", "ada", "seldom", "./seldom", 4, 300, NULL, 3000, 1, 2, .spacing = 10 } },
  { "hostile",
    { "1</title><script>alert(1)</script>", "'\"`touch pwned`", "\xff\x01</svg><img src=x onerror=alert(1)>",
      "$(touch pwned) 'quoted' \"twice\" \\ {/=90 big} @x #", 10, 60, NULL, 600, 0, 2, .odd_names = true, .gpus = 4,
      .rich = true, .counters = COUNTED } },
  { "gpus", { "4713", "ada", "train", "python train.py", 2, 60, NULL, 3600, SIZE_MAX, SIZE_MAX, .gpus = 8 } },
  { "many",
    { "4714", "ada", "train", "python train.py", 100, 60, "gpu%03zu", 86400, SIZE_MAX, SIZE_MAX, .rich = true,
      .gpus = 8 } },
  { "roof",
    { "4716", "ada", "stencil", "./stencil 4096", 12, 60, NULL, 3600, 4, SIZE_MAX, .rich = true,
      .counters = COUNTED } },
  { "roof-unlike",
    { "4717", "ada", "stencil", "./stencil 4096", 300, 60, "node%04zu", 3600, SIZE_MAX, SIZE_MAX, .rich = true,
      .counters = COUNTED_UNLIKE } },
  { "roof-one",
    { "4718", "ada", "dgemm", "./dgemm", 1, 60, NULL, 600, SIZE_MAX, SIZE_MAX, .rich = true, .counters = COUNTED } },
  { "roof-bare",
    { "4719", "ada", "stencil", "./stencil", 3, 60, NULL, 600, SIZE_MAX, SIZE_MAX, .rich = true,
      .counters = COUNTED_WITHOUT_PEAKS } },
  { "roof-odd",
    { "4720", "ada", "x", "./x", 1, 60, NULL, 600, SIZE_MAX, SIZE_MAX, .rich = true, .counters = COUNTED_ODD } },
  { "roof-odder",
    { "4721", "ada", "x", "./x", 7, 60, NULL, 600, SIZE_MAX, SIZE_MAX, .rich = true, .counters = COUNTED_ODD } },
  { "single", { "4715", "ada", "infer", "serve", 70, 20, NULL, 600, SIZE_MAX, SIZE_MAX, .gpus = 1 } },
};
#define STAGES (sizeof stages / sizeof stages[0])

#endif
