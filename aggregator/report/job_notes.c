/* The notes of a job, see job_advice.h: each function looks for one fault, in the order of how bad they are. What went
 * wrong is noted of any job, what was not used of those that ran long enough. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_advice.h"
#include "aggregator/report/job_gpu_list.h"
#include "aggregator/report/job_request.h"
#include "aggregator/report/job_words.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define NAMES_LENGTH 60
#define GIB 1073741824.0
#define SWAP_LEAST (64 << 20) /* bytes */
#define MORE_MEMORY 1.5       /* times, of a job that had too little */
#define MORE_TIME 2           /* times */
#define TIME_WORTH 3600       /* seconds of a limit that is worth shortening */
#define BUSY_PERCENT 75.0     /* a job that uses its CPUs so much is bound by them */
#define MEMORY_WORTH GIB      /* that was asked for and not used */
#define HOT_PERCENT 10.0      /* of the time */

struct noting {
  struct job_report *report;
  const struct advice_limits *limits;
  bool *chosen; /* nodes */
  struct buffer text, advice, write;
};

/* Adds what the buffers hold as a note, unless there are enough of them. */
static void
note_add (struct noting *noting, const char *name)
{
  struct job_report *report = noting->report;

  if (report->note_count < JOB_NOTES_MAX) {
    report->notes = memory_resize (report->notes, report->note_count + 1, sizeof report->notes[0]);
    report->notes[report->note_count++] = (struct job_note){ name, memory_string (buffer_text (&noting->text)),
                                                             memory_string (buffer_text (&noting->advice)),
                                                             memory_string (buffer_text (&noting->write)) };
  }
  buffer_clear (&noting->text);
  buffer_clear (&noting->advice);
  buffer_clear (&noting->write);
}

/* The nodes for which `is` holds: how many. */
static size_t
choose (struct noting *noting, bool (*is) (const struct job_node *node))
{
  size_t count = 0;

  for (size_t i = 0; i < noting->report->node_count; i++) {
    noting->chosen[i] = is (&noting->report->nodes[i]);
    count += noting->chosen[i];
  }
  return count;
}

static void
put_chosen (struct buffer *to, const struct noting *noting)
{
  words_nodes (to, noting->report, noting->chosen, NAMES_LENGTH);
}

static const char *
on_each_node (const struct noting *noting)
{
  return noting->report->node_count > 1 ? " on each node" : "";
}

static double
percent (double part, double whole)
{
  return whole > 0 ? 100 * part / whole : nan ("");
}

/* ---- what went wrong ---- */

static bool
was_killed (const struct job_node *node)
{
  return node->series[JOB_OOM_KILLS].total > 0;
}

static bool
ran_out_of_memory (const struct job_report *report)
{
  return report->facts.known && report->facts.outcome == JOB_OUTCOME_OUT_OF_MEMORY;
}

/* The kernel counts the processes that it killed; where it does not, the scheduler says how the job ended. */
static void
note_killed (struct noting *noting)
{
  const struct job_report *report = noting->report;
  double killed = report->all[JOB_OOM_KILLS].total, limit = nan (""), peak = nan ("");
  size_t nodes = choose (noting, was_killed);

  if (nodes == 0 && !ran_out_of_memory (report))
    return;
  for (size_t i = 0; i < report->node_count; i++)
    if (noting->chosen[i] || nodes == 0) {
      limit = fmax (limit, job_memory_given (report, i));
      peak = fmax (peak, report->nodes[i].series[JOB_MEMORY_PEAK].maximum);
    }
  if (nodes) {
    buffer_printf (&noting->text, "%.0f %s killed for want of memory, on ", killed,
                   killed > 1 ? "processes were" : "process was");
    put_chosen (&noting->text, noting);
  } else {
    buffer_add_string (&noting->text, "It was killed for want of memory");
  }
  if (!isnan (limit))
    buffer_printf (&noting->text, ": it had %s%s", words_value (limit, "B").text, on_each_node (noting));
  buffer_add_string (&noting->text, ".");
  limit = isnan (limit) ? peak : limit;
  if (isnan (limit)) {
    buffer_add_string (&noting->advice, "Ask for more memory");
  } else {
    buffer_printf (&noting->advice, "Ask for more, %s%s for a start",
                   words_value (job_request_rounded (limit * MORE_MEMORY), "B").text, on_each_node (noting));
    job_request_memory (&noting->write, report, limit * MORE_MEMORY);
  }
  note_add (noting, "killed_for_memory");
}

static void
note_timeout (struct noting *noting)
{
  const struct job_report *report = noting->report;
  double limit = report->facts.known ? report->facts.numbers[JOB_FACT_TIME_LIMIT] : nan ("");

  if (!report->facts.known || report->facts.outcome != JOB_OUTCOME_TIMEOUT)
    return;
  buffer_add_string (&noting->text, "It was not done when its time was over");
  if (!isnan (limit))
    buffer_printf (&noting->text, ", %s", words_duration (limit).text);
  buffer_add_string (&noting->text, ".");
  buffer_add_string (&noting->advice, "Ask for more time, or have it save its state and go on from there");
  if (!isnan (limit))
    job_request_time (&noting->write, report, limit * MORE_TIME);
  note_add (noting, "timeout");
}

