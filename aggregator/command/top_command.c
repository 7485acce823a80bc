/* See commands.h. */
#include "aggregator/command/commands.h"

#include <stdlib.h>

#include "aggregator/history/history_file.h"
#include "aggregator/top/top.h"
#include "synop/clock.h"

#define PAST_NS (3600 * NS_PER_S)
#define PAST_MAX 500 /* events, the newest */

typedef void take_fn (void *to, const char *line, size_t length);

static int
give (struct history_file *file, const struct event_list *list, take_fn *take, void *to, struct error *error)
{
  size_t first = list->count > PAST_MAX ? list->count - PAST_MAX : 0;
  struct stored_event events[PAST_MAX];
  int count = history_file_events (file, list->rows + first, list->count - first, events, error);

  for (int i = 0; i < count; i++) {
    if (!events[i].broken)
      take (to, events[i].line, events[i].length);
    stored_event_free (&events[i]);
  }
  return count < 0 ? -1 : 0;
}

/* Of the history; whoever may not read it sees what comes from now on. */
static int
give_past (void *context, take_fn *take, void *to, struct error *error)
{
  const struct options *options = context;
  struct event_list list = { 0 };
  struct history_file *file = history_file_open (replay_path (options), error);
  int64_t now = clock_wall ();
  int result = -1;

  if (file && history_file_event_list (file, now - PAST_NS, now, NULL, &list, error) == 0)
    result = give (file, &list, take, to, error);
  free (list.rows);
  history_file_close (file);
  return result;
}

int
top_command (const struct options *options)
{
  static const enum top_view views[] = { [OPTIONS_VIEW_CLUSTER] = VIEW_CLUSTER,
                                         [OPTIONS_VIEW_JOBS] = VIEW_JOBS,
                                         [OPTIONS_VIEW_EVENTS] = VIEW_EVENTS,
                                         [OPTIONS_VIEW_NODE] = VIEW_NODE };

  struct reach reach;
  int code;

  reach_init (&reach, options);
  code = top_run (&(struct top_options){ .reach = &reach,
                                         .once = options->once,
                                         .width = (int) options->width,
                                         .view = views[options->view],
                                         .metric = options->top_metric,
                                         .sort = options->sort,
                                         .filter = options->filter,
                                         .node = options->node,
                                         .past_context = (void *) options,
                                         .past = give_past });
  reach_free (&reach);
  return code;
}
