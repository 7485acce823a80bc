/* See send_tables.h. */
#include "agent/send/send_tables.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/data_folder.h"
#include "synop/memory.h"
#include "synop/naming.h"
#include "synop/series.h"

#define JOB "synop" /* CloudWatch has no such dimension */

struct group_tables {
  struct table now, before;
  bool has, has_before, fresh;
};

struct send_tables {
  const char *node;
  const struct schema *schema;
  struct naming *naming;
  struct send_cache *cache;
  struct group_tables *groups; /* as many as the schema has */
  struct series_table *shown;
};

struct send_tables *
send_tables_create (const struct send_settings *settings, const char *node, struct cloudwatch *cloudwatch,
                    const struct schema *schema, struct error *error)
{
  struct send_tables *tables = memory_new (1, sizeof *tables);
  char folder[PATH_MAX];

  tables->node = node;
  tables->schema = schema;
  tables->naming = naming_create ();
  tables->cache =
      send_cache_create (&(struct send_cache_options){ JOB, settings->labels, cloudwatch_wants, cloudwatch });
  tables->groups = memory_new (schema->group_count, sizeof *tables->groups);
  tables->shown = memory_new (schema->group_count, sizeof *tables->shown);
  for (size_t i = 0; i < schema->group_count; i++) {
    table_init (&tables->groups[i].now, schema->groups[i]);
    table_init (&tables->groups[i].before, schema->groups[i]);
  }
  data_folder ("aggregator", "names", folder, sizeof folder);
  if (naming_load (tables->naming, settings->names, folder, error) == 0)
    return tables;
  error_prefix (error, "[cloudwatch] names: ");
  send_tables_destroy (tables);
  return NULL;
}

void
send_tables_destroy (struct send_tables *tables)
{
  if (!tables)
    return;
  for (size_t i = 0; i < tables->schema->group_count; i++) {
    table_free (&tables->groups[i].now);
    table_free (&tables->groups[i].before);
  }
  send_cache_destroy (tables->cache);
  naming_destroy (tables->naming);
  free (tables->groups);
  free (tables->shown);
  free (tables);
}

struct table *
send_tables_next (struct send_tables *tables, size_t group)
{
  struct group_tables *own = &tables->groups[group];

  if (own->has && table_is_comparable (&own->now)) {
    table_swap (&own->now, &own->before);
    own->has_before = true;
  }
  own->has = own->fresh = true;
  return &own->now;
}

/* Tables of before give labels alone; facts are samples each time. */
static void
lay_out (struct send_tables *tables, int64_t wall_ns)
{
  for (size_t i = 0; i < tables->schema->group_count; i++) {
    struct group_tables *own = &tables->groups[i];
    bool once = tables->schema->groups[i]->flags & GROUP_ONCE;

    tables->shown[i] = (struct series_table){ .table = own->has ? &own->now : NULL,
                                              .before = own->has_before ? &own->before : NULL,
                                              .time_ns = wall_ns,
                                              .hidden = !own->fresh && !once };
    own->fresh = false;
  }
}

void
send_tables_give (struct send_tables *tables, int64_t wall_ns,
                  void (*give) (void *context, const struct send_sample *sample), void *context)
{
  struct series_node node = { .name = tables->node,
                              .plan = naming_plan (tables->naming, tables->schema),
                              .tables = tables->shown,
                              .time_ns = wall_ns };
  struct send_sample sample = { .node = send_symbol_find (tables->cache, tables->node, strlen (tables->node)),
                                .time_ms = wall_ns / NS_PER_MS };
  struct series_walk walk;
  struct series series;

  lay_out (tables, wall_ns);
  series_begin (&walk, tables->naming, &node, 1);
  while (series_next (&walk, &series)) {
    sample.series = send_series_find (tables->cache, &series);
    sample.value = series_number (&series);
    if (sample.series->wanted)
      give (context, &sample);
  }
}

void
send_tables_trim (struct send_tables *tables)
{
  send_cache_trim (tables->cache);
}
