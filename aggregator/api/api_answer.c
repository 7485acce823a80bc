/* Requests: which address, whether all is right, who answers. */
#include <string.h>

#include "aggregator/api/api_openapi.h"
#include "aggregator/api/api_private.h"
#include "synop/json.h"

#define JSON "application/json"

/* ---- replies ---- */

void
api_reply_error (struct http_reply *reply, const struct api_error *error)
{
  http_reply_text (reply, error->status, JSON, "");
  api_error_write (error, &reply->text);
}

void
api_reply_busy (struct api *api, struct http_reply *reply, unsigned status, const char *why, unsigned retry_s)
{
  api->refused++;
  http_reply_error (reply, status, why);
  reply->retry_s = retry_s;
}

/* ---- what is always the same ---- */

void
api_answer_index (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  struct json json = { 0 };

  (void) api;
  (void) request;
  (void) ask;
  json_object (&json);
  json_text (json_key (&json, "openapi"), API_PREFIX "openapi.json");
  json_array (json_key (&json, "paths"));
  for (size_t i = 0; i < api_route_count; i++) {
    struct buffer path = { 0 };
    buffer_printf (&path, API_PREFIX "%s", api_routes[i].path);
    json_object (&json);
    json_text (json_key (&json, "path"), buffer_text (&path));
    json_text (json_key (&json, "help"), api_routes[i].help);
    json_object_end (&json);
    buffer_free (&path);
  }
  json_array_end (&json);
  json_object_end (&json);
  json_newline (&json);
  http_reply_text (reply, 200, JSON, "");
  buffer_add (&reply->text, json.out.data, json.out.length);
  json_free (&json);
}

void
api_answer_openapi (struct api *api, const struct http_request *request, struct api_ask *ask, struct http_reply *reply)
{
  (void) api;
  (void) request;
  (void) ask;
  http_reply_text (reply, 200, JSON, "");
  api_openapi_write (&reply->text);
}

/* ---- requests ---- */

struct taking {
  struct api_ask *ask;
  struct api_error *error;
};

static void
take_argument (void *context, const char *name, const char *value)
{
  struct taking *taking = context;

  if (taking->error->status == 0 && (*name || (value && *value))) /* "?", "&&" */
    api_ask_take (taking->ask, name, value, taking->error);
}

void
api_answer (void *context, const struct http_request *request, const char *path, struct http_reply *reply)
{
  struct api_error error = { 0 };
  struct api_ask ask = { 0 };
  struct taking taking = { &ask, &error };
  const char *part;

  ask.route = api_route_find (path, &part, &error);
  if (ask.route)
    http_request_each_argument (request, &taking, take_argument);
  if (error.status == 0)
    api_ask_check (&ask, part, &error);
  if (error.status == 0)
    ask.route->answer (context, request, &ask, reply);
  else
    api_reply_error (reply, &error);
  api_ask_free (&ask);
}
