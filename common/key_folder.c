/* The folders that hold keys; see key_folder.h. Who can write to such a folder decides who may join the cluster. */
#include "common/key_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/keys.h"
#include "synop/memory.h"

int
key_folder_check (const char *path, struct error *error)
{
  struct stat status;

  if (stat (path, &status) != 0)
    return error_set (error, "%s: %s", path, strerror (errno));
  if (!S_ISDIR (status.st_mode))
    return error_set (error, "%s: is not a folder", path);
  if ((status.st_mode & S_IWOTH) != 0)
    return error_set (error, "%s: everybody can write to this folder of keys; run: chmod o-w %s", path, path);
  return 0;
}

int
key_folder_make (const char *path, struct error *error)
{
  char *part = memory_string (path);
  int result = 0;

  for (char *at = part; result == 0 && *at != '\0'; at++) {
    bool last = at[1] == '\0';
    if (!last && at[1] != '/')
      continue;
    char next = at[1];
    at[1] = '\0';
    if (mkdir (part, 0755) == 0)
      key_folder_give (part, NULL);
    else if (errno != EEXIST)
      result = error_set (error, "%s: %s", part, strerror (errno));
    at[1] = next;
  }
  free (part);
  return result == 0 ? key_folder_check (path, error) : -1;
}

int
key_folder_init (const char *path, const char *name, const char *comment, struct error *error)
{
  char *secret = memory_format ("%s/%s.key", path, name), *public = memory_format ("%s/%s.pub", path, name);
  bool has_secret = access (secret, F_OK) == 0, has_public = access (public, F_OK) == 0;
  struct key_pair pair;
  int result = key_folder_make (path, error);

  if (result != 0)
    goto out;
  if (has_public) {
    result =
        error_set (error, "%s: is there already, and is not overwritten; move %s.key and %s.pub away to make others",
                   has_secret ? secret : public, name, name);
    goto out;
  }
  if (has_secret) {
    result = key_pair_read (secret, &pair, error);
  } else {
    key_pair_make (&pair);
    result = key_secret_write (secret, pair.secret_key, comment, error);
  }
  if (result == 0)
    result = key_public_write (public, pair.public_key, comment, error);
  sodium_memzero (&pair, sizeof pair);
out:
  free (secret);
  free (public);
  return result;
}

void
key_folder_give (const char *path, const int *fd)
{
  const char *slash = strrchr (path, '/');
  char *folder = slash ? memory_copy (path, (size_t) (slash + 1 - path)) : memory_string (".");
  struct stat status;

  if (geteuid () == 0 && stat (folder, &status) == 0 && status.st_uid != 0)
    (void) !(fd ? fchown (*fd, status.st_uid, status.st_gid) : lchown (path, status.st_uid, status.st_gid));
  free (folder);
}

void
key_folder_sync (const char *path)
{
  const char *slash = strrchr (path, '/');
  char *folder = slash == NULL   ? memory_string (".")
                 : slash == path ? memory_string ("/")
                                 : memory_copy (path, (size_t) (slash - path));
  int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    (void) fsync (fd);
    close (fd);
  }
  free (folder);
}

int
key_command_print (const struct buffer *text, struct error *error)
{
  for (size_t at = 0; at < text->length;) {
    ssize_t done = write (STDOUT_FILENO, text->data + at, text->length - at);
    if (done < 0 && errno != EINTR)
      return error_set (error, "cannot write to standard output: %s", strerror (errno));
    at += done > 0 ? (size_t) done : 0;
  }
  return 0;
}
