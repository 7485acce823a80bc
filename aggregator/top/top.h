/* "synop-aggregator top": the cluster on a terminal. */
#ifndef SYNOP_AGGREGATOR_TOP_H
#define SYNOP_AGGREGATOR_TOP_H

#include <stdbool.h>
#include <stddef.h>

#include "aggregator/reach/reach.h"
#include "synop/error.h"

enum top_view { VIEW_CLUSTER, VIEW_JOBS, VIEW_EVENTS, VIEW_NODE, VIEW_HELP, TOP_VIEWS };

struct top_options {
  const struct reach *reach; /* the aggregator */
  bool once;                 /* one screen as text, of that width */
  int width;
  enum top_view view;
  const char *metric, *sort, *filter; /* "": by default, none */
  const char *node;                   /* of VIEW_NODE; "": none */
  void *past_context; /* `past` gives out the lines of the last hour's events; -1 and error: they are not known */
  int (*past) (void *context, void (*take) (void *to, const char *line, size_t length), void *to, struct error *error);
};

int top_run (const struct top_options *options); /* returns the exit code */

#endif
