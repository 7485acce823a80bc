/* What a child that should be neuron-monitor may say: any lines, one after the other. */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/neuron/neuron_report.h"
#include "synop/clock.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
look (const struct neuron_reports *reports, int64_t now_ns)
{
  for (int kind = 0; kind < NEURON_KINDS; kind++) {
    struct table table;

    table_init (&table, &neuron_groups[kind]);
    neuron_reports_fill (reports, (enum neuron_kind) kind, now_ns, &table);
    for (size_t row = 0; row < table.rows; row++) {
      size_t length;

      if (table_label (&table, row, &length) == NULL || length > TABLE_LABEL_MAX)
        abort ();
    }
    table_free (&table);
  }
  if (reports->patience_ns < 0)
    abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const char *at = (const char *) data, *end = at + size;
  struct neuron_reports reports = { 0 };
  struct error error;
  int64_t now_ns = NS_PER_S;

  while (at < end) {
    const char *newline = memchr (at, '\n', (size_t) (end - at)), *last = newline ? newline : end;
    json_t *report = neuron_report_parse (at, (size_t) (last - at), &error);

    if (report)
      neuron_reports_take (&reports, report, now_ns, &error);
    json_decref (report);
    look (&reports, now_ns);
    now_ns += NS_PER_S / 2;
    at = last + 1;
  }
  neuron_reports_free (&reports);
  return 0;
}
