/* See alerts_view.h. */
#include "aggregator/alerts/alerts_view.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/alerts/alerts_past.h"
#include "aggregator/alerts/faults.h"
#include "aggregator/core/node.h"
#include "aggregator/history/history.h"
#include "aggregator/history/history_view.h"
#include "aggregator/views/views.h"
#include "synop/log.h"
#include "synop/memory.h"

#define LOOK_EVERY (5 * NS_PER_S)

struct alerts_state {
  const struct view_context *context;
  struct alerts alerts;
  struct faults *faults;
  int64_t looked_ns;
};

static void
report (void *context, const struct event *event)
{
  const struct alerts_state *state = context;

  view_event (state->context, event);
}

/* What stood when the aggregator ended. A file that is missing or cannot be read has none: the history itself says so. */
static void
restore (struct alerts *alerts, const char *path)
{
  struct error error;
  struct history_file *file = history_file_open (path, &error);

  if (!file || alerts_past (alerts, file, clock_wall (), &error) < 0)
    log_debug ("alerts of before: %s", error.text);
  history_file_close (file);
}

static int
open_alerts (const struct view_context *context, void **to, struct error *error)
{
  const struct history *history = views_state (context->views, &history_view);
  struct alerts_state *state = *to = memory_new (1, sizeof *state);

  (void) error;
  state->context = context;
  state->faults = faults_create (&state->alerts, state, report);
  if (history)
    restore (&state->alerts, history_path (history));
  return 0;
}

static int
close_alerts (void *context)
{
  struct alerts_state *state = context;

  faults_destroy (state->faults);
  alerts_free (&state->alerts);
  free (state);
  return 0;
}

static void
frame_alerts (void *context, const struct cluster_frame *frame)
{
  const struct alerts_state *state = context;

  faults_frame (state->faults, frame);
}

static void
event_alerts (void *context, const struct event *event)
{
  struct alerts_state *state = context;

  alerts_take (&state->alerts, event);
}

static void
poll_alerts (void *context, struct instant now)
{
  struct alerts_state *state = context;

  if (now.monotonic_ns - state->looked_ns < LOOK_EVERY)
    return;
  state->looked_ns = now.monotonic_ns;
  faults_poll (state->faults, now.wall_ns);
  alerts_forget (&state->alerts, now.wall_ns);
}

/* What ended while no aggregator ran, the core knows: events of that there are none. */
static bool
still (const void *context, const char *name, const struct alert *alert)
{
  const struct alerts_state *state = context;
  const struct node *node = *name ? cluster_find (state->context->cluster, name) : NULL;
  const struct group_failure *failure = node ? node->failures : NULL;

  if (!node)
    return !*name;
  if (alert->type == EVENT_NODE_DOWN || alert->type == EVENT_NODE_STALE)
    return node->state != NODE_UP;
  if (alert->type != EVENT_GROUP_FAILED)
    return true;
  while (failure && strcmp (failure->name, alert->what) != 0)
    failure = failure->next;
  return node->state == NODE_UP && failure && group_failure_error (failure)[0];
}

void
alerts_view_write (const void *context, const struct viewer *viewer, struct json *json)
{
  const struct alerts_state *state = context;

  alerts_write (&state->alerts, viewer, view_now_ns (state->context), still, state, json);
}

const struct view alerts_view = {
  .name = "alerts",
  .open = open_alerts,
  .frame = frame_alerts,
  .event = event_alerts,
  .poll = poll_alerts,
  .close = close_alerts,
};
