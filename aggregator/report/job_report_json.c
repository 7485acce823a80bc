/* A job's report as one JSON object. A quantity is {"mean","minimum","maximum"} of what it is over time, and "total" of
 * counters: bytes, seconds, joules. Curves are not in it: the exports have every sample.
 *
 *   {"type":"job_report","job_id":"123","scheduler":"slurm","user":"ana","name":"relax","command":"python3","array":"",
 *    "started":"...","ended":"...","until":"...","duration":1812.0,"reason":"gone","period":1.0,"cpus":12,"cpu_time":1.9e4,
 *    "cpu_efficiency":87.3,"memory_peak":{"node":"n3","bytes":1},"slowest_node":"n2","lost_nodes":["n3"],
 *    "total":{"cpu_usage":{...},...},
 *    "nodes":[{"node":"n1","cpus":4,"first":"...","last":"...","samples":1812,"lost":false,"gap_seconds":0,
 *              "gaps":[{"from":"...","to":"...","seconds":12.0}],
 *              "gpus":[{"gpu":"2","samples":1812,"idle":100.0,"utilization":{"mean":0,"maximum":0},"memory":{...},
 *                       "energy":1.2e5,"throttled":0,"throttled_power":0,"throttled_thermal":0,"xid_errors":0,"xid":null}],
 *              "report":{"cpu_usage":{...},...}},...],
 *    "imbalance":{"cpu_usage":{"percent":4.5,"node":"n2","value":12.1,"others":97.3},...},
 *    "unknown":["n3 was lost at ..."]} */
#include <math.h>

#include "aggregator/report/job_report_write.h"
#include "synop/clock.h"

#define PLACES 6

static void
write_time (struct json *json, const char *key, int64_t time_ns, bool known)
{
  json_key (json, key);
  if (known)
    json_time (json, time_ns);
  else
    json_null (json);
}

static void
write_text (struct json *json, const char *key, const char *text)
{
  json_key (json, key);
  json_text (json, text);
}

static void
write_real (struct json *json, const char *key, double value)
{
  json_key (json, key);
  json_real (json, value);
}

static void
write_seconds (struct json *json, const char *key, double seconds)
{
  json_key (json, key);
  json_real_places (json, seconds, PLACES);
}

/* All that some node has: of the others null. */
static void
write_series (struct json *json, const struct job_report *report, const struct job_series *series)
{
  json_object (json);
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    if (!report->all[i].known)
      continue;
    json_key (json, job_items[i].name);
    json_object (json);
    if (!isnan (report->all[i].total))
      write_real (json, "total", series[i].total);
    write_real (json, "mean", series[i].mean);
    write_real (json, "minimum", series[i].minimum);
    write_real (json, "maximum", series[i].maximum);
    json_object_end (json);
  }
  json_object_end (json);
}

static void
write_mean (struct json *json, const char *key, const struct job_gpu_mean *mean)
{
  json_key (json, key);
  json_object (json);
  write_real (json, "mean", job_gpu_mean (mean));
  write_real (json, "maximum", mean->count ? mean->highest : nan (""));
  json_object_end (json);
}

static void
write_gpu (struct json *json, const struct job_gpu *gpu)
{
  json_object (json);
  write_text (json, "gpu", gpu->label);
  json_key (json, "samples");
  json_uint (json, gpu->samples);
  write_real (json, "idle", job_gpu_idle (gpu));
  write_mean (json, "utilization", &gpu->utilization);
  write_mean (json, "memory", &gpu->memory);
  write_real (json, "energy", gpu->energy.count ? gpu->energy.sum : nan (""));
  write_real (json, "throttled", job_gpu_mean (&gpu->throttled));
  write_real (json, "throttled_power", job_gpu_mean (&gpu->throttled_power));
  write_real (json, "throttled_thermal", job_gpu_mean (&gpu->throttled_thermal));
  json_key (json, "xid_errors");
  json_uint (json, gpu->xids);
  write_real (json, "xid", gpu->xid ? (double) gpu->xid : nan (""));
  json_object_end (json);
}

