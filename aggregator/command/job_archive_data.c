/* See job_archive.h: data.json. Curves are answers to questions to the history (aggregator/query/query.h), so that those of a
 * long job are read from minutes and hours. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/command/job_archive.h"
#include "aggregator/query/query.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define STEPS_MAX 600 /* of a curve */
#define PLACES 4
#define NS_PER_MINUTE (60 * NS_PER_S)
#define MEGA 1e-6
#define GIGA 1e-9

/* A question whose answer is a part of the value: its curves are added up. */
struct part {
  const char *metric; /* NULL: none */
  double scale;
  bool rate;       /* a counter's change in a second */
  const char *row; /* only such rows, which are added up; NULL: the node, or the job */
};

struct archive_metric {
  const char *name, *base, *prefix; /* the unit: "B", "G" */
  bool accelerator;                 /* its scope; else the node */
  bool required;
  struct part parts[2], others[2]; /* the others where nothing has the first */
};

#define RATE(metric, scale)                                                                                            \
  {                                                                                                                    \
    metric, scale, true, NULL                                                                                          \
  }
#define VALUE(metric, scale)                                                                                           \
  {                                                                                                                    \
    metric, scale, false, NULL                                                                                         \
  }
#define ROWS(metric, row)                                                                                              \
  {                                                                                                                    \
    metric, 1, true, row                                                                                               \
  }

/* Names and units as ClusterCockpit's schemas have them, and file_bw. */
static const struct archive_metric metrics[] = {
  { "cpu_user", "", "", .required = true, .parts = { RATE ("job_cpu.user_time / job_cpu.cpus", 100) } },
  { "cpu_load", "", "", .required = true, .parts = { VALUE ("load.load_1", 1) } },
  { "mem_used", "B", "G", .required = true, .parts = { VALUE ("job_memory.rss", GIGA) } },
  { "flops_any", "F/s", "G", .required = true,
    .parts = { RATE ("job_counters.flop_double", 2 * GIGA), RATE ("job_counters.flop_single", GIGA) },
    .others = { RATE ("cpu_flops.flop_double", 2 * GIGA), RATE ("cpu_flops.flop_single", GIGA) } },
  { "flops_dp", "F/s", "G", .parts = { RATE ("job_counters.flop_double", GIGA) },
    .others = { RATE ("cpu_flops.flop_double", GIGA) } },
  { "flops_sp", "F/s", "G", .parts = { RATE ("job_counters.flop_single", GIGA) },
    .others = { RATE ("cpu_flops.flop_single", GIGA) } },
  { "mem_bw", "B/s", "G", .required = true, .parts = { RATE ("memory_bandwidth.bytes", GIGA) } },
  { "net_bw", "B/s", "M", .required = true,
    .parts = { RATE ("infiniband.port_rcv_data", MEGA), RATE ("infiniband.port_xmit_data", MEGA) },
    .others = { RATE ("network.rx_bytes", MEGA), RATE ("network.tx_bytes", MEGA) } },
  { "ic_read_bw", "B/s", "M", .parts = { RATE ("infiniband.port_rcv_data", MEGA) } },
  { "ic_write_bw", "B/s", "M", .parts = { RATE ("infiniband.port_xmit_data", MEGA) } },
  { "ic_rcv_packets", "", "", .parts = { RATE ("infiniband.port_rcv_packets", 1) } },
  { "ic_send_packets", "", "", .parts = { RATE ("infiniband.port_xmit_packets", 1) } },
  { "eth_read_bw", "B/s", "M", .parts = { RATE ("network.rx_bytes", MEGA) } },
  { "eth_write_bw", "B/s", "M", .parts = { RATE ("network.tx_bytes", MEGA) } },
  { "file_bw", "B/s", "M", .parts = { RATE ("job_io.read_bytes", MEGA), RATE ("job_io.write_bytes", MEGA) } },
  { "ipc", "IPC", "", .parts = { VALUE ("job_counters.instructions / job_counters.cycles", 1) } },
  { "cpu_power", "W", "", .parts = { ROWS ("energy_rapl.energy", "package-*") } },
  { "mem_power", "W", "", .parts = { ROWS ("energy_rapl.energy", "dram-*") } },
  { "acc_utilization", "", "", .accelerator = true, .parts = { VALUE ("gpu.utilization", 1) } },
  { "acc_mem_used", "B", "G", .accelerator = true, .parts = { VALUE ("gpu.memory_used", GIGA) } },
  { "acc_power", "W", "", .accelerator = true, .parts = { RATE ("gpu.energy", 1) } },
};

struct curve {
  const char *node;
  char *id;       /* of an accelerator, else NULL */
  double *values; /* one for each step; NaN: none */
};

struct curves {
  struct job_archive *archive;
  const struct archive_metric *metric;
  char step[24]; /* asked for */
  size_t steps;
  int64_t step_ns;
  struct curve *list;
  size_t count, room;
};

