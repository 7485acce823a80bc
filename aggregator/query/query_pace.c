/* How long the samples of minutes and hours are, for rates; see query_private.h.
 *
 * A minute has the number of its samples, and not how long these are. Between two others it is taken for whole. Where a series
 * begins or ends, or has fewer samples than usual, the time between its frames is looked up, as long as these are there; else each
 * sample is taken to be as long as they usually are. */
#include <stdlib.h>

#include "aggregator/history/history_points_frames.h"
#include "aggregator/query/query_private.h"
#include "synop/array.h"
#include "synop/clock.h"

#define CHUNKS_MAX 4000 /* that are looked into: a quarter of a second */

static double
seconds_of (int64_t ns)
{
  return (double) ns / (double) NS_PER_S;
}

/* ---- what is usual ---- */

/* The mean time of a sample, without what lies behind a gap. */
static void
learn (struct pace *pace, const struct history_point *point)
{
  double seconds = seconds_of (point->time_ns - pace->last.time_ns), each = seconds / (double) point->count;

  if (seconds <= 0)
    return;
  if (pace->samples && 2 * each < pace->least)
    pace->samples = 0, pace->seconds = 0;
  if (!pace->samples || each < pace->least)
    pace->least = each;
  if (each > 2 * pace->least)
    return;
  pace->samples += point->count;
  pace->seconds += seconds;
}

/* 0: it is not known. */
static double
period_of (const struct pace *pace)
{
  return pace->samples ? pace->seconds / (double) pace->samples : 0;
}

static bool
is_short (const struct pace *pace, const struct history_point *point)
{
  double period = period_of (pace);

  return ((double) point->count + 1.5) * period < seconds_of (point->span_ns);
}

/* ---- points as they come ---- */

/* The last point has one behind it, or none. */
static void
let_go (struct bucket_table *table, struct bucket_series *series, bool behind)
{
  struct pace *pace = &series->pace;
  const struct history_point *last = &pace->last;
  int64_t end_ns = table->from_ns + (int64_t) table->steps * table->step_ns;
  bool begins = !pace->before && last->time_ns > table->from_ns,
       ends = !behind && last->time_ns + last->span_ns < end_ns;

  if (last->count == 0)
    return;
  if (begins || ends || is_short (pace, last))
    *array_add (pace->odd, pace->count, pace->room) =
        (struct odd_point){ .point = *last, .edge = !pace->before || !behind };
  else
    bucket_add (table, series, last, seconds_of (last->span_ns));
}

void
pace_add (struct bucket_table *table, struct bucket_series *series, const struct history_point *point)
{
  struct pace *pace = &series->pace;
  bool beside = pace->last.count && pace->last.time_ns + pace->last.span_ns == point->time_ns;

  if (pace->last.count)
    learn (pace, point);
  let_go (table, series, beside);
  pace->last = *point;
  pace->before = beside;
}

void
pace_meet (struct bucket_table *table, struct bucket_series *series, const struct history_point *point)
{
  struct pace *pace = &series->pace;
  int64_t behind_ns = point->time_ns - pace->last.time_ns;

  if (pace->last.count == 0 || behind_ns < 0 || behind_ns >= 2 * pace->last.span_ns)
    return;
  if (behind_ns >= pace->last.span_ns)
    let_go (table, series, true);
  else
    *array_add (pace->odd, pace->count, pace->room) =
        (struct odd_point){ .point = pace->last, .edge = true, .split = true };
  pace->last.count = 0;
}

/* ---- frames ---- */

static void *
looked_up_series (void *context, const char *node, const char *row, size_t row_length, const struct metric *metric)
{
  (void) metric;
  return bucket_table_series (context, node, row, row_length);
}

