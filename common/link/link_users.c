/* The sender of a message. The ZAP handler gave its connection a User-Id, which begins with the public key as Z85
 * text; the key set has the node of that key. It is looked up for every message, so that a key that was revoked or
 * replaced is refused at once; the result is kept until the key set changes. */
#include <stdlib.h>
#include <string.h>

#include "common/link/link_private.h"
#include "synop/hash.h"
#include "synop/memory.h"

/* Only admitted keys come here, so nobody can choose them to collide. */
static size_t
bucket_of (const char *id)
{
  return hash_add (HASH_START, id, strnlen (id, KEY_TEXT_SIZE - 1)) % LINK_USER_BUCKETS;
}

struct link_user *
link_users_find (struct link_users *users, const char *id)
{
  size_t bucket = bucket_of (id);
  for (struct link_user *user = users->buckets[bucket]; user; user = user->next)
    if (strncmp (user->id, id, KEY_TEXT_SIZE - 1) == 0)
      return user;

  uint8_t key[KEY_SIZE];
  if (key_from_text (id, strnlen (id, KEY_TEXT_SIZE - 1), key, NULL) < 0)
    return NULL;
  struct link_user *user = memory_new (1, sizeof *user);
  memcpy (user->key, key, KEY_SIZE);
  memcpy (user->id, id, KEY_TEXT_SIZE - 1);
  user->generation = UINT64_MAX; /* not looked up yet */
  user->next = users->buckets[bucket];
  users->buckets[bucket] = user;
  return user;
}

void
link_users_free (struct link_users *users)
{
  for (size_t i = 0; i < LINK_USER_BUCKETS; i++)
    while (users->buckets[i]) {
      struct link_user *user = users->buckets[i];
      users->buckets[i] = user->next;
      free (user);
    }
}

void
link_user_look_up (struct link_user *user, const struct key_set *allowed)
{
  uint64_t generation = key_set_generation (allowed); /* read first: a later change is seen the next time */
  if (generation == user->generation)
    return;
  user->node = key_set_node (allowed, user->key);
  user->generation = generation;
}
