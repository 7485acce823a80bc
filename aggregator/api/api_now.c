/* Values of this instant: the aggregator's own socket is asked for each request, since each may ask for something else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "aggregator/api/api_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/local_socket.h"
#include "synop/memory.h"

#define PATIENCE (20 * NS_PER_S)
#define READ_AT_ONCE 65536
#define BUSY_RETRY_S 1

/* ---- words ---- */

/* A word for each metric: commas part them, but for those behind a backslash. */
static void
add_metrics (struct buffer *text, const char *list)
{
  bool begun = false;

  for (const char *at = list; *at; at++) {
    if (*at == ',') {
      begun = false;
      continue;
    }
    if (!begun)
      buffer_add_string (text, "\tmetric=");
    begun = true;
    at += *at == '\\' && at[1] == ',';
    buffer_add (text, at, 1);
  }
}

void
api_viewer_words (const struct http_request *request, struct buffer *text)
{
  char who[VIEWER_TEXT_SIZE];

  viewer_write (http_request_viewer (request), who);
  buffer_printf (text, "as=%s\t", who);
}

char *
api_now_words (const struct http_request *request, const struct api_ask *ask, const char *verb)
{
  static const char *const names[] = { "node", "row", "top", "bottom", "encoding" };
  struct buffer text = { 0 };

  api_viewer_words (request, &text);
  buffer_add_string (&text, verb);
  add_metrics (&text, api_value (ask, "metric"));
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (api_value (ask, names[i]))
      buffer_printf (&text, "\t%s=%s", names[i], api_value (ask, names[i]));
  buffer_add (&text, "\n", 2);
  return text.data;
}

/* "error metric: no node has ...", "error busy: ..." */
bool
api_reply_refusal (struct api *api, struct http_reply *reply, const struct api_route *route, struct buffer *line)
{
  struct api_error error = { 0 };
  const char *text = buffer_text (line);
  int length;

  if (strncmp (text, "error ", 6) != 0)
    return false;
  text += 6;
  length = (int) strcspn (text, "\n");
  reply->next = NULL;
  if (strncmp (text, "busy: ", 6) == 0) {
    api_error_set (&error, 503, NULL, "%.*s", length - 6, text + 6);
    api->refused++;
    reply->retry_s = BUSY_RETRY_S;
  } else {
    api_error_set (&error, 400, NULL, "%.*s", length, text);
    for (size_t i = 0; i < route->count; i++) {
      const struct api_parameter *parameter = &route->parameters[i];
      size_t size = strlen (parameter->name);
      if (strncmp (text, parameter->name, size) != 0 || text[size] != ':')
        continue;
      error.parameter = parameter->name;
      api_expects (parameter, error.expected, sizeof error.expected);
    }
  }
  api_reply_error (reply, &error);
  return true;
}

/* ---- an answer ---- */

struct now_reply {
  struct api *api;
  const struct api_route *route;
  uint64_t host;
  int fd;
  bool whole, failed;
  int64_t until_ns;
  struct buffer in;
  size_t at; /* that was sent */
};

static bool
now_wait (void *context, struct http_wait *wait)
{
  struct now_reply *reply = context;
  ssize_t got;

  while (!reply->whole && !reply->failed) {
    got = recv (reply->fd, buffer_reserve (&reply->in, READ_AT_ONCE), READ_AT_ONCE, 0);
    if (got > 0) {
      reply->in.length += (size_t) got;
    } else if (got < 0 && errno == EAGAIN) {
      reply->failed = clock_monotonic () >= reply->until_ns;
      *wait = (struct http_wait){ reply->fd, reply->until_ns };
      return !reply->failed;
    } else if (got == 0 || errno != EINTR) {
      reply->whole = got == 0 && reply->in.length > 0;
      reply->failed = !reply->whole;
    }
  }
  return false;
}

static void
now_begin (void *context, struct http_reply *http)
{
  struct now_reply *reply = context;

  if (reply->failed) {
    http->next = NULL;
    api_reply_busy (reply->api, http, 503, "the aggregator does not answer at its socket", 5);
  } else if (!api_reply_refusal (reply->api, http, reply->route, &reply->in)) {
    http->status = 200;
    http->type = "application/json";
  }
}

static bool
now_next (void *context, struct buffer *out, size_t limit)
{
  struct now_reply *reply = context;
  size_t length = reply->in.length - reply->at < limit ? reply->in.length - reply->at : limit;

  buffer_add (out, reply->in.data + reply->at, length);
  reply->at += length;
  return reply->at < reply->in.length;
}

static void
now_free (void *context)
{
  struct now_reply *reply = context;
  struct api *api = reply->api;
  size_t at = 0;

  while (api->nows[at] != reply->host)
    at++;
  api->nows[at] = api->nows[--api->now_count];
  file_close (&reply->fd);
  buffer_free (&reply->in);
  free (reply);
}

static bool
has_room (const struct api *api, uint64_t host)
{
  size_t same = 0;

  for (size_t i = 0; i < api->now_count; i++)
    same += api->nows[i] == host;
  return api->now_count < API_NOWS_MAX && same < API_NOWS_MAX / 2;
}

void
api_answer_now (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *http)
{
  uint64_t host = http_request_host (request);
  struct now_reply *reply;
  char *words;
  int fd;

  if (!has_room (api, host)) {
    api_reply_busy (api, http, 503, "too many ask for the values of this instant", BUSY_RETRY_S);
    return;
  }
  words = api_now_words (request, ask, "now");
  fd = local_socket_begin (api->context->socket, words, NULL);
  free (words);
  if (fd < 0) {
    api_reply_busy (api, http, 503, "the aggregator does not answer at its socket", 5);
    return;
  }
  reply = memory_new (1, sizeof *reply);
  *reply = (struct now_reply){
    .api = api, .route = ask->route, .host = host, .fd = fd, .until_ns = clock_monotonic () + PATIENCE
  };
  api->nows[api->now_count++] = host;
  buffer_free (&http->text);
  *http =
      (struct http_reply){ .context = reply, .next = now_next, .free = now_free, .wait = now_wait, .begin = now_begin };
}
