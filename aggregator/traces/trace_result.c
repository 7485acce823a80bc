/* See trace_result.h. */
#include "aggregator/traces/trace_result.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/report/text_table.h"
#include "synop/memory.h"
#include "synop/quantity.h"

#define WIDTH 10000 /* no column is left out */
#define INDENT 10   /* of what finds no room beside its row */

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

/* A list has the GPUs; where nothing has begun, the columns of that are left out. */
static void
add_row (struct text_table *table, const json_t *line, bool list, bool begun)
{
  const char *state = text_of (line, "state");
  const json_t *bound = json_object_get (line, "bound"), *size = json_object_get (line, "size");
  char text[24] = "";

  text_table_row (table, false);
  set_number (table, 0, number_of (line, "rank"));
  text_table_set (table, 1, text_of (line, "node"));
  set_number (table, 2, number_of (line, "pid") ? number_of (line, "pid") : -1);
  text_table_set (table, 3, strcmp (state, "ended") == 0 ? "there" : state);
  if (list)
    set_number (table, 4, number_of (line, "device"));
  if (!begun)
    return;
  text_table_set (table, 4, text_of (line, "begun"));
  if (bound)
    snprintf (text, sizeof text, "%.3f ms", json_number_value (bound) * 1e3);
  text_table_set (table, 5, text);
  text_table_set (table, 6, size ? quantity_text ((double) json_integer_value (size), "bytes").text : "");
}

/* What has no bounds in its length. */
static const char *
remark_of (const json_t *line)
{
  const char *error = text_of (line, "error"), *path = text_of (line, "path");

  return *error ? error : *path ? path : text_of (line, "job_id");
}

/* A node that failed as a whole, unless its processes say why already. */
static bool
is_failed_node (const json_t *node, json_t *const *processes, size_t count)
{
  if (strcmp (text_of (node, "state"), "failed") != 0)
    return false;
  for (size_t i = 0; i < count; i++)
    if (strcmp (text_of (processes[i], "node"), text_of (node, "node")) == 0 &&
        strcmp (text_of (processes[i], "error"), text_of (node, "error")) == 0)
      return false;
  return true;
}

/* Processes, then the nodes that failed as a whole. */
static json_t **
sort_lines (const struct trace_result *result, size_t *count)
{
  size_t processes = json_object_size (result->processes);
  json_t **lines = memory_new (processes + json_object_size (result->nodes), sizeof *lines), *line;
  const char *key;

  *count = 0;
  json_object_foreach (result->processes, key, line) lines[(*count)++] = line;
  json_object_foreach (result->nodes, key, line) if (is_failed_node (line, lines, processes)) lines[(*count)++] = line;
  if (processes > 0)
    qsort (lines, processes, sizeof *lines, compare_lines);
  if (*count > processes)
    qsort (lines + processes, *count - processes, sizeof *lines, compare_lines);
  return lines;
}

/* Each row with its remark: beside it where all find room there, else below. */
static void
put_rows (const struct buffer *rows, json_t *const *lines, const char *title, size_t width, struct buffer *out)
{
  size_t widest = 0, longest = text_width (title, strlen (title)), at = 0, row;
  const char *end;

  for (row = 0; (end = memchr (rows->data + at, '\n', rows->length - at)); row++) {
    size_t length = (size_t) (end - rows->data) - at, wide = text_width (rows->data + at, length);
    size_t remark = row ? text_width (remark_of (lines[row - 1]), strlen (remark_of (lines[row - 1]))) : 0;

    widest = wide > widest ? wide : widest;
    longest = remark > longest ? remark : longest;
    at += length + 1;
  }
  for (row = at = 0; (end = memchr (rows->data + at, '\n', rows->length - at)); row++) {
    size_t length = (size_t) (end - rows->data) - at, wide = text_width (rows->data + at, length);
    const char *remark = row ? remark_of (lines[row - 1]) : title;
    bool beside = !width || widest + 2 + longest <= width;

    buffer_add (out, rows->data + at, length);
    if (beside)
      buffer_printf (out, "%*s%s\n", (int) (widest - wide + 2), "", remark);
    else if (row && *remark)
      buffer_printf (out, "\n%*s%s\n", INDENT, "", remark);
    else
      buffer_add_string (out, "\n");
    at += length + 1;
  }
}

void
trace_result_table (const struct trace_result *result, size_t width, struct buffer *out)
{
  const char *const begin_titles[] = { "RANK", "NODE", "PID", "STATE", "BEGAN AT (cluster time)", "RIGHT TO", "SIZE" };
  const char *const list_titles[] = { "RANK", "NODE", "PID", "STATE", "GPU" };
  const char *const *titles = result->list ? list_titles : begin_titles;
  struct text_table table = { 0 };
  struct buffer rows = { 0 };
  size_t count;
  json_t **lines = sort_lines (result, &count);
  bool begun = false;

  for (size_t i = 0; i < count; i++)
    begun |= !result->list && *text_of (lines[i], "begun") != '\0';
  for (size_t i = 0; i < (result->list ? 5 : begun ? 7 : 4); i++)
    text_table_column (&table, titles[i], i == 1 || i == 3 || (begun && (i == 4 || i == 5)));
  for (size_t i = 0; i < count; i++)
    add_row (&table, lines[i], result->list, begun);
  if (count > 0) {
    text_table_put (&table, &rows, WIDTH, false);
    put_rows (&rows, lines, result->list ? "JOB" : "FILE, OR WHY THERE IS NONE", width, out);
  }
  text_table_free (&table);
  buffer_free (&rows);
  free (lines);
}

bool
trace_result_has_rank (const struct trace_result *result, uint32_t rank)
{
  const char *key;
  json_t *line;

  json_object_foreach (result->processes, key, line) if (number_of (line, "rank") == (json_int_t) rank) return true;
  return false;
}
