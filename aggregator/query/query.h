/* Questions to the history: how a metric went, on which nodes, in which steps of time. For the command `query` and for
 * HTTP alike: a question is made of words, its answer is a structure, and writers make text of that.
 *
 *   query_set      for each parameter (query_keys), as people write it: {"metric", "load.load_1"}, {"step", "5m"}
 *   query_answer   reads the history
 *   query_write_*  the answer as JSON, CSV, a table; query_notes: what is to be said beside these
 *
 * Nothing is printed, and there are no globals. Parameters and the JSON: docs/query.md. */
#ifndef SYNOP_AGGREGATOR_QUERY_H
#define SYNOP_AGGREGATOR_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/columnar/columnar.h"
#include "aggregator/history/history_file.h"
#include "aggregator/history/history_points.h"
#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/viewer.h"

/* ---- the question ---- */

enum query_fold { QUERY_EACH, QUERY_SUM, QUERY_MEAN, QUERY_MIN, QUERY_MAX };

/* Zeroed at first. Texts are owned; NULL: not given. */
struct query {
  char *metric;                /* "cpu_usage.user", "memory_info.used / memory_info.total" */
  char *node;                  /* globs, with commas between them; all nodes */
  char *row;                   /* globs of the labels of rows; then each row is a series */
  char *job;                   /* a job's id: its nodes, its time, its rows */
  char *user, *scheduler;      /* of the job, where several have its id */
  char *from, *to;             /* when.h; the last hour */
  char *step;                  /* a duration; such that there are about 60 steps */
  bool rows;                   /* each row is a series */
  enum query_fold fold;        /* all series become one */
  size_t top, bottom;          /* only so many series, with most or least in the mean; 0: all */
  bool rate;                   /* a counter's change in a second */
  bool levels;                 /* for query_write_levels: counters in a second, and more points */
  bool combined;               /* the combined report of the cluster: rows sum, mean, min, max */
  const struct viewer *viewer; /* who asks, who outlives it; NULL: an admin */
};

/* The names of the parameters, NULL at the end: "metric", "node", "rows", "row", "fold", "top", "bottom", "job", "user",
 * "scheduler", "rate", "combined", "from", "to", "step". */
extern const char *const query_keys[];

/* Sets one. Booleans are yes, no, true, false, 1, 0, and "" (yes). -1 and error: no such parameter, or a wrong value; the
 * error does not name the parameter. An empty value of another parameter is as if it were not given. */
int query_set (struct query *query, const char *key, const char *value, struct error *error);
void query_free (struct query *query);

/* ---- the answer ---- */

/* What the value of a step is. */
enum query_shows {
  QUERY_MEAN_OF, /* of a gauge or a share: the mean of its samples */
  QUERY_CHANGE,  /* of a counter: its change in the step */
  QUERY_RATE,    /* of a counter: its change in a second */
  QUERY_COMPUTED /* arithmetic, or derived of counters (derived.h) */
};

struct query_value {
  uint64_t count;  /* samples; 0: missing, and nothing else is set */
  double value;    /* NaN: not to be had, as a division by 0 */
  double min, max; /* of samples; NaN: not known */
};

struct query_series {
  char *node;                 /* "" of a fold and of the combined report */
  char *row;                  /* NULL: the node as a whole */
  struct query_value *values; /* one for each step */
  double mean, min, max;      /* over all steps, as shown; NaN: none */
  size_t missing;             /* steps without a value */
};

struct query_piece { /* a part of the interval, and where it comes from */
  enum history_tier tier;
  int64_t from_ns, to_ns;
};

struct query_gap {
  int64_t from_ns, to_ns; /* no series has a value */
};

