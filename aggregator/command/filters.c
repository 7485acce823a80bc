/* See commands.h. */
#include "aggregator/command/commands.h"

#include <fnmatch.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

#include "synop/globs.h"
#include "synop/log.h"

#define NAMED 50 /* names that a warning lists */

/* Names, with a NUL behind each, and the warning for a pattern that matches these and none of those before them in
 * the list: text before it and behind it, then the names. */
struct known {
  const char *before, *behind;
  struct buffer names;
};

static void
names_add (struct buffer *names, const char *name, size_t length)
{
  buffer_add (names, name, length);
  buffer_add (names, "", 1);
}

/* The name after `name`, for NULL the first; NULL at the end. */
static const char *
names_next (const struct buffer *names, const char *name)
{
  const char *next = name ? name + strlen (name) + 1 : names->data;

  return names->length && next < names->data + names->length ? next : NULL;
}

static bool
names_match (const struct buffer *names, const char *pattern)
{
  for (const char *name = names_next (names, NULL); name; name = names_next (names, name))
    if (fnmatch (pattern, name, 0) == 0)
      return true;
  return false;
}

static bool
names_have (const struct buffer *names, const char *wanted)
{
  for (const char *name = names_next (names, NULL); name; name = names_next (names, name))
    if (strcmp (name, wanted) == 0)
      return true;
  return false;
}

/* "n1, n2 and 998 more", of those that `pattern` matches. */
static void
names_list (struct buffer *out, const struct buffer *names, const char *pattern)
{
  size_t count = 0;

  for (const char *name = names_next (names, NULL); name; name = names_next (names, name))
    if (fnmatch (pattern, name, 0) == 0 && count++ < NAMED)
      buffer_printf (out, "%s%s", count > 1 ? ", " : "", name);
  if (count > NAMED)
    buffer_printf (out, " and %zu more", count - NAMED);
  if (count == 0)
    buffer_add_string (out, "none");
}

static void
warn (const char *option, const char *pattern, const struct known *known, const char *which)
{
  struct buffer list = { 0 };

  names_list (&list, &known->names, which);
  log_warning ("--%s: %s \"%.64s\"%s%s", option, known->before, pattern, known->behind, buffer_text (&list));
  buffer_free (&list);
}

/* Patterns that match the first of `known` are fine. For those that match none of them, `all` has the names to list. */
static void
check (const char *option, const char *list, const struct known *known, size_t count, const struct known *all)
{
  struct globs globs;
  const char *pattern;

  globs_init (&globs, list);
  pattern = globs.text;
  for (size_t i = 0; i < globs.count; i++, pattern += strlen (pattern) + 1) {
    size_t at = 0;
    while (at < count && !names_match (&known[at].names, pattern))
      at++;
    if (at == count)
      warn (option, pattern, all, "*");
    else if (at > 0)
      warn (option, pattern, &known[at], pattern);
  }
  globs_free (&globs);
}

/* ---- the stream ---- */

/* Requests names, each on a line; `seen` (may be NULL) gets those not marked "never" behind a tab. False when there
 * is no answer. */
static bool
names_request (const struct reach *reach, const char *request, struct buffer *names, struct buffer *seen)
{
  struct buffer answer = { 0 };
  struct error error;
  bool answered = reach_request (reach, request, &answer, &error) == 0 && answer.length > 0 &&
                  (answer.length < 6 || memcmp (answer.data, "error ", 6) != 0);
  const char *at = answer.data, *end;

  while (answered && (end = memchr (at, '\n', (size_t) (answer.data + answer.length - at)))) {
    const char *tab = memchr (at, '\t', (size_t) (end - at)), *to = tab ? tab : end;
    bool never = end - to == 6 && memcmp (to, "\tnever", 6) == 0;
    names_add (names, at, (size_t) (to - at));
    if (seen && !never)
      names_add (seen, at, (size_t) (to - at));
    at = end + 1;
  }
  buffer_free (&answer);
  return answered;
}

