/* The views of a running aggregator: each gets the reports of the core, in the order of the list. `end` and `close`
 * run in the opposite order: a view may report to those before it until its own end. */
#ifndef SYNOP_AGGREGATOR_VIEWS_H
#define SYNOP_AGGREGATOR_VIEWS_H

#include "aggregator/views/view.h"

struct views_options {
  const struct view *const *list; /* ended by NULL */
  struct config *config;          /* of the views' sections; NULL: they have none */
  struct loop *loop;
  const struct cluster *cluster;
  const char *socket;
  void *context;
  const void *(*values) (void *context, const struct view *view); /* of its options */
  void *counted;                                                  /* of `count`: */
  void (*count) (void *counted, void *to, view_counter_fn *take); /* view_each_counter; NULL: the views' own */
};

struct views *views_open (const struct views_options *options, struct error *error); /* NULL: one of them failed */
int views_close (struct views *views); /* -1: one of them lost something; NULL is fine */
void *views_state (const struct views *views, const struct view *view); /* NULL: it is off, or has none */

void views_frame (struct views *views, const struct cluster_frame *frame);
void views_tick (struct views *views, const struct cluster_tick_line *tick);
void views_event (struct views *views, const struct event *event); /* into the log too */
void views_announce (struct views *views, const struct job_announcement *announcement, struct buffer *answer);
void views_reload (struct views *views);
void views_poll (struct views *views, struct instant now);
void views_flush (struct views *views);
void views_mark (struct views *views);
void views_end (struct views *views);
/* Every counter of every view; 0 when it is off. */
void views_count (const struct views *views, void *to, view_counter_fn *take);
/* The addresses of those that are open: how many, at most so many. */
size_t views_sites (const struct views *views, struct http_site *sites, size_t most);
void views_status (const struct views *views, struct json *json, struct buffer *table); /* one of them is NULL */

#endif
