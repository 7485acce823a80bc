/* See job_gpu_list.h. A job may have thousands of GPUs: names put nodes together where the same GPUs are meant, and say
 * how many they leave out. */
#include "aggregator/report/job_gpu_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/job_words.h"
#include "synop/memory.h"

#define NAMES_LENGTH 160 /* about so many bytes of names in a sentence */
#define LABELS_LENGTH 60
#define NODES_LENGTH 60

/* ---- what is wrong ---- */

bool
gpu_is_idle (const struct report_gpu *gpu)
{
  return job_gpu_idle (gpu) >= JOB_GPU_IDLE && !(job_gpu_mean (&gpu->utilization) >= JOB_GPU_BUSY);
}

bool
gpu_has_xids (const struct report_gpu *gpu)
{
  return gpu->xids > 0;
}

static bool
is_throttled (const struct report_gpu *gpu)
{
  return job_gpu_mean (&gpu->throttled) >= GPU_THROTTLED || job_gpu_mean (&gpu->throttled_power) >= GPU_THROTTLED ||
         job_gpu_mean (&gpu->throttled_thermal) >= GPU_THROTTLED;
}

bool
gpu_is_alarming (const struct report_gpu *gpu)
{
  return gpu_is_idle (gpu) || gpu_has_xids (gpu);
}

void
gpu_trouble (struct buffer *to, const struct report_gpu *gpu)
{
  size_t from = to->length;

  if (gpu_is_idle (gpu))
    buffer_add_string (to, "left idle");
  if (gpu_has_xids (gpu))
    buffer_printf (to, "%sXID %llu", to->length > from ? ", " : "", (unsigned long long) gpu->xid);
  if (is_throttled (gpu))
    buffer_printf (to, "%sthrottled%s", to->length > from ? ", " : "",
                   job_gpu_mean (&gpu->throttled_thermal) >= GPU_THROTTLED ? " by heat"
                   : job_gpu_mean (&gpu->throttled_power) >= GPU_THROTTLED ? " by power"
                                                                           : "");
}

/* ---- the worst first ---- */

static int
rank (const struct report_gpu *gpu)
{
  if (gpu_is_idle (gpu))
    return gpu_has_xids (gpu) ? 0 : 1;
  return gpu_has_xids (gpu) ? 2 : is_throttled (gpu) ? 3 : 4;
}

static int
compare_places (const void *one, const void *other)
{
  const struct gpu_place *a = one, *b = other;
  double left = job_gpu_mean (&a->gpu->utilization), right = job_gpu_mean (&b->gpu->utilization);
  int ranks = rank (a->gpu) - rank (b->gpu);

  if (ranks)
    return ranks;
  if (isnan (left) != isnan (right))
    return isnan (left) ? -1 : 1;
  if (left < right || left > right)
    return left < right ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

void
gpu_list_init (struct gpu_list *list, const struct job_report *report)
{
  size_t count = 0;

  for (size_t i = 0; i < report->node_count; i++)
    count += report->nodes[i].gpu_count;
  *list = (struct gpu_list){ .places = memory_new (count, sizeof list->places[0]),
                             .shown = count < GPU_LIST_SHOWN ? count : GPU_LIST_SHOWN };
  for (size_t i = 0; i < report->node_count; i++)
    for (size_t k = 0; k < report->nodes[i].gpu_count; k++) {
      list->places[list->count] = (struct gpu_place){ list->count, &report->nodes[i], &report->nodes[i].gpus[k] };
      list->count++;
    }
  qsort (list->places, list->count, sizeof list->places[0], compare_places);
}

void
gpu_list_free (struct gpu_list *list)
{
  free (list->places);
  *list = (struct gpu_list){ 0 };
}

/* ---- sentences ---- */

static size_t
count_those (const struct gpu_list *list, bool (*are) (const struct report_gpu *gpu))
{
  size_t count = 0;

  for (size_t i = 0; i < list->count; i++)
    count += are (list->places[i].gpu);
  return count;
}

void
gpu_list_summary (struct buffer *to, const struct gpu_list *list)
{
  static const struct {
    bool (*are) (const struct report_gpu *gpu);
    const char *words;
  } kinds[] = { { gpu_is_idle, "left idle" },
                { gpu_has_xids, "with errors that the driver reported (XIDs)" },
                { is_throttled, "throttled" } };
  const char *before = ": ";

  if (list->count == 0)
    return;
  buffer_printf (to, "%zu GPU%s", list->count, list->count > 1 ? "s" : "");
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    size_t count = count_those (list, kinds[i].are);
    if (count == 0)
      continue;
    buffer_printf (to, "%s%zu %s", before, count, kinds[i].words);
    before = ", ";
  }
  if (strcmp (before, ": ") == 0)
    buffer_add_string (to, ": none left idle, with XIDs or throttled");
}

