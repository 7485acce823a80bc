/* See local_socket.h. The socket is bound under another name and then renamed, so that it appears complete, and a
 * stale one is replaced in one step. */
#include "synop/local_socket.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"

#define BACKLOG 64
#define REQUEST_SECONDS 10

static int
address_set (struct sockaddr_un *address, const char *path, struct error *error)
{
  size_t length = strlen (path);

  if (length >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return error_set (error, "%s: longer than the %zu bytes that a socket's path may have", path,
                      sizeof address->sun_path - 1);
  }
  *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
  memcpy (address->sun_path, path, length);
  return 0;
}

static int
connect_path (const char *path, int flags, struct error *error)
{
  struct sockaddr_un address;
  struct stat status;
  int saved, fd;

  if (address_set (&address, path, error) < 0)
    return -1;
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (fd >= 0 && connect (fd, (struct sockaddr *) &address, sizeof address) == 0)
    return fd;
  saved = errno;
  file_close (&fd);
  if (saved == ECONNREFUSED && stat (path, &status) == 0 && !S_ISSOCK (status.st_mode))
    error_set (error, "%s: is not a socket", path);
  else
    error_set (error, "%s: %s", path, strerror (saved));
  errno = saved;
  return -1;
}

int
local_socket_connect (const char *path, struct error *error)
{
  return connect_path (path, 0, error);
}

int
local_socket_begin (const char *path, const char *request, struct error *error)
{
  int fd = connect_path (path, SOCK_NONBLOCK, error);

  if (fd >= 0 && send (fd, request, strlen (request), MSG_NOSIGNAL) != (ssize_t) strlen (request)) {
    error_set (error, "%s: %s", path, strerror (errno));
    file_close (&fd);
  }
  return fd;
}

/* 0: the path is free, or is a socket on which nobody answers. */
static int
check_place (const char *path, struct error *error)
{
  struct stat status;
  int fd;

  if (lstat (path, &status) < 0)
    return errno == ENOENT ? 0 : error_set (error, "%s: %s", path, strerror (errno));
  if (!S_ISSOCK (status.st_mode))
    return error_set (error, "%s: is there already and is not a socket", path);
  fd = connect_path (path, SOCK_NONBLOCK, error);
  if (fd >= 0)
    close (fd);
  if (fd >= 0 || errno == EAGAIN)
    return error_set (error, "%s: another aggregator answers there", path);
  return errno == ECONNREFUSED || errno == ENOENT ? 0 : -1;
}

int
local_socket_listen (struct local_socket *local, const char *path, mode_t mode, struct error *error)
{
  char *temporary = memory_format ("%s.%ld", path, (long) getpid ());
  struct sockaddr_un address;
  struct stat status;
  int result = -1;

  *local = (struct local_socket){ .fd = -1 };
  if (address_set (&address, temporary, error) < 0)
    goto out;
  if (file_folder_make (path, 0755) < 0) {
    error_set (error, "%s: its folder cannot be made: %s", path, strerror (errno));
    goto out;
  }
  if (check_place (path, error) < 0)
    goto out;
  unlink (temporary);
  local->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (local->fd < 0 || bind (local->fd, (struct sockaddr *) &address, sizeof address) < 0) {
    error_set (error, "%s: %s", temporary, strerror (errno));
    goto out;
  }
  if (chmod (temporary, mode) < 0 || listen (local->fd, BACKLOG) < 0 || lstat (temporary, &status) < 0 ||
      rename (temporary, path) < 0) {
    error_set (error, "%s: %s", path, strerror (errno));
    unlink (temporary);
    goto out;
  }
  local->path = memory_string (path);
  local->device = status.st_dev;
  local->inode = status.st_ino;
  result = 0;
out:
  if (result < 0 && local->fd >= 0) {
    close (local->fd);
    local->fd = -1;
  }
  free (temporary);
  return result;
}

void
local_socket_close (struct local_socket *local)
{
  struct stat status;

  if (local->fd < 0)
    return;
  if (lstat (local->path, &status) == 0 && status.st_dev == local->device && status.st_ino == local->inode)
    unlink (local->path);
  close (local->fd);
  free (local->path);
  *local = (struct local_socket){ .fd = -1 };
}

int
local_socket_request (const char *path, const char *request, struct buffer *answer, struct error *error)
{
  return local_socket_request_within (path, request, REQUEST_SECONDS, answer, error);
}

int
local_socket_request_within (const char *path, const char *request, int seconds, struct buffer *answer,
                             struct error *error)
{
  struct timeval patience = { .tv_sec = seconds };
  int fd = local_socket_connect (path, error);
  ssize_t got;

  if (fd < 0)
    return -1;
  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  got = send (fd, request, strlen (request), MSG_NOSIGNAL);
  while (got > 0) {
    char *room = buffer_reserve (answer, 65536);
    got = recv (fd, room, 65536, 0);
    if (got > 0)
      answer->length += (size_t) got;
    else if (got < 0 && errno == EINTR)
      got = 1;
  }
  if (got < 0)
    error_set (error, "%s: %s", path, errno == EAGAIN ? "the aggregator does not answer" : strerror (errno));
  close (fd);
  return got < 0 ? -1 : 0;
}

void
local_socket_log_forbidden (const char *path, const char *why)
{
  const struct passwd *user = getpwuid (geteuid ());
  const struct group *group = NULL;
  struct stat status;

  if (stat (path, &status) == 0)
    group = getgrgid (status.st_gid);
  if (user && group)
    log_error ("%s; it is for the group %s, and this user gets in by: usermod -aG %s %s", why, group->gr_name,
               group->gr_name, user->pw_name);
  else
    log_error ("%s; it is for the user and the group of the aggregator", why);
}
