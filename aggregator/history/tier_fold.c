/* See tier_fold.h. First each form is laid out (tier_layout.h), so that all rows are known; then frame by frame values
 * are added to the cells of their minutes. */
#include "aggregator/history/tier_fold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/tier_fold_private.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/report.h"

#define TICK_NS 1e7     /* the kernel's USER_HZ, the unit of its CPU times */
#define SPAN_MINUTES 64 /* more than a chunk lasts: HISTORY_SPAN_NS */

void
tier_folded_free (struct tier_folded *folded)
{
  for (size_t i = 0; i < folded->count; i++)
    buffer_free (&folded->staged[i].data);
  free (folded->staged);
  *folded = (struct tier_folded){ 0 };
}

/* Must it be known what this group's tables are compared with? */
static bool
group_counts (const struct group *group)
{
  bool counts = false;

  for (size_t i = 0; i < group->metric_count && !(group->flags & GROUP_ONCE); i++)
    counts = counts || group->metrics[i].kind == COUNTER;
  return counts;
}

/* ---- values ---- */

static bool
number_real (const struct number *number, double *value)
{
  switch (number->class) {
  case NUMBER_UINT:
    *value = (double) number->bits;
    return true;
  case NUMBER_NEGATIVE:
    *value = (double) (int64_t) number->bits;
    return true;
  case NUMBER_REAL:
    memcpy (value, &number->bits, sizeof *value);
    return isfinite (*value);
  default:
    return false;
  }
}

/* In percent, as report_value has it: called for each CPU, it is worth not to be a call. */
static inline double
share_real (const struct metric *metric, uint64_t change, int64_t elapsed_ns)
{
  double elapsed = (double) elapsed_ns, used = (double) change, slack = elapsed / 20;

  if (metric->times > 1 || metric->per > 1)
    used = used * (metric->times ? metric->times : 1) / (metric->per ? metric->per : 1);
  used *= (double) NS_PER_S;
  slack = slack > TICK_NS ? slack : TICK_NS;
  if (used > elapsed && used - elapsed <= slack)
    used = elapsed;
  used = used / elapsed * 100;
  return isfinite (used) ? used : -1;
}

/* As report_value, before the scale; a share in percent. Below 0: it is missing. */
static inline double
counter_real (const struct metric *metric, const struct number *now, const struct number *before, int64_t elapsed_ns)
{
  uint64_t change = now->bits - before->bits;

  if (now->class != NUMBER_UINT || before->class != NUMBER_UINT ||
      (now->bits < before->bits && !report_counter_change (metric, now->bits, before->bits, &change)))
    return -1;
  return change && metric->flags & METRIC_SHARE ? share_real (metric, change, elapsed_ns) : (double) change;
}

/* A real value too large for its scale is shown as missing. */
static inline bool
scales (const struct metric *metric, double value)
{
  return fabs (value) < 1e290 || isfinite (value * (metric->times ? metric->times : 1));
}

static bool
row_counts (const struct use *use, uint32_t row)
{
  double value;

  return row >= use->layout->rows ||
         !number_real (layout_number (use->layout, use->row, use->layout->gates[row]), &value) || value > 0;
}

/* The numbers of the base by series: only when it has another layout. */
static const struct number **
scatter (const struct fold_group *group, const struct use *base)
{
  const struct number **numbers = memory_new (group->series, sizeof *numbers);

  for (size_t i = 0; i < base->layout->count; i++) {
    const struct run *run = &base->layout->runs[i];
    const struct number *first = layout_number (base->layout, base->row, run->hole);
    for (uint32_t k = 0; k < run->count; k++)
      numbers[run->metric * group->slots.count + run->slot + k] = first + k;
  }
  return numbers;
}

/* What a table is compared with: another use of its layout, or numbers by series. */
struct base {
  const struct use *use; /* NULL: nothing */
  const struct number **numbers;
  int64_t elapsed_ns;
};

/* Adds the values of a run to its cells, and to the node's fold those of rows that count. */
static void
fold_run (const struct fold_group *group, const struct use *use, const struct base *base, const struct run *run,
          struct tier_cell *cells, struct tier_cell *node)
{
  const struct metric *metric = &group->group->metrics[run->metric];
  const struct number *now = layout_number (use->layout, use->row, run->hole), *before = NULL;
  size_t first = run->metric * group->slots.count + run->slot;
  bool folded = !run->of_node && metric->fold != FOLD_NONE, counter = metric->kind == COUNTER;
  bool share = counter && metric->flags & METRIC_SHARE;

