/* A table of links that lie in what they find. Several things may have one key; the newest comes first. */
#ifndef SYNOP_AGGREGATOR_KEYED_TABLE_H
#define SYNOP_AGGREGATOR_KEYED_TABLE_H

#include "synop/hash_table.h"

struct keyed_link {
  struct keyed_link *next, **place; /* place NULL: in no table */
  struct keyed_chain *chain;
};

struct keyed_table { /* `{0}` is an empty one; with the last link it has no memory left */
  struct keyed_chain *chains;
};

void keyed_table_add (struct keyed_table *table, struct keyed_link *link, const void *key, size_t length);
void keyed_table_remove (struct keyed_table *table, struct keyed_link *link); /* fine for one that is in none */
/* The first of that key; then `next`. NULL: there is none. */
struct keyed_link *keyed_table_first (const struct keyed_table *table, const void *key, size_t length);

#endif
