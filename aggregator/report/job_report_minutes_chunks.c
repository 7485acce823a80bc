/* Which minutes of a node the times and numbers of its chunks close, see job_report_minutes.h. */
#include <stdlib.h>

#include "aggregator/history/tier_fold.h"
#include "aggregator/report/job_report_minutes_private.h"
#include "synop/memory.h"

#define LATE 1.0 /* periods that a chunk may last longer than its frames */

static void
close_times (const struct job_minutes *minutes, size_t node, int64_t from_ns, int64_t to_ns)
{
  job_minutes_close (minutes, node, tier_minute (from_ns), tier_minute (to_ns));
}

static int
compare_reals (const void *one, const void *other)
{
  double a = *(const double *) one, b = *(const double *) other;

  return a < b ? -1 : a > b;
}

/* The usual time from one frame to the next, in ns; 0: not known. */
static double
usual_period (const struct walk_chunk *chunks, size_t count)
{
  double *periods = memory_new (count, sizeof *periods), usual;
  size_t known = 0;

  for (size_t i = 0; i < count; i++)
    if (chunks[i].row->last > chunks[i].row->first)
      periods[known++] = (double) (chunks[i].row->last_time - chunks[i].row->first_time) /
                         (double) (chunks[i].row->last - chunks[i].row->first);
  qsort (periods, known, sizeof periods[0], compare_reals);
  usual = known ? periods[known / 2] : 0;
  free (periods);
  return usual;
}

/* Frames that came late, behind later ones, and the first behind them: they are not compared with what is before them. */
static void
close_late (const struct job_minutes *minutes, size_t node, const struct walk_chunk *chunks, size_t count)
{
  int64_t number = INT64_MAX; /* the lowest of all that follow */

  for (size_t i = count; i-- > 0;) {
    const struct chunk_row *row = chunks[i].row;
    if (row->last_number > number)
      close_times (minutes, node, row->first_time, chunks[i + 1].row->first_time);
    number = row->first_number < number ? row->first_number : number;
  }
}

/* Where a session ends, frames were lost, or clocks were set back. */
static void
close_between (const struct job_minutes *minutes, size_t node, const struct chunk_row *before,
               const struct chunk_row *row, double period)
{
  if (row->session != before->session || row->first != before->last + 1 || row->first_time <= before->last_time ||
      (double) (row->first_time - before->last_time) > (1 + LATE) * period) {
    close_times (minutes, node, before->last_time, row->first_time);
    close_times (minutes, node, row->first_time, before->last_time);
  }
}

int64_t
job_minutes_without_chunks (const struct job_minutes *minutes, const struct walk_chunk *chunks, size_t count)
{
  int64_t first_ns = INT64_MAX;

  for (size_t i = 0; i < count; i++)
    first_ns = chunks[i].row->first_time < first_ns ? chunks[i].row->first_time : first_ns;
  if (first_ns <= minutes->scene->report->started_ns)
    return 0;
  return tier_minute (first_ns) < minutes->first + minutes->count ? tier_minute (first_ns) - minutes->first + 1
                                                                  : minutes->count;
}

void
job_minutes_open (const struct job_minutes *minutes, size_t node, const struct walk_chunk *chunks, size_t count)
{
  const struct job_report *report = minutes->scene->report;
  double period = usual_period (chunks, count);

  close_times (minutes, node, INT64_MIN, chunks[0].row->first_time);
  close_times (minutes, node, INT64_MIN, report->started_ns);
  close_times (minutes, node, INT64_MIN, report->after_ns);
  close_times (minutes, node, chunks[count - 1].row->last_time, INT64_MAX);
  close_times (minutes, node, report->until_ns, INT64_MAX);
  close_late (minutes, node, chunks, count);
  for (size_t i = 0; i < count; i++) {
    const struct chunk_row *row = chunks[i].row;
    if ((double) (row->last_time - row->first_time) > ((double) (row->last - row->first) + LATE) * period)
      close_times (minutes, node, row->first_time, row->last_time);
    if (i)
      close_between (minutes, node, chunks[i - 1].row, row, period);
  }
}
