/* The jobs as a view: what is reported of them comes from their core, which is fed here, and what ran before comes back
 * from the history at the start. */
#ifndef SYNOP_AGGREGATOR_JOBS_VIEW_H
#define SYNOP_AGGREGATOR_JOBS_VIEW_H

#include <stdbool.h>

#include "aggregator/jobs/jobs.h"
#include "aggregator/views/view.h"
#include "synop/buffer.h"

extern const struct view jobs_view;

/* Takes somebody's word that a job begins or has ended, and writes what is answered. Whether it is a scheduler's word is
 * found here. */
void jobs_view_take (void *state, bool start, const struct job_announcement *announcement, struct buffer *out);

#endif
