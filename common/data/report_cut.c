/* Limits a report's size in proportion to its frame.
 *
 * A frame does not hold the names of its metrics, and a column without values is one byte of it, while a report has
 * the name of each value of each row: 262,144 missing values are 65 kB as a frame and 18 MB as a report. The size of
 * a report beside its values is computed before it is written. */
#include "synop/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"
#include "synop/schema.h"

#define VALUE_BYTES 16 /* for `,"":` and a short value */
#define ROW_BYTES 64   /* what surrounds the values of a row */

/* An upper bound, without reading the names. */
static size_t
weight_bound (const struct table *table)
{
  return table->rows * (ROW_BYTES + table->group->metric_count * (SCHEMA_NAME_MAX + VALUE_BYTES));
}

static size_t
weight (const struct table *table)
{
  size_t row = ROW_BYTES;

  for (size_t i = 0; i < table->group->metric_count; i++)
    if ((table->group->metrics[i].flags & METRIC_OF_NODE) == 0)
      row += strlen (table->group->metrics[i].name) + VALUE_BYTES;
  return table->rows * row;
}

/* Copies the table without its rows, and with the reason. */
static void
cut (struct table *to, const struct table *from, size_t most)
{
  table_init (to, from->group);
  table_begin (to);
  to->monotonic_ns = from->monotonic_ns;
  to->sequence = from->sequence;
  to->period_ns = from->period_ns;
  snprintf (to->error, sizeof to->error,
            "%zu rows of %zu values are left out: with their names the line would grow by "
            "more than %zu bytes",
            from->rows, from->group->metric_count, most);
}

const struct report_group *
report_cut (const struct report_group *groups, size_t count, size_t most, struct report_cut *into)
{
  size_t bound = 0, used = 0;

  *into = (struct report_cut){ 0 };
  for (size_t i = 0; i < count; i++)
    bound += groups[i].now ? weight_bound (groups[i].now) : 0;
  if (bound <= most)
    return groups;
  for (size_t i = 0; i < count; i++) {
    size_t more = groups[i].now ? weight (groups[i].now) : 0;

    if (used + more <= most) {
      used += more;
      continue;
    }
    if (!into->groups) {
      into->groups = (void *) memory_copy (groups, count * sizeof *groups);
      into->tables = memory_new (count, sizeof *into->tables);
    }
    cut (&into->tables[into->count], groups[i].now, most);
    into->groups[i] = (struct report_group){ .now = &into->tables[into->count++] };
  }
  return into->groups ? into->groups : groups;
}

void
report_cut_free (struct report_cut *cut)
{
  for (size_t i = 0; i < cut->count; i++)
    table_free (&cut->tables[i]);
  free (cut->tables);
  free (cut->groups);
}
