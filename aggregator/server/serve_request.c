/* The requests of clients of the UNIX socket, and their answers: serve.h lists them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/server/serve_private.h"
#include "synop/clock.h"

#define ANSWER_NS (30 * NS_PER_S) /* for the client to read an answer */

void
serve_answer (struct client *client, const char *text, size_t length)
{
  struct line *line = line_create (text, length);

  outlet_put (client->outlet, line);
  line_release (line);
  client->closing = true;
  client->deadline_ns = clock_monotonic () + ANSWER_NS;
}

void
serve_error (struct client *client, const char *why)
{
  struct buffer text = { 0 };

  buffer_printf (&text, "error %s\n", why);
  serve_answer (client, text.data, text.length);
  buffer_free (&text);
}

/* `words` follow the "tail". */
static void
request_tail (struct client *client, char *words)
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
      serve_error (client, "tail takes node=, group= and type=");
      return;
    }
    *known[i].value = word + strlen (known[i].name);
  }
  client->deadline_ns = INT64_MAX;
  client->reader = stream_attach (client->serve->options.stream, &filter, &client->viewer, client->outlet,
                                  serve_client_ready, client);
}

static char no_words[] = "";

static void
request_now (struct client *client, char *words)
{
  const struct serve_options *options = &client->serve->options;
  struct buffer text = { 0 };
  struct error error;

  if (now_answer (options->now, &client->viewer, words ? words : no_words, options->time (options->context), &text,
                  &error) < 0)
    serve_error (client, error.text);
  else
    serve_answer (client, text.data, text.length);
  buffer_free (&text);
}

static void
request_watch (struct client *client, char *words)
{
  const struct serve_options *options = &client->serve->options;
  struct error error;

  client->watcher = now_attach (options->now, &client->viewer, words ? words : no_words,
                                options->time (options->context), client->outlet, serve_client_ready, client, &error);
  if (client->watcher)
    client->deadline_ns = INT64_MAX;
  else
    serve_error (client, error.text);
}

static void
request_status (struct client *client, const char *words)
{
  const struct serve_options *options = &client->serve->options;
  struct buffer text = { 0 };

  if (words && strcmp (words, "table") != 0) {
    serve_error (client, "status takes nothing but table");
    return;
  }
  options->status (options->context, &client->viewer, words != NULL, &text);
  serve_answer (client, text.data, text.length);
  buffer_free (&text);
}

static void
request_list (struct client *client, const char *words,
              void (*list) (void *context, const struct viewer *viewer, bool json, struct buffer *out))
{
  struct buffer text = { 0 };

  if (words && strcmp (words, "json") != 0) {
    serve_error (client, "groups and nodes take nothing but json");
    return;
  }
  list (client->serve->options.context, &client->viewer, words != NULL, &text);
  serve_answer (client, text.data, text.length);
  buffer_free (&text);
}

static void
request_lines (struct client *client, void (*list) (void *context, const struct viewer *viewer, struct buffer *out))
{
  struct buffer text = { 0 };

  list (client->serve->options.context, &client->viewer, &text);
  serve_answer (client, text.data, text.length);
  buffer_free (&text);
}

static void
request_reload (struct client *client)
{
  const struct serve_options *options = &client->serve->options;
  struct error error;

  if (options->reload (options->context, &error) < 0)
    serve_error (client, error.text);
  else
    serve_answer (client, "ok\n", 3);
}

static bool
read_flush (char *words, struct serve_flush *flush)
{
  for (char *word; (word = strsep (&words, "\t"));) {
    char *end = word;
    errno = 0;
    if (strncmp (word, "to=", 3) == 0 && word[3]) {
      flush->to_ns = strtoll (word + 3, &end, 10);
    } else if (strncmp (word, "file=", 5) == 0) {
      flush->device = strtoull (word + 5, &end, 10);
      if (*end != ':' || !end[1])
        return false;
      flush->inode = strtoull (end + 1, &end, 10);
    }
    if (*end || end == word || errno)
      return false;
  }
  return true;
}

static void
request_flush (struct client *client, char *words)
{
  const struct serve_options *options = &client->serve->options;
  struct serve_flush flush = { .to_ns = INT64_MAX };
  struct buffer text = { 0 };

  if (!read_flush (words, &flush)) {
    serve_error (client, "flush takes to=NS and file=DEVICE:INODE");
    return;
  }
  client->ticket = options->flush (options->context, &flush, &text);
  if (client->ticket)
    client->deadline_ns = INT64_MAX; /* it waits for the flush */
  else
    serve_answer (client, text.data, text.length);
  buffer_free (&text);
}

