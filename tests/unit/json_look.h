/* Looks into a line of JSON that the project wrote: for tests. A key that occurs twice, and anything that is no JSON, fails
 * the test. */
#ifndef SYNOP_TESTS_JSON_LOOK_H
#define SYNOP_TESTS_JSON_LOOK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How often that stands in a text. Not by strstr, which sanitizers make read the whole rest at each call. */
static inline size_t
look_occurrences (const char *text, const char *what)
{
  size_t count = 0, length = strlen (what);

  for (; *text; text++)
    count += *text == *what && strncmp (text, what, length) == 0;
  return count;
}

/* The end of the value that begins here. */
static inline const char *
look_past (const char *at)
{
  int depth = 0;

  do {
    if (*at == '"') {
      for (at++; *at != '"'; at++)
        at += *at == '\\';
      at++;
    } else if (strchr ("{[", *at)) {
      assert_true (*at != '\0');
      depth++;
      at++;
    } else if (strchr ("}]", *at)) {
      depth--;
      at++;
    } else if (strchr (",:", *at)) {
      assert_true (depth > 0);
      at++;
    } else {
      size_t length = strcspn (at, "{}[],:\"");
      assert_true (length > 0);
      at += length;
    }
  } while (depth > 0);
  return at;
}

/* The member of the object that begins at `object`; NULL when there is none. */
static inline const char *
look_member (const char *object, const char *key, size_t length)
{
  const char *found = NULL;

  assert_int_equal (*object, '{');
  for (const char *at = object + 1; *at != '}';) {
    const char *name = at + 1;
    assert_int_equal (*at, '"');
    at = look_past (at);
    bool is = (size_t) (at - 1 - name) == length && memcmp (name, key, length) == 0;
    assert_int_equal (*at, ':');
    at++;
    if (is) {
      assert_null (found);
      found = at;
    }
    at = look_past (at);
    assert_true (*at == ',' || *at == '}');
    at += *at == ',';
  }
  return found;
}

/* "a/b/c": the value there, or NULL. */
static inline const char *
look (const char *json, const char *path)
{
  while (json && *path) {
    size_t length = strcspn (path, "/");
    json = look_member (json, path, length);
    path += length + (path[length] == '/');
  }
  return json;
}

static inline double
look_number (const char *json, const char *path)
{
  const char *at = look (json, path);
  char *end;

  if (!at)
    fail_msg ("no %s in %s", path, json);
  double number = strtod (at, &end);
  assert_true (end > at && strchr (",}]", *end));
  return number;
}

/* Whether the value there is written exactly so. */
static inline bool
look_is (const char *json, const char *path, const char *text)
{
  const char *at = look (json, path);
  size_t length = strlen (text);

  return at && (size_t) (look_past (at) - at) == length && memcmp (at, text, length) == 0;
}

static inline size_t
look_count (const char *object)
{
  size_t count = 0;

  for (const char *at = object + 1; *at != '}'; count++) {
    at = look_past (look_past (at) + 1);
    at += *at == ',';
  }
  return count;
}

#endif
