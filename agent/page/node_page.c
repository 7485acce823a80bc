/* See node_page.h. The sampling thread copies tables, and HTTP's thread copies those copies: neither waits for the other but for
 * that.
 *
 * Series of jobs are for admins: who has a password, and of this host root and the agent's own user. Others get the page
 * without them, as the aggregator's (docs/access.md). */
#include "agent/page/node_page.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/data_folder.h"
#include "synop/exposition.h"
#include "synop/globs.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/naming.h"
#include "synop/schema.h"
#include "synop/series.h"
#include "synop/users.h"

#define BEAT_EVERY NS_PER_S
#define TRY_EVERY (10 * NS_PER_S)
#define STALE_PERIODS 5 /* a table is shown for so many of its periods, */
#define STALE_MORE NS_PER_S

struct group_tables {
  struct table now, before; /* monotonic_ns 0: there is none */
  int64_t wall_ns;
};

/* Names, and who writes with them. */
struct names {
  size_t users;
  struct naming *naming;
};

struct node_page {
  struct node_page_options options;
  struct http *http; /* NULL: the address cannot be had */
  struct loop_timer *beat_timer;
  int64_t try_ns;

  const struct group **groups; /* all that there may be, */
  struct schema *schema;       /* and their schema */
  pthread_mutex_t lock;
  struct group_tables *fresh; /* under the lock, as what follows */
  struct names *names;
  bool everybody;             /* sees all */
  struct group_tables *shown; /* HTTP's thread alone */
};

/* ---- tables ---- */

static struct group_tables *
tables_create (const struct schema *schema)
{
  struct group_tables *tables = memory_new (schema->group_count, sizeof *tables);

  for (size_t i = 0; i < schema->group_count; i++) {
    table_init (&tables[i].now, schema->groups[i]);
    table_init (&tables[i].before, schema->groups[i]);
  }
  return tables;
}

static void
tables_free (struct group_tables *tables, const struct schema *schema)
{
  for (size_t i = 0; i < schema->group_count; i++) {
    table_free (&tables[i].now);
    table_free (&tables[i].before);
  }
  free (tables);
}

static size_t
group_place (const struct node_page *page, const struct group *group)
{
  size_t place = 0;

  while (page->schema->groups[place] != group)
    place++;
  return place;
}

void
node_page_take (void *context, const struct sample *sample)
{
  struct node_page *page = context;

  pthread_mutex_lock (&page->lock);
  for (size_t i = 0; i < sample->count; i++) {
    const struct table *table = sample->tables[i];
    struct group_tables *fresh = &page->fresh[group_place (page, table->group)];

    if (fresh->now.monotonic_ns != 0 && table_is_comparable (&fresh->now))
      table_swap (&fresh->now, &fresh->before);
    table_copy (&fresh->now, table);
    fresh->wall_ns = sample->wall_ns;
  }
  pthread_mutex_unlock (&page->lock);
}

/* ---- a page ---- */

struct scrape {
  struct node_page *page;
  struct names *names;
  bool all; /* what is of users too */
  struct globs groups;
  struct series_table *tables;
  struct series_node node;
  struct exposition exposition;
};

static void
names_leave (struct names *names)
{
  if (--names->users > 0)
    return;
  naming_destroy (names->naming);
  free (names);
}

/* With the lock held. */
static void
tables_show (struct node_page *page)
{
  for (size_t i = 0; i < page->schema->group_count; i++) {
    const struct group_tables *fresh = &page->fresh[i];
    struct group_tables *shown = &page->shown[i];

    if (fresh->now.monotonic_ns == shown->now.monotonic_ns)
      continue;
    table_copy (&shown->now, &fresh->now);
    if (fresh->before.monotonic_ns != 0)
      table_copy (&shown->before, &fresh->before);
    shown->wall_ns = fresh->wall_ns;
  }
}

static void
tables_lay_out (struct scrape *scrape)
{
  const struct node_page *page = scrape->page;
  int64_t now_ns = clock_monotonic ();

  scrape->tables = memory_new (page->schema->group_count, sizeof *scrape->tables);
  for (size_t i = 0; i < page->schema->group_count; i++) {
    const struct group_tables *shown = &page->shown[i];
    bool once = (page->schema->groups[i]->flags & GROUP_ONCE) != 0;

    if (shown->now.monotonic_ns == 0 || (!scrape->all && group_is_of_users (page->schema->groups[i])) ||
        (!once && now_ns - shown->now.monotonic_ns > shown->now.period_ns * STALE_PERIODS + STALE_MORE))
      continue;
    scrape->tables[i] =
        (struct series_table){ .table = &shown->now,
                               .before = shown->before.monotonic_ns != 0 ? &shown->before : NULL,
                               .time_ns = shown->wall_ns,
                               .hidden = !globs_match (&scrape->groups, page->schema->groups[i]->name) };
    if (shown->wall_ns > scrape->node.time_ns && scrape->groups.count == 0)
      scrape->node.time_ns = shown->wall_ns;
  }
}

static bool
scrape_next (void *context, struct buffer *out, size_t limit)
{
  struct scrape *scrape = context;

  if (exposition_next (&scrape->exposition, out, limit))
    return true;
  if (!scrape->all)
    exposition_others_left_out (out, scrape->exposition.format);
  exposition_end (out, scrape->exposition.format);
  return false;
}

static void
scrape_end (void *context)
{
  struct scrape *scrape = context;

  pthread_mutex_lock (&scrape->page->lock);
  names_leave (scrape->names);
  pthread_mutex_unlock (&scrape->page->lock);
  globs_free (&scrape->groups);
  free (scrape->tables);
  free (scrape);
}

