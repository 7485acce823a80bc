/* Requests: who may ask, which route answers, and what both programs have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/http_files.h"
#include "common/http/http_private.h"
#include "synop/json.h"
#include "synop/memory.h"

#define BEAT_LATE (5 * NS_PER_S)
#define TEXT "text/plain; charset=utf-8"
#define HTML "text/html; charset=utf-8"

const char *
http_request_header (const struct http_request *request, const char *name)
{
  return request->http->library->MHD_lookup_connection_value (request->connection, MHD_HEADER_KIND, name);
}

struct arguments {
  const char *name;
  struct buffer values;
};

static enum MHD_Result
argument_add (void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
  struct arguments *arguments = context;

  (void) kind;
  if (value != NULL && strcmp (name, arguments->name) == 0)
    buffer_printf (&arguments->values, "%s%s", arguments->values.length ? "," : "", value);
  return MHD_YES;
}

struct each {
  void *context;
  void (*take) (void *context, const char *name, const char *value);
};

static enum MHD_Result
argument_take (void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
  const struct each *each = context;

  (void) kind;
  each->take (each->context, name, value);
  return MHD_YES;
}

char *
http_request_arguments (const struct http_request *request, const char *name)
{
  struct arguments arguments = { .name = name };
  char *values;

  request->http->library->MHD_get_connection_values (request->connection, MHD_GET_ARGUMENT_KIND, argument_add,
                                                     &arguments);
  values = arguments.values.length ? memory_string (arguments.values.data) : NULL;
  buffer_free (&arguments.values);
  return values;
}

bool
http_request_accepts (const struct http_request *request, const char *type)
{
  return http_list_has (http_request_header (request, "Accept"), type);
}

void
http_request_each_argument (const struct http_request *request, void *context,
                            void (*take) (void *context, const char *name, const char *value))
{
  struct each each = { context, take };

  request->http->library->MHD_get_connection_values (request->connection, MHD_GET_ARGUMENT_KIND, argument_take, &each);
}

size_t
http_request_places (const struct http_request *request)
{
  return request->http->connections_max;
}

void
http_reply_text (struct http_reply *reply, unsigned status, const char *type, const char *text)
{
  reply->status = status;
  reply->type = type;
  buffer_clear (&reply->text);
  buffer_add_string (&reply->text, text);
}

void
http_reply_error (struct http_reply *reply, unsigned status, const char *text)
{
  struct json json = { 0 };

  json_object (&json);
  json_object (json_key (&json, "error"));
  json_text (json_key (&json, "message"), text);
  json_object_end (&json);
  json_object_end (&json);
  json_newline (&json);
  buffer_add (&json.out, "", 1);
  http_reply_text (reply, status, "application/json", json.out.data);
  json_free (&json);
}

/* ---- what both programs have ---- */

static void
index_site (const struct http_site *site, struct buffer *out)
{
  for (const struct http_route *route = site->routes; route < site->routes + site->route_count; route++)
    if (route->title != NULL)
      buffer_printf (out, "<li><a href=\"%s\">%s</a>: %s</li>\n", route->path + 1, route->path, route->title);
}

static void
answer_index (const struct http *http, bool missing, struct http_reply *reply)
{
  const struct http_options *options = &http->options;

  http_reply_text (reply, MHD_HTTP_OK, HTML,
                   "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                   "<link rel=\"icon\" href=\"data:,\"><title>");
  buffer_printf (&reply->text, "%s</title></head>\n<body>\n<h1>%s</h1>\n", options->title, options->title);
  if (missing)
    buffer_printf (&reply->text, "<p>The page is not here: no index.html in %s.</p>\n", options->folders[0]);
  buffer_add_string (&reply->text, "<ul>\n");
  for (size_t i = 0; i < options->site_count; i++)
    index_site (&options->sites[i], &reply->text);
  buffer_add_string (&reply->text, "<li><a href=\"healthz\">/healthz</a>: 200 while it works</li>\n"
                                   "<li><a href=\"readyz\">/readyz</a>: 200 once it has all that it needs</li>\n"
                                   "</ul>\n</body></html>\n");
}

static void
answer_health (const struct http *http, bool and_ready, struct http_reply *reply)
{
  bool beats = clock_monotonic () - http->beat_ns < BEAT_LATE;

  if (!beats)
    http_reply_text (reply, MHD_HTTP_SERVICE_UNAVAILABLE, TEXT, "its main thread stands still\n");
  else if (and_ready && !http->ready)
    http_reply_text (reply, MHD_HTTP_SERVICE_UNAVAILABLE, TEXT, "not ready yet\n");
  else
    http_reply_text (reply, MHD_HTTP_OK, TEXT, "ok\n");
}

