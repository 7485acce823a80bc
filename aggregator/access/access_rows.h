/* What of a frame, and of events, belongs to users: who is no admin gets it without what is of others. */
#ifndef SYNOP_AGGREGATOR_ACCESS_ROWS_H
#define SYNOP_AGGREGATOR_ACCESS_ROWS_H

#include "aggregator/core/cluster.h"
#include "synop/viewer.h"

/* The tables of a node: those of a frame, else (`groups` NULL, or `now` of one) the last that came. */
struct access_tables {
  const struct node *node;
  const struct schema *schema;
  const struct report_group *groups;
  int64_t time_ns;
};
struct access_tables access_tables_of (const struct cluster_frame *frame);
/* May the viewer see that row, of a table of a group of users? */
bool access_sees_row (const struct viewer *viewer, const struct access_tables *tables, const struct table *table,
                      size_t row);

/* How much of a frame a viewer sees: all of it, nothing that is of users, or rows of his own. */
enum access_share { ACCESS_WHOLE, ACCESS_BARE, ACCESS_OWN };
enum access_share access_share (const struct viewer *viewer, const struct cluster_frame *frame);

/* The frame's groups without the rows of others, and without errors that may name them. Valid until access_cut_free. */
struct access_cut {
  size_t count;
  struct report_group *groups;
  struct table *tables;
  bool others; /* rows were left out */
};
const struct report_group *access_cut (const struct viewer *viewer, const struct cluster_frame *frame,
                                       struct access_cut *cut);
void access_cut_free (struct access_cut *cut);

/* What an error of a group of users is for who is no admin. */
#define ACCESS_ERROR "it fails; only admins see why"

/* Events that may name users or their jobs are for admins alone. `line` is of one that was stored, else NULL. */
bool access_sees_event (const struct viewer *viewer, const struct event *event);
/* A line about a job, as job_line has it. */
struct job_line;
bool access_sees_job (const struct viewer *viewer, const struct job_line *line);

#endif
