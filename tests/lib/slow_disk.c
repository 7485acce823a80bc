/* A disk that is slow, for a program that this library is preloaded into: while the file that SYNOP_SLOW_DISK names exists,
 * the page cache holds nothing of files called "ring", and reading a piece of one does not end. One that is not empty: it
 * cannot be read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int
is_slow (int fd)
{
  const char *sign = getenv ("SYNOP_SLOW_DISK");
  char link[40], path[4096];
  ssize_t length;

  if (!sign || access (sign, F_OK) != 0)
    return 0;
  snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink (link, path, sizeof path);
  return length > 5 && memcmp (path + length - 5, "/ring", 5) == 0;
}

static int
fails (void)
{
  struct stat sign;

  while (stat (getenv ("SYNOP_SLOW_DISK"), &sign) == 0) {
    if (sign.st_size > 0) {
      errno = EIO;
      return 1;
    }
    usleep (10000);
  }
  return 0;
}

ssize_t
preadv2 (int fd, const struct iovec *into, int count, off_t at, int flags)
{
  ssize_t (*real) (int, const struct iovec *, int, off_t, int);

  *(void **) &real = dlsym (RTLD_NEXT, "preadv2");
  if (is_slow (fd)) {
    if (flags & RWF_NOWAIT) {
      errno = EAGAIN;
      return -1;
    }
    if (fails ())
      return -1;
  }
  return real (fd, into, count, at, flags);
}

ssize_t
pread (int fd, void *into, size_t size, off_t at)
{
  ssize_t (*real) (int, void *, size_t, off_t);

  *(void **) &real = dlsym (RTLD_NEXT, "pread");
  if (is_slow (fd) && fails ())
    return -1;
  return real (fd, into, size, at);
}
