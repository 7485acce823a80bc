/* What the nodes sampled while the job ran, added up.
 *
 * A counter of the job itself holds what the job used since it began on the node, so its last value is the total; where
 * it falls it began anew, and what it held before is added. Over time it counts by its changes, the first one from 0 when
 * the job began. A counter of the whole node counts by its changes between two samples within the job's time. Either is
 * compared with the sample before it in time, so a frame that came late, or one that is lost, changes nothing in the
 * sum. Of a long job most minutes are not read but added to that (job_report_minutes.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_columns.h"
#include "aggregator/report/job_report_gpus.h"
#include "aggregator/report/job_report_minutes.h"
#include "aggregator/report/job_report_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define NONE JOB_COLUMNS_NONE

/* The previous table of the group of the item with that index. */
struct kept {
  struct table table;
  uint64_t session;
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
  struct job_minutes *minutes; /* that are not read as frames; NULL: none */
  struct job_tally *tallies;   /* of the current node, */
  struct job_tally **waiting;  /* and of those to which minutes will be added */
  struct kept kept[JOB_ITEM_COUNT];
  struct job_gpus_reading *gpus;
  size_t label_length, hint;
  bool gone; /* the job has no process on the node any more */
};

/* ---- tables ---- */

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
  struct job_tally *tally = &reading->tallies[item];
  double seconds = (double) report_elapsed_ns (pair) / NS_PER_S, value;
  const struct value *raw = row == NONE ? NULL : table_get (pair->now, row, column);
  struct value shown;

  if (reading->columns.of_job[item] && row == NONE)
    return;
  tally->metric = metric;
  tally->of_job = reading->columns.of_job[item];
  if (reading->columns.of_job[item]) {
    shown = job_row_value (pair, column, row, reading->report->id);
    if (metric->kind == COUNTER && raw->type == VALUE_UINT && !tally->begun) {
      const struct value zero = { .type = VALUE_UINT };
      int64_t span = job_first_span (reading->report->started_ns, pair->now, time_ns);
      tally->begun = true;
      if (span > 0) {
        shown = report_value (metric, raw, &zero, span);
        seconds = (double) span / NS_PER_S;
        before_ns = reading->report->started_ns;
      }
    }
    if (metric->kind == COUNTER && !job_is_share (metric))
      job_tally_count (tally, raw);
  } else {
    shown = node_value (reading, item, pair, column);
    reading->report->whole_flops |= job_item_is_of_flops (item) && shown.type != VALUE_MISSING;
  }
  value = job_number (&shown);
  reading->scene->watches[reading->index].beyond |= shown.type != VALUE_MISSING && isnan (value);
  if (isnan (value) || (reading->gone && job_tally_is_of_processes (item, metric, value)))
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
  job_tally_sample (tally, reading->report, &reading->report->nodes[reading->index].series[item], before_ns, time_ns,
                    value, metric->kind == COUNTER ? seconds : 1);
}

static void
keep_table (struct kept *kept, const struct table *table, uint64_t session, int64_t time_ns)
{
  if (!kept->made)
    table_init (&kept->table, table->group);
  kept->made = kept->valid = true;
  kept->session = session;
  kept->time_ns = time_ns;
  table_copy (&kept->table, table);
}

/* The job's own counter, from the last table that was read to the one before this. */
static bool
pass_counter (const struct reading *reading, size_t item, const struct table *from, const struct table *to)
{
  struct job_tally *tally = &reading->tallies[item];
  size_t column = reading->columns.column[item];
  size_t row = table_find_row (from, reading->report->id, reading->label_length, reading->hint);
  size_t last = table_find_row (to, reading->report->id, reading->label_length, reading->hint);
  struct value change;

  if (row == NONE || last == NONE)
    return row == last;
  if (table_get (to, last, column)->type != table_get (from, row, column)->type ||
      !job_tally_count (tally, table_get (to, last, column)))
    return false;
  change = report_value (tally->metric, table_get (to, last, column), table_get (from, row, column), 1);
  tally->passed_change += change.type == VALUE_MISSING ? 0 : job_number (&change);
  return true;
}

