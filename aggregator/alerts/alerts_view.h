/* Alerts as a view: events bring them, and frames in which hardware counts errors. The state is a struct alerts_view. */
#ifndef SYNOP_AGGREGATOR_ALERTS_VIEW_H
#define SYNOP_AGGREGATOR_ALERTS_VIEW_H

#include "aggregator/views/view.h"

extern const struct view alerts_view;

/* A line for each alert that stands now: the request `alerts`. */
void alerts_view_write (const void *state, const struct viewer *viewer, struct json *json);

#endif
