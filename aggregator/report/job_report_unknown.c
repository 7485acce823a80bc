/* What a report could not know, as sentences for people: gaps, lost nodes, quantities that some nodes do not have. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/access/access_rows.h"
#include "aggregator/report/job_energy.h"
#include "aggregator/report/job_report_private.h"
#include "aggregator/report/job_tally.h"
#include "aggregator/report/job_words.h"
#include "synop/clock.h"
#include "synop/memory.h"
#include "synop/users.h"

#define NODES_NAMED 5   /* nodes that have a sentence each */
#define LATE_SECONDS 60 /* a later first sample is worth a sentence */

/* ---- what samples show of it ---- */

void
job_report_trouble (struct job_scene *scene, const struct table *table, size_t node)
{
  bool hidden = scene->viewer && !scene->viewer->all && group_is_of_users (table->group);
  const char *text = hidden ? ACCESS_ERROR : table->error;

  for (size_t i = 0; i < scene->trouble_count; i++) {
    struct job_trouble *trouble = &scene->troubles[i];
    if (strcmp (trouble->group, table->group->name) == 0 && strcmp (trouble->text, text) == 0) {
      trouble->nodes += trouble->last != node; /* nodes come one after the other */
      trouble->last = node;
      return;
    }
  }
  if (scene->trouble_count < JOB_TROUBLES_MAX) {
    struct job_trouble *trouble = &scene->troubles[scene->trouble_count++];
    snprintf (trouble->group, sizeof trouble->group, "%s", table->group->name);
    snprintf (trouble->text, sizeof trouble->text, "%s", text);
    trouble->first = trouble->last = node;
    trouble->nodes = 1;
  }
}

/* Does the history end before the job, on all nodes? A job that runs ends for now with the newest sample. */
void
job_report_find_end (struct job_scene *scene)
{
  struct job_report *report = scene->report;
  int64_t period = 0, after = INT64_MIN;

  scene->newest_ns = INT64_MIN;
  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_watch *watch = &scene->watches[i];
    after = watch->after_ns > after ? watch->after_ns : after;
    if (watch->last_ns != INT64_MIN && (report->period_ns == 0 || watch->period_ns < report->period_ns))
      report->period_ns = watch->period_ns;
    if (watch->last_ns > scene->newest_ns) {
      scene->newest_ns = watch->last_ns;
      period = watch->period_ns;
    }
  }
  if (scene->newest_ns == INT64_MIN)
    return;
  scene->cut = after == INT64_MIN &&
               (double) (report->until_ns - scene->newest_ns) > JOB_GAP_PERIODS * (double) period + JOB_SLACK_NS;
  if (!report->ended_ns) {
    report->until_ns = scene->newest_ns;
    report->bins = job_bin_of (report, scene->newest_ns) + 1;
  }
}

/* ---- gaps ---- */

static void
end_gap (struct job_scene *scene, size_t index)
{
  struct job_report *report = scene->report;
  struct job_watch *watch = &scene->watches[index];
  struct job_node *node = &report->nodes[index];
  double most = JOB_GAP_PERIODS * (double) watch->period_ns;
  int64_t pause_end = watch->after_ns == INT64_MIN ? report->until_ns : watch->after_ns;

  if (watch->last_ns == INT64_MIN) {
    job_report_add_gap (node, report->started_ns, report->until_ns);
    return;
  }
  if ((double) (watch->first_ns - report->started_ns) > most) {
    job_report_add_gap (node, report->started_ns, watch->first_ns);
    struct job_gap first = node->gaps[node->gap_count - 1];
    memmove (node->gaps + 1, node->gaps, (node->gap_count - 1) * sizeof node->gaps[0]);
    node->gaps[0] = first;
  }
  if ((double) (pause_end - watch->last_ns) <= most)
    return;
  job_report_add_gap (node, watch->last_ns, report->until_ns);
  node->lost |= watch->after_ns == INT64_MIN && !scene->cut && !watch->bare;
}

void
job_report_gaps (struct job_scene *scene)
{
  for (size_t i = 0; i < scene->report->node_count; i++)
    end_gap (scene, i);
}

/* ---- sentences ---- */

void
job_report_say_of (struct job_report *report, const bool *chosen, const char *format, const char *what)
{
  struct buffer names = { 0 };

  words_nodes (&names, report, chosen, JOB_NAMES_LENGTH);
  if (names.length) {
    job_report_say (report, format, buffer_text (&names), what);
  }
  buffer_free (&names);
}

static void
say_job (struct job_scene *scene)
{
  struct job_report *report = scene->report;
  struct words when;
  bool described = false, watched = false;
  int64_t first = INT64_MAX;
  double late;

  for (size_t i = 0; i < report->node_count; i++) {
    described |= scene->watches[i].described;
    watched |= scene->watches[i].last_ns != INT64_MIN;
    if (scene->watches[i].last_ns != INT64_MIN && scene->watches[i].first_ns < first)
      first = scene->watches[i].first_ns;
  }
  if (report->node_count == 0)
    job_report_say (report, "No node has shown this job: all that is known is that its start was announced.");
  else if (!watched)
    job_report_say (report, "The history has no samples of this job's time: they were deleted for their age, or never "
                            "came.");
  if (report->bare_samples)
    job_report_say (report,
                    "The frames of %s %% of the samples were deleted for their age: of these minutes are known, "
                    "without errors, and without which GPUs the job had.",
                    words_number (job_report_share (report, report->bare_samples)).text);
  if (watched && !described && !*report->user)
    job_report_say (report, "No node has reported the job's user, name and command.");
  late = watched ? (double) (first - report->started_ns) / NS_PER_S : 0;
  if (watched && late > LATE_SECONDS) {
    when = words_time (first);
    job_report_say (report,
                    "The history begins at %s, %.0f s after the job: what nodes count as a whole (network) "
                    "is missing before, and so are the curves.",
                    when.text, late);
  }
  if (scene->cut) {
    when = words_time (scene->newest_ns);
    job_report_say (report, "The history ends at %s, before the job did.", when.text);
  }
  if (report->broken)
    job_report_say (report, "%zu %s of the history %s broken and left out.", report->broken,
                    report->broken == 1 ? "chunk" : "chunks", report->broken == 1 ? "is" : "are");
}

