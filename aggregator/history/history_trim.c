/* Deletes data that is too old or over the size: see history_store.h. Some at a time, so that data to be written waits
 * no longer than that takes.
 *
 * Deleted rows leave free pages in the file, which new rows use. Only when there are many of them, since nodes or
 * the limits became fewer, the file shrinks: then pages from its end are moved into free ones, some at a time. A
 * file of an older program, which was made without that ability, stays as it is. */
#include "aggregator/history/history_rooms.h"

#include <stdio.h>

#define FREE_PART 16 /* one in, of the pages: this part may be free */
#define FREE_MIN 256 /* pages that are always left free */

struct usage {
  int64_t pages, unused, page_size;
};

static int
read_usage (struct history_store *store, struct usage *usage, struct error *error)
{
  return history_store_select (store, "PRAGMA page_count", &usage->pages, error) < 0 ||
                 history_store_select (store, "PRAGMA freelist_count", &usage->unused, error) < 0 ||
                 history_store_select (store, "PRAGMA page_size", &usage->page_size, error) < 0
             ? -1
             : 0;
}

/* Runs a DELETE of rows from before that time; how many rows, or -1. */
static int
drop_old (struct history_store *store, enum statement which, int64_t before_ns, struct error *error)
{
  sqlite3_bind_int64 (store->statements[which], 1, before_ns);
  return history_store_run (store, which, NULL, error) < 0 ? -1 : sqlite3_changes (store->database);
}

/* Returns 1 if there may be more. */
static int
trim_age (struct history_store *store, int64_t before_ns, struct error *error)
{
  int chunks = drop_old (store, OLD_CHUNKS, before_ns, error), events = drop_old (store, OLD_EVENTS, before_ns, error),
      jobs = drop_old (store, OLD_JOBS, before_ns, error);

  return chunks < 0 || events < 0 || jobs < 0 ? -1 : chunks == TRIM_CHUNKS || events == TRIM_EVENTS;
}

int
history_store_trim (struct history_store *store, int64_t before_ns, uint64_t max_size, const struct history_cut *cut,
                    struct error *error)
{
  struct usage usage;
  int more = trim_age (store, before_ns, error);

  if (more != 0)
    return more;
  if (read_usage (store, &usage, error) < 0)
    return -1;
  return history_rooms_trim (store, max_size, (uint64_t) (usage.pages - usage.unused) * (uint64_t) usage.page_size, cut,
                             error);
}

int64_t
history_store_newest (struct history_store *store)
{
  int64_t newest = 0;

  history_store_select (store,
                        "SELECT max (ifnull ((SELECT max (first_time) FROM chunks), 0),"
                        " ifnull ((SELECT max (time) FROM events), 0))",
                        &newest, NULL);
  return newest;
}

int
history_store_shrink (struct history_store *store, unsigned pages, struct error *error)
{
  struct usage usage;
  int64_t kind;
  char text[64];

  if (history_store_select (store, "PRAGMA auto_vacuum", &kind, error) < 0 || read_usage (store, &usage, error) < 0)
    return -1;
  if (kind != 2 || usage.unused <= FREE_MIN || usage.unused <= usage.pages / FREE_PART)
    return 0;
  snprintf (text, sizeof text, "PRAGMA incremental_vacuum (%u)", pages);
  return history_store_execute (store, text, error);
}
