/* The requests of top: each view has its own, which are open while it is shown. What nobody looks at costs the aggregator
 * nothing. See top_private.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/top/top_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define LISTS_NS (5 * NS_PER_S)   /* lists that are asked for while their view is shown */
#define METRICS_NS (5 * NS_PER_S) /* which metrics there are */

static void
changed (struct top *top)
{
  if (top->screen && !top->paused)
    screen_changed (top->screen);
}

/* ---- feeds ---- */

static struct feed *
ask (struct top *top, void (*line) (void *, const char *, size_t), void (*end) (void *, const char *), int64_t again_ns,
     const char *request)
{
  struct feed_options options = {
    .loop = top->loop, .reach = top->options->reach, .again_ns = again_ns, .context = top, .line = line, .end = end
  };

  return feed_create (&options, request);
}

static void
set_error (struct top *top, const char *why)
{
  strncpy (top->error, why, sizeof top->error - 1);
}

/* --once ends when its view has what it shows. */
static void
once_done (struct top *top)
{
  bool lost = top->view == VIEW_NODE && top->came_ns && model_find (&top->model, top->node) == SIZE_MAX;

  if (!top->screen && top->came_ns && (lost || top_is_filled (top)))
    loop_stop (top->loop);
  if (lost && !top->screen)
    set_error (top, "no node of that name is listed");
}

static void
watch_line (void *context, const char *line, size_t length)
{
  struct top *top = context;

  if (top->paused)
    return;
  if (model_take (&top->model, line, length) < 0) {
    set_error (top, "the aggregator's answer is not understood: is it of another version?");
    return;
  }
  top->error[0] = 0;
  top->came_ns = clock_monotonic ();
  top_arrange (top);
  changed (top);
  once_done (top);
}

/* A metric that was typed, and that there is not: that is said, and the others go on. */
static bool
drop_chosen (struct top *top, const char *why)
{
  if (!top->screen || !top->chosen || top->model.columns[SLOT_CHOSEN].present || strncmp (why, "metric:", 7) != 0)
    return false;
  snprintf (top->notice, sizeof top->notice, "%s", why);
  top_choose (top, model_expressions[SLOT_CPU]);
  changed (top);
  return true;
}

static void
watch_end (void *context, const char *why)
{
  struct top *top = context;

  if (drop_chosen (top, why))
    return;
  if (top->metrics.complete && top->metrics.count == 0 && strncmp (why, "metric:", 7) == 0)
    why = "no node has sent values yet";
  set_error (top, *why ? why : "the aggregator ended; waiting for it");
  changed (top);
  if (!top->screen && *why) /* --once does not wait for what may never come */
    loop_stop (top->loop);
}

static void
jobs_end (void *context, const char *why)
{
  struct top *top = context;

  snprintf (top->jobs.error, sizeof top->jobs.error, "%s", why);
  changed (top);
}

static void
no_end (void *context, const char *why)
{
  (void) context;
  (void) why;
}

static void
jobs_line (void *context, const char *line, size_t length)
{
  struct top *top = context;

  if (top->paused || jobs_take (&top->jobs, line, length) < 0)
    return;
  top->jobs.error[0] = 0;
  top_arrange (top);
  changed (top);
  once_done (top);
}

static void
fact_line (void *context, const char *line, size_t length)
{
  struct top *top = context;

  jobs_take_fact (&top->jobs, line, length);
}

static void
facts_end (void *context, const char *why)
{
  struct top *top = context;

  if (*why)
    return;
  jobs_facts_end (&top->jobs);
  once_done (top);
}

static void
event_line (void *context, const char *line, size_t length)
{
  struct top *top = context;

  events_take (&top->events, line, length);
  if (top->view == VIEW_EVENTS) {
    top_arrange (top);
    changed (top);
  }
}

static void
alert_line (void *context, const char *line, size_t length)
{
  struct top *top = context;

  if (top->paused)
    return;
  snprintf (top->events.today, sizeof top->events.today, "%.10s", top->model.time);
  events_take_alert (&top->events, line, length);
}

