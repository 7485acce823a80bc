/* See line_socket.h. */
#include "aggregator/send/line_socket.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "aggregator/send/send_options.h"
#include "synop/clock.h"
#include "synop/file.h"

#define DATAGRAM_MOST 1400 /* a packet of Ethernet */
#define DATAGRAMS_AT_ONCE 32
#define PAUSE_MS 5 /* after these; and between two looks whether all has arrived */

void
line_socket_init (struct line_socket *socket, const struct send_setting *setting)
{
  const char *url = setting->options->url;

  *socket = (struct line_socket){ .setting = setting, .fd = -1 };
  socket->datagrams = strncmp (url, "udp:", 4) == 0 || strncmp (url, "unixgram:", 9) == 0;
}

void
line_socket_close (struct line_socket *socket)
{
  file_close (&socket->fd);
}

static enum send_verdict
fail (struct line_socket *socket, struct send_answer *answer, const char *why)
{
  snprintf (answer->text, sizeof answer->text, "%.160s: %.80s", socket->setting->options->url, why);
  line_socket_close (socket);
  return SEND_AGAIN;
}

/* False: it is to stop, or the time is over. */
static bool
wait_for (const struct line_socket *socket, short events, int64_t due_ns, int most_ms)
{
  struct pollfd waits[] = { { .fd = socket->setting->stop, .events = POLLIN },
                            { .fd = events ? socket->fd : -1, .events = events } };
  int64_t left_ms = (due_ns - clock_monotonic ()) / NS_PER_MS;

  if (left_ms <= 0)
    return false;
  poll (waits, 2, left_ms < most_ms ? (int) left_ms : most_ms);
  return !waits[0].revents;
}

/* ---- connecting ---- */

static int
open_path (const char *path, bool datagrams)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd;

  if (strlen (path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy (address.sun_path, path);
  fd = socket (AF_UNIX, (datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && connect (fd, (const struct sockaddr *) &address, sizeof address) < 0)
    file_close (&fd);
  return fd;
}

/* `why`: what went wrong. */
static int
open_host (const char *host, const char *port, bool datagrams, const char **why)
{
  const struct addrinfo hints = { .ai_socktype = datagrams ? SOCK_DGRAM : SOCK_STREAM };
  struct addrinfo *found = NULL;
  int result = getaddrinfo (host, port, &hints, &found), fd = -1;

  if (result != 0) {
    *why = gai_strerror (result);
    return -1;
  }
  for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
    fd = socket (at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (fd >= 0 && connect (fd, at->ai_addr, at->ai_addrlen) < 0 && errno != EINPROGRESS)
      file_close (&fd);
  }
  *why = strerror (errno);
  freeaddrinfo (found);
  return fd;
}

static int
open_url (const struct line_socket *socket, const char **why)
{
  const char *text = socket->setting->options->url;
  char *host = NULL, *port = NULL;
  CURLU *url;
  int fd = -1;

  if (strncmp (text, "unix", 4) == 0) {
    fd = open_path (strstr (text, "://") + 3, socket->datagrams);
    *why = strerror (errno);
    return fd;
  }
  url = curl_url ();
  *why = "it has no port";
  if (curl_url_set (url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
      curl_url_get (url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
      curl_url_get (url, CURLUPART_PORT, &port, 0) == CURLUE_OK)
    fd = open_host (host, port, socket->datagrams, why);
  curl_free (host);
  curl_free (port);
  curl_url_cleanup (url);
  return fd;
}

/* One that the receiver has closed is opened again. */
static int
connect_again (struct line_socket *socket, int64_t due_ns, struct send_answer *answer)
{
  struct pollfd look = { .fd = socket->fd, .events = POLLIN | POLLRDHUP };
  socklen_t size = sizeof (int);
  const char *why;
  int error = 0;

  if (socket->fd >= 0 && !socket->datagrams && poll (&look, 1, 0) > 0)
    line_socket_close (socket);
  if (socket->fd >= 0)
    return 0;
  socket->fd = open_url (socket, &why);
  if (socket->fd < 0)
    return fail (socket, answer, why), -1;
  if (send_is_stopped (socket->setting)) /* names may have taken long */
    return fail (socket, answer, "it is to end"), -1;
  look = (struct pollfd){ .fd = socket->fd, .events = POLLOUT };
  while (poll (&look, 1, 0) == 0)
    if (!wait_for (socket, POLLOUT, due_ns, 1000))
      return fail (socket, answer, "no connection in time"), -1;
  if (getsockopt (socket->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error)
    return fail (socket, answer, strerror (error)), -1;
  answer->fresh = socket->opened++ > 0;
  return 0;
}

/* ---- writing ---- */

/* How long the next datagram is: whole lines, as many as fit, or one that does not. */
static size_t
datagram_length (const char *text, size_t length)
{
  size_t taken = 0;

  while (taken < length) {
    const char *end = memchr (text + taken, '\n', length - taken);
    size_t line = end ? (size_t) (end - text) + 1 - taken : length - taken;
    if (taken && taken + line > DATAGRAM_MOST)
      break;
    taken += line;
  }
  return taken;
}

static bool
has_arrived (const struct line_socket *socket)
{
  int bytes = 0;

  return socket->datagrams || ioctl (socket->fd, SIOCOUTQ, &bytes) < 0 || bytes == 0;
}

enum send_verdict
line_socket_write (struct line_socket *socket, const struct buffer *lines, struct send_answer *answer)
{
  int64_t due_ns = clock_monotonic () + socket->setting->options->timeout_ns;
  size_t written = 0, datagrams = 0;

  if (connect_again (socket, due_ns, answer) < 0)
    return SEND_AGAIN;
  while (written < lines->length) {
    size_t left = lines->length - written;
    size_t length = socket->datagrams ? datagram_length (lines->data + written, left) : left;
    ssize_t sent = send (socket->fd, lines->data + written, length, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
      return fail (socket, answer, strerror (errno));
    if (sent < 0 && !wait_for (socket, POLLOUT, due_ns, 1000))
      return fail (socket, answer, "it does not read");
    written += sent > 0 ? (size_t) sent : 0;
    if (sent > 0 && socket->datagrams && ++datagrams % DATAGRAMS_AT_ONCE == 0 &&
        !wait_for (socket, 0, due_ns, PAUSE_MS))
      return fail (socket, answer, "it takes too long");
  }
  while (!has_arrived (socket))
    if (!wait_for (socket, 0, due_ns, PAUSE_MS))
      return fail (socket, answer, "it does not read");
  return SEND_TAKEN;
}