void
filters_check_stream (const struct options *options, const struct reach *reach)
{
  struct known groups = { "no node has a group", " so far; there are ", { 0 } };
  struct known nodes[] = { { .names = { 0 } }, { "no node", " was seen so far; listed are ", { 0 } } };
  struct known all = { "there is no node", "; there are ", { 0 } };

  if (*options->group && names_request (reach, "groups\n", &groups.names, NULL))
    check ("group", options->group, &groups, 1, &groups);
  if (*options->node && names_request (reach, "nodes\n", &nodes[1].names, &nodes[0].names)) {
    all.names = nodes[1].names;
    check ("node", options->node, nodes, 2, &all);
  }
  buffer_free (&groups.names);
  buffer_free (&nodes[0].names);
  buffer_free (&nodes[1].names);
}

/* ---- a history ---- */

/* `within`: those with frames in the interval. */
static bool
names_of_nodes (struct history_file *file, const struct history_query *query, struct buffer *names,
                struct buffer *within)
{
  static const char text[] = "SELECT name, id IN (SELECT node FROM chunks WHERE first_time >= ? AND first_time < ? AND "
                             "last_time >= ?) FROM nodes ORDER BY name";
  sqlite3_stmt *statement = history_file_prepare (file, text, NULL);
  int64_t earliest = query->from_ns < INT64_MIN + HISTORY_SPAN_NS ? INT64_MIN : query->from_ns - HISTORY_SPAN_NS;
  int code;

  if (!statement)
    return false;
  sqlite3_bind_int64 (statement, 1, earliest);
  sqlite3_bind_int64 (statement, 2, query->to_ns);
  sqlite3_bind_int64 (statement, 3, query->from_ns);
  while ((code = sqlite3_step (statement)) == SQLITE_ROW) {
    const char *name = (const char *) sqlite3_column_text (statement, 0);
    if (name)
      names_add (names, name, strlen (name));
    if (name && sqlite3_column_int (statement, 1))
      names_add (within, name, strlen (name));
  }
  sqlite3_finalize (statement);
  return code == SQLITE_DONE;
}

static bool
names_of_groups (struct history_file *file, struct buffer *names)
{
  sqlite3_stmt *statement = history_file_prepare (file, "SELECT hash FROM schemas ORDER BY rowid", NULL);
  int code = SQLITE_ERROR;

  while (statement && (code = sqlite3_step (statement)) == SQLITE_ROW) {
    const uint8_t *hash = sqlite3_column_blob (statement, 0);
    bool fits = hash && sqlite3_column_bytes (statement, 0) == SCHEMA_HASH_SIZE;
    const struct schema *schema = fits ? history_file_schema (file, hash, NULL) : NULL;
    for (size_t i = 0; schema && i < schema->group_count; i++)
      if (!names_have (names, schema->groups[i]->name))
        names_add (names, schema->groups[i]->name, strlen (schema->groups[i]->name));
  }
  sqlite3_finalize (statement);
  return code == SQLITE_DONE;
}

void
filters_check_history (const struct options *options, struct history_file *file, const struct history_query *query)
{
  struct known groups = { "the history has no group", "; there are ", { 0 } };
  struct known nodes[] = { { .names = { 0 } },
                           { "the history has nothing of node", " in that time, but at others: ", { 0 } },
                           { "the history has no node", "; listed, and not in it, are ", { 0 } } };
  struct known all = { "there is no node", "; the history has ", { 0 } };
  char none[] = "";

  if (*options->group && names_of_groups (file, &groups.names))
    check ("group", options->group, &groups, 1, &groups);
  if (*options->node && names_of_nodes (file, query, &nodes[1].names, &nodes[0].names)) {
    names_request (&(struct reach){ .socket = options->socket, .url = none }, "nodes\n", &nodes[2].names, NULL);
    all.names = nodes[1].names;
    check ("node", options->node, nodes, 3, &all);
  }
  buffer_free (&groups.names);
  for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
    buffer_free (&nodes[i].names);
}
