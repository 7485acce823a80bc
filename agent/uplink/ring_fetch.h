/* A piece of the ring's file, read by a thread of its own that ends with it: a disk that is slow, or a file server that is
 * dead, holds up nobody else. */
#ifndef SYNOP_AGENT_RING_FETCH_H
#define SYNOP_AGENT_RING_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ring_fetch;

/* NULL: there can be no thread. */
struct ring_fetch *ring_fetch_begin (int fd, off_t at, size_t length);
bool ring_fetch_is_done (struct ring_fetch *fetch);
/* Of one that is done: what was read, owned by the caller; `length` is 0 when it could not be. Frees the fetch. */
uint8_t *ring_fetch_end (struct ring_fetch *fetch, size_t *length);
/* Never waits: a thread that hangs frees it at its end. NULL is fine. */
void ring_fetch_leave (struct ring_fetch *fetch);

#endif
