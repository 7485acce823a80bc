/* The figures of a report as one table: a line for each quantity of each node, as job_report_json has them; a line without a
 * node is of all nodes together. */
#include <math.h>

#include "aggregator/report/job_report_write.h"
#include "synop/csv.h"

static void
write_line (struct buffer *out, const struct job_item *item, const char *node, const struct job_series *series,
            bool counter)
{
  const double values[] = { counter ? series->total : (double) NAN, series->mean, series->minimum, series->maximum };

  csv_text (out, node);
  buffer_printf (out, ",%s,%s", item->name, item->unit);
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    buffer_add_string (out, ",");
    csv_number (out, values[i]);
  }
  buffer_add_string (out, "\n");
}

void
job_report_csv (const struct job_report *report, struct buffer *out)
{
  buffer_add_string (out, "node,quantity,unit,total,mean,minimum,maximum\n");
  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    const struct job_series *all = &report->all[i];
    if (!all->known)
      continue;
    write_line (out, &job_items[i], "", all, !isnan (all->total));
    for (size_t node = 0; node < report->node_count; node++)
      write_line (out, &job_items[i], report->nodes[node].name, &report->nodes[node].series[i], !isnan (all->total));
  }
}
