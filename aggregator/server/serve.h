/* The requests that a running aggregator answers on its UNIX socket. A client sends one line of words separated by
 * tabs:
 *
 *   tail [node=GLOBS] [group=GLOBS] [type=GLOBS]   JSON lines, until the client closes
 *   now metric=PATH...                             values of this instant, one JSON line: aggregator/now/now.h
 *   watch metric=PATH...                           the same at once and each tick, until the client closes
 *   status [table]                                 one JSON line, or a table for people
 *   groups [json]                                  the names of the groups that nodes have, one a line; json: those of
 *                                                  nodes that are up, as objects, with their metrics
 *   nodes [json]                                   the listed nodes, one a line: name, tab, state (never, up, stale,
 *                                                  down); json: as objects, as status has them
 *   alerts                                         what is wrong now, one a line: aggregator/alerts
 *   jobs                                           the jobs that run, as the stream's lines about their start
 *   reload                                         "ok", or "error" and why
 *   flush [to=NS] [file=DEVICE:INODE]              writes what history has from before that cluster time. Then "ok",
 *                                                  or "error" and why; "other" if it writes another file, or none
 *   trace list [job=ID]                            who could be traced: aggregator/traces/trace_desk.h; JSON lines, the
 *   trace begin job=ID tool=T output=PATH ...      last is of what=end; who may is the desk's to say
 *   job start|end ID [user=NAME] [name=NAME]       "ok", "ok" and a remark, or "error" and why
 *
 * Who is no admin gets nodes and status without errors that may name users, the jobs that are his own, and of lines what
 * access_rows.h lets him see; reload and flush are for admins. An admin may ask for another, as the API does: the line
 * begins with "as=VIEWER" (viewer_write) and a tab then.
 *
 * The answer to anything else is "error ..."; then the connection is closed. */
#ifndef SYNOP_AGGREGATOR_SERVE_H
#define SYNOP_AGGREGATOR_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/now/now.h"
#include "aggregator/stream/stream.h"
#include "aggregator/views/job_announcement.h"
#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/loop.h"
#include "synop/viewer.h"

#define SERVE_CLIENTS_MAX 256

struct serve_flush {
  int64_t to_ns;
  uint64_t device, inode; /* inode 0: any file */
};

struct serve_options {
  struct loop *loop;
  struct stream *stream;
  struct now *now;
  void *traces; /* of trace_view */
  const char *path;
  size_t clients_max; /* at once; 0: SERVE_CLIENTS_MAX */
  size_t queue_bytes; /* of each client */
  uint64_t *dropped;  /* counts lines that were dropped for slow clients */
  void *context;
  int64_t (*time) (void *context); /* cluster time */
  bool everybody;                  /* may open it, rather than our own user and group */
  /* -1 and why: it cannot be found out. NULL: everybody is an admin. */
  int (*viewer) (void *context, uint32_t uid, struct viewer *viewer, struct error *why);
  void (*status) (void *context, const struct viewer *viewer, bool table, struct buffer *out);
  void (*groups) (void *context, const struct viewer *viewer, bool json, struct buffer *out);
  void (*nodes) (void *context, const struct viewer *viewer, bool json, struct buffer *out);
  void (*alerts) (void *context, const struct viewer *viewer, struct buffer *out);
  void (*jobs) (void *context, const struct viewer *viewer, struct buffer *out);
  int (*reload) (void *context, struct error *error);
  /* Returns a ticket for serve_flushed; or 0, with the whole answer in `out`. */
  uint64_t (*flush) (void *context, const struct serve_flush *flush, struct buffer *out);
  /* Handles the announcement of a start or end, of a known uid; `out` gets the whole answer. */
  void (*job) (void *context, const struct job_announcement *announcement, struct buffer *out);
  /* So many clients were refused since the last call, this user's last. */
  void (*crowded) (void *context, uint32_t uid, uint64_t count);
};

struct serve;

struct serve *serve_create (const struct serve_options *options, struct error *error);
void serve_destroy (struct serve *serve);
void serve_set_queue (struct serve *serve, size_t bytes); /* of clients that connect from now on */
void serve_tick (struct serve *serve, int64_t now_ns);    /* closes clients whose request is late */
/* Answers clients that wait for this ticket or an earlier one. */
void serve_flushed (struct serve *serve, uint64_t ticket, const char *answer, size_t length);
size_t serve_clients (const struct serve *serve);   /* now */
uint64_t serve_refused (const struct serve *serve); /* clients, over clients_max or their user's share */

#endif
