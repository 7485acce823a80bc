/* A hash table of links that are embedded in the things that it finds, by hash_keyed. The caller compares the names:
 * several things may have one name, which uthash does not allow; and jobs are searched in every frame, for which its
 * chains are too long. */
#ifndef SYNOP_AGGREGATOR_KEYED_TABLE_H
#define SYNOP_AGGREGATOR_KEYED_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct keyed_link {
  struct keyed_link *next, **place; /* place NULL: not in a table */
  uint64_t hash;
};

struct keyed_table {
  struct keyed_link **buckets;
  size_t bucket_count, count;
};

void keyed_table_free (struct keyed_table *table); /* leaves the links as they are */
/* The newest comes first. */
void keyed_table_add (struct keyed_table *table, struct keyed_link *link, uint64_t hash);
void keyed_table_remove (struct keyed_table *table, struct keyed_link *link); /* a link in no table is fine */
/* The newest of that hash, and the next older one; NULL: there is none. */
struct keyed_link *keyed_table_first (const struct keyed_table *table, uint64_t hash);
struct keyed_link *keyed_link_next (const struct keyed_link *link);

#endif
