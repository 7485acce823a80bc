/* The file in which a ring lies; or as much memory. */
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
  struct ring_fetch *fetch; /* what a thread reads, `fetch_length` bytes from `fetch_from` on; NULL: nothing */
  size_t fetch_from, fetch_length;
  bool fetch_stale; /* it was written over meanwhile */
};

/* -1: there is no such file and nothing is open. 0: `warning` is "", or says what was mended. */
int ring_file_open (struct ring_file *file, const char *path, size_t size, struct error *warning);
void ring_file_memory (struct ring_file *file, size_t size);
void ring_file_close (struct ring_file *file);

/* Places are those in the records, and must lie in them. -1 (errno) and NULL: the disk, or who cut the file short. What
 * is read is valid until the next call of any of these. */
int ring_file_write (struct ring_file *file, size_t at, const void *bytes, size_t length);
const void *ring_file_read (struct ring_file *file, size_t at, size_t length);
/* May ring_file_read be called for that, and wait for no disk? Else a thread begins to read it: ask again a moment later.
 * RING_FILE_FAILED: it cannot be read. */
enum ring_file_state { RING_FILE_FAILED = -1, RING_FILE_LATER, RING_FILE_READY };
enum ring_file_state ring_file_look (struct ring_file *file, size_t at, size_t length);
/* Gives the file a new key, so that no record in it is one any more. */
int ring_file_renew (struct ring_file *file);
/* False: it was removed, replaced or cut short. */
bool ring_file_is_at (const struct ring_file *file, const char *path);
/* Of memory: gives the pages that lie between back to the kernel. */
void ring_file_release (struct ring_file *file, size_t from, size_t to);

#endif