struct query_answer {
  char *metric; /* in full: "cpu_usage.user" */
  char *unit;   /* "bytes", "bytes/s", "" */
  char *help;   /* of a single metric, or "" */
  enum query_shows shows;
  enum query_fold fold;
  int64_t from_ns, to_ns, step_ns; /* whole steps: from at the beginning of the first, to at the end of the last */
  bool instant;                    /* of one instant, from memory: one step of no length */
  bool usual;                      /* the beginning is the usual one: nobody asked for it */
  int64_t now_ns;                  /* the last step is not over yet when it is before to_ns */
  size_t steps;
  struct query_piece *pieces; /* in order of time */
  size_t piece_count, piece_room;
  struct query_gap *gaps;
  size_t gap_count, gap_room;
  struct query_series *series; /* in natural order of nodes and rows; ranked with `top` and `bottom` */
  size_t series_count, series_room;
  size_t folded;   /* series that a fold was made of */
  size_t left_out; /* by `top` and `bottom` */
  bool ranked;
  size_t broken;      /* what was left out since it is damaged; it was logged */
  bool others;        /* those of other users are left out, if there are any: see job_store.h */
  struct buffer note; /* what else people should know, a line each */
};

#define QUERY_POINTS_MAX 400000  /* of an answer, */
#define QUERY_LEVELS_MAX 2000000 /* and of one with `levels`, whose points are a byte each rather than some 45 */
#define QUERY_READ_MAX 5000000   /* that a fold or a ranking is made of */

/* 0: the caller frees the answer. -1 and error: with `*key` the parameter that is wrong, or NULL when the history cannot be
 * read. */
int query_answer (struct history_file *file, const struct query *query, int64_t now_ns, struct query_answer *answer,
                  const char **key, struct error *error);
/* Of a history that was just begun and has no metric at all: an empty answer, which the caller frees. False: it has some. */
bool query_answer_nothing (struct history_file *file, const struct query *query, int64_t now_ns,
                           struct query_answer *answer);
void query_answer_free (struct query_answer *answer);

/* The interval of the question alone, without the job's: for who has to make the history complete first. As
 * query_answer. */
int query_interval (const struct query *query, int64_t now_ns, int64_t *from_ns, int64_t *to_ns, const char **key,
                    struct error *error);

/* ---- of this instant, from a running aggregator's memory: aggregator/now/now.h ---- */

/* The request for its UNIX socket. -1 and error, with `*key`: what does not go with an instant. */
int query_instant_request (const struct query *query, struct buffer *request, const char **key, struct error *error);
/* The answer, of the line that came. As query_answer. */
int query_instant_answer (const struct query *query, const char *line, struct query_answer *answer, const char **key,
                          struct error *error);

/* ---- as text ---- */

/* Takes what is written so far, and clears it. */
typedef void query_flush_fn (void *context, struct buffer *out);

/* One object and a newline; with `flush` (may be NULL) in pieces, all but the last. */
void query_write_json (struct buffer *out, const struct query_answer *answer, query_flush_fn *flush, void *context);
void query_write_csv (struct buffer *out,
                      const struct query_answer *answer); /* time, node, row, value, min, max, count */
void query_write_columnar (struct buffer *out, const struct query_answer *answer,
                           const struct columnar_form *form); /* the same as Parquet or Arrow */
/* For pictures of many nodes: {"metric","unit","from","to","step","nodes":[...],"rows":[...],"low","high","steps":["BASE64"...]},
 * each step with a byte for each node (levels.h); "rows" only where series are of rows. */
void query_write_levels (struct buffer *out, const struct query_answer *answer);
/* For people: at most so many columns wide. */
void query_write_table (struct buffer *out, const struct query_answer *answer, size_t width);
/* What the answer does not say: tiers, what is missing, what was left out; lines. */
void query_write_notes (struct buffer *out, const struct query_answer *answer);

/* ---- which metrics there are ---- */

struct query_metric {
  char *name; /* "cpu_usage.user" */
  char *unit, *help;
  const char *kind; /* "gauge", "counter", "derived" */
  bool rows;        /* it has rows */
  size_t nodes;     /* that have it now; 0: none, or not known */
};

struct query_metrics {
  struct query_metric *list; /* in order of name */
  size_t count, room;
};

/* Those whose name matches one of the globs, NULL: all. -1: the history cannot be read. */
int query_list (struct history_file *file, const char *globs, struct query_metrics *metrics, struct error *error);
void query_metrics_free (struct query_metrics *metrics);
void query_write_list (struct buffer *out, const struct query_metrics *metrics);
void query_write_list_json (struct buffer *out, const struct query_metrics *metrics);
void query_write_list_csv (struct buffer *out, const struct query_metrics *metrics);

#endif
