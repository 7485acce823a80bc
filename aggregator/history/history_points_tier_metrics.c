/* See history_points_tier.h: which metrics the tiers have. Both have the same, of which nobody counts the nodes. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_points_tier.h"
#include "synop/array.h"
#include "synop/memory.h"

/* The metrics of a group, which come one behind the other. */
struct family {
  struct group group;
  struct metric *metrics;
  size_t count, room;
};

static char *
column_text (sqlite3_stmt *statement, int column)
{
  const char *text = (const char *) sqlite3_column_text (statement, column);

  return memory_string (text ? text : "");
}

static void
give_family (struct family *family, const struct points_metrics *into)
{
  family->group.metrics = family->metrics;
  family->group.metric_count = family->count;
  for (size_t i = 0; i < family->count; i++)
    into->metric (into->context, &family->group, &family->metrics[i], 0);
  for (size_t i = 0; i < family->count; i++) {
    free ((char *) family->metrics[i].name);
    free ((char *) family->metrics[i].help);
  }
  free ((char *) family->group.name);
  free ((char *) family->group.section);
  family->count = 0;
  family->group = (struct group){ 0 };
}

static void
take_metric (struct family *family, sqlite3_stmt *statement, const struct points_metrics *into)
{
  char *section = column_text (statement, 0), *name = column_text (statement, 1);

  if (family->count && (strcmp (family->group.name, name) != 0 || strcmp (family->group.section, section) != 0))
    give_family (family, into);
  if (family->count) {
    free (section);
    free (name);
  } else {
    family->group =
        (struct group){ .name = name, .section = section, .row = "", .rows_name = "", .fold_name = "", .help = "" };
  }
  *array_add (family->metrics, family->count, family->room) =
      (struct metric){ .name = column_text (statement, 2),
                       .kind = (enum metric_kind) sqlite3_column_int (statement, 3),
                       .unit = (enum metric_unit) sqlite3_column_int (statement, 4),
                       .fold = (enum metric_fold) sqlite3_column_int (statement, 5),
                       .flags = (uint32_t) sqlite3_column_int64 (statement, 6),
                       .help = column_text (statement, 7) };
}

int
history_points_tier_metrics (struct history_file *file, enum history_tier tier, const struct points_metrics *into,
                             struct error *error)
{
  struct family family = { 0 };
  sqlite3_stmt *statement;
  int code;

  if (tier == HISTORY_HOURS)
    return 0;
  statement = history_file_prepare (file,
                                    "SELECT section, family, name, kind, unit, fold, flags, help FROM tier_metrics"
                                    " ORDER BY section, family, id",
                                    NULL);
  if (!statement) /* a file of an older version */
    return 0;
  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    take_metric (&family, statement, into);
  give_family (&family, into);
  free (family.metrics);
  if (code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}
