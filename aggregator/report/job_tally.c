/* See job_tally.h. */
#include "aggregator/report/job_tally.h"

#include <math.h>

#include "aggregator/report/job_columns.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define LONG_NS (2 * 3600 * NS_PER_S)
#define LONG_NODES_NS (48 * 3600 * NS_PER_S) /* of all nodes together */
#define HOURS_NS (96 * 3600 * NS_PER_S)
#define MINUTE_NS (60 * NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)

/* ---- bins ---- */

bool
job_is_long (const struct job_report *report)
{
  int64_t span = report->until_ns - report->started_ns;

  return span >= LONG_NS && (double) span * (double) report->node_count >= LONG_NODES_NS;
}

bool
job_is_of_hours (const struct job_report *report)
{
  return job_is_long (report) && report->until_ns - report->started_ns >= HOURS_NS;
}

/* A sample covers the time before it, so a bin includes its last instant and not its first; but a minute its first. */
size_t
job_bin_of (const struct job_report *report, int64_t time_ns)
{
  int64_t since = time_ns - report->bins_ns - (report->grain_ns < MINUTE_NS);
  size_t bin = since <= 0 ? 0 : (size_t) (since / report->bin_ns);

  return bin < report->bins ? bin : report->bins - 1;
}

void
job_bins_make (struct job_report *report, int64_t period_ns)
{
  int64_t least = job_is_of_hours (report) ? HOUR_NS : job_is_long (report) || report->bare ? MINUTE_NS : 1, span;

  report->grain_ns = least;
  report->bins_ns = report->started_ns - report->started_ns % least;
  span = report->until_ns - report->bins_ns;
  report->bin_ns = (span + JOB_REPORT_BINS - 1) / JOB_REPORT_BINS;
  if (report->bin_ns < period_ns)
    report->bin_ns = period_ns;
  report->bin_ns = (report->bin_ns + least - 1) / least * least;
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
fill_bin (struct job_series *series, unsigned *so_far, size_t bin, unsigned count, double value, double most)
{
  *so_far += count;
  if (*so_far == count) {
    series->bins[bin] = (float) value;
    series->bin_maxima[bin] = (float) most;
    return;
  }
  series->bins[bin] += ((float) value - series->bins[bin]) * (float) count / (float) *so_far;
  if ((float) most > series->bin_maxima[bin])
    series->bin_maxima[bin] = (float) most;
}

/* ---- values ---- */

bool
job_tally_is_of_processes (size_t item, const struct metric *metric, double value)
{
  return job_items[item].of_job && metric->kind == GAUGE && (job_items[item].combination != JOB_MAXIMUM || value <= 0);
}

bool
job_tally_count (struct job_tally *tally, const struct value *value)
{
  bool fell;

  if (value->type != VALUE_UINT)
    return true;
  fell = tally->counted && value->as.u < tally->last;
  if (fell)
    tally->base += tally->last;
  tally->last = value->as.u;
  tally->counted = true;
  return !fell;
}

void
job_tally_sample (struct job_tally *tally, const struct job_report *report, struct job_series *series,
                  int64_t before_ns, int64_t time_ns, double value, double weight)
{
  size_t to = job_bin_of (report, time_ns), from = to;

  make_known (series, report->bins);
  series->minimum = fmin (series->minimum, value);
  series->maximum = fmax (series->maximum, value);
  tally->sum += value * weight;
  tally->weight += weight;
  if (before_ns != INT64_MIN && before_ns < time_ns && job_bin_of (report, before_ns) < to)
    from = job_bin_of (report, before_ns) + 1;
  for (size_t i = from; i <= to; i++)
    fill_bin (series, &tally->counts[i], i, 1, value, value);
}

void
job_tally_minute (struct job_tally *tally, const struct job_report *report, struct job_series *series,
                  const struct history_point *point, double period)
{
  bool counter = tally->metric->kind == COUNTER, share = job_is_share (tally->metric);
  double passed = tally->passed ? tally->passed_seconds / (double) tally->passed : 1;
  double seconds = !counter ? 1 : period > 0 ? period : passed;
  double divisor = counter && !share ? seconds : 1;
  size_t bin = job_bin_of (report, point->time_ns);

  if (job_is_beyond (point->sum) || job_is_beyond (point->max) || job_is_beyond (point->min))
    return;
  make_known (series, report->bins);
  series->minimum = fmin (series->minimum, point->min / divisor);
  series->maximum = fmax (series->maximum, point->max / divisor);
  tally->minutes += period > 0 ? 0 : point->count;
  tally->sum += point->sum * seconds / divisor;
  tally->weight += (double) point->count * seconds;
  if (counter && !share) {
    tally->change += point->sum;
    tally->minutes_change += period > 0 ? 0 : point->sum;
    tally->changed = true;
  }
  fill_bin (series, &tally->counts[bin], bin, (unsigned) point->count, point->sum / (double) point->count / divisor,
            point->max / divisor);
}

void
job_tally_gap (struct job_tally *tally, const struct history_point *point)
{
  if (tally->metric->kind != COUNTER || job_is_share (tally->metric) || job_is_beyond (point->sum))
    return;
  tally->change += point->sum;
  tally->changed = true;
}

void
job_tally_end (const struct job_tally *tally, const struct job_report *report, struct job_series *series)
{
  const struct value zero = { .type = VALUE_UINT };
  struct value raw = { .type = VALUE_UINT, .as.u = tally->base + tally->last }, total;

  if (tally->weight > 0)
    series->mean = tally->sum / tally->weight;
  if (tally->counted) {
    total = report_value (tally->metric, &raw, &zero, 1);
    series->total = job_number (&total);
    make_known (series, report->bins);
  } else if (tally->changed) {
    series->total = tally->change;
  }
}
