/* The tables of the tiers (tier_store.h): made in a new file or one of an older version; and made again where one was lost,
 * with all that the frames have. */
#include <stdio.h>

#include "aggregator/history/tier_store_private.h"
#include "synop/log.h"

#define ROW "100" /* bytes that a row takes beside its data, with its indexes */
#define HOUR "3600000000000"
#define TABLES 5

static const char layout[] =
    "CREATE TABLE IF NOT EXISTS tier_metrics (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, section TEXT NOT NULL,"
    " family TEXT NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL, unit INTEGER NOT NULL, fold INTEGER NOT NULL,"
    " flags INTEGER NOT NULL, times INTEGER NOT NULL, per INTEGER NOT NULL, help TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS tier_metrics_name ON tier_metrics (family, name);"
    "CREATE TABLE IF NOT EXISTS tier_maps (hash BLOB PRIMARY KEY, ids BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS tier_staged (id INTEGER PRIMARY KEY, start INTEGER NOT NULL, batch INTEGER NOT NULL,"
    " node INTEGER NOT NULL, at INTEGER NOT NULL, map BLOB NOT NULL, data BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS tier_staged_start ON tier_staged (start, batch, node);"
    "CREATE TABLE IF NOT EXISTS tier_blocks (id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, start INTEGER NOT NULL,"
    " metric INTEGER NOT NULL, rows INTEGER NOT NULL, batch INTEGER NOT NULL, part INTEGER NOT NULL,"
    " data BLOB NOT NULL);"
    "CREATE UNIQUE INDEX IF NOT EXISTS tier_blocks_key ON tier_blocks (tier, start, metric, rows, batch, part);"
    "CREATE INDEX IF NOT EXISTS tier_blocks_unmerged ON tier_blocks (tier, start, metric, rows, batch) WHERE part > 0;"
    "CREATE TABLE IF NOT EXISTS tier_parts (id INTEGER PRIMARY KEY, start INTEGER NOT NULL, batch INTEGER NOT NULL,"
    " data BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS tier_parts_start ON tier_parts (start, batch);"
    "CREATE TRIGGER IF NOT EXISTS tier_part_added AFTER INSERT ON tier_parts BEGIN"
    " INSERT INTO uses VALUES ('tiers', 2, length (new.data) + " ROW ", 0)"
    " ON CONFLICT (room, owner) DO UPDATE SET bytes = bytes + excluded.bytes; END;"
    "CREATE TRIGGER IF NOT EXISTS tier_part_deleted AFTER DELETE ON tier_parts BEGIN"
    " UPDATE uses SET bytes = bytes - length (old.data) - " ROW " WHERE room = 'tiers' AND owner = 2;"
    " DELETE FROM uses WHERE room = 'tiers' AND bytes <= 0; END;"
    "CREATE TABLE IF NOT EXISTS tier_repairs (start INTEGER, batch INTEGER, first INTEGER NOT NULL, last INTEGER NOT "
    "NULL,"
    " PRIMARY KEY (start, batch)) WITHOUT ROWID;"
    "CREATE TRIGGER IF NOT EXISTS tier_staged_added AFTER INSERT ON tier_staged BEGIN"
    " INSERT INTO uses VALUES ('tiers', 2, length (new.data) + " ROW ", 0)"
    " ON CONFLICT (room, owner) DO UPDATE SET bytes = bytes + excluded.bytes; END;"
    "CREATE TRIGGER IF NOT EXISTS tier_staged_deleted AFTER DELETE ON tier_staged BEGIN"
    " UPDATE uses SET bytes = bytes - length (old.data) - " ROW " WHERE room = 'tiers' AND owner = 2;"
    " DELETE FROM uses WHERE room = 'tiers' AND bytes <= 0; END;"
    "CREATE TRIGGER IF NOT EXISTS tier_block_added AFTER INSERT ON tier_blocks BEGIN"
    " INSERT INTO uses VALUES ('tiers', new.tier, length (new.data) + " ROW ", 0)"
    " ON CONFLICT (room, owner) DO UPDATE SET bytes = bytes + excluded.bytes; END;"
    "CREATE TRIGGER IF NOT EXISTS tier_block_deleted AFTER DELETE ON tier_blocks BEGIN"
    " UPDATE uses SET bytes = bytes - length (old.data) - " ROW " WHERE room = 'tiers' AND owner = old.tier;"
    " DELETE FROM uses WHERE room = 'tiers' AND bytes <= 0; END;";

