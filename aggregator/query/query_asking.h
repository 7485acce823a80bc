/* A question that is being answered: what query_choice.c chooses, and query_answer.c reads and computes. */
#ifndef SYNOP_AGGREGATOR_QUERY_ASKING_H
#define SYNOP_AGGREGATOR_QUERY_ASKING_H

#include "aggregator/history/job_owners.h"
#include "aggregator/history/job_store.h"
#include "aggregator/query/query_private.h"

#define SOURCES 4 /* two operands, each of which may be derived of two metrics */

/* A metric that is read: what the expression needs of it. */
struct source {
  const struct catalog_entry *entry;
  const char *metric; /* the entry's own, or one that it is derived of */
  struct bucket_table table;
  const struct bucket *buckets; /* of the series whose values are made; NULL: it has none */
};

struct asking {
  struct history_file *file;
  const struct query *query;
  struct query_answer *answer;
  struct catalog catalog;
  struct expression expression;
  struct job_record job; /* label NULL: none is asked for */
  int64_t from_ns, to_ns, now_ns;
  struct plan plan;
  bool by_rows, combined;
  struct globs nodes, rows;
  struct job_owners *owners; /* NULL: the viewer sees all that is asked for */
  struct source sources[SOURCES];
  size_t source_count;
};

/* ---- query_choice.c: each as query_answer ---- */

/* The job: its time, where none is given. */
int asking_find_job (struct asking *asking, const char **key, struct error *error);
int asking_check_nodes (struct asking *asking, const char **key, struct error *error);
/* Of the job's nodes those that were chosen. */
int asking_take_job_nodes (struct asking *asking, const char **key, struct error *error);
/* Whether rows are series, and which. */
int asking_take_rows (struct asking *asking, const char **key, struct error *error);
int asking_check_combined (const struct asking *asking, const char **key, struct error *error);
int asking_check_rate (const struct asking *asking, const char **key, struct error *error);
/* Whose the rows are, where the viewer sees his own alone. */
int asking_take_owners (struct asking *asking, const char **key, struct error *error);
bool asking_shows (const struct asking *asking, const char *node, const char *row);

#endif
