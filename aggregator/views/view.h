/* A view: whatever takes what the core reports. The history, the stream and the jobs are views; a new one is a file of its
 * own and a line in the list, aggregator/view_list.h.
 *
 * A view is a table of functions. All of them but the name may be NULL. They run in the thread of the loop, one at a time;
 * none is called while another one of the same view runs. What they are given is valid during the call only. In the
 * running aggregator each of the list is called in turn; whoever reads a history calls those of one view.
 *
 * A view may report too: events, lines about jobs, rows for the history. All other views get it at once, also those behind
 * it in the list, which get the frame or tick at hand later. It may do so wherever its functions are called, but for
 * `open`, `close`, `event`, `job` and `job_row`: what is reported there is left out, with an error in the log. So nothing
 * comes back to the one who reports; who reacts to an event notes it, and reports in `poll`. */
#ifndef SYNOP_AGGREGATOR_VIEW_H
#define SYNOP_AGGREGATOR_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/views/job_line.h"
#include "aggregator/views/job_row.h"
#include "synop/config.h"
#include "synop/error.h"
#include "synop/json.h"
#include "synop/loop.h"

struct views;

/* What a view has of the aggregator; it stays until the view is closed. */
struct view_context {
  const char *name;      /* of the view */
  const void *options;   /* the values of the view's own rows of options; a reload changes them */
  struct config *config; /* for views that own sections which users name (config_own) */
  struct loop *loop;
  const struct cluster *cluster; /* to look at */
  struct views *views;           /* of views.c */
};

int64_t view_now_ns (const struct view_context *context); /* cluster time */
void view_event (const struct view_context *context, const struct event *event);
void view_job (const struct view_context *context, const struct job_line *line);
void view_job_row (const struct view_context *context, const struct job_row *row);

#define VIEW_COUNTERS_MAX 32
enum { OPTIONS_RELOADED = 1 }; /* `reload` of an option that a reload takes over; the rest after a restart */

struct view {
  const char *name;

  const struct option *options; /* rows of the configuration; `offset` is in the view's own struct of values, */
  size_t option_count;
  size_t options_size;         /* which is so large */
  const char *const *counters; /* names for `status`, ended by NULL; the history has its values when off: 0 */

  /* -1 and error: the aggregator does not start. A state that is left NULL: the view is off, and none of its other
   * functions is called. Without `open` it is on, and its state is NULL. */
  int (*open) (const struct view_context *context, void **state, struct error *error);
  void (*reload) (void *state); /* the options were read again */

  void (*frame) (void *state, const struct cluster_frame *frame);
  void (*tick) (void *state, const struct cluster_tick_line *tick);
  void (*event) (void *state, const struct event *event);
  void (*job) (void *state, const struct job_line *line);
  void (*job_row) (void *state, const struct job_row *row); /* what the history keeps of jobs */

  void (*poll) (void *state, struct instant now);                        /* housekeeping, four times a second */
  void (*flush) (void *state);                                           /* a batch of what came is through */
  void (*count) (void *state, uint64_t *values);                         /* one for each of `counters` */
  void (*status) (void *state, struct json *json, struct buffer *table); /* what else `status` shows: members of its
                                                                          * object, or a part of its text; one is NULL */
  void (*end) (void *state);  /* nothing comes any more: the last that it has to report, while all are open still */
  int (*close) (void *state); /* -1: it lost some of what it was given, and has logged that */
};

#endif