/* ---- which route ---- */

static bool
route_takes (const struct http_route *route, const char *url, const char **rest)
{
  size_t length = strlen (route->path);

  if (strncmp (url, route->path, length) != 0 || (route->path[length - 1] != '/' && url[length] != '\0'))
    return false;
  *rest = url + length;
  return true;
}

/* Which of the routes takes it: it and its site; NULL: none. */
struct place {
  const struct http_site *site;
  const struct http_route *route;
  const char *rest;
};

static struct place
place_find (const struct http *http, const char *url)
{
  struct place place = { 0 };

  for (place.site = http->options.sites; place.site < http->options.sites + http->options.site_count; place.site++)
    for (place.route = place.site->routes; place.route < place.site->routes + place.site->route_count; place.route++)
      if (route_takes (place.route, url, &place.rest))
        return place;
  return (struct place){ 0 };
}

static void
refuse (const struct place *place, struct http_reply *reply, unsigned status, const char *why)
{
  if (place->route != NULL && place->route->json) {
    http_reply_error (reply, status, why);
  } else {
    http_reply_text (reply, status, TEXT, why);
    buffer_add_string (&reply->text, "\n");
  }
}

static void
answer_route (struct http *http, const struct http_request *request, const struct place *place, const char *url,
              struct http_reply *reply)
{
  bool front = strcmp (url, "/") == 0;

  refuse (place, reply, MHD_HTTP_NOT_FOUND, "there is no such page; /addresses lists those that there are");
  if (place->route != NULL)
    place->route->answer (place->site->context, request, place->rest, reply);
  else if (strcmp (url, "/addresses") == 0)
    answer_index (http, false, reply);
  else if (!http_file_answer (&http->files, front ? "index.html" : url + 1,
                              http_request_header (request, "If-None-Match"), clock_monotonic (), reply) &&
           front)
    answer_index (http, http->options.folders[0] != NULL, reply);
}

/* False: the reply says why not. */
static bool
has_password (struct http *http, const struct http_request *request, const struct place *place,
              struct http_reply *reply)
{
  enum http_password_answer answer = http_passwords_check (
      http->passwords, http_request_header (request, "Authorization"), http_request_host (request), clock_monotonic ());

  if (answer == HTTP_PASSWORD_WRONG)
    refuse (place, reply, MHD_HTTP_UNAUTHORIZED, "a name and a password are needed");
  else if (answer == HTTP_PASSWORD_LATER)
    refuse (place, reply, MHD_HTTP_TOO_MANY_REQUESTS, "too many passwords are being tried");
  return answer == HTTP_PASSWORD_GOOD;
}

/* Whoever has a password sees all, as does everybody where nobody asks who it is. False: the reply says why not. */
static bool
is_authorized (struct http *http, struct http_request *request, const struct place *place, struct http_reply *reply)
{
  const struct http_options *options = &http->options;
  enum http_who who = HTTP_NOBODY;
  struct error why;
  bool fine = true;

  request->viewer = options->who != NULL ? viewer_nobody : viewer_all;
  if (options->who != NULL)
    who = options->who (options->who_context, request, &request->viewer, &why);
  if (who == HTTP_IMPOSTOR) {
    refuse (place, reply, MHD_HTTP_UNAUTHORIZED, why.text);
    fine = false;
  } else if (who != HTTP_KNOWN && http->passwords != NULL) {
    fine = has_password (http, request, place, reply);
    request->viewer = viewer_all;
  }
  http->unauthorized += !fine;
  return fine;
}

static bool
method_is_known (const char *method)
{
  return strcmp (method, "GET") == 0 || strcmp (method, "HEAD") == 0;
}

static void
answer_make (struct http *http, struct http_request *request, const char *url, const char *method,
             struct http_reply *reply)
{
  const struct place place = place_find (http, url);
  bool page = place.route == NULL || !place.route->json;
  const char *why;

