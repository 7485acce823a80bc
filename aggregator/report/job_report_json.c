/* A job's report as one JSON object. A quantity is {"mean","minimum","maximum"} of what it is over time, and "total" of
 * counters: bytes, seconds, joules. Curves are not in it: the exports have every sample.
 *
 *   {"type":"job_report","job_id":"123","scheduler":"slurm","user":"ana","name":"relax","command":"python3","array":"",
 *    "started":"...","ended":"...","until":"...","duration":1812.0,"reason":"gone","period":1.0,"minutes":0,"hours":0,"deleted":0,
 *    "cpus":12,"cpu_time":1.9e4,"cpu_efficiency":87.3,"memory_peak":{"node":"n3","bytes":1},
 *    "energy":{"kwh":1.2,"estimated":0,"cost":0.37,"currency":"EUR","co2":0.42},"slowest_node":"n2","lost_nodes":["n3"],
 *    "counters":{"ipc":1.4,"flops":3.1e11,...,"peaks":{...}},"total":{"cpu_usage":{...},...},
 *    "nodes":[{"node":"n1","cpus":4,"first":"...","last":"...","samples":1812,"lost":false,"idle":false,"gap_seconds":0,
 *              "gaps":[{"from":"...","to":"...","seconds":12.0}],
 *              "gpus":[{"gpu":"2","samples":1812,"idle":100.0,...,"utilization":{"mean":0,"maximum":0},"memory":{...},
 *                       "energy":1.2e5,"throttled":0,"throttled_power":0,"throttled_thermal":0,"xid_errors":0,"xid":null}],
 *              "counters":{...},"report":{"cpu_usage":{...},...}},...],
 *    "imbalance":{"cpu_usage":{"percent":4.5,"node":"n2","value":12.1,"others":97.3},...},
 *    "meters":[{"meter":"memory","title":"Memory","unit":"B","percent":9.5,"used":2e9,"of":2.1e10,"node":"n3"},...],
 *    "notes":[{"note":"memory_unused","text":"It used at most ...","advice":"Ask for 3.00 GiB","write":"#SBATCH --mem=3G"},...],
 *    "remarks":["It is bound by memory: ..."],"traces":["kineto of ..."],"unknown":["n3 was lost at ..."]} */
#include <math.h>

#include "aggregator/report/job_energy.h"
#include "aggregator/report/job_report_write.h"
#include "aggregator/report/job_roofline.h"
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
write_seconds (struct json *json, const char *key, double seconds)
{
  json_real_places (json_key (json, key), seconds, PLACES);
}

/* Every item that some node has; null for a node that lacks it. */
static void
write_series (struct json *json, const struct job_report *report, const struct job_series *series)
{
  json_object (json);
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    if (!report->all[i].known)
      continue;
    json_object (json_key (json, job_items[i].name));
    if (!isnan (report->all[i].total))
      json_real (json_key (json, "total"), series[i].total);
    json_real (json_key (json, "mean"), series[i].mean);
    json_real (json_key (json, "minimum"), series[i].minimum);
    json_real (json_key (json, "maximum"), series[i].maximum);
    json_object_end (json);
  }
  json_object_end (json);
}

static void
write_mean (struct json *json, const char *key, const struct job_gpu_mean *mean)
{
  json_object (json_key (json, key));
  json_real (json_key (json, "mean"), job_gpu_mean (mean));
  json_real (json_key (json, "maximum"), mean->count ? mean->highest : nan (""));
  json_object_end (json);
}

static void
write_gpu (struct json *json, const struct report_gpu *gpu)
{
  json_object (json);
  json_text (json_key (json, "gpu"), gpu->label);
  json_text (json_key (json, "type"), gpu->type[0] ? gpu->type : NULL);
  json_uint (json_key (json, "samples"), gpu->samples);
  json_real (json_key (json, "idle"), job_gpu_idle (gpu));
  json_real (json_key (json, "without_process"),
             gpu->samples ? 100 * (double) gpu->without / (double) gpu->samples : nan (""));
  write_mean (json, "utilization", &gpu->utilization);
  write_mean (json, "memory", &gpu->memory);
  json_real (json_key (json, "memory_total"), gpu->memory_total);
  json_real (json_key (json, "energy"), gpu->energy.count ? gpu->energy.sum : nan (""));
  json_real (json_key (json, "throttled"), job_gpu_mean (&gpu->throttled));
  json_real (json_key (json, "throttled_power"), job_gpu_mean (&gpu->throttled_power));
  json_real (json_key (json, "throttled_thermal"), job_gpu_mean (&gpu->throttled_thermal));
  json_uint (json_key (json, "xid_errors"), gpu->xids);
  json_real (json_key (json, "xid"), gpu->xid ? (double) gpu->xid : nan (""));
  json_object_end (json);
}

