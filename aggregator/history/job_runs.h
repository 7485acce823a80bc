/* Which run of its id a job is: a name may be used again, and each use is a job of its own. And what people call it. */
#ifndef SYNOP_AGGREGATOR_JOB_RUNS_H
#define SYNOP_AGGREGATOR_JOB_RUNS_H

#include "aggregator/history/history_file.h"
#include "aggregator/views/job_record.h"

struct job_runs; /* of the jobs that it was asked about, in order of their keys: then each is found at once */
void job_runs_free (struct job_runs *runs); /* NULL is fine */

/* Sets `run`, `after_ns` and `shown` of the job. -1 and error: the file cannot be read. `*runs` is NULL at first. */
int job_runs_name (struct job_runs **runs, struct history_file *file, struct job_record *job, struct error *error);

#endif
