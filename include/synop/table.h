/* One sample of one group: rows are instances, columns are the group's metrics.
 *
 * Used by the agent (filled by samplers) and by the aggregator (filled from frames). A table keeps its memory when it
 * is begun again, so that a sampler allocates nothing once its rows are known. */
#ifndef SYNOP_TABLE_H
#define SYNOP_TABLE_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/metric.h"

enum value_type { VALUE_MISSING, VALUE_UINT, VALUE_INT, VALUE_REAL, VALUE_TEXT };

struct value {
  enum value_type type;
  uint32_t length; /* of a text */
  union {
    uint64_t u;
    int64_t i;
    double d;
    size_t offset; /* of a text, in table.text */
  } as;
};

/* Of a number. */
static inline double
value_number (const struct value *value)
{
  switch (value->type) {
  case VALUE_UINT:
    return (double) value->as.u;
  case VALUE_INT:
    return (double) value->as.i;
  default:
    return value->as.d;
  }
}

/* Of any value: NaN where there is none, and for a text. */
static inline double
value_double (const struct value *value)
{
  return value->type == VALUE_MISSING || value->type == VALUE_TEXT ? (double) NAN : value_number (value);
}

/* Of two numbers. Integers of 64 bits are compared as such. */
static inline bool
value_less (const struct value *one, const struct value *other)
{
  if (one->type == VALUE_UINT && other->type == VALUE_UINT)
    return one->as.u < other->as.u;
  if (one->type != VALUE_REAL && other->type != VALUE_REAL) {
    bool one_below = one->type == VALUE_INT && one->as.i < 0, other_below = other->type == VALUE_INT && other->as.i < 0;
    return one_below != other_below ? one_below : one->as.u < other->as.u; /* below 0 the bits order as the values do */
  }
  return value_number (one) < value_number (other);
}

struct table_label {
  uint32_t offset, length;
};

struct table_text {
  char *data; /* owned */
  size_t length, capacity;
};

struct table {
  const struct group *group; /* not owned */
  int64_t monotonic_ns;      /* when it was sampled, on the node's CLOCK_MONOTONIC */
  uint64_t sequence;         /* of the frame that it was read from; 0: of none */
  size_t offset, length;     /* of its bytes in that frame */
  int64_t period_ns;         /* nominal period of the group */
  int64_t took_ns;           /* for the agent: how long the sample took */
  size_t rows;               /* 0 for a group without rows */
  /* Private, up to `error`: use the functions. */
  struct value *node;         /* metric_count values, used where METRIC_OF_NODE */
  struct value *cells;        /* row-major: rows * metric_count */
  struct table_label *labels; /* in names */
  size_t node_count;          /* of `node`: up to the last METRIC_OF_NODE; later ones are not used */
  size_t row_capacity;
  size_t known;           /* labels that are there: those from `rows` on are of the sample before */
  struct label_set *seen; /* those of `rows`; NULL: they are as they were in the sample before, so each is there once */
  struct table_text names, text; /* labels; text values */
  unsigned complaints;           /* after the first */
  size_t first_length;           /* of the first one in `error` */
  char error[160];               /* "" when fine; else why the values are missing or old */
};

void table_init (struct table *table, const struct group *group);
void table_free (struct table *table);

/* Empties the table: no rows, all values missing, no error; the group stays, and the memory unless it was far more than
 * the table needed. */
void table_begin (struct table *table);
size_t table_bytes (const struct table *table); /* memory that it holds */

/* Prefetches a table that will be used soon, and was not for long, while other work is done. It may be all zeros. */
static inline void
table_expect (const struct table *table)
{
  __builtin_prefetch (&table->names);
  __builtin_prefetch (table->error);
  __builtin_prefetch (table->node);
  __builtin_prefetch (table->cells);
  __builtin_prefetch (table->labels);
  __builtin_prefetch (table->names.data);
}

/* Says in `error` why a value is missing: the fault, and the file. The first complaint of a sample stays; later ones
 * are counted: "... (and 3 more)". Returns -1. */
int table_complain (struct table *table, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
bool table_has_values (const struct table *table); /* a row, or a value of the node */
/* Can the next sample's counters be compared with these? Not with a table whose error explains that it has no values
 * at all: the table before it is kept then. If the error is about some values, the others can be compared. */
bool table_is_comparable (const struct table *table);

#define TABLE_ROWS_MAX 65536
#define TABLE_LABEL_MAX 255
#define TABLE_TEXT_MAX 4096

/* Adds a row with all values missing; returns its index. Labels are the keys of the rows: invalid UTF-8 and labels
 * over TABLE_LABEL_MAX bytes are replaced by valid ones (common/data/labels.h). A row whose label exists already,
 * and rows over TABLE_ROWS_MAX, are left out: returns SIZE_MAX and sets error. */
size_t table_add_row (struct table *table, const char *label, size_t label_length);
const char *table_label (const struct table *table, size_t row, size_t *length);             /* not NUL-terminated */
bool table_row_is (const struct table *table, size_t row, const char *label, size_t length); /* has it that label? */
/* The row with that label, looked for first at `hint` (rows rarely move); SIZE_MAX when there is none. */
size_t table_find_row (const struct table *table, const char *label, size_t length, size_t hint);

#define TABLE_NODE SIZE_MAX /* as `row`: the value of the node */
/* A row's values, one for each metric; valid until a row is added. */
static inline struct value *
table_cells (const struct table *table, size_t row)
{
  if (row == TABLE_NODE)
    return table->node;
  assert (row < table->rows);
  return table->cells + row * table->group->metric_count;
}
static inline struct value *
table_value (struct table *table, size_t row, size_t column)
{
  assert (column < table->group->metric_count);
  return table_cells (table, row) + column;
}
static inline const struct value *
table_get (const struct table *table, size_t row, size_t column)
{
  return table_value ((struct table *) table, row, column);
}
void table_set_uint (struct table *table, size_t row, size_t column, uint64_t value);
void table_set_int (struct table *table, size_t row, size_t column, int64_t value);
void table_set_real (struct table *table, size_t row, size_t column, double value); /* NaN: missing */
void table_set_text (struct table *table, size_t row, size_t column, const char *text, size_t length);
void table_set_string (struct table *table, size_t row, size_t column, const char *text); /* NULL, "": left missing */
struct value table_keep_text (struct table *table, const char *text,
                              size_t length); /* the value of that text in this table */
const char *table_text (const struct table *table, const struct value *value, size_t *length);

void table_copy (struct table *to, const struct table *from);
/* Some of its rows, and no value of the node. The copy is to be read, and not begun again. */
void table_copy_rows (struct table *to, const struct table *from, const bool *keep);
void table_swap (struct table *one, struct table *other);

#endif
