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

/* What an operand is made of. NULL: of nothing, as a number; of one metric. */
struct operand_sources {
  struct source *of, *over;
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
  struct plan_tier tiers[HISTORY_TIERS];
  size_t series; /* that there will be, nearly; 0: few enough */
  bool more;     /* there were as many as that, and more */
  bool by_rows, combined;
  struct globs nodes, rows;
  struct job_owners *owners; /* NULL: the viewer sees all that is asked for */
  struct source sources[SOURCES];
  size_t source_count;
  struct operand_sources left, right;
};

/* ---- query_answer.c ---- */

/* The metric whose series are those of the answer, and how it is read. */
const struct source *asking_leading (const struct asking *asking);
struct points_query asking_points (const struct asking *asking, const struct source *source);

/* ---- query_steps.c: each as query_answer ---- */

/* The plan: what would be over the limit is refused, or has longer steps where nobody chose their length. */
int asking_choose_steps (struct asking *asking, const char **key, struct error *error);
/* There are more series than the plan was made for: it is made once more, for more of them. */
int asking_again (struct asking *asking, const char **key, struct error *error);
size_t asking_series_most (const struct asking *asking); /* with the steps of the plan */

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
