/* What the files of the server share: server.c (input and output of the core), server_requests.c (requests of
 * people), server_reload.c (reading the configuration again), server_open.c (start and end). */
#ifndef SYNOP_AGGREGATOR_SERVER_PRIVATE_H
#define SYNOP_AGGREGATOR_SERVER_PRIVATE_H

#include <stdbool.h>

#include "aggregator/access/access_view.h"
#include "aggregator/config/options.h"
#include "aggregator/core/cluster.h"
#include "aggregator/history/history.h"
#include "aggregator/now/now.h"
#include "aggregator/server/clock_desk.h"
#include "aggregator/server/refused_keys.h"
#include "aggregator/server/serve.h"
#include "aggregator/stream/standard_output.h"
#include "aggregator/stream/stream.h"
#include "aggregator/views/views.h"
#include "synop/key_set.h"
#include "synop/link.h"
#include "synop/loop.h"
#include "synop/notify.h"

struct server {
  const struct options *options;
  struct loop *loop;
  struct loop_timer *timer, *tick; /* housekeeping; the close of the next tick */
  struct notify *notify;           /* NULL: there is no service manager */
  struct key_set *keys;
  char *key_folder;
  uint8_t public_key[KEY_SIZE]; /* of the aggregator */
  struct clock_desk *desk;
  struct link_server *link;
  struct loop_watch *link_watch;
  struct cluster *cluster;
  struct views *views;
  /* The views with further uses: the core reads the history, and readers attach to the stream. */
  struct history *history; /* NULL: it is off */
  struct loop_watch *history_watch;
  struct stream *stream;
  struct now *now;
  struct access *access;
  void *traces;
  struct serve *serve;
  struct standard_output *output;
  int64_t started_ns;
  int64_t drained_ns; /* when the queue was last empty */
  uint64_t lines_dropped;
  struct refused_keys refused_keys;
  uint64_t ended_reported;
  int64_t ended_reported_ns;
  size_t connections_max, clients_max; /* limits, by the descriptors there are */
  int64_t status_ns;                   /* when the service manager gets the next status line */
  int exit_code;
};

/* server.c */
struct instant server_now (void);
void server_list_nodes (struct server *server, struct instant now); /* sets the core's list of nodes from the keys */
struct cluster_output server_output (struct server *server);        /* for the core */
void server_close_tick (void *server, int64_t due_ns);
void server_housekeep (void *server, int64_t due_ns);
void server_link_ready (void *server, uint32_t events);

/* server_requests.c: callbacks */
int server_reload (void *server, struct error *error);
void server_count (void *server, void *to, view_counter_fn *take);
int64_t server_time (void *server); /* cluster time */
int server_viewer (void *server, uint32_t uid, struct viewer *viewer, struct error *why);
void server_status (void *server, const struct viewer *viewer, bool table, struct buffer *out);
void server_groups (void *server, const struct viewer *viewer, bool json, struct buffer *out);
void server_nodes (void *server, const struct viewer *viewer, bool json, struct buffer *out);
void server_alerts (void *server, const struct viewer *viewer, struct buffer *out);
void server_jobs (void *server, const struct viewer *viewer, struct buffer *out);
uint64_t server_flush (void *server, const struct serve_flush *flush, struct buffer *out);
void server_job (void *server, const struct job_announcement *announcement, struct buffer *out);
int server_request_trace (void *server, const char *node, const struct trace_request *request, struct error *error);
void server_crowded (void *server, uint32_t uid, uint64_t count);
void server_flushed (void *server, uint32_t events); /* history_flush_fd is readable */
void server_signal (void *server, int number);
void server_output_ended (void *server, int failure);

/* server_reload.c: SIGHUP */
void server_reload_all (struct server *server); /* configuration and keys */

/* server_open.c */
int server_open (struct server *server, struct error *error);
void server_close (struct server *server);

#endif
