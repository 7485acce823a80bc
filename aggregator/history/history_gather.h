/* Gathers frames into chunks: in memory, pure, no clock and no file.
 *
 * A chunk holds consecutive frames of one session and one schema. A frame that continues no open chunk begins one,
 * so that replayed and live frames of a node grow in chunks of their own, a few at a time; a frame that is already
 * in an open chunk is dropped. */
#ifndef SYNOP_AGGREGATOR_HISTORY_GATHER_H
#define SYNOP_AGGREGATOR_HISTORY_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_chunk.h"
#include "aggregator/history/history_store.h"

struct open_chunk {
  struct open_chunk *next;            /* in the hash table */
  struct open_chunk *older, *younger; /* in order of opening */
  char node[65];
  void *schema; /* of its frames, as in struct gathered */
  struct chunk_row row;
  int64_t opened_ns;
  struct chunk chunk;
};

struct gather_options {
  size_t chunk_frames;
  int64_t chunk_ns;
  size_t bytes_max; /* in open chunks; over it the oldest is closed. 0: no limit */
  void *context;
  void (*whole) (void *context, struct open_chunk *chunk); /* takes ownership: free it with open_chunk_destroy */
};

struct gather;

struct gather *gather_create (const struct gather_options *options);
void gather_destroy (struct gather *gather); /* drops open chunks */
void open_chunk_destroy (struct open_chunk *chunk);

struct gathered {
  const char *node;
  void *schema; /* any pointer; another pointer means another schema */
  uint64_t session, sequence;
  int64_t time_ns, number;
  const void *record, *frame; /* frame NULL: of a tick */
  size_t record_length, frame_length;
};
/* False: the frame is in an open chunk already. `now_ns`: any clock, for the age of chunks. */
bool gather_add (struct gather *gather, const struct gathered *one, int64_t now_ns);
void gather_close (struct gather *gather, int64_t now_ns); /* closes the chunks that are old enough; INT64_MAX: all */
bool gather_close_one (struct gather *gather);             /* closes the oldest; false: none is open */
uint64_t gather_frames (const struct gather *gather);      /* in open chunks */
/* Has an open chunk frames from before that cluster time? */
bool gather_has_before (const struct gather *gather, int64_t to_ns);
void gather_close_before (struct gather *gather, int64_t to_ns); /* closes those chunks */
int64_t gather_due (const struct gather *gather); /* when the next chunk is old enough; INT64_MAX: none is open */

#endif
