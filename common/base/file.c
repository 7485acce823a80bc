/* Opening files without waiting for what is none; see file.h. */
#include "synop/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
