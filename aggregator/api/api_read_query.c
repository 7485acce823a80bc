/* Questions about metrics, as `query` answers them. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/api/api_route.h"
#include "aggregator/query/query.h"
#include "aggregator/query/query_plot.h"

static bool
is_of_form (const char *name)
{
  static const char *const names[] = { "format", "canvas", "width", "height", "colour" };

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp (names[i], name) == 0)
      return true;
  return false;
}

/* All parameters but those of the form are the question's. */
static int
question_read (const struct api_ask *ask, struct query *query, struct api_error *error)
{
  struct error why;

  for (size_t i = 0; i < ask->route->count; i++) {
    const char *name = ask->route->parameters[i].name;
    if (ask->values[i] && !is_of_form (name) && query_set (query, name, ask->values[i], &why) < 0)
      return api_error_set (error, 400, name, "%s", why.text);
  }
  return 0;
}

#define SIZE_MIN 10 /* columns and lines */

static size_t
number (const struct api_read *read, const char *name)
{
  size_t size = strtoul (api_value (read->ask, name), NULL, 10);

  return size < SIZE_MIN ? SIZE_MIN : size;
}

static int
draw (struct api_read *read, const struct query_answer *answer, struct api_error *error)
{
  static const struct {
    const char *name, *type;
  } canvases[] = { [QUERY_TERMINAL] = { "terminal", "text/plain;charset=utf-8" },
                   [QUERY_PNG] = { "png", "image/png" },
                   [QUERY_SVG] = { "svg", "image/svg+xml" },
                   [QUERY_PDF] = { "pdf", "application/pdf" } };
  struct query_look look = { QUERY_TERMINAL, number (read, "width"), number (read, "height"),
                             api_is_yes (api_value (read->ask, "colour")) };
  struct error why;

  while (strcmp (canvases[look.canvas].name, api_value (read->ask, "canvas")) != 0) /* the route has no others */
    look.canvas++;
  read->type = canvases[look.canvas].type;
  if (query_plot (&read->out, answer, &look, &why) < 0)
    return api_error_set (error, 500, NULL, "%s", why.text);
  if (look.canvas == QUERY_TERMINAL)
    query_write_notes (&read->out, answer);
  return 0;
}

/* What is written goes to who asks while the rest is made. */
static void
print_piece (void *context, struct buffer *out)
{
  struct api_read *read = context;

  read->out = *out;
  api_read_print (read);
  *out = read->out;
}

static void
answer_write (struct api_read *read, const char *form, const struct query_answer *answer)
{
  read->type = "application/json";
  if (strcmp (form, "levels") == 0) {
    query_write_levels (&read->out, answer);
  } else if (strcmp (form, "csv") == 0) {
    query_write_csv (&read->out, answer);
    read->type = "text/csv";
  } else if (strcmp (form, "table") == 0) {
    query_write_table (&read->out, answer, number (read, "width"));
    query_write_notes (&read->out, answer);
    read->type = "text/plain;charset=utf-8";
  } else if (strcmp (form, "parquet") == 0) {
    query_write_columnar (&read->out, answer, &columnar_parquet);
    read->type = "application/vnd.apache.parquet";
  } else if (strcmp (form, "arrow") == 0) {
    query_write_columnar (&read->out, answer, &columnar_arrow);
    read->type = "application/vnd.apache.arrow.file";
  } else {
    query_write_json (&read->out, answer, print_piece, read);
  }
}

static int
question_answer (struct api_read *read, struct query *query, struct api_error *error)
{
  const char *form = api_value (read->ask, "format");
  struct query_answer answer = { 0 };
  const char *key = NULL;
  struct error why;
  int result = 0;

  query->levels = strcmp (form, "levels") == 0;
  /* Whoever looks at a new cluster at once has not asked wrongly. */
  if (query_answer (read->file, query, read->now_ns, &answer, &key, &why) < 0 &&
      !(key && strcmp (key, "metric") == 0 && query_answer_nothing (read->file, query, read->now_ns, &answer)))
    return api_error_set (error, key ? 400 : 500, key, "%s", why.text);
  if (strcmp (form, "plot") == 0)
    result = draw (read, &answer, error);
  else
    answer_write (read, form, &answer);
  query_answer_free (&answer);
  return result;
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

/* ---- which metrics there are ---- */

int
api_read_metrics (struct api_read *read, struct api_error *error)
{
  const char *form = api_value (read->ask, "format");
  struct query_metrics metrics;
  struct error why;
  int result = query_list (read->file, api_value (read->ask, "metric"), &metrics, &why);

  if (result < 0)
    api_error_set (error, 500, NULL, "%s", why.text);
  else if (*form == 'j')
    query_write_list_json (&read->out, &metrics);
  else
    (*form == 'c' ? query_write_list_csv : query_write_list) (&read->out, &metrics);
  if (*form != 'j')
    read->type = *form == 'c' ? "text/csv" : "text/plain;charset=utf-8";
  query_metrics_free (&metrics);
  return result;
}
