/* The jobs as a view: it gives frames and announcements to the core of jobs, passes on what that reports, and
 * restores jobs from the history at the start. */
#ifndef SYNOP_AGGREGATOR_JOBS_VIEW_H
#define SYNOP_AGGREGATOR_JOBS_VIEW_H

#include "aggregator/views/view.h"

extern const struct view jobs_view;

/* A line for each job that runs; of `state` NULL none. */
void jobs_view_running (void *state, const struct viewer *viewer, struct json *json);

/* As jobs_each_node; of `state` NULL none. */
size_t jobs_view_each_node (void *state, const char *label, void *context,
                            void (*take) (void *context, const char *user, const char *node));

#endif