  if (!method_is_known (method))
    refuse (&place, reply, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only");
  else if (strcmp (url, "/healthz") == 0 || strcmp (url, "/readyz") == 0)
    answer_health (http, url[1] == 'r', reply);
  else if ((why = http_guard_refuses (http, request, page)) != NULL)
    refuse (&place, reply, MHD_HTTP_FORBIDDEN, why);
  else if (is_authorized (http, request, &place, reply))
    answer_route (http, request, &place, url, reply);
}

/* ---- replies ---- */

static void
count_refused (struct http *http, const struct http_reply *reply)
{
  http->refused += reply->status == MHD_HTTP_TOO_MANY_REQUESTS ||
                   (reply->status == MHD_HTTP_SERVICE_UNAVAILABLE && reply->retry_s > 0);
}

static bool
type_is_packed (const char *type)
{
  return strncmp (type, "image/", 6) == 0 && strcmp (type, "image/svg+xml") != 0;
}

static enum MHD_Result
reply_send (struct http *http, const struct http_request *request, struct http_reply *reply)
{
  const struct http_library *library = http->library;
  unsigned status = reply->status, retry_s = reply->retry_s;
  const char *type = reply->type, *file = reply->file;
  bool kept = reply->kept;
  bool gzip = status != MHD_HTTP_NOT_MODIFIED && !type_is_packed (type) &&
              http_list_has (http_request_header (request, "Accept-Encoding"), "gzip");
  struct MHD_Response *response;
  enum MHD_Result result;
  char seconds[16], name[256], tag[sizeof reply->tag];

  memcpy (tag, reply->tag, sizeof tag);
  count_refused (http, reply);
  http_connection_asks (http, request->connection, true, reply->endless);
  response = http_stream (http, request->connection, reply, gzip);
  if (response == NULL)
    return MHD_NO;
  library->MHD_add_response_header (response, "Content-Type", type);
  library->MHD_add_response_header (response, "Cache-Control",
                                    kept     ? "private, max-age=31536000, immutable"
                                    : tag[0] ? "no-cache"
                                             : "no-store");
  if (tag[0] != '\0')
    library->MHD_add_response_header (response, "ETag", tag);
  library->MHD_add_response_header (response, "Vary", "Accept, Accept-Encoding");
  http_guard_headers (http, response);
  if (file != NULL) {
    snprintf (name, sizeof name, "attachment; filename=\"%s\"", file);
    library->MHD_add_response_header (response, "Content-Disposition", name);
  }
  if (status == MHD_HTTP_UNAUTHORIZED)
    library->MHD_add_response_header (response, "WWW-Authenticate",
                                      http->passwords != NULL ? "Basic realm=\"synop\", charset=\"UTF-8\""
                                                              : "Bearer realm=\"synop\"");
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
    library->MHD_add_response_header (response, "Allow", "GET, HEAD");
  if (retry_s > 0) {
    snprintf (seconds, sizeof seconds, "%u", retry_s);
    library->MHD_add_response_header (response, "Retry-After", seconds);
  }
  result = library->MHD_queue_response (request->connection, status, response);
  library->MHD_destroy_response (response);
  return result;
}

static void
reply_drop (struct http_reply *reply)
{
  if (reply->free != NULL)
    reply->free (reply->context);
  buffer_free (&reply->text);
}

/* A reply whose status is not known yet stays with the request. */
static enum MHD_Result
reply_wait (struct http *http, const struct http_request *request, struct http_reply *later)
{
  struct http_wait wait;

  if (http_connection_is_gone (http, request->connection))
    return MHD_NO;
  if (later->wait (later->context, &wait)) {
    http_connection_wait (http, request->connection, &wait);
    return MHD_YES;
  }
  later->begin (later->context, later);
  later->begin = NULL;
  return reply_send (http, request, later);
}

enum MHD_Result
http_answer (void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
             const char *upload, size_t *upload_size, void **place)
{
  struct http *http = context;
  struct http_request request = { http, connection, method, url, viewer_nobody };
  struct http_reply reply = { 0 }, *later;

  (void) version;
  (void) upload;
  if (method_is_known (method) && (*place == NULL || *upload_size != 0)) {
    *place = http; /* the headers alone are there: the connection lasts only if all else is read first */
    *upload_size = 0;
    return MHD_YES;
  }
  if (*place != NULL && *place != http)
    return reply_wait (http, &request, *place);
  http->requests++;
  http_connection_asks (http, connection, true, false);
  if (http_is_proxy (http, http_connection_host (http, connection)) &&
      !http_connection_forward (http, connection, http_request_host (&request)))
    http_reply_error (&reply, MHD_HTTP_TOO_MANY_REQUESTS, "too many requests of this host are being answered");
  else
    answer_make (http, &request, url, method, &reply);
  if (reply.begin == NULL)
    return reply_send (http, &request, &reply);
  *place = later = memory_new (1, sizeof *later);
  *later = reply;
  return reply_wait (http, &request, later);
}

void
http_answered (void *context, struct MHD_Connection *connection, void **place, enum MHD_RequestTerminationCode how)
{
  (void) how;
  if (*place != NULL && *place != context) {
    reply_drop (*place);
    free (*place);
  }
  *place = NULL;
  http_connection_asks (context, connection, false, false);
}
