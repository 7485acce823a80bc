/* Nodes' wall clocks; see trace_clock.h. */
#include "aggregator/traces/trace_clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_read.h"
#include "synop/clock.h"

/* ---- the history ---- */

struct nearest {
  int64_t wall_ns, away_ns; /* away: of the nearest so far; -1: none */
  struct trace_offset offset;
};

static void
frame_take (void *state, const struct cluster_frame *frame)
{
  struct nearest *nearest = state;
  int64_t away_ns = llabs (frame->time_ns + frame->wall_offset_ns - nearest->wall_ns);

  if (nearest->away_ns >= 0 && away_ns >= nearest->away_ns)
    return;
  nearest->away_ns = away_ns;
  nearest->offset = (struct trace_offset){ frame->wall_offset_ns, frame->bound_ns };
}

/* The nearest within so long of that cluster time. */
static int
look (struct history_file *file, const char *node, int64_t time_ns, int64_t within_ns, struct nearest *nearest,
      struct error *error)
{
  static const struct view view = { .name = "clocks", .frame = frame_take };
  struct globs globs;
  struct history_query query = { time_ns - within_ns, time_ns + within_ns, &globs };
  size_t broken = 0;
  int rc;

  globs_init (&globs, node);
  rc = history_read (file, &query, &(struct history_into){ &view, nearest, NULL, NULL }, &broken, error);
  globs_free (&globs);
  return rc;
}

int
trace_clock_history (struct history_file *file, const char *node, int64_t wall_ns, struct trace_offset *offset,
                     struct error *error)
{
  static const int64_t within_s[] = { 30, 600, 3600, 86400 };
  struct nearest nearest = { .wall_ns = wall_ns, .away_ns = -1 };

  for (size_t i = 0; nearest.away_ns < 0 && i < sizeof within_s / sizeof within_s[0]; i++)
    if (look (file, node, wall_ns, within_s[i] * NS_PER_S, &nearest, error) < 0)
      return -1;
  if (nearest.away_ns < 0)
    return error_set (
        error, "the history has no sample of node %s within a day of it; --offsets says how its clock was", node);
  /* A clock that is off by more than that: its frames lie elsewhere in cluster time. */
  if (nearest.away_ns > NS_PER_S &&
      look (file, node, wall_ns - nearest.offset.offset_ns, 30 * NS_PER_S, &nearest, error) < 0)
    return -1;
  *offset = nearest.offset;
  return 0;
}

/* ---- a file ---- */

int
trace_clock_file (const char *path, const char *node, struct trace_offset *offset, struct error *error)
{
  FILE *file = fopen (path, "re");
  char *line = NULL;
  size_t size = 0, number = 0;
  int rc = 1;

  if (!file)
    return error_set (error, "%s: %s", path, strerror (errno));
  while (rc == 1 && getline (&line, &size, file) >= 0) {
    char name[FRAME_NODE_MAX + 2], value[64], more[2];
    int words;
    char *end;

    number++;
    line[strcspn (line, "#")] = '\0';
    words = sscanf (line, "%65s %63s %1s", name, value, more);
    if (words <= 0)
      continue;
    double seconds = words == 2 ? strtod (value, &end) : 0;

    if (words != 2 || *end || !(fabs (seconds) < 1e9))
      rc = error_set (error, "%s:%zu: expected \"NODE SECONDS\", by how much its wall clock is ahead", path, number);
    else if (strcmp (name, node) == 0) {
      *offset = (struct trace_offset){ (int64_t) llround (seconds * NS_PER_S), -1 };
      rc = 0;
    }
  }
  if (rc == 1)
    rc = error_set (error, "%s has no line for node %s", path, node);
  free (line);
  fclose (file);
  return rc;
}
