/* What is of now: status, nodes, groups. The aggregator's own socket is asked, at most once a second for each, however
 * many want it; lists are cut into what was asked for on their way out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "aggregator/api/api_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/globs.h"
#include "synop/local_socket.h"
#include "synop/memory.h"

#define FRESH NS_PER_S
#define PATIENCE (20 * NS_PER_S)
#define LOOK_EVERY (250 * NS_PER_MS) /* while another reads what is waited for, and closes it */
#define READ_AT_ONCE 65536
#define NAME_MAX_BYTES 256

static const struct {
  const char *request, *list;
} lives[API_LIVES] = { [API_STATUS] = { "status", NULL },
                       [API_NODES] = { "nodes\tjson", "nodes" },
                       [API_GROUPS] = { "groups\tjson", "groups" },
                       [API_ALERTS] = { "alerts", "alerts" } };

void
api_lives_init (struct api *api)
{
  for (size_t i = 0; i < 2 * API_LIVES; i++)
    api->sources[i / API_LIVES][i % API_LIVES].fd = -1;
}

static void
words_leave (struct api_words *words)
{
  if (!words || --words->users > 0)
    return;
  buffer_free (&words->text);
  free (words);
}

void
api_lives_free (struct api *api)
{
  for (size_t i = 0; i < 2 * API_LIVES; i++) {
    struct api_source *source = &api->sources[i / API_LIVES][i % API_LIVES];
    file_close (&source->fd);
    buffer_free (&source->coming);
    words_leave (source->words);
  }
}

/* ---- asking ---- */

/* Lists may be empty. */
static bool
is_answer (const struct buffer *text, bool list)
{
  return text->length > 0 ? text->data[0] == '{' : list;
}

static void
source_end (struct api_source *source, bool whole, bool list)
{
  file_close (&source->fd);
  if (whole && is_answer (&source->coming, list)) {
    words_leave (source->words);
    source->words = memory_new (1, sizeof *source->words);
    *source->words = (struct api_words){ 1, source->coming };
    source->since_ns = source->asked_ns;
  } else {
    buffer_free (&source->coming);
  }
  source->coming = (struct buffer){ 0 };
}

/* True: more is to come. */
static bool
source_read (struct api_source *source, bool list)
{
  ssize_t got;

  do {
    got = recv (source->fd, buffer_reserve (&source->coming, READ_AT_ONCE), READ_AT_ONCE, 0);
    source->coming.length += got > 0 ? (size_t) got : 0;
  } while (got > 0 || (got < 0 && errno == EINTR));
  if (got < 0 && errno == EAGAIN)
    return true;
  source_end (source, got == 0, list);
  return false;
}

static void
source_ask (struct api *api, bool all, enum api_live live)
{
  struct api_source *source = &api->sources[all][live];
  char *request = memory_format ("as=%s\t%s\n", all ? "*" : "-", lives[live].request);

  source->asked_ns = clock_monotonic ();
  source->fd = local_socket_begin (api->context->socket, request, NULL);
  free (request);
}

/* ---- a reply ---- */

struct live_reply {
  struct api *api;
  enum api_live live;
  bool all; /* for an admin */
  int64_t begun_ns;
  bool asked; /* for this one, or while it waited */
  struct api_words *words;
  size_t at; /* in them */
  size_t shown;
  struct globs names;
  char *state; /* NULL: any */
  bool brief;  /* without facts */
};

static bool
live_wait (void *context, struct http_wait *wait)
{
  struct live_reply *reply = context;
  struct api_source *source = &reply->api->sources[reply->all][reply->live];
  int64_t now_ns = clock_monotonic ();

  if (reply->words)
    return false;
  if (source->fd >= 0 && source_read (source, lives[reply->live].list != NULL)) {
    reply->asked |= source->asked_ns >= reply->begun_ns - FRESH; /* else it is asked again */
    *wait = (struct http_wait){ source->fd, now_ns + LOOK_EVERY };
    return now_ns - reply->begun_ns < PATIENCE;
  }
  if (source->words && source->since_ns >= reply->begun_ns - FRESH) {
    reply->words = source->words;
    reply->words->users++;
    return false;
  }
  if (reply->asked) /* and did not get it */
    return false;
  reply->asked = true;
  source_ask (reply->api, reply->all, reply->live);
  if (source->fd < 0)
    return false;
  *wait = (struct http_wait){ source->fd, now_ns + LOOK_EVERY };
  return true;
}