/* ---- the step ---- */

static int64_t
ceil_to (int64_t value, int64_t unit)
{
  return (value + unit - 1) / unit * unit;
}

/* Whole seconds, of long jobs whole minutes, which are read fast: not so many that an answer has no room for them. */
static int64_t
choose_step (const struct job_report *report)
{
  int64_t span_ns = report->until_ns - report->started_ns, step_ns;
  size_t gpus = 1, most;

  for (size_t i = 0; i < report->node_count; i++)
    gpus = report->nodes[i].gpu_count > gpus ? report->nodes[i].gpu_count : gpus;
  most = QUERY_POINTS_MAX / 2 / (report->node_count * gpus + 1);
  most = most < 3 ? 3 : most > STEPS_MAX ? STEPS_MAX : most;
  step_ns = ceil_to (span_ns / (int64_t) most + 1, NS_PER_S);
  step_ns = step_ns < report->period_ns ? ceil_to (report->period_ns, NS_PER_S) : step_ns;
  return step_ns < NS_PER_MINUTE ? step_ns : ceil_to (step_ns, NS_PER_MINUTE);
}

/* ---- questions ---- */

static int
set (struct query *query, const char *key, const char *value, struct error *error)
{
  return value && *value ? query_set (query, key, value, error) : 0;
}

/* 1: there is an answer; 0: no node has such a metric. */
static int
ask (const struct curves *curves, const struct part *part, struct query_answer *answer, struct error *error)
{
  const struct job_archive *archive = curves->archive;
  struct query query = { 0 };
  const char *key = NULL;
  int result = -1;

  if (set (&query, "metric", part->metric, error) == 0 && set (&query, "job", archive->choice.label, error) == 0 &&
      set (&query, "user", archive->choice.user, error) == 0 &&
      set (&query, "scheduler", archive->choice.scheduler, error) == 0 &&
      set (&query, "step", curves->step, error) == 0 && set (&query, "rate", part->rate ? "yes" : "no", error) == 0 &&
      set (&query, "row", part->row, error) == 0 &&
      set (&query, "rows", curves->metric->accelerator ? "yes" : "no", error) == 0)
    result = query_answer (archive->file, &query, archive->report->until_ns, answer, &key, error);
  query_free (&query);
  if (result < 0 && key && (strcmp (key, "metric") == 0 || strcmp (key, "rows") == 0 || strcmp (key, "rate") == 0))
    return 0;
  return result < 0 ? -1 : 1;
}

static const struct job_node *
find_node (const struct job_report *report, const char *name)
{
  for (size_t i = 0; i < report->node_count; i++)
    if (strcmp (report->nodes[i].name, name) == 0)
      return &report->nodes[i];
  return NULL;
}

/* Where it is not known which GPUs the job has it has them all. */
static bool
has_gpu (const struct job_report *report, const struct job_node *node, const char *label)
{
  for (size_t i = 0; i < node->gpu_count; i++)
    if (strcmp (node->gpus[i].label, label) == 0)
      return true;
  return report->whole_gpus && node->gpu_count == 0;
}

static struct curve *
curve_of (struct curves *curves, const char *node, const char *id)
{
  struct curve *curve;

  for (size_t i = curves->count; i-- > 0;) /* they come node by node */
    if (strcmp (curves->list[i].node, node) == 0 && (!id || strcmp (curves->list[i].id, id) == 0))
      return &curves->list[i];
  curve = array_add (curves->list, curves->count, curves->room);
  *curve = (struct curve){ node, memory_string (id), memory_new (curves->steps, sizeof curve->values[0]) };
  for (size_t i = 0; i < curves->steps; i++)
    curve->values[i] = nan ("");
  return curve;
}

static void
add_series (struct curves *curves, const struct part *part, const struct query_series *series)
{
  const struct job_report *report = curves->archive->report;
  const struct job_node *node = find_node (report, series->node);
  bool accelerator = curves->metric->accelerator;
  struct curve *curve;

  if (!node || (accelerator && (!series->row || !has_gpu (report, node, series->row))))
    return;
  curve = curve_of (curves, node->name, accelerator ? series->row : NULL);
  for (size_t i = 0; i < curves->steps; i++)
    if (series->values[i].count && isfinite (series->values[i].value)) {
      double value = series->values[i].value * part->scale;
      curve->values[i] = isnan (curve->values[i]) ? value : curve->values[i] + value;
    }
}

static bool
has_value (const struct curve *curve, size_t steps)
{
  for (size_t i = 0; i < steps; i++)
    if (!isnan (curve->values[i]))
      return true;
  return false;
}

static void
curve_free (struct curve *curve)
{
  free (curve->id);
  free (curve->values);
}

