/* The file of a ring; or as much memory. */
#ifndef SYNOP_AGENT_RING_FILE_H
#define SYNOP_AGENT_RING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/uplink/ring_fetch.h"
#include "synop/error.h"

#define RING_KEY_SIZE 16
#define RING_FILE_HEAD 4096 /* the records begin behind it */

struct ring_file {
  int fd;          /* -1: in memory */
  uint8_t *memory; /* then they are here */
  size_t size;     /* of the records */
  uint8_t key[RING_KEY_SIZE];
  uint8_t *window; /* what was read last: `window_length` bytes from `window_from` on */
  size_t window_from, window_length;
  struct ring_fetch *fetch;        /* what a thread reads; NULL: nothing */
  size_t fetch_from, fetch_length; /* of that, what was not written over meanwhile */
};

/* -1: the file cannot be used and nothing is open. 0: `warning` is "", or says what was repaired. */
int ring_file_open (struct ring_file *file, const char *path, size_t size, struct error *warning);
void ring_file_memory (struct ring_file *file, size_t size);
void ring_file_close (struct ring_file *file);

/* Places are offsets in the records, and must lie in them. -1 (errno) and NULL: the disk failed, or the file was truncated.
 * The bytes are valid until the next call of any of these. */
int ring_file_write (struct ring_file *file, size_t at, const void *bytes, size_t length);
const void *ring_file_read (struct ring_file *file, size_t at, size_t length);
/* Whether ring_file_read may be called for that without waiting for a disk. If not, a thread begins to read it: call again
 * a moment later. RING_FILE_FAILED: it cannot be read. */
enum ring_file_state { RING_FILE_FAILED = -1, RING_FILE_LATER, RING_FILE_READY };
enum ring_file_state ring_file_poll (struct ring_file *file, size_t at, size_t length);
/* Gives the file a new key, so that no record in it is valid any more. */
int ring_file_renew (struct ring_file *file);
/* False: the file was removed, replaced or truncated. */
bool ring_file_is_at (const struct ring_file *file, const char *path);
/* In memory: gives the pages between back to the kernel. */
void ring_file_release (struct ring_file *file, size_t from, size_t to);

#endif
