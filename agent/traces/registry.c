/* See registry.h. */
#include "agent/traces/registry.h"

#include <stdlib.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/memory.h"

void
registry_free (struct registry *registry)
{
  for (size_t i = 0; i < registry->count; i++)
    free (registry->list[i]);
  registry->count = 0;
  for (size_t i = 0; i < registry->user_count; i++)
    if (registry->users[i].socket)
      close (registry->users[i].socket);
}

struct registered *
registry_find (const struct registry *registry, pid_t pid)
{
  for (size_t i = 0; i < registry->count; i++)
    if (registry->list[i]->process.pid == pid)
      return registry->list[i];
  return NULL;
}

struct registered *
registry_add (struct registry *registry, const struct peer *peer)
{
  struct registered *added;
  size_t of_user = 0;

  for (size_t i = 0; i < registry->count; i++)
    of_user += registry->list[i]->process.uid == peer->uid;
  if (of_user >= REGISTRY_PER_USER || registry->count >= REGISTRY_MAX)
    return NULL;
  added = registry->list[registry->count++] = memory_new (1, sizeof *added);
  added->peer = *peer;
  added->process = (struct traces_process){ .pid = peer->pid, .rank = -1, .uid = peer->uid, .device = -1 };
  return added;
}

size_t
registry_count_device (const struct registry *registry, uid_t uid, int32_t device)
{
  size_t count = 0;

  for (size_t i = 0; i < registry->count; i++)
    count += registry->list[i]->process.uid == uid && registry->list[i]->process.device == device;
  return count;
}

void
registry_prune (struct registry *registry, struct process_files *files)
{
  size_t kept = 0;

  for (size_t i = 0; i < registry->count; i++) {
    struct registered *at = registry->list[i];

    if (peer_is_alive (files, at->peer.pid, at->peer.start))
      registry->list[kept++] = at;
    else
      free (at);
  }
  registry->count = kept;
}

/* Of those that have not asked for longest, the first makes room. */
static struct asking_user *
find_user (struct registry *registry, uid_t uid, int64_t now_ns)
{
  struct asking_user *oldest = registry->users;

  for (size_t i = 0; i < registry->user_count; i++) {
    if (registry->users[i].uid == uid)
      return &registry->users[i];
    if (registry->users[i].at_ns < oldest->at_ns)
      oldest = &registry->users[i];
  }
  if (registry->user_count < REGISTRY_USERS)
    oldest = &registry->users[registry->user_count++];
  else if (oldest->socket)
    close (oldest->socket);
  *oldest = (struct asking_user){ .uid = uid, .left = REGISTRY_BURST, .at_ns = now_ns };
  return oldest;
}

struct asking_user *
registry_may_ask (struct registry *registry, uid_t uid, int64_t now_ns)
{
  struct asking_user *user = find_user (registry, uid, now_ns);

  user->left += (double) (now_ns - user->at_ns) / (double) NS_PER_S * REGISTRY_RATE;
  if (user->left > REGISTRY_BURST)
    user->left = REGISTRY_BURST;
  user->at_ns = now_ns;
  if (user->left < 1)
    return NULL;
  user->left--;
  return user;
}
