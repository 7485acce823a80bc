/* Which minutes of a node are like any other, by what they have: see job_report_minutes.h. */
#include <math.h>
#include <stdlib.h>

#include "aggregator/history/tier_fold.h"
#include "aggregator/report/job_report_minutes_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define MISSING 1 /* samples: a minute may have fewer than others by when it begins */
#define SAMPLES_MAX UINT16_MAX

/* ---- what they have ---- */

/* The number, if it is the same all along. */
static uint8_t
take_count (struct minute *minute, const struct history_point *point)
{
  minute->closed |= point->max > point->min;
  return point->min >= 0 && point->min < UINT8_MAX ? (uint8_t) (point->min + 1) : 0;
}

/* Does an hour have what its minutes have? */
static void
take_hour (struct minute *minutes, const struct history_point *point)
{
  uint64_t samples = 0;

  for (size_t i = 0; i < HOUR_MINUTES; i++)
    samples += minutes[i].samples;
  for (size_t i = 0; i < HOUR_MINUTES && samples == point->count; i++)
    minutes[i].hour = IN_HOUR;
}

void
job_minutes_take_liveness (const struct wanted *wanted, const struct history_point *point)
{
  const struct node_minutes *of = &wanted->minutes->nodes[wanted->node];
  int64_t index = tier_minute (point->time_ns) - wanted->minutes->first;
  struct job_node *node = &wanted->minutes->scene->report->nodes[wanted->node];
  struct minute *minute = &of->list[index];

  switch (wanted->liveness) {
  case SAMPLES:
    if (!wanted->of_job)
      minute->shared = true;
    else if (minute->hour)
      take_hour (minute, point);
    else
      minute->samples = point->count < SAMPLES_MAX ? (uint16_t) point->count : SAMPLES_MAX;
    return;
  case PROCESSES:
    minute->gone |= wanted->of_job && point->min <= 0;
    minute->closed |= minute->gone;
    return;
  case IDLE_GPUS:
  case USED_GPUS:
    if (wanted->of_job)
      *(wanted->liveness == IDLE_GPUS ? &minute->idle : &minute->used) = take_count (minute, point);
    return;
  case GPU_ERRORS:
    minute->closed |= point->sum > 0;
    return;
  case CPUS:
    if (wanted->of_job && index < of->bare && isnan (node->cpus) && point->max > 0)
      node->cpus = point->max;
    return;
  case LIVENESS:
    return;
  }
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
    if (minutes->nodes[node].list[i].samples)
      samples[known++] = minutes->nodes[node].list[i].samples;
  qsort (samples, known, sizeof samples[0], compare_samples);
  usual = known ? samples[known / 2] : 0;
  free (samples);
  return usual;
}

/* ---- which are read ---- */

/* Those that have fewer samples of the job than others, and those beside one that is closed: the job is there at both ends of
 * what is passed over. */
static void
close_sparse (struct job_minutes *minutes, size_t node, uint16_t usual)
{
  struct minute *list = minutes->nodes[node].list;

  for (int64_t i = 0; i < minutes->count; i++)
    if (list[i].samples + MISSING < usual || list[i].samples == 0)
      job_minutes_close (minutes, node, minutes->first + i - 1, minutes->first + i + 1);
    else if (i && (list[i].idle != list[i - 1].idle || list[i].used != list[i - 1].used))
      job_minutes_close (minutes, node, minutes->first + i - 1, minutes->first + i);
}

/* Minutes without frames are read. If they have no samples, the node came later. In the last one the first frames
 * lie that are left: if it has not all of them, they are read. */
static void
open_bare (struct job_minutes *minutes, size_t node, uint16_t usual)
{
  struct node_minutes *of = &minutes->nodes[node];
  int64_t deleted = of->unread ? of->bare : of->bare - 1;
  uint64_t samples = 0;
  double full = 0, of_full = 0;

  for (int64_t i = 0; i < deleted; i++)
    samples += of->list[i].samples;
  job_minutes_close (minutes, node, minutes->first, minutes->first + of->bare);
  if (samples == 0)
    of->bare = 0;
  else if (!of->unread && of->list[deleted].samples + MISSING < usual)
    of->bare = deleted;
  for (int64_t i = 0; i < of->bare; i++) {
    of->list[i].closed = false;
    if (of->list[i].samples + MISSING >= usual) {
      full++;
      of_full += of->list[i].samples;
    }
  }
  of->period = of_full > 0 ? 60 * full / of_full : 60;
}