/* Minutes were passed over: goes on from the table before this one. False: that cannot be. */
static bool
pass_minutes (struct reading *reading, size_t first, const struct report_group *pair, uint64_t session, int64_t time_ns)
{
  struct kept *kept = &reading->kept[first];
  const struct table *to = report_before (pair);
  int64_t passed_ns = to && kept->valid ? to->monotonic_ns - kept->table.monotonic_ns : -1;

  if (!kept->valid && !table_is_comparable (pair->now))
    return true;
  if (!kept->valid && job_minutes_bare (reading->minutes, reading->index)) {
    if (to)
      keep_table (kept, to, session, time_ns - report_elapsed_ns (pair));
    return true;
  }
  if (passed_ns < 0 || kept->session != session || to->group != kept->table.group)
    return false;
  for (size_t i = first; i < JOB_ITEM_COUNT; i++) {
    struct job_tally *tally = &reading->tallies[i];
    const struct metric *metric;
    if (reading->columns.group[i] != reading->columns.group[first])
      continue;
    metric = &to->group->metrics[reading->columns.column[i]];
    tally->passed += (uint64_t) llround ((double) passed_ns / (double) job_period_ns (pair->now));
    tally->passed_seconds += (double) passed_ns / NS_PER_S;
    if (reading->columns.of_job[i] && metric->kind == COUNTER && !job_is_share (metric) &&
        !pass_counter (reading, i, &kept->table, to))
      return false;
  }
  keep_table (kept, to, session, time_ns - report_elapsed_ns (pair));
  return true;
}

/* The total of a node counts what its own rows do not, as those of older agents. */
static bool
counts_without (size_t first, const struct table *now)
{
  const char *without = job_items[first].without;
  struct report_gates gates = report_gates_of (now->group);
  size_t row = without ? table_find_row (now, without, strlen (without), 0) : NONE;

  return row != NONE && report_row_counts (&gates, now, row);
}

/* All items of a group: `first` is the first of them. */
static void
take_group (struct reading *reading, size_t first, const struct cluster_frame *frame)
{
  const struct report_group *here = &frame->groups[reading->columns.group[first]];
  const struct table *now = here->now;
  struct kept *kept = &reading->kept[first];
  size_t row = table_find_row (now, reading->report->id, reading->label_length, reading->hint);

  if (counts_without (first, now) || (job_minutes_between (reading->minutes, reading->index,
                                                           kept->valid ? kept->time_ns : INT64_MIN, frame->time_ns) &&
                                      !pass_minutes (reading, first, here, frame->header->session, frame->time_ns)))
    job_minutes_give_up (reading->minutes, reading->index, frame->time_ns);

  struct report_group pair = { now, kept->valid ? &kept->table : NULL };
  int64_t before_ns =
      kept->valid && (double) (frame->time_ns - kept->time_ns) <= JOB_GAP_PERIODS * (double) job_period_ns (now)
          ? kept->time_ns
          : INT64_MIN;

  if (row != NONE)
    reading->hint = row;
  for (size_t i = first; i < JOB_ITEM_COUNT; i++)
    if (reading->columns.group[i] == reading->columns.group[first])
      take_item (reading, i, &pair, row, frame->time_ns, before_ns);
  if (table_is_comparable (now))
    keep_table (kept, now, frame->header->session, frame->time_ns);
}

/* ---- frames ---- */

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
  watch->bare = false;
  if (watch->first_ns != INT64_MIN &&
      job_minutes_between (reading->minutes, reading->index, watch->last_ns, frame->time_ns))
    watch->last_ns = frame->time_ns - report_elapsed_ns (&frame->groups[columns->liveness]);
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
end_items (struct job_report *report, size_t node, const struct job_tally *tallies)
{
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++)
    job_tally_end (&tallies[i], report, &report->nodes[node].series[i]);
}

static void
samples_end_node (struct reading *reading)
{
  if (reading->index == NONE)
    return;
  if (job_minutes_any (reading->minutes, reading->index)) {
    reading->waiting[reading->index] = reading->tallies;
  } else {
    end_items (reading->report, reading->index, reading->tallies);
    free (reading->tallies);
  }
  reading->tallies = NULL;
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    if (reading->kept[i].made)
      table_free (&reading->kept[i].table);
    reading->kept[i] = (struct kept){ 0 };
  }
  job_gpus_next_node (reading->gpus);
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

