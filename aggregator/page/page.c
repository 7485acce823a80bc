/* The page's life, and what it is made of; see page.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/page/page_private.h"
#include "synop/memory.h"

static struct page_names *
names_create (struct naming *naming, bool timestamps)
{
  struct page_names *names = memory_new (1, sizeof *names);

  *names = (struct page_names){ 1, naming, timestamps };
  return names;
}

void
page_names_leave (struct page_names *names)
{
  if (--names->users > 0)
    return;
  naming_destroy (names->naming);
  free (names);
}

void
page_schema_leave (struct page *page, struct page_schema *schema)
{
  struct page_schema **at = &page->schemas;

  if (!schema || --schema->users > 0)
    return;
  while (*at != schema)
    at = &(*at)->next;
  *at = schema->next;
  page->schemas_size -= naming_schema_size (schema->schema);
  schema_destroy (schema->schema);
  free (schema);
}

void
page_node_leave (struct page *page, struct page_node *node)
{
  size_t count = node->schema ? node->schema->schema->group_count : 0;

  if (--node->users > 0)
    return;
  for (size_t i = 0; i < count; i++) {
    buffer_free (&node->groups[i].now.bytes);
    buffer_free (&node->groups[i].before.bytes);
  }
  free (node->groups);
  page_shown_leave (page, node->shown);
  page_schema_leave (page, node->schema);
  free (node);
}

void
page_combined_leave (struct page_combined *combined)
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

struct page *
page_create (struct naming *naming, bool timestamps)
{
  struct page *page = memory_new (1, sizeof *page);

  pthread_mutex_init (&page->lock, NULL);
  page->names = names_create (naming, timestamps);
  return page;
}

void
page_destroy (struct page *page)
{
  for (size_t i = 0; i < page->node_count; i++)
    page_node_leave (page, page->nodes[i]);
  page_combined_leave (page->combined);
  page_names_leave (page->names);
  free (page->nodes);
  pthread_mutex_destroy (&page->lock);
  free (page);
}

void
page_set_naming (struct page *page, struct naming *naming, bool timestamps)
{
  struct page_names *names = names_create (naming, timestamps);

  pthread_mutex_lock (&page->lock);
  page_names_leave (page->names);
  page->names = names;
  pthread_mutex_unlock (&page->lock);
}

bool
page_is_crowded (struct page *page)
{
  return atomic_exchange (&page->crowded, false);
}
