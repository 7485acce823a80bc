/* What is too old, or over the size, goes: see history_store.h. A little at a time, so that what is to be written waits no
 * longer than that takes.
 *
 * Rows that are deleted leave free pages in the file, which new rows use. Only when there are many of them, since nodes or
 * the limits became fewer, the file shrinks: then pages from its end are moved into the free ones, so many at a time. A
 * file that was made before it could do that goes on as it is. */
#include "aggregator/history_store_private.h"

#include <stdio.h>

#define TRIM_CHUNKS 64
#define TRIM_EVENTS 512
#define FREE_PART 16 /* of the file may be free pages */
#define FREE_MIN 256 /* pages that are always left */
#define TEXT_(number) #number
#define TEXT(number) TEXT_ (number)

struct usage {
  int64_t pages, unused, page_size;
};

static int
look (struct history_store *store, struct usage *usage, struct error *error)
{
  return history_store_select (store, "PRAGMA page_count", &usage->pages, error) < 0 ||
                 history_store_select (store, "PRAGMA freelist_count", &usage->unused, error) < 0 ||
                 history_store_select (store, "PRAGMA page_size", &usage->page_size, error) < 0
             ? -1
             : 0;
}

/* Runs a DELETE with one number in it; how many rows went, or -1. */
static int delete (struct history_store *store, const char *text, int64_t number, struct error *error)
{
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2 (store->database, text, -1, &statement, NULL);

  if (code == SQLITE_OK) {
    sqlite3_bind_int64 (statement, 1, number);
    code = sqlite3_step (statement);
  }
  if (code != SQLITE_DONE)
    history_store_fail (store, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? sqlite3_changes (store->database) : -1;
}

static const char old_events[] = "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE time < ? ORDER BY time "
                                 "LIMIT " TEXT (TRIM_EVENTS) ")";

/* 1: there may be more. */
static int
trim_age (struct history_store *store, int64_t before_ns, struct error *error)
{
  static const char old_chunks[] = "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks WHERE first_time < ?1 AND "
                                   "last_time < ?1 ORDER BY first_time LIMIT " TEXT (TRIM_CHUNKS) ")";
  int chunks = delete (store, old_chunks, before_ns, error), events = delete (store, old_events, before_ns, error),
      jobs = delete (store, history_jobs_old, before_ns, error);

  return chunks < 0 || events < 0 || jobs < 0 ? -1 : chunks == TRIM_CHUNKS || events == TRIM_EVENTS;
}

/* The oldest: events of before the first chunk, or else chunks. */
static int
trim_size (struct history_store *store, struct error *error)
{
  static const char oldest[] = "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks ORDER BY first_time LIMIT ?)";
  static const char first[] = "SELECT ifnull (min (first_time), 9223372036854775807) FROM chunks";
  int64_t first_ns;
  int rows;

  if (history_store_select (store, first, &first_ns, error) < 0)
    return -1;
  rows = delete (store, old_events, first_ns, error);
  if (rows == 0)
    rows = delete (store, oldest, TRIM_CHUNKS, error);
  return rows < 0 ? -1 : rows > 0;
}

int
history_store_trim (struct history_store *store, int64_t before_ns, uint64_t max_size, struct error *error)
{
  struct usage usage;
  int more = trim_age (store, before_ns, error);

  if (more < 0 || look (store, &usage, error) < 0)
    return -1;
  if ((uint64_t) (usage.pages - usage.unused) * (uint64_t) usage.page_size > max_size)
    more = trim_size (store, error);
  return more;
}

int
history_store_shrink (struct history_store *store, unsigned pages, struct error *error)
{
  struct usage usage;
  int64_t kind;
  char text[64];

  if (history_store_select (store, "PRAGMA auto_vacuum", &kind, error) < 0 || look (store, &usage, error) < 0)
    return -1;
  if (kind != 2 || usage.unused <= FREE_MIN || usage.unused <= usage.pages / FREE_PART)
    return 0;
  snprintf (text, sizeof text, "PRAGMA incremental_vacuum (%u)", pages);
  return history_store_execute (store, text, error);
}
