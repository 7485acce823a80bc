/* See exporter_site.h. */
#include "aggregator/exporter/exporter_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/exporter/exporter_scrape.h"
#include "synop/clock.h"
#include "synop/globs.h"

#define TEXT "text/plain; charset=utf-8"
#define HOST_MAX 255

/* ---- values ---- */

static void
answer_scrape (struct exporter *exporter, const struct http_request *request, struct exporter_ask *ask,
               struct http_reply *reply)
{
  struct exporter_scrape *scrape;

  if (!globs_list_is_cheap (ask->nodes) || !globs_list_is_cheap (ask->groups)) {
    http_reply_text (reply, 400, TEXT, "a list of globs is too long, or one of them has more than 4 stars\n");
    return;
  }
  ask->host = http_request_host (request);
  ask->all = http_request_viewer (request)->all;
  ask->now_ns = clock_monotonic ();
  ask->format =
      http_request_accepts (request, "application/openmetrics-text") ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT;
  switch (exporter_scrape_begin (exporter, ask, &scrape)) {
  case EXPORTER_FOUND:
    buffer_free (&reply->text);
    *reply = (struct http_reply){ .status = 200,
                                  .type = exposition_content_type (ask->format),
                                  .context = scrape,
                                  .next = exporter_scrape_next,
                                  .free = exporter_scrape_end };
    break;
  case EXPORTER_NO_NODE:
    http_reply_text (reply, 404, TEXT, "no node of that name is listed\n");
    break;
  case EXPORTER_SILENT:
    http_reply_text (reply, 503, TEXT, "the node is down, or was never heard\n");
    break;
  case EXPORTER_TOO_MANY:
    http_reply_text (reply, 429, TEXT, "too many scrapes of all nodes are being read\n");
    break;
  }
}

static void
answer_metrics (void *exporter, const struct http_request *request, const char *rest, struct http_reply *reply)
{
  char *nodes = http_request_arguments (request, "node"), *groups = http_request_arguments (request, "group");
  struct exporter_ask ask = { .nodes = nodes, .groups = groups, .values = true, .own = true };

  (void) rest;
  answer_scrape (exporter, request, &ask, reply);
  free (nodes);
  free (groups);
}

static void
answer_aggregator (void *exporter, const struct http_request *request, const char *rest, struct http_reply *reply)
{
  struct exporter_ask ask = { .own = true };

  (void) rest;
  answer_scrape (exporter, request, &ask, reply);
}

static void
answer_node (void *exporter, const struct http_request *request, const char *rest, struct http_reply *reply)
{
  static const char end[] = "/metrics";
  char node[FRAME_NODE_MAX + 1];
  struct exporter_ask ask = { .node = node, .values = true };
  size_t length = strlen (rest);
  char *groups;

  if (length <= strlen (end) || length - strlen (end) > FRAME_NODE_MAX ||
      strcmp (rest + length - strlen (end), end) != 0)
    return;
  snprintf (node, sizeof node, "%.*s", (int) (length - strlen (end)), rest);
  ask.groups = groups = http_request_arguments (request, "group");
  answer_scrape (exporter, request, &ask, reply);
  free (groups);
}

/* ---- targets ---- */

static bool
host_is_good (const char *host)
{
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]";

  return host != NULL && host[0] != '\0' && strlen (host) <= HOST_MAX && strspn (host, allowed) == strlen (host);
}

static void
answer_targets (void *exporter, const struct http_request *request, const char *rest, struct http_reply *reply)
{
  const char *host = http_request_authority (request);

  (void) rest;
  if (!host_is_good (host)) {
    http_reply_text (reply, 400, TEXT, "the request has no Host, or one that is none\n");
    return;
  }
  http_reply_text (reply, 200, "application/json", "");
  exporter_targets (exporter, host, http_request_is_tls (request), &reply->text);
}

struct http_site
exporter_site (struct exporter *exporter)
{
  static const struct http_route routes[] = {
    { "/metrics", "all nodes, combined reports, and the aggregator, for Prometheus; ?node=GLOB&amp;group=GLOB",
      answer_metrics },
    { "/aggregator/metrics", "the aggregator, the nodes' states, and combined reports", answer_aggregator },
    { "/sd", "the nodes as targets, for Prometheus' HTTP service discovery", answer_targets },
    { "/nodes/", NULL, answer_node },
  };

  return (struct http_site){ routes, sizeof routes / sizeof routes[0], exporter };
}
