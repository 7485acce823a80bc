/* See commands.h. */
#include "aggregator/command/commands.h"

#include "aggregator/top/top.h"

int
top_command (const struct options *options)
{
  static const enum top_view views[] = { [OPTIONS_VIEW_CLUSTER] = VIEW_CLUSTER,
                                         [OPTIONS_VIEW_JOBS] = VIEW_JOBS,
                                         [OPTIONS_VIEW_EVENTS] = VIEW_EVENTS,
                                         [OPTIONS_VIEW_NODE] = VIEW_NODE };

  return top_run (&(struct top_options){ .socket = options->socket,
                                         .once = options->once,
                                         .width = (int) options->width,
                                         .view = views[options->view],
                                         .metric = options->top_metric,
                                         .sort = options->sort,
                                         .filter = options->filter,
                                         .node = options->node });
}
