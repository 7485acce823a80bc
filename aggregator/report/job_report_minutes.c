/* See job_report_minutes.h. */
#include "aggregator/report/job_report_minutes_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/tier_fold.h"
#include "synop/clock.h"
#include "synop/globs.h"
#include "synop/memory.h"

#define MISSING 1  /* samples: a minute may have fewer than others by when it begins */
#define ALIKE 1e-9 /* sums of one change */
#define SAMPLES_MAX UINT16_MAX

struct job_minutes *
job_minutes_create (struct job_scene *scene, const struct job_walk *walk)
{
  const struct job_report *report = scene->report;
  struct job_minutes *minutes;
  struct buffer names = { 0 };
  int64_t from_ns, to_ns;

  if (!job_is_long (report) || !history_points_range (scene->file, HISTORY_MINUTES, &from_ns, &to_ns) ||
      from_ns >= report->until_ns || to_ns <= report->started_ns)
    return NULL;
  minutes = memory_new (1, sizeof *minutes);
  *minutes = (struct job_minutes){ .scene = scene, .walk = walk, .first = tier_minute (report->started_ns) };
  minutes->count = tier_minute (report->until_ns) - minutes->first + 1;
  minutes->lists = memory_new (report->node_count, sizeof minutes->lists[0]);
  minutes->gpus = memory_new (report->node_count, sizeof minutes->gpus[0]);
  for (size_t i = 0; i < report->node_count; i++)
    buffer_printf (&names, "%s%s", i ? "," : "", report->nodes[i].name);
  globs_init (&minutes->names, buffer_text (&names));
  buffer_free (&names);
  return minutes;
}

void
job_minutes_destroy (struct job_minutes *minutes)
{
  if (!minutes)
    return;
  for (size_t i = 0; i < minutes->scene->report->node_count; i++)
    free (minutes->lists[i]);
  globs_free (&minutes->names);
  free (minutes->lists);
  free (minutes->gpus);
  free (minutes);
}

/* ---- questions ---- */

static bool
is_open (const struct job_minutes *minutes, size_t node, int64_t minute)
{
  const struct minute *list = minutes->lists[node];

  return list && minute >= minutes->first && minute < minutes->first + minutes->count &&
         !list[minute - minutes->first].closed;
}

void
job_minutes_close (const struct job_minutes *minutes, size_t node, int64_t from, int64_t to)
{
  int64_t last = minutes->first + minutes->count - 1;

  for (int64_t i = from < minutes->first ? minutes->first : from; i <= to && i <= last; i++)
    minutes->lists[node][i - minutes->first].closed = true;
}

bool
job_minutes_any (const struct job_minutes *minutes, size_t node)
{
  return minutes && minutes->lists[node];
}

bool
job_minutes_has (const struct job_minutes *minutes, size_t node, int64_t time_ns)
{
  return minutes && is_open (minutes, node, tier_minute (time_ns));
}

bool
job_minutes_between (const struct job_minutes *minutes, size_t node, int64_t from_ns, int64_t to_ns)
{
  int64_t from = from_ns == INT64_MIN || !minutes ? 0 : tier_minute (from_ns), to = tier_minute (to_ns);

  if (!job_minutes_any (minutes, node))
    return false;
  if (to >= minutes->first + minutes->count)
    to = minutes->first + minutes->count - 1;
  for (from = from < minutes->first ? minutes->first : from; from <= to; from++)
    if (is_open (minutes, node, from))
      return true;
  return false;
}

bool
job_minutes_have_gpus (const struct job_minutes *minutes, size_t node)
{
  return !job_minutes_any (minutes, node) || minutes->gpus[node];
}

void
job_minutes_give_up (struct job_minutes *minutes, size_t node, int64_t time_ns)
{
  if (!job_minutes_any (minutes, node))
    return;
  minutes->again |= job_minutes_between (minutes, node, INT64_MIN, time_ns);
  for (size_t i = 0; node == minutes->current && i < minutes->chunk_count; i++)
    minutes->chunks[i].skipped = false;
  free (minutes->lists[node]);
  minutes->lists[node] = NULL;
}

