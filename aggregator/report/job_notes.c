/* The notes of a job, see job_advice.h: each function looks for one fault, in the order of how bad they are. What went
 * wrong, here, is noted of any job; what was not used, job_notes_use.c, of those that ran long enough. */
#include <math.h>
#include <stdlib.h>

#include "aggregator/report/job_gpu_list.h"
#include "aggregator/report/job_notes_private.h"
#include "aggregator/report/job_request.h"
#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define NAMES_LENGTH 60
#define SWAP_LEAST (64 << 20) /* bytes */
#define MORE_MEMORY 1.5       /* times, of a job that had too little */

void
note_add (struct noting *noting, const char *name)
{
  struct job_report *report = noting->report;

  if (report->note_count < JOB_NOTES_MAX) {
    report->notes = memory_resize (report->notes, report->note_count + 1, sizeof report->notes[0]);
    report->notes[report->note_count++] = (struct job_note){ name, memory_string (buffer_text (&noting->text)),
                                                             memory_string (buffer_text (&noting->advice)),
                                                             memory_string (buffer_text (&noting->write)) };
  }
  buffer_clear (&noting->text);
  buffer_clear (&noting->advice);
  buffer_clear (&noting->write);
}

size_t
note_choose (struct noting *noting, bool (*is) (const struct job_node *node))
{
  size_t count = 0;

  for (size_t i = 0; i < noting->report->node_count; i++) {
    noting->chosen[i] = is (&noting->report->nodes[i]);
    count += noting->chosen[i];
  }
  return count;
}

void
note_put_chosen (struct buffer *to, const struct noting *noting)
{
  words_nodes (to, noting->report, noting->chosen, NAMES_LENGTH);
}

const char *
note_each (const struct noting *noting)
{
  return noting->report->node_count > 1 ? " on each node" : "";
}

/* ---- what went wrong ---- */

static bool
was_killed (const struct job_node *node)
{
  return node->series[JOB_OOM_KILLS].total > 0;
}

static bool
ran_out_of_memory (const struct job_report *report)
{
  return report->facts.known && report->facts.outcome == JOB_OUTCOME_OUT_OF_MEMORY;
}

/* The kernel counts the processes that it killed; where it does not, the scheduler says how the job ended. */
static void
note_killed (struct noting *noting)
{
  const struct job_report *report = noting->report;
  double killed = report->all[JOB_OOM_KILLS].total, limit = nan (""), peak = nan ("");
  size_t nodes = note_choose (noting, was_killed);

  if (nodes == 0 && !ran_out_of_memory (report))
    return;
  for (size_t i = 0; i < report->node_count; i++)
    if (noting->chosen[i] || nodes == 0) {
      limit = fmax (limit, job_memory_given (report, i));
      peak = fmax (peak, report->nodes[i].series[JOB_MEMORY_PEAK].maximum);
    }
  if (nodes) {
    buffer_printf (&noting->text, "%.0f %s killed for want of memory, on ", killed,
                   killed > 1 ? "processes were" : "process was");
    note_put_chosen (&noting->text, noting);
  } else {
    buffer_add_string (&noting->text, "It was killed for want of memory");
  }
  if (!isnan (limit))
    buffer_printf (&noting->text, ": it had %s%s", words_value (limit, "B").text, note_each (noting));
  buffer_add_string (&noting->text, ".");
  limit = isnan (limit) ? peak : limit;
  if (isnan (limit)) {
    buffer_add_string (&noting->advice, "Ask for more memory");
  } else {
    buffer_printf (&noting->advice, "Ask for more, %s%s for a start",
                   words_value (job_request_rounded (limit * MORE_MEMORY), "B").text, note_each (noting));
    job_request_memory (&noting->write, report, limit * MORE_MEMORY);
  }
  note_add (noting, "killed_for_memory");
}

static void
note_timeout (struct noting *noting)
{
  const struct job_report *report = noting->report;
  double limit = report->facts.known ? report->facts.numbers[JOB_FACT_TIME_LIMIT] : nan ("");

  if (!report->facts.known || report->facts.outcome != JOB_OUTCOME_TIMEOUT)
    return;
  buffer_add_string (&noting->text, "It was not done when its time was over");
  if (!isnan (limit))
    buffer_printf (&noting->text, ", %s", words_duration (limit).text);
  buffer_add_string (&noting->text, ".");
  buffer_add_string (&noting->advice, "Ask for more time, or have it save its state and go on from there");
  if (!isnan (limit))
    job_request_time (&noting->write, report, limit * NOTE_MORE_TIME);
  note_add (noting, "timeout");
}