static void
answer_metrics (void *context, const struct http_request *request, const char *rest, struct http_reply *reply)
{
  struct node_page *page = context;
  struct scrape *scrape = memory_new (1, sizeof *scrape);
  char *groups = http_request_arguments (request, "group");
  bool open = http_request_accepts (request, "application/openmetrics-text");
  enum exposition_format format = open ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT;

  (void) rest;
  scrape->page = page;
  scrape->all = http_request_viewer (request)->all;
  globs_init (&scrape->groups, groups ? groups : "");
  free (groups);
  pthread_mutex_lock (&page->lock);
  scrape->names = page->names;
  scrape->names->users++;
  tables_show (page);
  pthread_mutex_unlock (&page->lock);
  tables_lay_out (scrape);
  scrape->node.name = page->options.node;
  scrape->node.plan = naming_plan (scrape->names->naming, page->schema);
  scrape->node.tables = scrape->tables;
  scrape->node.untimed = !page->options.http->timestamps;
  exposition_begin (&scrape->exposition, format, false, scrape->names->naming, &scrape->node, 1);
  buffer_free (&reply->text);
  *reply = (struct http_reply){
    .status = 200, .type = exposition_content_type (format), .context = scrape, .next = scrape_next, .free = scrape_end
  };
}

/* ---- HTTP ---- */

static enum http_who
page_who (void *context, const struct http_request *request, struct viewer *viewer, struct error *why)
{
  struct node_page *page = context;
  int64_t owner = http_request_is_proxied (request) ? -1 : http_request_owner (request);

  (void) why;
  pthread_mutex_lock (&page->lock);
  viewer->all = page->everybody || owner == 0 || owner == (int64_t) geteuid ();
  pthread_mutex_unlock (&page->lock);
  return owner < 0 ? HTTP_NOBODY : HTTP_LOCAL;
}

static int
listen_try (struct node_page *page, bool first, struct error *error)
{
  static const struct http_route routes[] = { { "/metrics", "this node, for Prometheus; ?group=GLOB",
                                                answer_metrics } };
  const struct http_site site = { routes, 1, page };
  const struct http_options to = { .settings = page->options.http,
                                   .who = page_who,
                                   .who_context = page,
                                   .title = "synop-agent",
                                   .sites = &site,
                                   .site_count = 1 };
  bool taken;

  page->http = http_create (&to, &taken, error);
  if (page->http != NULL)
    return 0;
  if (!taken)
    return -1;
  if (first)
    log_error ("[http] listen: %s; without HTTP until it can be had", error->text);
  page->try_ns = clock_monotonic () + TRY_EVERY;
  return 0;
}

static void
page_beat (void *context, int64_t due_ns)
{
  struct node_page *page = context;
  int64_t now_ns = clock_monotonic ();
  struct error error;

  (void) due_ns;
  if (page->http != NULL)
    http_beat (page->http, now_ns, true);
  else if (now_ns >= page->try_ns && listen_try (page, false, &error) < 0)
    log_error ("[http] listen: %s", error.text);
  loop_timer_set (page->beat_timer, now_ns + BEAT_EVERY);
}

static struct names *
names_load (const struct node_page *page, struct error *error)
{
  struct names *names = memory_new (1, sizeof *names);
  char folder[PATH_MAX];

  names->users = 1;
  names->naming = naming_create ();
  data_folder ("aggregator", "names", folder, sizeof folder);
  if (naming_load (names->naming, *page->options.names, folder, error) == 0 &&
      naming_check_plain (names->naming, error) == 0)
    return names;
  error_prefix (error, "[prometheus] names: ");
  names_leave (names);
  return NULL;
}

int
node_page_reload (struct node_page *page, struct error *error)
{
  struct names *names = names_load (page, error);

  if (names == NULL)
    return -1;
  pthread_mutex_lock (&page->lock);
  names_leave (page->names);
  page->names = names;
  page->everybody = *page->options.everybody_sees == NODE_PAGE_SEES_ALL;
  pthread_mutex_unlock (&page->lock);
  return page->http != NULL ? http_reload (page->http, error) : 0;
}

/* ---- its life ---- */

struct node_page *
node_page_create (const struct node_page_options *options, struct error *error)
{
  struct node_page *page;
  const struct group **groups;

  if (http_settings_check (options->http, error) < 0)
    return NULL;
  page = memory_new (1, sizeof *page);
  page->options = *options;
  page->everybody = *options->everybody_sees == NODE_PAGE_SEES_ALL;
  pthread_mutex_init (&page->lock, NULL);
  groups = memory_new (options->sampler_count, sizeof *groups);
  for (size_t i = 0; i < options->sampler_count; i++)
    groups[i] = options->samplers[i]->group;
  page->schema = schema_create (groups, options->sampler_count);
  page->groups = groups;
  page->fresh = tables_create (page->schema);
  page->shown = tables_create (page->schema);
  page->beat_timer = loop_timer_add (options->loop, page_beat, page);
  loop_timer_set (page->beat_timer, clock_monotonic ());
  page->names = names_load (page, error);
  if (page->names != NULL && listen_try (page, true, error) == 0)
    return page;
  node_page_destroy (page);
  return NULL;
}

void
node_page_destroy (struct node_page *page)
{
  if (page == NULL)
    return;
  http_destroy (page->http); /* nobody writes any more */
  loop_timer_remove (page->beat_timer);
  if (page->names != NULL)
    names_leave (page->names);
  tables_free (page->fresh, page->schema);
  tables_free (page->shown, page->schema);
  schema_destroy (page->schema);
  free (page->groups);
  pthread_mutex_destroy (&page->lock);
  free (page);
}
