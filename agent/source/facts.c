/* Files that are read once or seldom; see facts.h. */
#include "agent/source/facts.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "synop/array.h"
#include "synop/file.h"
#include "synop/hash.h"
#include "synop/memory.h"

#define PATH_SIZE 1024

/* False when the path does not fit. */
static bool
path_make (char path[PATH_SIZE], const char *root, const char *format, va_list arguments)
{
  int length = snprintf (path, PATH_SIZE, "%s", root ? root : "");
  int more;

  if (length < 0 || length >= PATH_SIZE)
    return false;
  more = vsnprintf (path + length, PATH_SIZE - (size_t) length, format, arguments);
  return more >= 0 && more < PATH_SIZE - length;
}

static bool
text_read (char *text, size_t size, const char *path)
{
  size_t from = 0, length = 0;
  ssize_t got;
  int fd;

  text[0] = '\0';
  fd = file_open (path);
  if (fd < 0)
    return false;
  got = read (fd, text, size - 1);
  close (fd);
  while (got > 0 && length < (size_t) got && text[length] && text[length] != '\n')
    length++;
  while (length > 0 && isspace ((unsigned char) text[length - 1]))
    length--;
  while (from < length && isspace ((unsigned char) text[from]))
    from++;
  memmove (text, text + from, length - from);
  text[length - from] = '\0';
  for (char *c = text; *c; c++)
    if ((unsigned char) *c < ' ' || (unsigned char) *c >= 0x7f)
      *c = '?';
  return text[0] != '\0';
}

bool
fact_text (char *text, size_t size, const char *root, const char *format, ...)
{
  char path[PATH_SIZE];
  va_list arguments;
  bool fits;

  va_start (arguments, format);
  fits = path_make (path, root, format, arguments);
  va_end (arguments);
  text[0] = '\0';
  return fits && text_read (text, size, path);
}

bool
fact_uint (uint64_t *value, const char *root, const char *format, ...)
{
  char path[PATH_SIZE], text[64], *end;
  va_list arguments;
  bool fits;

  va_start (arguments, format);
  fits = path_make (path, root, format, arguments);
  va_end (arguments);
  if (!fits || !text_read (text, sizeof text, path) || !isdigit ((unsigned char) text[0]))
    return false;
  *value = strtoull (text, &end, 10);
  return *end == '\0';
}

static int
names_compare (const void *one, const void *other)
{
  return strverscmp (*(char *const *) one, *(char *const *) other);
}

void
names_read (struct names *names, const char *prefix, const char *root, const char *format, ...)
{
  char path[PATH_SIZE];
  struct dirent *entry;
  size_t capacity = 0;
  va_list arguments;
  bool fits;
  DIR *folder;

  names_free (names);
  va_start (arguments, format);
  fits = path_make (path, root, format, arguments);
  va_end (arguments);
  folder = fits ? opendir (path) : NULL;
  if (!folder)
    return;
  while ((entry = readdir (folder))) {
    if (entry->d_name[0] == '.' || strncmp (entry->d_name, prefix, strlen (prefix)) != 0)
      continue;
    *array_add (names->list, names->count, capacity) = memory_string (entry->d_name);
  }
  closedir (folder);
  if (names->count)
    qsort (names->list, names->count, sizeof *names->list, names_compare);
}

void
names_free (struct names *names)
{
  for (size_t i = 0; i < names->count; i++)
    free (names->list[i]);
  free (names->list);
  *names = (struct names){ 0 };
}

void
folder_watch_init (struct folder_watch *watch, const char *root, const char *path)
{
  *watch = (struct folder_watch){ .fd = -1, .path = memory_format ("%s%s", root, path) };
}

void
folder_watch_free (struct folder_watch *watch)
{
  file_close (&watch->fd);
  free (watch->path);
}

bool
folder_changed (struct folder_watch *watch)
{
  _Alignas(struct dirent64) char bytes[4096];
  uint64_t sum = 0;
  ssize_t got = 0;
  bool changed;

  if (watch->fd >= 0 && lseek (watch->fd, 0, SEEK_SET) < 0) {
    close (watch->fd);
    watch->fd = -1;
  }
  if (watch->fd < 0)
    watch->fd = open (watch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (watch->fd >= 0 && (got = getdents64 (watch->fd, bytes, sizeof bytes)) > 0)
    for (ssize_t at = 0; at < got;) {
      const struct dirent64 *entry = (const struct dirent64 *) (bytes + at);
      if (entry->d_name[0] != '.')
        sum += hash_text (entry->d_name); /* a sum, since their order has no meaning */
      at += entry->d_reclen;
    }
  if (watch->fd >= 0 && (got < 0 || sum == 0)) { /* it was removed, or may be: a new folder may get its name */
    close (watch->fd);
    watch->fd = -1;
  }
  changed = sum != watch->sum;
  watch->sum = sum;
  return changed;
}

size_t
fact_column (const struct group *group, const char *name)
{
  size_t column = 0;

  while (column < group->metric_count && strcmp (group->metrics[column].name, name) != 0)
    column++;
  assert (column < group->metric_count);
  return column;
}

void
fact_set_text (struct table *table, const char *name, const char *text)
{
  table_set_string (table, TABLE_NODE, fact_column (table->group, name), text);
}

void
fact_set_uint (struct table *table, const char *name, uint64_t value)
{
  table_set_uint (table, TABLE_NODE, fact_column (table->group, name), value);
}
