/* Impossible values: counters and sensors that a driver, a firmware or a hypervisor gets wrong.
 *
 * Every number has a bound: that of its metric (struct metric_bound) or, as a rule, that of its kind and unit. A value
 * beyond it is missing, and the error of its table names the first one:
 *
 *   impossible values are left out: temperature of 2, -273.15 celsius (at least -100), and 3 more
 *
 * A counter is checked by its change since the table before, over the time that has really passed since its row last
 * moved: hardware that stood still may report all of it at once. After an impossible change it restarts from the new
 * value, so it is missing once. From 2^63 on a counter is impossible itself. When a counter of the row fell, the row
 * was reset, or the kernel moved time from one counter to another (io_wait to idle, say): impossible changes are
 * then left out without an error. */
#ifndef SYNOP_AGENT_BOUNDS_H
#define SYNOP_AGENT_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/metric.h"
#include "synop/table.h"

/* Bounds that several groups state. */
#define BOUND_TASKS .most = 4194304                 /* the kernel has no more: PID_MAX_LIMIT */
#define BOUND_PART(WHOLE) .times = 1, .of = (WHOLE) /* the gauge beside it that it is part of */
/* Ten times the bits of a link, and at least 1 Tb/s: virtual interfaces claim 10 Mb/s and carry far more, traffic
 * within an adapter is faster than its line, and a link that has just gone down reports the lowest speed. */
#define BOUND_LINE(SPEED) .most = 1.25e11, .times = 1.25, .of = (SPEED)
#define BOUND_LATE .most = 1e18 /* the first change has everything from before the agent started */
#define BOUND_LATE_TIME .most = 1e9

struct bounds;

struct bounds *bounds_create (const struct group *group);
void bounds_destroy (struct bounds *bounds);

/* Checks a table that was read between these two times of one clock. */
void bounds_check (struct bounds *bounds, struct table *table, int64_t begin_ns, int64_t end_ns);

/* The limits of a metric in its unit, a COUNTER's per second, without the gauge that a bound may name. False: it has
 * none, being a text, or of a unit without a default. */
bool bounds_limits (const struct metric *metric, double *least, double *most);
/* The gauge that the bound names, or NULL: it names none, or there is no such gauge in the same rows. */
const struct metric *bounds_of (const struct group *group, const struct metric *metric);

/* The unit as text: " bytes a second", " percent"; " seconds in all" of a counter's total; "" of a gauge without a
 * unit. */
void bounds_unit (char *text, size_t size, const struct metric *metric, bool in_all);
/* The metric's own bound as a sentence: " At most 1.25e+11 bytes a second." "" when it states none. */
void bounds_describe (struct buffer *out, const struct metric *metric);
/* The default bounds of each kind and unit, as a table in Markdown. */
void bounds_describe_usual (struct buffer *out);

#endif
