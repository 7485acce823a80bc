/* See serve.h. No client can block the loop: sockets are non-blocking, a request has a maximum size and a deadline,
 * answers and lines go through bounded outlets. */
#include "aggregator/server/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator/server/serve_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define REQUEST_NS (10 * NS_PER_S) /* to send a request */
#define ACCEPTS_AT_ONCE 16
#define NOBODY 65534
#define USER_PART 4      /* one in, of all clients: a user's, who is neither root nor our own */
#define RESERVED_PART 16 /* one in: for root and our own user alone */
#define CROWDED_EVERY (60 * NS_PER_S)

static void
client_destroy (struct client *client)
{
  *client->place = client->next;
  if (client->next)
    client->next->place = client->place;
  client->serve->count--;
  stream_detach (client->reader);
  now_detach (client->watcher);
  trace_detach (client->tracer);
  outlet_destroy (client->outlet);
  loop_watch_remove (client->watch);
  close (client->fd);
  free (client);
}

/* Writes as much as the socket takes and watches for when it takes more. Returns -1 when the client is gone. */
static int
client_flush (struct client *client)
{
  int result = outlet_flush (client->outlet);
  uint32_t events = (client->read_end ? 0 : EPOLLIN) | (result == 1 ? EPOLLOUT : 0);

  if (result < 0 || (result == 0 && client->closing)) {
    client_destroy (client);
    return -1;
  }
  if (events != client->events) {
    client->events = events;
    loop_watch_change (client->watch, events);
  }
  return 0;
}

void
serve_client_ready (void *context)
{
  client_flush (context);
}

void
serve_flushed (struct serve *serve, uint64_t ticket, const char *answer, size_t length)
{
  struct client *next;

  for (struct client *client = serve->clients; client; client = next) {
    next = client->next;
    if (client->ticket == 0 || client->ticket > ticket)
      continue;
    client->ticket = 0;
    serve_answer (client, answer, length);
    client_flush (client);
  }
}

/* Reads until the line is complete; anything after it is discarded. */
static void
client_read (struct client *client)
{
  char waste[REQUEST_MAX];
  char *into = client->asked ? waste : client->request + client->length;
  size_t room = client->asked ? sizeof waste : REQUEST_MAX - client->length;
  ssize_t got = recv (client->fd, into, room, MSG_DONTWAIT);
  char *end;

  if (got < 0) /* EAGAIN and EINTR: the socket stays readable; other errors show as EPOLLERR */
    return;
  client->read_end = got == 0;
  if (client->asked)
    return;
  client->length += (size_t) got;
  end = memchr (client->request, '\n', client->length);
  if (end) {
    *end = '\0';
    if (strlen (client->request) == (size_t) (end - client->request))
      serve_request (client, client->request);
    else
      serve_error (client, "the request holds a NUL");
  } else if (client->length == REQUEST_MAX) {
    serve_error (client, "the request is longer than 4096 bytes");
  } else if (got == 0) {
    client->closing = true;
  }
  client->asked = client->asked || client->closing;
}

static void
client_event (void *context, uint32_t events)
{
  struct client *client = context;

  if (events & EPOLLIN && !client->read_end)
    client_read (client);
  if (client_flush (client) == 0 && events & (EPOLLHUP | EPOLLERR))
    client_destroy (client);
}

/* Of no user, if it is unknown. */
static uint32_t
peer_uid (int fd)
{
  struct ucred peer;
  socklen_t length = sizeof peer;

  return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.uid : NOBODY;
}

static void
client_create (struct serve *serve, int fd, uint32_t uid)
{
  struct client *client = memory_new (1, sizeof *client);

  client->serve = serve;
  client->fd = fd;
  client->uid = uid;
  client->deadline_ns = clock_monotonic () + REQUEST_NS;
  client->outlet = outlet_create (fd, OUTLET_SOCKET, serve->options.queue_bytes, serve->options.dropped);
  client->events = EPOLLIN;
  client->watch = loop_watch_add (serve->options.loop, fd, client->events, client_event, client);
  client->next = serve->clients;
  client->place = &serve->clients;
  if (client->next)
    client->next->place = &client->next;
  serve->clients = client;
  serve->count++;
}

static bool
has_room (const struct serve *serve, uint32_t uid)
{
  size_t most = serve->options.clients_max, own = 0;

  if (uid == 0 || uid == geteuid ())
    return serve->count < most;
  for (const struct client *client = serve->clients; client; client = client->next)
    own += client->uid == uid;
  return serve->count < most - most / RESERVED_PART && own < (most + USER_PART - 1) / USER_PART;
}

static void
refuse (struct serve *serve, int fd, uint32_t uid)
{
  static const char text[] = "error too many clients\n";

  serve->refused++;
  serve->refused_uid = uid;
  (void) !send (fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  close (fd);
}

static void
serve_accept (void *context, uint32_t events)
{
  struct serve *serve = context;

  (void) events;
  for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
    uint32_t uid;
    int fd = accept4 (serve->local.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        loop_watch_change (serve->watch, 0); /* no busy loop: the next tick tries again */
      return;
    }
    uid = peer_uid (fd);
    if (has_room (serve, uid))
      client_create (serve, fd, uid);
    else
      refuse (serve, fd, uid);
  }
}

struct serve *
serve_create (const struct serve_options *options, struct error *error)
{
  struct serve *serve = memory_new (1, sizeof *serve);

  serve->options = *options;
  if (serve->options.clients_max == 0)
    serve->options.clients_max = SERVE_CLIENTS_MAX;
  if (local_socket_listen (&serve->local, options->path, options->everybody ? 0666 : 0660, error) < 0) {
    free (serve);
    return NULL;
  }
  serve->watch = loop_watch_add (options->loop, serve->local.fd, EPOLLIN, serve_accept, serve);
  return serve;
}

void
serve_destroy (struct serve *serve)
{
  if (!serve)
    return;
  while (serve->clients)
    client_destroy (serve->clients);
  loop_watch_remove (serve->watch);
  local_socket_close (&serve->local);
  free (serve);
}

void
serve_set_queue (struct serve *serve, size_t bytes)
{
  serve->options.queue_bytes = bytes;
}

void
serve_tick (struct serve *serve, int64_t now_ns)
{
  struct client *next;

  loop_watch_change (serve->watch, EPOLLIN);
  for (struct client *client = serve->clients; client; client = next) {
    next = client->next;
    if (now_ns > client->deadline_ns)
      client_destroy (client);
  }
  if (serve->refused == serve->refused_reported || (serve->reported_ns && now_ns - serve->reported_ns < CROWDED_EVERY))
    return;
  if (serve->options.crowded)
    serve->options.crowded (serve->options.context, serve->refused_uid, serve->refused - serve->refused_reported);
  serve->refused_reported = serve->refused;
  serve->reported_ns = now_ns;
}

size_t
serve_clients (const struct serve *serve)
{
  return serve->count;
}

uint64_t
serve_refused (const struct serve *serve)
{
  return serve->refused;
}
