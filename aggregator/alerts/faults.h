/* What frames count of failing hardware, and of memory that was short, as events: XIDs, memory errors, processes that were
 * killed. Errors of a node that go on are one event a minute. */
#ifndef SYNOP_AGGREGATOR_FAULTS_H
#define SYNOP_AGGREGATOR_FAULTS_H

#include "aggregator/alerts/alerts.h"
#include "aggregator/core/cluster.h"

struct faults;

/* report: each event is for all, alerts included. */
struct faults *faults_create (struct alerts *alerts, void *context,
                              void (*report) (void *context, const struct event *event));
void faults_destroy (struct faults *faults);

void faults_frame (struct faults *faults, const struct cluster_frame *frame);
void faults_poll (struct faults *faults, int64_t now_ns); /* reports what waited for its minute */

/* Is it a number of errors, rather than a state that stands until it is over? */
bool fault_is_counted (const char *metric);

#endif
