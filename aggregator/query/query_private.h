/* What the files of a question and its answer share. */
#ifndef SYNOP_AGGREGATOR_QUERY_PRIVATE_H
#define SYNOP_AGGREGATOR_QUERY_PRIVATE_H

#include "aggregator/query/query.h"
#include "aggregator/query/query_names.h"
#include "synop/hash_table.h"

extern const char *const query_fold_names[]; /* as enum query_fold; "" of QUERY_EACH */
extern const char *const query_tier_names[]; /* as enum history_tier: "frames", "minutes", "hours" */

/* ---- query_list.c ---- */

int catalog_read (struct catalog *catalog, struct history_file *file, struct error *error);

/* ---- query_plan.c: steps, and where they come from ---- */

struct plan_tier {
  bool there;
  int64_t from_ns, to_ns; /* what it reaches over */
};

struct plan {
  int64_t from_ns, to_ns, step_ns; /* in whole steps */
  size_t steps;
  struct query_piece *pieces;
  size_t count, room;
  bool wider; /* the step is longer than was asked for, since no tier that reaches has shorter ones */
};

extern const int64_t plan_spans[HISTORY_TIERS]; /* of a point: 0, a minute, an hour */

/* `step_ns` 0: one is chosen with which there are about as many steps as `wanted`, or fewer. -1 and error: too many steps;
 * `offset_ns`: local time less UTC, where days begin. */
int plan_make (struct plan *plan, int64_t from_ns, int64_t to_ns, int64_t step_ns, size_t wanted, int64_t offset_ns,
               const struct plan_tier tiers[HISTORY_TIERS], struct error *error);

/* ---- query_buckets.c: points into steps ---- */

struct bucket {
  uint64_t count;
  double sum, min, max; /* `rate`: the ends are of the change in a second */
  double seconds;       /* that the samples span */
};

/* A minute or an hour whose samples may not cover it. */
struct odd_point {
  struct history_point point;
  bool edge;      /* it has none before it, or behind it */
  bool split;     /* the rest of its frames is in no minute yet, and came as such */
  uint64_t found; /* samples, in the frames, */
  double seconds; /* and what they cover */
};

/* Of the minutes or hours of a series: how long a sample is. */
struct pace {
  struct history_point last; /* `count` 0: none yet */
  bool before;               /* the one before it is there */
  double least, seconds;     /* of a sample at least; of all `samples` that are as usual */
  uint64_t samples;
  struct odd_point *odd;
  size_t count, room;
};

struct bucket_series { /* of a node, or a row of it: a bucket for each step */
  UT_hash_handle hh;
  char *key; /* node, NUL, row, NUL */
  struct pace pace;
  struct bucket buckets[];
};

struct bucket_table {
  struct bucket_series *series;
  int64_t from_ns, step_ns;
  size_t steps, most; /* `most`: series that there may be; over that `full` is set, and the others are left out */
  bool rate, full;
};

/* A receiver of points: the table is its context. */
extern const struct points_into bucket_table_into;
size_t bucket_table_count (const struct bucket_table *table);
/* NULL: it has no such series. */
const struct bucket *bucket_table_find (const struct bucket_table *table, const char *node, const char *row);
struct bucket_series *bucket_table_series (const struct bucket_table *table, const char *node, const char *row,
                                           size_t row_length);
/* `seconds`: that the point's samples cover. */
void bucket_add (const struct bucket_table *table, struct bucket_series *series, const struct history_point *point,
                 double seconds);
/* In order of arrival; `row` NULL: the node as a whole. */
void bucket_table_each (const struct bucket_table *table, void *context,
                        void (*each) (void *context, const char *node, const char *row, const struct bucket *buckets));
void bucket_table_free (struct bucket_table *table);

/* ---- query_pace.c: what the samples of minutes and hours cover, for rates ---- */

/* A point that is not covered, in order of time. It is in its bucket when the next one has come, or at the end. */
void pace_add (struct bucket_table *table, struct bucket_series *series, const struct history_point *point);
/* One that is covered: it may be behind the last that is not, or be the rest of it. */
void pace_meet (struct bucket_table *table, struct bucket_series *series, const struct history_point *point);
/* All points have come; until now. As history_points. */
int pace_finish (struct bucket_table *table, struct history_file *file, const struct points_query *asked,
                 int64_t until_ns, size_t *broken, struct error *error);

/* ---- query_series.c: what is made of the finished series ---- */

void series_fold (struct query_answer *answer);                            /* into one, as answer->fold says */
void series_measure (struct query_answer *answer);                         /* mean, min, max, missing; gaps */
void series_sort (struct query_answer *answer);                            /* by node and row */
void series_rank (struct query_answer *answer, size_t count, bool bottom); /* the others go */
void series_free (struct query_series *series);

#endif
