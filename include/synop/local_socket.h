/* The aggregator's UNIX socket, by which `tail`, `status`, `keys` and other commands reach a running aggregator. */
#ifndef SYNOP_LOCAL_SOCKET_H
#define SYNOP_LOCAL_SOCKET_H

#include <sys/types.h>

#include "synop/buffer.h"
#include "synop/error.h"

struct local_socket {
  int fd; /* listening, non-blocking */
  char *path;
  dev_t device; /* identity of our file, so that no other is removed */
  ino_t inode;
};

/* Makes the folder if it is missing, and replaces a socket on which nobody answers; if somebody does, that is an
 * error. */
int local_socket_listen (struct local_socket *local, const char *path, mode_t mode, struct error *error);
void local_socket_close (struct local_socket *local); /* removes the file */

/* Logs `why`, and how this user gets into the group that the socket is for. */
void local_socket_log_forbidden (const char *path, const char *why);

/* A blocking descriptor, or -1; errno says why. */
int local_socket_connect (const char *path, struct error *error);
/* Sends one line; the answer comes on this descriptor, which does not block. -1 and error. */
int local_socket_begin (const char *path, const char *request, struct error *error);
/* Sends one line and reads the whole answer. It waits up to 10 s, or so many seconds, each time. */
int local_socket_request (const char *path, const char *request, struct buffer *answer, struct error *error);
int local_socket_request_within (const char *path, const char *request, int seconds, struct buffer *answer,
                                 struct error *error);

#endif
