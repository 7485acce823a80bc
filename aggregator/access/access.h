/* Who asks, and is he an admin: for the main thread, and for HTTP's. */
#ifndef SYNOP_AGGREGATOR_ACCESS_H
#define SYNOP_AGGREGATOR_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "synop/error.h"
#include "synop/http.h"
#include "synop/viewer.h"

enum access_sees { ACCESS_SEES_OWN, ACCESS_SEES_ALL };
enum access_socket { ACCESS_SOCKET_GROUP, ACCESS_SOCKET_EVERYBODY };

struct access_settings {
  char *admins, *tracers; /* lists: users, @groups */
  int everybody_sees;
  int socket; /* who may open the UNIX socket */
  char *tokens, *munge_socket, *proxy_user_header;
  char *url, *ca; /* of commands */
};

struct access;

struct access *access_create (const struct access_settings *settings); /* which outlive it */
void access_destroy (struct access *access);
void access_reload (struct access *access); /* the settings have changed */

/* The user of that number. `local`: the kernel of this host says so: then root and the aggregator's own user see all, whoever
 * the admins are. -1 and why: it cannot be found out now. */
int access_viewer (struct access *access, uint32_t uid, bool local, struct viewer *viewer, struct error *why);
/* The user of that name, whom this host may not know; at most VIEWER_NAME_MAX bytes. */
int access_viewer_named (struct access *access, const char *name, struct viewer *viewer, struct error *why);

/* As `who` of struct http_options, whose context is a struct access. */
enum http_who access_who (void *access, const struct http_request *request, struct viewer *viewer, struct error *why);

#endif
