/* See history_points_tier.h. Frames that are in no minute yet, the last ten minutes' mostly, are read as such: each becomes a part
 * of the point of its minute or hour. */
#include <sqlite3.h>
#include <stdlib.h>

#include "aggregator/history/history_points_frames.h"
#include "aggregator/history/history_points_tier.h"
#include "aggregator/history/tier_codec.h"
#include "synop/array.h"
#include "synop/clock.h"

struct folding {
  const struct points_into *into;
  int64_t span_ns;
  struct metric metric; /* of the series that comes next */
  struct history_point *points;
  size_t count, capacity;
};

static int64_t
floor_to (int64_t time_ns, int64_t span_ns)
{
  int64_t rest = time_ns % span_ns;

  return time_ns - (rest < 0 ? rest + span_ns : rest);
}

static int64_t
ceiling_to (int64_t time_ns, int64_t span_ns)
{
  int64_t down = floor_to (time_ns, span_ns);

  return down < time_ns ? down + span_ns : down;
}

static void *
take_series (void *context, const char *node, const char *row, size_t row_length, const struct metric *metric)
{
  struct folding *folding = context;

  folding->metric = *metric;
  return folding->into->series (folding->into->context, node, row, row_length, metric);
}

/* A share as it is stored. */
static double
rounded (const struct metric *metric, double value)
{
  bool share = metric->kind == COUNTER && metric->flags & METRIC_SHARE;

  return share ? tier_stored (metric->kind, metric->flags, value) / TIER_SHARE_UNIT : value;
}

static void
take_points (void *context, void *series, const struct history_point *points, size_t count)
{
  struct folding *folding = context;

  folding->count = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t time_ns = floor_to (points[i].time_ns, folding->span_ns);
    double value = rounded (&folding->metric, points[i].sum);
    struct history_point *last = folding->count ? &folding->points[folding->count - 1] : NULL;
    if (!last || last->time_ns != time_ns) {
      last = array_add (folding->points, folding->count, folding->capacity);
      *last = (struct history_point){ time_ns, 0, 0, 0, value, value, true };
    }
    last->span_ns += points[i].span_ns;
    last->count++;
    last->sum += value;
    last->min = value < last->min ? value : last->min;
    last->max = value > last->max ? value : last->max;
  }
  if (folding->count)
    folding->into->points (folding->into->context, series, folding->points, folding->count);
}

int
history_points_unfolded (struct history_file *file, struct chunk_list *list, int64_t span_ns,
                         const struct points_query *query, const struct points_into *into, size_t *broken,
                         struct error *error)
{
  struct folding folding = { .into = into, .span_ns = span_ns };
  struct points_query frames = *query;
  int result;

  frames.from_ns = ceiling_to (query->from_ns, span_ns);
  frames.to_ns = ceiling_to (query->to_ns, span_ns);
  result = history_chunk_points (file, list, &frames, &(struct points_into){ &folding, take_series, take_points },
                                 broken, error);
  free (folding.points);
  return result;
}
