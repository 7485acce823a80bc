/* "synop-aggregator top": the cluster on a terminal. */
#ifndef SYNOP_AGGREGATOR_TOP_H
#define SYNOP_AGGREGATOR_TOP_H

#include <stdbool.h>

enum top_view { VIEW_CLUSTER, VIEW_JOBS, VIEW_EVENTS, VIEW_NODE, VIEW_HELP, TOP_VIEWS };

struct top_options {
  const char *socket;
  bool once; /* one screen as text, of that width */
  int width;
  enum top_view view;
  const char *metric, *sort, *filter; /* "": by default, none */
  const char *node;                   /* of VIEW_NODE; "": none */
};

int top_run (const struct top_options *options); /* returns the exit code */

#endif