static bool
was_lost (const struct job_node *node)
{
  return node->lost;
}

static void
note_lost (struct noting *noting)
{
  const struct job_report *report = noting->report;
  size_t count = choose (noting, was_lost);
  int64_t last = INT64_MAX;

  if (count == 0 && !(report->facts.known && report->facts.outcome == JOB_OUTCOME_NODE_FAIL))
    return;
  for (size_t i = 0; i < report->node_count; i++)
    if (noting->chosen[i] && report->nodes[i].samples && report->nodes[i].last_ns < last)
      last = report->nodes[i].last_ns;
  if (count) {
    put_chosen (&noting->text, noting);
    buffer_printf (&noting->text, " %s lost while the job ran", count > 1 ? "were" : "was");
  } else {
    buffer_add_string (&noting->text, "A node failed while the job ran");
  }
  if (last != INT64_MAX)
    buffer_printf (&noting->text, ", %s %s", count > 1 ? "the first one at" : "at", words_clock (last).text);
  buffer_add_string (&noting->text, ".");
  buffer_printf (&noting->advice, "Report it to the operators, and submit the job again%s",
                 count > 1    ? " without them"
                 : count == 1 ? " without it"
                              : "");
  if (count)
    job_request_without (&noting->write, report, noting->chosen);
  note_add (noting, "lost_nodes");
}

static bool
has_xids (const struct job_node *node)
{
  for (size_t i = 0; i < node->gpu_count; i++)
    if (gpu_has_xids (&node->gpus[i]))
      return true;
  return false;
}

static void
note_xids (struct noting *noting)
{
  if (choose (noting, has_xids) == 0)
    return;
  buffer_add_string (&noting->text, "The driver reported errors (XIDs) of ");
  gpu_list_names (&noting->text, noting->report, gpu_has_xids);
  buffer_add_string (&noting->text, ".");
  buffer_add_string (&noting->advice, "Report it to the operators, and leave the node out until they have looked");
  job_request_without (&noting->write, noting->report, noting->chosen);
  note_add (noting, "gpu_errors");
}

static bool
has_swapped (const struct job_node *node)
{
  return node->series[JOB_SWAP].maximum >= SWAP_LEAST;
}

static void
note_swap (struct noting *noting)
{
  double most = 0, needed = 0;

  if (choose (noting, has_swapped) == 0)
    return;
  for (size_t i = 0; i < noting->report->node_count; i++) {
    const struct job_series *series = noting->report->nodes[i].series;
    if (!noting->chosen[i])
      continue;
    most = fmax (most, series[JOB_SWAP].maximum);
    needed = fmax (needed, series[JOB_SWAP].maximum + fmax (series[JOB_MEMORY].maximum, 0));
  }
  needed *= 1 + (double) noting->limits->margin / 100;
  buffer_printf (&noting->text, "Its memory did not suffice: up to %s of it lay in swap on ",
                 words_value (most, "B").text);
  put_chosen (&noting->text, noting);
  buffer_printf (&noting->text, ", which is slow.");
  buffer_printf (&noting->advice, "Ask for %s%s", words_value (job_request_rounded (needed), "B").text,
                 on_each_node (noting));
  job_request_memory (&noting->write, noting->report, needed);
  note_add (noting, "swap");
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
    buffer_printf (&noting->advice, "Start it on all of them, or ask for %zu%s", most, on_each_node (noting));
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
  size_t idle = choose (noting, is_idle), working = noting->report->node_count - idle;
  double most = 0;

  if (idle == 0 || working == 0)
    return;
  for (size_t i = 0; i < noting->report->node_count; i++)
    if (noting->chosen[i])
      most = fmax (most, noting->report->nodes[i].series[JOB_CPU_USAGE].mean);
  buffer_printf (&noting->text, "%zu of %zu nodes did nothing: ", idle, noting->report->node_count);
  put_chosen (&noting->text, noting);
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
  put_chosen (&noting->text, noting);
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
  buffer_printf (&noting->text, "%.4g CPUs%s, in the mean", had, on_each_node (noting));
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
                 on_each_node (noting));
  buffer_printf (&noting->advice, "Ask for %s%s", words_value (job_request_rounded (enough), "B").text,
                 on_each_node (noting));
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
  job_request_time (&noting->write, report, took * MORE_TIME);
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

/* ---- */

static void
note_use (struct noting *noting, bool killed)
{
  struct job_share cpus = job_cpus_used (noting->report);
  double cpu = job_share_percent (&cpus);
  bool waits, swapped = choose (noting, has_swapped) > 0;

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

void
job_notes_make (struct job_report *report, const struct advice_limits *limits)
{
  struct noting noting = { .report = report, .limits = limits };
  bool killed;

  noting.chosen = memory_new (report->node_count, sizeof noting.chosen[0]);
  killed = choose (&noting, was_killed) > 0 || ran_out_of_memory (report);
  note_killed (&noting);
  note_timeout (&noting);
  note_lost (&noting);
  note_xids (&noting);
  note_swap (&noting);
  if (report->until_ns - report->started_ns >= limits->shortest_ns)
    note_use (&noting, killed);
  free (noting.chosen);
  buffer_free (&noting.text);
  buffer_free (&noting.advice);
  buffer_free (&noting.write);
}
