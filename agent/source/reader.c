/* Files of /proc and /sys that stay open.
 *
 * The kernel makes their content anew for each pread at offset 0, so one open is enough. A short read is not the end
 * of such a file: one with many records comes page by page, and only a read of 0 bytes ends it. A file of one value
 * in /sys never exceeds a page and comes whole. */
#include "agent/source/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/source/parse.h"
#include "synop/file.h"
#include "synop/memory.h"

#define READ_FIRST 4096
#define READ_MAX ((size_t) 32 * 1024 * 1024) /* the kernel's files are shorter; bounds endless ones */

void
reader_init (struct reader *reader, const char *root, const char *format, ...)
{
  char path[4096];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (path, sizeof path, format, arguments);
  va_end (arguments);
  *reader = (struct reader){ .fd = -1, .path = memory_format ("%s%s", root, path) };
}

void
reader_close (struct reader *reader)
{
  file_close (&reader->fd);
}

void
reader_free (struct reader *reader)
{
  if (reader->path == NULL)
    return;
  reader_close (reader);
  free (reader->path);
  reader->path = NULL;
}

static int
reader_open (struct reader *reader)
{
  int result = file_open (reader->path);

  reader->fd = result < 0 ? -1 : result;
  return result < 0 ? result : 0;
}

/* Errors of a file whose device went away, and may have come back under the same name. */
static bool
is_gone (int result)
{
  return result == -ENODEV || result == -ESTALE || result == -ENOENT;
}

/* At most `size` bytes from `offset`; their number, or -errno. */
static ssize_t
read_at (const struct reader *reader, char *into, size_t size, size_t offset)
{
  ssize_t got;

  do
    got = pread (reader->fd, into, size, (off_t) offset);
  while (got < 0 && errno == EINTR);
  return got < 0 ? -errno : got;
}

static int
read_whole (const struct reader *reader, struct buffer *into)
{
  ssize_t got;

  buffer_clear (into);
  buffer_reserve (into, READ_FIRST);
  do {
    if (into->length > READ_MAX)
      return -EFBIG;
    if (into->capacity - into->length < 2)
      buffer_reserve (into, into->capacity);
    got = read_at (reader, into->data + into->length, into->capacity - into->length - 1, into->length);
    if (got < 0)
      return (int) got;
    into->length += (size_t) got;
  } while (got > 0);
  return 0;
}

int
reader_read (struct reader *reader, struct buffer *into)
{
  bool fresh = reader->fd < 0;
  int result = fresh ? reader_open (reader) : 0;

  if (result == 0)
    result = read_whole (reader, into);
  if (!fresh && is_gone (result)) {
    reader_close (reader);
    result = reader_open (reader);
    if (result == 0)
      result = read_whole (reader, into);
  }
  if (result != 0)
    buffer_clear (into);
  buffer_reserve (into, 1)[0] = '\0';
  return result;
}

bool
reader_is_absent (int result)
{
  return result == -ENOENT || result == -EOPNOTSUPP;
}

int
reader_read_lines (struct reader *reader, struct buffer *into, struct table *table)
{
  int result = reader_read (reader, into);
  const char *newline;

  if (result < 0) {
    if (!reader->optional || !reader_is_absent (result))
      reader_complain (reader, result, table);
    return result;
  }
  if (into->length == 0 || into->data[into->length - 1] == '\n')
    return 0;
  table_complain (table, "%s: cut short", reader->path);
  newline = memrchr (into->data, '\n', into->length);
  into->length = newline ? (size_t) (newline + 1 - into->data) : 0;
  into->data[into->length] = '\0';
  return into->length > 0 ? 0 : -EBADMSG;
}

int
reader_read_value (struct reader *reader, char *text, size_t size)
{
  bool fresh = reader->fd < 0;
  int result = fresh ? reader_open (reader) : 0;

  if (result == 0)
    result = (int) read_at (reader, text, size - 1, 0);
  if (!fresh && is_gone (result)) {
    reader_close (reader);
    result = reader_open (reader);
    if (result == 0)
      result = (int) read_at (reader, text, size - 1, 0);
  }
  if (result > 0 && text[result - 1] == '\n')
    result--;
  text[result > 0 ? result : 0] = '\0';
  return result;
}

int
reader_read_uint (struct reader *reader, uint64_t *value)
{
  char text[32];
  int length = reader_read_value (reader, text, sizeof text);
  struct scan scan = scan_over (text, length > 0 ? (size_t) length : 0);

  if (length < 0)
    return length;
  return scan_uint (&scan, value) && scan_length (&scan) == 0 ? 0 : -EBADMSG;
}

void
reader_read_number (struct reader *reader, enum metric_kind kind, struct value *value, struct table *table)
{
  char text[64];
  struct scan scan;
  int length = reader_read_value (reader, text, sizeof text);

  value->type = VALUE_MISSING;
  if (length <= 0)
    return;
  scan = scan_over (text, (size_t) length);
  scan_value (&scan, kind, value);
  if (value->type == VALUE_MISSING)
    reader_complain (reader, -EBADMSG, table);
}

int
reader_complain (const struct reader *reader, int result, struct table *table)
{
  return table_complain (table, "%s: %s", reader->path, file_error_text (-result));
}
