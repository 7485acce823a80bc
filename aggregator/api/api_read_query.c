/* Questions about metrics, as `query` answers them. */
#include <string.h>

#include "aggregator/api/api_route.h"
#include "aggregator/query/query.h"

/* All parameters but the form are the question's. */
static int
question_read (const struct api_ask *ask, struct query *query, struct api_error *error)
{
  struct error why;

  for (size_t i = 0; i < ask->route->count; i++) {
    const char *name = ask->route->parameters[i].name;
    if (ask->values[i] && strcmp (name, "format") != 0 && query_set (query, name, ask->values[i], &why) < 0)
      return api_error_set (error, 400, name, "%s", why.text);
  }
  return 0;
}

static int
question_answer (struct api_read *read, struct query *query, struct api_error *error)
{
  const char *form = api_value (read->ask, "format");
  struct query_answer answer = { 0 };
  const char *key = NULL;
  struct error why;

  query->levels = strcmp (form, "levels") == 0;
  if (query_answer (read->file, query, read->now_ns, &answer, &key, &why) < 0)
    return api_error_set (error, key ? 400 : 500, key, "%s", why.text);
  if (query->levels)
    query_write_levels (&read->out, &answer);
  else if (strcmp (form, "csv") == 0)
    query_write_csv (&read->out, &answer);
  else
    query_write_json (&read->out, &answer);
  read->type = strcmp (form, "csv") == 0 ? "text/csv" : "application/json";
  query_answer_free (&answer);
  return 0;
}

int
api_read_query (struct api_read *read, struct api_error *error)
{
  struct query query = { .viewer = &read->viewer };
  int result = question_read (read->ask, &query, error);

  if (result == 0)
    result = question_answer (read, &query, error);
  query_free (&query);
  return result;
}
