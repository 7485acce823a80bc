/* What the files of the tiers' store share: tier_store.c (metrics, what is staged), tier_tables.c (tables), tier_blocks.c
 * (blocks made and merged), tier_catch_up.c (chunks that were not folded), tier_look.c (damage), tier_repair.c (what was
 * damaged or lost), tier_trim.c (retention). */
#ifndef SYNOP_AGGREGATOR_TIER_STORE_PRIVATE_H
#define SYNOP_AGGREGATOR_TIER_STORE_PRIVATE_H

#include "aggregator/history/history_store_private.h"
#include "aggregator/history/tier_grid.h"
#include "aggregator/history/tier_store.h"
#include "synop/hash_table.h"

#define TIER_WAIT 600 /* s: how long chunks, and what is staged, wait for more of their batch */
#define TIER_WAIT_MOST 3600
#define TIER_CELLS_MAX (1 << 20) /* in memory at once, but for one that reaches it */

enum tier { TIER_MINUTES, TIER_HOURS };
#define TIER_ONE 1 /* any metric, in the key of blocks that have one each */

enum tier_statement {
  TIER_ADD_METRIC,
  TIER_FIND_MAP,
  TIER_ADD_MAP,
  TIER_STAGE,
  TIER_FOLDED,
  TIER_OLDEST_STAGED,
  TIER_STAGED_OF,
  TIER_DROP_STAGED,
  TIER_ADD_PART,
  TIER_OLDEST_PART,
  TIER_PARTS_OF_BATCH,
  TIER_DROP_PART,
  TIER_LAST_PART,
  TIER_ADD_BLOCK,
  TIER_UNMERGED,
  TIER_PARTS_OF,
  TIER_DROP_BLOCK,
  TIER_NEXT_UNFOLDED,
  TIER_UNFOLDED_OF,
  TIER_CHUNK,
  TIER_CHUNK_WITH,
  TIER_SCHEMA,
  TIER_OLD_BLOCKS,
  TIER_SIZES,
  TIER_OLDEST_BLOCKS,
  TIER_NEXT_BLOCKS,
  TIER_BLOCKS_OF,
  TIER_CHUNKS_OF,
  TIER_DROP_PARTS,
  TIER_WANT_REPAIR,
  TIER_NEXT_REPAIR,
  TIER_REPAIRED,
  TIER_DROP_MAPS,
  TIER_STATEMENTS
};

struct held_metric {
  UT_hash_handle hh;
  int64_t id;
  size_t length;
  char key[];
};

struct metric_owner {
  UT_hash_handle hh;
  int64_t node;
  size_t count;
};

struct held_map {
  UT_hash_handle hh;
  uint8_t hash[SCHEMA_HASH_SIZE];
  size_t count;
  int64_t ids[];
};

struct tier_schema {
  UT_hash_handle hh;
  uint8_t hash[SCHEMA_HASH_SIZE];
  struct schema *schema;
};

/* The chunk that was folded last, or an earlier one that this one needed. */
struct tier_before {
  struct chunk chunk;
  int64_t node; /* 0: there is none */
  uint64_t session, first, last;
};

/* What a chunk has of another hour. */
struct tier_piece {
  int64_t node;
  uint8_t hash[SCHEMA_HASH_SIZE];
  struct tier_staged staged;
};

/* Chunks of an hour and a batch that are folded. */
struct tier_catching {
  bool open;
  int64_t start, batch;
  int64_t *chunks;
  size_t count, capacity, at;
  struct tier_grid *grid;
  struct tier_piece *pieces;
  size_t piece_count, piece_capacity;
  int64_t marked, marks[TIER_WAIT_MOST / 60]; /* the last chunk that there was each minute */
};

/* Minutes of an hour that are made again. */
struct tier_repair {
  bool open, again; /* again: more of it was found damaged meanwhile */
  int64_t start, batch;
  int64_t first, last, end; /* metrics of this pass, and of all */
  int64_t *chunks;
  size_t count, capacity, at; /* of chunks */
  size_t section;             /* of the grid: those before it are written */
  struct tier_grid *grid;
  bool whole; /* its block is of all metrics */
};

struct tier_store {
  sqlite3_stmt *statements[TIER_STATEMENTS];
  struct tier_writer *writer;
  struct tier_reader *reader;
  struct tier_grid *grid, *hours;
  struct held_metric *metrics;
  struct metric_owner *owners;
  struct held_map *maps;
  struct tier_schema *schemas; /* for chunks that were not folded */
  struct tier_before before;
  struct tier_catching catching;
  struct buffer bytes;
  struct tier_counts counts;
  int64_t tidied; /* the hour in which maps were */
  int64_t looked; /* the last block that was looked at */
  struct tier_repair repair;
  size_t turn;       /* the kind of work that is next */
  size_t whole_most; /* cells of a batch in an hour, below which one block has all metrics: they fit into memory */
};

