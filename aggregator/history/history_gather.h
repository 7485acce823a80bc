/* Frames on their way into chunks: in memory, pure, no clock and no file.
 *
 * A chunk holds consecutive frames of one session and one schema. A frame that does not follow on one that is open begins
 * another, so that frames which are fetched later and live ones grow side by side, a few of each node; a frame that is in an
 * open one is dropped. */
#ifndef SYNOP_AGGREGATOR_HISTORY_GATHER_H
#define SYNOP_AGGREGATOR_HISTORY_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/history/history_chunk.h"
#include "aggregator/history/history_store.h"

struct open_chunk {
  struct open_chunk *next;            /* of its place in the table */
  struct open_chunk *older, *younger; /* in order of opening */
  char node[65];
  void *schema; /* of its frames, as given */
  struct chunk_row row;
  int64_t opened_ns;
  struct chunk chunk;
};

struct gather_options {
  size_t chunk_frames;
  int64_t chunk_ns;
  size_t bytes_max; /* in open chunks; over it the oldest is closed. 0: no limit */
  void *context;
  void (*whole) (void *context, struct open_chunk *chunk); /* owns it now: free it with open_chunk_destroy */
};

struct gather;

struct gather *gather_create (const struct gather_options *options);
void gather_destroy (struct gather *gather); /* what is open is dropped */
void open_chunk_destroy (struct open_chunk *chunk);

struct gathered {
  const char *node;
  void *schema; /* any pointer: another one is another schema */
  uint64_t session, sequence;
  int64_t time_ns, number;
  const void *record, *frame; /* frame NULL: of a tick */
  size_t record_length, frame_length;
};
/* False when it is there already. `now_ns` is any clock, for the age of chunks. */
bool gather_add (struct gather *gather, const struct gathered *one, int64_t now_ns);
void gather_close (struct gather *gather, int64_t now_ns); /* the chunks that are old enough; INT64_MAX: all */
bool gather_close_one (struct gather *gather);             /* the oldest; false: none is open any more */
uint64_t gather_frames (const struct gather *gather);      /* in open chunks */
bool gather_has_before (const struct gather *gather,
                        int64_t to_ns);                          /* is something of before that cluster time open? */
void gather_close_before (struct gather *gather, int64_t to_ns); /* those chunks */
int64_t gather_due (const struct gather *gather);                /* when the next one is; INT64_MAX: none is open */

#endif
