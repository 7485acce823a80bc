/* One value as people see it: scaled, and a counter as its change.
 *
 * Whole numbers stay whole while nothing divides them and 64 bits hold them. A result that no double holds is
 * missing: one infinity would make every sum with it useless. */
#include "synop/report.h"

#include <math.h>

#include "synop/clock.h"

#define SHARE_PLACES 4
#define TICK_NS (10 * NS_PER_MS) /* the kernel's USER_HZ, the unit of its CPU times */

static const struct value missing = { .type = VALUE_MISSING };

static struct value
real_value (double number)
{
  return isfinite (number) ? (struct value){ .type = VALUE_REAL, .as.d = number } : missing;
}

static struct value
value_scale (const struct metric *metric, const struct value *value)
{
  if (metric->times <= 1 && metric->per <= 1)
    return value->type == VALUE_REAL ? real_value (value->as.d) : *value;

  uint32_t times = metric->times == 0 ? 1 : metric->times;
  uint32_t per = metric->per == 0 ? 1 : metric->per;
  struct value scaled = { .type = value->type };

  if (per == 1 && value->type == VALUE_UINT && !__builtin_mul_overflow (value->as.u, times, &scaled.as.u))
    return scaled;
  if (per == 1 && value->type == VALUE_INT && !__builtin_mul_overflow (value->as.i, (int64_t) times, &scaled.as.i))
    return scaled;
  return real_value (value_number (value) * times / per);
}

/* A fall is a wrap of 32 bits when both values are below 2^32 and the growth around it is less than half of that. A
 * driver that restarted at 0 would look the same only from a counter in its upper half. */
bool
report_counter_change (const struct metric *metric, uint64_t now, uint64_t before, uint64_t *change)
{
  *change = now - before;
  if (now >= before)
    return true;
  if ((metric->flags & METRIC_WRAPS32) == 0 || before > UINT32_MAX)
    return false;
  *change = (uint32_t) *change;
  return *change < UINT64_C (1) << 31;
}

/* Kernels count CPU time in ticks, and a sampler reads them a little after the clock: a share that is over 100 by no
 * more than a tick or a twentieth is 100. More than that is shown: several threads or requests add up to more. */
static struct value
share_value (const struct metric *metric, uint64_t change, int64_t elapsed_ns)
{
  struct value raw = { .type = VALUE_UINT, .as.u = change };
  struct value seconds = value_scale (metric, &raw);
  double elapsed = (double) elapsed_ns;
  double used = value_number (&seconds) * (double) NS_PER_S;
  double slack = elapsed / 20 > (double) TICK_NS ? elapsed / 20 : (double) TICK_NS;

  if (used > elapsed && used - elapsed <= slack)
    used = elapsed;
  return real_value (used / elapsed * 100);
}

static struct value
counter_value (const struct metric *metric, const struct value *now, const struct value *before, int64_t elapsed_ns)
{
  struct value change = { .type = VALUE_UINT };

  if (before == NULL || before->type != VALUE_UINT || now->type != VALUE_UINT || elapsed_ns <= 0 ||
      !report_counter_change (metric, now->as.u, before->as.u, &change.as.u))
    return missing;
  if ((metric->flags & METRIC_SHARE) != 0)
    return share_value (metric, change.as.u, elapsed_ns);
  return value_scale (metric, &change);
}

struct value
report_value (const struct metric *metric, const struct value *now, const struct value *before, int64_t elapsed_ns)
{
  switch (metric->kind) {
  case COUNTER:
    return counter_value (metric, now, before, elapsed_ns);
  case GAUGE:
    if (now->type == VALUE_UINT || now->type == VALUE_INT || now->type == VALUE_REAL)
      return value_scale (metric, now);
    return missing;
  default:
    return now->type == VALUE_TEXT ? *now : missing;
  }
}

void
report_number_write (struct json *json, const struct metric *metric, const struct value *value)
{
  if (value->type == VALUE_UINT)
    json_uint (json, value->as.u);
  else if (value->type == VALUE_INT)
    json_int (json, value->as.i);
  else if (value->type != VALUE_REAL)
    json_null (json);
  else if (metric && metric->kind == COUNTER && metric->flags & METRIC_SHARE)
    json_real_places (json, value->as.d, SHARE_PLACES);
  else
    json_real (json, value->as.d);
}
