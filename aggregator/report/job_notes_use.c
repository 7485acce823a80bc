/* What a job left idle, waited for, or asked for and did not use, see job_notes_private.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/report/job_gpu_list.h"
#include "aggregator/report/job_notes_private.h"
#include "aggregator/report/job_request.h"
#include "aggregator/report/job_words.h"
#include "synop/clock.h"

#define TIME_WORTH 3600           /* seconds of a limit that is worth shortening */
#define BUSY_PERCENT 75.0         /* a job that uses its CPUs so much is bound by them */
#define MEMORY_WORTH 1073741824.0 /* bytes that were asked for and not used */
#define HOT_PERCENT 10.0          /* of the time */

static double
percent (double part, double whole)
{
  return whole > 0 ? 100 * part / whole : nan ("");
}

/* ---- what was left idle ---- */

/* What was seen of them: the least of their percents. */
static void
put_idle_evidence (struct buffer *to, const struct gpu_list *list, size_t idle)
{
  double without = 100, unused = 100;
  uint64_t samples = UINT64_MAX;

  for (size_t i = 0; i < list->count; i++) {
    const struct report_gpu *gpu = list->places[i].gpu;
    if (!gpu_is_idle (gpu))
      continue;
    without = fmin (without, percent ((double) gpu->without, (double) gpu->samples));
    unused = fmin (unused, job_gpu_idle (gpu));
    samples = gpu->samples < samples ? gpu->samples : samples;
  }
  if (without >= JOB_GPU_IDLE)
    buffer_printf (to, "no process of the job was on %s", idle > 1 ? "them" : "it");
  else
    buffer_printf (to, "nothing ran on %s", idle > 1 ? "them" : "it");
  buffer_printf (to, " in %s %% of ", words_number (without >= JOB_GPU_IDLE ? without : unused).text);
  buffer_printf (to, "%llu samples", (unsigned long long) samples);
}

/* The one type of those that are `idle` or not; "": several, or not known. */
static const char *
type_of (const struct gpu_list *list, bool idle)
{
  const char *type = NULL;

  for (size_t i = 0; i < list->count; i++) {
    if (gpu_is_idle (list->places[i].gpu) != idle)
      continue;
    if (type && strcmp (type, list->places[i].gpu->type) != 0)
      return "";
    type = list->places[i].gpu->type;
  }
  return type ? type : "";
}

static void
advise_gpus (struct noting *noting, const struct gpu_list *list, size_t idle)
{
  const struct job_report *report = noting->report;
  const char *used_type = type_of (list, false), *idle_type = type_of (list, true);
  bool other = *used_type && *idle_type && strcmp (used_type, idle_type) != 0;
  size_t most = 0, given = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    size_t here = 0;
    for (size_t k = 0; k < report->nodes[i].gpu_count; k++)
      here += !gpu_is_idle (&report->nodes[i].gpus[k]);
    most = here > most ? here : most;
    given = report->nodes[i].gpu_count > given ? report->nodes[i].gpu_count : given;
  }
  if (idle == list->count) {
    buffer_add_string (&noting->advice, "See whether the program is built to use GPUs and finds them, or ask for none");
  } else if (other) {
    buffer_printf (&noting->advice, "It used the %s alone: ask for ", words_short (used_type, 38).text);
    buffer_printf (&noting->advice, "%s of that type", most > 1 ? "those" : "one");
    job_request_gpus (&noting->write, report, most, used_type);
  } else if (most < given) {
    buffer_printf (&noting->advice, "Start it on all of them, or ask for %zu%s", most, note_each (noting));
    job_request_gpus (&noting->write, report, most, "");
  } else {
    buffer_add_string (&noting->advice, "Start it on all of them: some nodes had all of theirs in use");
  }
}

