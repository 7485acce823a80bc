/* Jobs in the history, for all that read them: `jobs`, `report`, and the aggregator itself when it starts.
 *
 *   jobs       key, label, scheduler, user, name, command, array, cpus, started    a run of a job
 *   job_nodes  job, node, first                                                    where, and since when
 *   job_ends   job, time, reason, summary (JSON)                                   the newest counts; reason "": it was
 *                                                                                  seen again, and runs
 *   job_marks  job, seen, state                                                    of running jobs, each minute: what a
 *                                                                                  restart restores
 *   job_facts  job, facts (JSON)                                                   what the scheduler says of it: the
 *                                                                                  newest; not in older histories
 *
 * Times are cluster time in ns. Rows are only added (job_marks, job_facts and an early row of `jobs` are replaced). Rows with
 * values that were never written (an invalid id, a time before 1970, a summary that is not JSON) are damaged: a list
 * leaves them out and counts them. */
#ifndef SYNOP_AGGREGATOR_JOB_STORE_H
#define SYNOP_AGGREGATOR_JOB_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_file.h"
#include "aggregator/views/job_record.h"
#include "synop/error.h"
#include "synop/globs.h"
#include "synop/viewer.h"

struct job_list {
  struct job_record *jobs; /* in order of key */
  size_t count, capacity;
  size_t damaged; /* left out */
  bool others;    /* what others have is left out, if there is any: filters are to find nothing out about it */
};

struct job_query {
  int64_t from_ns, to_ns;      /* jobs that ran at some time between */
  const struct globs *users;   /* NULL: all */
  const struct viewer *viewer; /* NULL: an admin */
  bool running;                /* only running ones */
};

/* A history without jobs gives an empty list. `list` is empty before the call. */
int job_store_list (struct history_file *file, const struct job_query *query, struct job_list *list,
                    struct error *error);
/* Selects a job: several users or schedulers may have one of the same id. */
struct job_choice {
  const char *label;
  const char *user, *scheduler; /* NULL or "": any */
  const struct viewer *viewer;  /* only jobs that he sees; NULL: an admin */
};

enum { JOB_STORE_SEVERAL = -2 };
/* Finds a job; of "123" the newest of 123, 123/1, 123/2..., rather one with a known user; else the task "2_1" of an array, the
 * second "demo/1" of a name that was used again, "12" of a server's "12.pbs". 1: found; 0: none. -1 and
 * error also when it is damaged; JOB_STORE_SEVERAL and error when several users or schedulers have one and the choice
 * names none. */
int job_store_find (struct history_file *file, const struct job_choice *choice, struct job_record *job,
                    struct error *error);
void job_record_free (struct job_record *job);
void job_list_free (struct job_list *list);

#endif
