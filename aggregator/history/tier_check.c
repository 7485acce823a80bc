/* See tier_check.h. */
#include "aggregator/history/tier_check.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>

#include "aggregator/history/history_points_tier.h"
#include "aggregator/history/tier_codec.h"
#include "synop/clock.h"

static const char blocks[] = "SELECT data, tier, start, CASE WHEN metric THEN family || '.' || name ELSE 'all' END "
                             "FROM tier_blocks LEFT JOIN tier_metrics"
                             " ON tier_metrics.id = metric ORDER BY tier_blocks.id";
static const char staged[] = "SELECT data, 2, start, (SELECT name FROM nodes WHERE nodes.id = node) FROM tier_staged";

static const char parts[] = "SELECT data, 2, start, 'nodes' FROM tier_parts";

static void
take_nothing (void *context, const struct tier_series *series)
{
  (void) context;
  (void) series;
}

static void
check_row (struct tier_reader *reader, sqlite3_stmt *row, struct tier_check *check, void *context,
           void (*fault) (void *context, const char *text))
{
  static const char *const kinds[] = { "minutes", "hours", "what is staged" };
  uint64_t *const counts[] = { &check->minutes, &check->hours, &check->staged };
  unsigned kind = (unsigned) sqlite3_column_int (row, 1);
  const char *name = (const char *) sqlite3_column_text (row, 3);
  struct error why = { "" };
  char at[CLOCK_TEXT_SIZE];

  kind = kind < 2 ? kind : 2;
  ++*counts[kind];
  if (tier_reader_read (reader, sqlite3_column_blob (row, 0), (size_t) sqlite3_column_bytes (row, 0), 0, UINT32_MAX,
                        NULL, take_nothing, &why) == 0)
    return;
  clock_text (sqlite3_column_int64 (row, 2) * NS_PER_S, at);
  struct error text;
  error_set (&text, "%s of %s from %.16sZ: %s", kinds[kind], name ? name : "an unknown metric", at, why.text);
  fault (context, text.text);
}

static int
check_rows (struct history_file *file, const char *select, struct tier_reader *reader, struct tier_check *check,
            void *context, void (*fault) (void *context, const char *text), struct error *error)
{
  sqlite3_stmt *row = history_file_prepare (file, select, error);
  int code;

  if (!row)
    return -1;
  while ((code = sqlite3_step (row)) == SQLITE_ROW)
    check_row (reader, row, check, context, fault);
  if (code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_finalize (row);
  return code == SQLITE_DONE ? 0 : -1;
}

int
tier_check (struct history_file *file, struct tier_check *check, void *context,
            void (*fault) (void *context, const char *text), struct error *error)
{
  struct tier_reader *reader;
  int64_t number = 0;
  int result;

  *check = (struct tier_check){ 0 };
  if (!history_points_tier_has (file, "tier_blocks")) /* of an older version */
    return 0;
  reader = tier_reader_create ();
  result = check_rows (file, blocks, reader, check, context, fault, error);
  if (result == 0)
    result = check_rows (file, staged, reader, check, context, fault, error);
  if (result == 0 && history_points_tier_has (file, "tier_parts"))
    result = check_rows (file, parts, reader, check, context, fault, error);
  if (result == 0)
    result = history_file_number (file, "SELECT count (*) FROM unfolded", &number, error);
  check->unfolded = (uint64_t) number;
  tier_reader_destroy (reader);
  return result;
}
