/* See http_files.h. */
#include "common/http/http_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/hash_table.h"

#define FILE_MAX (4 * 1024 * 1024)
#define NAME_LENGTH 64
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

static const struct {
  const char *ending, *type;
} types[] = {
  { ".html", "text/html; charset=utf-8" },
  { ".css", "text/css; charset=utf-8" },
  { ".js", "text/javascript; charset=utf-8" },
  { ".mjs", "text/javascript; charset=utf-8" },
  { ".json", "application/json" },
  { ".svg", "image/svg+xml" },
  { ".png", "image/png" },
  { ".ico", "image/vnd.microsoft.icon" },
  { ".webmanifest", "application/manifest+json" },
  { ".txt", "text/plain; charset=utf-8" },
};

static const char *
type_of (const char *name)
{
  const char *dot = strrchr (name, '.');

  for (size_t i = 0; dot != NULL && i < sizeof types / sizeof types[0]; i++)
    if (strcmp (dot, types[i].ending) == 0)
      return types[i].type;
  return NULL;
}

/* The name up to a '/' or the end: its length, 0: it is none. */
static size_t
name_length (const char *path)
{
  size_t length = strspn (path, NAME_BYTES);

  return path[0] != '.' && length <= NAME_LENGTH && (path[length] == '\0' || path[length] == '/') ? length : 0;
}

/* -1: it is not there. */
static int
open_in (const char *folder, const char *path)
{
  size_t length = name_length (path);
  int top = open (folder, O_PATH | O_DIRECTORY | O_CLOEXEC), inner = -1, fd = -1;
  char name[NAME_LENGTH + 1];

  if (top >= 0 && length > 0 && path[length] == '/') {
    snprintf (name, sizeof name, "%.*s", (int) length, path);
    inner = openat (top, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    path += length + 1;
    length = inner >= 0 ? name_length (path) : 0;
  }
  if (top >= 0 && length > 0 && path[length] == '\0')
    fd = openat (inner >= 0 ? inner : top, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  file_close (&inner);
  file_close (&top);
  return fd;
}

static bool
has_tag (const char *tags, const char *tag)
{
  return tags != NULL && (strstr (tags, tag) != NULL || strcmp (tags, "*") == 0);
}

/* -1: it is no regular file, or cannot be read. The tag is made of what is in it: times of installed files are often fixed. */
static int
read_file (int fd, const char *type, const char *tags, struct http_reply *reply)
{
  struct stat now;
  ssize_t got;

  if (fstat (fd, &now) < 0 || !S_ISREG (now.st_mode) || now.st_size > FILE_MAX)
    return -1;
  http_reply_text (reply, 200, type, "");
  got = file_read (fd, buffer_reserve (&reply->text, (size_t) now.st_size), (size_t) now.st_size);
  if (got < 0)
    return -1;
  reply->text.length = (size_t) got;
  snprintf (reply->tag, sizeof reply->tag, "W/\"%016" PRIx64 "\"", hash_keyed (reply->text.data, reply->text.length));
  if (has_tag (tags, reply->tag)) {
    reply->status = 304;
    buffer_clear (&reply->text);
  }
  return 0;
}

bool
http_file_answer (const char *const folders[HTTP_FOLDERS_MAX], const char *path, const char *tags,
                  struct http_reply *reply)
{
  const char *type = type_of (path);

  for (size_t i = 0; type != NULL && i < HTTP_FOLDERS_MAX && folders[i] != NULL; i++) {
    int fd = open_in (folders[i], path);
    bool found = fd >= 0 && read_file (fd, type, tags, reply) == 0;
    file_close (&fd);
    if (found)
      return true;
  }
  return false;
}
