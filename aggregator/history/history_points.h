/* One metric of the past: points of time, for each node or for its rows. From the frames themselves, or from a tier in
 * which minutes or hours are folded (history_tiers.h).
 *
 * A value is what a line shows: a gauge as it stands, a counter as its change, a share in percent; of a node its own
 * value, or the fold of its rows. */
#ifndef SYNOP_AGGREGATOR_HISTORY_POINTS_H
#define SYNOP_AGGREGATOR_HISTORY_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_file.h"
#include "synop/globs.h"
#include "synop/metric.h"

enum history_tier { HISTORY_FRAMES, HISTORY_MINUTES, HISTORY_HOURS, HISTORY_TIERS };

struct history_point {
  int64_t time_ns;      /* cluster time: of the frame, or where the minute or hour begins */
  int64_t span_ns;      /* of a frame the time since the one before it (0: unknown); a minute; an hour */
  uint64_t count;       /* samples with a value; never 0 */
  double sum, min, max; /* over them; the mean is sum / count */
  bool covered;         /* the samples cover `span_ns`; else they may cover a part of that minute or hour */
};

struct points_query {
  const char *group, *metric;
  const struct globs *nodes; /* NULL: all */
  const struct globs *rows;  /* rows with these labels; NULL: nodes as a whole */
  bool folded;               /* of a tier what is folded alone, without the frames of the last minutes */
  bool combined;             /* the combined report of the ticks instead of nodes: node "", rows sum, mean, min, max */
  int64_t from_ns, to_ns;    /* points from the first until before the second */
  /* Of a tier: is any of a node's points there wanted? What is not may be given all the same. NULL: all are. */
  bool (*wants) (const void *context, const char *node, int64_t from_ns, int64_t to_ns);
  const void *wants_context;
};

/* What is given out. A series may come in several parts, each in order of time; `series` is called again for each part,
 * and returns the same for the same node and row. The calls may come from several threads, one at a time. The metric
 * is valid during the call. */
struct points_into {
  void *context;
  void *(*series) (void *context, const char *node, const char *row, size_t row_length,
                   const struct metric *metric); /* row NULL: the node as a whole */
  void (*points) (void *context, void *series, const struct history_point *points, size_t count);
};

/* 0; -1 and error: the file cannot be read. What is broken is logged, left out, and counted in `broken`. */
int history_points (struct history_file *file, enum history_tier tier, const struct points_query *query,
                    const struct points_into *into, size_t *broken, struct error *error);

/* Calls `metric` for each metric that the tier has, with its group and how many nodes have it (0: not known). One may come
 * several times, of several versions. They are valid while the file is open. */
struct points_metrics {
  void *context;
  void (*metric) (void *context, const struct group *group, const struct metric *metric, size_t nodes);
};
int history_points_metrics (struct history_file *file, enum history_tier tier, const struct points_metrics *into,
                            struct error *error);

/* From when to when the tier has anything of any node: false, nothing at all. */
bool history_points_range (struct history_file *file, enum history_tier tier, int64_t *from_ns, int64_t *to_ns);

#endif