/* tier_store.c */
int tier_store_open (struct history_store *store, struct error *error); /* makes the tables too */
void tier_store_close (struct history_store *store);
int tier_run (struct history_store *store, enum tier_statement which, struct error *error); /* as history_store_run */
int tier_stage_row (struct history_store *store, int64_t node, const uint8_t hash[SCHEMA_HASH_SIZE],
                    const struct tier_staged *staged, struct error *error);
int tier_make_map (struct history_store *store, int64_t node, const struct tier_list *metrics, struct error *error);
const struct held_map *tier_map (struct history_store *store, const uint8_t hash[SCHEMA_HASH_SIZE]);
void tier_drop_maps (struct tier_store *tiers); /* from memory */
static inline int64_t
tier_batch (int64_t node)
{
  return node ? node / TIER_BATCH : -1;
}

/* tier_blocks.c */
struct block_key {
  enum tier tier;
  int64_t start, metric; /* 0: all metrics of the nodes and of their rows */
  bool rows;
  int64_t batch;
};

void tier_bind_key (sqlite3_stmt *statement, const struct block_key *key);
int tier_drop_row (struct history_store *store, enum tier_statement which, int64_t id, struct error *error);
/* Writes the grid as one block of all metrics if that of the key is 0, else each of its sections as a block, merged or as another
 * part; `time` is added to its times. */
int tier_add_blocks (struct history_store *store, struct tier_grid *grid, struct block_key key, bool merged,
                     uint32_t time, struct error *error);
/* Makes blocks of what is staged of an hour and batch and of its parts, until there is enough; each row is deleted. `over`: the
 * hour is, and blocks are merged if they are its first. 0: nothing was left. */
int tier_blocks_of_parts (struct history_store *store, int64_t start, int64_t batch, bool over, struct error *error);
/* Writes all of the grid, of minutes, as a part that waits until its hour is over. */
int tier_add_part (struct history_store *store, struct tier_grid *grid, int64_t start, int64_t batch,
                   struct error *error);
/* 1: there are blocks of that hour; `whole`: they are of all metrics together. Of an hour and a batch they are of one kind. */
int tier_has_blocks (struct history_store *store, int64_t start, int64_t batch, bool *whole, struct error *error);
bool
tier_grid_is_whole (const struct tier_grid *grid); /* there is room for all of it in memory: it becomes one block */
int tier_drop_parts (struct history_store *store, const struct block_key *key, struct error *error);

/* tier_tables.c */
int tier_make_tables (struct history_store *store, struct error *error);

/* tier_repair.c */
void tier_repair_reset (struct tier_store *tiers);
/* Notes that minutes are to be made again, of the metrics from `first` to `last`. */
int tier_want_repair (struct history_store *store, int64_t start, int64_t batch, int64_t first, int64_t last,
                      struct error *error);
/* Makes hours again from their minutes. */
int tier_repair_hours (struct history_store *store, const struct block_key *key, struct error *error);

/* tier_stored.c: folds a chunk as it is in the file. `other` (may be NULL) gets what it has of other hours than this one, and
 * may take the data. */
struct tier_stored {
  void *context;
  int64_t start;
  void (*series) (void *context, int64_t metric, int64_t node, const struct tier_series *series);
  void (*other) (void *context, int64_t node, const uint8_t hash[SCHEMA_HASH_SIZE], struct tier_staged *staged);
};
int tier_fold_stored (struct history_store *store, int64_t chunk, const struct tier_stored *into, struct error *error);

/* tier_catch_up.c */
void tier_catching_free (struct tier_catching *catching);

/* Bytes, as triggers keep them; and how many there may be. */
struct tier_sizes {
  int64_t all, hours, staged, room;
};
int tier_sizes_read (struct history_store *store, const struct tier_limits *limits, struct tier_sizes *sizes,
                     struct error *error);

/* Each does one step of its work: 1, there may be more; 0, there is none; -1. */
int tier_parts_make (struct history_store *store, int64_t now_s, struct error *error); /* of what is staged */
/* Of hours that are over; `now`: of any. */
int tier_blocks_make (struct history_store *store, int64_t now_s, bool now, struct error *error);
int tier_blocks_merge (struct history_store *store, int64_t now_s, struct error *error);
int tier_catch_up (struct history_store *store, int64_t now_s, struct error *error);
int tier_look (struct history_store *store, struct error *error); /* at some blocks, for damage */
int tier_repair (struct history_store *store, struct error *error);
int tier_trim (struct history_store *store, const struct tier_limits *limits, const struct tier_sizes *sizes,
               struct error *error);

#endif
