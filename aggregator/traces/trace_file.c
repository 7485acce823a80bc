/* Traces as a stream; see trace_file.h. A parser that goes down the grammar of JSON and keeps the text of what it passes, which
 * is one event or one member at most. */
#include "aggregator/traces/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "synop/buffer.h"
#include "synop/json_string.h"
#include "synop/memory.h"

#define PIECE 262144
#define DEPTH_MAX 256
#define NAME_MAX_LENGTH 256

struct reading {
  const struct trace_taker *taker;
  gzFile file;
  unsigned char *piece;
  size_t at, end;
  uint64_t before; /* bytes of pieces before this one */
  struct buffer kept;
  bool keeps, cut; /* cut: a member was too long to be kept */
  size_t most;
  struct error *error;
};

/* ---- bytes ---- */

static int
fault (struct reading *reading, const char *why)
{
  return error_set (reading->error, "byte %" PRIu64 ": %s", reading->before + reading->at, why);
}

/* The next byte, which stays; -1: the end, or an error that gzerror has. */
static int
peek (struct reading *reading)
{
  int got;

  if (reading->at < reading->end)
    return reading->piece[reading->at];
  reading->before += reading->end;
  reading->at = reading->end = 0;
  got = gzread (reading->file, reading->piece, PIECE);
  if (got <= 0)
    return -1;
  reading->end = (size_t) got;
  return reading->piece[0];
}

static int
expected (struct reading *reading, const char *what)
{
  int number = 0;
  const char *why = gzerror (reading->file, &number);
  char text[160];

  if (peek (reading) < 0 && number == Z_ERRNO)
    return fault (reading, strerror (errno));
  if (peek (reading) < 0)
    return fault (reading, number != Z_OK && number != Z_STREAM_END && *why ? why : "it is cut off here");
  snprintf (text, sizeof text, "%s is expected here", what);
  return fault (reading, text);
}

static int
keep (struct reading *reading, const void *bytes, size_t length)
{
  if (!reading->keeps || reading->cut)
    return 0;
  if (reading->kept.length + length > reading->most) {
    if (reading->most == TRACE_EVENT_MAX)
      return fault (reading, "an event of more than 64 MiB ends here");
    reading->cut = true;
    return 0;
  }
  buffer_add (&reading->kept, bytes, length);
  return 0;
}

static int
take (struct reading *reading)
{
  char byte = (char) reading->piece[reading->at++];

  return keep (reading, &byte, 1);
}

/* White space is not kept. */
static int
next (struct reading *reading)
{
  int byte;

  while ((byte = peek (reading)) == ' ' || byte == '\n' || byte == '\t' || byte == '\r')
    reading->at++;
  return byte;
}

/* ---- values ---- */

static int
escape_pass (struct reading *reading)
{
  int byte;

  if (take (reading) < 0)
    return -1;
  byte = peek (reading);
  if (byte < 0 || !strchr ("\"\\/bfnrtu", byte))
    return expected (reading, "an escape such as \\n");
  if (take (reading) < 0)
    return -1;
  for (int i = 0; byte == 'u' && i < 4; i++) {
    int digit = peek (reading);

    if (digit < 0 || !strchr ("0123456789abcdefABCDEF", digit))
      return expected (reading, "a hexadecimal digit");
    if (take (reading) < 0)
      return -1;
  }
  return 0;
}

static int
string_pass (struct reading *reading)
{
  if (next (reading) != '"')
    return expected (reading, "a text in quotes");
  if (take (reading) < 0)
    return -1;
  for (int byte; (byte = peek (reading)) != '"';) {
    size_t from = reading->at;

    if (byte == '\\') {
      if (escape_pass (reading) < 0)
        return -1;
      continue;
    }
    if (byte < ' ')
      return expected (reading, "the end of a text");
    while (reading->at < reading->end && reading->piece[reading->at] >= ' ' && reading->piece[reading->at] != '"' &&
           reading->piece[reading->at] != '\\')
      reading->at++;
    if (keep (reading, reading->piece + from, reading->at - from) < 0)
      return -1;
  }
  return take (reading);
}

static size_t
digits (const char *text)
{
  return strspn (text, "0123456789");
}

/* -12.5e-3, without a zero in front and with digits on both sides of the point. */
static bool
is_number (const char *text)
{
  size_t length;

  text += *text == '-';
  length = digits (text);
  if (length == 0 || (*text == '0' && length > 1))
    return false;
  text += length;
  if (*text == '.') {
    if ((length = digits (text + 1)) == 0)
      return false;
    text += 1 + length;
  }
  if (*text == 'e' || *text == 'E') {
    text += 1 + (text[1] == '+' || text[1] == '-');
    if ((length = digits (text)) == 0)
      return false;
    text += length;
  }
  return *text == '\0';
}

/* A number or a word; what JSON has no word for becomes null. */
static int
word_pass (struct reading *reading)
{
  static const char *const words[] = { "true", "false", "null", NULL };
  static const char *const none[] = { "NaN", "nan", "-nan", "Infinity", "-Infinity", "inf", "-inf", NULL };
  char word[64];
  size_t length = 0;

  next (reading);
  for (int byte; (byte = peek (reading)) > 0 && length + 1 < sizeof word &&
                 (((byte | 32) >= 'a' && (byte | 32) <= 'z') || strchr ("0123456789+-.", byte));
       reading->at++)
    word[length++] = (char) byte;
  word[length] = '\0';
  for (size_t i = 0; words[i]; i++)
    if (strcmp (word, words[i]) == 0)
      return keep (reading, word, length);
  for (size_t i = 0; none[i]; i++)
    if (strcmp (word, none[i]) == 0)
      return keep (reading, "null", 4);
  if (!is_number (word))
    return expected (reading, "a value");
  return keep (reading, word, length);
}

