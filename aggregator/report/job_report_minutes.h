/* Which minutes of a long job's nodes need not be unpacked, since the history has them folded: all but
 *
 *   - the first and the last of the job, of a session, and of the job's row on the node
 *   - those with a gap, or with frames that came late, or that lie in no chunk
 *   - those in which the job had no process
 *   - those in which it left more or fewer GPUs idle than in the one before, or a GPU reported an error
 *
 * Gaps are found by the times of chunks alone. What frames around passed minutes show must agree with what the minutes
 * add up to, or the node is read whole. Of a job of days, whole hours of such minutes are read as hours.
 *
 * Minutes are bare whose frames are deleted, of any job: they are all that is known, and are read as they are. */
#ifndef SYNOP_AGGREGATOR_JOB_REPORT_MINUTES_H
#define SYNOP_AGGREGATOR_JOB_REPORT_MINUTES_H

#include "aggregator/report/job_report_private.h"
#include "aggregator/report/job_tally.h"

struct job_minutes;

/* NULL: the history has no minutes of the job. */
struct job_minutes *job_minutes_create (struct job_scene *scene, const struct job_walk *walk);
void job_minutes_destroy (struct job_minutes *minutes); /* NULL is fine */

/* Of each node, until they are chosen: its chunks; then, before they are read: which are skipped. */
bool job_minutes_are_chosen (const struct job_minutes *minutes);
void job_minutes_look (struct job_minutes *minutes, size_t walked, const struct walk_chunk *chunks, size_t count);
void job_minutes_choose (struct job_minutes *minutes, size_t walked, struct walk_chunk *chunks, size_t count);
/* Nodes are indexes in the report, and NULL has no minutes. */
bool job_minutes_any (const struct job_minutes *minutes, size_t node);
bool job_minutes_bare (const struct job_minutes *minutes, size_t node); /* frames of it are deleted */
bool job_minutes_has (const struct job_minutes *minutes, size_t node, int64_t time_ns);
bool job_minutes_have_gpus (const struct job_minutes *minutes, size_t node); /* how many are idle, in each */
bool job_minutes_between (const struct job_minutes *minutes, size_t node, int64_t from_ns, int64_t to_ns);
/* The node has what minutes cannot tell: from this time on its frames are read. If some were passed over already, all is
 * to be done again. */
void job_minutes_give_up (struct job_minutes *minutes, size_t node, int64_t time_ns);
bool job_minutes_again (struct job_minutes *minutes); /* since the last call */

/* A metric of the job's nodes, of all rows or of the nodes as a whole, by hours and by minutes. What is broken gives up all.
 * Of the points those count which are taken. */
int job_minutes_read (struct job_minutes *minutes, const char *group, const char *metric, bool rows,
                      const struct points_into *into, struct error *error);
bool job_minutes_take (const struct job_minutes *minutes, size_t node, const struct history_point *point);
/* From one sample to the next, in seconds, where frames are deleted; 0: they are not. */
double job_minutes_period (const struct job_minutes *minutes, size_t node, int64_t time_ns);
size_t job_minutes_node (const struct job_minutes *minutes, const char *name); /* SIZE_MAX: it is not of the job */

/* Adds them to the tallies: of each node JOB_ITEM_COUNT, or NULL, where they are made if need be. */
int job_minutes_add_gpus (struct job_minutes *minutes, struct job_scene *scene, struct job_tally *const *tallies,
                          struct error *error); /* their part */
int job_minutes_add (struct job_minutes *minutes, struct job_tally **tallies, struct error *error);

#endif