static bool
was_lost (const struct job_node *node)
{
  return node->lost;
}

static void
note_lost (struct noting *noting)
{
  const struct job_report *report = noting->report;
  size_t count = note_choose (noting, was_lost);
  int64_t last = INT64_MAX;

  if (count == 0 && !(report->facts.known && report->facts.outcome == JOB_OUTCOME_NODE_FAIL))
    return;
  for (size_t i = 0; i < report->node_count; i++)
    if (noting->chosen[i] && report->nodes[i].samples && report->nodes[i].last_ns < last)
      last = report->nodes[i].last_ns;
  if (count) {
    note_put_chosen (&noting->text, noting);
    buffer_printf (&noting->text, " %s lost while the job ran", count > 1 ? "were" : "was");
  } else {
    buffer_add_string (&noting->text, "A node failed while the job ran");
  }
  if (last != INT64_MAX)
    buffer_printf (&noting->text, ", %s %s", count > 1 ? "the first one at" : "at", words_clock (last).text);
  buffer_add_string (&noting->text, ".");
  buffer_printf (&noting->advice, "Report it to the operators, and submit the job again%s",
                 count > 1    ? " without them"
                 : count == 1 ? " without it"
                              : "");
  job_request_without (&noting->write, report, noting->chosen);
  note_add (noting, "lost_nodes");
}

static bool
has_xids (const struct job_node *node)
{
  for (size_t i = 0; i < node->gpu_count; i++)
    if (gpu_has_xids (&node->gpus[i]))
      return true;
  return false;
}

static void
note_xids (struct noting *noting)
{
  if (note_choose (noting, has_xids) == 0)
    return;
  buffer_add_string (&noting->text, "The driver reported errors (XIDs) of ");
  gpu_list_names (&noting->text, noting->report, gpu_has_xids);
  buffer_add_string (&noting->text, ".");
  buffer_add_string (&noting->advice, "Report it to the operators, and leave the node out until they have looked");
  job_request_without (&noting->write, noting->report, noting->chosen);
  note_add (noting, "gpu_errors");
}

bool
note_has_swapped (const struct job_node *node)
{
  return node->series[JOB_SWAP].maximum >= SWAP_LEAST;
}

static void
note_swap (struct noting *noting)
{
  double most = 0, needed = 0;

  if (note_choose (noting, note_has_swapped) == 0)
    return;
  for (size_t i = 0; i < noting->report->node_count; i++) {
    const struct job_series *series = noting->report->nodes[i].series;
    if (!noting->chosen[i])
      continue;
    most = fmax (most, series[JOB_SWAP].maximum);
    needed = fmax (needed, series[JOB_SWAP].maximum + fmax (series[JOB_MEMORY].maximum, 0));
  }
  needed *= 1 + (double) noting->limits->margin / 100;
  buffer_printf (&noting->text, "Its memory did not suffice: up to %s of it lay in swap on ",
                 words_value (most, "B").text);
  note_put_chosen (&noting->text, noting);
  buffer_printf (&noting->text, ", which is slow.");
  buffer_printf (&noting->advice, "Ask for %s%s", words_value (job_request_rounded (needed), "B").text,
                 note_each (noting));
  job_request_memory (&noting->write, noting->report, needed);
  note_add (noting, "swap");
}

/* ---- */

void
job_notes_make (struct job_report *report, const struct advice_limits *limits)
{
  struct noting noting = { .report = report, .limits = limits };
  bool killed;

  noting.chosen = memory_new (report->node_count, sizeof noting.chosen[0]);
  killed = note_choose (&noting, was_killed) > 0 || ran_out_of_memory (report);
  note_killed (&noting);
  note_timeout (&noting);
  note_lost (&noting);
  note_xids (&noting);
  note_swap (&noting);
  if (report->until_ns - report->started_ns >= limits->shortest_ns)
    note_use (&noting, killed);
  free (noting.chosen);
  buffer_free (&noting.text);
  buffer_free (&noting.advice);
  buffer_free (&noting.write);
}
