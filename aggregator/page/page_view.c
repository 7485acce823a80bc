/* See page_view.h. */
#include "aggregator/page/page_view.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/page/page.h"
#include "aggregator/page/page_site.h"
#include "aggregator/views/views.h"
#include "synop/clock.h"
#include "synop/http.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/naming.h"

#define LISTEN "127.0.0.1:5580"
#define NAMES "node-exporter, dcgm-exporter, synop"
#define NODES_EVERY NS_PER_S
#define TRY_EVERY (10 * NS_PER_S)
#define SITES_MAX 8

struct settings {
  struct http_settings http;
  char *names;
};

struct page_view {
  const struct view_context *context;
  struct page *page;
  struct http *http; /* NULL: the address cannot be had */
  int64_t started_ns, nodes_ns, try_ns;
};

static const struct option options[] = {
  HTTP_OPTIONS (
      struct settings, http, LISTEN,
      "Where Prometheus and others find the nodes' values (docs/prometheus.md), and the API is (docs/api.md), "
      "HOST:PORT. Empty: nowhere. "
      "Other hosts are let in only with password_file, or auth = none."),
  { "prometheus", "names", "prometheus-names", OPTION_LIST, offsetof (struct settings, names), NAMES,
    .reload = OPTIONS_RELOADED,
    .help = "What metrics are called for Prometheus: sets of names, node-exporter, dcgm-exporter, moneo, and synop for "
            "all that stands in none; or paths of files of that form." },
};

static const char *const counters[] = { "http_connections",  "http_requests", "http_refused",
                                        "http_unauthorized", "http_ended",    NULL };

/* ---- names ---- */

static struct naming *
names_load (const char *list, struct error *error)
{
  struct naming *naming = naming_create ();
  char folder[PATH_MAX];

  naming_folder (folder, sizeof folder);
  if (naming_load (naming, list, folder, error) == 0)
    return naming;
  error_prefix (error, "[prometheus] names: ");
  naming_destroy (naming);
  return NULL;
}

/* A program that was copied has its own names still. */
static struct naming *
names_open (const struct settings *settings, struct error *error)
{
  struct naming *naming = names_load (settings->names, error);

  if (!naming && strcmp (settings->names, NAMES) == 0) {
    log_warning ("%s; metrics have synop's own names alone", error->text);
    naming = names_load (NAMING_RULE, error);
  }
  return naming;
}

static void
names_again (struct page_view *view)
{
  const struct settings *settings = view->context->options;
  struct error error;
  struct naming *naming = names_load (settings->names, &error);

  if (naming)
    page_set_naming (view->page, naming, settings->http.timestamps);
  else
    log_error ("%s; the names stay as they were", error.text);
}

/* ---- HTTP ---- */

/* -1 and error: it will not do later either. */
static int
listen_try (struct page_view *view, bool first, struct error *error)
{
  const struct settings *settings = view->context->options;
  struct http_site sites[SITES_MAX] = { page_site (view->page) };
  const struct http_options to = { .settings = &settings->http,
                                   .title = "synop-aggregator",
                                   .sites = sites,
                                   .site_count = 1 + views_sites (view->context->views, sites + 1, SITES_MAX - 1) };
  bool taken;

  view->http = http_create (&to, &taken, error);
  if (view->http)
    return 0;
  if (!taken)
    return -1;
  if (first)
    (strcmp (settings->http.listen, LISTEN) == 0 ? log_warning : log_error) (
        "[http] listen: %s; without HTTP until it can be had", error->text);
  view->try_ns = clock_monotonic () + TRY_EVERY;
  return 0;
}

/* ---- the view ---- */

static int
close_page (void *state)
{
  struct page_view *view = state;

  http_destroy (view->http); /* nobody writes any more */
  page_destroy (view->page);
  free (view);
  return 0;
}

static int
open_page (const struct view_context *context, void **state, struct error *error)
{
  const struct settings *settings = context->options;
  struct page_view *view;
  struct naming *naming;

  if (settings->http.listen[0] == '\0')
    return 0;
  if (http_settings_check (&settings->http, error) < 0 || !(naming = names_open (settings, error)))
    return -1;
  view = memory_new (1, sizeof *view);
  view->context = context;
  view->started_ns = clock_monotonic ();
  view->page = page_create (naming, settings->http.timestamps);
  if (listen_try (view, true, error) < 0) {
    close_page (view);
    return -1;
  }
  *state = view;
  return 0;
}

static void
page_view_reload (void *state)
{
  struct page_view *view = state;
  struct error error;

  names_again (view);
  if (view->http && http_reload (view->http, &error) < 0)
    log_error ("[http] %s; all stays as it was", error.text);
}

static void
put_frame (void *state, const struct cluster_frame *frame)
{
  struct page_view *view = state;

  page_put_frame (view->page, frame);
}

static void
put_tick (void *state, const struct cluster_tick_line *tick)
{
  struct page_view *view = state;

  page_put_tick (view->page, tick);
}

static void
put_counter (void *page, const char *name, bool total, uint64_t value)
{
  page_put_counter (page, name, total, value);
}

static void
poll_page (void *state, struct instant now)
{
  struct page_view *view = state;
  struct error error;

  if (view->http)
    http_beat (view->http, now.monotonic_ns, true);
  else if (now.monotonic_ns >= view->try_ns && listen_try (view, false, &error) < 0)
    log_error ("[http] listen: %s", error.text);
  if (now.monotonic_ns - view->nodes_ns < NODES_EVERY)
    return;
  view->nodes_ns = now.monotonic_ns;
  page_put_nodes (view->page, view->context->cluster, now.monotonic_ns);
  page_begin_counters (view->page);
  view_each_counter (view->context, view->page, put_counter);
  page_end_counters (view->page, now.monotonic_ns - view->started_ns);
  if (page_is_crowded (view->page))
    names_again (view);
}

static void
count_page (void *state, uint64_t *values)
{
  const struct page_view *view = state;
  struct http_counts counts = { 0 };

  if (view->http)
    http_count (view->http, &counts);
  values[0] = counts.connections;
  values[1] = counts.requests;
  values[2] = counts.refused;
  values[3] = counts.unauthorized;
  values[4] = counts.ended;
}

const struct view page_view = {
  .name = "page",
  .options = options,
  .option_count = sizeof options / sizeof options[0],
  .options_size = sizeof (struct settings),
  .counters = counters,
  .levels = 1, /* http_connections */
  .open = open_page,
  .reload = page_view_reload,
  .frame = put_frame,
  .tick = put_tick,
  .poll = poll_page,
  .count = count_page,
  .close = close_page,
};