/* Hours all of whose minutes are read; not such without frames behind a gap. */
static bool
find_hours (const struct job_minutes *minutes, const struct node_minutes *of)
{
  int64_t first = (HOUR_MINUTES - minutes->first % HOUR_MINUTES) % HOUR_MINUTES;
  bool any = false;

  for (int64_t hour = first; hour + HOUR_MINUTES <= minutes->count; hour += HOUR_MINUTES) {
    bool whole = hour >= of->bare || (hour + HOUR_MINUTES <= of->bare && (hour == 0 || of->list[hour - 1].samples));
    for (int64_t i = hour; i < hour + HOUR_MINUTES && whole; i++)
      whole = !of->list[i].closed && !of->list[i].gone && of->list[i].samples;
    for (int64_t i = hour; i < hour + HOUR_MINUTES && whole; i++)
      of->list[i].hour = MAYBE_IN_HOUR;
    any |= whole;
  }
  return any;
}

static void
choose_hours (struct job_minutes *minutes)
{
  size_t nodes = minutes->scene->report->node_count;
  bool any = false, failed;

  for (size_t i = 0; i < nodes; i++)
    any |= minutes->nodes[i].list && find_hours (minutes, &minutes->nodes[i]);
  failed = any && job_minutes_ask (minutes, HISTORY_HOURS, SAMPLES, NULL) < 0;
  for (size_t i = 0; i < nodes; i++)
    for (int64_t k = 0; minutes->nodes[i].list && k < minutes->count; k++)
      if (failed || minutes->nodes[i].list[k].hour == MAYBE_IN_HOUR)
        minutes->nodes[i].list[k].hour = NOT_IN_HOUR;
}

static void
choose_of_node (struct job_minutes *minutes, size_t node)
{
  struct node_minutes *of = &minutes->nodes[node];
  uint16_t usual = usual_samples (minutes, node);
  bool any = false;

  close_sparse (minutes, node, usual);
  if (of->bare)
    open_bare (minutes, node, usual);
  of->gpus = true;
  for (int64_t i = 0; i < minutes->count; i++) {
    any |= !of->list[i].closed;
    of->gpus &= of->list[i].closed || i < of->bare || of->list[i].idle;
  }
  if (!any) {
    free (of->list);
    of->list = NULL;
  }
  minutes->scene->report->bare |= of->list && of->bare;
}

void
job_minutes_choose_all (struct job_minutes *minutes)
{
  bool any = false, failed = false;

  for (size_t i = 0; i < minutes->scene->report->node_count; i++)
    any |= minutes->nodes[i].list != NULL;
  for (int i = SAMPLES; any && i <= GPU_ERRORS; i++)
    failed |= job_minutes_ask (minutes, HISTORY_MINUTES, (enum liveness) i, NULL) < 0;
  for (size_t i = 0; i < minutes->scene->report->node_count; i++) {
    if (failed) {
      free (minutes->nodes[i].list);
      minutes->nodes[i].list = NULL;
    }
    if (minutes->nodes[i].list)
      choose_of_node (minutes, i);
  }
  if (job_is_of_hours (minutes->scene->report))
    choose_hours (minutes);
}

void
job_minutes_begin_bare (const struct job_minutes *minutes, size_t node)
{
  const struct job_report *report = minutes->scene->report;
  const struct node_minutes *of = &minutes->nodes[node];
  struct job_watch *watch = &minutes->scene->watches[node];

  for (int64_t i = 0; of->list && i < of->bare; i++) {
    int64_t from_ns = (minutes->first + i) * MINUTE_NS, to_ns = from_ns + MINUTE_NS;
    if (of->list[i].samples == 0)
      continue;
    from_ns = from_ns > report->started_ns ? from_ns : report->started_ns;
    if (watch->first_ns == INT64_MIN)
      watch->first_ns = from_ns;
    else
      job_report_add_gap (&report->nodes[node], watch->last_ns, from_ns); /* if there is one */
    watch->last_ns = report->nodes[node].last_ns = to_ns < report->until_ns ? to_ns : report->until_ns;
    watch->period_ns = (int64_t) (of->period * NS_PER_S);
    watch->bare = true;
  }
}
