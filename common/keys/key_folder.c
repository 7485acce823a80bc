/* The folders that hold keys; see key_folder.h. A user who can write to such a folder can admit nodes to the
 * cluster. */
#include "synop/key_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/keys.h"
#include "synop/memory.h"

static int
folder_refuse (const char *path, const struct stat *status, struct error *error)
{
  unsigned owner = (unsigned) status->st_uid, mode = (unsigned) status->st_mode & 07777;
  unsigned user = (unsigned) geteuid ();
  bool group = (mode & S_IWGRP) != 0, others = (mode & S_IWOTH) != 0;

  if (group || others)
    return error_set (error,
                      "%s: %s can write to this folder of keys (owner %u, mode %04o); see what lies in it, then run: "
                      "chmod go-w %s",
                      path,
                      group && others ? "its group and everybody"
                      : group         ? "its group"
                                      : "everybody",
                      owner, mode, path);
  return error_set (
      error,
      "%s: this folder of keys belongs to user %u (mode %04o); expected %s%.0u; see what lies in it, then "
      "run: chown %u %s",
      path, owner, mode, user != 0 ? "root or user " : "root", user, user, path);
}

/* Checks the folders above `real`: a user who can write to one could replace `real`, except in a sticky one, as
 * /tmp. For root, another user's folder, as of a service, is trusted where that user and root own all folders above
 * it; in a sticky one anybody could have made it. */
static int
above_check (const char *path, char *real, const struct stat *folder, struct error *error)
{
  bool given = folder->st_uid != 0 && folder->st_uid != geteuid ();
  struct stat status;

  while (real[1] != '\0') {
    char *slash = strrchr (real, '/');
    slash[slash == real] = '\0';
    if (stat (real, &status) != 0)
      return error_set (error, "%s: %s", real, strerror (errno));
    if (given && ((status.st_uid != 0 && status.st_uid != folder->st_uid) || (status.st_mode & S_IWOTH) != 0))
      return folder_refuse (path, folder, error);
    if ((status.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
      return error_set (error,
                        "%s: everybody can write to this folder (owner %u, mode %04o), and so put others in the place "
                        "of the keys in %s; see what lies there, then run: chmod o-w %s",
                        real, (unsigned) status.st_uid, (unsigned) status.st_mode & 07777, path, real);
  }
  return 0;
}

int
key_folder_check (const char *path, struct error *error)
{
  char *real = realpath (path, NULL);
  struct stat status;
  int result;

  if (real == NULL || stat (real, &status) != 0)
    result = error_set (error, "%s: %s", path, strerror (errno));
  else if (!S_ISDIR (status.st_mode))
    result = error_set (error, "%s: is not a folder", path);
  else if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
           (geteuid () != 0 && status.st_uid != geteuid () && status.st_uid != 0))
    result = folder_refuse (path, &status, error);
  else
    result = above_check (path, real, &status, error);
  free (real);
  return result;
}

int
key_folder_check_nodes (const char *path, struct error *error)
{
  char *nodes = memory_format ("%s/nodes", path);
  int result = key_folder_check (path, error) == 0 ? key_folder_check (nodes, error) : -1;

  free (nodes);
  return result;
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
  char *folder = file_folder (path);
  struct stat status;

  if (geteuid () == 0 && stat (folder, &status) == 0 && status.st_uid != 0)
    (void) !(fd ? fchown (*fd, status.st_uid, status.st_gid) : lchown (path, status.st_uid, status.st_gid));
  free (folder);
}
