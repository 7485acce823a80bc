/* Who is connected, and for how long: what is slow on purpose, or by misfortune, gives its place to others. */
#include "common/http/http_private.h"

#include <sys/socket.h>

#define LOOK_EVERY NS_PER_S

enum MHD_Result
http_accept (void *context, const struct sockaddr *peer, socklen_t length)
{
  struct http *http = context;
  uint64_t host = http_address_host (peer);
  size_t all = 0, same = 0;

  (void) length;
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
    if (http->connections[i].fd >= 0) {
      all++;
      same += http->connections[i].host == host;
    }
  if (all < http->connections_max && same < http->connections_max / 2)
    return MHD_YES;
  http->refused++;
  return MHD_NO;
}

static struct http_connection *
place_find (struct http *http, int fd)
{
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
    if (http->connections[i].fd == fd)
      return &http->connections[i];
  return NULL;
}

static int
connection_fd (const struct http *http, struct MHD_Connection *connection)
{
  const union MHD_ConnectionInfo *info =
      http->library->MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CONNECTION_FD);

  return info != NULL ? info->connect_fd : -1;
}

uint64_t
http_connection_host (const struct http *http, struct MHD_Connection *connection)
{
  const union MHD_ConnectionInfo *info =
      http->library->MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

  return info != NULL && info->client_addr != NULL ? http_address_host (info->client_addr) : 0;
}

void
http_connection_notify (void *context, struct MHD_Connection *connection, void **place,
                        enum MHD_ConnectionNotificationCode what)
{
  struct http *http = context;
  struct http_connection *found = *place;

  if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
    if (found != NULL) {
      found->fd = -1;
      http->connected--;
    }
    *place = NULL;
    return;
  }
  found = place_find (http, -1);
  *place = found;
  if (found == NULL)
    return;
  *found = (struct http_connection){ .fd = connection_fd (http, connection),
                                     .host = http_connection_host (http, connection),
                                     .since_ns = clock_monotonic () };
  http->connected++;
}

void
http_connection_asks (struct http *http, struct MHD_Connection *connection, bool answered)
{
  struct http_connection *found = place_find (http, connection_fd (http, connection));

  if (found == NULL)
    return;
  found->answered = answered;
  found->since_ns = clock_monotonic ();
}

void
http_connections_look (struct http *http, int64_t now_ns)
{
  if (now_ns - http->looked_ns < LOOK_EVERY)
    return;
  http->looked_ns = now_ns;
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
    struct http_connection *connection = &http->connections[i];

    if (connection->fd < 0 || now_ns - connection->since_ns < (connection->answered ? HTTP_ANSWER : HTTP_WAIT))
      continue;
    shutdown (connection->fd, SHUT_RDWR);
    connection->since_ns = now_ns;
    http->ended++;
  }
}

void
http_connections_end (struct http *http)
{
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
    if (http->connections[i].fd >= 0)
      shutdown (http->connections[i].fd, SHUT_RDWR);
}
