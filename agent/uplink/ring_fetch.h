/* A piece of the ring's file, read by a thread of its own that ends with it: a slow disk, or a dead file server, delays
 * nothing else. */
#ifndef SYNOP_AGENT_RING_FETCH_H
#define SYNOP_AGENT_RING_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ring_fetch;

/* NULL: no thread could be started. */
struct ring_fetch *ring_fetch_begin (int fd, off_t at, size_t length);
bool ring_fetch_is_done (struct ring_fetch *fetch);
/* When it is done: the bytes, owned by the caller; `length` is 0 when they could not be read. Frees the fetch. */
uint8_t *ring_fetch_end (struct ring_fetch *fetch, size_t *length);
/* Never waits: a thread that hangs frees it at its end. NULL is fine. */
void ring_fetch_abandon (struct ring_fetch *fetch);

#endif
