/* What the files of the UNIX socket share: serve.c (connections), serve_request.c (requests). */
#ifndef SYNOP_AGGREGATOR_SERVE_PRIVATE_H
#define SYNOP_AGGREGATOR_SERVE_PRIVATE_H

#include "aggregator/server/serve.h"
#include "aggregator/traces/trace_view.h"
#include "synop/local_socket.h"

#define REQUEST_MAX 4096

struct client {
  struct serve *serve;
  struct client *next, **place;
  int fd;
  uint32_t uid; /* of its process, as the kernel says */
  struct viewer viewer;
  struct loop_watch *watch;
  uint32_t events; /* that are watched for */
  char request[REQUEST_MAX];
  size_t length;
  bool for_another;    /* an admin asks for another user */
  bool asked;          /* its request was read */
  bool closing;        /* to be closed once all is written */
  bool read_end;       /* it has closed its sending side */
  uint64_t ticket;     /* of the flush for which it waits; 0: none */
  int64_t deadline_ns; /* INT64_MAX: none */
  struct outlet *outlet;
  struct stream_reader *reader;
  struct now_reader *watcher;
  struct trace_reader *tracer;
};

struct serve {
  struct serve_options options;
  struct local_socket local;
  struct loop_watch *watch;
  struct client *clients;
  size_t count;
  uint64_t refused, refused_reported;
  uint32_t refused_uid; /* the last one's */
  int64_t reported_ns;
};

/* serve.c */
void serve_client_ready (void *client); /* its outlet has lines to write */

/* serve_request.c */
void serve_request (struct client *client, char *request);
void serve_answer (struct client *client, const char *text, size_t length); /* then the connection is closed */
void serve_error (struct client *client, const char *why);

#endif
