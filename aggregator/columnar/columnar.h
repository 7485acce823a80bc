/* Tables of columns as files that other programs read without parsing: Apache Parquet, and Apache Arrow's IPC file, which is
 * Feather version 2.
 *
 * A table is written as a stream: rows are gathered in a block, columns apart; a full block is encoded and compressed, and
 * in Parquet many of them make a row group. However long a table is, and however many are written at once, a pool keeps
 * what they hold in memory under a bound. Nothing is written twice and nothing is sought, so a sink may be anything.
 *
 * The formats: apache.org/parquet-format (README.md, Encodings.md, Compression.md, LogicalTypes.md, parquet.thrift) and
 * arrow.apache.org/docs/format/Columnar.html with Schema.fbs, Message.fbs, File.fbs. Each file here says which part of
 * these it follows. */
#ifndef SYNOP_AGGREGATOR_COLUMNAR_H
#define SYNOP_AGGREGATOR_COLUMNAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/error.h"

enum columnar_type {
  COLUMNAR_INT64,
  COLUMNAR_DOUBLE,
  COLUMNAR_BOOL,
  COLUMNAR_TEXT, /* UTF-8 */
  COLUMNAR_TIME, /* ns since 1970 in UTC */
  COLUMNAR_TYPES
};

struct columnar_column {
  const char *name; /* unique in its table */
  enum columnar_type type;
  bool
      label; /* texts of a set that stays small however long the table: Arrow keeps them in memory, and writes them once */
  const char *unit; /* "bytes"; "": none */
  const char *help; /* "": none */
};

/* One value of a row; zeroed: null. */
struct columnar_cell {
  bool known;
  uint32_t length; /* of a text */
  union {
    int64_t whole; /* INT64, TIME; BOOL: 0 or 1 */
    double real;
    const char *text;
  } as;
};

/* Takes the bytes of a file, one part behind the other. -1 and error end the table. */
struct columnar_sink {
  void *context;
  int (*put) (void *context, const void *bytes, size_t length, struct error *error);
};

struct columnar_form; /* one of these */
extern const struct columnar_form columnar_parquet, columnar_arrow;

/* Of the tables that are written at once. */
struct columnar_pool;
struct columnar_pool *columnar_pool_create (const struct columnar_form *form);
void columnar_pool_destroy (struct columnar_pool *pool); /* after its tables; NULL is fine */

/* What a table is; it is copied. */
struct columnar_plan {
  const char *name, *help;
  const struct columnar_column *columns;
  size_t column_count;
};

struct columnar;
struct columnar *columnar_create (struct columnar_pool *pool, const struct columnar_plan *plan,
                                  const struct columnar_sink *sink);
/* Adds a row: a cell for each column. It may write rows of other tables of the pool too. -1 and error: a sink failed; then
 * the table is to be destroyed. */
int columnar_add (struct columnar *table, const struct columnar_cell *cells, struct error *error);
/* Writes what is left, and the end of the file. */
int columnar_finish (struct columnar *table, struct error *error);
void columnar_destroy (struct columnar *table); /* NULL is fine */

#endif
