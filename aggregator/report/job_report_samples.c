/* What the nodes sampled while the job ran, added up.
 *
 * A counter of the job itself holds what the job used since it began on the node, so its last value is the total; where
 * it falls it began anew, and what it held before is added. Over time it counts by its changes, the first one from 0 when
 * the job began. A counter of the whole node counts by its changes between two samples within the job's time. Either is
 * compared with the sample before it in time, so a frame that came late, or one that is lost, changes nothing in the
 * sum. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_columns.h"
#include "aggregator/report/job_report_gpus.h"
#include "aggregator/report/job_report_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define NONE JOB_COLUMNS_NONE
#define FIRST_MIN_NS (NS_PER_S / 10) /* over less, errors of the clocks would make up the rate */

struct tally {
  const struct metric *metric;
  uint64_t base, last; /* raw values of the job's own counter */
  bool counted, changed;
  bool begun;    /* there was a sample of the job's own counter */
  double change; /* of the node's counter */
  double sum, weight;
  unsigned counts[JOB_REPORT_BINS];
};

/* The previous table of the group of the item with that index. */
struct kept {
  struct table table;
  int64_t time_ns;
  bool made, valid;
};

struct reading {
  struct job_scene *scene;
  struct job_report *report;
  const size_t *order; /* of the walk's nodes: index in the report */
  size_t walked;       /* of the walk's nodes, that of the frame */
  size_t index;        /* of the current node in the report; NONE: none */
  struct job_columns columns;
  struct tally *tallies;
  struct kept kept[JOB_ITEM_COUNT];
  struct job_gpus_reading *gpus;
  size_t label_length, hint;
  bool gone; /* the job has no process on the node any more */
};

/* ---- values ---- */

static void
count_raw (struct tally *tally, const struct value *value)
{
  if (value->type != VALUE_UINT)
    return;
  if (tally->counted && value->as.u < tally->last)
    tally->base += tally->last;
  tally->last = value->as.u;
  tally->counted = true;
}

/* ---- bins ---- */

/* A sample covers the time before it, so a bin includes its last instant and not its first. */
static size_t
bin_of (const struct job_report *report, int64_t time_ns)
{
  int64_t since = time_ns - report->started_ns - 1;
  size_t bin = since <= 0 ? 0 : (size_t) (since / report->bin_ns);

  return bin < report->bins ? bin : report->bins - 1;
}

static void
make_bins (struct job_report *report, int64_t period_ns)
{
  int64_t span = report->until_ns - report->started_ns;

  report->bin_ns = (span + JOB_REPORT_BINS - 1) / JOB_REPORT_BINS;
  if (report->bin_ns < period_ns)
    report->bin_ns = period_ns;
  report->bins = (size_t) ((span + report->bin_ns - 1) / report->bin_ns);
  if (report->bins == 0)
    report->bins = 1;
}

static float *
make_line (size_t bins)
{
  float *line = memory_new (bins, sizeof *line);

  for (size_t i = 0; i < bins; i++)
    line[i] = nanf ("");
  return line;
}

static void
make_known (struct job_series *series, size_t bins)
{
  if (series->known)
    return;
  series->known = true;
  series->bins = make_line (bins);
  series->bin_maxima = make_line (bins);
}

static void
fill_bins (struct job_series *series, struct tally *tally, size_t from, size_t to, double value)
{
  for (size_t i = from; i <= to; i++) {
    unsigned count = ++tally->counts[i];
    if (count == 1) {
      series->bins[i] = series->bin_maxima[i] = (float) value;
      continue;
    }
    series->bins[i] += ((float) value - series->bins[i]) / (float) count;
    if ((float) value > series->bin_maxima[i])
      series->bin_maxima[i] = (float) value;
  }
}

/* `before_ns`: of the sample before; INT64_MIN: there is none. */
static void
add_sample (struct reading *reading, size_t item, int64_t before_ns, int64_t time_ns, double value, double weight)
{
  struct job_report *report = reading->report;
  struct job_series *series = &report->nodes[reading->index].series[item];
  struct tally *tally = &reading->tallies[item];
  size_t to = bin_of (report, time_ns), from = to;

  make_known (series, report->bins);
  series->minimum = fmin (series->minimum, value);
  series->maximum = fmax (series->maximum, value);
  tally->sum += value * weight;
  tally->weight += weight;
  if (before_ns != INT64_MIN && before_ns < time_ns && bin_of (report, before_ns) < to)
    from = bin_of (report, before_ns) + 1;
  fill_bins (series, tally, from, to, value);
}

/* ---- tables ---- */

