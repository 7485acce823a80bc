/* Endpoints and socket options, for both ends of the link.
 *
 * An endpoint is "tcp://HOST:PORT". HOST: a name, an IPv4 address, or an IPv6 address or name in brackets. libzmq
 * accepts more (interface names, source addresses, "tcp://::1:5555"); forms that are not needed are refused here, so
 * that a mistake is an error at the start and not a socket that never connects. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/link/link_private.h"

#define SCHEME "tcp://"
#define PORT_MAX 65534 /* control takes the next one */

static bool
host_is_good (const char *host, size_t length)
{
  if (length == 1 && *host == '*')
    return true;
  bool brackets = length > 2 && host[0] == '[' && host[length - 1] == ']';
  if (brackets) {
    host++;
    length -= 2;
  }
  for (size_t i = 0; i < length; i++)
    if (!isalnum ((unsigned char) host[i]) && !strchr (brackets ? "._-:%" : "._-", host[i]))
      return false;
  return length > 0;
}

static int
port_parse (const char *text, unsigned *port)
{
  size_t digits = strspn (text, "0123456789");
  *port = 0;
  if (strcmp (text, "*") == 0)
    return 0;
  if (digits == 0 || digits > 5 || text[digits])
    return -1;
  for (; *text; text++)
    *port = *port * 10 + (unsigned) (*text - '0');
  return *port >= 1 && *port <= PORT_MAX ? 0 : -1;
}

int
link_endpoint_parse (const char *text, struct link_endpoint *endpoint, struct error *error)
{
  const char *host = text + strlen (SCHEME);
  const char *colon = strrchr (text, ':');
  if (strncmp (text, SCHEME, strlen (SCHEME)) != 0 || !colon || colon < host)
    return error_set (error, "\"%s\" is no endpoint; write tcp://HOST:PORT, such as tcp://master:5555", text);
  size_t length = (size_t) (colon - host);
  if (length >= sizeof endpoint->host || !host_is_good (host, length))
    return error_set (error, "\"%s\": the host must be a name or an address, an IPv6 address in brackets", text);
  if (port_parse (colon + 1, &endpoint->port) < 0)
    return error_set (error, "\"%s\": the port must be 1 to %d; the next one is for the control channel", text,
                      PORT_MAX);
  memcpy (endpoint->host, host, length);
  endpoint->host[length] = 0;
  return 0;
}

void
link_endpoint_write (const struct link_endpoint *endpoint, char text[LINK_ENDPOINT_MAX])
{
  if (endpoint->port == 0)
    snprintf (text, LINK_ENDPOINT_MAX, SCHEME "%s:*", endpoint->host);
  else
    snprintf (text, LINK_ENDPOINT_MAX, SCHEME "%s:%u", endpoint->host, endpoint->port);
}

bool
link_endpoint_is_ipv6 (const struct link_endpoint *endpoint)
{
  return endpoint->host[0] == '[';
}

int
link_control_endpoint (const char *data, char control[LINK_ENDPOINT_MAX], struct error *error)
{
  struct link_endpoint endpoint;
  if (link_endpoint_parse (data, &endpoint, error) < 0)
    return -1;
  if (endpoint.port != 0)
    endpoint.port++;
  link_endpoint_write (&endpoint, control);
  return 0;
}

int
link_context_check (void *context, struct error *error)
{
  if (!context)
    return error_set (error, "libzmq does not start: %s", zmq_strerror (zmq_errno ()));
  if (!zmq_has ("curve"))
    return error_set (error, "this libzmq was built without CURVE, and nothing is sent unencrypted");
  return 0;
}

void *
link_socket_open (void *context, int type, struct error *error)
{
  void *socket = zmq_socket (context, type);
  if (!socket)
    error_set (error, "cannot make a socket: %s", zmq_strerror (zmq_errno ()));
  else
    link_set (socket, ZMQ_LINGER, 0);
  return socket;
}

void
link_socket_close (void *socket)
{
  if (socket)
    zmq_close (socket);
}

static void
set (void *socket, int option, const void *value, size_t length)
{
  int result = zmq_setsockopt (socket, option, value, length);
  assert (result == 0);
  (void) result;
}

void
link_set (void *socket, int option, int value)
{
  set (socket, option, &value, sizeof value);
}

void
link_set_size_max (void *socket, size_t message_size)
{
  int64_t size = (int64_t) message_size + LINK_SIZE_SLACK;
  set (socket, ZMQ_MAXMSGSIZE, &size, sizeof size);
}

void
link_set_key (void *socket, int option, const uint8_t key[KEY_SIZE])
{
  set (socket, option, key, KEY_SIZE);
}