  if (counter && base->use && !base->numbers)
    before = layout_number (use->layout, base->use->row, run->hole);
  if (counter && !base->use)
    return;
  for (uint32_t i = 0; i < run->count; i++) {
    const struct number *then = before ? before + i : counter ? base->numbers[first + i] : NULL;
    double value;
    if (counter) {
      value = then ? counter_real (metric, &now[i], then, base->elapsed_ns) : -1;
      if (value < 0)
        continue;
    } else if (!number_real (&now[i], &value) || !scales (metric, value)) {
      continue;
    }
    tier_cell_add (&cells[first + i], share ? tier_stored (COUNTER, METRIC_SHARE, value) : value);
    if (folded && (!use->layout->gates || row_counts (use, run->row + i)))
      tier_cell_add (node, value);
  }
}

static double
fold_value (const struct tier_cell *node, enum metric_fold fold)
{
  switch (fold) {
  case FOLD_MEAN:
    return node->sum / (double) node->count;
  case FOLD_MAX:
    return node->max;
  case FOLD_MIN:
    return node->min;
  default:
    return node->sum;
  }
}

static void
fold_use (const struct fold_group *group, const struct use *use, const struct base *base, struct tier_cell *cells)
{
  const struct metric *metrics = group->group->metrics;
  const struct layout *layout = use->layout;
  struct tier_cell nodes[SCHEMA_METRICS_MAX];

  memset (nodes, 0, group->group->metric_count * sizeof nodes[0]);
  for (size_t i = 0; i < layout->count; i++)
    fold_run (group, use, base, &layout->runs[i], cells, &nodes[layout->runs[i].metric]);
  for (size_t m = 0; m < group->group->metric_count; m++)
    if (nodes[m].count)
      tier_cell_add (&cells[m * group->slots.count],
                     tier_stored (metrics[m].kind, metrics[m].flags, fold_value (&nodes[m], metrics[m].fold)));
}

static void
fold_group (struct fold *fold, struct fold_group *group)
{
  group->series = group->slots.count * group->group->metric_count;
  group->cells = memory_new (fold->minutes * group->series, sizeof group->cells[0]);
  for (size_t i = 0; i < group->count; i++) {
    const struct use *use = &group->uses[i];
    const struct frame_place *place = &fold->frames.places[use->frame];
    size_t minute = (size_t) (tier_minute (place->time_ns) - fold->first_minute);
    struct base base = { 0 };
    int64_t base_ns = 0;
    if (group->counts)
      base.use = fold_base_of (fold, group, i, &base_ns);
    base.elapsed_ns = place->monotonic_ns - base_ns;
    if (base.use && base_ns >= place->monotonic_ns)
      base.use = NULL;
    if (base.use && base.use->layout != use->layout)
      base.numbers = scatter (group, base.use);
    fold_use (group, use, &base, group->cells + minute * group->series);
    free (base.numbers);
  }
}

/* ---- what comes out ---- */

/* Writes the minutes of one hour of a group: its node first, then its rows, metric by metric. */
static void
write_group (const struct fold *fold, const struct fold_group *group, size_t first_metric, size_t minute,
             size_t minutes, struct tier_writer *writer)
{
  size_t metrics = group->group->metric_count;
  uint32_t time = (uint32_t) ((fold->first_minute + (int64_t) minute) % 60 + 60) % 60;

  for (size_t slot = 1; slot < group->slots.count; slot++) {
    const struct slot *one = &group->slots.list[slot];
    char text[16];
    if (one->label)
      tier_writer_label (writer, one->label, one->length);
    else
      tier_writer_label (writer, text, (size_t) snprintf (text, sizeof text, "%u", one->number));
  }
  for (size_t m = 0; m < metrics; m++)
    for (size_t slot = 0; slot < group->slots.count; slot++)
      tier_writer_series (writer, (uint32_t) (first_metric + m), 0, (uint32_t) slot,
                          &group->cells[minute * group->series + m * group->slots.count + slot], group->series, time,
                          (uint32_t) minutes);
  tier_writer_segment (writer);
}

/* Gives the minutes of one hour: `cells` are those of the series in the first of them. */
static void
give_series (const struct fold_group *group, const struct tier_cell *cells, uint32_t time, size_t minutes,
             struct tier_series series, const struct tier_sink *sink)
{
  struct tier_cell there[SPAN_MINUTES];
  uint32_t times[SPAN_MINUTES];

  for (size_t i = 0; i < minutes; i++, cells += group->series)
    if (cells->count) {
      times[series.count] = time + (uint32_t) i;
      there[series.count++] = *cells;
    }
  series.times = times;
  series.cells = there;
  if (series.count)
    sink->series (sink->context, &series);
}

