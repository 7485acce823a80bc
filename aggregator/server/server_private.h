/* What the files of the server share: server.c (the core's input and output), server_asked.c (what people ask for),
 * server_reload.c (reading the configuration again), server_open.c (start and end). */
#ifndef SYNOP_AGGREGATOR_SERVER_PRIVATE_H
#define SYNOP_AGGREGATOR_SERVER_PRIVATE_H

#include <stdbool.h>

#include "aggregator/config/options.h"
#include "aggregator/core/cluster.h"
#include "aggregator/history/history.h"
#include "aggregator/server/clock_desk.h"
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
  struct notify *notify;           /* NULL: no service manager waits */
  struct key_set *keys;
  char *key_folder;
  uint8_t public_key[KEY_SIZE]; /* its own */
  struct clock_desk *desk;
  struct link_server *link;
  struct loop_watch *link_watch;
  struct cluster *cluster;
  struct views *views;
  /* The views that are more than that: what nodes sent before is asked of the history, and readers are the stream's. */
  struct history *history; /* NULL: none is kept */
  struct loop_watch *history_watch;
  struct stream *stream;
  struct serve *serve;
  struct standard_output *output;
  int64_t started_ns;
  int64_t drained_ns; /* when the queue was last taken in whole */
  uint64_t lines_dropped;
  uint64_t refused_told;
  int64_t refused_told_ns;
  uint64_t ended_told;
  int64_t ended_told_ns;
  size_t connections_max, clients_max; /* what there are descriptors for */
  int64_t status_ns;                   /* when the service manager is told of the nodes next */
  int exit_code;
};

/* server.c */
struct instant server_now (void);
void server_list_nodes (struct server *server, struct instant now); /* as the keys have them */
struct cluster_output server_output (struct server *server);        /* for the core */
void server_close_tick (void *server, int64_t due_ns);
void server_housekeep (void *server, int64_t due_ns);
void server_link_ready (void *server, uint32_t events);

/* server_asked.c: callbacks */
int server_reload (void *server, struct error *error);
void server_count (void *server, void *to, view_counter_fn *take);
void server_status (void *server, bool table, struct buffer *out);
void server_groups (void *server, struct buffer *out);
void server_nodes (void *server, struct buffer *out);
uint64_t server_flush (void *server, const struct serve_flush *what, struct buffer *out);
void server_job (void *server, bool start, const struct job_word *word, struct buffer *out);
void server_flushed (void *server, uint32_t events); /* history_flush_fd is readable */
void server_signal (void *server, int number);
void server_output_ended (void *server, int failure);

/* server_reload.c: SIGHUP */
void server_reload_all (struct server *server); /* configuration and keys */

/* server_open.c */
int server_open (struct server *server, struct error *error);
void server_close (struct server *server);

#endif
