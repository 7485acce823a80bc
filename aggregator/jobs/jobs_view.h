/* The jobs as a view: it gives frames and announcements to the core of jobs, passes on what that reports, and
 * restores jobs from the history at the start. */
#ifndef SYNOP_AGGREGATOR_JOBS_VIEW_H
#define SYNOP_AGGREGATOR_JOBS_VIEW_H

#include <stdbool.h>

#include "aggregator/jobs/jobs.h"
#include "aggregator/views/view.h"
#include "synop/buffer.h"

extern const struct view jobs_view;

/* Handles the announcement of a start or end, and writes the answer. Sets `scheduler` itself. */
void jobs_view_take (void *state, bool start, const struct job_announcement *announcement, struct buffer *out);

#endif
