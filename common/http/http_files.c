/* See http_files.h. */
#include "common/http/http_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/clock.h"
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

/* -1: it is no regular file, or cannot be read. */
static int
read_file (int fd, struct buffer *text)
{
  struct stat now;
  ssize_t got;

  if (fd < 0 || fstat (fd, &now) < 0 || !S_ISREG (now.st_mode) || now.st_size > FILE_MAX)
    return -1;
  got = file_read (fd, buffer_reserve (text, (size_t) now.st_size), (size_t) now.st_size);
  if (got < 0)
    return -1;
  text->length = (size_t) got;
  return 0;
}

static int
read_path (const char *folder, const char *path, struct buffer *text)
{
  int fd = open_in (folder, path), result = read_file (fd, text);

  file_close (&fd);
  return result;
}

/* ---- the version of all of them ---- */

#define HASH_SIZE 16

/* Of files in any order. */
static void
hash_file (const char *folder, const char *path, unsigned char sum[HASH_SIZE])
{
  struct buffer text = { 0 };
  unsigned char hash[HASH_SIZE];

  if (type_of (path) != NULL && read_path (folder, path, &text) == 0) {
    crypto_generichash (hash, sizeof hash, (const unsigned char *) text.data, text.length, (const unsigned char *) path,
                        strnlen (path, crypto_generichash_KEYBYTES_MAX));
    for (size_t i = 0; i < sizeof hash; i++)
      sum[i] ^= hash[i];
  }
  buffer_free (&text);
}

static void
hash_folder (const char *folder, const char *within, unsigned char sum[HASH_SIZE])
{
  char path[4096];
  DIR *list;

  snprintf (path, sizeof path, "%s/%s", folder, within);
  list = opendir (path);
  for (const struct dirent *entry; list != NULL && (entry = readdir (list)) != NULL;) {
    snprintf (path, sizeof path, "%s%s%s", within, *within ? "/" : "", entry->d_name);
    if (name_length (path) == 0)
      continue;
    hash_file (folder, path, sum);
    if (!*within && strchr (path, '.') == NULL)
      hash_folder (folder, path, sum);
  }
  if (list != NULL)
    closedir (list);
}

/* They are looked at once a second at most. */
static const char *
version_of (struct http_files *files, int64_t now_ns)
{
  unsigned char sum[HASH_SIZE] = { 0 };

  if (files->looked_ns != 0 && now_ns - files->looked_ns < NS_PER_S)
    return files->version;
  for (size_t i = 0; i < HTTP_FOLDERS_MAX && files->folders[i] != NULL; i++)
    hash_folder (files->folders[i], "", sum);
  sodium_bin2hex (files->version, sizeof files->version, sum, sizeof sum);
  files->looked_ns = now_ns;
  return files->version;
}

static void
put_version (struct buffer *text, const char *version)
{
  static const char mark[] = "\"v/0/";
  struct buffer whole = *text;
  const char *at = buffer_text (&whole), *found;

  *text = (struct buffer){ 0 };
  for (; (found = strstr (at, mark)) != NULL; at = found + strlen (mark)) {
    buffer_add (text, at, (size_t) (found - at));
    buffer_printf (text, "\"v/%s/", version);
  }
  buffer_add_string (text, at);
  buffer_free (&whole);
}

/* ---- answers ---- */

static bool
has_tag (const char *tags, const char *tag)
{
  return tags != NULL && (strstr (tags, tag) != NULL || strcmp (tags, "*") == 0);
}

/* The tag is made of what is in it: times of installed files are often fixed. */
static void
put_tag (const char *tags, struct http_reply *reply)
{
  snprintf (reply->tag, sizeof reply->tag, "W/\"%016" PRIx64 "\"", hash_keyed (reply->text.data, reply->text.length));
  if (has_tag (tags, reply->tag)) {
    reply->status = 304;
    buffer_clear (&reply->text);
  }
}

/* The path behind "v/VERSION/"; NULL: it does not begin so. */
static const char *
path_of_version (const char *path)
{
  const char *end = strncmp (path, "v/", 2) == 0 ? strchr (path + 2, '/') : NULL;

  return end == NULL ? NULL : end + 1;
}

static bool
is_version (const char *path, const char *version)
{
  size_t length = strlen (version);

  return strncmp (path, version, length) == 0 && path[length] == '/';
}

bool
http_file_answer (struct http_files *files, const char *path, const char *tags, int64_t now_ns,
                  struct http_reply *reply)
{
  const char *behind = path_of_version (path), *name = behind == NULL ? path : behind, *type = type_of (name);
  struct buffer text = { 0 };
  bool found = false;

  for (size_t i = 0; type != NULL && !found && i < HTTP_FOLDERS_MAX && files->folders[i] != NULL; i++)
    found = read_path (files->folders[i], name, &text) == 0;
  if (found) {
    http_reply_text (reply, 200, type, "");
    buffer_free (&reply->text);
    reply->text = text;
    if (strcmp (name, "index.html") == 0)
      put_version (&reply->text, version_of (files, now_ns));
    reply->kept = behind != NULL && is_version (path + 2, version_of (files, now_ns));
    put_tag (tags, reply);
  } else {
    buffer_free (&text);
  }
  return found;
}