static void
write_roofline (struct json *json, const struct job_roofline *roofline)
{
  json_key (json, "counters");
  if (!roofline->known) {
    json_null (json);
    return;
  }
  json_object (json);
  json_real (json_key (json, "ipc"), roofline->ipc);
  json_real (json_key (json, "ghz"), roofline->ghz);
  json_real (json_key (json, "flops"), roofline->flops);
  json_real (json_key (json, "flops_double"), roofline->flops_double);
  json_real (json_key (json, "flops_single"), roofline->flops_single);
  json_real (json_key (json, "vectors"), roofline->vectors);
  json_real (json_key (json, "memory_bandwidth"), roofline->bandwidth);
  json_real (json_key (json, "intensity"), roofline->intensity);
  json_real (json_key (json, "flops_share"), roofline->flops_share);
  json_real (json_key (json, "memory_bandwidth_share"), roofline->bandwidth_share);
  json_object (json_key (json, "peaks"));
  json_real (json_key (json, "memory_bandwidth"), roofline->peaks.bandwidth);
  json_real (json_key (json, "flops_double"), roofline->peaks.flops_double);
  json_real (json_key (json, "flops_single"), roofline->peaks.flops_single);
  json_object_end (json);
  json_bool (json_key (json, "flops_shared"), roofline->flops_shared);
  json_bool (json_key (json, "memory_bandwidth_shared"), roofline->bandwidth_shared);
  json_bool (json_key (json, "memory_bandwidth_estimated"), roofline->estimated);
  json_object_end (json);
}

static void
json_node (struct json *json, const struct job_report *report, size_t index)
{
  const struct job_node *node = &report->nodes[index];
  struct job_roofline roofline;

  json_object (json);
  json_text (json_key (json, "node"), node->name);
  json_real (json_key (json, "cpus"), node->cpus);
  write_time (json, "first", node->first_ns, node->samples > 0);
  write_time (json, "last", node->last_ns, node->samples > 0);
  json_uint (json_key (json, "samples"), node->samples);
  json_bool (json_key (json, "lost"), node->lost);
  json_bool (json_key (json, "idle"), node->idle);
  write_seconds (json, "gap_seconds", node->gap_seconds);
  json_array (json_key (json, "gaps"));
  for (size_t i = 0; i < node->gap_count; i++) {
    json_object (json);
    write_time (json, "from", node->gaps[i].from_ns, true);
    write_time (json, "to", node->gaps[i].to_ns, true);
    write_seconds (json, "seconds", (double) (node->gaps[i].to_ns - node->gaps[i].from_ns) / NS_PER_S);
    json_object_end (json);
  }
  json_array_end (json);
  json_array (json_key (json, "gpus"));
  for (size_t i = 0; i < node->gpu_count; i++)
    write_gpu (json, &node->gpus[i]);
  json_array_end (json);
  roofline = job_roofline_of_node (report, index);
  write_roofline (json, &roofline);
  json_key (json, "report");
  write_series (json, report, node->series);
  json_object_end (json);
}

static void
write_energy (struct json *json, const struct job_report *report)
{
  json_key (json, "energy");
  if (isnan (job_energy_kwh (report))) {
    json_null (json);
    return;
  }
  json_object (json);
  json_real (json_key (json, "kwh"), job_energy_kwh (report));
  json_real (json_key (json, "estimated"), job_energy_estimated (report));
  json_real (json_key (json, "cost"), job_energy_cost (report));
  json_text (json_key (json, "currency"), isnan (job_energy_cost (report)) ? NULL : report->prices.currency);
  json_real (json_key (json, "co2"), job_energy_co2 (report));
  json_object_end (json);
}

