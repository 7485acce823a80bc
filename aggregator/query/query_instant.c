/* A question about this instant, to a running aggregator, and its answer; see query.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "aggregator/query/query_private.h"
#include "aggregator/query/when.h"
#include "synop/array.h"
#include "synop/memory.h"

/* ---- the request ---- */

static const char *
what_does_not_go (const struct query *query)
{
  const struct {
    bool given;
    const char *key;
  } others[] = { { query->from, "from" },        { query->to, "to" },     { query->step, "step" },
                 { query->job, "job" },          { query->user, "user" }, { query->scheduler, "scheduler" },
                 { query->combined, "combined" } };
  size_t i = 0;

  while (i < sizeof others / sizeof others[0] && !others[i].given)
    i++;
  return i < sizeof others / sizeof others[0] ? others[i].key : NULL;
}

static int
add_word (struct buffer *request, const char *key, const char *value, const char **wrong, struct error *error)
{
  *wrong = key;
  if (!value)
    return 0;
  if (strpbrk (value, "\t\n"))
    return error_set (error, "must have no tab and no newline");
  buffer_printf (request, "\t%s=%s", key, value);
  return 0;
}

int
query_instant_request (const struct query *query, struct buffer *request, const char **key, struct error *error)
{
  *key = what_does_not_go (query);
  if (*key)
    return error_set (error, "does not go with now");
  *key = "bottom";
  if (query->top && query->bottom)
    return error_set (error, "does not go with top");
  buffer_add_string (request, "now");
  if (add_word (request, "metric", query->metric ? query->metric : "", key, error) < 0 ||
      add_word (request, "node", query->node, key, error) < 0 ||
      add_word (request, "row",
                query->row    ? query->row
                : query->rows ? "*"
                              : NULL,
                key, error) < 0)
    return -1;
  if (!query->fold && (query->top || query->bottom))
    buffer_printf (request, "\t%s=%zu", query->top ? "top" : "bottom", query->top ? query->top : query->bottom);
  buffer_add_string (request, "\n");
  return 0;
}

/* ---- the answer ---- */

static const char *
text_of (const json_t *object, const char *key)
{
  return json_string_value (json_object_get (object, key));
}

static void
add_series (struct query_answer *answer, const char *node, const char *row, const json_t *number)
{
  struct query_series *series = array_add (answer->series, answer->series_count, answer->series_room);
  double value = json_is_number (number) ? json_number_value (number) : (double) NAN;

  *series = (struct query_series){ .node = memory_string (node ? node : ""), .row = memory_string (row) };
  series->values = memory_new (1, sizeof series->values[0]);
  if (!isnan (value))
    series->values[0] = (struct query_value){ 1, value, value, value };
}

/* `rows` and `top` are lists of objects; `values` are numbers beside the names. */
static void
take_values (struct query_answer *answer, const json_t *line, const json_t *metric)
{
  const json_t *list =
      json_object_get (metric, "top") ? json_object_get (metric, "top") : json_object_get (metric, "rows");
  const json_t *values = json_object_get (metric, "values"), *names = json_object_get (line, "nodes");

  for (size_t i = 0; i < json_array_size (list); i++) {
    const json_t *one = json_array_get (list, i);
    const char *row = text_of (one, "row");
    add_series (answer, text_of (one, "node"), row ? row : text_of (metric, "row"), json_object_get (one, "value"));
  }
  for (size_t i = 0; i < json_array_size (values); i++)
    add_series (answer, json_string_value (json_array_get (names, i)), text_of (metric, "row"),
                json_array_get (values, i));
}

static enum query_shows
shows_of (const char *text)
{
  enum query_shows shows = QUERY_COMPUTED;

  while (shows > 0 && strcmp (query_shows_names[shows], text) != 0)
    shows--;
  return shows;
}

static int
read_line (struct query_answer *answer, const json_t *line, struct error *error)
{
  const json_t *metric = json_array_get (json_object_get (line, "metrics"), 0);
  const char *name = text_of (metric, "metric"), *unit = text_of (metric, "unit"), *shows = text_of (metric, "shows"),
             *time = text_of (line, "time");

  if (!name || !unit || !shows || !time || when_parse (time, 0, &answer->from_ns, NULL) < 0)
    return error_set (error, "the aggregator's answer is not understood: is it of another version?");
  answer->metric = memory_string (name);
  answer->unit = memory_string (unit);
  answer->help = memory_string ("");
  answer->shows = shows_of (shows);
  answer->instant = true;
  answer->to_ns = answer->now_ns = answer->from_ns;
  answer->steps = 1;
  take_values (answer, line, metric);
  answer->left_out = (size_t) json_integer_value (json_object_get (metric, "count"));
  if (json_array_size (json_object_get (line, "nodes")) == 0)
    buffer_add_string (&answer->note, "No node has sent values yet.\n");
  return 0;
}

static void
finish (struct query_answer *answer, const struct query *query)
{
  size_t top = query->top ? query->top : query->bottom;

  answer->fold = query->fold;
  if (query->fold)
    series_fold (answer);
  series_measure (answer);
  answer->gap_count = 0;
  answer->ranked = top > 0;
  answer->left_out = top > 0 && !query->fold && answer->left_out > top ? answer->left_out - top : 0;
}

/* "error metric: no node has ..." */
static int
refused (const char *line, const char **key, struct error *error)
{
  const char *colon = strstr (line, ": ");

  for (size_t i = 0; query_keys[i]; i++) {
    size_t length = strlen (query_keys[i]);
    if (colon != line + length || strncmp (line, query_keys[i], length) != 0)
      continue;
    *key = query_keys[i];
    line = colon + 2;
    break;
  }
  return error_set (error, "%.*s", (int) strcspn (line, "\n"), line);
}

int
query_instant_answer (const struct query *query, const char *line, struct query_answer *answer, const char **key,
                      struct error *error)
{
  json_t *parsed;
  int result;

  *answer = (struct query_answer){ 0 };
  *key = NULL;
  if (strncmp (line, "error ", 6) == 0)
    return refused (line + 6, key, error);
  parsed = json_loads (line, 0, NULL);
  result = read_line (answer, parsed, error);
  json_decref (parsed);
  if (result == 0)
    finish (answer, query);
  else
    query_answer_free (answer);
  return result;
}
