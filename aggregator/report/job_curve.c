/* See job_curve.h. */
#include "aggregator/report/job_curve.h"

#include <math.h>
#include <stdlib.h>

#include "synop/clock.h"
#include "synop/memory.h"

static int64_t
bin_middle (const struct job_report *report, size_t bin)
{
  return report->bins_ns + (int64_t) bin * report->bin_ns + report->bin_ns / 2;
}

static bool
gap_between (const struct job_node *node, int64_t from_ns, int64_t to_ns)
{
  for (size_t i = 0; node && i < node->gap_count; i++)
    if (node->gaps[i].from_ns < to_ns && node->gaps[i].to_ns > from_ns)
      return true;
  return false;
}

/* The usual distance of two bins that have a sample: the median. */
static size_t
usual_distance (const float *bins, size_t count)
{
  size_t *distances = memory_new (count + 1, sizeof *distances), last = SIZE_MAX, pairs = 0, usual = 0;

  for (size_t i = 0; i < count; i++) {
    if (isnan (bins[i]))
      continue;
    if (last != SIZE_MAX)
      distances[i - last]++, pairs++;
    last = i;
  }
  for (size_t seen = 0; pairs && 2 * seen < pairs;)
    seen += distances[++usual];
  free (distances);
  return usual;
}

void
curve_fill (const struct job_report *report, const struct job_node *node, const float *bins, float *to)
{
  size_t last = SIZE_MAX, reach;

  for (size_t i = 0; i < report->bins; i++)
    to[i] = bins ? bins[i] : nanf ("");
  if (!bins)
    return;
  reach = usual_distance (bins, report->bins) * 5 / 2;
  for (size_t i = 0; i < report->bins; i++) {
    if (isnan (bins[i]))
      continue;
    if (last != SIZE_MAX && i - last > 1 && i - last <= reach &&
        !gap_between (node, bin_middle (report, last), bin_middle (report, i)))
      for (size_t k = last + 1; k < i; k++)
        to[k] = bins[last] + (bins[i] - bins[last]) * (float) (k - last) / (float) (i - last);
    last = i;
  }
  /* The last sample holds until the next one was due. */
  for (size_t k = last + 1; last != SIZE_MAX && k < report->bins && k < last + reach * 2 / 5; k++)
    if (!gap_between (node, bin_middle (report, last), bin_middle (report, k)))
      to[k] = bins[last];
}

void
curve_band_init (struct curve_band *band, const struct job_report *report, enum job_item_id item, const bool *chosen)
{
  float *curve = memory_new (report->bins, sizeof *curve);
  size_t *counts = memory_new (report->bins, sizeof *counts);

  band->minimum = memory_new (report->bins, sizeof (float));
  band->maximum = memory_new (report->bins, sizeof (float));
  band->mean = memory_new (report->bins, sizeof (float));
  for (size_t n = 0; n < report->node_count; n++) {
    if (chosen && !chosen[n])
      continue;
    curve_fill (report, &report->nodes[n], report->nodes[n].series[item].bins, curve);
    for (size_t i = 0; i < report->bins; i++) {
      if (isnan (curve[i]))
        continue;
      if (counts[i] == 0 || curve[i] < band->minimum[i])
        band->minimum[i] = curve[i];
      if (counts[i] == 0 || curve[i] > band->maximum[i])
        band->maximum[i] = curve[i];
      band->mean[i] += (curve[i] - band->mean[i]) / (float) ++counts[i];
    }
  }
  for (size_t i = 0; i < report->bins; i++)
    if (counts[i] == 0)
      band->minimum[i] = band->maximum[i] = band->mean[i] = nanf ("");
  free (counts);
  free (curve);
}

void
curve_band_free (struct curve_band *band)
{
  free (band->minimum);
  free (band->maximum);
  free (band->mean);
  *band = (struct curve_band){ 0 };
}

/* The bin of an instant, within the axis. */
static size_t
bin_of (const struct job_report *report, int64_t time_ns)
{
  int64_t bin = report->bin_ns > 0 ? (time_ns - report->bins_ns) / report->bin_ns : 0;

  return bin < 0 ? 0 : (uint64_t) bin >= report->bins ? report->bins - 1 : (size_t) bin;
}

bool *
curve_gaps (const struct job_report *report)
{
  size_t *counts = memory_new (report->bins, sizeof *counts), least = report->node_count / 10;
  bool *gaps = memory_new (report->bins, sizeof *gaps);

  for (size_t n = 0; report->bins && n < report->node_count; n++)
    for (size_t g = 0; g < report->nodes[n].gap_count; g++) {
      const struct job_gap *gap = &report->nodes[n].gaps[g];
      size_t first = bin_of (report, gap->from_ns + report->bin_ns / 2);
      size_t end = bin_of (report, gap->to_ns + report->bin_ns / 2);
      /* The bins of which half lies in it; at least one. */
      end += gap->to_ns >= bin_middle (report, report->bins - 1);
      for (size_t i = first; i < end || i == first; i++)
        counts[i]++;
    }
  for (size_t i = 0; i < report->bins; i++)
    gaps[i] = counts[i] >= (least > 1 ? least : 1);
  free (counts);
  return gaps;
}

double
curve_seconds (const struct job_report *report)
{
  double seconds = (double) report->bin_ns * (double) report->bins / NS_PER_S;

  return seconds > 0 ? seconds : 1;
}

static void
put_line (struct buffer *script, double x, const float *const *columns, size_t count, size_t bin, double divisor)
{
  buffer_printf (script, "%.7g", x);
  for (size_t i = 0; i < count; i++)
    buffer_printf (script, " %.5g", (double) columns[i][bin] / divisor);
  buffer_add_string (script, "\n");
}

bool
curve_put (struct buffer *script, const struct job_report *report, const float *const *columns, size_t count,
           double divisor)
{
  double width = (double) report->bin_ns / NS_PER_S;
  bool any = false;

  for (size_t i = 0, end; i < report->bins; i = end + 1) {
    for (end = i; end < report->bins && !isnan (columns[0][end]);)
      end++;
    if (end == i)
      continue;
    if (any)
      buffer_add_string (script, "\n");
    any = true;
    put_line (script, (double) i * width, columns, count, i, divisor);
    for (size_t k = i; k < end; k++)
      put_line (script, ((double) k + 0.5) * width, columns, count, k, divisor);
    put_line (script, (double) end * width, columns, count, end - 1, divisor);
  }
  for (size_t i = 0; !any && i <= count; i++)
    buffer_printf (script, "%s%s", "NaN", i < count ? " " : "\n");
  return any;
}