static void
note_idle_gpus (struct noting *noting)
{
  struct gpu_list list;
  const char *type;
  size_t idle = 0;

  gpu_list_init (&list, noting->report);
  for (size_t i = 0; i < list.count; i++)
    idle += gpu_is_idle (list.places[i].gpu);
  if (idle) {
    type = type_of (&list, true);
    buffer_printf (&noting->text, "%zu of %zu GPUs %s left idle: ", idle, list.count, idle > 1 ? "were" : "was");
    gpu_list_names (&noting->text, noting->report, gpu_is_idle);
    if (*type)
      buffer_printf (&noting->text, " (%s)", words_short (type, 38).text);
    buffer_add_string (&noting->text, "; ");
    put_idle_evidence (&noting->text, &list, idle);
    buffer_add_string (&noting->text, ".");
    advise_gpus (noting, &list, idle);
    note_add (noting, "idle_gpus");
  }
  gpu_list_free (&list);
}

static bool
is_idle (const struct job_node *node)
{
  return node->idle;
}

static void
note_idle_nodes (struct noting *noting)
{
  size_t idle = note_choose (noting, is_idle), working = noting->report->node_count - idle;
  double most = 0;

  if (idle == 0 || working == 0)
    return;
  for (size_t i = 0; i < noting->report->node_count; i++)
    if (noting->chosen[i])
      most = fmax (most, noting->report->nodes[i].series[JOB_CPU_USAGE].mean);
  buffer_printf (&noting->text, "%zu of %zu nodes did nothing: ", idle, noting->report->node_count);
  note_put_chosen (&noting->text, noting);
  buffer_printf (&noting->text, " used %s %% of %s CPUs%s.", words_number (most).text, idle > 1 ? "their" : "its",
                 idle > 1 ? " at most" : "");
  buffer_printf (&noting->advice, "Start it on all nodes (srun, mpirun), or ask for %zu", working);
  job_request_nodes (&noting->write, noting->report, working);
  note_add (noting, "idle_nodes");
}

/* ---- what it waited for ---- */

static bool
note_storage (struct noting *noting, double cpu)
{
  const struct job_series *all = noting->report->all;
  double waited = all[JOB_STORAGE_WAIT].mean;

  if (!(waited >= (double) noting->limits->storage) || cpu >= BUSY_PERCENT)
    return false;
  buffer_printf (&noting->text, "It waited for storage in %s %% of the time", words_number (waited).text);
  if (!isnan (cpu))
    buffer_printf (&noting->text, ", and used %s %% of its CPUs", words_number (cpu).text);
  if (!isnan (all[JOB_READ].mean) && !isnan (all[JOB_WRITE].mean)) {
    buffer_printf (&noting->text, ": it read %s", words_value (all[JOB_READ].mean, "B/s").text);
    buffer_printf (&noting->text, " and wrote %s", words_value (all[JOB_WRITE].mean, "B/s").text);
  }
  buffer_add_string (&noting->text, ".");
  buffer_add_string (&noting->advice,
                     "Copy what it reads to a disk of the node first ($TMPDIR), and read and write in large pieces");
  note_add (noting, "storage_bound");
  return true;
}

/* The mean over nodes of the rate and of the link, of those that know both. */
static struct job_share
link_share (const struct job_report *report, enum job_item_id item, double link_of (const struct job_peaks *peaks))
{
  struct job_share share = { 0, 0 };
  size_t known = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    double rate = report->nodes[i].series[item].mean, link = link_of (&report->nodes[i].peaks);
    if (isnan (rate) || isnan (link))
      continue;
    share.used += rate;
    share.of += link;
    known++;
  }
  return known ? (struct job_share){ share.used / (double) known, share.of / (double) known } : share;
}

static double
network_of (const struct job_peaks *peaks)
{
  return peaks->network;
}

static double
infiniband_of (const struct job_peaks *peaks)
{
  return peaks->infiniband;
}

