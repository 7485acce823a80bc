/* A hash table of links that are embedded in the things that it finds. Several things may have one key; the newest
 * comes first. */
#ifndef SYNOP_AGGREGATOR_KEYED_TABLE_H
#define SYNOP_AGGREGATOR_KEYED_TABLE_H

#include "synop/hash_table.h"

struct keyed_link {
  struct keyed_link *next, **place; /* place NULL: not in a table */
  struct keyed_chain *chain;
};

struct keyed_table { /* `{0}` is an empty one; it has no memory when it is empty */
  struct keyed_chain *chains;
};

void keyed_table_add (struct keyed_table *table, struct keyed_link *link, const void *key, size_t length);
void keyed_table_remove (struct keyed_table *table, struct keyed_link *link); /* a link in no table is fine */
/* The newest of that key; then `next`. NULL: there is none. */
struct keyed_link *keyed_table_first (const struct keyed_table *table, const void *key, size_t length);

#endif