static void
alerts_end (void *context, const char *why)
{
  struct top *top = context;

  top->events.filled |= *why != 0; /* --once goes without */
  if (!*why && !top->paused)
    events_alerts_end (&top->events);
  top_arrange (top);
  changed (top);
  once_done (top);
}

static void
node_line (void *context, const char *line, size_t length)
{
  struct top *top = context;

  if (top->paused || node_screen_take (top->node_screen, line, length) < 0)
    return;
  changed (top);
  once_done (top);
}

static void
close_feed (struct feed **feed)
{
  feed_destroy (*feed);
  *feed = NULL;
}

/* Opens what the view shows, and closes what it does not. */
static void
open_jobs (struct top *top)
{
  struct buffer request = { 0 };

  close_feed (&top->jobs_watch);
  if (top->view != VIEW_JOBS) {
    close_feed (&top->jobs_list);
    return;
  }
  if (!top->jobs_list)
    top->jobs_list = ask (top, fact_line, facts_end, LISTS_NS, "jobs\n");
  if (jobs_ask (&top->jobs, &top->metrics, &request))
    top->jobs_watch = ask (top, jobs_line, jobs_end, 0, buffer_text (&request));
  else
    top->jobs.filled = top->metrics.complete;
  buffer_free (&request);
}

static void
past_line (void *context, const char *line, size_t length)
{
  struct top *top = context;

  events_take (&top->events, line, length);
}

/* What happened before, ahead of what came since. */
static void
read_past (struct top *top)
{
  struct top_events since = top->events;
  struct error error;

  if (since.complete || !top->options->past)
    return;
  top->events.log = NULL;
  top->events.count = top->events.room = 0;
  top->events.complete = true;
  if (top->options->past (top->options->past_context, past_line, top, &error) < 0)
    snprintf (top->events.past_error, sizeof top->events.past_error, "%.199s", error.text);
  events_append (&top->events, &since);
}

static void
open_node (struct top *top)
{
  char *request = NULL;

  close_feed (&top->node_tail);
  if (top->view != VIEW_NODE)
    return;
  request = memory_format ("tail\ttype=node\tnode=%s\n", top->node); /* a node's name has no globs */
  top->node_tail = ask (top, node_line, no_end, 0, request);
  free (request);
}

static void
open_watch (struct top *top)
{
  struct buffer request = { 0 };

  close_feed (&top->watch);
  model_ask (&top->model, top->chosen, metrics_has, &top->metrics, &request);
  top->watch = ask (top, watch_line, watch_end, 0, buffer_text (&request));
  buffer_free (&request);
}

/* ---- metrics ---- */

static void
groups_line (void *context, const char *line, size_t length)
{
  struct top *top = context;

  metrics_take (&top->metrics, line, length);
}

/* The questions are asked anew when nodes have other metrics. */
static void
groups_end (void *context, const char *why)
{
  struct top *top = context;
  uint64_t before = top->metrics.asked;

  if (*why) {
    if (!top->watch)
      watch_end (top, why);
    return;
  }
  metrics_end (&top->metrics);
  if (top->metrics.hash != before || !top->watch)
    feeds_ask (top);
}

/* ---- all of them ---- */

void
feeds_ask (struct top *top)
{
  top->metrics.asked = top->metrics.hash;
  open_watch (top);
  open_jobs (top);
  open_node (top);
}

void
feeds_open (struct top *top)
{
  top->alerts = ask (top, alert_line, alerts_end, LISTS_NS, "alerts\n"); /* they mark nodes in all views */
  top->groups = ask (top, groups_line, groups_end, METRICS_NS, "groups\tjson\n");
  if (top->screen)
    top->tail = ask (top, event_line, no_end, 0, "tail\ttype=event\n");
}

void
feeds_show (struct top *top)
{
  open_jobs (top);
  open_node (top);
  if (top->view == VIEW_EVENTS)
    read_past (top);
}

void
feeds_close (struct top *top)
{
  struct feed **feeds[] = { &top->groups, &top->watch, &top->jobs_watch, &top->jobs_list,
                            &top->alerts, &top->tail,  &top->node_tail };

  for (size_t i = 0; i < sizeof feeds / sizeof feeds[0]; i++)
    close_feed (feeds[i]);
}
