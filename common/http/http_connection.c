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
  if (all < http->connections_max && (same < http->connections_max / 2 || http_is_proxy (http, host)))
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

struct http_connection *
http_connection_find (struct http *http, struct MHD_Connection *connection)
{
  return place_find (http, connection_fd (http, connection));
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
http_connection_asks (struct http *http, struct MHD_Connection *connection, bool answered, bool endless)
{
  struct http_connection *found = http_connection_find (http, connection);

  if (found == NULL)
    return;
  found->answered = answered;
  found->endless = endless;
  found->since_ns = clock_monotonic ();
}

bool
http_connection_forward (struct http *http, struct MHD_Connection *connection, uint64_t host)
{
  struct http_connection *found = http_connection_find (http, connection);
  size_t same = 0;

  if (found == NULL)
    return false;
  found->host = host;
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
    const struct http_connection *other = &http->connections[i];
    same += other != found && other->fd >= 0 && other->answered && other->host == host;
  }
  return same < http->connections_max / 2;
}

/* ---- replies that wait ---- */

void
http_connection_wait (struct http *http, struct MHD_Connection *connection, const struct http_wait *wait)
{
  struct http_connection *found = http_connection_find (http, connection);

  http->library->MHD_suspend_connection (connection);
  found->waits = connection;
  found->wait = *wait;
}

bool
http_connection_is_gone (struct http *http, struct MHD_Connection *connection)
{
  const struct http_connection *found = http_connection_find (http, connection);

  return found == NULL || found->gone;
}

size_t
http_connections_watch (struct http *http, struct pollfd *list, int64_t *until_ns)
{
  size_t count = 0;

  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
    const struct http_connection *connection = &http->connections[i];

    if (connection->waits == NULL)
      continue;
    list[count++] = (struct pollfd){ .fd = connection->fd, .events = POLLRDHUP };
    list[count++] = (struct pollfd){ .fd = connection->wait.fd, .events = POLLIN };
    if (connection->wait.until_ns < *until_ns)
      *until_ns = connection->wait.until_ns;
  }
  return count;
}

static void
connection_resume (struct http *http, struct http_connection *connection)
{
  http->library->MHD_resume_connection (connection->waits);
  connection->waits = NULL;
}

/* The same connections wait as when they were watched. */
void
http_connections_wake (struct http *http, const struct pollfd *list, int64_t now_ns)
{
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
    struct http_connection *connection = &http->connections[i];

    if (connection->waits == NULL)
      continue;
    connection->gone = list[0].revents != 0;
    if (connection->gone || list[1].revents != 0 || now_ns >= connection->wait.until_ns)
      connection_resume (http, connection);
    list += 2;
  }
}

void
http_connections_look (struct http *http, int64_t now_ns)
{
  if (now_ns - http->looked_ns < LOOK_EVERY)
    return;
  http->looked_ns = now_ns;
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
    struct http_connection *connection = &http->connections[i];

    if (connection->fd < 0 || now_ns - connection->since_ns < (connection->answered ? HTTP_ANSWER : HTTP_WAIT) ||
        (connection->endless && connection->waits != NULL))
      continue;
    shutdown (connection->fd, SHUT_RDWR);
    connection->since_ns = now_ns;
    http->ended++;
  }
}

bool
http_connections_last (const struct http *http)
{
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
    if (http->connections[i].fd >= 0 && http->connections[i].endless)
      return true;
  return false;
}

void
http_connections_end (struct http *http)
{
  for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
    if (http->connections[i].fd >= 0) {
      shutdown (http->connections[i].fd, SHUT_RDWR);
      http->connections[i].gone = true;
      if (http->connections[i].waits != NULL)
        connection_resume (http, &http->connections[i]);
    }
}
