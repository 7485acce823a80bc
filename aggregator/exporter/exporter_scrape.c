/* See exporter_scrape.h. What a scrape is of is taken when it begins; the nodes' tables go on changing while it is written. */
#include "aggregator/exporter/exporter_scrape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/exporter/exporter_private.h"
#include "synop/clock.h"
#include "synop/globs.h"
#include "synop/json.h"
#include "synop/memory.h"
#include "synop/users.h"

#define STALE_PERIODS 5 /* a table is shown for so many of its periods, */
#define STALE_MORE NS_PER_S
#define PLANS_MORE 20000 /* groups and metrics, beside twice those of the schemas that there are */

struct exporter_scrape {
  struct exporter *exporter;
  struct exporter_names *names;
  struct exporter_node **taken;
  struct exporter_state *states;
  size_t taken_count, chosen; /* those that are asked for, with their states, are the first */
  struct series_node *nodes;  /* those that have values */
  struct exporter_shown **shown;
  size_t count;
  struct exporter_combined *combined;
  struct exporter_counters counters;
  int64_t now_ns; /* cluster time */
  size_t plans_most;
  struct globs groups;
  uint64_t host;
  bool all, counted, values, own;
  struct exposition exposition;
  struct exporter_families families;
};

static bool
group_is_asked (const void *context, const char *group)
{
  const struct exporter_scrape *scrape = context;

  return globs_match (&scrape->groups, group) && (scrape->all || !group_name_is_of_users (NULL, group));
}

/* ---- what it is of ---- */

/* False: too many are being written, or too many of the host. With the lock held. */
static bool
scraper_add (struct exporter *exporter, uint64_t host)
{
  size_t same = 0;

  for (size_t i = 0; i < exporter->scrapes; i++)
    same += exporter->scrapers[i] == host;
  if (exporter->scrapes == EXPORTER_SCRAPES_MAX || same >= EXPORTER_SCRAPES_MAX / 2)
    return false;
  exporter->scrapers[exporter->scrapes++] = host;
  return true;
}

/* With the lock held. */
static void
scraper_remove (struct exporter *exporter, uint64_t host)
{
  size_t at = 0;

  while (exporter->scrapers[at] != host)
    at++;
  exporter->scrapers[at] = exporter->scrapers[--exporter->scrapes];
}

/* With the lock held. */
static enum exporter_found
nodes_take (struct exporter_scrape *scrape, const struct exporter_ask *ask)
{
  struct exporter *exporter = scrape->exporter;
  struct exporter_node *one = ask->node ? exporter_find (exporter, ask->node) : NULL;

  if (ask->node && !one)
    return EXPORTER_NO_NODE;
  if (one && (one->state.state == NODE_NEVER || one->state.state == NODE_DOWN))
    return EXPORTER_SILENT;
  if (!one && !scraper_add (exporter, ask->host))
    return EXPORTER_TOO_MANY;
  scrape->counted = !one;
  scrape->host = ask->host;
  scrape->taken_count = one ? 1 : exporter->node_count;
  scrape->taken = memory_new (scrape->taken_count, sizeof (struct exporter_node *));
  scrape->states = memory_new (scrape->taken_count, sizeof *scrape->states);
  for (size_t i = 0; i < scrape->taken_count; i++) {
    scrape->taken[i] = one ? one : exporter->nodes[i];
    scrape->taken[i]->users++;
    scrape->states[i] = scrape->taken[i]->state;
  }
  return EXPORTER_FOUND;
}

/* Those that are asked for come first. */
static void
nodes_choose (struct exporter_scrape *scrape, const char *list)
{
  struct globs globs;

  globs_init (&globs, list ? list : "");
  for (size_t i = 0; i < scrape->taken_count; i++)
    if (globs_match (&globs, scrape->states[i].name)) {
      struct exporter_node *node = scrape->taken[i];
      scrape->taken[i] = scrape->taken[scrape->chosen];
      scrape->taken[scrape->chosen] = node;
      scrape->states[scrape->chosen++] = scrape->states[i];
    }
  globs_free (&globs);
}

static enum exporter_found
scrape_take (struct exporter_scrape *scrape, const struct exporter_ask *ask)
{
  struct exporter *exporter = scrape->exporter;
  bool filtered = (ask->nodes && ask->nodes[0]) || (ask->groups && ask->groups[0]);
  enum exporter_found found;

  pthread_mutex_lock (&exporter->lock);
  found = nodes_take (scrape, ask);
  if (found == EXPORTER_FOUND) {
    scrape->names = exporter->names;
    scrape->names->users++;
    scrape->now_ns = ask->now_ns + exporter->epoch_ns;
    if (ask->own)
      exporter->wanted_ns = scrape->now_ns;
    scrape->plans_most = 2 * exporter->schemas_size + PLANS_MORE;
    scrape->counters = exporter->counters;
    if (ask->own && exporter->combined && !(ask->nodes && ask->nodes[0])) {
      scrape->combined = exporter->combined;
      scrape->combined->users++;
    }
  }
  pthread_mutex_unlock (&exporter->lock);
  if (found == EXPORTER_FOUND)
    nodes_choose (scrape, ask->nodes);
  scrape->families = (struct exporter_families){ .format = ask->format,
                                                 .states = scrape->states,
                                                 .state_count = ask->groups && ask->groups[0] ? 0 : scrape->chosen,
                                                 .combined = scrape->combined,
                                                 .only = group_is_asked,
                                                 .context = scrape,
                                                 .counters = filtered ? NULL : &scrape->counters };
  return found;
}

/* ---- the nodes' tables ---- */

