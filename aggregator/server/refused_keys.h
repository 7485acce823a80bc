/* Events about keys that are refused because they are not listed: the first time at once, then one a minute for each
 * key with the count. Strangers may come with any number of keys, so only some are remembered; the others share one
 * entry. */
#ifndef SYNOP_AGGREGATOR_REFUSED_KEYS_H
#define SYNOP_AGGREGATOR_REFUSED_KEYS_H

#include "aggregator/core/cluster.h"
#include "aggregator/core/event.h"
#include "synop/link.h"

#define REFUSED_KEYS_MAX 64

struct refused_key {
  char key[KEY_TEXT_SIZE]; /* "": of all other keys */
  char address[LINK_ADDRESS_MAX];
  uint64_t count; /* refusals since the last event */
  int64_t due_ns; /* no other event before this */
};

struct refused_keys { /* all zero: empty */
  struct refused_key of[REFUSED_KEYS_MAX];
  size_t used;
  struct refused_key others;
};

void refused_keys_add (struct refused_keys *refused, const char *key, const char *address, uint64_t count);
typedef void refused_keys_event_fn (void *context, const struct event *event);
void refused_keys_tick (struct refused_keys *refused, struct instant now, refused_keys_event_fn *take, void *context);

#endif