void
gpu_list_left_out (struct buffer *to, const struct gpu_list *list)
{
  if (list->count > list->shown)
    buffer_printf (to, "and %zu more: --json has them", list->count - list->shown);
}

/* Adds "0,2-5,1:0": labels that are numbers in a row, together. */
static void
put_labels (struct buffer *to, const struct job_node *node, const bool *chosen)
{
  const char *before = "";

  for (size_t k = 0, end; k < node->gpu_count; k = end) {
    end = k + 1;
    if (!chosen[k])
      continue;
    while (end < node->gpu_count && chosen[end] && !strpbrk (node->gpus[end].label, ":a") &&
           atoi (node->gpus[end].label) == atoi (node->gpus[end - 1].label) + 1)
      end++;
    if (end - k == 2)
      end--;
    buffer_printf (to, "%s%s", before, node->gpus[k].label);
    if (end - k > 1)
      buffer_printf (to, "-%s", node->gpus[end - 1].label);
    before = ",";
  }
}

/* For each node its GPUs that are chosen, "" where there are none. Returns how many there are in all. */
static size_t
label_lists (const struct job_report *report, const bool *chosen, char **lists, size_t *counts)
{
  struct buffer list = { 0 };
  size_t all = 0;

  for (size_t i = 0; i < report->node_count; i++) {
    buffer_clear (&list);
    put_labels (&list, &report->nodes[i], chosen);
    for (size_t k = 0; k < report->nodes[i].gpu_count; k++)
      counts[i] += chosen[k];
    chosen += report->nodes[i].gpu_count;
    lists[i] = memory_copy (list.data, list.length);
    all += counts[i];
  }
  buffer_free (&list);
  return all;
}

void
gpu_list_names_of (struct buffer *to, const struct job_report *report, const bool *chosen, size_t limit)
{
  char **lists = memory_new (report->node_count, sizeof lists[0]);
  size_t *counts = memory_new (report->node_count, sizeof counts[0]);
  bool *same = memory_new (report->node_count, sizeof same[0]),
       *named = memory_new (report->node_count, sizeof same[0]);
  size_t left = label_lists (report, chosen, lists, counts), from = to->length;

  for (size_t i = 0; i < report->node_count && to->length - from < limit; i++) {
    if (named[i] || counts[i] == 0)
      continue;
    for (size_t k = 0; k < report->node_count; k++) {
      same[k] = !named[k] && strcmp (lists[k], lists[i]) == 0;
      named[k] |= same[k];
      left -= same[k] ? counts[k] : 0;
    }
    buffer_add_string (to, to->length > from ? ", GPU " : "GPU ");
    words_add (to, lists[i], LABELS_LENGTH);
    buffer_add_string (to, " on ");
    words_nodes (to, report, same, limit < NODES_LENGTH ? limit : NODES_LENGTH);
  }
  if (left)
    buffer_printf (to, " and %zu more", left);
  for (size_t i = 0; i < report->node_count; i++)
    free (lists[i]);
  free (lists);
  free (counts);
  free (same);
  free (named);
}

void
gpu_list_names (struct buffer *to, const struct job_report *report, bool (*are) (const struct report_gpu *gpu))
{
  size_t count = 0;
  bool *chosen;

  for (size_t i = 0; i < report->node_count; i++)
    count += report->nodes[i].gpu_count;
  chosen = memory_new (count, sizeof chosen[0]);
  count = 0;
  for (size_t i = 0; i < report->node_count; i++)
    for (size_t k = 0; k < report->nodes[i].gpu_count; k++)
      chosen[count++] = are (&report->nodes[i].gpus[k]);
  gpu_list_names_of (to, report, chosen, NAMES_LENGTH);
  free (chosen);
}
