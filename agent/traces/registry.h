/* The processes that have registered to be traced, bounded for each user and in all; and how fast users may ask.
 *
 * The one who calls holds the lock, if there is one. */
#ifndef SYNOP_AGENT_REGISTRY_H
#define SYNOP_AGENT_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/traces/peer.h"
#include "agent/traces/traces.h"

#define REGISTRY_MAX 2048
#define REGISTRY_PER_USER 512
#define REGISTRY_USERS 256
#define REGISTRY_BURST 600 /* datagrams of a user that are answered at once, */
#define REGISTRY_RATE 200  /* and then in a second */

struct registered {
  struct traces_process process;
  struct peer peer;
  bool rank_asked;
};

struct asking_user {
  uid_t uid;
  double left; /* datagrams that are answered */
  int64_t at_ns;
  int socket; /* for his answers alone, once others have filled ours; 0: none */
};

struct registry { /* all zeros: empty */
  struct registered *list[REGISTRY_MAX];
  size_t count;
  struct asking_user users[REGISTRY_USERS];
  size_t user_count;
};

void registry_free (struct registry *registry);

struct registered *registry_find (const struct registry *registry, pid_t pid);
/* NULL: its user has too many, or all have; those that are gone are to be forgotten first. */
struct registered *registry_add (struct registry *registry, const struct peer *peer);
size_t registry_count_device (const struct registry *registry, uid_t uid, int32_t device);
/* Forgets those that are gone. */
void registry_prune (struct registry *registry, struct process_files *files);

/* NULL: that user asks too often, and the datagram is dropped. Else valid until the next call. */
struct asking_user *registry_may_ask (struct registry *registry, uid_t uid, int64_t now_ns);

#endif
