/* What strangers ask, held to the table of addresses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/api/api_route.h"
#include "aggregator/query/when.h"
#include "aggregator/stream/stream.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/config_suggest.h"
#include "synop/globs.h"
#include "synop/memory.h"
#include "synop/text.h"

void
api_expects (const struct api_parameter *parameter, char *text, size_t size)
{
  static const char *const expected[] = {
    [API_GLOBS] = "globs, with commas between them",
    [API_TYPES] = "globs of node, cluster, event, job, with commas between them",
    [API_METRICS] = "metrics, as cpu_usage.user, with commas between them",
    [API_TIME] = "a time, as 2026-11-21T10:00:00Z, 10:00, -1h or now",
    [API_DURATION] = "a duration, as 30s, 5m, 1h",
    [API_NUMBER] = "a whole number from 1 to ",
    [API_BOOLEAN] = "yes or no",
    [API_CHOICE] = "one of ",
    [API_WORDS] = "a text of 1 to 1024 bytes",
    [API_REQUEST] = "tail, now, watch, status, groups, nodes, alerts or jobs, and their words behind tabs",
  };
  size_t at = (size_t) snprintf (text, size, "%s", expected[parameter->kind]);

  if (parameter->kind == API_NUMBER)
    snprintf (text + at, size - at, "%zu", parameter->most);
  for (const char *const *choice = parameter->choices; choice && *choice && at < size; choice++)
    at += (size_t) snprintf (text + at, size - at, "%s%s", choice == parameter->choices ? "" : ", ", *choice);
}

/* UTF-8 without controls but the tabs of a request, and not too much of it. */
static bool
is_sound (const char *text, enum api_kind kind)
{
  bool request = kind == API_REQUEST;
  size_t left = strlen (text), length;

  if (left > (request ? API_REQUEST_MAX : API_TEXT_MAX))
    return false;
  for (; left > 0; text += length, left -= length)
    if (text_is_unsound (text_character (text, left, &length)) && !(request && *text == '\t'))
      return false;
  return true;
}

/* ---- kinds ---- */

static int
check_globs (const char *value, struct error *why)
{
  if (!globs_list_is_cheap (value))
    return error_set (why, "the list has more than %d bytes, or a glob in it more than %d stars", GLOBS_LENGTH_MAX,
                      GLOB_STARS_MAX);
  return globs_list_check (value, why);
}

static int
check_choice (const struct api_parameter *parameter, const char *value, struct error *why)
{
  for (const char *const *choice = parameter->choices; *choice; choice++)
    if (strcmp (*choice, value) == 0)
      return 0;
  error_set (why, "\"%.64s\" is not known", value);
  config_hint_nearest (why, value, parameter->choices);
  return -1;
}

static int
check_number (const struct api_parameter *parameter, const char *value, struct error *why)
{
  size_t digits = strspn (value, "0123456789");
  unsigned long number = strtoul (value, NULL, 10);

  if (digits == 0 || digits > 9 || value[digits] || number == 0 || number > parameter->most)
    return error_set (why, "must be a whole number from 1 to %zu", parameter->most);
  return 0;
}

static int
check_boolean (const char *value, struct error *why)
{
  static const char *const words[] = { "", "yes", "no", "true", "false", "1", "0" };

  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strcmp (words[i], value) == 0)
      return 0;
  return error_set (why, "must be yes or no, not \"%.64s\"", value);
}

static int
check_duration (const char *value, struct error *why)
{
  int64_t ns;

  if (duration_parse (value, &ns, why) < 0)
    return -1;
  return ns > 0 ? 0 : error_set (why, "must be more than 0");
}

static int
check_request (const char *value, struct error *why)
{
  static const char *const verbs[] = { "tail", "now", "watch", "status", "groups", "nodes", "alerts", "jobs", NULL };
  size_t length = strcspn (value, "\t");

  for (const char *const *verb = verbs; *verb; verb++)
    if (strlen (*verb) == length && memcmp (*verb, value, length) == 0)
      return 0;
  error_set (why, "\"%.*s\" is no request for everybody", (int) (length < 64 ? length : 64), value);
  config_hint_nearest (why, value, verbs);
  return -1;
}