bool
job_minutes_again (struct job_minutes *minutes)
{
  bool again = minutes && minutes->again;

  if (minutes)
    minutes->again = false;
  return again;
}

/* ---- what minutes tell ---- */

/* What shows that a minute is like any other: of the job's row, but for the errors of GPUs. */
enum liveness { SAMPLES, PROCESSES, IDLE_GPUS, USED_GPUS, GPU_ERRORS, LIVENESS };
static const char *const liveness[LIVENESS][2] = { { "job_cpu", "user_time" },
                                                   { "job_processes", "processes" },
                                                   { "job_gpu", "gpus_idle" },
                                                   { "job_gpu", "gpus_used" },
                                                   { "gpu", "xid_errors" } };

/* A series of the tier that is wanted. */
struct wanted {
  struct job_minutes *minutes;
  struct job_tally *tally; /* of the quantity; NULL: it is of liveness */
  size_t node, item;
  bool of_job;
  enum liveness liveness;
};

struct asking {
  struct job_minutes *minutes;
  struct job_tally *const *tallies; /* NULL: it is about liveness */
  size_t item;
  bool of_job;
  enum liveness liveness;
  struct wanted *wanted; /* of each node, for the job's row or the node, and for other rows */
};

static int
compare_name (const void *name, const void *other)
{
  return strcmp (name, *(const char *const *) other);
}

size_t
job_minutes_node (const struct job_minutes *minutes, const char *name)
{
  const struct job_walk *walk = minutes->walk;
  const char *const *found =
      bsearch (name, walk->names, minutes->scene->report->node_count, sizeof walk->names[0], compare_name);

  return found ? walk->order[found - walk->names] : SIZE_MAX;
}

static void *
take_series (void *context, const char *name, const char *row, size_t length, const struct metric *metric)
{
  struct asking *asking = context;
  struct job_minutes *minutes = asking->minutes;
  const struct job_report *report = minutes->scene->report;
  bool own = row && length == strlen (report->id) && memcmp (row, report->id, length) == 0;
  struct wanted wanted = { minutes, NULL, 0, asking->item, own, asking->liveness };
  size_t node = wanted.node = job_minutes_node (minutes, name);

  if (node == SIZE_MAX || !minutes->lists[node] || (asking->tallies && !asking->tallies[node]))
    return NULL;
  if (asking->tallies) {
    struct job_tally *tally = wanted.tally = &asking->tallies[node][asking->item];
    if (own != asking->of_job || !tally->metric || tally->of_job != asking->of_job ||
        tally->metric->kind != metric->kind || (tally->metric->flags ^ metric->flags) & METRIC_SHARE)
      return NULL;
  }
  asking->wanted[2 * node + own] = wanted;
  return &asking->wanted[2 * node + own];
}

/* The number, if it is the same all along. */
static uint8_t
take_count (struct minute *minute, const struct history_point *point)
{
  minute->closed |= point->max > point->min;
  return point->min >= 0 && point->min < UINT8_MAX ? (uint8_t) (point->min + 1) : 0;
}

static void
take_liveness (const struct wanted *wanted, struct minute *minute, const struct history_point *point)
{
  if (wanted->liveness == GPU_ERRORS)
    minute->closed |= point->sum > 0;
  else if (!wanted->of_job)
    minute->shared |= wanted->liveness == SAMPLES;
  else if (wanted->liveness == PROCESSES)
    minute->closed |= point->min <= 0;
  else if (wanted->liveness == IDLE_GPUS)
    minute->idle = take_count (minute, point);
  else if (wanted->liveness == USED_GPUS)
    minute->used = take_count (minute, point);
  else
    minute->samples = point->count < SAMPLES_MAX ? (uint16_t) point->count : SAMPLES_MAX;
}

