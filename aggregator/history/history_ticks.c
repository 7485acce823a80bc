/* See history_ticks.h.
 *
 *   values     = metric, metric, ...
 *   metric     = length of its definition (2 bytes), definition, a byte with a bit for each row that follows, doubles
 *   definition = kind, unit, fold, flags (a byte each), group, section, name, each with a NUL behind it */
#include "aggregator/history/history_ticks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "synop/array.h"
#include "synop/hash_table.h"
#include "synop/memory.h"

#define WAIT_MAX ((size_t) 16 << 20) /* bytes of ticks that wait */
#define FIXED 4                      /* bytes of a definition before its words */

enum { ROW_SUM, ROW_MEAN, ROW_MIN, ROW_MAX, ROWS };
static const char *const row_names[ROWS] = { "sum", "mean", "min", "max" };

/* ---- the core's side ---- */

static void
write_metric (void *context, const struct combine_group *group, const struct combine_metric *metric)
{
  struct buffer *out = context;
  const char *const words[] = { group->name, group->section, metric->name };
  double nodes = (double) (metric->rows ? metric->rows : metric->nodes);
  const double values[ROWS] = { tier_snap (value_double (&metric->sum)), tier_snap (metric->mean * nodes) / nodes,
                                value_double (&metric->min.value), value_double (&metric->max.value) };
  size_t begin = out->length;
  uint8_t rows = 0;
  uint16_t length;

  buffer_add (out, &(uint16_t){ 0 }, sizeof length);
  buffer_add (
      out, (const char[FIXED]){ (char) metric->kind, (char) metric->unit, (char) metric->fold, (char) metric->flags },
      FIXED);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    buffer_add (out, words[i], strlen (words[i]) + 1);
  length = (uint16_t) (out->length - begin - sizeof length);
  memcpy (out->data + begin, &length, sizeof length);
  for (unsigned i = 0; i < ROWS; i++)
    rows |= (uint8_t) ((isfinite (values[i]) && (i != ROW_SUM || metric->fold == FOLD_SUM)) << i);
  buffer_add (out, &rows, 1);
  for (unsigned i = 0; i < ROWS; i++)
    if (rows >> i & 1)
      buffer_add (out, &values[i], sizeof values[i]);
}

void
history_ticks_write (struct buffer *out, const struct combine *combine)
{
  combine_walk (combine, &(struct combine_walk){ .context = out, .metric = write_metric, .plain = true });
}

/* ---- the writer's side ---- */

struct waiting {
  uint64_t sequence;
  int64_t time_ns;
  char *bytes;
  size_t length;
};

struct history_ticks {
  struct waiting *list;
  size_t count, capacity, bytes;
};

struct history_ticks *
history_ticks_create (void)
{
  return memory_new (1, sizeof (struct history_ticks));
}

static void
drop_first (struct history_ticks *ticks, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    ticks->bytes -= ticks->list[i].length;
    free (ticks->list[i].bytes);
  }
  ticks->count -= count;
  if (ticks->count)
    memmove (ticks->list, ticks->list + count, ticks->count * sizeof ticks->list[0]);
}

void
history_ticks_destroy (struct history_ticks *ticks)
{
  if (!ticks)
    return;
  drop_first (ticks, ticks->count);
  free (ticks->list);
  free (ticks);
}

void
history_ticks_add (struct history_ticks *ticks, uint64_t sequence, int64_t time_ns, const void *bytes, size_t length)
{
  while (ticks->count && ticks->bytes + length > WAIT_MAX)
    drop_first (ticks, 1);
  *array_add (ticks->list, ticks->count, ticks->capacity) =
      (struct waiting){ sequence, time_ns, memory_copy (bytes, length), length };
  ticks->bytes += length;
}

/* ---- folding ---- */

struct tick_metric {
  UT_hash_handle hh;
  uint32_t flags;
  enum metric_kind kind;
  struct tier_cell cells[60][ROWS]; /* of the current hour */
  const char *definition;
  size_t length;
  uint32_t index;
};

struct folding {
  struct tick_metric *metrics;
  struct ticks_metrics *list;
};

