/* Whose jobs ran when and where, of a history: for viewers who see their own alone. */
#ifndef SYNOP_AGGREGATOR_JOB_OWNERS_H
#define SYNOP_AGGREGATOR_JOB_OWNERS_H

#include "aggregator/history/history_file.h"
#include "synop/viewer.h"

struct job_owners;

/* Of the jobs that ran at some time between. NULL and error: the history cannot be read. */
struct job_owners *job_owners_read (struct history_file *file, int64_t from_ns, int64_t to_ns, struct error *error);
void job_owners_free (struct job_owners *owners); /* NULL is fine */
/* The viewer's `past`; the owners must outlive it. */
void job_owners_show (const struct job_owners *owners, struct viewer *viewer);
/* Are all jobs of that id, which ran there between, the viewer's, and is there one? */
bool job_owners_all_his (const struct job_owners *owners, const struct viewer *viewer, const char *node,
                         const char *label, int64_t from_ns, int64_t to_ns);

#endif
