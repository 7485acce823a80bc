/* See serve.h. Nothing that a client does or leaves undone holds up the loop: sockets are non-blocking, a request has a
 * size and a deadline, answers and lines go through bounded outlets. */
#include "aggregator/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator/local_socket.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

#define REQUEST_MAX 4096
#define REQUEST_NS (10 * NS_PER_S) /* to send a request */
#define ANSWER_NS (30 * NS_PER_S)  /* to read an answer */
#define ACCEPTS_AT_ONCE 16

struct client {
  struct serve *serve;
  struct client *next, **place;
  int fd;
  struct loop_watch *watch;
  uint32_t events; /* what is watched for */
  char request[REQUEST_MAX];
  size_t length;
  bool asked;          /* the request is in */
  bool closing;        /* to be closed when all is written */
  bool heard_end;      /* it sends no more */
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

static void
client_destroy (struct client *client)
{
  *client->place = client->next;
  if (client->next)
    client->next->place = client->place;
  client->serve->count--;
  stream_detach (client->reader);
  outlet_destroy (client->outlet);
  loop_watch_remove (client->watch);
  close (client->fd);
  free (client);
}

/* Writes what goes now and watches for the rest. Returns -1 when the client is gone. */
static int
client_flush (struct client *client)
{
  int result = outlet_flush (client->outlet);
  uint32_t events = (client->heard_end ? 0 : EPOLLIN) | (result == 1 ? EPOLLOUT : 0);

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

static void
client_ready (void *context)
{
  client_flush (context);
}

static void
client_answer (struct client *client, const char *text, size_t length)
{
  struct line *line = line_create (text, length);

  outlet_put (client->outlet, line);
  line_release (line);
  client->closing = true;
  client->deadline_ns = clock_monotonic () + ANSWER_NS;
}

static void
client_error (struct client *client, const char *why)
{
  struct buffer text = { 0 };

  buffer_printf (&text, "error %s\n", why);
  client_answer (client, text.data, text.length);
  buffer_free (&text);
}

/* `words` follow the "tail". */
static void
ask_tail (struct client *client, char *words)
{
  struct stream_filter filter = { "", "", "" };
  const struct {
    const char *name;
    const char **value;
  } known[] = { { "node=", &filter.node }, { "group=", &filter.group }, { "type=", &filter.type } };

  for (char *word; (word = strsep (&words, "\t"));) {
    size_t i = 0;
    while (i < 3 && strncmp (word, known[i].name, strlen (known[i].name)) != 0)
      i++;
    if (i == 3) {
      client_error (client, "tail takes node=, group= and type=");
      return;
    }
    *known[i].value = word + strlen (known[i].name);
  }
  client->deadline_ns = INT64_MAX;
  client->reader = stream_attach (client->serve->options.stream, &filter, client->outlet, client_ready, client);
}

static void
ask_status (struct client *client, const char *words)
{
  const struct serve_options *options = &client->serve->options;
  struct buffer text = { 0 };

  if (words && strcmp (words, "table") != 0) {
    client_error (client, "status takes nothing but table");
    return;
  }
  options->status (options->context, words != NULL, &text);
  client_answer (client, text.data, text.length);
  buffer_free (&text);
}

static void
ask_reload (struct client *client)
{
  const struct serve_options *options = &client->serve->options;
  struct error error;

  if (options->reload (options->context, &error) < 0)
    client_error (client, error.text);
  else
    client_answer (client, "ok\n", 3);
}

static bool
read_flush (char *words, struct serve_flush *what)
{
  for (char *word; (word = strsep (&words, "\t"));) {
    char *end = word;
    errno = 0;
    if (strncmp (word, "to=", 3) == 0 && word[3]) {
      what->to_ns = strtoll (word + 3, &end, 10);
    } else if (strncmp (word, "file=", 5) == 0) {
      what->device = strtoull (word + 5, &end, 10);
      if (*end != ':' || !end[1])
        return false;
      what->inode = strtoull (end + 1, &end, 10);
    }
    if (*end || end == word || errno)
      return false;
  }
  return true;
}

static void
ask_flush (struct client *client, char *words)
{
  const struct serve_options *options = &client->serve->options;
  struct serve_flush what = { .to_ns = INT64_MAX };
  struct buffer text = { 0 };

  if (!read_flush (words, &what)) {
    client_error (client, "flush takes to=NS and file=DEVICE:INODE");
    return;
  }
  client->ticket = options->flush (options->context, &what, &text);
  if (client->ticket)
    client->deadline_ns = INT64_MAX; /* it may leave */
  else
    client_answer (client, text.data, text.length);
  buffer_free (&text);
}

/* `words` follow the "job". */
static void
ask_job (struct client *client, char *words)
{
  const struct serve_options *options = &client->serve->options;
  const char *verb = strsep (&words, "\t"), *label = strsep (&words, "\t");
  struct serve_job what = { .label = label, .user = "", .name = "" };
  struct buffer text = { 0 };
  bool fine = verb && label;

  what.start = fine && strcmp (verb, "start") == 0;
  for (char *word; fine && (word = strsep (&words, "\t"));) {
    fine = strncmp (word, "user=", 5) == 0 || strncmp (word, "name=", 5) == 0;
    *(*word == 'u' ? &what.user : &what.name) = fine ? word + 5 : "";
  }
  if (!fine || (!what.start && strcmp (verb, "end") != 0)) {
    client_error (client, "job takes start or end, an id, and user= and name=");
    return;
  }
  options->job (options->context, &what, &text);
  client_answer (client, text.data, text.length);
  buffer_free (&text);
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
    client_answer (client, answer, length);
    client_flush (client);
  }
}

static void
client_ask (struct client *client, char *request)
{
  char *words = request;
  const char *verb = strsep (&words, "\t");

  client->asked = true;
  if (strcmp (verb, "tail") == 0)
    ask_tail (client, words);
  else if (strcmp (verb, "status") == 0)
    ask_status (client, words);
  else if (strcmp (verb, "reload") == 0 && !words)
    ask_reload (client);
  else if (strcmp (verb, "flush") == 0)
    ask_flush (client, words);
  else if (strcmp (verb, "job") == 0)
    ask_job (client, words);
  else
    client_error (client, "the request is not understood: tail, status, reload, flush or job");
}

/* Reads on until the line is whole; what comes after it is thrown away. */
static void
client_read (struct client *client)
{
  char waste[REQUEST_MAX];
  char *into = client->asked ? waste : client->request + client->length;
  size_t room = client->asked ? sizeof waste : REQUEST_MAX - client->length;
  ssize_t got = recv (client->fd, into, room, MSG_DONTWAIT);
  char *end;

  if (got < 0) /* EAGAIN and EINTR come again; anything else shows as EPOLLERR */
    return;
  client->heard_end = got == 0;
  if (client->asked)
    return;
  client->length += (size_t) got;
  end = memchr (client->request, '\n', client->length);
  if (end) {
    *end = '\0';
    if (strlen (client->request) == (size_t) (end - client->request))
      client_ask (client, client->request);
    else
      client_error (client, "the request holds a NUL");
  } else if (client->length == REQUEST_MAX) {
    client_error (client, "the request is longer than 4096 bytes");
  } else if (got == 0) {
    client->closing = true;
  }
  client->asked = client->asked || client->closing;
}

static void
client_event (void *context, uint32_t events)
{
  struct client *client = context;

  if (events & EPOLLIN && !client->heard_end)
    client_read (client);
  if (client_flush (client) == 0 && events & (EPOLLHUP | EPOLLERR))
    client_destroy (client);
}

static void
client_create (struct serve *serve, int fd)
{
  struct client *client = memory_new (1, sizeof *client);

  client->serve = serve;
  client->fd = fd;
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

static void
refuse (struct serve *serve, int fd)
{
  static const char text[] = "error too many clients\n";

  serve->refused++;
  (void) !send (fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  close (fd);
}

static void
serve_accept (void *context, uint32_t events)
{
  struct serve *serve = context;

  (void) events;
  for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
    int fd = accept4 (serve->local.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        loop_watch_change (serve->watch, 0); /* no spinning: the next tick tries again */
      return;
    }
    if (serve->count == SERVE_CLIENTS_MAX)
      refuse (serve, fd);
    else
      client_create (serve, fd);
  }
}

struct serve *
serve_create (const struct serve_options *options, struct error *error)
{
  struct serve *serve = memory_new (1, sizeof *serve);

  serve->options = *options;
  if (local_socket_listen (&serve->local, options->path, error) < 0) {
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
