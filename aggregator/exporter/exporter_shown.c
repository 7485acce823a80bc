/* A node's tables, read where a scrape is written: each once, however many scrapes show it. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/exporter/exporter_private.h"
#include "synop/log.h"
#include "synop/memory.h"

static struct table *
tables_create (const struct schema *schema)
{
  struct table *tables = memory_new (schema->group_count, sizeof *tables);

  for (size_t i = 0; i < schema->group_count; i++)
    table_init (&tables[i], schema->groups[i]);
  return tables;
}

static void
tables_free (struct table *tables, const struct schema *schema)
{
  for (size_t i = 0; tables && i < schema->group_count; i++)
    table_free (&tables[i]);
  free (tables);
}

/* Both are the caller's users already. */
static struct exporter_shown *
shown_create (struct exporter_schema *schema, struct exporter_names *names)
{
  struct exporter_shown *shown = memory_new (1, sizeof *shown);

  shown->users = 1;
  shown->schema = schema;
  shown->names = names;
  shown->plan = naming_plan (names->naming, schema->schema);
  shown->versions = memory_new (schema->schema->group_count, sizeof *shown->versions);
  shown->times = memory_new (schema->schema->group_count, sizeof *shown->times);
  shown->tables = tables_create (schema->schema);
  if (naming_has_rates (names->naming))
    shown->before = tables_create (schema->schema);
  return shown;
}

void
exporter_shown_leave (struct exporter *exporter, struct exporter_shown *shown)
{
  if (!shown || --shown->users > 0)
    return;
  tables_free (shown->tables, shown->schema->schema);
  tables_free (shown->before, shown->schema->schema);
  free (shown->versions);
  free (shown->times);
  exporter_schema_leave (exporter, shown->schema);
  exporter_names_leave (shown->names);
  free (shown);
}

/* ---- tables ---- */

static struct table *
table_take (void *context, size_t group)
{
  struct table *tables = context;

  table_begin (&tables[group]);
  return &tables[group];
}

/* Its labels have been checked; most tables have the same. */
static const struct table *
table_last (void *context, size_t group)
{
  const struct table *tables = context;

  return &tables[group];
}

/* A copy of one that came, and where it goes. */
struct taken {
  size_t group, offset, length;
  struct table *tables;
  struct frame_header header;
};

static void
taken_add (struct buffer *bytes, struct buffer *list, size_t group, const struct exporter_table *table,
           struct table *tables)
{
  struct taken taken = { .group = group, .offset = bytes->length, .length = table->bytes.length, .tables = tables };

  taken.header.monotonic_ns = table->monotonic_ns;
  taken.header.sequence = table->sequence;
  taken.header.tables_offset = 1;
  buffer_add (bytes, table->bytes.data, table->bytes.length);
  buffer_add (list, &taken, sizeof taken);
}

/* With the lock held. */
static void
tables_copy (const struct exporter_node *node, struct exporter_shown *shown, struct buffer *bytes, struct buffer *list)
{
  for (size_t i = 0; i < shown->schema->schema->group_count; i++) {
    const struct exporter_group *group = &node->groups[i];

    if (group->version == shown->versions[i])
      continue;
    shown->versions[i] = group->version;
    shown->times[i] = group->now.time_ns;
    taken_add (bytes, list, i, &group->now, shown->tables);
    if (shown->before && group->before.sequence != 0)
      taken_add (bytes, list, i, &group->before, shown->before);
  }
}

static void
tables_read (struct exporter_shown *shown, const struct buffer *bytes, const struct buffer *list)
{
  const struct taken *taken = (const void *) list->data;
  struct error error;

  for (size_t i = 0; i < list->length / sizeof *taken; i++) {
    const struct frame_sink sink = { .context = taken[i].tables, .take = table_take, .last = table_last };
    if (frame_read_tables (bytes->data + taken[i].offset, taken[i].length, &taken[i].header, shown->schema->schema,
                           &sink, &error) < 0)
      log_error ("a table cannot be read again: %s", error.text);
  }
}

struct exporter_shown *
exporter_show (struct exporter *exporter, struct exporter_node *node, struct exporter_names *names)
{
  struct buffer bytes = { 0 }, list = { 0 };
  struct exporter_shown *shown = NULL;
  struct exporter_schema *schema;

  pthread_mutex_lock (&exporter->lock);
  schema = node->schema;
  if (node->shown && (node->shown->schema != schema || node->shown->names != names)) {
    exporter_shown_leave (exporter, node->shown);
    node->shown = NULL;
  }
  if (schema && !node->shown) {
    schema->users++;
    names->users++;
    pthread_mutex_unlock (&exporter->lock); /* a new schema's plan takes a while */
    shown = shown_create (schema, names);
    pthread_mutex_lock (&exporter->lock);
    node->shown = shown;
  }
  shown = node->shown;
  if (shown) {
    shown->users++;
    shown->time_ns = node->time_ns;
    if (node->schema == shown->schema)
      tables_copy (node, shown, &bytes, &list);
  }
  pthread_mutex_unlock (&exporter->lock);
  if (shown)
    tables_read (shown, &bytes, &list);
  buffer_free (&bytes);
  buffer_free (&list);
  return shown;
}
