/* Values of this instant, from the core's memory: one metric of all nodes at once. For the requests `now` and `watch` on the
 * UNIX socket, over HTTP, and for `query --now`.
 *
 * A question is words with tabs between them:
 *
 *   metric=PATH [metric=PATH]...   as `query` has them: query_names.h
 *   [node=GLOBS] [row=GLOBS]       rows of the nodes instead of one value for each
 *   [top=N | bottom=N]             only those with most, or least
 *   [encoding=values | levels]     levels: a byte for each node
 *
 * The answer is one JSON line, described in docs/api.md. Who watches gets one at once and one each tick; the same question of
 * several readers who see the same is answered once, and nothing is done when nobody watches. A reader that has not taken its last line yet
 * gets no other: it misses ticks of its own. */
#ifndef SYNOP_AGGREGATOR_NOW_H
#define SYNOP_AGGREGATOR_NOW_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/cluster.h"
#include "aggregator/stream/outlet.h"
#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/viewer.h"

#define NOW_METRICS_MAX 16      /* of a question */
#define NOW_WATCHED_MAX 128     /* metrics of all questions that are watched, each once */
#define NOW_TOP_MAX 1000        /* `top`, `bottom` */
#define NOW_ROWS_MAX 20000      /* rows that are listed, */
#define NOW_VISITED_MAX 500000  /* and that are looked at, once for each glob and once more */
#define NOW_MATCHES_MAX 2000000 /* names of nodes times globs */

struct now;
struct now_reader;

struct now *now_create (const struct cluster *cluster);
void now_destroy (struct now *now); /* detach all readers first */

/* The words are taken apart. -1 and error: "metric: no node has ...", which begins with the word that is wrong. */
int now_answer (struct now *now, const struct viewer *viewer, char *words, int64_t time_ns, struct buffer *out,
                struct error *error);

/* Puts the first line into the outlet. now_flush calls `ready` when there are more; it may detach this reader, and no other.
 * NULL and error as now_answer. */
struct now_reader *now_attach (struct now *now, const struct viewer *viewer, char *words, int64_t time_ns,
                               struct outlet *outlet, void (*ready) (void *context), void *context,
                               struct error *error);
void now_detach (struct now_reader *reader); /* NULL is fine */

void now_frame (struct now *now, const struct node *node); /* it has new values */
/* Lines are due, with that time, and the next ones so much later. */
void now_tick (struct now *now, int64_t time_ns, int64_t period_ns);
void now_poll (struct now *now, struct instant instant); /* several times a second */
/* To be called after a batch of frames. */
void now_flush (struct now *now);

struct now_counts {
  uint64_t readers, metrics; /* at the moment: who watches, and what, each once */
  uint64_t skipped;          /* lines that slow readers missed */
};
struct now_counts now_count (const struct now *now);

#endif
