/* See refused_keys.h. */
#include "aggregator/server/refused_keys.h"

#include <stdio.h>
#include <string.h>

#include "synop/clock.h"

#define EVERY_NS (60 * NS_PER_S)

static struct refused_key *
refused_key_place_of (struct refused_keys *refused, const char *key)
{
  for (size_t i = 0; i < refused->used; i++)
    if (strcmp (refused->of[i].key, key) == 0)
      return &refused->of[i];
  if (refused->used == REFUSED_KEYS_MAX)
    return &refused->others;
  refused->of[refused->used] = (struct refused_key){ .count = 0 };
  snprintf (refused->of[refused->used].key, KEY_TEXT_SIZE, "%s", key);
  return &refused->of[refused->used++];
}

void
refused_keys_add (struct refused_keys *refused, const char *key, const char *address, uint64_t count)
{
  struct refused_key *one = refused_key_place_of (refused, key);

  snprintf (one->address, sizeof one->address, "%s", address);
  one->count += count;
}

/* Reports the pending count once a minute. False: there was none for a minute. */
static bool
report (struct refused_key *one, struct instant now, refused_keys_event_fn *take, void *context)
{
  char text[160];

  if (now.monotonic_ns < one->due_ns)
    return true;
  if (one->count == 0)
    return false;
  snprintf (text, sizeof text, "%s%s is not listed, from %s", *one->key ? "key " : "one of many keys", one->key,
            one->address);
  take (context,
        &(struct event){ .type = EVENT_KEY_REFUSED, .wall_ns = now.wall_ns, .count = one->count, .text = text });
  one->count = 0;
  one->due_ns = now.monotonic_ns + EVERY_NS;
  return true;
}

void
refused_keys_tick (struct refused_keys *refused, struct instant now, refused_keys_event_fn *take, void *context)
{
  for (size_t i = 0; i < refused->used;)
    if (report (&refused->of[i], now, take, context))
      i++;
    else
      refused->of[i] = refused->of[--refused->used];
  report (&refused->others, now, take, context);
}