static void
say_lost (struct job_scene *scene)
{
  struct job_report *report = scene->report;
  struct words when;
  size_t count = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    if (!report->nodes[i].lost || ++count > NODES_NAMED || scene->watches[i].last_ns == INT64_MIN)
      continue;
    when = words_time (scene->watches[i].last_ns);
    job_report_say (report, "%s was lost at %s, while the job ran: what the job used there later is not known.",
                    report->nodes[i].name, when.text);
  }
  if (count > NODES_NAMED)
    job_report_say (report, "%zu more nodes were lost while the job ran.", count - NODES_NAMED);
}

static void
say_gaps (struct job_report *report)
{
  size_t count = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    const struct job_node *node = &report->nodes[i];
    if (node->gap_count == 0 || (node->lost && node->gap_count == 1) || ++count > NODES_NAMED)
      continue;
    job_report_say (report, "%s has no data for %.10g s of the job, in %zu %s: peaks there are not known.", node->name,
                    round (node->gap_seconds * 10) / 10, node->gap_count, node->gap_count == 1 ? "gap" : "gaps");
  }
  if (count > NODES_NAMED)
    job_report_say (report, "%zu more nodes have gaps in their data.", count - NODES_NAMED);
}

/* `flag` is the offset of a bool in a job_watch. */
static void
say_where (struct job_scene *scene, bool *chosen, size_t flag, const char *format)
{
  for (size_t i = 0; i < scene->report->node_count; i++)
    chosen[i] = *((const char *) &scene->watches[i] + flag);
  job_report_say_of (scene->report, chosen, format, "");
}

static void
say_items (struct job_scene *scene, bool *chosen)
{
  struct job_report *report = scene->report;

  for (size_t i = 0; i < JOB_ITEM_COUNT; i++) {
    if (job_item_is_of_counters (i) || !job_items[i].title)
      continue;
    for (size_t k = 0; k < report->node_count; k++)
      chosen[k] = report->all[i].known && !report->nodes[k].series[i].known && report->nodes[k].samples &&
                  !(job_item_is_of_gpus (i) && scene->watches[k].without_gpus);
    job_report_say_of (report, chosen, "Of %s it is not known: %s.", job_items[i].name);
  }
}

static void
say_troubles (struct job_scene *scene)
{
  for (size_t i = 0; i < scene->trouble_count; i++) {
    const struct job_trouble *trouble = &scene->troubles[i];
    const char *node = scene->report->nodes[trouble->first].name;
    if (trouble->nodes == 1)
      job_report_say (scene->report, "%s reported an error of %s: %s", node, trouble->group, trouble->text);
    else
      job_report_say (scene->report, "%s and %zu more reported an error of %s: %s", node, trouble->nodes - 1,
                      trouble->group, trouble->text);
  }
}

void
job_report_unknown (struct job_scene *scene)
{
  struct job_report *report = scene->report;
  bool *chosen = memory_new (report->node_count, sizeof *chosen);

  say_job (scene);
  say_lost (scene);
  say_gaps (report);
  for (size_t i = 0; i < report->node_count; i++)
    chosen[i] = !report->nodes[i].samples && scene->watches[i].last_ns != INT64_MIN && !scene->watches[i].blind;
  job_report_say_of (report, chosen, "The job is in no sample of %s.", "");
  say_where (scene, chosen, offsetof (struct job_watch, blind), "The agent of %s does not watch jobs.");
  say_where (scene, chosen, offsetof (struct job_watch, processes),
             "Without a cgroup of the job, what processes used that began and ended between two samples is not "
             "counted: on %s.");
  for (size_t i = 0; i < report->node_count; i++)
    chosen[i] = report->nodes[i].shared;
  job_report_say_of (
      report, chosen,
      "Other jobs ran on %s meanwhile: network, InfiniBand and what else is of the whole node is theirs too.", "");
  say_where (scene, chosen, offsetof (struct job_watch, beyond),
             "%s reported numbers that no machine has, over 1e24 or below -1e24: they are left out.");
  if (job_energy_estimated (report) > 0)
    job_report_say (report, "%s %% of the energy is estimated by CPU time, since other jobs ran on the same nodes.",
                    words_number (job_energy_estimated (report)).text);
  for (size_t i = 0; i < report->node_count; i++)
    chosen[i] = scene->watches[i].in_part && report->nodes[i].series[JOB_ENERGY].known;
  job_report_say_of (
      report, chosen,
      "The energy is that of CPUs, memory and GPUs alone, as far as they have counters: nothing measures the whole "
      "of %s.",
      "");
  say_items (scene, chosen);
  job_report_unknown_counters (scene);
  if (isnan (report->cpu_efficiency) && !isnan (report->cpu_time))
    job_report_say (report, "How many CPUs the job had is not known, and so not how well it used them.");
  say_troubles (scene);
  free (chosen);
}
