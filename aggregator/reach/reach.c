/* See reach.h. Through HTTP a thread writes what comes into a pair of sockets, of which the command reads the other end as it
 * would read the aggregator's own. */
#include "aggregator/reach/reach.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "aggregator/access/access_view.h"
#include "aggregator/config/options.h"
#include "aggregator/exporter/exporter_view.h"
#include "synop/file.h"
#include "synop/local_socket.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define REQUEST_SECONDS 10
#define READ_AT_ONCE 65536

/* ---- where ---- */

/* Where an aggregator with these options listens, as this host reaches it; "": it does not. */
static char *
usual_url (const struct options *options)
{
  const struct exporter_settings *settings = options_of_view (options, &exporter_view);
  const char *listen = settings->http.listen, *port = strrchr (listen, ':');
  size_t host = port ? (size_t) (port - listen) : 0;
  bool any = (host == 1 && *listen == '*') || (host == 7 && strncmp (listen, "0.0.0.0", 7) == 0) ||
             (host == 4 && strncmp (listen, "[::]", 4) == 0);

  if (!port)
    return memory_string ("");
  return memory_format ("http%s://%.*s%s/", *settings->http.certificate ? "s" : "", any ? 9 : (int) host,
                        any ? "127.0.0.1" : listen, port);
}

void
reach_init (struct reach *reach, const struct options *options)
{
  const struct access_settings *settings = options_of_view (options, &access_view);
  const char *variable = getenv ("SYNOP_URL"), *url = settings->url;
  const char *token = getenv ("SYNOP_TOKEN_FILE"), *home = getenv ("HOME");
  bool typed = strcmp (config_source (options->config, "access", "url"), "command line") == 0;
  const struct passwd *user = getpwuid (geteuid ());

  *reach = (struct reach){ .socket = options->socket, .ca = settings->ca, .munge_socket = settings->munge_socket };
  if (!typed && variable && *variable)
    url = variable;
  reach->chosen = typed || url == variable;
  reach->usual = !*url;
  reach->url =
      reach->usual ? usual_url (options) : memory_format ("%s%s", url, url[strlen (url) - 1] == '/' ? "" : "/");
  reach->user = user ? memory_string (user->pw_name) : memory_format ("user %u", (unsigned) geteuid ());
  reach->token = token && *token ? memory_string (token)
                                 : memory_format ("%s/.config/synop/token", home   ? home
                                                                            : user ? user->pw_dir
                                                                                   : "");
}

void
reach_copy (struct reach *to, const struct reach *from)
{
  *to = *from;
  to->url = memory_string (from->url);
  to->user = memory_string (from->user);
  to->token = memory_string (from->token);
}

void
reach_free (struct reach *reach)
{
  free (reach->url);
  free (reach->user);
  free (reach->token);
}

bool
reach_is_far (const struct reach *reach, const char *history)
{
  if (reach->chosen)
    return true;
  if (access (history, R_OK) == 0 || !*reach->url)
    return false;
  return !reach->usual || errno == EACCES;
}

/* ---- through HTTP ---- */

struct tunnel {
  struct reach reach;
  char *request;
  int fd;
};

static int
tunnel_put (void *context, const void *bytes, size_t length, struct error *error)
{
  const struct tunnel *tunnel = context;
  const char *at = bytes;

  while (length > 0) {
    ssize_t sent = send (tunnel->fd, at, length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0)
      return error_set (error, "%s", strerror (errno));
    at += sent;
    length -= (size_t) sent;
  }
  return 0;
}

static void *
tunnel_run (void *context)
{
  struct tunnel *tunnel = context;
  struct reach_question question = { .endless = true };
  struct buffer line = { 0 };
  struct error error;

  reach_path (&question, "socket");
  reach_parameter (&question, "request", tunnel->request);
  if (reach_ask (&tunnel->reach, &question, tunnel, tunnel_put, &error) < 0) {
    buffer_printf (&line, "error %s\n", error.text);
    tunnel_put (tunnel, line.data, line.length, &error);
  }
  buffer_free (&line);
  reach_question_free (&question);
  file_close (&tunnel->fd);
  reach_free (&tunnel->reach);
  free (tunnel->request);
  free (tunnel);
  return NULL;
}

static int
tunnel_begin (const struct reach *reach, const char *request, struct error *error)
{
  struct tunnel *tunnel = memory_new (1, sizeof *tunnel);
  int pair[2], number;

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
    free (tunnel);
    return error_set (error, "no sockets: %s", strerror (errno));
  }
  *tunnel = (struct tunnel){ .request = memory_copy (request, strcspn (request, "\n")), .fd = pair[1] };
  reach_copy (&tunnel->reach, reach);
  number = thread_start (NULL, 0, tunnel_run, tunnel);
  if (number == 0)
    return pair[0];
  close (pair[0]);
  close (pair[1]);
  reach_free (&tunnel->reach);
  free (tunnel->request);
  free (tunnel);
  return error_set (error, "no thread: %s", strerror (number));
}

/* ---- requests ---- */

/* Is the socket one that another way leads around? */
static bool
is_out_of_reach (const struct reach *reach, int number)
{
  if (!*reach->url)
    return false;
  return number == EACCES || (!reach->usual && (number == ENOENT || number == ECONNREFUSED));
}

int
reach_begin (const struct reach *reach, const char *request, struct error *error)
{
  int fd = -1, number;

  if (!reach->chosen)
    fd = local_socket_begin (reach->socket, request, error);
  number = errno;
  if (fd >= 0)
    return fd;
  if (reach->chosen || is_out_of_reach (reach, number))
    return tunnel_begin (reach, request, error);
  errno = number;
  return -1;
}

int
reach_request (const struct reach *reach, const char *request, struct buffer *answer, struct error *error)
{
  struct timeval patience = { .tv_sec = REQUEST_SECONDS };
  int fd, number;
  ssize_t got;

  if (!reach->chosen && local_socket_request (reach->socket, request, answer, error) == 0)
    return 0;
  number = errno;
  if (!reach->chosen && !is_out_of_reach (reach, number)) {
    errno = number;
    return -1;
  }
  buffer_clear (answer);
  fd = tunnel_begin (reach, request, error);
  if (fd < 0)
    return -1;
  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  do {
    got = recv (fd, buffer_reserve (answer, READ_AT_ONCE), READ_AT_ONCE, 0);
    answer->length += got > 0 ? (size_t) got : 0;
  } while (got > 0 || (got < 0 && errno == EINTR));
  if (got < 0)
    error_set (error, "%s: the aggregator does not answer", reach->url);
  errno = got < 0 ? ETIMEDOUT : 0;
  close (fd);
  return got < 0 ? -1 : 0;
}

int
reach_print (const struct reach *reach, struct reach_question *question)
{
  struct error error;

  if (reach_ask (reach, question, NULL, NULL, &error) == 0)
    return 0;
  log_error ("%s", error.text);
  return 1;
}
