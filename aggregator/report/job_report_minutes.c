/* See job_report_minutes.h. */
#include "aggregator/report/job_report_minutes_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/tier_fold.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define ALIKE 1e-9 /* sums of one change */

struct job_minutes *
job_minutes_create (struct job_scene *scene, const struct job_walk *walk)
{
  const struct job_report *report = scene->report;
  struct job_minutes *minutes;
  int64_t from_ns, to_ns;

  if (!history_points_range (scene->file, HISTORY_MINUTES, &from_ns, &to_ns) || from_ns >= report->until_ns ||
      to_ns <= report->started_ns)
    return NULL;
  minutes = memory_new (1, sizeof *minutes);
  *minutes = (struct job_minutes){
    .scene = scene, .walk = walk, .first = tier_minute (report->started_ns), .is_long = job_is_long (report)
  };
  minutes->count = tier_minute (report->until_ns) - minutes->first + 1;
  minutes->nodes = memory_new (report->node_count, sizeof minutes->nodes[0]);
  minutes->adopted = memory_new (JOB_ITEM_COUNT, sizeof minutes->adopted[0]);
  return minutes;
}

void
job_minutes_destroy (struct job_minutes *minutes)
{
  if (!minutes)
    return;
  for (size_t i = 0; i < minutes->scene->report->node_count; i++)
    free (minutes->nodes[i].list);
  free (minutes->nodes);
  free (minutes->adopted);
  free (minutes);
}

/* ---- questions ---- */

/* NULL: its frames are read. */
static const struct minute *
find_open (const struct job_minutes *minutes, size_t node, int64_t minute)
{
  const struct minute *list = minutes->nodes[node].list;
  bool within = list && minute >= minutes->first && minute < minutes->first + minutes->count;

  return within && !list[minute - minutes->first].closed ? &list[minute - minutes->first] : NULL;
}

void
job_minutes_close (const struct job_minutes *minutes, size_t node, int64_t from, int64_t to)
{
  int64_t last = minutes->first + minutes->count - 1;

  for (int64_t i = from < minutes->first ? minutes->first : from; i <= to && i <= last; i++)
    minutes->nodes[node].list[i - minutes->first].closed = true;
}

bool
job_minutes_any (const struct job_minutes *minutes, size_t node)
{
  return minutes && minutes->nodes[node].list;
}

bool
job_minutes_bare (const struct job_minutes *minutes, size_t node)
{
  return job_minutes_any (minutes, node) && minutes->nodes[node].bare;
}

bool
job_minutes_has (const struct job_minutes *minutes, size_t node, int64_t time_ns)
{
  return minutes && find_open (minutes, node, tier_minute (time_ns));
}

bool
job_minutes_take (const struct job_minutes *minutes, size_t node, const struct history_point *point)
{
  const struct minute *minute = find_open (minutes, node, tier_minute (point->time_ns));

  return minute && (minute->hour != NOT_IN_HOUR) == (point->span_ns > MINUTE_NS);
}

double
job_minutes_period (const struct job_minutes *minutes, size_t node, int64_t time_ns)
{
  const struct node_minutes *of = &minutes->nodes[node];

  return tier_minute (time_ns) - minutes->first < of->bare ? of->period : 0;
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
    if (find_open (minutes, node, from))
      return true;
  return false;
}

bool
job_minutes_have_gpus (const struct job_minutes *minutes, size_t node)
{
  return !job_minutes_any (minutes, node) || minutes->nodes[node].gpus;
}

void
job_minutes_give_up (struct job_minutes *minutes, size_t node, int64_t time_ns)
{
  struct node_minutes *of = minutes ? &minutes->nodes[node] : NULL;

  if (!of || !of->list || of->given_up)
    return;
  of->given_up = true;
  minutes->again |= job_minutes_between (minutes, node, (minutes->first + of->bare) * MINUTE_NS, time_ns);
  for (size_t i = 0; node == minutes->current && i < minutes->chunk_count; i++)
    minutes->chunks[i].skipped = false;
  job_minutes_close (minutes, node, minutes->first + of->bare, INT64_MAX);
  if (of->bare)
    return;
  free (of->list);
  of->list = NULL;
}

bool
job_minutes_again (struct job_minutes *minutes)
{
  bool again = minutes && minutes->again;

  if (minutes)
    minutes->again = false;
  return again;
}

/* ---- what is asked for ---- */

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

/* A quantity that no frame of the node had, since they are deleted. */
static bool
adopt (const struct asking *asking, size_t node, struct job_tally *tally, const struct metric *metric)
{
  struct metric *adopted = &asking->minutes->adopted[asking->item];
  struct job_report *report = asking->minutes->scene->report;

  if (!asking->minutes->nodes[node].bare)
    return false;
  if (!adopted->name) {
    *adopted = *metric;
    adopted->name = job_items[asking->item].metric;
    adopted->help = "";
  }
  tally->metric = adopted;
  tally->of_job = asking->of_job;
  report->whole_gpus |= job_item_is_of_gpus (asking->item);
  report->whole_flops |= job_item_is_of_flops (asking->item) && !asking->of_job;
  return true;
}

