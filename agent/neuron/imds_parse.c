/* Parses the metadata service's answers: HTTP, as far as it uses it, and texts in JSON; see imds.h.
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

bool
imds_json_text (const json_t *object, const char *key, char text[IMDS_TEXT_SIZE])
{
  const char *value = json_string_value (json_object_get (object, key));

  text[0] = '\0';
  if (!value || strlen (value) >= IMDS_TEXT_SIZE)
    return false;
  for (const char *c = value; *c; c++)
    if (*c < ' ' || *c > '~')
      return false;
  strcpy (text, value);
  return text[0] != '\0';
}
