/* The table of what the nodes' CPUs did by their counters, see job_sheet.h. */
#include <stddef.h>
#include <stdlib.h>

#include "aggregator/report/job_roofline.h"
#include "aggregator/report/job_sheet.h"
#include "synop/memory.h"

#define FIGURE(HEAD, UNIT, SHARE, MEMBER)                                                                              \
  {                                                                                                                    \
    { .head = HEAD, .unit = UNIT, .share = SHARE }, offsetof (struct job_roofline, MEMBER)                             \
  }

static const struct roofline_column {
  struct sheet_column column;
  size_t value; /* the offset of a double */
} roofline_columns[] = {
  FIGURE ("IPC", "", 1.0, ipc),
  FIGURE ("Clock", "GHz", 1.1, ghz),
  FIGURE ("Floating point", "FLOP/s", 2.0, flops),
  FIGURE ("Double", "FLOP/s", 1.3, flops_double),
  FIGURE ("Single", "FLOP/s", 1.3, flops_single),
  FIGURE ("By vectors", "%", 1.6, vectors),
  FIGURE ("Of peak", "%", 1.3, flops_share),
  FIGURE ("Bandwidth", "B/s", 1.6, bandwidth),
  FIGURE ("Of peak", "%", 1.3, bandwidth_share),
  FIGURE ("Intensity", "FLOP/byte", 1.5, intensity),
};
#define ROOFLINE_COLUMNS (sizeof roofline_columns / sizeof roofline_columns[0])

static double
figure (const struct job_roofline *roofline, size_t column)
{
  return *(const double *) ((const char *) roofline + roofline_columns[column].value);
}

void
sheet_roofline_init (struct sheet_table *table, const struct job_report *report)
{
  struct job_roofline *nodes = memory_new (report->node_count, sizeof *nodes);
  double *values = memory_new (report->node_count, sizeof *values);
  size_t of[1 + ROOFLINE_COLUMNS];
  bool known = false;

  _Static_assert(1 + ROOFLINE_COLUMNS <= SHEET_COLUMNS_MAX, "room for all columns");
  *table = (struct sheet_table){ .columns = { { "Node", "", true, 2.6 } }, .column_count = 1 };
  for (size_t n = 0; n < report->node_count; n++) {
    nodes[n] = job_roofline_of_node (report, n);
    known |= nodes[n].known;
  }
  for (size_t i = 0; known && i < ROOFLINE_COLUMNS; i++) {
    for (size_t n = 0; n < report->node_count; n++)
      values[n] = figure (&nodes[n], i);
    if (sheet_add_numbers (table, &roofline_columns[i].column, values, report->node_count))
      of[table->column_count - 1] = i;
  }
  sheet_begin (table, known ? report->node_count : 0);
  for (size_t n = 0; n < table->row_count; n++) {
    sheet_set (table, n, 0, report->nodes[n].name);
    for (size_t c = 1; c < table->column_count; c++)
      sheet_set_number (table, n, c, figure (&nodes[n], of[c]));
  }
  free (values);
  free (nodes);
}