static void
take_points (void *context, void *series, const struct history_point *points, size_t count)
{
  const struct wanted *wanted = series;

  (void) context;
  for (size_t i = 0; wanted && i < count; i++) {
    struct job_minutes *minutes = wanted->minutes;
    struct job_report *report = minutes->scene->report;
    if (!job_minutes_has (minutes, wanted->node, points[i].time_ns))
      continue;
    if (wanted->tally)
      job_tally_minute (wanted->tally, report, &report->nodes[wanted->node].series[wanted->item], &points[i]);
    else
      take_liveness (wanted, &minutes->lists[wanted->node][tier_minute (points[i].time_ns) - minutes->first],
                     &points[i]);
  }
}

int
job_minutes_read (struct job_minutes *minutes, const char *group, const char *metric, bool rows,
                  const struct points_into *into, struct error *error)
{
  static const struct globs all;
  struct points_query query = { .group = group,
                                .metric = metric,
                                .nodes = &minutes->names,
                                .rows = rows ? &all : NULL,
                                .folded = true,
                                .from_ns = minutes->first * MINUTE_NS,
                                .to_ns = (minutes->first + minutes->count) * MINUTE_NS };
  size_t broken;
  int result = history_points (minutes->scene->file, HISTORY_MINUTES, &query, into, &broken, error);

  for (size_t i = 0; i < minutes->scene->report->node_count && result == 0 && broken; i++)
    job_minutes_give_up (minutes, i, INT64_MAX);
  return result;
}

static int
ask (struct asking *asking, const char *group, const char *metric, bool rows, struct error *error)
{
  const struct points_into into = { asking, take_series, take_points };
  int result;

  asking->wanted = memory_new (2 * asking->minutes->scene->report->node_count, sizeof asking->wanted[0]);
  result = job_minutes_read (asking->minutes, group, metric, rows, &into, error);
  free (asking->wanted);
  return result;
}

static int
compare_samples (const void *one, const void *other)
{
  return (int) *(const uint16_t *) one - (int) *(const uint16_t *) other;
}

/* Of the minutes that have any. */
static uint16_t
usual_samples (const struct job_minutes *minutes, size_t node)
{
  uint16_t *samples = memory_new ((size_t) minutes->count, sizeof *samples), usual;
  size_t known = 0;

  for (int64_t i = 0; i < minutes->count; i++)
    if (minutes->lists[node][i].samples)
      samples[known++] = minutes->lists[node][i].samples;
  qsort (samples, known, sizeof samples[0], compare_samples);
  usual = known ? samples[known / 2] : 0;
  free (samples);
  return usual;
}

/* Those that have fewer samples of the job than others, and those beside one that is closed: the job is there at both ends of
 * what is passed over. */
static void
close_sparse (struct job_minutes *minutes, size_t node)
{
  struct minute *list = minutes->lists[node];
  uint16_t usual = usual_samples (minutes, node);
  bool any = false;

  for (int64_t i = 0; i < minutes->count; i++)
    if (list[i].samples + MISSING < usual || list[i].samples == 0)
      job_minutes_close (minutes, node, minutes->first + i - 1, minutes->first + i + 1);
    else if (i && (list[i].idle != list[i - 1].idle || list[i].used != list[i - 1].used))
      job_minutes_close (minutes, node, minutes->first + i - 1, minutes->first + i);
  minutes->gpus[node] = true;
  for (int64_t i = 0; i < minutes->count; i++) {
    any |= !list[i].closed;
    minutes->gpus[node] &= list[i].closed || list[i].idle;
  }
  if (!any) {
    free (list);
    minutes->lists[node] = NULL;
  }
}