static void
write_head (struct json *json, const struct job_report *report)
{
  struct job_roofline roofline;

  json_text (json_key (json, "type"), "job_report");
  json_text (json_key (json, "cluster"), report->cluster);
  json_text (json_key (json, "job_id"), report->id);
  json_text (json_key (json, "shown"), report->shown);
  json_text (json_key (json, "scheduler"), report->scheduler);
  json_text (json_key (json, "user"), report->user);
  json_text (json_key (json, "name"), report->name);
  json_text (json_key (json, "command"), report->command);
  json_text (json_key (json, "array"), report->array);
  write_time (json, "started", report->started_ns, true);
  write_time (json, "ended", report->ended_ns, report->ended_ns != 0);
  write_time (json, "until", report->until_ns, true);
  write_seconds (json, "duration", (double) (report->until_ns - report->started_ns) / NS_PER_S);
  json_text (json_key (json, "reason"), report->reason);
  job_facts_write (json_key (json, JOB_FACTS_KEY), &report->facts);
  write_seconds (json, "period", report->period_ns ? (double) report->period_ns / NS_PER_S : nan (""));
  json_real_places (json_key (json, "minutes"), job_report_share (report, report->minute_samples), PLACES);
  json_real_places (json_key (json, "hours"), job_report_share (report, report->hour_samples), PLACES);
  json_real_places (json_key (json, "deleted"), job_report_share (report, report->bare_samples), PLACES);
  json_real (json_key (json, "cpus"), report->cpus);
  json_real (json_key (json, "cpu_time"), report->cpu_time);
  json_real (json_key (json, "cpu_efficiency"), report->cpu_efficiency);
  json_key (json, "memory_peak");
  if (report->memory_peak_node == SIZE_MAX) {
    json_null (json);
  } else {
    json_object (json);
    json_text (json_key (json, "node"), report->nodes[report->memory_peak_node].name);
    json_real (json_key (json, "bytes"), report->memory_peak);
    json_object_end (json);
  }
  write_energy (json, report);
  roofline = job_roofline_of (report, NULL);
  write_roofline (json, &roofline);
  json_text (json_key (json, "slowest_node"), report->slowest == SIZE_MAX ? NULL : report->nodes[report->slowest].name);
  json_array (json_key (json, "lost_nodes"));
  for (size_t i = 0; i < report->node_count; i++)
    if (report->nodes[i].lost)
      json_text (json, report->nodes[i].name);
  json_array_end (json);
}

static void
write_sentences (struct json *json, const char *key, const char *const *sentences, size_t count)
{
  json_array (json_key (json, key));
  for (size_t i = 0; i < count; i++)
    json_text (json, sentences[i]);
  json_array_end (json);
}

static void
write_meters (struct json *json, const struct job_report *report)
{
  json_array (json_key (json, "meters"));
  for (size_t i = 0; i < report->meter_count; i++) {
    const struct job_meter *meter = &report->meters[i];
    json_object (json);
    json_text (json_key (json, "meter"), meter->name);
    json_text (json_key (json, "title"), meter->title);
    json_text (json_key (json, "unit"), meter->unit);
    json_real (json_key (json, "percent"), meter->percent);
    json_real (json_key (json, "used"), meter->used);
    json_real (json_key (json, "of"), meter->of);
    json_text (json_key (json, "node"), meter->node);
    json_object_end (json);
  }
  json_array_end (json);
}

static void
write_notes (struct json *json, const struct job_report *report)
{
  json_array (json_key (json, "notes"));
  for (size_t i = 0; i < report->note_count; i++) {
    const struct job_note *note = &report->notes[i];
    json_object (json);
    json_text (json_key (json, "note"), note->name);
    json_text (json_key (json, "text"), note->text);
    json_text (json_key (json, "advice"), note->advice);
    json_text (json_key (json, "write"), note->write[0] ? note->write : NULL);
    json_object_end (json);
  }
  json_array_end (json);
}

static void
write_imbalances (struct json *json, const struct job_report *report)
{
  json_object (json_key (json, "imbalance"));
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    const struct job_imbalance *unlike = &report->imbalances[i];
    if (isnan (unlike->percent))
      continue;
    json_object (json_key (json, job_items[i].name));
    json_real (json_key (json, "percent"), unlike->percent);
    json_text (json_key (json, "node"), unlike->node);
    json_real (json_key (json, "value"), unlike->node ? unlike->value : nan (""));
    json_real (json_key (json, "others"), unlike->node ? unlike->mean : nan (""));
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
  json_array (json_key (json, "nodes"));
  for (size_t i = 0; i < report->node_count; i++)
    json_node (json, report, i);
  json_array_end (json);
  write_imbalances (json, report);
  write_meters (json, report);
  write_notes (json, report);
  write_sentences (json, "remarks", report->remarks, report->remark_count);
  write_sentences (json, "traces", report->traces, report->trace_count);
  write_sentences (json, "unknown", report->unknown, report->unknown_count);
  json_object_end (json);
  json_newline (json);
}