static bool
note_network (struct noting *noting, double cpu)
{
  static const struct {
    enum job_item_id item;
    double (*link) (const struct job_peaks *peaks);
    const char *name;
  } ways[] = { { JOB_NETWORK_RECEIVED, network_of, "Ethernet" },
               { JOB_NETWORK_SENT, network_of, "Ethernet" },
               { JOB_INFINIBAND_RECEIVED, infiniband_of, "InfiniBand" },
               { JOB_INFINIBAND_SENT, infiniband_of, "InfiniBand" } };
  const struct job_report *report = noting->report;
  struct job_share most = { 0, nan ("") };
  const char *name = "";
  bool unused;

  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    struct job_share share = link_share (report, ways[i].item, ways[i].link);
    if (job_share_percent (&share) > fmax (job_share_percent (&most), 0)) {
      most = share;
      name = ways[i].name;
    }
  }
  if (!(job_share_percent (&most) >= (double) noting->limits->network) || cpu >= BUSY_PERCENT)
    return false;
  unused = strcmp (name, "Ethernet") == 0 && report->all[JOB_INFINIBAND_RECEIVED].known;
  buffer_printf (&noting->text, "It was bound by the network: %s carried ", name);
  buffer_printf (&noting->text, "%s", words_value (most.used, "B/s").text);
  buffer_printf (&noting->text, " on each node, %s %% of ", words_number (job_share_percent (&most)).text);
  buffer_printf (&noting->text, "what it can (%s).", words_value (most.of, "B/s").text);
  if (unused) {
    buffer_add_string (&noting->advice, "Send its messages over InfiniBand: see which network its MPI is built for");
  } else if (report->node_count > 1) {
    buffer_add_string (&noting->advice, "Run it on fewer nodes, or send fewer and larger messages");
    job_request_nodes (&noting->write, report, (report->node_count + 1) / 2);
  } else {
    buffer_add_string (&noting->advice, "Copy what it reads to a disk of the node first ($TMPDIR)");
  }
  note_add (noting, "network_bound");
  return true;
}

/* ---- what was not used ---- */

static void
note_slow (struct noting *noting)
{
  const struct job_report *report = noting->report;
  const struct job_node *node;

  if (report->slowest >= report->node_count)
    return;
  node = &report->nodes[report->slowest];
  memset (noting->chosen, 0, report->node_count * sizeof noting->chosen[0]);
  noting->chosen[report->slowest] = true;
  note_put_chosen (&noting->text, noting);
  buffer_printf (&noting->text, " was slow: it used %s %% of its CPUs, ",
                 words_number (node->series[JOB_CPU_USAGE].mean).text);
  buffer_printf (&noting->text, "the others %s %%.", words_number (report->slowest_others).text);
  buffer_add_string (&noting->advice, "If all nodes have the same to do, report it to the operators and leave it out");
  job_request_without (&noting->write, report, noting->chosen);
  note_add (noting, "slow_node");
}

/* A job with GPUs that compute has its CPUs for these. */
static void
note_cpus (struct noting *noting, const struct job_share *cpus)
{
  const struct job_report *report = noting->report;
  double threads = report->all[JOB_THREADS].maximum, nodes = 0, used, had;

  for (size_t i = 0; i < report->node_count; i++) {
    nodes += report->nodes[i].cpus > 0 && !report->nodes[i].idle;
    if (report->nodes[i].series[JOB_GPU_USAGE].mean >= JOB_GPU_BUSY)
      return;
  }
  nodes = fmax (nodes, 1);
  used = cpus->used / nodes, had = cpus->of / nodes;
  if (!(job_share_percent (cpus) < (double) noting->limits->cpu) || had < 2)
    return;
  buffer_printf (&noting->text, "It used %s of the ", words_number (used).text);
  buffer_printf (&noting->text, "%.4g CPUs%s, in the mean", had, note_each (noting));
  if (report->node_count == 1 && threads >= 1 && threads < had)
    buffer_printf (&noting->text, ", and had %.0f %s", threads, threads > 1 ? "threads at most" : "thread");
  buffer_add_string (&noting->text, ".");
  used = fmax (1, ceil (used - 0.1));
  buffer_printf (&noting->advice, "Start as many threads or processes as CPUs (OMP_NUM_THREADS=%.0f), or ask for %.0f",
                 had, used);
  job_request_cpus (&noting->write, report, used);
  note_add (noting, "cpus_unused");
}