/* A gauge of processes that are gone means nothing, except a peak that is still reported. */
static bool
is_of_processes (size_t item, const struct metric *metric, double value)
{
  return job_items[item].of_job && metric->kind == GAUGE && (job_items[item].combination != JOB_MAXIMUM || value <= 0);
}

/* Nanoseconds from the job's start to its first sample on a node; 0: the agent came later than the job, or clocks are
 * too inexact. */
static int64_t
first_span (const struct reading *reading, const struct table *now, int64_t time_ns)
{
  int64_t span = time_ns - reading->report->started_ns;

  return span >= FIRST_MIN_NS && (double) span <= JOB_GAP_PERIODS * (double) job_period_ns (now) ? span : 0;
}

static bool
is_another (const void *without, const char *label, size_t length)
{
  return length != strlen (without) || memcmp (label, without, length) != 0;
}

/* Of the job's GPUs alone, where it is known which these are. */
static struct value
node_value (struct reading *reading, size_t item, const struct report_group *pair, size_t column)
{
  const char *without = job_items[item].without;
  struct value value;

  if (!job_item_is_of_gpus (item))
    return job_node_value (pair, column, without ? is_another : NULL, without);
  if (job_gpus_are_known (reading->gpus))
    return job_node_value (pair, column, job_gpus_have, reading->gpus);
  value = job_node_value (pair, column, NULL, NULL);
  reading->report->whole_gpus |= value.type != VALUE_MISSING;
  return value;
}

static void
take_item (struct reading *reading, size_t item, const struct report_group *pair, size_t row, int64_t time_ns,
           int64_t before_ns)
{
  size_t column = reading->columns.column[item];
  const struct metric *metric = &pair->now->group->metrics[column];
  struct tally *tally = &reading->tallies[item];
  double seconds = (double) report_elapsed_ns (pair) / NS_PER_S, value;
  const struct value *raw = row == NONE ? NULL : table_get (pair->now, row, column);
  struct value shown;

  if (reading->columns.of_job[item] && row == NONE)
    return;
  tally->metric = metric;
  if (reading->columns.of_job[item]) {
    shown = job_row_value (pair, column, row, reading->report->id);
    if (metric->kind == COUNTER && raw->type == VALUE_UINT && !tally->begun) {
      const struct value zero = { .type = VALUE_UINT };
      int64_t span = first_span (reading, pair->now, time_ns);
      tally->begun = true;
      if (span > 0) {
        shown = report_value (metric, raw, &zero, span);
        seconds = (double) span / NS_PER_S;
        before_ns = reading->report->started_ns;
      }
    }
    if (metric->kind == COUNTER && !job_is_share (metric))
      count_raw (tally, raw);
  } else {
    shown = node_value (reading, item, pair, column);
    reading->report->whole_flops |= job_item_is_of_flops (item) && shown.type != VALUE_MISSING;
  }
  value = job_number (&shown);
  reading->scene->watches[reading->index].beyond |= shown.type != VALUE_MISSING && isnan (value);
  if (isnan (value) || (reading->gone && is_of_processes (item, metric, value)))
    return;
  if (metric->kind == COUNTER && !job_is_share (metric)) {
    if (job_is_beyond (value / seconds)) {
      reading->scene->watches[reading->index].beyond = true;
      return;
    }
    tally->change += value;
    tally->changed = true;
    value /= seconds;
  }
  add_sample (reading, item, before_ns, time_ns, value, metric->kind == COUNTER ? seconds : 1);
}

/* All items of a group: `first` is the first of them. */
static void
take_group (struct reading *reading, size_t first, const struct table *now, int64_t time_ns)
{
  struct kept *kept = &reading->kept[first];
  struct report_group pair = { now, kept->valid ? &kept->table : NULL };
  int64_t before_ns =
      kept->valid && (double) (time_ns - kept->time_ns) <= JOB_GAP_PERIODS * (double) job_period_ns (now)
          ? kept->time_ns
          : INT64_MIN;
  size_t row = table_find_row (now, reading->report->id, reading->label_length, reading->hint);

  if (row != NONE)
    reading->hint = row;
  for (size_t i = first; i < JOB_ITEM_COUNT; i++)
    if (reading->columns.group[i] == reading->columns.group[first])
      take_item (reading, i, &pair, row, time_ns, before_ns);
  if (!table_is_comparable (now))
    return;
  if (!kept->made)
    table_init (&kept->table, now->group);
  kept->made = kept->valid = true;
  kept->time_ns = time_ns;
  table_copy (&kept->table, now);
}

/* ---- frames ---- */

