/* The desk of traces as a view: who may have jobs traced, on which nodes they run. */
#ifndef SYNOP_AGGREGATOR_TRACE_VIEW_H
#define SYNOP_AGGREGATOR_TRACE_VIEW_H

#include "aggregator/stream/outlet.h"
#include "aggregator/traces/trace_desk.h"
#include "aggregator/views/view.h"
#include "synop/viewer.h"

extern const struct view trace_view;

struct trace_settings {
  bool owners;
};

/* How requests reach agents, to be set before anything is asked. */
void trace_view_connect (void *state, void *context,
                         int (*request) (void *context, const char *node, const struct trace_request *request,
                                         struct error *error));
/* As trace_desk_ask, for a user of this host. The words are taken apart. */
struct trace_reader *trace_view_ask (void *state, const struct viewer *viewer, char *words, struct outlet *outlet,
                                     void (*ready) (void *context), void *context, struct error *error);
void trace_view_answer (void *state, const struct node *node, const struct trace_answer *answer);

#endif