/* The value of the member, which is a word that needs no escapes, behind `*at`. */
static bool
word_read (const char **at, const char *member, char word[NAME_MAX_BYTES])
{
  size_t length;

  if (strncmp (*at, member, strlen (member)) != 0)
    return false;
  *at += strlen (member);
  length = strcspn (*at, "\"");
  if (length >= NAME_MAX_BYTES)
    return false;
  memcpy (word, *at, length);
  word[length] = '\0';
  *at += length + 1;
  return true;
}

/* Lines begin with {"node":"n1","state":"up", or {"name":"load". */
static bool
line_is_wanted (const struct live_reply *reply, const char *line)
{
  char name[NAME_MAX_BYTES], state[NAME_MAX_BYTES];

  if (!word_read (&line, reply->live == API_GROUPS ? "{\"name\":\"" : "{\"node\":\"", name) ||
      !globs_match (&reply->names, name))
    return false;
  return !reply->state || (word_read (&line, ",\"state\":\"", state) && strcmp (state, reply->state) == 0);
}

/* Facts are most of a node's line, and stand last in it: ,"facts":{...}}. No text has that, as its quotes are escaped. */
static void
line_add (const struct live_reply *reply, struct buffer *out, const char *line, size_t length)
{
  static const char facts[] = ",\"facts\":";
  const char *at = reply->brief ? memmem (line, length, facts, strlen (facts)) : NULL;

  buffer_add (out, line, at ? (size_t) (at - line) : length);
  if (at)
    buffer_printf (out, "%snull}", facts);
}

static bool
list_next (struct live_reply *reply, struct buffer *out, size_t limit)
{
  const struct buffer *text = &reply->words->text;

  if (reply->at == 0)
    buffer_printf (out, "{\"%s\":[", lives[reply->live].list);
  while (reply->at < text->length && out->length < limit) {
    const char *line = text->data + reply->at, *end = memchr (line, '\n', text->length - reply->at);
    size_t length = end ? (size_t) (end - line) : text->length - reply->at;
    if (end && line_is_wanted (reply, line)) {
      buffer_add_string (out, reply->shown++ ? ",\n" : "\n");
      line_add (reply, out, line, length);
    }
    reply->at += length + 1;
  }
  if (reply->at < text->length)
    return true;
  buffer_add_string (out, "]}\n");
  return false;
}

static bool
live_next (void *context, struct buffer *out, size_t limit)
{
  struct live_reply *reply = context;
  const struct buffer *text = &reply->words->text;
  size_t length = text->length - reply->at < limit ? text->length - reply->at : limit;

  if (lives[reply->live].list)
    return list_next (reply, out, limit);
  buffer_add (out, text->data + reply->at, length);
  reply->at += length;
  return reply->at < text->length;
}

static void
live_begin (void *context, struct http_reply *http)
{
  struct live_reply *reply = context;

  if (reply->words) {
    http->status = 200;
    http->type = "application/json";
  } else {
    http->next = NULL;
    api_reply_busy (reply->api, http, 503, "the aggregator does not answer at its socket", 5);
  }
}

static void
live_free (void *context)
{
  struct live_reply *reply = context;

  words_leave (reply->words);
  globs_free (&reply->names);
  free (reply->state);
  free (reply);
}

static void
answer_live (struct api *api, const struct http_request *request, enum api_live live, const char *names,
             const char *state, bool brief, struct http_reply *http)
{
  struct live_reply *reply = memory_new (1, sizeof *reply);

  reply->api = api;
  reply->live = live;
  reply->all = http_request_viewer (request)->all;
  reply->begun_ns = clock_monotonic ();
  globs_init (&reply->names, names ? names : "");
  reply->state = state ? memory_string (state) : NULL;
  reply->brief = brief;
  buffer_free (&http->text);
  *http = (struct http_reply){
    .context = reply, .next = live_next, .free = live_free, .wait = live_wait, .begin = live_begin
  };
}

void
api_answer_status (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  (void) ask;
  answer_live (api, request, API_STATUS, NULL, NULL, false, reply);
}

void
api_answer_nodes (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  answer_live (api, request, API_NODES, api_value (ask, "node"), api_value (ask, "state"),
               !api_is_yes (api_value (ask, "facts")), reply);
}

void
api_answer_groups (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  answer_live (api, request, API_GROUPS, api_value (ask, "group"), NULL, false, reply);
}

/* Of an instant of the past the history's events say it. */
void
api_answer_alerts (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  if (api_value (ask, "at"))
    api_answer_history (api, request, ask, reply);
  else
    answer_live (api, request, API_ALERTS, api_value (ask, "node"), NULL, false, reply);
}
