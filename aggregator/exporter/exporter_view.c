/* See exporter_view.h. */
#include "aggregator/exporter/exporter_view.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/access/access_view.h"
#include "aggregator/exporter/exporter.h"
#include "aggregator/exporter/exporter_site.h"
#include "aggregator/views/views.h"
#include "synop/clock.h"
#include "synop/data_folder.h"
#include "synop/http.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/naming.h"

#define LISTEN "127.0.0.1:5580"
#define NAMES "node-exporter, dcgm-exporter, synop"
#define NODES_EVERY NS_PER_S
#define TRY_EVERY (10 * NS_PER_S)
#define SITES_MAX 8

struct exporter_view {
  const struct view_context *context;
  struct exporter *exporter;
  struct http *http; /* NULL: the address cannot be had */
  int64_t started_ns, nodes_ns, try_ns;
};

static const struct option options[] = {
  HTTP_OPTIONS (
      struct exporter_settings, http, LISTEN,
      "Where Prometheus and others find the nodes' values (docs/prometheus.md), and the API is (docs/api.md), "
      "HOST:PORT. Empty: nowhere. "
      "Other hosts are let in only with password_file, or auth = none."),
  { "prometheus", "names", "prometheus-names", OPTION_LIST, offsetof (struct exporter_settings, names), NAMES,
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

  data_folder ("aggregator", "names", folder, sizeof folder);
  if (naming_load (naming, list, folder, error) == 0 && naming_check_plain (naming, error) == 0)
    return naming;
  error_prefix (error, "[prometheus] names: ");
  naming_destroy (naming);
  return NULL;
}

/* A program that was copied has its own names still. */
static struct naming *
names_open (const struct exporter_settings *settings, struct error *error)
{
  struct naming *naming = names_load (settings->names, error);

  if (!naming && strcmp (settings->names, NAMES) == 0) {
    log_warning ("%s; metrics have synop's own names alone", error->text);
    naming = names_load (NAMING_RULE, error);
  }
  return naming;
}

static void
names_again (struct exporter_view *view)
{
  const struct exporter_settings *settings = view->context->options;
  struct error error;
  struct naming *naming = names_load (settings->names, &error);

  if (naming)
    exporter_set_naming (view->exporter, naming, settings->http.timestamps);
  else
    log_error ("%s; the names stay as they were", error.text);
}

/* ---- HTTP ---- */

/* -1 and error: it will not do later either. */
static int
listen_try (struct exporter_view *view, bool first, struct error *error)
{
  const struct exporter_settings *settings = view->context->options;
  char page[PATH_MAX], fetched[PATH_MAX];
  struct http_site sites[SITES_MAX] = { exporter_site (view->exporter) };
  const struct http_options to = { .settings = &settings->http,
                                   .who = access_who,
                                   .who_context = views_state (view->context->views, &access_view),
                                   .title = "synop-aggregator",
                                   .sites = sites,
                                   .site_count = 1 + views_sites (view->context->views, sites + 1, SITES_MAX - 1),
                                   .folders = { page, fetched } };
  bool taken;

  data_folder ("aggregator", "page", page, sizeof page);
  data_folder ("build", "page", fetched, sizeof fetched);
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
close_exporter (void *state)
{
  struct exporter_view *view = state;

  http_destroy (view->http); /* nobody writes any more */
  exporter_destroy (view->exporter);
  free (view);
  return 0;
}

static int
open_exporter (const struct view_context *context, void **state, struct error *error)
{
  const struct exporter_settings *settings = context->options;
  struct exporter_view *view;
  struct naming *naming;

  if (settings->http.listen[0] == '\0')
    return 0;
  if (http_settings_check (&settings->http, error) < 0 || !(naming = names_open (settings, error)))
    return -1;
  view = memory_new (1, sizeof *view);
  view->context = context;
  view->started_ns = clock_monotonic ();
  view->exporter = exporter_create (naming, settings->http.timestamps);
  if (listen_try (view, true, error) < 0) {
    close_exporter (view);
    return -1;
  }
  *state = view;
  return 0;
}

static void
exporter_view_reload (void *state)
{
  struct exporter_view *view = state;
  struct error error;

  names_again (view);
  if (view->http && http_reload (view->http, &error) < 0)
    log_error ("[http] %s; all stays as it was", error.text);
}

static void
put_frame (void *state, const struct cluster_frame *frame)
{
  struct exporter_view *view = state;

  exporter_put_frame (view->exporter, frame);
}

static void
put_tick (void *state, const struct cluster_tick_line *tick)
{
  struct exporter_view *view = state;

  exporter_put_tick (view->exporter, tick);
}

static void
put_counter (void *exporter, const char *name, bool total, uint64_t value)
{
  exporter_put_counter (exporter, name, total, value);
}

static void
poll_exporter (void *state, struct instant now)
{
  struct exporter_view *view = state;
  struct error error;

  if (view->http)
    http_beat (view->http, now.monotonic_ns, true);
  else if (now.monotonic_ns >= view->try_ns && listen_try (view, false, &error) < 0)
    log_error ("[http] listen: %s", error.text);
  if (now.monotonic_ns - view->nodes_ns < NODES_EVERY)
    return;
  view->nodes_ns = now.monotonic_ns;
  exporter_put_nodes (view->exporter, view->context->cluster, now.monotonic_ns);
  exporter_begin_counters (view->exporter);
  view_each_counter (view->context, view->exporter, put_counter);
  exporter_end_counters (view->exporter, now.monotonic_ns - view->started_ns);
  if (exporter_is_crowded (view->exporter))
    names_again (view);
}

/* How to see the page: where it listens for this host alone, through ssh from another. */
static void
page_write (const char *url, struct buffer *out)
{
  const char *host = strstr (url, "://") + 3, *port = strrchr (url, ':') + 1;
  int length = (int) strcspn (port, "/");
  char name[HOST_NAME_MAX + 1] = "";

  buffer_printf (out, "the page: %s\n", url);
  if (strncmp (host, "127.", 4) != 0 && strncmp (host, "[::1]", 5) != 0)
    return;
  gethostname (name, sizeof name - 1);
  buffer_printf (out, "from another host: ssh -L %.*s:%.*s:%.*s %s, then http%s://localhost:%.*s/\n", length, port,
                 (int) (port - 1 - host), host, length, port, name, strncmp (url, "https", 5) == 0 ? "s" : "", length,
                 port);
}

static void
status_exporter (void *state, struct json *json, struct buffer *table)
{
  const struct exporter_view *view = state;
  const char *url = view->http ? http_url (view->http) : NULL;

  if (json) {
    json_key (json, "page");
    if (url)
      json_text (json, url);
    else
      json_null (json);
  } else if (url) {
    page_write (url, table);
    buffer_add_string (table, "\n");
  }
}

static void
count_exporter (void *state, uint64_t *values)
{
  const struct exporter_view *view = state;
  struct http_counts counts = { 0 };

  if (view->http)
    http_count (view->http, &counts);
  values[0] = counts.connections;
  values[1] = counts.requests;
  values[2] = counts.refused;
  values[3] = counts.unauthorized;
  values[4] = counts.ended;
}

const struct view exporter_view = {
  .name = "exporter",
  .options = options,
  .option_count = sizeof options / sizeof options[0],
  .options_size = sizeof (struct exporter_settings),
  .counters = counters,
  .levels = 1, /* http_connections */
  .open = open_exporter,
  .reload = exporter_view_reload,
  .frame = put_frame,
  .tick = put_tick,
  .poll = poll_exporter,
  .count = count_exporter,
  .status = status_exporter,
  .close = close_exporter,
};
