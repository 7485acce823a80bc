/* A piece of the ring's file, read in a thread; see ring_fetch.h. */
#include "agent/uplink/ring_fetch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "synop/memory.h"
#include "synop/thread.h"

#define STACK (64 * 1024)

enum stage { READING, DONE, LEFT };

struct ring_fetch {
  int fd;
  off_t at;
  size_t room;
  uint8_t *bytes;
  ssize_t got;
  _Atomic int stage; /* who moves it from READING leaves freeing to the other */
};

static void
fetch_free (struct ring_fetch *fetch)
{
  free (fetch->bytes);
  free (fetch);
}

static void *
fetch_run (void *argument)
{
  struct ring_fetch *fetch = argument;

  pthread_setname_np (pthread_self (), "ring");
  do
    fetch->got = pread (fetch->fd, fetch->bytes, fetch->room, fetch->at);
  while (fetch->got < 0 && errno == EINTR);
  if (atomic_exchange (&fetch->stage, DONE) == LEFT)
    fetch_free (fetch);
  return NULL;
}

struct ring_fetch *
ring_fetch_begin (int fd, off_t at, size_t length)
{
  struct ring_fetch *fetch = memory_new (1, sizeof *fetch);

  *fetch = (struct ring_fetch){ .fd = fd, .at = at, .room = length, .bytes = memory_new (1, length) };
  if (thread_start (NULL, STACK, fetch_run, fetch) == 0)
    return fetch;
  fetch_free (fetch);
  return NULL;
}

bool
ring_fetch_is_done (struct ring_fetch *fetch)
{
  return fetch->stage == DONE;
}

uint8_t *
ring_fetch_end (struct ring_fetch *fetch, size_t *length)
{
  uint8_t *bytes = fetch->bytes;

  *length = fetch->got > 0 ? (size_t) fetch->got : 0;
  free (fetch);
  return bytes;
}

void
ring_fetch_abandon (struct ring_fetch *fetch)
{
  if (fetch && atomic_exchange (&fetch->stage, LEFT) == DONE)
    fetch_free (fetch);
}
