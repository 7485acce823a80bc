/* A view: it gets the reports of the core. The history, the stream and the jobs are views; a new one is a file of its
 * own and a line in the list, aggregator/view_list.h.
 *
 * A view is a table of functions. All of them but the name may be NULL. They run in the thread of the loop, one at a
 * time; none is called while another one of the same view runs. Their arguments are valid during the call only. In the
 * running aggregator each view of the list is called in turn; a reader of a history calls those of one view.
 *
 * A view may report too: events, lines about jobs, rows for the history. All other views get that at once, also
 * those behind it in the list, which get the current frame or tick only later. All its functions may report but
 * `open`, `close`, `event`, `job` and `job_row`: a report from there is dropped, with an error in the log, so that
 * no report comes back to its source. A view that reacts to an event notes it, and reports in `poll`. */
#ifndef SYNOP_AGGREGATOR_VIEW_H
#define SYNOP_AGGREGATOR_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/views/job_announcement.h"
#include "aggregator/views/job_line.h"
#include "aggregator/views/job_row.h"
#include "synop/config.h"
#include "synop/error.h"
#include "synop/http.h"
#include "synop/json.h"
#include "synop/loop.h"

struct views;

/* What a view may use of the aggregator; valid until the view is closed. */
struct view_context {
  const char *name;    /* of the view */
  const void *options; /* the values of the view's own options; a reload changes them */
  struct loop *loop;
  const struct cluster *cluster; /* read only */
  const char *socket;            /* the UNIX socket at which the aggregator answers */
  struct views *views;           /* of views.c */
};

int64_t view_now_ns (const struct view_context *context); /* cluster time */
void view_event (const struct view_context *context, const struct event *event);
void view_job (const struct view_context *context, const struct job_line *line);
void view_job_row (const struct view_context *context, const struct job_row *row);

/* Every counter that `status` has. `total`: it only grows. */
typedef void view_counter_fn (void *to, const char *name, bool total, uint64_t value);
void view_each_counter (const struct view_context *context, void *to, view_counter_fn *take);

#define VIEW_COUNTERS_MAX 32
enum { OPTIONS_RELOADED = 1 }; /* `reload` of an option that a reload changes; the others change at a restart */

struct view {
  const char *name;

  const struct option *options; /* rows of the configuration; `offset` is in the view's own struct of values, */
  size_t option_count;
  size_t options_size;                    /* of this size */
  const struct config_type *section_type; /* sections that users name, such as [send NAME]; NULL: none */
  const char *const *counters;            /* names for `status`, ended by NULL; 0 when the view is off */
  uint32_t levels;                        /* a bit for each counter that is a current number rather than a total */

  /* -1 and error: the aggregator does not start. Leaving the state NULL: the view is off, and none of its other
   * functions is called. Without `open` it is on, and its state is NULL. */
  int (*open) (const struct view_context *context, void **state, struct error *error);
  void (*reload) (void *state); /* the configuration was read again */
  config_change_fn
      section; /* of section_type: for each that exists, after `open`; then for each that a reload changes */

  void (*frame) (void *state, const struct cluster_frame *frame);
  void (*tick) (void *state, const struct cluster_tick_line *tick);
  void (*event) (void *state, const struct event *event);
  void (*job) (void *state, const struct job_line *line);
  void (*job_row) (void *state, const struct job_row *row); /* a row about a job, for the history */

  /* A job's start or end was announced; `answer` gets the line for who announced it. */
  void (*announce) (void *state, const struct job_announcement *announcement, struct buffer *answer);
  void (*poll) (void *state, struct instant now); /* housekeeping, four times a second */
  void (*flush) (void *state);                    /* a batch of messages is handled */
  void (*count) (void *state, uint64_t *values);  /* one for each of `counters` */
  /* What else `status` shows: members of its object, or a part of its text; one of the two is NULL. */
  void (*status) (void *state, struct json *json, struct buffer *table);
  struct http_site (*site) (
      void *state);           /* its addresses over HTTP: answered in HTTP's thread, until views behind it close */
  void (*mark) (void *state); /* somebody is going to read the history: what it is to have of now is reported */
  void (*end) (void *state);  /* the last reports may follow, while all views are still open */
  int (*close) (void *state); /* -1: it lost some of the reports, and has logged that */
};

#endif