static void
note_trouble (struct job_scene *scene, const struct table *table, size_t node)
{
  for (size_t i = 0; i < scene->trouble_count; i++) {
    struct job_trouble *trouble = &scene->troubles[i];
    if (strcmp (trouble->group, table->group->name) == 0 && strcmp (trouble->text, table->error) == 0) {
      trouble->nodes += trouble->last != node; /* nodes come one after the other */
      trouble->last = node;
      return;
    }
  }
  if (scene->trouble_count < JOB_TROUBLES_MAX) {
    struct job_trouble *trouble = &scene->troubles[scene->trouble_count++];
    snprintf (trouble->group, sizeof trouble->group, "%s", table->group->name);
    snprintf (trouble->text, sizeof trouble->text, "%s", table->error);
    trouble->first = trouble->last = node;
    trouble->nodes = 1;
  }
}

/* Notes that the node was watched at that time, and whether the job was there. */
static void
take_liveness (struct reading *reading, const struct cluster_frame *frame)
{
  struct job_watch *watch = &reading->scene->watches[reading->index];
  struct job_node *node = &reading->report->nodes[reading->index];
  const struct job_columns *columns = &reading->columns;
  const struct table *liveness = columns->liveness == NONE ? NULL : frame->groups[columns->liveness].now;
  double cpus;

  watch->blind = !liveness && (watch->blind || columns->liveness == NONE);
  if (!liveness)
    return;
  watch->period_ns = job_period_ns (liveness);
  if (watch->first_ns == INT64_MIN)
    watch->first_ns = frame->time_ns;
  else if ((double) (frame->time_ns - watch->last_ns) > JOB_GAP_PERIODS * (double) job_period_ns (liveness))
    job_report_add_gap (node, watch->last_ns, frame->time_ns);
  if (frame->time_ns > watch->last_ns)
    watch->last_ns = frame->time_ns;

  size_t row = table_find_row (liveness, reading->report->id, reading->label_length, reading->hint);

  if (row == NONE)
    return;
  node->samples++;
  if (frame->time_ns > node->last_ns)
    node->last_ns = frame->time_ns;
  node->shared |= liveness->rows > 1;
  cpus = job_gauge (liveness, row, columns->cpu_cpus);
  if (cpus > 0)
    node->cpus = cpus;
}

static void
take_info (struct reading *reading, const struct table *info)
{
  struct job_watch *watch = &reading->scene->watches[reading->index];
  struct job_node *node = &reading->report->nodes[reading->index];
  size_t row = table_find_row (info, reading->report->id, reading->label_length, 0), length;
  const struct value *source;
  double cpus;

  if (row == NONE)
    return;
  watch->described = true;
  cpus = job_gauge (info, row, reading->columns.info_cpus);
  if (isnan (node->cpus) && cpus > 0)
    node->cpus = cpus;
  if (reading->columns.info_source == NONE)
    return;
  source = table_get (info, row, reading->columns.info_source);
  if (source->type == VALUE_TEXT) {
    const char *text = table_text (info, source, &length);
    watch->processes = length == 9 && memcmp (text, "processes", 9) == 0;
  }
}

/* After the last process has gone there is one more row, with the totals. */
static void
take_processes (struct reading *reading, const struct cluster_frame *frame)
{
  size_t group = reading->columns.group[JOB_PROCESSES], row;
  const struct table *now = group == NONE ? NULL : frame->groups[group].now;

  if (!now || now->error[0])
    return;
  row = table_find_row (now, reading->report->id, reading->label_length, reading->hint);
  reading->gone = row != NONE && job_gauge (now, row, reading->columns.column[JOB_PROCESSES]) <= 0;
}

static void
end_item (struct job_series *series, const struct tally *tally, size_t bins)
{
  const struct value zero = { .type = VALUE_UINT };
  struct value raw = { .type = VALUE_UINT, .as.u = tally->base + tally->last }, total;

  if (tally->weight > 0)
    series->mean = tally->sum / tally->weight;
  if (tally->counted) {
    total = report_value (tally->metric, &raw, &zero, 1);
    series->total = job_number (&total);
    make_known (series, bins);
  } else if (tally->changed) {
    series->total = tally->change;
  }
}

static void
samples_end_node (struct reading *reading)
{
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    if (reading->index != NONE)
      end_item (&reading->report->nodes[reading->index].series[i], &reading->tallies[i], reading->report->bins);
    if (reading->kept[i].made)
      table_free (&reading->kept[i].table);
    reading->kept[i] = (struct kept){ 0 };
  }
  job_gpus_next_node (reading->gpus);
  memset (reading->tallies, 0, JOB_ITEM_COUNT * sizeof reading->tallies[0]);
  reading->hint = 0;
  reading->gone = false;
  reading->index = NONE;
}

