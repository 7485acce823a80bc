/* Values that lines and combined reports show beside a group's metrics: one counter's change over another's, or over the time.
 * They are on no wire and in no history, which have the counters. */
#ifndef SYNOP_DERIVED_H
#define SYNOP_DERIVED_H

#include <stddef.h>

#include "synop/metric.h"

struct derived {
  const char *name;
  const char *of, *over; /* metrics of the group; `over` NULL: the period in seconds */
  double times;
  const char *unit; /* as lists show it */
  const char *help;
};

#define DERIVED_MAX 12
struct derived_list { /* of a group: those whose metrics it has */
  size_t count;
  struct {
    const struct derived *derived;
    size_t of, over; /* columns; `over` SIZE_MAX: the period */
  } items[DERIVED_MAX];
};

/* What may be derived in the group of that name, one after the other, if it has the metrics; NULL: no more. `at` begins with
 * 0. */
const struct derived *derived_next (const char *group, size_t *at);
/* Empty for most groups. */
void derived_find (struct derived_list *list, const struct group *group);

#endif