static void
choose_minutes (struct job_minutes *minutes)
{
  size_t nodes = minutes->scene->report->node_count;
  bool failed = false;

  for (int i = 0; i < LIVENESS; i++) {
    struct asking asking = { .minutes = minutes, .liveness = (enum liveness) i };
    failed |= ask (&asking, liveness[i][0], liveness[i][1], true, NULL) < 0;
  }
  for (size_t i = 0; i < nodes; i++) {
    if (failed)
      job_minutes_give_up (minutes, i, INT64_MIN);
    if (minutes->lists[i])
      close_sparse (minutes, i);
  }
}

bool
job_minutes_are_chosen (const struct job_minutes *minutes)
{
  return minutes->chosen;
}

void
job_minutes_look (struct job_minutes *minutes, const struct walk_chunk *chunks, size_t count)
{
  size_t node = count ? minutes->walk->order[chunks[0].node] : 0;

  if (count == 0)
    return;
  minutes->lists[node] = memory_new ((size_t) minutes->count, sizeof (struct minute));
  job_minutes_open (minutes, node, chunks, count);
}

void
job_minutes_choose (struct job_minutes *minutes, struct walk_chunk *chunks, size_t count)
{
  if (!minutes->chosen) {
    choose_minutes (minutes);
    minutes->chosen = true;
    minutes->again = false;
  }
  minutes->chunks = chunks;
  minutes->chunk_count = count;
  minutes->current = count ? minutes->walk->order[chunks[0].node] : SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    int64_t minute = tier_minute (chunks[i].row->first_time), last = tier_minute (chunks[i].row->last_time);
    while (minute <= last && is_open (minutes, minutes->current, minute))
      minute++;
    chunks[i].skipped = minute > last;
  }
}

/* ---- what is added ---- */

static void
add_samples (const struct job_minutes *minutes, size_t node)
{
  struct job_report *report = minutes->scene->report;
  struct job_node *to = &report->nodes[node];

  for (int64_t i = 0; i < minutes->count; i++) {
    const struct minute *minute = &minutes->lists[node][i];
    if (!minute->closed) {
      report->minute_samples += minute->samples;
      to->samples += minute->samples;
      to->shared |= minute->shared;
    }
  }
}

/* Do the minutes add up to what the counter stood at before and behind them? */
static bool
is_whole (const struct job_tally *tally)
{
  double most = fmax (fabs (tally->minutes_change), fabs (tally->passed_change));

  if (tally->minutes && !tally->passed)
    return false;
  return !tally->counted || fabs (tally->minutes_change - tally->passed_change) <= ALIKE * most;
}

int
job_minutes_add (struct job_minutes *minutes, struct job_tally *const *tallies, struct error *error)
{
  size_t nodes = minutes->scene->report->node_count;

  minutes->chunk_count = 0; /* the walk is over */
  for (size_t item = 0; item < JOB_ITEM_COUNT; item++)
    for (int of_job = 0; of_job < 2; of_job++) {
      const char *group = of_job && job_items[item].own ? job_items[item].own : job_items[item].group;
      struct asking asking = { .minutes = minutes, .tallies = tallies, .item = item, .of_job = of_job };
      bool wanted = false;
      for (size_t i = 0; i < nodes; i++)
        wanted |= minutes->lists[i] && tallies[i] && tallies[i][item].metric && tallies[i][item].of_job == of_job;
      if (wanted && !job_item_is_of_gpus (item) && ask (&asking, group, job_items[item].metric, of_job, error) < 0)
        return -1;
    }
  if (job_minutes_add_gpus (minutes, minutes->scene, tallies, error) < 0)
    return -1;
  for (size_t i = 0; i < nodes; i++) {
    if (!minutes->lists[i])
      continue;
    add_samples (minutes, i);
    for (size_t item = 0; tallies[i] && item < JOB_ITEM_COUNT; item++)
      if (!is_whole (&tallies[i][item]))
        job_minutes_give_up (minutes, i, INT64_MAX);
  }
  return 0;
}
