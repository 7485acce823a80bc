/* Jobs as the history holds them, for all that read it: `jobs`, `report`, and the aggregator itself when it starts.
 *
 *   jobs       key, label, scheduler, user, name, command, array, cpus, started    a run of a job
 *   job_nodes  job, node, first                                                    where, and since when
 *   job_ends   job, time, reason, summary (JSON)                                   the newest counts: reason "" tells
 *                                                                                  that it was seen again, and runs
 *   job_marks  job, seen, state                                                    of those that run, each minute: what
 *                                                                                  a restart goes on from
 *
 * Times are cluster time in ns. Rows are only added (job_marks and an early row of `jobs` are replaced). Rows in which
 * something stands that was never written (an id that is none, a time before 1970, a summary that is no JSON) are damaged:
 * a list leaves them out and counts them. */
#ifndef SYNOP_AGGREGATOR_JOB_STORE_H
#define SYNOP_AGGREGATOR_JOB_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_file.h"
#include "aggregator/views/job_record.h"
#include "synop/error.h"
#include "synop/globs.h"

struct job_list {
  struct job_record *jobs; /* in order of key */
  size_t count, capacity;
  size_t damaged; /* left out */
};

struct job_query {
  int64_t from_ns, to_ns;    /* that ran at some time between */
  const struct globs *users; /* NULL: all */
  bool running;              /* no others */
};

/* A history from before there were jobs has none. The list is empty before. */
int job_store_list (struct history_file *file, const struct job_query *query, struct job_list *list,
                    struct error *error);
/* Which job is meant: one id may be that of several users' jobs, or of several schedulers'. */
struct job_choice {
  const char *label;
  const char *user, *scheduler; /* NULL or "": whoever it is */
};

/* Of "123" the newest of 123, 123/1, 123/2..., rather one whose user is known. 1: found; 0: there is none. -1 and error
 * also when it is damaged, or when it is not said which of several users' or schedulers' is meant. */
int job_store_find (struct history_file *file, const struct job_choice *choice, struct job_record *job,
                    struct error *error);
void job_record_free (struct job_record *job);
void job_list_free (struct job_list *list);

#endif
