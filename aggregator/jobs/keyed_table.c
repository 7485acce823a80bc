/* See keyed_table.h. */
#include "aggregator/jobs/keyed_table.h"

#include <stdlib.h>

#include "synop/memory.h"

#define BUCKETS_FIRST 64

static void
link_in (struct keyed_table *table, struct keyed_link *link)
{
  struct keyed_link **bucket = &table->buckets[link->hash & (table->bucket_count - 1)];

  link->next = *bucket;
  link->place = bucket;
  if (link->next)
    link->next->place = &link->next;
  *bucket = link;
}

/* Moves each bucket's links from its end, so that links of one hash keep their order. */
static void
grow (struct keyed_table *table)
{
  struct keyed_link **old = table->buckets;
  size_t count = table->bucket_count;

  table->bucket_count = count ? 2 * count : BUCKETS_FIRST;
  table->buckets = memory_new (table->bucket_count, sizeof *table->buckets);
  for (size_t i = 0; i < count; i++) {
    struct keyed_link *reversed = NULL, *next;
    for (struct keyed_link *link = old[i]; link; link = next) {
      next = link->next;
      link->next = reversed;
      reversed = link;
    }
    for (struct keyed_link *link = reversed; link; link = next) {
      next = link->next;
      link_in (table, link);
    }
  }
  free (old);
}

void
keyed_table_add (struct keyed_table *table, struct keyed_link *link, uint64_t hash)
{
  if (table->count++ >= table->bucket_count)
    grow (table);
  link->hash = hash;
  link_in (table, link);
}

void
keyed_table_remove (struct keyed_table *table, struct keyed_link *link)
{
  if (!link->place)
    return;
  *link->place = link->next;
  if (link->next)
    link->next->place = link->place;
  link->place = NULL;
  table->count--;
}

static struct keyed_link *
of_hash (struct keyed_link *link, uint64_t hash)
{
  while (link && link->hash != hash)
    link = link->next;
  return link;
}

struct keyed_link *
keyed_table_first (const struct keyed_table *table, uint64_t hash)
{
  return table->bucket_count ? of_hash (table->buckets[hash & (table->bucket_count - 1)], hash) : NULL;
}

struct keyed_link *
keyed_link_next (const struct keyed_link *link)
{
  return of_hash (link->next, link->hash);
}

void
keyed_table_free (struct keyed_table *table)
{
  free (table->buckets);
  *table = (struct keyed_table){ 0 };
}
