/* Requests: who may ask, which route answers, and what both programs have. */
#include <stdlib.h>
#include <string.h>

#include "common/http/http_private.h"
#include "synop/memory.h"

#define BEAT_LATE (5 * NS_PER_S)
#define TEXT "text/plain; charset=utf-8"
#define HTML "text/html; charset=utf-8"

struct http_request {
  const struct http *http;
  struct MHD_Connection *connection;
};

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

uint64_t
http_request_host (const struct http_request *request)
{
  return http_connection_host (request->http, request->connection);
}

bool
http_request_is_tls (const struct http_request *request)
{
  return request->http->certificate != NULL;
}

void
http_reply_text (struct http_reply *reply, unsigned status, const char *type, const char *text)
{
  reply->status = status;
  reply->type = type;
  buffer_clear (&reply->text);
  buffer_add_string (&reply->text, text);
}

/* ---- what both programs have ---- */

static void
answer_index (struct http *http, struct http_reply *reply)
{
  const struct http_options *options = &http->options;

  http_reply_text (reply, MHD_HTTP_OK, HTML,
                   "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
  buffer_printf (&reply->text, "%s</title></head>\n<body>\n<h1>%s</h1>\n<ul>\n", options->title, options->title);
  for (size_t i = 0; i < options->route_count; i++)
    if (options->routes[i].title != NULL)
      buffer_printf (&reply->text, "<li><a href=\"%s\">%s</a>: %s</li>\n", options->routes[i].path,
                     options->routes[i].path, options->routes[i].title);
  buffer_add_string (&reply->text, "<li><a href=\"/healthz\">/healthz</a>: 200 while it works</li>\n"
                                   "<li><a href=\"/readyz\">/readyz</a>: 200 once it has all that it needs</li>\n"
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

static void
answer_route (struct http *http, const struct http_request *request, const char *url, struct http_reply *reply)
{
  const char *rest;

  if (strcmp (url, "/") == 0) {
    answer_index (http, reply);
    return;
  }
  http_reply_text (reply, MHD_HTTP_NOT_FOUND, TEXT, "there is no such page; / lists those that there are\n");
  for (size_t i = 0; i < http->options.route_count; i++)
    if (route_takes (&http->options.routes[i], url, &rest)) {
      http->options.routes[i].answer (http->options.context, request, rest, reply);
      http->refused += reply->status == MHD_HTTP_TOO_MANY_REQUESTS;
      return;
    }
}

/* False: the reply says why not. */
static bool
is_authorized (struct http *http, const struct http_request *request, struct http_reply *reply)
{
  enum http_password_answer answer = HTTP_PASSWORD_GOOD;

  if (http->passwords != NULL)
    answer = http_passwords_check (http->passwords, http_request_header (request, "Authorization"),
                                   http_request_host (request), clock_monotonic ());
  if (answer == HTTP_PASSWORD_WRONG)
    http_reply_text (reply, MHD_HTTP_UNAUTHORIZED, TEXT, "a name and a password are needed\n");
  else if (answer == HTTP_PASSWORD_LATER)
    http_reply_text (reply, MHD_HTTP_TOO_MANY_REQUESTS, TEXT, "too many passwords are being tried\n");
  http->unauthorized += answer != HTTP_PASSWORD_GOOD;
  return answer == HTTP_PASSWORD_GOOD;
}

static bool
method_is_known (const char *method)
{
  return strcmp (method, "GET") == 0 || strcmp (method, "HEAD") == 0;
}

static void
answer_make (struct http *http, const struct http_request *request, const char *url, const char *method,
             struct http_reply *reply)
{
  if (!method_is_known (method))
    http_reply_text (reply, MHD_HTTP_METHOD_NOT_ALLOWED, TEXT, "GET and HEAD only\n");
  else if (strcmp (url, "/healthz") == 0 || strcmp (url, "/readyz") == 0)
    answer_health (http, url[1] == 'r', reply);
  else if (is_authorized (http, request, reply))
    answer_route (http, request, url, reply);
}

enum MHD_Result
http_answer (void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
             const char *upload, size_t *upload_size, void **place)
{
  struct http *http = context;
  struct http_request request = { http, connection };
  struct http_reply reply = { 0 };
  unsigned status;
  const char *type;
  struct MHD_Response *response;
  enum MHD_Result result;
  bool gzip;

  (void) version;
  (void) upload;
  if (method_is_known (method) && (*place == NULL || *upload_size != 0)) {
    *place = http; /* the headers alone are there: the connection lasts only if all else is read first */
    *upload_size = 0;
    return MHD_YES;
  }
  http->requests++;
  http_connection_asks (http, connection, true);
  answer_make (http, &request, url, method, &reply);
  status = reply.status;
  type = reply.type;
  gzip = http_list_has (http_request_header (&request, "Accept-Encoding"), "gzip");
  response = http_stream (http->library, &reply, gzip);
  if (response == NULL)
    return MHD_NO;
  http->library->MHD_add_response_header (response, "Content-Type", type);
  http->library->MHD_add_response_header (response, "Cache-Control", "no-store");
  http->library->MHD_add_response_header (response, "Vary", "Accept, Accept-Encoding");
  http->library->MHD_add_response_header (response, "X-Content-Type-Options", "nosniff");
  if (status == MHD_HTTP_UNAUTHORIZED)
    http->library->MHD_add_response_header (response, "WWW-Authenticate", "Basic realm=\"synop\", charset=\"UTF-8\"");
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
    http->library->MHD_add_response_header (response, "Allow", "GET, HEAD");
  result = http->library->MHD_queue_response (connection, status, response);
  http->library->MHD_destroy_response (response);
  return result;
}

void
http_answered (void *context, struct MHD_Connection *connection, void **place, enum MHD_RequestTerminationCode how)
{
  (void) place;
  (void) how;
  http_connection_asks (context, connection, false);
}