static void
json_node (struct json *json, const struct job_report *report, const struct job_node *node)
{
  json_object (json);
  write_text (json, "node", node->name);
  write_real (json, "cpus", node->cpus);
  write_time (json, "first", node->first_ns, node->samples > 0);
  write_time (json, "last", node->last_ns, node->samples > 0);
  json_key (json, "samples");
  json_uint (json, node->samples);
  json_key (json, "lost");
  json_bool (json, node->lost);
  write_seconds (json, "gap_seconds", node->gap_seconds);
  json_key (json, "gaps");
  json_array (json);
  for (size_t i = 0; i < node->gap_count; i++) {
    json_object (json);
    write_time (json, "from", node->gaps[i].from_ns, true);
    write_time (json, "to", node->gaps[i].to_ns, true);
    write_seconds (json, "seconds", (double) (node->gaps[i].to_ns - node->gaps[i].from_ns) / NS_PER_S);
    json_object_end (json);
  }
  json_array_end (json);
  json_key (json, "gpus");
  json_array (json);
  for (size_t i = 0; i < node->gpu_count; i++)
    write_gpu (json, &node->gpus[i]);
  json_array_end (json);
  json_key (json, "report");
  write_series (json, report, node->series);
  json_object_end (json);
}

static void
write_head (struct json *json, const struct job_report *report)
{
  write_text (json, "type", "job_report");
  write_text (json, "job_id", report->id);
  write_text (json, "scheduler", report->scheduler);
  write_text (json, "user", report->user);
  write_text (json, "name", report->name);
  write_text (json, "command", report->command);
  write_text (json, "array", report->array);
  write_time (json, "started", report->started_ns, true);
  write_time (json, "ended", report->ended_ns, report->ended_ns != 0);
  write_time (json, "until", report->until_ns, true);
  write_seconds (json, "duration", (double) (report->until_ns - report->started_ns) / NS_PER_S);
  write_text (json, "reason", report->reason);
  write_seconds (json, "period", report->period_ns ? (double) report->period_ns / NS_PER_S : nan (""));
  write_real (json, "cpus", report->cpus);
  write_real (json, "cpu_time", report->cpu_time);
  write_real (json, "cpu_efficiency", report->cpu_efficiency);
  json_key (json, "memory_peak");
  if (report->memory_peak_node == SIZE_MAX) {
    json_null (json);
  } else {
    json_object (json);
    write_text (json, "node", report->nodes[report->memory_peak_node].name);
    write_real (json, "bytes", report->memory_peak);
    json_object_end (json);
  }
  write_text (json, "slowest_node", report->slowest == SIZE_MAX ? NULL : report->nodes[report->slowest].name);
  json_key (json, "lost_nodes");
  json_array (json);
  for (size_t i = 0; i < report->node_count; i++)
    if (report->nodes[i].lost)
      json_text (json, report->nodes[i].name);
  json_array_end (json);
}

static void
write_imbalances (struct json *json, const struct job_report *report)
{
  json_key (json, "imbalance");
  json_object (json);
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    const struct job_imbalance *unlike = &report->imbalances[i];
    if (isnan (unlike->percent))
      continue;
    json_key (json, job_items[i].name);
    json_object (json);
    write_real (json, "percent", unlike->percent);
    write_text (json, "node", unlike->node);
    write_real (json, "value", unlike->node ? unlike->value : nan (""));
    write_real (json, "others", unlike->node ? unlike->mean : nan (""));
    json_object_end (json);
  }
  json_object_end (json);
}

void
job_report_json (const struct job_report *report, struct json *json)
{
  json_object (json);
  write_head (json, report);
  json_key (json, "total");
  write_series (json, report, report->all);
  json_key (json, "nodes");
  json_array (json);
  for (size_t i = 0; i < report->node_count; i++)
    json_node (json, report, &report->nodes[i]);
  json_array_end (json);
  write_imbalances (json, report);
  json_key (json, "unknown");
  json_array (json);
  for (size_t i = 0; i < report->unknown_count; i++)
    json_text (json, report->unknown[i]);
  json_array_end (json);
  json_object_end (json);
  json_newline (json);
}
