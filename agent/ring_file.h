/* The file in which a ring lies, mapped; or as much memory. */
#ifndef SYNOP_AGENT_RING_FILE_H
#define SYNOP_AGENT_RING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/error.h"

#define RING_KEY_SIZE 16
#define RING_FILE_HEAD 4096 /* the first page; the records begin behind it */

struct ring_file {
  int fd;           /* -1: in memory */
  uint8_t *map;     /* head and records */
  uint8_t *records; /* `size` bytes */
  size_t size;
  uint8_t key[RING_KEY_SIZE]; /* of the records' checksums */
};

/* -1: there is no such file and nothing is open. 0: `warning` is "", or says what was mended. */
int ring_file_open (struct ring_file *file, const char *path, size_t size, struct error *warning);
void ring_file_anonymous (struct ring_file *file, size_t size);
void ring_file_close (struct ring_file *file);

/* Lets go of pages: of a file they come back from the page cache when they are touched, of memory they are gone. */
void ring_file_release (struct ring_file *file, size_t from, size_t to);

#endif
