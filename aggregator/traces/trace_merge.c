/* Merging traces; see trace_merge.h. */
#include "aggregator/traces/trace_merge.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/traces/trace_clock.h"
#include "aggregator/traces/trace_counters.h"
#include "aggregator/traces/trace_out.h"
#include "aggregator/traces/trace_rank.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

#define COUNTERS_PROCESS 1 /* nodes' processes come before those of ranks, which begin at 10,000 */
#define NODES_MAX 9000

struct merging {
  const struct trace_merge *merge;
  struct trace_rank *ranks;
  size_t count, room;
  int left_out;
  int64_t origin_ns, end_ns; /* cluster time */
};

/* ---- which files ---- */

static int
is_trace (const struct dirent *entry)
{
  size_t length = strlen (entry->d_name);

  return entry->d_name[0] != '.' && ((length > 5 && strcmp (entry->d_name + length - 5, ".json") == 0) ||
                                     (length > 8 && strcmp (entry->d_name + length - 8, ".json.gz") == 0));
}

static int
offset_find (const struct merging *merging, struct trace_rank *rank, struct error *error)
{
  const struct trace_merge *merge = merging->merge;
  struct trace_offset offset;
  int rc = *merge->offsets ? trace_clock_file (merge->offsets, rank->node, &offset, error)
           : merge->file   ? trace_clock_history (merge->file, rank->node, rank->first_ns, &offset, error)
                           : error_set (error, "there is no history; --offsets says how its node's clock was");

  if (rc < 0)
    return -1;
  rank->offset_ns = offset.offset_ns;
  rank->bound_ns = offset.bound_ns;
  return 0;
}

static void
rank_add (struct merging *merging, const char *name)
{
  char *path = memory_format ("%s/%s", merging->merge->folder, name);
  struct trace_rank rank;
  struct error error;

  if (trace_rank_open (&rank, path, merging->merge->form, &error) < 0 ||
      (!rank.merged && offset_find (merging, &rank, &error) < 0)) {
    log_warning ("%s is left out: %s", path, error.text);
    trace_rank_close (&rank);
    merging->left_out++;
  } else if (rank.merged) {
    log_info ("%s is a merged trace itself", path);
    trace_rank_close (&rank);
  } else {
    if (merging->count == merging->room) {
      merging->room = merging->room ? 2 * merging->room : 16;
      merging->ranks = memory_resize (merging->ranks, merging->room, sizeof *merging->ranks);
    }
    merging->ranks[merging->count++] = rank;
  }
  free (path);
}

static int
compare_ranks (const void *one, const void *other)
{
  const struct trace_rank *a = one, *b = other;

  return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank) : strcmp (a->path, b->path);
}

static int
ranks_read (struct merging *merging, struct error *error)
{
  struct dirent **entries;
  int count = scandir (merging->merge->folder, &entries, is_trace, alphasort);

  if (count < 0)
    return error_set (error, "%s: %s", merging->merge->folder, strerror (errno));
  for (int i = 0; i < count; i++) {
    rank_add (merging, entries[i]->d_name);
    free (entries[i]);
  }
  free (entries);
  if (count == 0)
    return error_set (error, "%s has no traces; expected files such as n1-0.json or n1-0.json.gz",
                      merging->merge->folder);
  if (merging->count == 0)
    return error_set (error, "%s: none of its %d traces can be merged", merging->merge->folder, count);
  qsort (merging->ranks, merging->count, sizeof *merging->ranks, compare_ranks);
  for (size_t i = 0; i < merging->count; i++) {
    struct trace_rank *rank = &merging->ranks[i];

    rank->order = i;
    if (i == 0 || rank->first_ns - rank->offset_ns < merging->origin_ns)
      merging->origin_ns = rank->first_ns - rank->offset_ns;
    if (i == 0 || rank->last_ns - rank->offset_ns > merging->end_ns)
      merging->end_ns = rank->last_ns - rank->offset_ns;
  }
  return 0;
}

/* ---- the merged trace ---- */

