/* What the files of access share: access.c (users, admins), access_who.c (a request). All of it is under the lock. */
#ifndef SYNOP_AGGREGATOR_ACCESS_PRIVATE_H
#define SYNOP_AGGREGATOR_ACCESS_PRIVATE_H

#include <pthread.h>

#include "aggregator/access/access.h"
#include "aggregator/access/access_tokens.h"
#include "synop/globs.h"
#include "synop/patience.h"

#define KNOWN_MAX 64

struct access {
  const struct access_settings *settings; /* the main thread's */
  pthread_mutex_t lock;
  char *admins, *tracers, *munge_socket, *proxy_user_header;
  bool everybody;
  struct access_tokens *tokens;
  struct known { /* users who were looked up, for a while */
    int64_t until_ns;
    int64_t uid; /* of the question, as the name */
    char name[VIEWER_NAME_MAX + 1];
    struct viewer viewer;
  } known[KNOWN_MAX];
  size_t known_next;
  struct patience directory; /* of users; under no lock of ours */
  int64_t munge_later_ns;    /* munged did not answer: nobody waits for it before then */
  struct error munge_error;
};

#endif
