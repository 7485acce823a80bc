/* What the files of the values of this instant share: now_metric.c (which column of which schema; a node's value),
 * now_question.c (words), now_line.c (JSON), now.c (who watches). */
#ifndef SYNOP_AGGREGATOR_NOW_PRIVATE_H
#define SYNOP_AGGREGATOR_NOW_PRIVATE_H

#include <stdbool.h>

#include "aggregator/core/node.h"
#include "aggregator/now/now.h"
#include "aggregator/query/query_names.h"
#include "synop/globs.h"
#include "synop/hash_table.h"
#include "synop/json.h"

#define SLOTS (NOW_WATCHED_MAX + NOW_METRICS_MAX) /* those watched, and those of one question more */
#define OPERANDS 2

/* A metric of a question; shared while it is watched. */
struct now_metric {
  size_t users; /* 0: the slot is free */
  uint64_t id;  /* never used before */
  char *text;   /* as it was asked for */
  struct expression expression;
  char *name, *unit;
  enum query_shows shows;
  bool rows;      /* nodes have rows of it alone */
  bool of_users;  /* values of it are of users, */
  bool by_owner;  /* and so are the rows that lead, and all else in it */
  size_t hint;    /* where the row of the expression was found last */
  double *values; /* of each listed node, by its place; NULL: nobody watches */
};

/* Where an operand's values are in a node's tables. */
struct now_place {
  int16_t group; /* -1: the schema has none */
  int16_t of, over;
};

/* A schema that nodes have, and where it has the metrics of the slots. */
struct now_schema {
  uint8_t hash[SCHEMA_HASH_SIZE];
  UT_hash_handle hh;
  struct {
    uint64_t id; /* of the metric; another: not looked up yet */
    struct now_place places[OPERANDS];
  } slots[SLOTS];
};

struct now_question {
  struct now_question *next, **place;
  size_t readers;
  char *key; /* its words, behind who asks where he sees his own alone */
  struct viewer viewer;
  size_t metrics[NOW_METRICS_MAX];
  size_t count; /* slots of these */
  struct globs nodes, rows;
  bool by_rows, levels, bottom;
  size_t top;      /* 0: all */
  uint64_t listed; /* `chosen` is of that list of the cluster; */
  uint32_t *chosen;
  size_t chosen_count;        /* places of nodes, in natural order of their names */
  bool failed;                /* of its rows there were too many */
  uint64_t list;              /* a number that stands for their names */
  struct line *plain, *whole; /* of the current tick: without and with the names; NULL: not made */
};

struct now_reader {
  struct now *now;
  struct now_reader *next, **place;
  struct now_question *question;
  struct outlet *outlet;
  uint64_t list;  /* the names that it has */
  bool fed, over; /* it got a line just now; it got the last one */
  void (*ready) (void *context);
  void *context;
};

struct now {
  const struct cluster *cluster;
  struct catalog catalog;
  struct now_schema *schemas, *last; /* by hash; the last that was found */
  struct now_metric metrics[SLOTS];
  uint64_t ids;
  uint64_t listed; /* the cluster's list that these are of: */
  uint32_t *order; /* its nodes, in natural order of their names */
  char *states;    /* as a line has them */
  double *found;   /* the values of one metric */
  struct now_question *questions;
  struct now_reader *readers;
  size_t reader_count, watched;
  uint64_t skipped;
  bool due, ticked;
  int64_t idle_ns, idle_most_ns; /* when polls last saw a tick; so long after it lines are due without one */
  int64_t time_ns;               /* of the lines that are due */
  int64_t left_ns, left_at_ns;   /* time that answers may take, as of when */
};

/* ---- now_metric.c ---- */

/* Finds the metric's slot, or takes one. `watched`: its values are kept. -1 and error. */
int now_metric_take (struct now *now, const char *text, bool watched, size_t *slot, struct error *error);
void now_metric_leave (struct now *now, size_t slot);
void now_metrics_list (struct now *now); /* the cluster's list is another */
/* Schemas that were not seen before bring their metrics. */
void now_schemas_see (struct now *now);
void now_schemas_free (struct now *now);

/* A row of a node: where it may be is where it was in another table. */
struct now_row {
  const char *label;
  size_t length, hint;
};
/* Of its last frame, whatever its state is. NaN: it has none. `row` NULL: of the node as a whole. `searched` is 0 before the
 * first of a node's values: it bounds the search for rows in all of them together. */
double now_value (struct now *now, struct now_metric *metric, const struct node *node, struct now_row *row,
                  size_t *searched);
/* May the viewer see a value of the node as a whole, or of its row? `table`: whose rows are the metric's. */
bool now_sees (const struct viewer *viewer, const struct now_metric *metric, const struct node *node,
               const struct table *table, const struct now_row *row);
/* The table whose rows are the metric's; NULL: the node has none. */
const struct table *now_rows (struct now *now, const struct now_metric *metric, const struct node *node);

/* ---- now_question.c ---- */

/* NULL and error. A question that is watched is shared. */
struct now_question *now_question_take (struct now *now, const struct viewer *viewer, char *words, bool watched,
                                        struct error *error);
void now_question_free (struct now *now, struct now_question *question);
void now_question_link (struct now *now, struct now_question *question); /* as the last of those that are watched */
void now_question_unlink (struct now_question *question);
void now_question_choose (struct now *now, struct now_question *question); /* its nodes, if the list is another */
void now_list (struct now *now);                                           /* sees to the cluster's list */

/* ---- now_line.c ---- */

/* -1 and error: it is of too many rows. */
int now_write (struct now *now, const struct now_question *question, int64_t time_ns, bool names, struct json *json,
               struct error *error);

#endif
