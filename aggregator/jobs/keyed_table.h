/* A hash table of links that lie in what they find, for names that others choose: the hash is keyed, so that nobody can
 * choose names that collide. Whoever looks compares the names himself: several things may have one name. */
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

struct hash_key {
  uint8_t bytes[16];
};

void hash_key_init (struct hash_key *key);
uint64_t hash_text (const struct hash_key *key, const char *text, size_t length);

void keyed_table_free (struct keyed_table *table); /* what is in it is not touched */
/* The newest comes first. */
void keyed_table_add (struct keyed_table *table, struct keyed_link *link, uint64_t hash);
void keyed_table_remove (struct keyed_table *table, struct keyed_link *link); /* fine for one that is in none */
/* The first of that hash, and the next one; NULL: there is none. */
struct keyed_link *keyed_table_first (const struct keyed_table *table, uint64_t hash);
struct keyed_link *keyed_link_next (const struct keyed_link *link);

#endif
