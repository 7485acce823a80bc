/* See views.h. */
#include "aggregator/views/views.h"

#include <stdbool.h>
#include <stdlib.h>

#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

struct entry {
  const struct view *view;
  struct view_context context;
  void *state;
  bool on;
};

struct views {
  struct entry *entries;
  size_t count;
  void *counted;
  void (*count_all) (void *counted, void *to, view_counter_fn *take);
  bool giving; /* a report is being passed on: event, job and job_row may not report */
};

/* The views that are on and have the function. */
#define EACH(views, entry, function)                                                                                   \
  for (struct entry *entry = (views)->entries; entry < (views)->entries + (views)->count; entry++)                     \
    if (entry->on && entry->view->function)

/* ---- reports of the core ---- */

void
views_frame (struct views *views, const struct cluster_frame *frame)
{
  EACH (views, entry, frame)
  entry->view->frame (entry->state, frame);
}

void
views_tick (struct views *views, const struct cluster_tick_line *tick)
{
  EACH (views, entry, tick)
  entry->view->tick (entry->state, tick);
}

/* All views but the one that reports it. */
static void
give_event (struct views *views, const struct event *event, const struct view_context *from)
{
  event_log (event);
  views->giving = true;
  EACH (views, entry, event)
  if (&entry->context != from)
    entry->view->event (entry->state, event);
  views->giving = false;
}

void
views_event (struct views *views, const struct event *event)
{
  give_event (views, event, NULL);
}

/* ---- reports of views ---- */

static bool
may_report (const struct view_context *context)
{
  if (context->views->giving)
    log_error ("view %s: it reports while it is given a report: left out", context->name);
  return !context->views->giving;
}

void
view_event (const struct view_context *context, const struct event *event)
{
  if (may_report (context))
    give_event (context->views, event, context);
}

void
view_job (const struct view_context *context, const struct job_line *line)
{
  struct views *views = context->views;

  if (!may_report (context))
    return;
  views->giving = true;
  EACH (views, entry, job)
  if (&entry->context != context)
    entry->view->job (entry->state, line);
  views->giving = false;
}

void
view_job_row (const struct view_context *context, const struct job_row *row)
{
  struct views *views = context->views;

  if (!may_report (context))
    return;
  views->giving = true;
  EACH (views, entry, job_row)
  if (&entry->context != context)
    entry->view->job_row (entry->state, row);
  views->giving = false;
}

int64_t
view_now_ns (const struct view_context *context)
{
  return cluster_time (context->cluster, clock_monotonic ());
}

void
view_each_counter (const struct view_context *context, void *to, view_counter_fn *take)
{
  const struct views *views = context->views;

  if (views->count_all)
    views->count_all (views->counted, to, take);
  else
    views_count (views, to, take);
}

/* ---- reload, poll, end ---- */

struct views *
views_open (const struct views_options *options, struct error *error)
{
  struct views *views = memory_new (1, sizeof *views);

  views->counted = options->counted;
  views->count_all = options->count;
  while (options->list[views->count])
    views->count++;
  views->entries = memory_new (views->count + 1, sizeof views->entries[0]);
  for (size_t i = 0; i < views->count; i++) {
    struct entry *entry = &views->entries[i];
    entry->view = options->list[i];
    entry->context = (struct view_context){ .name = entry->view->name,
                                            .options = options->values (options->context, entry->view),
                                            .loop = options->loop,
                                            .cluster = options->cluster,
                                            .socket = options->socket,
                                            .views = views };
  }
  views->giving = true;
  for (size_t i = 0; i < views->count; i++) {
    struct entry *entry = &views->entries[i];
    if (entry->view->open && entry->view->open (&entry->context, &entry->state, error) < 0) {
      views_close (views);
      return NULL;
    }
    entry->on = entry->state || !entry->view->open;
    if (entry->on && entry->view->section_type && options->config)
      config_own (options->config, entry->view->section_type, entry->view->section, entry->state);
  }
  views->giving = false;
  return views;
}

int
views_close (struct views *views)
{
  int result = 0;

  if (!views)
    return 0;
  views->giving = true;
  for (size_t i = views->count; i-- > 0;) {
    struct entry *entry = &views->entries[i];
    if (entry->on && entry->view->close && entry->view->close (entry->state) < 0)
      result = -1;
    entry->on = false;
  }
  free (views->entries);
  free (views);
  return result;
}

void *
views_state (const struct views *views, const struct view *view)
{
  EACH (views, entry, name)
  if (entry->view == view)
    return entry->state;
  return NULL;
}

void
views_announce (struct views *views, const struct job_announcement *announcement, struct buffer *answer)
{
  EACH (views, entry, announce)
  entry->view->announce (entry->state, announcement, answer);
}

void
views_reload (struct views *views)
{
  EACH (views, entry, reload)
  entry->view->reload (entry->state);
}

void
views_poll (struct views *views, struct instant now)
{
  EACH (views, entry, poll)
  entry->view->poll (entry->state, now);
}

void
views_flush (struct views *views)
{
  EACH (views, entry, flush)
  entry->view->flush (entry->state);
}

void
views_mark (struct views *views)
{
  EACH (views, entry, mark)
  entry->view->mark (entry->state);
}

void
views_end (struct views *views)
{
  for (size_t i = views->count; i-- > 0;)
    if (views->entries[i].on && views->entries[i].view->end)
      views->entries[i].view->end (views->entries[i].state);
}

void
views_count (const struct views *views, void *to, view_counter_fn *take)
{
  for (size_t i = 0; i < views->count; i++) {
    const struct entry *entry = &views->entries[i];
    uint64_t values[VIEW_COUNTERS_MAX] = { 0 };
    if (entry->on && entry->view->count)
      entry->view->count (entry->state, values);
    for (size_t k = 0; entry->view->counters && entry->view->counters[k] && k < VIEW_COUNTERS_MAX; k++)
      take (to, entry->view->counters[k], (entry->view->levels >> k & 1) == 0, values[k]);
  }
}

size_t
views_sites (const struct views *views, struct http_site *sites, size_t most)
{
  size_t count = 0;

  EACH (views, entry, site)
  if (count < most)
    sites[count++] = entry->view->site (entry->state);
  return count;
}

void
views_status (const struct views *views, struct json *json, struct buffer *table)
{
  EACH (views, entry, status)
  entry->view->status (entry->state, json, table);
}