static struct series_table *
tables_lay_out (const struct exporter_scrape *scrape, const struct exporter_shown *shown)
{
  const struct schema *schema = shown->schema->schema;
  struct series_table *tables = memory_new (schema->group_count, sizeof *tables);

  for (size_t i = 0; i < schema->group_count; i++) {
    const struct table *table = &shown->tables[i];
    int64_t most_ns = table->period_ns < INT64_MAX / 16 ? table->period_ns * STALE_PERIODS + STALE_MORE : INT64_MAX;

    if (shown->versions[i] == 0 || (!scrape->all && group_is_of_users (schema->groups[i])) ||
        (!(schema->groups[i]->flags & GROUP_ONCE) && scrape->now_ns - shown->times[i] > most_ns))
      continue;
    tables[i] = (struct series_table){ .table = table,
                                       .before = shown->before ? &shown->before[i] : NULL,
                                       .time_ns = shown->times[i],
                                       .hidden = !globs_match (&scrape->groups, schema->groups[i]->name) };
  }
  return tables;
}

static void
nodes_show (struct exporter_scrape *scrape)
{
  scrape->nodes = memory_new (scrape->chosen, sizeof *scrape->nodes);
  scrape->shown = memory_new (scrape->chosen, sizeof (struct exporter_shown *));
  for (size_t i = 0; i < scrape->chosen; i++) {
    const struct exporter_state *state = &scrape->states[i];
    struct exporter_shown *shown;

    if (state->state == NODE_DOWN || !(shown = exporter_show (scrape->exporter, scrape->taken[i], scrape->names)))
      continue;
    scrape->shown[scrape->count] = shown;
    scrape->nodes[scrape->count++] = (struct series_node){ .name = state->name,
                                                           .plan = shown->plan,
                                                           .tables = tables_lay_out (scrape, shown),
                                                           .time_ns = scrape->groups.count == 0 ? shown->time_ns : 0,
                                                           .untimed = !scrape->names->timestamps };
  }
}

enum exporter_found
exporter_scrape_begin (struct exporter *exporter, const struct exporter_ask *ask, struct exporter_scrape **made)
{
  struct exporter_scrape *scrape = memory_new (1, sizeof *scrape);
  enum exporter_found found;

  scrape->exporter = exporter;
  globs_init (&scrape->groups, ask->groups ? ask->groups : "");
  found = scrape_take (scrape, ask);
  if (found != EXPORTER_FOUND) {
    globs_free (&scrape->groups);
    free (scrape);
    return found;
  }
  scrape->own = ask->own;
  scrape->all = ask->all;
  if (ask->values)
    nodes_show (scrape);
  if (naming_plans_size (scrape->names->naming) > scrape->plans_most)
    exporter->crowded = true; /* nodes that come with ever other schemas leave plans behind */
  exposition_begin (&scrape->exposition, ask->format, ask->node == NULL, scrape->names->naming, scrape->nodes,
                    scrape->count);
  scrape->values = true;
  *made = scrape;
  return EXPORTER_FOUND;
}

/* ---- its text ---- */

bool
exporter_scrape_next (void *context, struct buffer *out, size_t limit)
{
  struct exporter_scrape *scrape = context;

  if (scrape->values && (scrape->values = exposition_next (&scrape->exposition, out, limit)))
    return true;
  if (scrape->own && (scrape->own = exporter_families_next (&scrape->families, out, limit)))
    return true;
  if (!scrape->all)
    exposition_others_left_out (out, scrape->exposition.format);
  exposition_end (out, scrape->exposition.format);
  return false;
}

void
exporter_scrape_end (void *context)
{
  struct exporter_scrape *scrape = context;
  struct exporter *exporter = scrape->exporter;

  pthread_mutex_lock (&exporter->lock);
  if (scrape->counted)
    scraper_remove (exporter, scrape->host);
  for (size_t i = 0; i < scrape->count; i++)
    exporter_shown_leave (exporter, scrape->shown[i]);
  for (size_t i = 0; i < scrape->taken_count; i++)
    exporter_node_leave (exporter, scrape->taken[i]);
  exporter_combined_leave (scrape->combined);
  exporter_names_leave (scrape->names);
  pthread_mutex_unlock (&exporter->lock);
  for (size_t i = 0; i < scrape->count; i++)
    free ((void *) scrape->nodes[i].tables);
  free (scrape->nodes);
  free (scrape->shown);
  free (scrape->taken);
  free (scrape->states);
  globs_free (&scrape->groups);
  free (scrape);
}

/* ---- targets ---- */

static void
target_write (struct json *json, const char *node, const char *host, bool tls)
{
  char path[FRAME_NODE_MAX + 32];

  snprintf (path, sizeof path, "/nodes/%s/metrics", node);
  json_object (json);
  json_key (json, "targets");
  json_array (json);
  json_text (json, host);
  json_array_end (json);
  json_key (json, "labels");
  json_object (json);
  json_key (json, "__metrics_path__");
  json_text (json, path);
  json_key (json, "__scheme__");
  json_text (json, tls ? "https" : "http");
  json_key (json, "instance");
  json_text (json, node);
  json_object_end (json);
  json_object_end (json);
}

void
exporter_targets (struct exporter *exporter, const char *host, bool tls, struct buffer *out)
{
  struct json json = { 0 };
  char (*names)[FRAME_NODE_MAX + 1];
  size_t count;

  pthread_mutex_lock (&exporter->lock);
  count = exporter->node_count;
  names = memory_new (count, sizeof *names);
  for (size_t i = 0; i < count; i++)
    memcpy (names[i], exporter->nodes[i]->state.name, sizeof *names);
  pthread_mutex_unlock (&exporter->lock);
  json_array (&json);
  for (size_t i = 0; i < count; i++)
    target_write (&json, names[i], host, tls);
  json_array_end (&json);
  json_newline (&json);
  buffer_add (out, json.out.data, json.out.length);
  json_free (&json);
  free (names);
}
