/* The stream, and what is watched, as server-sent events. Each is a reader of the aggregator's socket like `tail`, which has
 * its queue there and loses its own lines when it is slow; here each line gets the "data: " before it, and a comment goes out
 * when none come. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "aggregator/api/api_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/local_socket.h"
#include "synop/memory.h"

#define HEARTBEAT (15 * NS_PER_S)
#define READ_AT_ONCE (16 * 1024)
#define CONNECTIONS_PART 4 /* one in, of HTTP's: streams never have more */
#define BUSY_RETRY_S 30

struct stream_reply {
  struct api *api;
  uint64_t host;
  int fd;
  const struct api_route *checked; /* the first line comes at once, and may be an error; NULL: it may take a while */
  bool plain;                      /* lines as they come, rather than events */
  struct buffer in;                /* read, and not sent */
  bool begun, within;              /* the first words went out; a line is half out */
  bool ended;
  int64_t beat_ns; /* when the next comment is due */
};

static bool
stream_wait (void *context, struct http_wait *wait)
{
  struct stream_reply *reply = context;
  ssize_t got = -1;

  if ((!reply->begun && !reply->checked) || reply->in.length > 0 || reply->ended)
    return false;
  got = recv (reply->fd, buffer_reserve (&reply->in, READ_AT_ONCE), READ_AT_ONCE, 0);
  reply->in.length += got > 0 ? (size_t) got : 0;
  reply->ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  if (got >= 0 || reply->ended || clock_monotonic () >= reply->beat_ns)
    return false;
  *wait = (struct http_wait){ reply->fd, reply->beat_ns };
  return true;
}

/* "error ...", in place of lines: the aggregator refuses. */
static void
write_refusal (struct stream_reply *reply, struct buffer *out)
{
  struct api_error error = { .status = 503 };

  api_error_set (&error, 503, NULL, "the aggregator refuses: %.*s", (int) strcspn (buffer_text (&reply->in) + 6, "\n"),
                 reply->in.data + 6);
  buffer_add_string (out, "event: error\ndata: ");
  api_error_write (&error, out);
  buffer_add_string (out, "\n");
  reply->ended = true;
}

static void
write_lines (struct stream_reply *reply, struct buffer *out)
{
  const char *at = reply->in.data, *end = at + reply->in.length;

  while (at < end) {
    const char *newline = memchr (at, '\n', (size_t) (end - at)), *to = newline ? newline : end;
    if (!reply->within)
      buffer_add_string (out, "data: ");
    buffer_add (out, at, (size_t) (to - at));
    if (newline)
      buffer_add_string (out, "\n\n");
    reply->within = !newline;
    at = newline ? newline + 1 : end;
  }
}

static bool
stream_next (void *context, struct buffer *out, size_t limit)
{
  struct stream_reply *reply = context;

  (void) limit;
  if (reply->plain) {
    buffer_add (out, reply->in.data, reply->in.length);
    buffer_clear (&reply->in);
    return !reply->ended;
  }
  if (!reply->begun)
    buffer_add_string (out, "retry: 3000\n\n");
  if (!reply->begun && reply->in.length == 0)
    ;
  else if (reply->in.length == 0 && !reply->ended && !reply->within)
    buffer_add_string (out, ": no line in a while\n\n");
  else if (!reply->within && reply->in.length > 6 && memcmp (reply->in.data, "error ", 6) == 0)
    write_refusal (reply, out);
  else
    write_lines (reply, out);
  reply->begun = true;
  buffer_clear (&reply->in);
  reply->beat_ns = clock_monotonic () + HEARTBEAT;
  return !reply->ended;
}

static void
stream_begin (void *context, struct http_reply *http)
{
  struct stream_reply *reply = context;

  if (reply->in.length > 0 && !api_reply_refusal (reply->api, http, reply->checked, &reply->in)) {
    http->status = 200;
    http->type = "text/event-stream";
  } else if (reply->in.length == 0) {
    http->next = NULL;
    api_reply_busy (reply->api, http, 503, "the aggregator does not answer at its socket", 5);
  }
}

static void
stream_remove (struct api *api, uint64_t host)
{
  size_t at = 0;

  while (api->streams[at] != host)
    at++;
  api->streams[at] = api->streams[--api->stream_count];
  api->streaming--;
}

static void
stream_free (void *context)
{
  struct stream_reply *reply = context;

  stream_remove (reply->api, reply->host);
  file_close (&reply->fd);
  buffer_free (&reply->in);
  free (reply);
}

/* NULL: there is room. */
static const char *
why_not (const struct api *api, const struct http_request *request)
{
  size_t most = http_request_places (request) / CONNECTIONS_PART, same = 0;

  most = most < API_STREAMS_MAX ? most : API_STREAMS_MAX;
  for (size_t i = 0; i < api->stream_count; i++)
    same += api->streams[i] == http_request_host (request);
  if (api->stream_count >= most)
    return "as many streams are read as there may be";
  if (same >= (most + 1) / 2)
    return "this host reads as many streams as one may";
  return NULL;
}

static char *
request_of (const struct http_request *request, const struct api_ask *ask)
{
  static const char *const names[] = { "node", "group", "type" };
  struct buffer text = { 0 };

  api_viewer_words (request, &text);
  buffer_add_string (&text, "tail");
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (api_value (ask, names[i]))
      buffer_printf (&text, "\t%s=%s", names[i], api_value (ask, names[i]));
  buffer_add (&text, "\n", 2);
  return text.data;
}

/* `checked`, `plain`: see above. The request is freed. */
static void
stream_answer (struct api *api, const struct http_request *request, char *words, const struct api_route *checked,
               bool plain, struct http_reply *http)
{
  const char *why = why_not (api, request);
  int fd = why ? -1 : local_socket_begin (api->context->socket, words, NULL);
  struct stream_reply *reply;

  free (words);
  if (fd < 0) {
    api_reply_busy (api, http, 503, why ? why : "the aggregator does not answer at its socket", why ? BUSY_RETRY_S : 5);
    return;
  }
  reply = memory_new (1, sizeof *reply);
  *reply = (struct stream_reply){ .api = api,
                                  .host = http_request_host (request),
                                  .fd = fd,
                                  .checked = checked,
                                  .plain = plain,
                                  .begun = plain,
                                  .beat_ns = plain ? INT64_MAX : clock_monotonic () + HEARTBEAT };
  api->streams[api->stream_count++] = reply->host;
  api->streaming++;
  buffer_free (&http->text);
  *http = (struct http_reply){ .context = reply,
                               .next = stream_next,
                               .free = stream_free,
                               .wait = stream_wait,
                               .begin = checked ? stream_begin : NULL,
                               .endless = true };
  if (!checked) {
    http->status = 200;
    http->type = plain ? "text/plain;charset=utf-8" : "text/event-stream";
  }
}

/* What other hosts ask the UNIX socket for: who asks sees there what he would see as its client. */
void
api_answer_socket (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  struct buffer text = { 0 };

  api_viewer_words (request, &text);
  buffer_printf (&text, "%s\n", api_value (ask, "request"));
  buffer_add (&text, "", 1);
  stream_answer (api, request, text.data, NULL, true, reply);
}

void
api_answer_stream (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  stream_answer (api, request, request_of (request, ask), NULL, false, reply);
}

void
api_answer_watch (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  stream_answer (api, request, api_now_words (request, ask, "watch"), ask->route, false, reply);
}