static int64_t
shortest_period (const struct cluster_frame *frame)
{
  int64_t period = INT64_MAX;

  for (size_t i = 0; i < frame->schema->group_count; i++)
    if (frame->groups[i].now && !(frame->schema->groups[i]->flags & GROUP_ONCE) &&
        job_period_ns (frame->groups[i].now) < period)
      period = job_period_ns (frame->groups[i].now);
  return period < INT64_MAX ? period : 1;
}

static void
sample_frame (void *context, const struct cluster_frame *frame)
{
  struct reading *reading = context;
  struct job_report *report = reading->report;
  size_t index = reading->order[reading->walked];
  struct job_watch *watch = &reading->scene->watches[index];
  const struct job_columns *columns = &reading->columns;

  if (reading->index != index) {
    samples_end_node (reading);
    reading->index = index;
  }
  if (columns->schema != frame->schema)
    job_columns_find (&reading->columns, frame->schema);
  if (columns->peaks != NONE && frame->groups[columns->peaks].now)
    job_peaks_take (&report->nodes[index].peaks, columns, frame->groups[columns->peaks].now);
  if (frame->time_ns > report->until_ns) {
    watch->after_ns = watch->after_ns == INT64_MIN ? frame->time_ns : watch->after_ns;
    return;
  }
  if (report->bins == 0)
    make_bins (report, shortest_period (frame));
  take_liveness (reading, frame);
  take_processes (reading, frame);
  job_gpus_take (reading->gpus, &report->nodes[reading->index], frame);
  watch->without_gpus = job_gpus_are_known (reading->gpus) && report->nodes[reading->index].gpu_count == 0;
  if (columns->info != NONE && frame->groups[columns->info].now)
    take_info (reading, frame->groups[columns->info].now);
  if (columns->power != NONE && frame->groups[columns->power].now)
    watch->in_part |= job_gauge (frame->groups[columns->power].now, TABLE_NODE, columns->power_whole) <= 0;
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    size_t group = columns->group[i], first = 0;
    while (columns->group[first] != group)
      first++;
    if (group == NONE || first != i || !frame->groups[group].now)
      continue;
    if (frame->groups[group].now->error[0])
      note_trouble (reading->scene, frame->groups[group].now, reading->index);
    take_group (reading, i, frame->groups[group].now, frame->time_ns);
  }
}

static const struct view samples_view = { .name = "samples", .frame = sample_frame };

/* Does the history end before the job, on all nodes? A job that runs ends for now with the newest sample. */
static void
find_end (struct job_scene *scene)
{
  struct job_report *report = scene->report;
  int64_t period = 0, after = INT64_MIN;

  scene->newest_ns = INT64_MIN;
  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_watch *watch = &scene->watches[i];
    after = watch->after_ns > after ? watch->after_ns : after;
    if (watch->last_ns != INT64_MIN && (report->period_ns == 0 || watch->period_ns < report->period_ns))
      report->period_ns = watch->period_ns;
    if (watch->last_ns > scene->newest_ns) {
      scene->newest_ns = watch->last_ns;
      period = watch->period_ns;
    }
  }
  if (scene->newest_ns == INT64_MIN)
    return;
  scene->cut = after == INT64_MIN &&
               (double) (report->until_ns - scene->newest_ns) > JOB_GAP_PERIODS * (double) period + JOB_SLACK_NS;
  if (!report->ended_ns) {
    report->until_ns = scene->newest_ns;
    report->bins = bin_of (report, scene->newest_ns) + 1;
  }
}

int
job_report_samples (struct job_scene *scene, struct error *error)
{
  struct job_report *report = scene->report;
  struct job_walk walk = job_walk (report);
  struct reading reading = { .scene = scene, .report = report, .order = walk.order, .index = NONE };
  int result;

  walk.history.to_ns = report->ended_ns ? report->until_ns + JOB_AFTER_NS : report->until_ns;
  walk.history.into = (struct history_into){ .view = &samples_view, .state = &reading, .progress = scene->progress };
  walk.history.node = &reading.walked;
  reading.label_length = strlen (report->id);
  reading.gpus = job_gpus_begin (report->id);
  reading.tallies = memory_new (JOB_ITEM_COUNT, sizeof reading.tallies[0]);
  for (size_t i = 0; i < report->node_count; i++)
    scene->watches[i] = (struct job_watch){ INT64_MIN, INT64_MIN, INT64_MIN, .period_ns = NS_PER_S };
  result = history_walk (scene->file, &walk.history, &report->broken, error);
  samples_end_node (&reading);
  if (report->bins == 0)
    make_bins (report, NS_PER_S);
  find_end (scene);
  free (reading.tallies);
  job_gpus_end (reading.gpus);
  job_walk_free (&walk);
  return result < 0 ? -1 : 0;
}