static void
give_group (const struct fold *fold, const struct fold_group *group, size_t first_metric, size_t minute, size_t minutes,
            const struct tier_sink *sink)
{
  uint32_t time = (uint32_t) ((fold->first_minute + (int64_t) minute) % 60 + 60) % 60;
  const struct tier_cell *cells = group->cells + minute * group->series;

  for (size_t m = 0; m < group->group->metric_count; m++)
    for (size_t slot = 0; slot < group->slots.count; slot++) {
      const struct slot *one = &group->slots.list[slot];
      struct tier_series series = { .metric = (uint32_t) (first_metric + m),
                                    .label = one->label,
                                    .length = one->length };
      char text[16];
      if (slot && !one->label) {
        series.label = text;
        series.length = (size_t) snprintf (text, sizeof text, "%u", one->number);
      }
      give_series (group, cells++, time, minutes, series, sink);
    }
}

static void
write_hours (const struct fold *fold, const struct tier_sink *sink, struct tier_writer *writer,
             struct tier_folded *folded)
{
  for (size_t minute = 0, count; minute < fold->minutes; minute += count) {
    int64_t at = fold->first_minute + (int64_t) minute, hour = at / 60 - (at % 60 < 0);
    size_t first_metric = 0;
    bool given = hour * HOUR_S == sink->start;
    count = (size_t) (60 * (hour + 1) - at);
    count = count < fold->minutes - minute ? count : fold->minutes - minute;
    for (size_t g = 0; g < fold->schema->group_count; first_metric += fold->groups[g++].group->metric_count) {
      if (fold->groups[g].series && given)
        give_group (fold, &fold->groups[g], first_metric, minute, count, sink);
      else if (fold->groups[g].series)
        write_group (fold, &fold->groups[g], first_metric, minute, count, writer);
    }
    if (given)
      continue;
    struct tier_staged *staged = array_add (folded->staged, folded->count, folded->capacity);
    *staged = (struct tier_staged){ .start = hour * HOUR_S };
    if (!tier_writer_end (writer, &staged->data))
      folded->count--;
  }
}

struct finishing {
  struct fold *fold;
  const struct tier_sink *sink;
  struct tier_writer *writer;
  struct tier_folded *folded;
};

static void
finish (void *context, const struct chunk_parts *before)
{
  struct finishing *finishing = context;
  struct fold *fold = finishing->fold;

  if (before)
    fold_read_frames (fold, &fold->before, before);
  for (size_t g = 0; g < fold->schema->group_count && !fold->bad; g++)
    if (!(fold->groups[g].group->flags & GROUP_ONCE) && fold->groups[g].count)
      fold_group (fold, &fold->groups[g]);
  if (!fold->bad)
    write_hours (fold, finishing->sink, finishing->writer, finishing->folded);
  for (size_t g = 0; g < fold->schema->group_count; g++)
    finishing->folded->left_out += fold->groups[g].slots.left_out;
}

/* False: they are of no times, or of too many. */
static bool
find_minutes (struct fold *fold)
{
  int64_t last = INT64_MIN;

  fold->first_minute = INT64_MAX;
  for (size_t i = 0; i < fold->frames.count; i++) {
    int64_t *time_ns = &fold->frames.places[i].time_ns, minute;
    *time_ns = (int64_t) ((uint64_t) *time_ns + (uint64_t) fold->frames.places[i].monotonic_ns);
    minute = tier_minute (*time_ns);
    fold->first_minute = minute < fold->first_minute ? minute : fold->first_minute;
    last = minute > last ? minute : last;
  }
  if (fold->frames.count == 0 || last - fold->first_minute >= SPAN_MINUTES)
    return false;
  fold->minutes = (size_t) (last - fold->first_minute + 1);
  return true;
}

void
tier_fold (const struct chunk *chunk, const struct chunk_parts *parts, const struct chunk_row *row,
           const struct schema *schema, const struct tier_bases *bases, const struct tier_sink *sink,
           struct tier_writer *writer, struct tier_folded *folded)
{
  struct fold fold = { .schema = schema, .row = row, .frames = { .chunk = chunk, .records = true } };
  struct chunk before = { 0 };
  struct finishing finishing = { &fold, sink, writer, folded };

  fold.before.chunk = &before;
  fold.groups = memory_new (schema->group_count, sizeof fold.groups[0]);
  for (size_t g = 0; g < schema->group_count; g++) {
    fold.groups[g].group = schema->groups[g];
    fold.groups[g].gate = report_gates_of (schema->groups[g]).counts;
    fold.groups[g].counts = group_counts (schema->groups[g]);
  }
  fold_read_frames (&fold, &fold.frames, parts);
  if (!fold.bad && find_minutes (&fold)) {
    fold_want_before (&fold, bases, &before);
    if (before.count == 0 || !chunk_split (&before, NULL, &(struct chunk_look){ &finishing, finish }))
      finish (&finishing, NULL);
  }
  fold_frames_free (&fold.frames);
  fold_frames_free (&fold.before);
  chunk_free (&before);
  for (size_t g = 0; g < schema->group_count; g++) {
    slots_free (&fold.groups[g].slots);
    free (fold.groups[g].uses);
    free (fold.groups[g].cells);
  }
  free (fold.groups);
}