/* Whoever writes chunks, an older version too, notes them here. */
static const char unfolded_layout[] =
    "DROP TRIGGER IF EXISTS chunk_unfolded; DROP TRIGGER IF EXISTS chunk_gone;"
    "CREATE TABLE unfolded (chunk INTEGER PRIMARY KEY, time INTEGER NOT NULL);"
    "CREATE INDEX unfolded_time ON unfolded (time);"
    "CREATE TRIGGER chunk_unfolded AFTER INSERT ON chunks WHEN new.node > 0 BEGIN"
    " INSERT INTO unfolded VALUES (new.id, new.first_time); END;"
    "CREATE TRIGGER chunk_gone AFTER DELETE ON chunks BEGIN DELETE FROM unfolded WHERE chunk = old.id; END;";

static const char all_unfolded[] = "DELETE FROM tier_parts; DELETE FROM tier_repairs;"
                                   "INSERT INTO unfolded SELECT id, first_time FROM chunks WHERE node > 0";

/* Every hour that chunks begin in, and the one behind it, of every batch. */
static const char all_repairs[] =
    "WITH RECURSIVE hours (start) AS (SELECT min (first_time) / " HOUR " FROM chunks UNION ALL"
    " SELECT (SELECT min (first_time) / " HOUR " FROM chunks WHERE first_time >= (start + 1) * " HOUR ") FROM hours"
    " WHERE start IS NOT NULL)"
    " INSERT OR REPLACE INTO tier_repairs SELECT hour * 3600, batch, 1, 65536 FROM"
    " (SELECT start AS hour FROM hours WHERE start IS NOT NULL UNION SELECT start + 1 FROM hours WHERE start IS NOT "
    "NULL),"
    " (SELECT DISTINCT id / 16 AS batch FROM nodes)";

static const char all_uses[] =
    "DELETE FROM uses WHERE room = 'tiers';"
    "INSERT INTO uses SELECT 'tiers', tier, sum (length (data) + " ROW "), 0 FROM tier_blocks GROUP BY tier;"
    "INSERT INTO uses SELECT 'tiers', 2, sum (length (data) + " ROW "), 0 FROM (SELECT data FROM tier_staged UNION ALL"
    " SELECT data FROM tier_parts) HAVING count (*) > 0";

static int
has_table (struct history_store *store, const char *name, bool *has, struct error *error)
{
  int64_t count = 0;
  char text[128];
  int result;

  snprintf (text, sizeof text, "SELECT count (*) FROM sqlite_master WHERE type = 'table' AND name = '%s'", name);
  result = history_store_select (store, text, &count, error);
  *has = count;
  return result;
}

/* What is left of the others is kept where it can be read without those that are lost. */
static int
make_again (struct history_store *store, bool metrics, bool maps, struct error *error)
{
  log_warning ("%s: tables of minutes and hours were lost; they are made again of the frames", store->path);
  if (!metrics && history_store_execute (
                      store, "DELETE FROM tier_blocks; DELETE FROM tier_parts; DELETE FROM tier_maps", error) < 0)
    return -1;
  if ((!metrics || !maps) && history_store_execute (store, "DELETE FROM tier_staged", error) < 0)
    return -1;
  return history_store_execute (store, all_uses, error) < 0 ? -1 : history_store_execute (store, all_repairs, error);
}

int
tier_make_tables (struct history_store *store, struct error *error)
{
  static const char *const names[TABLES] = { "tier_metrics", "tier_maps", "tier_staged", "tier_blocks", "unfolded" };
  enum { METRICS, MAPS, STAGED, BLOCKS, UNFOLDED };
  bool has[TABLES], repairs, parts, lost;
  size_t count = 0;

  for (size_t i = 0; i < TABLES; i++) {
    if (has_table (store, names[i], &has[i], error) < 0)
      return -1;
    count += has[i];
  }
  if (has_table (store, "tier_repairs", &repairs, error) < 0 || has_table (store, "tier_parts", &parts, error) < 0)
    return -1;
  lost = count > 0 && (count < TABLES || (repairs && !parts)); /* an older version had neither of the two */
  if (history_store_execute (store, layout, error) < 0 ||
      (!has[UNFOLDED] && history_store_execute (store, unfolded_layout, error) < 0) ||
      (count == 0 && history_store_execute (store, all_unfolded, error) < 0) ||
      (lost && make_again (store, has[METRICS], has[MAPS], error) < 0))
    return -1;
  return history_store_execute (store, "PRAGMA user_version = 2", error);
}
