/* What the metadata service answers: HTTP and JSON, as far as it uses them; see imds.h.
 *
 *   HTTP/1.1 200 OK\r\n
 *   Content-Length: 21\r\n
 *   \r\n
 *   ami-0abcdef1234567890
 */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "agent/neuron/imds.h"
#include "agent/source/parse.h"

#define DEPTH_MAX 16

/* "HTTP/1.1 200 OK" */
static int
parse_status (struct scan head, struct error *error)
{
  uint64_t status = 0;
  struct scan line = head, word;

  if (!scan_line (&head, &line) || !scan_prefix (&line, "HTTP/1.") || !scan_word (&line, &word) ||
      !scan_uint (&line, &status))
    return error_set (error, "metadata service: the answer is not HTTP");
  if (status != 200)
    return error_set (error, "metadata service: it answers with status %u", (unsigned) (status % 1000));
  return 0;
}

/* The value of a header; false when there is none. */
static bool
find_header (struct scan head, const char *name, struct scan *value)
{
  size_t length = strlen (name);
  struct scan line;

  while (scan_line (&head, &line)) {
    if (scan_length (&line) <= length || strncasecmp (line.at, name, length) != 0 || line.at[length] != ':')
      continue;
    line.at += length + 1;
    while (line.at < line.end && (*line.at == ' ' || *line.at == '\t'))
      line.at++;
    while (line.end > line.at && (line.end[-1] == '\r' || line.end[-1] == ' '))
      line.end--;
    *value = line;
    return true;
  }
  return false;
}

static int
hex_digit (char c)
{
  return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Chunks: "15\r\n", that many bytes, "\r\n", ..., "0\r\n". */
static int
parse_chunks (struct scan text, struct buffer *body)
{
  struct scan line = text;

  buffer_clear (body);
  while (memchr (text.at, '\n', scan_length (&text)) && scan_line (&text, &line)) {
    size_t size = 0, digits = 0;
    for (; line.at < line.end && hex_digit (*line.at) >= 0 && digits < 8; line.at++, digits++)
      size = size * 16 + (size_t) hex_digit (*line.at);
    if (digits == 0)
      return -1;
    if (size == 0)
      return 0;
    if (scan_length (&text) < size + 2)
      return IMDS_MORE;
    buffer_add (body, text.at, size);
    text.at += size;
    if (!scan_prefix (&text, "\r\n"))
      return -1;
  }
  return IMDS_MORE;
}

int
imds_parse_answer (const char *bytes, size_t length, int ended, struct buffer *body, struct error *error)
{
  const char *blank = length > 0 ? memmem (bytes, length, "\r\n\r\n", 4) : NULL;
  struct scan head, rest, value;
  uint64_t size;
  int rc = IMDS_MORE;

  if (!blank && !ended)
    return IMDS_MORE;
  if (!blank)
    return error_set (error, "metadata service: the answer broke off");
  head = scan_over (bytes, (size_t) (blank - bytes));
  rest = scan_over (blank + 4, length - (size_t) (blank + 4 - bytes));
  if (parse_status (head, error) < 0)
    return -1;

  if (find_header (head, "Transfer-Encoding", &value)) {
    rc = parse_chunks (rest, body);
  } else if (find_header (head, "Content-Length", &value)) {
    if (!scan_uint (&value, &size) || value.at < value.end)
      return error_set (error, "metadata service: the answer's length is not a number");
    if (scan_length (&rest) >= size) {
      buffer_clear (body);
      buffer_add (body, rest.at, (size_t) size);
      rc = 0;
    }
  } else if (ended) {
    buffer_clear (body);
    buffer_add (body, rest.at, scan_length (&rest));
    rc = 0;
  }
  if (rc < 0)
    return error_set (error, "metadata service: the answer is not HTTP");
  if (rc == IMDS_MORE && ended)
    return error_set (error, "metadata service: the answer broke off");
  return rc;
}

static void
skip_space (struct scan *json)
{
  while (json->at < json->end && strchr (" \t\r\n", *json->at) && *json->at)
    json->at++;
}

static bool
take (struct scan *json, char c)
{
  skip_space (json);
  if (json->at == json->end || *json->at != c)
    return false;
  json->at++;
  return true;
}

/* A text between quotes, raw: escapes are left as they are, and passed over right. */
static bool
take_string (struct scan *json, struct scan *string)
{
  if (!take (json, '"'))
    return false;
  string->at = json->at;
  for (; json->at < json->end; json->at++) {
    if (*json->at == '"') {
      string->end = json->at++;
      return true;
    }
    if (*json->at == '\\' && ++json->at == json->end)
      return false;
  }
  return false;
}

/* Passes over one value, whatever it is. */
static bool
skip_value (struct scan *json)
{
  struct scan string;
  unsigned depth = 0;

  do {
    skip_space (json);
    if (json->at == json->end)
      return false;
    if (*json->at == '"') {
      if (!take_string (json, &string))
        return false;
    } else if (*json->at == '{' || *json->at == '[') {
      if (++depth > DEPTH_MAX)
        return false;
      json->at++;
    } else if (*json->at == '}' || *json->at == ']') {
      if (depth-- == 0)
        return false;
      json->at++;
    } else if (*json->at == ',' || *json->at == ':') {
      if (depth == 0)
        return false;
      json->at++;
    } else {
      while (json->at < json->end && !memchr ("\",:{}[] \t\r\n", *json->at, 11))
        json->at++;
    }
  } while (depth > 0);
  return true;
}

/* Moves to the value of a key of the object that comes next. */
static bool
enter_key (struct scan *json, const char *key, size_t length)
{
  struct scan name;

  if (!take (json, '{'))
    return false;
  do {
    if (!take_string (json, &name) || !take (json, ':'))
      return false;
    if (scan_length (&name) == length && memcmp (name.at, key, length) == 0)
      return true;
  } while (skip_value (json) && take (json, ','));
  return false;
}

bool
imds_json_text (const char *bytes, size_t size, const char *path, char text[IMDS_TEXT_SIZE])
{
  struct scan json = scan_over (bytes, size), string;
  size_t length;

  text[0] = '\0';
  for (;; path += length + 1) {
    length = strcspn (path, "/");
    if (!enter_key (&json, path, length))
      return false;
    if (!path[length])
      break;
  }
  if (!take_string (&json, &string) || string.at == string.end || scan_length (&string) >= IMDS_TEXT_SIZE)
    return false;
  for (const char *c = string.at; c < string.end; c++)
    if (*c < ' ' || *c > '~' || *c == '\\')
      return false;
  memcpy (text, string.at, scan_length (&string));
  text[scan_length (&string)] = '\0';
  return true;
}
