/* Points into steps; see query_private.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query_private.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/memory.h"

#define NO_ROW 0xff /* behind the node's name: the node as a whole. No label begins so, which are UTF-8 */
#define KEY_MAX (FRAME_NODE_MAX + 1 + TABLE_LABEL_MAX + 1)

/* Returns its length. */
static size_t
key_of (char key[KEY_MAX], const char *node, const char *row, size_t length)
{
  size_t node_length = strnlen (node, FRAME_NODE_MAX);

  if (length > TABLE_LABEL_MAX)
    length = TABLE_LABEL_MAX;
  memcpy (key, node, node_length);
  key[node_length] = '\0';
  if (row)
    memcpy (key + node_length + 1, row, length);
  else
    key[node_length + 1] = (char) NO_ROW, length = 1;
  return node_length + 1 + length;
}

struct bucket_series *
bucket_table_series (const struct bucket_table *table, const char *node, const char *row, size_t row_length)
{
  struct bucket_series *series;
  char key[KEY_MAX];
  size_t length = key_of (key, node, row, row_length);

  HASH_FIND (hh, table->series, key, length, series);
  return series;
}

static void *
bucket_series (void *context, const char *node, const char *row, size_t row_length, const struct metric *metric)
{
  struct bucket_table *table = context;
  struct bucket_series *series;
  char key[KEY_MAX];
  size_t length = key_of (key, node, row, row_length);

  (void) metric;
  HASH_FIND (hh, table->series, key, length, series);
  if (series || table->full)
    return series;
  if (HASH_COUNT (table->series) >= table->most) {
    table->full = true;
    return NULL;
  }
  series = memory_new (1, sizeof *series + table->steps * sizeof series->buckets[0]);
  series->key = memory_copy (key, length);
  HASH_ADD_KEYPTR (hh, table->series, series->key, length, series);
  return series;
}

void
bucket_add (const struct bucket_table *table, struct bucket_series *series, const struct history_point *point,
            double seconds)
{
  double a_second = table->rate ? (double) point->count / seconds : 1;
  size_t step =
      point->time_ns < table->from_ns ? SIZE_MAX : (size_t) ((point->time_ns - table->from_ns) / table->step_ns);

  if (step >= table->steps || (table->rate && seconds <= 0))
    return;
  struct bucket *bucket = &series->buckets[step];
  if (bucket->count == 0 || point->min * a_second < bucket->min)
    bucket->min = point->min * a_second;
  if (bucket->count == 0 || point->max * a_second > bucket->max)
    bucket->max = point->max * a_second;
  bucket->count += point->count;
  bucket->sum += point->sum;
  bucket->seconds += seconds;
}

static void
bucket_points (void *context, void *to, const struct history_point *points, size_t count)
{
  struct bucket_table *table = context;

  for (size_t i = 0; to && i < count; i++) {
    if (table->rate && !points[i].covered) {
      pace_add (table, to, &points[i]);
      continue;
    }
    if (table->rate)
      pace_meet (table, to, &points[i]);
    bucket_add (table, to, &points[i], (double) points[i].span_ns / (double) NS_PER_S);
  }
}

const struct points_into bucket_table_into = { NULL, bucket_series, bucket_points };

size_t
bucket_table_count (const struct bucket_table *table)
{
  return HASH_COUNT (table->series);
}

const struct bucket *
bucket_table_find (const struct bucket_table *table, const char *node, const char *row)
{
  const struct bucket_series *series = bucket_table_series (table, node, row, row ? strlen (row) : 0);

  return series ? series->buckets : NULL;
}

void
bucket_table_each (const struct bucket_table *table, void *context,
                   void (*each) (void *context, const char *node, const char *row, const struct bucket *buckets))
{
  for (struct bucket_series *series = table->series; series; series = series->hh.next) {
    const char *row = series->key + strlen (series->key) + 1;
    each (context, series->key, (uint8_t) *row == NO_ROW ? NULL : row, series->buckets);
  }
}

void
bucket_table_free (struct bucket_table *table)
{
  struct bucket_series *series, *next;

  HASH_ITER (hh, table->series, series, next)
  {
    HASH_DEL (table->series, series);
    free (series->pace.odd);
    free (series->key);
    free (series);
  }
  *table = (struct bucket_table){ .rate = table->rate };
}
