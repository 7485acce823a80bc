/* What the files of the UNIX socket share: serve.c (clients that come and go), serve_request.c (what they ask for). */
#ifndef SYNOP_AGGREGATOR_SERVE_PRIVATE_H
#define SYNOP_AGGREGATOR_SERVE_PRIVATE_H

#include "aggregator/server/local_socket.h"
#include "aggregator/server/serve.h"

#define REQUEST_MAX 4096

struct client {
  struct serve *serve;
  struct client *next, **place;
  int fd;
  uint32_t uid; /* of its process, as the kernel says */
  struct loop_watch *watch;
  uint32_t events; /* what is watched for */
  char request[REQUEST_MAX];
  size_t length;
  bool asked;          /* the request is in */
  bool closing;        /* to be closed when all is written */
  bool read_end;       /* it sends no more */
  uint64_t ticket;     /* of the flush that it waits for; 0: none */
  int64_t deadline_ns; /* INT64_MAX: none */
  struct outlet *outlet;
  struct stream_reader *reader;
};

struct serve {
  struct serve_options options;
  struct local_socket local;
  struct loop_watch *watch;
  struct client *clients;
  size_t count;
  uint64_t refused;
};

/* serve.c */
void serve_client_ready (void *client); /* its outlet holds something */

/* serve_request.c */
void serve_request (struct client *client, char *request);
void serve_answer (struct client *client, const char *text, size_t length); /* then it is closed */
void serve_error (struct client *client, const char *why);

#endif