static int value_pass (struct reading *reading, unsigned depth);

static int
member_pass (struct reading *reading, unsigned depth)
{
  if (string_pass (reading) < 0)
    return -1;
  if (next (reading) != ':')
    return expected (reading, "a colon");
  return take (reading) < 0 ? -1 : value_pass (reading, depth);
}

/* An object or an array. */
static int
group_pass (struct reading *reading, unsigned depth)
{
  bool object = next (reading) == '{';
  int close = object ? '}' : ']';

  if (depth == DEPTH_MAX)
    return fault (reading, "it is nested too deeply");
  if (take (reading) < 0)
    return -1;
  if (next (reading) == close)
    return take (reading);
  for (;;) {
    if ((object ? member_pass (reading, depth + 1) : value_pass (reading, depth + 1)) < 0)
      return -1;
    if (next (reading) == close)
      return take (reading);
    if (next (reading) != ',')
      return expected (reading, object ? "a comma or }" : "a comma or ]");
    if (take (reading) < 0)
      return -1;
  }
}

static int
value_pass (struct reading *reading, unsigned depth)
{
  int byte = next (reading);

  return byte == '{' || byte == '[' ? group_pass (reading, depth)
         : byte == '"'              ? string_pass (reading)
                                    : word_pass (reading);
}

/* Bytes that are no UTF-8, and so no JSON, become '?'. */
static void
text_mend (char *text, size_t length)
{
  for (size_t at = 0; at < length;) {
    size_t bytes =
        (unsigned char) text[at] < 0x80 ? 1 : json_utf8_length ((const unsigned char *) text + at, length - at);

    if (bytes == 0)
      text[at] = '?';
    at += bytes ? bytes : 1;
  }
}

/* The value's text is in `kept` then; nothing is, when it was too long. */
static int
value_keep (struct reading *reading, size_t most)
{
  int rc;

  buffer_clear (&reading->kept);
  reading->keeps = true;
  reading->cut = false;
  reading->most = most;
  rc = value_pass (reading, 1);
  reading->keeps = false;
  text_mend (reading->kept.data, reading->kept.length);
  return rc;
}

/* ---- the root ---- */

static int
events_pass (struct reading *reading)
{
  reading->at++;
  if (next (reading) == ']') {
    reading->at++;
    return 0;
  }
  for (;;) {
    if (next (reading) != '{')
      return expected (reading, "an event, {...},");
    if (value_keep (reading, TRACE_EVENT_MAX) < 0)
      return -1;
    if (reading->taker->event (reading->taker->context, reading->kept.data, reading->kept.length) < 0)
      return 1;
    if (next (reading) == ']') {
      reading->at++;
      return 0;
    }
    if (next (reading) != ',')
      return expected (reading, "a comma or ]");
    reading->at++;
  }
}

static int
root_member_pass (struct reading *reading)
{
  char name[NAME_MAX_LENGTH];

  if (next (reading) != '"')
    return expected (reading, "a text in quotes");
  if (value_keep (reading, TRACE_MEMBER_MAX) < 0)
    return -1;
  snprintf (name, sizeof name, "%.*s", reading->kept.length > 2 ? (int) reading->kept.length - 2 : 0,
            reading->kept.length ? reading->kept.data + 1 : "");
  if (next (reading) != ':')
    return expected (reading, "a colon");
  reading->at++;
  if (strcmp (name, "traceEvents") == 0 && next (reading) == '[')
    return events_pass (reading);
  if (value_keep (reading, TRACE_MEMBER_MAX) < 0)
    return -1;
  if (reading->taker->member && !reading->cut &&
      reading->taker->member (reading->taker->context, name, reading->kept.data, reading->kept.length) < 0)
    return 1;
  return 0;
}

static int
root_pass (struct reading *reading)
{
  int rc;

  if (next (reading) == '[')
    return events_pass (reading);
  if (next (reading) != '{')
    return expected (reading, "a trace, {...} or [...],");
  reading->at++;
  if (next (reading) == '}')
    return 0;
  for (;;) {
    if ((rc = root_member_pass (reading)) != 0)
      return rc;
    if (next (reading) == '}')
      return 0;
    if (next (reading) != ',')
      return expected (reading, "a comma or }");
    reading->at++;
  }
}

/* What others put into the folder may be a pipe, at which one would wait for ever. */
static gzFile
open_file (const char *path, struct error *error)
{
  int fd = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status;
  gzFile file = NULL;

  if (fd < 0 || fstat (fd, &status) < 0)
    error_set (error, "%s", strerror (errno));
  else if (!S_ISREG (status.st_mode))
    error_set (error, "it is no regular file");
  else if (!(file = gzdopen (fd, "rb")))
    error_set (error, "%s", strerror (ENOMEM));
  if (!file && fd >= 0)
    close (fd);
  return file;
}

int
trace_file_read (const char *path, const struct trace_taker *taker, struct error *error)
{
  struct reading reading = { .taker = taker, .error = error, .file = open_file (path, error) };
  int rc;

  if (!reading.file)
    return -1;
  gzbuffer (reading.file, PIECE);
  reading.piece = memory_new (PIECE, 1);
  rc = root_pass (&reading);
  gzclose (reading.file);
  free (reading.piece);
  buffer_free (&reading.kept);
  return rc;
}
