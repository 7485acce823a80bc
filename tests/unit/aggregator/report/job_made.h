/* Reports that are made by hand, and all of their notes, whole, word by word: each line of what is expected is a note,
 * "name: text|advice|write". */
#ifndef SYNOP_TESTS_JOB_MADE_H
#define SYNOP_TESTS_JOB_MADE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_advice.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define GIB 1073741824.0
#define NODES 4
#define GPUS 2
#define STARTED (INT64_C (1795271520) * NS_PER_S) /* 2026-11-21 14:32:00 UTC */

struct made {
  struct job_report report;
  struct job_node nodes[NODES];
  struct job_series series[NODES + 1][JOB_ITEM_COUNT]; /* all together behind */
  struct report_gpu gpus[NODES][GPUS];
};

static inline struct job_gpu_mean
mean_of (double value)
{
  return (struct job_gpu_mean){ .sum = 100 * value, .highest = value, .count = 100 };
}

static inline void
set (struct made *made, size_t node, enum job_item_id item, double value)
{
  made->series[node][item] =
      (struct job_series){ .known = true, .total = value, .mean = value, .minimum = value / 4, .maximum = value };
}

static inline void
set_all (struct made *made, enum job_item_id item, double value)
{
  for (size_t i = 0; i <= NODES; i++)
    set (made, i, item, value);
}

/* Two hours on two of its nodes with 8 CPUs each, at 90 %; no memory is asked for, and nothing of the scheduler is known. */
static inline struct made *
make (void)
{
  struct made *made = memory_new (1, sizeof *made);

  for (size_t i = 0; i <= NODES; i++)
    for (size_t k = 0; k < JOB_ITEM_COUNT; k++)
      made->series[i][k] = (struct job_series){ false, nan (""), nan (""), nan (""), nan (""), NULL, NULL };
  for (size_t i = 0; i < NODES; i++) {
    static const char *const names[] = { "n1", "n2", "n3", "n4" };
    made->nodes[i] = (struct job_node){ .name = names[i],
                                        .cpus = 8,
                                        .samples = 100,
                                        .last_ns = STARTED + (int64_t) (60 * (NODES - i)) * NS_PER_S,
                                        .series = made->series[i],
                                        .gpus = made->gpus[i] };
    made->nodes[i].peaks = (struct job_peaks){ nan (""), nan (""), nan (""), 1e9, 4e9 };
    for (size_t k = 0; k < GPUS; k++)
      made->gpus[i][k] = (struct report_gpu){ .label = { (char) ('0' + k) },
                                              .type = "Tesla T4",
                                              .samples = 100,
                                              .memory_total = nan (""),
                                              .utilization = mean_of (80) };
  }
  made->report = (struct job_report){ .scheduler = "slurm",
                                      .nodes = made->nodes,
                                      .node_count = 2,
                                      .all = made->series[NODES],
                                      .cpus = 16,
                                      .cpu_efficiency = 90,
                                      .slowest = SIZE_MAX,
                                      .started_ns = STARTED,
                                      .until_ns = STARTED + 7200 * NS_PER_S };
  for (size_t i = 0; i < JOB_FACT_NUMBERS; i++)
    made->report.facts.numbers[i] = nan ("");
  set_all (made, JOB_CPU_USAGE, 90);
  set_all (made, JOB_THREADS, 16);
  return made;
}

static inline void
check (struct made *made, const char *expected)
{
  struct buffer found = { 0 };

  job_advice (&made->report, &advice_limits_default);
  for (size_t i = 0; i < made->report.note_count; i++) {
    const struct job_note *note = &made->report.notes[i];
    buffer_printf (&found, "%s: %s|%s|%s\n", note->name, note->text, note->advice, note->write);
  }
  assert_string_equal (buffer_text (&found), expected);
  buffer_free (&found);
}

static inline void
free_made (struct made *made)
{
  job_advice_free (&made->report);
  free (made);
}

#define CASE(NAME) static void NAME (void **state)
#define BEGIN()                                                                                                        \
  struct made *made = make ();                                                                                         \
  (void) state
#define END() free_made (made)

#endif
