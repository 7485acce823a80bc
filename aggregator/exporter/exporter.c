/* The exporter's life, and what it is made of; see exporter.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/exporter/exporter_private.h"
#include "synop/memory.h"

static struct exporter_names *
names_create (struct naming *naming, bool timestamps)
{
  struct exporter_names *names = memory_new (1, sizeof *names);

  *names = (struct exporter_names){ 1, naming, timestamps };
  return names;
}

void
exporter_names_leave (struct exporter_names *names)
{
  if (--names->users > 0)
    return;
  naming_destroy (names->naming);
  free (names);
}

void
exporter_schema_leave (struct exporter *exporter, struct exporter_schema *schema)
{
  struct exporter_schema **at = &exporter->schemas;

  if (!schema || --schema->users > 0)
    return;
  while (*at != schema)
    at = &(*at)->next;
  *at = schema->next;
  exporter->schemas_size -= naming_schema_size (schema->schema);
  schema_destroy (schema->schema);
  free (schema);
}

void
exporter_node_leave (struct exporter *exporter, struct exporter_node *node)
{
  size_t count = node->schema ? node->schema->schema->group_count : 0;

  if (--node->users > 0)
    return;
  for (size_t i = 0; i < count; i++) {
    buffer_free (&node->groups[i].now.bytes);
    buffer_free (&node->groups[i].before.bytes);
  }
  free (node->groups);
  exporter_shown_leave (exporter, node->shown);
  exporter_schema_leave (exporter, node->schema);
  free (node);
}

void
exporter_combined_leave (struct exporter_combined *combined)
{
  if (!combined || --combined->users > 0)
    return;
  for (size_t i = 0; i < combined->count; i++) {
    free (combined->metrics[i].group);
    free (combined->metrics[i].name);
  }
  free (combined->metrics);
  free (combined);
}

struct exporter *
exporter_create (struct naming *naming, bool timestamps)
{
  struct exporter *exporter = memory_new (1, sizeof *exporter);

  pthread_mutex_init (&exporter->lock, NULL);
  exporter->names = names_create (naming, timestamps);
  return exporter;
}

void
exporter_destroy (struct exporter *exporter)
{
  for (size_t i = 0; i < exporter->node_count; i++)
    exporter_node_leave (exporter, exporter->nodes[i]);
  exporter_combined_leave (exporter->combined);
  exporter_names_leave (exporter->names);
  free (exporter->nodes);
  pthread_mutex_destroy (&exporter->lock);
  free (exporter);
}

void
exporter_set_naming (struct exporter *exporter, struct naming *naming, bool timestamps)
{
  struct exporter_names *names = names_create (naming, timestamps);

  pthread_mutex_lock (&exporter->lock);
  exporter_names_leave (exporter->names);
  exporter->names = names;
  pthread_mutex_unlock (&exporter->lock);
}

bool
exporter_is_crowded (struct exporter *exporter)
{
  return atomic_exchange (&exporter->crowded, false);
}