/* Those without a value go: a schema wants one. */
static void
drop_empty (struct curves *curves)
{
  size_t kept = 0;

  for (size_t i = 0; i < curves->count; i++)
    if (has_value (&curves->list[i], curves->steps))
      curves->list[kept++] = curves->list[i];
    else
      curve_free (&curves->list[i]);
  curves->count = kept;
}

static int
ask_parts (struct curves *curves, const struct part parts[2], struct error *error)
{
  struct query_answer answer;
  int found = 1;

  for (size_t i = 0; i < 2 && parts[i].metric && found >= 0; i++) {
    found = ask (curves, &parts[i], &answer, error);
    if (found <= 0)
      continue;
    curves->steps = answer.steps;
    curves->step_ns = answer.step_ns;
    for (size_t k = 0; k < answer.series_count; k++)
      add_series (curves, &parts[i], &answer.series[k]);
    curves->archive->broken += answer.broken;
    query_answer_free (&answer);
  }
  drop_empty (curves);
  return found < 0 ? -1 : 0;
}

/* ---- writing ---- */

struct range {
  double sum, min, max;
  size_t count;
};

static void
range_add (struct range *range, double value)
{
  if (isnan (value))
    return;
  range->min = range->count ? fmin (range->min, value) : value;
  range->max = range->count ? fmax (range->max, value) : value;
  range->sum += value;
  range->count++;
}

static void
write_range (struct json *json, const struct range *range)
{
  json_real_places (json_key (json, "avg"), range->count ? range->sum / (double) range->count : 0, PLACES);
  json_real_places (json_key (json, "min"), range->min, PLACES);
  json_real_places (json_key (json, "max"), range->max, PLACES);
}

static void
write_unit (struct json *json, const struct archive_metric *metric)
{
  json_object (json_key (json, "unit"));
  json_text (json_key (json, "base"), metric->base);
  if (*metric->prefix)
    json_text (json_key (json, "prefix"), metric->prefix);
  json_object_end (json);
}

/* Adds to `all` the mean, the least and the most of the curve. */
static void
write_curve (struct json *json, const struct curves *curves, const struct curve *curve, struct range *all)
{
  struct range range = { 0 };

  json_object (json);
  json_text (json_key (json, "hostname"), curve->node);
  if (curve->id)
    json_text (json_key (json, "id"), curve->id);
  json_array (json_key (json, "data"));
  for (size_t i = 0; i < curves->steps; i++) {
    range_add (&range, curve->values[i]);
    json_real_places (json, curve->values[i], PLACES);
  }
  json_array_end (json);
  json_object (json_key (json, "statistics"));
  write_range (json, &range);
  json_object_end (json);
  json_object_end (json);
  all->min = all->count ? fmin (all->min, range.min) : range.min;
  all->max = fmax (all->max, range.max);
  all->sum += range.sum / (double) range.count;
  all->count++;
}

static void
write_metric (const struct curves *curves, struct json *data, struct json *statistics)
{
  const struct archive_metric *metric = curves->metric;
  struct range all = { 0 };

  json_object (json_key (data, metric->name));
  json_object (json_key (data, metric->accelerator ? "accelerator" : "node"));
  write_unit (data, metric);
  json_int (json_key (data, "timestep"), curves->step_ns / NS_PER_S);
  json_array (json_key (data, "series"));
  for (size_t i = 0; i < curves->count; i++)
    write_curve (data, curves, &curves->list[i], &all);
  json_array_end (data);
  json_object_end (data);
  json_object_end (data);
  json_object (json_key (statistics, metric->name));
  write_unit (statistics, metric);
  write_range (statistics, &all);
  json_object_end (statistics);
}

static int
add_metric (struct job_archive *archive, const struct archive_metric *metric, int64_t step_ns, struct json *data,
            struct json *statistics, struct error *error)
{
  struct curves curves = { .archive = archive, .metric = metric, .step_ns = step_ns };
  int result;

  snprintf (curves.step, sizeof curves.step, "%llds", (long long) (step_ns / NS_PER_S));
  result = ask_parts (&curves, metric->parts, error);
  if (result == 0 && curves.count == 0)
    result = ask_parts (&curves, metric->others, error);
  if (result == 0 && (curves.count || metric->required))
    write_metric (&curves, data, statistics);
  if (result == 0 && !curves.count && metric->required)
    buffer_printf (&archive->missing, "%s%s", archive->missing.length ? ", " : "", metric->name);
  for (size_t i = 0; i < curves.count; i++)
    curve_free (&curves.list[i]);
  free (curves.list);
  return result;
}

int
job_archive_data (struct job_archive *archive, struct json *data, struct json *statistics, struct error *error)
{
  int64_t step_ns = choose_step (archive->report);
  int result = 0;

  json_object (data);
  json_object (statistics);
  for (size_t i = 0; i < sizeof metrics / sizeof metrics[0] && result == 0; i++)
    result = add_metric (archive, &metrics[i], step_ns, data, statistics, error);
  json_object_end (data);
  json_object_end (statistics);
  return result;
}
