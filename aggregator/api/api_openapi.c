/* See api_openapi.h. */
#include "aggregator/api/api_openapi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/api/api_route.h"
#include "aggregator/api/api_schemas.h"
#include "synop/json.h"
#include "synop/version.h"

static void
text (struct json *json, const char *key, const char *value)
{
  json_text (json_key_n (json, key, strlen (key)), value);
}

static void
object (struct json *json, const char *key)
{
  json_object (json_key_n (json, key, strlen (key)));
}

static void
reference (struct json *json, const char *schema)
{
  char place[80];

  snprintf (place, sizeof place, "#/components/schemas/%s", schema);
  object (json, "schema");
  text (json, "$ref", place);
  json_object_end (json);
}

/* ---- parameters ---- */

static void
write_kind (struct json *json, const struct api_parameter *parameter)
{
  bool number = parameter->kind == API_NUMBER;

  object (json, "schema");
  text (json, "type", number ? "integer" : "string");
  if (number) {
    json_uint (json_key (json, "minimum"), 1);
    json_uint (json_key (json, "maximum"), parameter->most);
  }
  if (parameter->kind == API_CHOICE || parameter->kind == API_BOOLEAN) {
    static const char *const booleans[] = { "yes", "no", "true", "false", "1", "0", "", NULL };
    json_array (json_key (json, "enum"));
    for (const char *const *one = parameter->choices ? parameter->choices : booleans; *one; one++)
      json_text (json, *one);
    json_array_end (json);
  }
  if (parameter->kind == API_WORDS || parameter->kind == API_METRICS)
    json_uint (json_key (json, "minLength"), 1);
  if (parameter->fallback && number)
    json_uint (json_key (json, "default"), strtoul (parameter->fallback, NULL, 10));
  else if (parameter->fallback)
    text (json, "default", parameter->fallback);
  json_object_end (json);
}

static void
write_parameter (struct json *json, const struct api_parameter *parameter, const char *in)
{
  char expects[256];

  api_expects (parameter, expects, sizeof expects);
  json_object (json);
  text (json, "name", parameter->name);
  text (json, "in", in);
  json_bool (json_key (json, "required"), parameter->required);
  text (json, "description", parameter->help);
  text (json, "x-expects", expects);
  write_kind (json, parameter);
  json_object_end (json);
}

/* What stands for {...} in the path. */
static void
write_part (struct json *json, const struct api_route *route)
{
  const char *open = strchr (route->path, '{');
  char name[32];
  struct api_parameter part = { .name = name, .kind = API_WORDS, .help = route->schema_of_path, .required = true };

  if (!open)
    return;
  snprintf (name, sizeof name, "%.*s", (int) strcspn (open + 1, "}"), open + 1);
  write_parameter (json, &part, "path");
}

/* ---- answers ---- */

static void
write_content (struct json *json, const struct api_route *route)
{
  object (json, "content");
  if (route->schema) {
    object (json, "application/json");
    reference (json, route->schema);
    json_object_end (json);
  }
  for (const char *const *type = route->types; type && *type; type++) {
    object (json, *type);
    object (json, "schema");
    text (json, "type", "string");
    json_object_end (json);
    json_object_end (json);
  }
  json_object_end (json);
}

static void
write_response (struct json *json, const char *status, const char *description, const struct api_route *route)
{
  object (json, status);
  text (json, "description", description);
  if (route) {
    write_content (json, route);
  } else {
    object (json, "content");
    object (json, "application/json");
    reference (json, "Error");
    json_object_end (json);
    json_object_end (json);
  }
  json_object_end (json);
}

static void
write_responses (struct json *json, const struct api_route *route)
{
  object (json, "responses");
  write_response (json, "200", route->title, route);
  if (route->count || route->schema_of_path)
    write_response (json, "400", "A parameter is wrong, or unknown.", NULL);
  write_response (json, "401", "What shows who asks is wrong, or none of it is there where it is needed.", NULL);
  write_response (json, "403", "A page of another site asks, or the Host is no name of this host.", NULL);
  if (route->schema_of_path) {
    write_response (json, "404", "There is no such one.", NULL);
    write_response (json, "409", "There are several: parameters say which.", NULL);
  }
  if (route->count || route->read)
    write_response (json, "503", "Too much is being asked for, or the aggregator does not answer: see Retry-After.",
                    NULL);
  if (route->read)
    write_response (json, "504", "It took more than 30 s.", NULL);
  json_object_end (json);
}

static void
write_route (struct json *json, const struct api_route *route)
{
  char path[64];

  snprintf (path, sizeof path, API_PREFIX "%s", route->path);
  object (json, path);
  object (json, "get");
  text (json, "summary", route->title);
  text (json, "description", route->help);
  json_array (json_key (json, "parameters"));
  write_part (json, route);
  for (size_t i = 0; i < route->count; i++)
    write_parameter (json, &route->parameters[i], "query");
  json_array_end (json);
  write_responses (json, route);
  json_object_end (json);
  json_object_end (json);
}

static void
write_schemas (struct json *json)
{
  for (const char *at = api_schemas; *at; at++)
    buffer_add (&json->out, *at == '\'' ? "\"" : at, 1);
  json->comma = true;
}

static void
write_scheme (struct json *json, const char *name, const char *scheme, const char *help)
{
  object (json, name);
  text (json, "type", "http");
  text (json, "scheme", scheme);
  text (json, "description", help);
  json_object_end (json);
}

void
api_openapi_write (struct buffer *out)
{
  struct json json = { 0 };

  json_object (&json);
  text (&json, "openapi", "3.1.0");
  object (&json, "info");
  text (&json, "title", "synop");
  text (&json, "version", SYNOP_VERSION);
  text (&json, "description", "What the aggregator knows of its cluster, now and in the past: docs/api.md.");
  object (&json, "license");
  text (&json, "name", "Apache-2.0");
  text (&json, "identifier", "Apache-2.0");
  json_object_end (&json);
  json_object_end (&json);
  object (&json, "paths");
  for (size_t i = 0; i < api_route_count; i++)
    write_route (&json, &api_routes[i]);
  json_object_end (&json);
  object (&json, "components");
  json_key (&json, "schemas");
  write_schemas (&json);
  object (&json, "securitySchemes");
  write_scheme (&json, "password", "basic", "[http] password_file: whoever is in it sees the jobs of everybody.");
  write_scheme (
      &json, "munge", "MUNGE",
      "A credential whose payload is the method, a blank, and the target of the request, in which all bytes but "
      "letters, digits and -._~ (and / of the path) are %XX. Its user sees his own jobs.");
  write_scheme (&json, "token", "bearer", "As `synop-aggregator token USER` makes it. That user sees his own jobs.");
  json_object_end (&json);
  json_object_end (&json);
  json_object_end (&json);
  json_newline (&json);
  buffer_add (out, json.out.data, json.out.length);
  json_free (&json);
}
