/* Events of a history (history_file.h). Their rows are listed first, 8 bytes each, and then read a few at a time: so
 * no statement is open between two reads, and a long interval is sorted once. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_file.h"
#include "synop/array.h"
#include "synop/memory.h"

enum column { ROW, NUMBER, TIME, NODE, TYPE, LINE, SUM };
#define BY_ID "LEFT JOIN nodes ON nodes.id = node WHERE events.id = ?"

int
history_file_event_list (struct history_file *file, int64_t from_ns, int64_t to_ns, const char *type,
                         struct event_list *list, struct error *error)
{
  sqlite3_stmt *statement = history_file_prepare (
      file, "SELECT id FROM events WHERE time >= ?1 AND time < ?2 AND (?3 IS NULL OR type = ?3) ORDER BY number, id",
      error);
  int code;

  if (!statement)
    return -1;
  sqlite3_bind_int64 (statement, 1, from_ns);
  sqlite3_bind_int64 (statement, 2, to_ns);
  sqlite3_bind_text (statement, 3, type, -1, SQLITE_STATIC);
  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    *array_add (list->rows, list->count, list->capacity) = sqlite3_column_int64 (statement, 0);
  if (code != SQLITE_DONE)
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? 0 : -1;
}

/* Does it look like one object and the end of a line? The text is not parsed. */
static bool
is_line (const char *text, size_t length)
{
  if (length < 3 || text[0] != '{' || memcmp (text + length - 2, "}\n", 2) != 0)
    return false;
  for (size_t i = 0; i < length - 1; i++)
    if ((unsigned char) text[i] < ' ')
      return false;
  return true;
}

/* Is the row intact? In a file of an older program, without sums, only the line can be checked. */
static bool
is_whole (sqlite3_stmt *statement, const struct stored_event *event)
{
  if (sqlite3_column_type (statement, SUM) == SQLITE_NULL)
    return is_line (event->line, event->length);
  return sqlite3_column_int64 (statement, SUM) ==
         history_event_sum (event->number, event->time_ns, event->node, event->type, event->line, event->length);
}

static struct stored_event
event_of (sqlite3_stmt *statement)
{
  const char *line = (const char *) sqlite3_column_text (statement, LINE);
  size_t length = (size_t) sqlite3_column_bytes (statement, LINE);
  const char *type = (const char *) sqlite3_column_text (statement, TYPE);
  struct stored_event event = { .row = sqlite3_column_int64 (statement, ROW),
                                .number = sqlite3_column_int64 (statement, NUMBER),
                                .time_ns = sqlite3_column_int64 (statement, TIME),
                                .node = memory_string ((const char *) sqlite3_column_text (statement, NODE)),
                                .type = memory_string (type ? type : ""),
                                .line = memory_copy (line ? line : "", length),
                                .length = length };

  event.broken = !is_whole (statement, &event);
  return event;
}

/* A history of an older program has no sums. */
static sqlite3_stmt *
prepare_event (struct history_file *file, struct error *error)
{
  int64_t sums;

  if (history_file_number (file, "SELECT count (*) FROM pragma_table_info ('events') WHERE name = 'sum'", &sums,
                           error) < 0)
    return NULL;
  return history_file_prepare (file,
                               sums ? "SELECT events.id, number, time, name, type, line, sum FROM events " BY_ID
                                    : "SELECT events.id, number, time, name, type, line, NULL FROM events " BY_ID,
                               error);
}

int
history_file_events (struct history_file *file, const int64_t *rows, size_t count, struct stored_event *events,
                     struct error *error)
{
  sqlite3_stmt *statement = prepare_event (file, error);
  int code = SQLITE_DONE, found = 0;

  if (!statement)
    return -1;
  for (size_t i = 0; i < count && (code == SQLITE_DONE || code == SQLITE_ROW); i++) {
    sqlite3_bind_int64 (statement, 1, rows[i]);
    code = sqlite3_step (statement);
    if (code == SQLITE_ROW)
      events[found++] = event_of (statement);
    else if (code != SQLITE_DONE)
      history_file_fail (file, error);
    sqlite3_reset (statement);
  }
  sqlite3_finalize (statement);
  if (code == SQLITE_DONE || code == SQLITE_ROW)
    return found;
  while (found)
    stored_event_free (&events[--found]);
  return -1;
}

void
stored_event_free (struct stored_event *event)
{
  free (event->node);
  free (event->type);
  free (event->line);
}

int
history_file_nodes_gone (struct history_file *file, int64_t *row, int64_t until_ns, void *context,
                         void (*gone) (void *context, const char *node, int64_t time_ns), struct error *error)
{
  static const char select[] = "SELECT events.id, time, name, type IN ('node_down', 'node_revoked') FROM events "
                               "LEFT JOIN nodes ON nodes.id = node WHERE events.id > ? ORDER BY events.id LIMIT 256";
  sqlite3_stmt *statement = history_file_prepare (file, select, error);
  int code;

  if (!statement)
    return -1;
  sqlite3_bind_int64 (statement, 1, *row);
  while ((code = sqlite3_step (statement)) == SQLITE_ROW && sqlite3_column_int64 (statement, 1) <= until_ns) {
    const char *node = (const char *) sqlite3_column_text (statement, 2);
    if (node && sqlite3_column_int (statement, 3))
      gone (context, node, sqlite3_column_int64 (statement, 1));
    *row = sqlite3_column_int64 (statement, 0);
  }
  if (code != SQLITE_DONE && code != SQLITE_ROW)
    history_file_fail (file, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE || code == SQLITE_ROW ? 0 : -1;
}