static void
looked_up_points (void *context, void *to, const struct history_point *points, size_t count)
{
  struct bucket_series *series = to;

  (void) context;
  for (size_t i = 0; series && i < count; i++)
    for (size_t k = 0; k < series->pace.count; k++) {
      struct odd_point *odd = &series->pace.odd[k];
      if (points[i].time_ns < odd->point.time_ns || points[i].time_ns >= odd->point.time_ns + odd->point.span_ns)
        continue;
      odd->found++;
      odd->seconds += seconds_of (points[i].span_ns);
    }
}

static int
compare_ids (const void *one, const void *other)
{
  const struct chunk_row *a = one, *b = other;

  return a->id < b->id ? -1 : a->id > b->id;
}

/* Rows of a node share their chunks. */
static void
drop_doubles (struct chunk_list *list)
{
  size_t count = 0;

  if (list->count)
    qsort (list->rows, list->count, sizeof list->rows[0], compare_ids);
  for (size_t i = 0; i < list->count; i++)
    if (i == 0 || list->rows[i].id != list->rows[i - 1].id)
      list->rows[count++] = list->rows[i];
  list->count = count;
}

/* The frames of a series' odd minutes, which are within the query then. Of hours they would be too many. */
static int
find_chunks (struct history_file *file, const struct bucket_series *series, struct points_query *query,
             struct chunk_list *chunks, struct error *error)
{
  const struct pace *pace = &series->pace;

  for (size_t i = 0; i < pace->count && chunks->count < CHUNKS_MAX; i++) {
    int64_t from_ns = pace->odd[i].point.time_ns, to_ns = from_ns + pace->odd[i].point.span_ns;
    if (pace->odd[i].split || pace->odd[i].point.span_ns > plan_spans[HISTORY_MINUTES])
      continue;
    if (history_file_node_chunks (file, series->key, from_ns, to_ns, chunks, error) < 0)
      return -1;
    query->from_ns = from_ns < query->from_ns ? from_ns : query->from_ns;
    query->to_ns = to_ns > query->to_ns ? to_ns : query->to_ns;
  }
  return 0;
}

static int
look_up (struct bucket_table *table, struct history_file *file, const struct points_query *asked, size_t *broken,
         struct error *error)
{
  const struct points_into into = { table, looked_up_series, looked_up_points };
  struct points_query query = *asked;
  struct chunk_list chunks = { 0 };
  int result = 0;

  query.from_ns = INT64_MAX;
  query.to_ns = INT64_MIN;
  for (struct bucket_series *series = table->series; series && result == 0; series = series->hh.next)
    result = find_chunks (file, series, &query, &chunks, error);
  drop_doubles (&chunks);
  if (result == 0 && chunks.count)
    return history_chunk_points (file, &chunks, &query, &into, broken, error);
  free (chunks.rows);
  return result;
}

/* ---- the end ---- */

static double
odd_seconds (const struct odd_point *odd, double period, int64_t until_ns)
{
  int64_t left = until_ns - odd->point.time_ns;

  if (odd->seconds > 0) /* frames may be damaged, or in no minute yet */
    return odd->seconds * (double) odd->point.count / (double) odd->found;
  if (odd->edge && period > 0)
    return (double) odd->point.count * period;
  return seconds_of (odd->point.span_ns < left ? odd->point.span_ns : left);
}

int
pace_finish (struct bucket_table *table, struct history_file *file, const struct points_query *asked, int64_t until_ns,
             size_t *broken, struct error *error)
{
  double others = 0;

  *broken = 0;
  for (struct bucket_series *series = table->series; series; series = series->hh.next) {
    let_go (table, series, false);
    others = others > 0 ? others : period_of (&series->pace);
  }
  if (!asked->combined && look_up (table, file, asked, broken, error) < 0)
    return -1;
  for (struct bucket_series *series = table->series; series; series = series->hh.next) {
    double period = period_of (&series->pace);
    for (size_t i = 0; i < series->pace.count; i++) {
      const struct odd_point *odd = &series->pace.odd[i];
      bucket_add (table, series, &odd->point, odd_seconds (odd, period > 0 ? period : others, until_ns));
    }
  }
  return 0;
}