/* Minutes do not have the texts that say which GPUs the job has and leaves idle: only where these are the same all along. */
static bool
has_other_gpus (const struct reading *reading, const struct cluster_frame *frame)
{
  size_t group = reading->columns.group[JOB_GPU_USAGE];
  const struct table *gpus = group == NONE ? NULL : frame->groups[group].now;

  if (!gpus || !gpus->rows)
    return false;
  if (!job_gpus_are_known (reading->gpus) || job_gpus_have_changed (reading->gpus))
    return true;
  return reading->report->nodes[reading->index].gpu_count > 0 &&
         !job_minutes_have_gpus (reading->minutes, reading->index);
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
    reading->tallies = memory_new (JOB_ITEM_COUNT, sizeof reading->tallies[0]);
  }
  if (columns->schema != frame->schema)
    job_columns_find (&reading->columns, frame->schema);
  job_peaks_take (&report->nodes[index].peaks, columns, frame->groups);
  if (job_minutes_has (reading->minutes, index, frame->time_ns))
    return;
  if (frame->time_ns > report->until_ns) {
    watch->after_ns = watch->after_ns == INT64_MIN ? frame->time_ns : watch->after_ns;
    return;
  }
  if (report->bins == 0)
    job_bins_make (report, shortest_period (frame));
  take_liveness (reading, frame);
  take_processes (reading, frame);
  if (!job_gpus_pass (reading->gpus, reading->minutes, index, &report->nodes[index], frame))
    job_minutes_give_up (reading->minutes, index, frame->time_ns);
  job_gpus_take (reading->gpus, &report->nodes[index], frame);
  if (has_other_gpus (reading, frame))
    job_minutes_give_up (reading->minutes, index, frame->time_ns);
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
      job_report_trouble (reading->scene, frame->groups[group].now, reading->index);
    take_group (reading, i, frame);
  }
}

static const struct view samples_view = { .name = "samples", .frame = sample_frame };

static void
look_at_chunks (void *context, size_t node, const struct walk_chunk *chunks, size_t count)
{
  job_minutes_look (((struct reading *) context)->minutes, node, chunks, count);
}

static void
choose_chunks (void *context, size_t node, struct walk_chunk *chunks, size_t count)
{
  job_minutes_choose (((struct reading *) context)->minutes, node, chunks, count);
}

static int
read_samples (struct reading *reading, struct job_walk *walk, struct error *error)
{
  struct job_scene *scene = reading->scene;
  struct job_report *report = scene->report;
  int result;

  reading->gpus = job_gpus_begin (report->id);
  reading->waiting = memory_new (report->node_count, sizeof reading->waiting[0]);
  reading->index = NONE;
  scene->trouble_count = 0;
  for (size_t i = 0; i < report->node_count; i++)
    scene->watches[i] = (struct job_watch){ INT64_MIN, INT64_MIN, INT64_MIN, .period_ns = NS_PER_S };
  walk->history.into = (struct history_into){ .view = &samples_view, .state = reading, .progress = scene->progress };
  walk->history.node = &reading->walked;
  walk->history.look = reading->minutes && !job_minutes_are_chosen (reading->minutes) ? look_at_chunks : NULL;
  walk->history.choose = reading->minutes ? choose_chunks : NULL;
  result = history_walk (scene->file, &walk->history, &report->broken, error);
  samples_end_node (reading);
  if (report->bins == 0)
    job_bins_make (report, NS_PER_S);
  if (result == 0 && reading->minutes)
    result = job_minutes_add (reading->minutes, reading->waiting, error);
  for (size_t i = 0; i < report->node_count; i++) {
    if (reading->waiting[i])
      end_items (report, i, reading->waiting[i]);
    free (reading->waiting[i]);
  }
  free (reading->waiting);
  job_gpus_end (reading->gpus);
  return result;
}

int
job_report_samples (struct job_scene *scene, struct error *error)
{
  struct job_report *report = scene->report;
  struct job_walk walk = job_walk (report);
  struct reading reading = { .scene = scene, .report = report, .order = walk.order };
  int result;

  walk.history.to_ns = report->ended_ns ? report->until_ns + JOB_AFTER_NS : report->until_ns;
  reading.label_length = strlen (report->id);
  reading.minutes = job_minutes_create (scene, &walk);
  result = read_samples (&reading, &walk, error);
  while (result == 0 && job_minutes_again (reading.minutes)) {
    job_report_forget (report);
    result = read_samples (&reading, &walk, error);
  }
  job_report_find_end (scene);
  job_minutes_destroy (reading.minutes);
  job_walk_free (&walk);
  return result < 0 ? -1 : 0;
}
