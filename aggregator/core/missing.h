/* The missing frames of one node: ranges of sequence numbers, each of one session. Bounded. */
#ifndef SYNOP_AGGREGATOR_MISSING_H
#define SYNOP_AGGREGATOR_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MISSING_RANGES_MAX 256

struct missing_range {
  uint64_t session, from, to;
};

/* `{0}` is an empty one. The ranges do not overlap; they stand in the order in which they were added. */
struct missing {
  struct missing_range *ranges; /* owned */
  size_t count, capacity;
  uint64_t frames; /* in all of them */
};

void missing_free (struct missing *missing);

bool missing_has (const struct missing *missing, uint64_t session, uint64_t sequence);
/* Adds the part of a range that is not in yet. False: there is no room for another range. */
bool missing_add (struct missing *missing, uint64_t session, uint64_t from, uint64_t to);
/* Removes a range. False: that would split a range and there is no room for another; part of it may remain. */
bool missing_remove (struct missing *missing, uint64_t session, uint64_t from, uint64_t to);
/* Finds the part of `from` to `to` that is missing and was added first. False: none is. */
bool missing_find (const struct missing *missing, uint64_t session, uint64_t from, uint64_t to,
                   struct missing_range *found);

#endif
