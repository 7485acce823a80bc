/* What cannot be: counters and sensors that a driver, a firmware or a hypervisor gets wrong.
 *
 * Every number has a bound: that of its metric (struct metric_bound) or, as a rule, that of its kind and unit. What is
 * over it is missing, and the error of its table says so in one sentence, with the first of them:
 *
 *   impossible values are left out: temperature of 2, -273.15 celsius (at least -100), and 3 more
 *
 * A counter is measured by its change since the table before, over the time that has really passed, and since its row
 * last moved: what stood still may be told all at once. After a change that cannot be it begins anew from there, so it is
 * missing once. It is none at all from 2^63 on. When a counter of the row fell, the row was set anew, or the kernel moved
 * time from one to another (io_wait to idle, say): what is too much is left out then without a word. */
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
/* Ten times the bits of a link, and 1 Tb/s in any case: virtual interfaces say 10 Mb/s and carry far more, traffic within
 * an adapter is faster than its line, and a link that has just gone down tells the lowest speed. */
#define BOUND_LINE(SPEED) .most = 1.25e11, .times = 1.25, .of = (SPEED)
#define BOUND_LATE .most = 1e18 /* what was before the agent found it comes all at once */
#define BOUND_LATE_TIME .most = 1e9

struct bounds;

struct bounds *bounds_create (const struct group *group);
void bounds_destroy (struct bounds *bounds);

/* Checks a table that was read between these two times of one clock. */
void bounds_check (struct bounds *bounds, struct table *table, int64_t begin_ns, int64_t end_ns);

/* The limits of a metric in its unit, a COUNTER's in a second, while no other gauge counts. False: it has none, since it
 * is a text, or nobody has thought of one. */
bool bounds_limits (const struct metric *metric, double *least, double *most);
/* The gauge that the bound names, or NULL: it names none, or there is no such gauge in the same rows. */
const struct metric *bounds_of (const struct group *group, const struct metric *metric);

/* " bytes a second", " percent"; " seconds in all" of a counter as it stands; "" of a gauge that is a mere number. */
void bounds_unit (char *word, size_t size, const struct metric *metric, bool in_all);
/* What a metric states of its own, as a sentence: " At most 1.25e+11 bytes a second." "" when it states nothing. */
void bounds_describe (struct buffer *out, const struct metric *metric);
/* What is usual for each kind and unit, as a table in Markdown. */
void bounds_describe_usual (struct buffer *out);

#endif