static void
head_write (const struct merging *merging, struct buffer *head)
{
  buffer_printf (head,
                 "\n\"schemaVersion\":1,\n\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":%" PRId64
                 ",\n\"synopRanks\":[",
                 merging->origin_ns);
  for (size_t i = 0; i < merging->count; i++) {
    const struct trace_rank *rank = &merging->ranks[i];

    buffer_printf (head, "%s\n{\"rank\":%" PRId64 ",\"node\":\"%s\",\"wall_offset_ns\":%" PRId64 ",\"bound_ns\":",
                   i ? "," : "", rank->rank, rank->node, rank->offset_ns);
    if (rank->bound_ns < 0)
      buffer_add_string (head, "null}");
    else
      buffer_printf (head, "%" PRId64 "}", rank->bound_ns);
  }
  buffer_add_string (head, "],");
}

static int
counters_write (const struct merging *merging, struct trace_out *out, struct error *error)
{
  const struct trace_merge *merge = merging->merge;
  struct trace_counters counters = {
    .metrics = merge->metrics, .from_ns = merging->origin_ns, .to_ns = merging->end_ns, .process = COUNTERS_PROCESS
  };
  struct buffer nodes = { 0 };
  int rc = 0;

  if (!merge->file || !merge->metrics)
    return 0;
  for (size_t i = 0; i < merging->count && i < NODES_MAX; i++)
    buffer_printf (&nodes, "%s%s", i ? "," : "", merging->ranks[i].node);
  counters.nodes = buffer_text (&nodes);
  rc = trace_counters_put (&counters, merge->file, out, error);
  buffer_free (&nodes);
  return rc;
}

static int
merged_write (struct merging *merging, struct trace_out *out, struct error *error)
{
  struct buffer head = { 0 };
  int rc;

  head_write (merging, &head);
  rc = trace_out_begin (out, head.data, head.length) < 0 ? trace_out_error (out, error) : 0;
  buffer_free (&head);
  for (size_t i = 0; rc == 0 && i < merging->count; i++)
    if ((rc = trace_rank_put (&merging->ranks[i], merging->origin_ns, out, error)) < 0)
      error_prefix (error, "%s: ", merging->ranks[i].path);
  if (rc == 0)
    rc = counters_write (merging, out, error);
  return rc == 0 ? trace_out_end (out, error) : rc;
}

static void
table_write (const struct merging *merging, struct buffer *table)
{
  buffer_printf (table, "%6s  %-20s  %10s  %-27s  %11s  %14s  %10s\n", "RANK", "NODE", "EVENTS",
                 "BEGAN AT (cluster time)", "AFTER FIRST", "CLOCK AHEAD BY", "RIGHT TO");
  for (size_t i = 0; i < merging->count; i++) {
    const struct trace_rank *rank = &merging->ranks[i];
    char time[CLOCK_TEXT_SIZE], number[24] = "-", bound[24] = "-";

    clock_text (rank->first_ns - rank->offset_ns, time);
    if (rank->rank >= 0)
      snprintf (number, sizeof number, "%" PRId64, rank->rank);
    if (rank->bound_ns >= 0)
      snprintf (bound, sizeof bound, "%.3f ms", (double) rank->bound_ns / 1e6);
    buffer_printf (table, "%6s  %-20s  %10" PRIu64 "  %-27s  %8.3f ms  %12.6f s  %10s\n", number, rank->node,
                   rank->events, time, (double) (rank->first_ns - rank->offset_ns - merging->origin_ns) / 1e6,
                   (double) rank->offset_ns / NS_PER_S, bound);
  }
}

int
trace_merge_run (const struct trace_merge *merge, struct buffer *table, struct error *error)
{
  struct merging merging = { .merge = merge };
  struct trace_out *out = NULL;
  int rc = -1;

  if (ranks_read (&merging, error) == 0 && (out = trace_out_open (merge->output, error)) != NULL)
    rc = merged_write (&merging, out, error);
  trace_out_close (out);
  if (rc == 0)
    table_write (&merging, table);
  for (size_t i = 0; i < merging.count; i++)
    trace_rank_close (&merging.ranks[i]);
  free (merging.ranks);
  return rc < 0 ? -1 : merging.left_out;
}
