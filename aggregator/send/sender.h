/* A sender: a thread that takes samples from the history to one receiver, one road for all types (send_type.h).
 *
 *   chunks behind the cursor -> a window of frames in order of time -> a batch: frames of different nodes, a part each
 *   -> a request -> taken: the cursor moves on | again: the same after a pause | refused: in halves, until what is wrong is
 *   alone, and dropped
 *
 * The cursor moves when a request was taken, so that kill -9 and a receiver that is away cost nothing for as long as the
 * history goes back; what was on its way is sent again. A batch has one sample of each series, and late frames are in batches
 * of their own: a receiver that has them already takes the same once more, and one that refuses late ones refuses these
 * alone. A sender that hangs holds up nobody: what waits lies in the history. */
#ifndef SYNOP_AGGREGATOR_SENDER_H
#define SYNOP_AGGREGATOR_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/send/send_options.h"

struct sender;

struct sender_counts {
  uint64_t sent, dropped;     /* samples, or lines: taken; refused for good */
  uint64_t late_dropped;      /* of those dropped: of frames that came late */
  uint64_t requests, retries; /* that were answered; tried again */
  uint64_t broken;            /* chunks that cannot be read */
  uint64_t lost;              /* chunks that the history deleted before they were sent */
  uint64_t waiting;           /* chunks, now */
  int64_t oldest_ns;          /* cluster time of the oldest of them */
  bool live;                  /* nothing waits: it has sent all that was written */
  const char *form;           /* of the last request; NULL: there was none */
  char error[512];            /* why the last request failed; "": it did not */
};

/* `options` are those of a section. `history` is the path of the file. */
struct sender *sender_create (const char *name, const struct send_options *options, const char *history);
void sender_end (struct sender *sender); /* begins to end it; sender_destroy does that too */
/* What hangs, as names do that no server resolves, is waited for 2 s, and then left: it sends nothing any more, and frees all
 * when it returns. False: it was left. */
bool sender_destroy (struct sender *sender);
/* All that came before this cluster time was written: chunks, and events. */
void sender_settle (struct sender *sender, int64_t settled_ns);
void sender_count (struct sender *sender, struct sender_counts *counts);
const char *sender_target (const struct sender *sender); /* for people: where to */

#endif
