/* See history_points_frames.h: the combined reports of ticks, which are computed again from the frames. */
#include <string.h>

#include "aggregator/core/combine.h"
#include "aggregator/history/history_points_frames.h"
#include "aggregator/history/history_read.h"
#include "synop/table.h"

struct tick_state {
  const struct points_query *query;
  const struct points_into *into;
  const struct tick_line *tick;
};

static void
give_combined (const struct tick_state *state, const struct metric *metric, const char *row, double number)
{
  struct history_point point = { .time_ns = state->tick->time_ns,
                                 .span_ns = state->tick->period_ns,
                                 .count = 1,
                                 .sum = number,
                                 .min = number,
                                 .max = number,
                                 .covered = true };

  if (!isnan (number) && (!state->query->rows || globs_match (state->query->rows, row)))
    state->into->points (state->into->context,
                         state->into->series (state->into->context, "", row, strlen (row), metric), &point, 1);
}

static void
take_combined (void *context, const struct combine_group *group, const struct combine_metric *shown)
{
  const struct tick_state *state = context;
  const struct metric metric = { .name = shown->name,
                                 .kind = shown->kind,
                                 .unit = shown->unit,
                                 .fold = shown->fold,
                                 .flags = shown->flags,
                                 .help = "" };

  (void) group;
  if (strcmp (shown->name, state->query->metric) != 0)
    return;
  if (shown->fold == FOLD_SUM)
    give_combined (state, &metric, "sum", value_double (&shown->sum));
  give_combined (state, &metric, "mean", shown->mean);
  give_combined (state, &metric, "min", value_double (&shown->min.value));
  give_combined (state, &metric, "max", value_double (&shown->max.value));
}

static bool
only_group (const void *context, const char *group)
{
  const struct points_query *query = context;

  return strcmp (group, query->group) == 0;
}

static void
take_tick (void *context, const struct cluster_tick_line *line)
{
  struct tick_state *state = context;
  struct combine_walk walk = {
    .context = state, .metric = take_combined, .only = only_group, .only_context = state->query
  };

  state->tick = line->tick;
  combine_walk (line->tick->combine, &walk);
}

int
history_combined_points (struct history_file *file, const struct points_query *query, const struct points_into *into,
                         size_t *broken, struct error *error)
{
  struct tick_state state = { query, into, NULL };
  struct view view = { .tick = take_tick };

  return history_read (file, &(struct history_query){ query->from_ns, query->to_ns, NULL },
                       &(struct history_into){ &view, &state }, broken, error);
}
