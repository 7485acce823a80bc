/* Which metrics there are; see query.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query_private.h"
#include "aggregator/report/job_words.h"
#include "synop/array.h"
#include "synop/memory.h"
#include "synop/schema.h"

int
catalog_read (struct catalog *catalog, struct history_file *file, struct error *error)
{
  struct points_metrics into = { catalog, catalog_add };

  *catalog = (struct catalog){ 0 };
  for (size_t tier = 0; tier < HISTORY_TIERS; tier++)
    if (history_points_metrics (file, (enum history_tier) tier, &into, error) < 0)
      return -1;
  return 0;
}

static void
add_entry (struct query_metrics *metrics, const struct catalog_entry *entry, const struct globs *wanted)
{
  char *name = memory_format ("%s.%s", entry->group, entry->name);

  if (entry->kind == TEXT || (!globs_match (wanted, name) && !globs_match (wanted, entry->name))) {
    free (name);
    return;
  }
  *array_add (metrics->list, metrics->count, metrics->room) =
      (struct query_metric){ .name = name,
                             .unit = memory_string (entry->unit),
                             .help = memory_string (entry->help),
                             .kind = entry->derived ? "derived" : metric_kind_name (entry->kind),
                             .rows = catalog_has_rows (entry),
                             .nodes = entry->nodes };
}

int
query_list (struct history_file *file, const char *globs, struct query_metrics *metrics, struct error *error)
{
  struct catalog catalog;
  struct globs wanted;
  int result;

  *metrics = (struct query_metrics){ 0 };
  globs_init (&wanted, globs ? globs : "");
  result = catalog_read (&catalog, file, error);
  for (size_t i = 0; i < catalog.count && result == 0; i++)
    add_entry (metrics, catalog.list[i], &wanted);
  catalog_free (&catalog);
  globs_free (&wanted);
  return result;
}

void
query_metrics_free (struct query_metrics *metrics)
{
  for (size_t i = 0; i < metrics->count; i++) {
    free (metrics->list[i].name);
    free (metrics->list[i].unit);
    free (metrics->list[i].help);
  }
  free (metrics->list);
  *metrics = (struct query_metrics){ 0 };
}

static size_t
longest (const struct query_metrics *metrics, bool unit)
{
  size_t most = unit ? strlen ("UNIT") : strlen ("METRIC");

  for (size_t i = 0; i < metrics->count; i++) {
    size_t length = strlen (unit ? metrics->list[i].unit : metrics->list[i].name);
    most = length > most ? length : most;
  }
  return most;
}

void
query_write_list (struct buffer *out, const struct query_metrics *metrics)
{
  int name = (int) longest (metrics, false), unit = (int) longest (metrics, true);

  buffer_printf (out, "%-*s  %-*s  %-7s  %5s  HELP\n", name, "METRIC", unit, "UNIT", "KIND", "NODES");
  for (size_t i = 0; i < metrics->count; i++) {
    const struct query_metric *metric = &metrics->list[i];
    buffer_printf (out, "%-*s  %-*s  %-7s  %5zu  ", name, metric->name, unit, *metric->unit ? metric->unit : "-",
                   metric->kind, metric->nodes);
    words_add (out, metric->help, SCHEMA_HELP_MAX);
    buffer_add_string (out, "\n");
  }
}
