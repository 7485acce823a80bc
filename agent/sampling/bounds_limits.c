/* The limits of numbers, and their description; see bounds.h. */
#include "agent/sampling/bounds.h"

#include <stdio.h>
#include <string.h>

/* The defaults. Zeros: none, so that a metric must state its bound. */
static const struct limits {
  double least, most;
} usual[2][METRIC_UNITS] = {
  [GAUGE] = {
    [UNIT_COUNT] = { 0, 0x1p53 },
    [UNIT_BYTES] = { 0, 0x1p56 }, /* more than any memory */
    [UNIT_SECONDS] = { 0, 1e10 }, /* since 1970, too */
    [UNIT_HERTZ] = { 0, 1e11 },
    [UNIT_CELSIUS] = { -100, 300 },
    [UNIT_WATTS] = { 0, 1e5 },
    [UNIT_PERCENT] = { 0, 105 }, /* measured with two clocks, it may exceed 100 a little */
    [UNIT_RATIO] = { 0, 1.05 },
    [UNIT_BITS_PER_SECOND] = { 0, 1e14 },
    [UNIT_BOOLEAN] = { 0, 1 },
  },
  [COUNTER] = { /* in a second */
    [UNIT_COUNT] = { 0, 1e12 },
    [UNIT_BYTES] = { 0, 1e15 },
    [UNIT_SECONDS] = { 0, 1 },
    [UNIT_JOULES] = { 0, 1e5 },
  },
};

bool
bounds_limits (const struct metric *metric, double *least, double *most)
{
  const struct limits *limits;

  if (metric->kind != GAUGE && metric->kind != COUNTER)
    return false;
  limits = &usual[metric->kind][metric->unit];
  *least = limits->least;
  *most = metric->bound.most > 0 && !metric->bound.of ? metric->bound.most : limits->most;
  if (metric->bound.negative)
    *least = -*most;
  return *most > 0;
}

const struct metric *
bounds_of (const struct group *group, const struct metric *metric)
{
  for (size_t i = 0; metric->bound.of && i < group->metric_count; i++) {
    const struct metric *other = &group->metrics[i];

    if (other->kind == GAUGE && !other->bound.of && strcmp (other->name, metric->bound.of) == 0 &&
        (other->flags & METRIC_OF_NODE) == (metric->flags & METRIC_OF_NODE))
      return other;
  }
  return NULL;
}

void
bounds_unit (char *text, size_t size, const struct metric *metric, bool in_all)
{
  bool share = metric->flags & METRIC_SHARE && !in_all, counter = metric->kind == COUNTER && !share;
  const char *unit = share ? "percent" : metric_unit_name (metric->unit);

  snprintf (text, size, "%s%s%s", unit[0] ? " " : "", unit, !counter ? "" : in_all ? " in all" : " a second");
}

void
bounds_describe (struct buffer *out, const struct metric *metric)
{
  const struct metric_bound *bound = &metric->bound;
  double times = metric->flags & METRIC_SHARE ? 100 : 1;
  char unit[48];

  bounds_unit (unit, sizeof unit, metric, false);
  if (bound->most > 0 && bound->of)
    buffer_printf (out, " At most %.7g%s, or %g times `%s` if that is more.", bound->most * times, unit, bound->times,
                   bound->of);
  else if (bound->most > 0)
    buffer_printf (out, bound->negative ? " At most %.7g%s, and as far below 0." : " At most %.7g%s.",
                   bound->most * times, unit);
  else if (bound->of)
    buffer_printf (out, " At most `%s`.", bound->of);
}

void
bounds_describe_usual (struct buffer *out)
{
  buffer_add_string (out, "| unit | a value | a counter, in a second |\n| --- | --- | --- |\n");
  for (int unit = 0; unit < METRIC_UNITS; unit++) {
    const struct limits *gauge = &usual[GAUGE][unit], *counter = &usual[COUNTER][unit];
    const char *name = metric_unit_name ((enum metric_unit) unit);

    if (gauge->most <= 0 && counter->most <= 0)
      continue;
    buffer_printf (out, "| %s | ", name[0] ? name : "(count)");
    if (gauge->most > 0)
      buffer_printf (out, "%g to %.3g | ", gauge->least, gauge->most);
    else
      buffer_add_string (out, "- | ");
    if (counter->most > 0)
      buffer_printf (out, "%.3g |\n", counter->most);
    else
      buffer_add_string (out, "- |\n");
  }
}