/* Of GPUs those that frames had are added by themselves. */
static bool
is_tallied (const struct asking *asking, size_t node, struct job_tally *tally, const struct metric *metric)
{
  if (!tally->metric && !adopt (asking, node, tally, metric))
    return false;
  if (job_item_is_of_gpus (asking->item) && tally->metric != &asking->minutes->adopted[asking->item])
    return false;
  return tally->of_job == asking->of_job && tally->metric->kind == metric->kind &&
         !((tally->metric->flags ^ metric->flags) & METRIC_SHARE);
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

  if (node == SIZE_MAX || !minutes->nodes[node].list || (asking->tallies && !asking->tallies[node]))
    return NULL;
  if (asking->tallies) {
    wanted.tally = &asking->tallies[node][asking->item];
    if (own != asking->of_job || !is_tallied (asking, node, wanted.tally, metric))
      return NULL;
  }
  asking->wanted[2 * node + own] = wanted;
  return &asking->wanted[2 * node + own];
}

/* Of minutes without frames: behind a gap the first change of a counter covers the gap, it is no rate; and gauges of processes
 * that are gone mean nothing. */
static void
tally_point (const struct wanted *wanted, const struct history_point *point)
{
  const struct node_minutes *of = &wanted->minutes->nodes[wanted->node];
  struct job_report *report = wanted->minutes->scene->report;
  int64_t index = tier_minute (point->time_ns) - wanted->minutes->first;
  bool bare = index < of->bare;

  if (bare && of->list[index].gone && job_tally_is_of_processes (wanted->item, wanted->tally->metric, point->max))
    return;
  if (bare && index > 0 && of->list[index - 1].samples == 0)
    job_tally_gap (wanted->tally, point);
  else
    job_tally_minute (wanted->tally, report, &report->nodes[wanted->node].series[wanted->item], point,
                      job_minutes_period (wanted->minutes, wanted->node, point->time_ns));
}

static void
take_points (void *context, void *series, const struct history_point *points, size_t count)
{
  const struct wanted *wanted = series;

  (void) context;
  for (size_t i = 0; wanted && i < count; i++) {
    if (!job_minutes_take (wanted->minutes, wanted->node, &points[i]))
      continue;
    if (wanted->tally)
      tally_point (wanted, &points[i]);
    else
      job_minutes_take_liveness (wanted, &points[i]);
  }
}

/* ---- reading ---- */

struct part {
  const struct job_minutes *minutes;
  bool hours;
};

static bool
wants (const void *context, const char *name, int64_t from_ns, int64_t to_ns)
{
  const struct part *part = context;
  size_t node = job_minutes_node (part->minutes, name);

  for (int64_t minute = tier_minute (from_ns); node != SIZE_MAX && minute < tier_minute (to_ns); minute++) {
    const struct minute *open = find_open (part->minutes, node, minute);
    if (open && (open->hour != NOT_IN_HOUR) == part->hours)
      return true;
  }
  return false;
}

static int
read_tier (struct job_minutes *minutes, enum history_tier tier, const char *group, const char *metric, bool rows,
           const struct points_into *into, struct error *error)
{
  static const struct globs all;
  const struct part part = { minutes, tier == HISTORY_HOURS };
  const struct points_query query = { .group = group,
                                      .metric = metric,
                                      .rows = rows ? &all : NULL,
                                      .folded = true,
                                      .from_ns = minutes->first * MINUTE_NS,
                                      .to_ns = (minutes->first + minutes->count) * MINUTE_NS,
                                      .wants = wants,
                                      .wants_context = &part };
  size_t broken;
  int result = history_points (minutes->scene->file, tier, &query, into, &broken, error);

  for (size_t i = 0; i < minutes->scene->report->node_count && result == 0 && broken; i++)
    job_minutes_give_up (minutes, i, INT64_MAX);
  return result;
}

int
job_minutes_read (struct job_minutes *minutes, const char *group, const char *metric, bool rows,
                  const struct points_into *into, struct error *error)
{
  if (job_is_of_hours (minutes->scene->report) &&
      read_tier (minutes, HISTORY_HOURS, group, metric, rows, into, error) < 0)
    return -1;
  return read_tier (minutes, HISTORY_MINUTES, group, metric, rows, into, error);
}

int
job_minutes_ask (struct job_minutes *minutes, enum history_tier tier, enum liveness liveness, struct error *error)
{
  static const char *const names[LIVENESS][2] = { { "job_cpu", "user_time" }, { "job_processes", "processes" },
                                                  { "job_gpu", "gpus_idle" }, { "job_gpu", "gpus_used" },
                                                  { "gpu", "xid_errors" },    { "job_cpu", "cpus" } };
  struct asking asking = { .minutes = minutes, .liveness = liveness };
  const struct points_into into = { &asking, take_series, take_points };
  int result;

  asking.wanted = memory_new (2 * minutes->scene->report->node_count, sizeof asking.wanted[0]);
  result = read_tier (minutes, tier, names[liveness][0], names[liveness][1], true, &into, error);
  free (asking.wanted);
  return result;
}

