/* A hash table of nodes; a lock is held for each access. */
#include "aggregator/server/clock_desk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/hash.h"
#include "synop/memory.h"

struct desk_entry {
  char node[FRAME_NODE_MAX + 1]; /* "": free */
  uint64_t session;
  bool has_clock;
  struct control_clock clock;
};

struct clock_desk {
  pthread_mutex_t lock;
  struct desk_entry *entries; /* open addressing; names stay, as nodes mostly come back */
  size_t count, capacity;     /* a power of two */
  struct buffer answer;       /* used by the receiving thread */
};

struct clock_desk *
clock_desk_create (void)
{
  struct clock_desk *desk = memory_new (1, sizeof *desk);

  pthread_mutex_init (&desk->lock, NULL);
  desk->capacity = 64;
  desk->entries = memory_new (desk->capacity, sizeof *desk->entries);
  return desk;
}

void
clock_desk_destroy (struct clock_desk *desk)
{
  if (!desk)
    return;
  pthread_mutex_destroy (&desk->lock);
  buffer_free (&desk->answer);
  free (desk->entries);
  free (desk);
}

/* The node's entry, or the free one for it. */
static struct desk_entry *
entry_find (struct desk_entry *entries, size_t capacity, const char *node)
{
  for (size_t at = (size_t) hash_text (node) & (capacity - 1);; at = (at + 1) & (capacity - 1))
    if (!entries[at].node[0] || strcmp (entries[at].node, node) == 0)
      return &entries[at];
}

static void
desk_grow (struct clock_desk *desk)
{
  size_t capacity = desk->capacity * 2;
  struct desk_entry *entries = memory_new (capacity, sizeof *entries);

  for (size_t i = 0; i < desk->capacity; i++)
    if (desk->entries[i].node[0])
      *entry_find (entries, capacity, desk->entries[i].node) = desk->entries[i];
  free (desk->entries);
  desk->entries = entries;
  desk->capacity = capacity;
}

void
clock_desk_set (struct clock_desk *desk, const char *node, uint64_t session, const struct control_clock *clock)
{
  struct desk_entry *entry;

  pthread_mutex_lock (&desk->lock);
  if (desk->count * 2 >= desk->capacity)
    desk_grow (desk);
  entry = entry_find (desk->entries, desk->capacity, node);
  if (!entry->node[0]) {
    strncpy (entry->node, node, FRAME_NODE_MAX);
    desk->count++;
  }
  entry->session = session;
  entry->has_clock = clock != NULL;
  if (clock)
    entry->clock = *clock;
  pthread_mutex_unlock (&desk->lock);
}

size_t
clock_desk_answer (void *context, const char *node, const void *bytes, size_t length, int64_t received_ns,
                   uint8_t answer[LINK_ANSWER_NOW_MAX])
{
  struct clock_desk *desk = context;
  struct control probe;
  struct desk_entry entry;

  if (control_read (bytes, length, &probe, NULL) != 0 || probe.type != CONTROL_PROBE)
    return 0;
  pthread_mutex_lock (&desk->lock);
  entry = *entry_find (desk->entries, desk->capacity, node);
  pthread_mutex_unlock (&desk->lock);

  struct control message = {
    .type = CONTROL_PROBE_ANSWER, .session = probe.session, .t1 = probe.t1, .t2 = received_ns
  };

  message.known = entry.session == probe.session;
  message.has_clock = message.known && entry.has_clock;
  message.clock = entry.clock;
  message.t3 = clock_monotonic ();
  buffer_clear (&desk->answer);
  control_write (&desk->answer, &message);
  if (desk->answer.length > LINK_ANSWER_NOW_MAX)
    return 0;
  memcpy (answer, desk->answer.data, desk->answer.length);
  return desk->answer.length;
}
