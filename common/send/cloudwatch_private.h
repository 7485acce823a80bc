/* Samples as CloudWatch has them: metrics with the values of a minute, or of a second, and how often each was there. For
 * cloudwatch.c alone. */
#ifndef SYNOP_COMMON_CLOUDWATCH_PRIVATE_H
#define SYNOP_COMMON_CLOUDWATCH_PRIVATE_H

#include "synop/send_series.h"

#define CLOUDWATCH_VALUES_MAX 150
#define CLOUDWATCH_METRICS_MAX 1000
#define CLOUDWATCH_BYTES_MAX 1000000
#define CLOUDWATCH_DIMENSIONS_MAX 30
#define CLOUDWATCH_NAME_MAX 255
#define CLOUDWATCH_OLDEST_S (14 * 86400 - 600) /* what is older is refused; and it is to arrive in time */

struct cloudwatch_metric {
  struct send_series *series;
  const struct send_symbol *node;
  int64_t time_s;       /* of the minute, or second */
  size_t values, count; /* in the fold's; each once */
  size_t samples;
};

struct cloudwatch_fold {
  struct cloudwatch_metric *metrics;
  size_t metric_count, metric_room;
  double *values, *counts;
  size_t value_count, value_room;
  const struct send_sample **order;
  size_t order_room;
  uint64_t old, unfit; /* samples that are left out: too old; no number that it takes, or too many dimensions */
};

/* Of samples that are not older than `oldest_s`, by namespaces. */
void cloudwatch_fold (struct cloudwatch_fold *fold, const struct send_sample *samples, size_t count,
                      int64_t resolution_s, int64_t oldest_s);
void cloudwatch_fold_free (struct cloudwatch_fold *fold);

/* ---- what a series is there ---- */

/* A name in quotes may have its namespace before it: "DeepLearningTrain/GPU Usage". */
struct cloudwatch_name {
  char namespace[CLOUDWATCH_NAME_MAX + 1]; /* "": the option's */
  const char *name, *unit;                 /* unit "": none */
};
void cloudwatch_name (const struct metric_family *family, struct cloudwatch_name *name);

struct cloudwatch_dimension {
  const char *name, *value;
};
/* All labels but `job`; the node's name, which is `instance`, unless a name in quotes has InstanceId. Returns how many;
 * `dimensions` has room for CLOUDWATCH_DIMENSIONS_MAX, and more are none: SIZE_MAX. */
size_t cloudwatch_dimensions (const struct send_series *series, const struct send_symbol *node,
                              struct cloudwatch_dimension *dimensions);

/* ---- as it is written ---- */

struct cloudwatch_form {
  const char *namespace; /* the option's */
  int64_t resolution_s;
};
/* The body of a PutMetricData in the Query protocol: metrics from `from` on, of one namespace, at most so many and within the
 * limits. Returns how many. */
size_t cloudwatch_put_form (struct buffer *body, const struct cloudwatch_form *form, const struct cloudwatch_fold *fold,
                            size_t from, size_t most);
/* Lines in the embedded metric format, of all metrics: one for those that have node, time and dimensions in common. */
void cloudwatch_put_emf (struct buffer *lines, const struct cloudwatch_form *form, const struct cloudwatch_fold *fold);

#endif