static void
note_gpu_use (struct noting *noting)
{
  const struct job_report *report = noting->report;

  for (size_t i = 0; i < report->meter_count; i++) {
    const struct job_meter *meter = &report->meters[i];
    if (strcmp (meter->name, "gpu") != 0 || !(meter->percent < (double) noting->limits->gpu))
      continue;
    buffer_printf (&noting->text, "Its GPUs computed in %s %% of the time.", words_number (meter->percent).text);
    buffer_add_string (&noting->advice, "Give them more at a time (larger batches, more processes that load data), or "
                                        "ask for fewer");
    note_add (noting, "gpus_unused");
  }
}

static void
note_memory (struct noting *noting)
{
  size_t node;
  struct job_share memory = job_memory_used (noting->report, &node);
  double enough = memory.used * (1 + (double) noting->limits->margin / 100);

  if (!(job_share_percent (&memory) < (double) noting->limits->memory) || memory.of - memory.used < MEMORY_WORTH)
    return;
  buffer_printf (&noting->text, "It used at most %s ", words_value (memory.used, "B").text);
  buffer_printf (&noting->text, "of the %s of memory%s that it asked for.", words_value (memory.of, "B").text,
                 note_each (noting));
  buffer_printf (&noting->advice, "Ask for %s%s", words_value (job_request_rounded (enough), "B").text,
                 note_each (noting));
  job_request_memory (&noting->write, noting->report, enough);
  note_add (noting, "memory_unused");
}

/* Short limits start sooner. */
static void
note_time (struct noting *noting)
{
  const struct job_report *report = noting->report;
  double limit = report->facts.known ? report->facts.numbers[JOB_FACT_TIME_LIMIT] : nan ("");
  double took = (double) (report->until_ns - report->started_ns) / NS_PER_S;

  if (!(report->facts.outcome == JOB_OUTCOME_COMPLETED && limit >= TIME_WORTH &&
        percent (took, limit) < (double) noting->limits->time))
    return;
  buffer_printf (&noting->text, "It took %s ", words_duration (took).text);
  buffer_printf (&noting->text, "of the %s that it asked for.", words_duration (limit).text);
  buffer_add_string (&noting->advice, "Ask for less: short jobs start sooner");
  job_request_time (&noting->write, report, took * NOTE_MORE_TIME);
  note_add (noting, "time_unused");
}

static bool
is_hot (const struct report_gpu *gpu)
{
  return job_gpu_mean (&gpu->throttled_thermal) >= HOT_PERCENT;
}

static void
note_heat (struct noting *noting)
{
  gpu_list_names (&noting->text, noting->report, is_hot);
  if (noting->text.length == 0)
    return;
  buffer_add_string (&noting->text, ": clocks were held down by heat.");
  buffer_add_string (&noting->advice, "Report it to the operators");
  note_add (noting, "gpu_heat");
}

void
note_use (struct noting *noting, bool killed)
{
  struct job_share cpus = job_cpus_used (noting->report);
  double cpu = job_share_percent (&cpus);
  bool waits, swapped = note_choose (noting, note_has_swapped) > 0;

  note_idle_gpus (noting);
  note_idle_nodes (noting);
  waits = note_storage (noting, cpu);
  waits |= note_network (noting, cpu);
  note_slow (noting);
  if (!waits && !swapped)
    note_cpus (noting, &cpus);
  if (!waits)
    note_gpu_use (noting);
  if (!killed && !swapped)
    note_memory (noting);
  note_heat (noting);
  note_time (noting);
}
