/* See trace_result.h. */
#include "aggregator/traces/trace_result.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/text_table.h"
#include "synop/memory.h"
#include "synop/quantity.h"

#define WIDTH 10000 /* nothing is left out */

struct trace_result {
  bool list;
  json_t *processes, *nodes; /* the last line of each, by "node pid", by node */
};

struct trace_result *
trace_result_create (bool list)
{
  struct trace_result *result = memory_new (1, sizeof *result);

  *result = (struct trace_result){ list, json_pack ("{}"), json_pack ("{}") };
  return result;
}

void
trace_result_destroy (struct trace_result *result)
{
  json_decref (result->processes);
  json_decref (result->nodes);
  free (result);
}

/* ---- lines ---- */

static const char *
text_of (const json_t *line, const char *key)
{
  const char *text = json_string_value (json_object_get (line, key));

  return text ? text : "";
}

static json_int_t
number_of (const json_t *line, const char *key)
{
  const json_t *value = json_object_get (line, key);

  return value ? json_integer_value (value) : -1;
}

static void
keep (json_t *lines, json_t *line, bool process)
{
  char *key = process ? memory_format ("%s %" JSON_INTEGER_FORMAT, text_of (line, "node"), number_of (line, "pid"))
                      : memory_string (text_of (line, "node"));

  json_object_set (lines, key, line);
  free (key);
}

static void
take_sum (const json_t *line, struct trace_line *taken)
{
  taken->processes = number_of (line, "processes");
  taken->ended = number_of (line, "ended");
  taken->failed = number_of (line, "failed") + number_of (line, "nodes_failed");
  taken->unregistered = number_of (line, "unregistered");
}

void
trace_result_take (struct trace_result *result, const char *text, size_t length, struct trace_line *taken)
{
  json_t *line = json_loadb (text, length, 0, NULL);
  const char *what = text_of (line, "what");

  *taken = (struct trace_line){ .kind = TRACE_LINE_OTHER };
  if (strcmp (what, "order") == 0) {
    taken->kind = TRACE_LINE_ORDER;
    taken->nodes = number_of (line, "nodes");
    snprintf (taken->start, sizeof taken->start, "%s", text_of (line, "start"));
  } else if (strcmp (what, "process") == 0) {
    keep (result->processes, line, true);
  } else if (strcmp (what, "node") == 0) {
    keep (result->nodes, line, false);
  } else if (strcmp (what, "listed") == 0 || strcmp (what, "end") == 0) {
    taken->kind = *what == 'e' ? TRACE_LINE_END : TRACE_LINE_LISTED;
    take_sum (line, taken);
  }
  json_decref (line);
}

void
trace_result_progress (const struct trace_result *result, struct buffer *out)
{
  size_t begun = 0, ended = 0, failed = 0;
  const char *key;
  json_t *line;

  json_object_foreach (result->processes, key, line)
  {
    const char *state = text_of (line, "state");
    begun += strcmp (state, "begun") == 0;
    ended += strcmp (state, "ended") == 0;
    failed += strcmp (state, "failed") == 0;
  }
  buffer_printf (out, "%zu processes: %zu begun, %zu there, %zu failed", json_object_size (result->processes), begun,
                 ended, failed);
}

/* ---- the table ---- */

static int
compare_lines (const void *a, const void *b)
{
  const json_t *one = *(json_t *const *) a, *other = *(json_t *const *) b;
  json_int_t by = number_of (one, "rank") - number_of (other, "rank");

  if (by == 0)
    by = strcmp (text_of (one, "node"), text_of (other, "node"));
  if (by == 0)
    by = number_of (one, "pid") - number_of (other, "pid");
  return by < 0 ? -1 : by > 0;
}

static void
set_number (struct text_table *table, size_t column, json_int_t number)
{
  char text[24] = "-";

  if (number >= 0)
    snprintf (text, sizeof text, "%" JSON_INTEGER_FORMAT, number);
  text_table_set (table, column, text);
}

static void
add_begun (struct text_table *table, const json_t *line)
{
  const json_t *bound = json_object_get (line, "bound");
  char text[24] = "";

  text_table_set (table, 4, text_of (line, "begun"));
  if (bound)
    snprintf (text, sizeof text, "%.3f ms", json_number_value (bound) * 1e3);
  text_table_set (table, 5, text);
}

static void
add_process (struct text_table *table, const json_t *line)
{
  const char *state = text_of (line, "state"), *error = text_of (line, "error");
  bool bad = strcmp (state, "failed") == 0 || strcmp (state, "unregistered") == 0;

  text_table_row (table, bad);
  set_number (table, 0, number_of (line, "rank"));
  text_table_set (table, 1, text_of (line, "node"));
  set_number (table, 2, number_of (line, "pid") ? number_of (line, "pid") : -1);
  text_table_set (table, 3, strcmp (state, "ended") == 0 ? "there" : state);
  add_begun (table, line);
  text_table_set (
      table, 6, json_object_get (line, "size") ? quantity_text ((double) number_of (line, "size"), "bytes").text : "");
  text_table_set (table, 7,
                  *error                    ? error
                  : *text_of (line, "path") ? text_of (line, "path")
                                            : text_of (line, "job_id"));
}

static void
add_node (struct text_table *table, const json_t *line)
{
  text_table_row (table, true);
  set_number (table, 0, -1);
  text_table_set (table, 1, text_of (line, "node"));
  text_table_set (table, 3, "failed");
  text_table_set (table, 7, text_of (line, "error"));
}

static void
add_columns (struct text_table *table, bool list)
{
  text_table_column (table, "RANK", false);
  text_table_column (table, "NODE", true);
  text_table_column (table, "PID", false);
  text_table_column (table, "STATE", true);
  text_table_column (table, list ? "" : "BEGAN AT (cluster time)", true);
  text_table_column (table, list ? "" : "RIGHT TO", true);
  text_table_column (table, list ? "" : "SIZE", false);
  text_table_column (table, list ? "JOB" : "FILE, OR WHY THERE IS NONE", true);
}

void
trace_result_table (const struct trace_result *result, struct buffer *out)
{
  size_t count = json_object_size (result->processes), at = 0;
  json_t **lines = memory_new (count, sizeof *lines), *line;
  struct text_table table = { 0 };
  const char *key;

  add_columns (&table, result->list);
  json_object_foreach (result->processes, key, line) lines[at++] = line;
  if (count > 0)
    qsort (lines, count, sizeof *lines, compare_lines);
  for (size_t i = 0; i < count; i++)
    add_process (&table, lines[i]);
  json_object_foreach (result->nodes, key, line) if (strcmp (text_of (line, "state"), "failed") == 0)
      add_node (&table, line);
  if (table.rows > 0)
    text_table_put (&table, out, WIDTH, false);
  text_table_free (&table);
  free (lines);
}
