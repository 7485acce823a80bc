/* See file.h. */
#include "synop/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/log.h"
#include "synop/memory.h"

int
file_open_at (int folder, const char *path)
{
  int fd = openat (folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), result = -FILE_IRREGULAR;
  struct stat status;

  if (fd < 0)
    return errno == ENXIO ? -FILE_IRREGULAR : -errno; /* a socket, or a device that nobody serves */
  if (fstat (fd, &status) < 0)
    result = -errno;
  else if (S_ISREG (status.st_mode) || S_ISDIR (status.st_mode))
    return fd;
  close (fd);
  return result;
}

int
file_open (const char *path)
{
  return file_open_at (AT_FDCWD, path);
}

const char *
file_error_text (int number)
{
  return number == FILE_IRREGULAR ? "is no regular file" : strerror (number);
}

void
file_close (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

ssize_t
file_read (int fd, void *bytes, size_t most)
{
  size_t length = 0;

  while (length < most) {
    ssize_t got = read (fd, (char *) bytes + length, most - length);

    if (got == 0)
      break;
    if (got > 0)
      length += (size_t) got;
    else if (errno != EINTR)
      return -1;
  }
  return (ssize_t) length;
}

int
file_write (int fd, const void *bytes, size_t length)
{
  const char *at = bytes;

  while (length > 0) {
    ssize_t written = write (fd, at, length);

    if (written >= 0) {
      at += written;
      length -= (size_t) written;
    } else if (errno == EAGAIN)
      poll (&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
    else if (errno != EINTR)
      return -1;
  }
  return 0;
}

void
file_claim_standard (void)
{
  /* A closed standard output becomes one that cannot be written to: writing is an error then, not silence. */
  static const int modes[] = { O_RDONLY, O_RDONLY, O_WRONLY };

  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl (fd, F_GETFD) < 0 && open ("/dev/null", modes[fd]) != fd)
      abort ();
}

int
file_read_text (const char *path, char *text, size_t size, struct error *error)
{
  int fd = file_open (path);
  ssize_t got = fd >= 0 ? file_read (fd, text, size) : -1;
  int number = fd < 0 ? -fd : got < 0 ? errno : 0;

  file_close (&(int){ fd < 0 ? -1 : fd });
  text[got < 0 ? 0 : (size_t) got < size ? (size_t) got : size - 1] = '\0';
  if (number != 0)
    return error_set (error, "%s: %s", path, file_error_text (number));
  if (got == 0)
    return error_set (error, "%s: it is empty", path);
  if ((size_t) got == size)
    return error_set (error, "%s: larger than %zu bytes", path, size - 1);
  return 0;
}

int
file_print (const struct buffer *text)
{
  if (file_write (STDOUT_FILENO, text->data, text->length) == 0 || errno == EPIPE)
    return 0;
  log_error ("standard output: %s", strerror (errno));
  return 1;
}

char *
file_folder (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash ? memory_copy (path, slash == path ? 1 : (size_t) (slash - path)) : memory_string (".");
}

int
file_folder_make (const char *path, mode_t mode)
{
  char *folder = file_folder (path);
  int result = mkdir (folder, mode) < 0 && errno != EEXIST ? -1 : 0;

  free (folder);
  return result;
}

void
file_folder_sync (const char *path)
{
  char *folder = file_folder (path);
  int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (fd >= 0) {
    (void) fsync (fd);
    close (fd);
  }
  free (folder);
}
