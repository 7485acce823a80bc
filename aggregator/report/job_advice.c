/* See job_advice.h: the limits, and the meters. */
#include "aggregator/report/job_advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_words.h"
#include "synop/clock.h"

const struct advice_limits advice_limits_default = { .shortest_ns = 60 * NS_PER_S,
                                                     .cpu = 50,
                                                     .memory = 50,
                                                     .gpu = 15,
                                                     .storage = 50,
                                                     .network = 70,
                                                     .time = 10,
                                                     .margin = 20 };

void
advice_limits_put (struct buffer *to, const struct advice_limits *limits)
{
  buffer_printf (to, "%" PRId64, limits->shortest_ns);
  buffer_printf (to, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, limits->cpu, limits->memory, limits->gpu);
  buffer_printf (to, ",%" PRIu64 ",%" PRIu64, limits->storage, limits->network);
  buffer_printf (to, ",%" PRIu64 ",%" PRIu64, limits->time, limits->margin);
}

bool
advice_limits_parse (struct advice_limits *limits, const char *word)
{
  return sscanf (word, "%" SCNd64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64,
                 &limits->shortest_ns, &limits->cpu, &limits->memory, &limits->gpu, &limits->storage, &limits->network,
                 &limits->time, &limits->margin) == 8;
}

/* ---- what was used ---- */

double
job_share_percent (const struct job_share *share)
{
  return share->of > 0 ? 100 * share->used / share->of : nan ("");
}

struct job_share
job_cpus_used (const struct job_report *report)
{
  struct job_share share = { 0, 0 };

  for (int idle = 0; idle < 2 && share.of == 0; idle++) /* idle ones where there are no others */
    for (size_t i = 0; i < report->node_count; i++) {
      const struct job_node *node = &report->nodes[i];
      double usage = node->series[JOB_CPU_USAGE].mean;
      if (node->idle != idle || isnan (usage) || !(node->cpus > 0))
        continue;
      share.used += usage / 100 * node->cpus;
      share.of += node->cpus;
    }
  return share;
}

double
job_memory_given (const struct job_report *report, size_t node)
{
  double limit = report->nodes[node].series[JOB_MEMORY_LIMIT].maximum;

  return report->facts.known && isnan (limit) ? report->facts.numbers[JOB_FACT_MEMORY_PER_NODE] : limit;
}

struct job_share
job_memory_used (const struct job_report *report, size_t *node)
{
  struct job_share most = { nan (""), nan ("") };

  *node = SIZE_MAX;
  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_series *series = report->nodes[i].series;
    struct job_share share = { fmax (series[JOB_MEMORY_PEAK].maximum, series[JOB_MEMORY].maximum),
                               job_memory_given (report, i) };
    double percent = job_share_percent (&share);
    if (!isnan (percent) && !(percent <= job_share_percent (&most))) {
      most = share;
      *node = i;
    }
  }
  return most;
}

/* ---- meters ---- */

static void
add_meter (struct job_report *report, enum job_meter_id id, const struct job_share *share, size_t node)
{
  static const char *const names[][3] = { [JOB_METER_CPU] = { "cpu", "CPU", "CPUs" },
                                          [JOB_METER_MEMORY] = { "memory", "Memory", "B" },
                                          [JOB_METER_GPU] = { "gpu", "GPU", "GPUs" },
                                          [JOB_METER_GPU_MEMORY] = { "gpu_memory", "GPU memory", "B" } };
  double percent = job_share_percent (share);

  if (!isnan (percent))
    report->meters[report->meter_count++] =
        (struct job_meter){ names[id][0],
                            names[id][1],
                            names[id][2],
                            percent,
                            share->used,
                            share->of,
                            node < report->node_count ? report->nodes[node].name : NULL };
}

static void
add_gpu_meters (struct job_report *report)
{
  struct job_share use = { 0, 0 }, memory = { nan (""), nan ("") };
  size_t node = SIZE_MAX;

  for (size_t i = 0; i < report->node_count; i++)
    for (size_t k = 0; k < report->nodes[i].gpu_count; k++) {
      const struct report_gpu *gpu = &report->nodes[i].gpus[k];
      double utilization = job_gpu_mean (&gpu->utilization);
      struct job_share here = { gpu->memory.count ? gpu->memory.highest : nan (""), gpu->memory_total };
      if (!isnan (utilization)) {
        use.used += utilization / 100;
        use.of++;
      }
      if (!isnan (job_share_percent (&here)) && !(job_share_percent (&here) <= job_share_percent (&memory))) {
        memory = here;
        node = i;
      }
    }
  add_meter (report, JOB_METER_GPU, &use, SIZE_MAX);
  add_meter (report, JOB_METER_GPU_MEMORY, &memory, node);
}

void
job_meters_make (struct job_report *report)
{
  struct job_share all = { report->cpu_efficiency / 100 * report->cpus, report->cpus }, memory;
  size_t node;

  add_meter (report, JOB_METER_CPU, &all, SIZE_MAX);
  memory = job_memory_used (report, &node);
  add_meter (report, JOB_METER_MEMORY, &memory, node);
  add_gpu_meters (report);
}

void
job_meter_words (struct buffer *to, const struct job_meter *meter, bool with_node)
{
  struct scale scale = scale_for (meter->unit, meter->of);

  buffer_printf (to, "%s of ", words_number (meter->used / scale.divisor).text);
  if (strcmp (meter->unit, "B") == 0)
    buffer_printf (to, "%s %s", words_number (meter->of / scale.divisor).text, scale.unit);
  else
    buffer_printf (to, "%.6g %.*s", meter->of, (int) strlen (meter->unit) - (meter->of == 1), meter->unit);
  if (meter->node && with_node)
    buffer_printf (to, ", on %s", words_short (meter->node, 12).text);
}

/* ---- */

void
job_advice_free (struct job_report *report)
{
  for (size_t i = 0; i < report->note_count; i++) {
    free (report->notes[i].text);
    free (report->notes[i].advice);
    free (report->notes[i].write);
  }
  free (report->notes);
  report->notes = NULL;
  report->note_count = report->meter_count = 0;
}

void
job_advice (struct job_report *report, const struct advice_limits *limits)
{
  job_advice_free (report);
  job_meters_make (report);
  job_notes_make (report, limits);
}
