/* Planning events that differ from generation to generation; see core_events.h. */
#include "agent/counters/core_events.h"

#include <stdio.h>

#include "agent/counters/counter_pfm.h"

#define BATCH 4 /* of general counters there are 4 at least */

/* False: the machine has no such unit, or the library does not know it. */
static bool
plan_unit (struct counter_plan *plan, const struct counter_pfm *pfm, const struct core_generation *generation,
           const char *unit, unsigned first, struct error *error)
{
  struct counter_batch *batch = NULL;

  for (size_t i = 0; i < generation->count; i++) {
    const struct core_event *event = &generation->events[i];
    struct perf_event_attr attr;
    char name[192];

    snprintf (name, sizeof name, "%s::%s", unit, event->name);
    if (counter_pfm_name (pfm, &attr, name, error) < 0)
      return false;
    if (!batch || batch->count == BATCH)
      batch = counter_plan_batch (plan);
    batch->events[batch->count++] =
        (struct counter_event){ .attr = attr, .columns = event->columns << first, .weight = event->weight };
  }
  return true;
}

static bool
plan_machine (struct counter_plan *plan, const struct counter_pfm *pfm, const struct core_table *table, unsigned first,
              struct error *error)
{
  for (size_t i = 0; i < table->count; i++)
    for (const char *const *unit = table->generations[i].units; *unit; unit++)
      if (plan_unit (plan, pfm, &table->generations[i], *unit, first, error))
        return true;
  return false;
}

void
core_events_plan (struct counter_plan *plan, const struct core_table *table, unsigned first, struct error *error)
{
  struct counter_pfm *pfm = counter_pfm_open (error);

  if (!pfm)
    return;
  if (plan_machine (plan, pfm, table, first, error))
    error->text[0] = '\0';
  else
    error_set (error, "libpfm4 knows no unit of this CPU whose events count %s", table->what);
  counter_pfm_close (pfm);
}