/* `words` follow the "job". */
static void
request_job (struct client *client, char *words)
{
  const struct serve_options *options = &client->serve->options;
  const char *verb = strsep (&words, "\t"), *label = strsep (&words, "\t");
  struct job_announcement announcement = { .uid = client->uid, .label = label, .user = "", .name = "" };
  struct buffer text = { 0 };
  bool fine = verb && label;

  for (char *word; fine && (word = strsep (&words, "\t"));) {
    fine = strncmp (word, "user=", 5) == 0 || strncmp (word, "name=", 5) == 0;
    *(*word == 'u' ? &announcement.user : &announcement.name) = fine ? word + 5 : "";
  }
  announcement.start = fine && strcmp (verb, "start") == 0;
  if (!fine || (!announcement.start && strcmp (verb, "end") != 0)) {
    serve_error (client, "job takes start or end, an id, and user= and name=");
    return;
  }
  options->job (options->context, &announcement, &text);
  serve_answer (client, text.data, text.length);
  buffer_free (&text);
}

/* Of the user himself alone, whom the kernel names. */
static void
request_trace (struct client *client, char *words)
{
  struct error error;

  if (client->for_another) {
    serve_error (client, "traces are asked for on the aggregator's own host");
    return;
  }
  client->tracer = trace_view_ask (client->serve->options.traces, &client->viewer, words ? words : no_words,
                                   client->outlet, serve_client_ready, client, &error);
  if (client->tracer)
    client->deadline_ns = INT64_MAX;
  else
    serve_error (client, error.text);
}

/* Who asks, or for whom. The words behind that; NULL: it was refused. */
static char *
request_viewer (struct client *client, char *words)
{
  const struct serve_options *options = &client->serve->options;
  char *rest = words, *word;
  struct error why;

  client->viewer = viewer_all;
  if (options->viewer && options->viewer (options->context, client->uid, &client->viewer, &why) < 0) {
    serve_error (client, why.text);
    return NULL;
  }
  if (strncmp (words, "as=", 3) != 0)
    return words;
  client->for_another = true;
  word = strsep (&rest, "\t");
  if (!client->viewer.all || !rest || viewer_read (&client->viewer, word + 3) < 0) {
    serve_error (client, "only an admin may ask for another user");
    return NULL;
  }
  return rest;
}

static bool
is_for_admins (const char *verb)
{
  return strcmp (verb, "reload") == 0 || strcmp (verb, "flush") == 0;
}

void
serve_request (struct client *client, char *request)
{
  char *words = request_viewer (client, request);
  const char *verb = words ? strsep (&words, "\t") : NULL;

  client->asked = true;
  if (!verb)
    return;
  if (is_for_admins (verb) && !client->viewer.all)
    serve_error (client, "this is for admins: [access] admins lists them");
  else if (strcmp (verb, "tail") == 0)
    request_tail (client, words);
  else if (strcmp (verb, "now") == 0)
    request_now (client, words);
  else if (strcmp (verb, "watch") == 0)
    request_watch (client, words);
  else if (strcmp (verb, "status") == 0)
    request_status (client, words);
  else if (strcmp (verb, "groups") == 0)
    request_list (client, words, client->serve->options.groups);
  else if (strcmp (verb, "nodes") == 0)
    request_list (client, words, client->serve->options.nodes);
  else if (strcmp (verb, "alerts") == 0 && !words)
    request_lines (client, client->serve->options.alerts);
  else if (strcmp (verb, "jobs") == 0 && !words)
    request_lines (client, client->serve->options.jobs);
  else if (strcmp (verb, "reload") == 0 && !words)
    request_reload (client);
  else if (strcmp (verb, "flush") == 0)
    request_flush (client, words);
  else if (strcmp (verb, "job") == 0)
    request_job (client, words);
  else if (strcmp (verb, "trace") == 0)
    request_trace (client, words);
  else
    serve_error (client, "the request is not understood: tail, now, watch, status, groups, nodes, alerts, jobs, "
                         "reload, flush, job or trace");
}
