/* See trace_view.h. */
#include "aggregator/traces/trace_view.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/node.h"
#include "aggregator/jobs/jobs_view.h"
#include "aggregator/views/views.h"
#include "synop/globs.h"
#include "synop/memory.h"

#define AT(member) .offset = offsetof (struct trace_settings, member)

struct trace_view {
  const struct view_context *context;
  struct trace_desk *desk;
  void *to;
  int (*request) (void *context, const char *node, const struct trace_request *request, struct error *error);
};

static const struct option options[] = {
  { "traces", "owners", "trace-owners", OPTION_BOOLEAN, AT (owners), .fallback = "no", .reload = OPTIONS_RELOADED,
    .help = "Users may have their own jobs traced." },
};

/* ---- the job's nodes ---- */

struct where {
  const char *user; /* whose jobs are looked for; NULL: all */
  struct globs globs;
  const char **nodes;
  size_t count;
  bool others; /* it is not, or not only, his */
};

static void
take_node (void *context, const char *user, const char *node)
{
  struct where *where = context;

  where->others |= where->user && strcmp (user, where->user) != 0;
  if (!globs_match (&where->globs, node))
    return;
  where->nodes = memory_resize (where->nodes, where->count + 1, sizeof *where->nodes);
  where->nodes[where->count++] = node;
}

static void
take_all_nodes (const struct cluster *cluster, struct where *where)
{
  for (size_t i = 0; i < cluster_node_count (cluster); i++)
    if (cluster_node (cluster, i)->state == NODE_UP)
      take_node (where, "", cluster_node (cluster, i)->name);
}

static int
compare_names (const void *a, const void *b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
sort_nodes (struct where *where)
{
  size_t kept = 0;

  if (where->count > 0)
    qsort (where->nodes, where->count, sizeof *where->nodes, compare_names);
  for (size_t i = 0; i < where->count; i++)
    if (kept == 0 || strcmp (where->nodes[kept - 1], where->nodes[i]) != 0)
      where->nodes[kept++] = where->nodes[i];
  where->count = kept;
}

/* -1 and error: there is no such job, or it is of others. */
static int
find_nodes (const struct trace_view *view, const struct trace_question *question, bool any, struct where *where,
            struct error *error)
{
  size_t jobs = 0;

  where->user = any ? NULL : question->user;
  if (*question->job)
    jobs = jobs_view_each_node (views_state (view->context->views, &jobs_view), question->job, where, take_node);
  else
    take_all_nodes (view->context->cluster, where);
  if (!any && (jobs == 0 || where->others))
    return error_set (error, "no job %.100s of yours runs", question->job);
  if (*question->job && jobs == 0)
    return error_set (error, "no job %.100s runs; \"synop-aggregator jobs --running\" lists those that do",
                      question->job);
  if (where->count == 0)
    return error_set (error,
                      *question->nodes ? "the job runs on no node that matches %.200s"
                      : *question->job ? "no node shows a process of the job%.0s"
                                       : "no node is up%.0s",
                      question->nodes);
  sort_nodes (where);
  return 0;
}

struct trace_reader *
trace_view_ask (void *state, const struct viewer *viewer, char *words, struct outlet *outlet,
                void (*ready) (void *context), void *context, struct error *error)
{
  struct trace_view *view = state;
  const struct trace_settings *settings = view->context->options;
  char user[VIEWER_NAME_MAX + 1];
  bool any = viewer->traces;
  struct trace_question question;
  struct trace_reader *reader = NULL;
  struct where where = { 0 };

  if (viewer->name[0])
    snprintf (user, sizeof user, "%s", viewer->name);
  else if (viewer->uid == 0)
    snprintf (user, sizeof user, "root");
  else
    snprintf (user, sizeof user, "%" PRId64, viewer->uid);
  if (trace_question_read (&question, words, error) < 0)
    return NULL;
  question.user = user;
  if (!any && (!settings->owners || !*question.job)) {
    error_set (error, "%s may not have jobs traced: [traces] users of aggregator.ini lists who may", user);
    return NULL;
  }
  globs_init (&where.globs, question.nodes);
  if (find_nodes (view, &question, any, &where, error) == 0)
    reader = trace_desk_ask (view->desk, &question, where.nodes, where.count, outlet, ready, context, error);
  globs_free (&where.globs);
  free (where.nodes);
  return reader;
}

/* ---- the view ---- */

static int
send_request (void *context, const char *node, const struct trace_request *request, struct error *error)
{
  const struct trace_view *view = context;

  return view->request (view->to, node, request, error);
}

static void
report (void *context, const struct event *event)
{
  const struct trace_view *view = context;

  view_event (view->context, event);
}

void
trace_view_connect (void *state, void *context,
                    int (*request) (void *context, const char *node, const struct trace_request *request,
                                    struct error *error))
{
  struct trace_view *view = state;

  view->to = context;
  view->request = request;
}

void
trace_view_answer (void *state, const struct node *node, const struct trace_answer *answer)
{
  const struct trace_view *view = state;

  trace_desk_answer (view->desk, node, answer);
}

static int
open_traces (const struct view_context *context, void **state, struct error *error)
{
  struct trace_view *view = *state = memory_new (1, sizeof *view);

  (void) error;
  view->context = context;
  view->desk = trace_desk_create (&(struct trace_desk_options){ context->cluster, view, send_request, report });
  return 0;
}

static void
poll_traces (void *state, struct instant now)
{
  const struct trace_view *view = state;

  trace_desk_poll (view->desk, now);
}

static const char *const counters[] = { "traces_open", NULL };

static void
count_traces (void *state, uint64_t *values)
{
  const struct trace_view *view = state;

  values[0] = trace_desk_open (view->desk);
}

static int
close_traces (void *state)
{
  struct trace_view *view = state;

  trace_desk_destroy (view->desk);
  free (view);
  return 0;
}

const struct view trace_view = {
  .name = "traces",
  .options = options,
  .option_count = sizeof options / sizeof options[0],
  .options_size = sizeof (struct trace_settings),
  .counters = counters,
  .levels = 1, /* traces_open */
  .open = open_traces,
  .poll = poll_traces,
  .count = count_traces,
  .close = close_traces,
};