static int
check_value (const struct api_parameter *parameter, const char *value, struct error *why)
{
  int64_t ns;

  switch (parameter->kind) {
  case API_GLOBS:
    return check_globs (value, why);
  case API_TYPES:
    return check_globs (value, why) < 0 ? -1 : stream_types_check (value, why);
  case API_TIME:
    return when_parse (value, clock_wall (), &ns, why);
  case API_DURATION:
    return check_duration (value, why);
  case API_NUMBER:
    return check_number (parameter, value, why);
  case API_BOOLEAN:
    return check_boolean (value, why);
  case API_CHOICE:
    return check_choice (parameter, value, why);
  case API_REQUEST:
    return check_request (value, why);
  case API_METRICS:
  case API_WORDS:
    return *value ? 0 : error_set (why, "must not be empty");
  }
  return 0;
}

/* ---- a request ---- */

static int
fail_unknown (const struct api_route *route, const char *name, struct api_error *error)
{
  struct suggestion suggestion = { .word = name };
  size_t at = 0, size = sizeof error->expected;

  for (size_t i = 0; i < route->count; i++) {
    suggestion_consider (&suggestion, route->parameters[i].name);
    if (at < size)
      at += (size_t) snprintf (error->expected + at, size - at, "%s%s", i ? ", " : "", route->parameters[i].name);
  }
  return api_error_set (error, 400, name, API_PREFIX "%s has no parameter \"%.64s\"%s%s%s", route->path, name,
                        *suggestion.best ? "; did you mean " : "", suggestion.best, *suggestion.best ? "?" : "");
}

static bool
is_list (enum api_kind kind)
{
  return kind == API_GLOBS || kind == API_TYPES || kind == API_METRICS;
}

bool
api_is_yes (const char *value)
{
  return !*value || *value == 'y' || *value == 't' || *value == '1';
}

int
api_ask_take (struct api_ask *ask, const char *name, const char *value, struct api_error *error)
{
  const struct api_route *route = ask->route;
  size_t i = 0;

  while (i < route->count && strcmp (route->parameters[i].name, name) != 0)
    i++;
  if (i == route->count)
    return fail_unknown (route, name, error);
  if (ask->values[i] && !is_list (route->parameters[i].kind))
    return api_error_set (error, 400, route->parameters[i].name, "%s is given twice", name);
  if (!value)
    value = "";
  if (!is_sound (value, route->parameters[i].kind) || (ask->values[i] && strlen (ask->values[i]) > API_TEXT_MAX))
    return api_error_set (error, 400, route->parameters[i].name,
                          "%s: is no UTF-8, has characters that cannot be seen, or more than %d bytes", name,
                          API_TEXT_MAX);
  if (ask->values[i]) {
    char *both = memory_format ("%s,%s", ask->values[i], value);
    free (ask->values[i]);
    ask->values[i] = both;
  } else {
    ask->values[i] = memory_string (value);
  }
  return 0;
}

static int
check_one (struct api_ask *ask, size_t i, struct api_error *error)
{
  const struct api_parameter *parameter = &ask->route->parameters[i];
  struct error why;

  if (!ask->values[i] && parameter->fallback)
    ask->values[i] = memory_string (parameter->fallback);
  if (ask->values[i] ? check_value (parameter, ask->values[i], &why) == 0 : !parameter->required)
    return 0;
  api_expects (parameter, error->expected, sizeof error->expected);
  if (!ask->values[i])
    return api_error_set (error, 400, parameter->name, "%s is missing: %s", parameter->name, parameter->help);
  return api_error_set (error, 400, parameter->name, "%s: %s", parameter->name, why.text);
}

static int
check_interval (const struct api_ask *ask, struct api_error *error)
{
  const char *from = api_value (ask, "from"), *to = api_value (ask, "to");
  int64_t now_ns = clock_wall (), from_ns, to_ns;

  if (!from || !to || when_parse (from, now_ns, &from_ns, NULL) < 0 || when_parse (to, now_ns, &to_ns, NULL) < 0 ||
      from_ns < to_ns)
    return 0;
  return api_error_set (error, 400, "from", "from: must be before to, but they are %.64s and %.64s", from, to);
}

int
api_ask_check (struct api_ask *ask, const char *part, struct api_error *error)
{
  const struct api_route *route = ask->route;

  if (part && !is_sound (part, API_WORDS))
    return api_error_set (error, 400, NULL, "the path is no UTF-8, has characters that cannot be seen, or is too long");
  if (part)
    ask->values[route->count] = memory_copy (part, strlen (part) - strlen (api_route_tail (route)));
  for (size_t i = 0; i < route->count; i++)
    if (check_one (ask, i, error) < 0)
      return -1;
  return check_interval (ask, error);
}
