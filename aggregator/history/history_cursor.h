/* How far somebody has got who takes all that is written into the history, in the order in which it was committed: kept in
 * the history's own file, so that it outlives kill -9 of either.
 *
 *   cursors   name, chunk, until, time, part, event
 *
 * Ids of chunks only grow, whatever is deleted (history_store.c), so that they are that order. Some chunks are taken at
 * once, and what is in them in order of time: `until` is the last of those at hand, and of these all frames up to (`time`,
 * of chunk `part`) are done. Between two runs, `until` is `chunk`.
 *
 * A cursor is a connection of its own: a row is written in a moment, without waiting for the disk, so that it does not hold
 * up who writes the history. A power cut may set it back a little, never forward. */
#ifndef SYNOP_AGGREGATOR_HISTORY_CURSOR_H
#define SYNOP_AGGREGATOR_HISTORY_CURSOR_H

#include <stdint.h>

#include "synop/error.h"

struct history_place {
  int64_t chunk;         /* all up to this one are done */
  int64_t until;         /* those up to this one are at hand, */
  int64_t time_ns, part; /* and of them all frames up to this */
  int64_t event;         /* all events up to this row are done */
};

struct history_cursor;

/* Of a history that was opened to be written before. A name that is new begins behind what is committed. */
struct history_cursor *history_cursor_open (const char *path, const char *name, struct history_place *place,
                                            struct error *error);
int history_cursor_save (struct history_cursor *cursor, const struct history_place *place, struct error *error);
void history_cursor_close (struct history_cursor *cursor); /* NULL is fine */

#endif
