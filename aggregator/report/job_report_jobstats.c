/* A job's summary as jobstats keeps it in SLURM's AdminComment: "JS1:" and the base64 of a JSON object, by gzip:
 *
 *   {"nodes":{"n1":{"total_memory":1,"used_memory":1,"total_time":1.5,"cpus":4,"gpu_total_memory":{"0":1},
 *                   "gpu_used_memory":{"0":1},"gpu_utilization":{"0":87.1}}},"total_time":1812,"gpus":1}
 *
 * total_time of a node is its CPU time, that behind the nodes the job's duration, in seconds; memory is in bytes. What is not
 * known is left out: readers reckon with all that is there. "JS1:None" stands for a job without samples, "JS1:Short" for one that is too short to have any use. */
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_report_write.h"
#include "synop/clock.h"
#include "synop/gzip.h"

#define SHORT_SAMPLES 2

static double
gpu_total (const struct report_gpu *gpu)
{
  return gpu->memory_total;
}

static double
gpu_used (const struct report_gpu *gpu)
{
  return gpu->memory.count ? gpu->memory.highest : nan ("");
}

static double
gpu_utilization (const struct report_gpu *gpu)
{
  return job_gpu_mean (&gpu->utilization);
}

static void
write_number (struct json *json, const char *key, double value)
{
  if (isfinite (value))
    json_real (json_key (json, key), value);
}

static void
write_gpus (struct json *json, const struct job_node *node, const char *key,
            double figure (const struct report_gpu *gpu))
{
  json_object (json_key (json, key));
  for (size_t i = 0; i < node->gpu_count; i++)
    write_number (json, node->gpus[i].label, figure (&node->gpus[i]));
  json_object_end (json);
}

static void
jobstats_node (struct json *json, const struct job_report *report, size_t index)
{
  const struct job_node *node = &report->nodes[index];
  const struct job_series *series = node->series;

  json_object (json_key (json, node->name));
  write_number (json, "total_memory", job_memory_given (report, index));
  write_number (json, "used_memory", fmax (series[JOB_MEMORY_PEAK].maximum, series[JOB_MEMORY].maximum));
  write_number (json, "total_time", series[JOB_CPU_USER].total + series[JOB_CPU_SYSTEM].total);
  write_number (json, "cpus", node->cpus);
  if (node->gpu_count) {
    write_gpus (json, node, "gpu_total_memory", gpu_total);
    write_gpus (json, node, "gpu_used_memory", gpu_used);
    write_gpus (json, node, "gpu_utilization", gpu_utilization);
  }
  json_object_end (json);
}

static void
write_summary (struct json *json, const struct job_report *report)
{
  size_t gpus = 0;

  json_object (json);
  json_object (json_key (json, "nodes"));
  for (size_t i = 0; i < report->node_count; i++) {
    jobstats_node (json, report, i);
    gpus += report->nodes[i].gpu_count;
  }
  json_object_end (json);
  json_real (json_key (json, "total_time"), round ((double) (report->until_ns - report->started_ns) / NS_PER_S));
  json_uint (json_key (json, "gpus"), gpus);
  json_object_end (json);
}

static void
add_base64 (struct buffer *out, const struct buffer *bytes)
{
  size_t size = sodium_base64_encoded_len (bytes->length, sodium_base64_VARIANT_ORIGINAL);

  sodium_bin2base64 (buffer_reserve (out, size), size, (const unsigned char *) bytes->data, bytes->length,
                     sodium_base64_VARIANT_ORIGINAL);
  out->length += size - 1; /* it ends with a NUL */
}

int
job_report_jobstats (const struct job_report *report, struct buffer *out, struct error *error)
{
  struct buffer packed = { 0 };
  struct json json = { 0 };
  uint64_t samples = 0;
  int result = 0;

  for (size_t i = 0; i < report->node_count; i++)
    samples = report->nodes[i].samples > samples ? report->nodes[i].samples : samples;
  buffer_add_string (out, "JS1:");
  if (samples < SHORT_SAMPLES) {
    buffer_add_string (out, samples ? "Short" : "None");
  } else {
    write_summary (&json, report);
    result = gzip_pack (&json.out, GZIP_BEST, &packed, error);
    if (result == 0)
      add_base64 (out, &packed);
  }
  buffer_add_string (out, "\n");
  json_free (&json);
  buffer_free (&packed);
  return result;
}
