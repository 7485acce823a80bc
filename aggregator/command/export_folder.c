/* See export_folder.h. */
#include "aggregator/command/export_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utlist.h>

#include "synop/file.h"
#include "synop/memory.h"

struct export_folder {
  char *path;
  bool made; /* by us */
  struct export_file *files;
  size_t count;
};

static int
fail (const char *path, struct error *error)
{
  return error_set (error, "%.300s: %s", path, strerror (errno));
}

struct export_folder *
export_folder_create (const char *path, struct error *error)
{
  struct export_folder *folder;
  bool made = mkdir (path, 0777) == 0;

  if (!made && errno != EEXIST) {
    fail (path, error);
    return NULL;
  }
  folder = memory_new (1, sizeof *folder);
  folder->path = memory_string (path);
  folder->made = made;
  return folder;
}

size_t
export_folder_files (const struct export_folder *folder)
{
  return folder->count;
}

static void
file_free (struct export_file *file)
{
  free (file->name);
  free (file->final);
  free (file->path);
  free (file);
}

/* Some file systems cannot refuse to replace; then it is looked for alone. */
static int
give_name (const struct export_file *file, struct error *error)
{
  int result = renameat2 (AT_FDCWD, file->path, AT_FDCWD, file->final, RENAME_NOREPLACE);

  if (result < 0 && errno == EINVAL && access (file->final, F_OK) < 0)
    result = rename (file->path, file->final);
  return result == 0 ? 0 : fail (file->final, error);
}

int
export_folder_destroy (struct export_folder *folder, bool whole, struct error *error)
{
  struct export_file *file, *next, *failed = NULL;

  LL_FOREACH (folder->files, file)
  if (whole && !failed && give_name (file, error) < 0)
    failed = file;
  if (failed)
    for (file = folder->files; file != failed; file = file->next)
      unlink (file->final);
  LL_FOREACH_SAFE (folder->files, file, next)
  {
    unlink (file->path); /* no longer there if it has its name */
    file_free (file);
  }
  if ((!whole || failed) && folder->made)
    rmdir (folder->path);
  free (folder->path);
  free (folder);
  return failed ? -1 : 0;
}

struct export_file *
export_file_create (struct export_folder *folder, const char *name, const char *ending, struct error *error)
{
  struct export_file *file = memory_new (1, sizeof *file);
  int fd = -1;

  file->folder = folder;
  file->name = memory_string (name);
  file->final = memory_format ("%s/%s.%s", folder->path, name, ending);
  file->path = memory_format ("%s/.%s.%s.%ld", folder->path, name, ending, (long) getpid ());
  if (access (file->final, F_OK) == 0)
    errno = EEXIST;
  else if (errno == ENOENT)
    fd = open (file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    fail (file->final, error);
    file_free (file);
    return NULL;
  }
  close (fd);
  LL_PREPEND (folder->files, file);
  folder->count++;
  return file;
}

int
export_file_add (const struct export_file *file, const void *bytes, size_t length, struct error *error)
{
  int fd = open (file->path, O_WRONLY | O_APPEND | O_CLOEXEC), result;

  if (fd < 0)
    return fail (file->final, error);
  result = file_write (fd, bytes, length) < 0 ? fail (file->final, error) : 0;
  if (close (fd) < 0 && result == 0)
    result = fail (file->final, error);
  return result;
}

void
export_file_swap (struct export_file *file, struct export_file *other)
{
  char *name = file->name, *final = file->final;

  file->name = other->name;
  file->final = other->final;
  other->name = name;
  other->final = final;
}