/* ---- chunks ---- */

bool
job_minutes_are_chosen (const struct job_minutes *minutes)
{
  return minutes->chosen;
}

void
job_minutes_look (struct job_minutes *minutes, size_t walked, const struct walk_chunk *chunks, size_t count)
{
  size_t node = minutes->walk->order[walked];
  struct node_minutes *of = &minutes->nodes[node];

  of->bare = job_minutes_without_chunks (minutes, chunks, count);
  of->unread = count == 0;
  of->given_up = !minutes->is_long;
  if (!of->bare && !minutes->is_long)
    return;
  of->list = memory_new ((size_t) minutes->count, sizeof (struct minute));
  if (count && minutes->is_long)
    job_minutes_open (minutes, node, chunks, count);
  else
    job_minutes_close (minutes, node, minutes->first, INT64_MAX);
  for (int64_t i = 0; i < of->bare; i++)
    of->list[i].closed = false;
}

void
job_minutes_choose (struct job_minutes *minutes, size_t walked, struct walk_chunk *chunks, size_t count)
{
  size_t node = minutes->walk->order[walked];

  if (!minutes->chosen) {
    job_minutes_choose_all (minutes);
    minutes->chosen = true;
    minutes->again = false;
  }
  minutes->chunks = chunks;
  minutes->chunk_count = count;
  minutes->current = node;
  for (size_t i = 0; i < count; i++) {
    int64_t minute = tier_minute (chunks[i].row->first_time), last = tier_minute (chunks[i].row->last_time);
    while (minute <= last && find_open (minutes, node, minute))
      minute++;
    chunks[i].skipped = minute > last;
  }
  job_minutes_begin_bare (minutes, node);
}

/* ---- what is added ---- */

static void
add_samples (const struct job_minutes *minutes, size_t node)
{
  struct job_report *report = minutes->scene->report;
  struct job_node *to = &report->nodes[node];

  for (int64_t i = 0; i < minutes->count; i++) {
    const struct minute *minute = &minutes->nodes[node].list[i];
    if (minute->closed)
      continue;
    report->minute_samples += minute->samples;
    report->hour_samples += minute->hour ? minute->samples : 0;
    report->bare_samples += i < minutes->nodes[node].bare ? minute->samples : 0;
    to->samples += minute->samples;
    to->shared |= minute->shared;
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

/* Is that quantity of the job, or of the node, wanted of some node? */
static bool
is_wanted (const struct job_minutes *minutes, struct job_tally *const *tallies, size_t item, bool of_job)
{
  bool may_be = of_job ? job_items[item].of_job || job_items[item].own : !job_items[item].of_job;

  for (size_t i = 0; i < minutes->scene->report->node_count && may_be; i++) {
    const struct job_tally *tally = minutes->nodes[i].list && tallies[i] ? &tallies[i][item] : NULL;
    if (tally && (tally->metric ? tally->of_job == of_job && !job_item_is_of_gpus (item) : minutes->nodes[i].bare > 0))
      return true;
  }
  return false;
}

/* The job's own first: what it has not itself is of the node. */
static int
add_item (struct job_minutes *minutes, struct job_tally *const *tallies, size_t item, struct error *error)
{
  int result = 0;

  for (int of_job = 1; of_job >= 0 && result == 0; of_job--) {
    const char *group = of_job && job_items[item].own ? job_items[item].own : job_items[item].group;
    struct asking asking = { .minutes = minutes, .tallies = tallies, .item = item, .of_job = of_job };
    const struct points_into into = { &asking, take_series, take_points };
    if (!is_wanted (minutes, tallies, item, of_job))
      continue;
    asking.wanted = memory_new (2 * minutes->scene->report->node_count, sizeof asking.wanted[0]);
    result = job_minutes_read (minutes, group, job_items[item].metric, of_job, &into, error);
    free (asking.wanted);
  }
  return result;
}

int
job_minutes_add (struct job_minutes *minutes, struct job_tally **tallies, struct error *error)
{
  size_t nodes = minutes->scene->report->node_count;

  minutes->chunk_count = 0; /* the walk is over */
  for (size_t i = 0; i < nodes; i++)
    if (minutes->nodes[i].list && !tallies[i])
      tallies[i] = memory_new (JOB_ITEM_COUNT, sizeof tallies[i][0]);
  if (job_minutes_add_gpus (minutes, minutes->scene, tallies, error) < 0)
    return -1;
  for (size_t item = 0; item < JOB_ITEM_COUNT; item++)
    if (add_item (minutes, tallies, item, error) < 0)
      return -1;
  if (minutes->scene->report->bare && job_minutes_ask (minutes, HISTORY_MINUTES, CPUS, error) < 0)
    return -1;
  for (size_t i = 0; i < nodes; i++) {
    if (!minutes->nodes[i].list)
      continue;
    add_samples (minutes, i);
    for (size_t item = 0; tallies[i] && item < JOB_ITEM_COUNT; item++)
      if (!is_whole (&tallies[i][item]))
        job_minutes_give_up (minutes, i, INT64_MAX);
  }
  return 0;
}