static struct tick_metric *
find_metric (struct folding *folding, const char *definition, size_t length)
{
  struct tick_metric *metric;
  uint16_t size = (uint16_t) length;

  HASH_FIND (hh, folding->metrics, definition, length, metric);
  if (metric)
    return metric;
  metric = memory_new (1, sizeof *metric);
  metric->definition = definition;
  metric->length = length;
  metric->kind = (enum metric_kind) definition[0];
  metric->flags = (uint8_t) definition[3];
  metric->index = (uint32_t) folding->list->count++;
  buffer_add (&folding->list->definitions, &size, sizeof size);
  buffer_add (&folding->list->definitions, definition, length);
  HASH_ADD_KEYPTR (hh, folding->metrics, metric->definition, length, metric);
  return metric;
}

static void
fold_tick (struct folding *folding, const struct waiting *tick, size_t minute)
{
  const char *at = tick->bytes, *end = at + tick->length;

  while (at < end) {
    struct tick_metric *metric;
    uint16_t length;
    uint8_t rows;
    memcpy (&length, at, sizeof length);
    at += sizeof length;
    metric = find_metric (folding, at, length);
    at += length;
    rows = (uint8_t) *at++;
    for (unsigned i = 0; i < ROWS; i++) {
      double value;
      if (!(rows >> i & 1))
        continue;
      memcpy (&value, at, sizeof value);
      at += sizeof value;
      tier_cell_add (&metric->cells[minute][i], tier_stored (metric->kind, metric->flags, value));
    }
  }
}

static void
write_hour (struct folding *folding, struct tier_writer *writer, int64_t start, struct tier_folded *folded)
{
  struct tier_staged *staged = array_add (folded->staged, folded->count, folded->capacity);
  struct tick_metric *metric, *next;

  *staged = (struct tier_staged){ .start = start };
  for (uint32_t i = 0; i < ROWS; i++)
    tier_writer_label (writer, row_names[i], strlen (row_names[i]));
  HASH_ITER (hh, folding->metrics, metric, next)
  {
    for (uint32_t i = 0; i < ROWS; i++)
      tier_writer_series (writer, metric->index, 0, i + 1, &metric->cells[0][i], ROWS, 0, 60);
    memset (metric->cells, 0, sizeof metric->cells);
  }
  tier_writer_segment (writer);
  if (!tier_writer_end (writer, &staged->data))
    folded->count--;
}

void
history_ticks_fold (struct history_ticks *ticks, uint64_t last, struct tier_writer *writer,
                    struct ticks_metrics *metrics, struct tier_folded *folded)
{
  struct folding folding = { .list = metrics };
  struct tick_metric *metric, *next;
  int64_t hour = INT64_MIN;
  size_t count = 0;

  for (; count < ticks->count && ticks->list[count].sequence <= last; count++) {
    const struct waiting *tick = &ticks->list[count];
    int64_t minute = tier_minute (tick->time_ns), of = minute / 60 - (minute % 60 < 0);
    if (hour != of && hour != INT64_MIN)
      write_hour (&folding, writer, hour * HOUR_S, folded);
    hour = of;
    fold_tick (&folding, tick, (size_t) (minute - 60 * of));
  }
  if (count)
    write_hour (&folding, writer, hour * HOUR_S, folded);
  HASH_ITER (hh, folding.metrics, metric, next)
  {
    HASH_DEL (folding.metrics, metric);
    free (metric);
  }
  drop_first (ticks, count);
}

/* ---- which metrics ---- */

static bool
tick_metric (void *context, size_t index, struct tier_metric *metric)
{
  const struct ticks_metrics *metrics = context;
  const char *at = metrics->definitions.data;
  uint16_t length;

  for (;; index--, at += length) {
    memcpy (&length, at, sizeof length);
    at += sizeof length;
    if (index == 0)
      break;
  }
  metric->metric = (struct metric){ .kind = (enum metric_kind) at[0],
                                    .unit = (enum metric_unit) at[1],
                                    .fold = (enum metric_fold) at[2],
                                    .flags = (uint8_t) at[3] };
  metric->group = at + FIXED;
  metric->section = metric->group + strlen (metric->group) + 1;
  metric->metric.name = metric->section + strlen (metric->section) + 1;
  return true;
}

struct tier_list
history_ticks_list (const struct ticks_metrics *metrics)
{
  struct tier_list list = { .context = (void *) metrics, .count = metrics->count, .metric = tick_metric };

  crypto_generichash (list.hash, sizeof list.hash, (const unsigned char *) metrics->definitions.data,
                      metrics->definitions.length, NULL, 0);
  return list;
}
