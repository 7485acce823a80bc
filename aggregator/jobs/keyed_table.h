/* A hash table of links that lie in what they find, by hash_keyed. Whoever looks compares the names himself: several things
 * may have one name, which uthash cannot have; and jobs are looked for in every frame, for which its chains are too long. */
#ifndef SYNOP_AGGREGATOR_KEYED_TABLE_H
#define SYNOP_AGGREGATOR_KEYED_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct keyed_link {
  struct keyed_link *next, **place; /* place NULL: in no table */
  uint64_t hash;
};

struct keyed_table {
  struct keyed_link **buckets;
  size_t bucket_count, count;
};

void keyed_table_free (struct keyed_table *table); /* what is in it is not touched */
/* The newest comes first. */
void keyed_table_add (struct keyed_table *table, struct keyed_link *link, uint64_t hash);
void keyed_table_remove (struct keyed_table *table, struct keyed_link *link); /* fine for one that is in none */
/* The first of that hash, and the next one; NULL: there is none. */
struct keyed_link *keyed_table_first (const struct keyed_table *table, uint64_t hash);
struct keyed_link *keyed_link_next (const struct keyed_link *link);

#endif
