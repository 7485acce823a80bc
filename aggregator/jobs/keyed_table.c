/* See keyed_table.h. */
#include "aggregator/jobs/keyed_table.h"

#include <string.h>

#include "synop/memory.h"

struct keyed_chain { /* the links of one key */
  struct keyed_link *first;
  UT_hash_handle hh;
  char key[];
};

static struct keyed_chain *
chain_of (const struct keyed_table *table, const void *key, size_t length)
{
  struct keyed_chain *chain;

  HASH_FIND (hh, table->chains, key, length, chain);
  return chain;
}

void
keyed_table_add (struct keyed_table *table, struct keyed_link *link, const void *key, size_t length)
{
  struct keyed_chain *chain = chain_of (table, key, length);

  if (!chain) {
    chain = memory_new (1, sizeof *chain + length);
    memcpy (chain->key, key, length);
    HASH_ADD (hh, table->chains, key[0], length, chain);
  }
  *link = (struct keyed_link){ .next = chain->first, .place = &chain->first, .chain = chain };
  if (link->next)
    link->next->place = &link->next;
  chain->first = link;
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
  if (!link->chain->first) {
    HASH_DEL (table->chains, link->chain);
    free (link->chain);
  }
}

struct keyed_link *
keyed_table_first (const struct keyed_table *table, const void *key, size_t length)
{
  const struct keyed_chain *chain = chain_of (table, key, length);

  return chain ? chain->first : NULL;
}
