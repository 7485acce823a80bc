/* See ring_file.h. What the file holds, in the machine's own byte order:
 *
 *   head     magic "synopRNG", version (4 bytes), zero (4), key (16), SipHash-2-4 with the key of all before (8)
 *   records  from byte 4096 on; see ring_store.c
 *
 * A file of another program is left as it is: perhaps the path is wrong. The file is written and read, not mapped: a disk
 * that fails, or a file that somebody truncates, is then an error; in a mapping it would end the agent. */
#include "agent/uplink/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/memory.h"

#define VERSION 1
#define WINDOW ((size_t) 64 * 1024)

static const char magic[8] = "synopRNG";

struct head {
  char magic[8];
  uint32_t version, zero;
  uint8_t key[RING_KEY_SIZE];
  uint8_t sum[crypto_shorthash_BYTES];
};

static void
head_sum (const struct head *head, uint8_t sum[crypto_shorthash_BYTES])
{
  crypto_shorthash (sum, (const uint8_t *) head, offsetof (struct head, sum), head->key);
}

/* ---- file or memory ---- */

void
ring_file_memory (struct ring_file *file, size_t size)
{
  *file = (struct ring_file){ .fd = -1, .size = size };
  file->memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (file->memory == MAP_FAILED)
    abort (); /* as memory_new does */
  randombytes_buf (file->key, sizeof file->key);
}

static void
forget_window (struct ring_file *file)
{
  free (file->window);
  file->window = NULL;
  file->window_length = 0;
}

void
ring_file_close (struct ring_file *file)
{
  if (file->memory)
    munmap (file->memory, file->size);
  if (file->fd >= 0)
    close (file->fd);
  forget_window (file);
  ring_fetch_abandon (file->fetch);
  *file = (struct ring_file){ .fd = -1 };
}

static int
write_whole (int fd, const void *bytes, size_t length, off_t at)
{
  const uint8_t *next = bytes;

  while (length) {
    ssize_t written = pwrite (fd, next, length, at);

    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return -1;
    next += written;
    at += written;
    length -= (size_t) written;
  }
  return 0;
}

int
ring_file_write (struct ring_file *file, size_t at, const void *bytes, size_t length)
{
  if (file->memory) {
    memcpy (file->memory + at, bytes, length);
    return 0;
  }
  forget_window (file);
  if (at < file->fetch_from + file->fetch_length && file->fetch_from < at + length)
    file->fetch_length = at > file->fetch_from ? at - file->fetch_from : 0;
  return write_whole (file->fd, bytes, length, (off_t) (RING_FILE_HEAD + at));
}

static bool
is_in_window (const struct ring_file *file, size_t at, size_t length)
{
  return at >= file->window_from && at + length <= file->window_from + file->window_length;
}

/* Reads beyond the request, since readers go through the records one after the other. */
static size_t
window_size (const struct ring_file *file, size_t at, size_t length)
{
  size_t size = length > WINDOW ? length : WINDOW;

  return size < file->size - at ? size : file->size - at;
}

static bool
read_window (struct ring_file *file, size_t at, size_t length, int flags)
{
  struct iovec into = { .iov_len = window_size (file, at, length) };
  ssize_t got;

  forget_window (file);
  into.iov_base = file->window = memory_new (1, into.iov_len);
  do
    got = preadv2 (file->fd, &into, 1, (off_t) (RING_FILE_HEAD + at), flags);
  while (got < 0 && errno == EINTR);
  file->window_from = at;
  file->window_length = got > 0 ? (size_t) got : 0;
  return is_in_window (file, at, length);
}

const void *
ring_file_read (struct ring_file *file, size_t at, size_t length)
{
  if (file->memory)
    return file->memory + at;
  if (!is_in_window (file, at, length) && !read_window (file, at, length, 0))
    return NULL;
  return file->window + (at - file->window_from);
}

/* The thread's data becomes the window. */
static void
take_fetch (struct ring_file *file)
{
  forget_window (file);
  file->window = ring_fetch_end (file->fetch, &file->window_length);
  file->window_from = file->fetch_from;
  file->fetch = NULL;
  if (file->window_length > file->fetch_length)
    file->window_length = file->fetch_length;
}

enum ring_file_state
ring_file_poll (struct ring_file *file, size_t at, size_t length)
{
  if (file->memory || is_in_window (file, at, length))
    return RING_FILE_READY;
  if (file->fetch) {
    if (!ring_fetch_is_done (file->fetch))
      return RING_FILE_LATER;
    take_fetch (file);
    if (is_in_window (file, at, length))
      return RING_FILE_READY;
    if (file->fetch_from == at && file->fetch_length >= length)
      return RING_FILE_FAILED;
  }
  if (read_window (file, at, length, RWF_NOWAIT)) /* in the page cache; not every file system knows */
    return RING_FILE_READY;
  file->fetch_from = at;
  file->fetch_length = window_size (file, at, length);
  file->fetch = ring_fetch_begin (file->fd, (off_t) (RING_FILE_HEAD + at), file->fetch_length);
  return RING_FILE_LATER;
}

void
ring_file_release (struct ring_file *file, size_t from, size_t to)
{
  size_t page = (size_t) sysconf (_SC_PAGESIZE);

  from = (from + page - 1) & ~(page - 1);
  to &= ~(page - 1);
  if (file->memory && from < to)
    madvise (file->memory + from, to - from, MADV_DONTNEED);
}

/* ---- the file ---- */

static int
open_locked (struct ring_file *file, const char *path, struct stat *status, struct error *error)
{
  file_folder_make (path, 0750);
  file->fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file->fd < 0 && errno == ELOOP)
    return error_set (error, "%s is a symbolic link; set [ring] path to what it names", path);
  if (file->fd < 0 || fstat (file->fd, status) < 0)
    return error_set (error, "%s: %s; make it writable or set [ring] path", path, strerror (errno));
  if (!S_ISREG (status->st_mode))
    return error_set (error, "%s is not a regular file; set [ring] path", path);
  if (flock (file->fd, LOCK_EX | LOCK_NB) < 0)
    return error_set (error, "%s: %s; give each agent of this machine a [ring] path of its own", path,
                      errno == EWOULDBLOCK ? "another agent uses it" : strerror (errno));
  return 0;
}

enum verdict { HEAD_REFUSED = -1, HEAD_GOOD, HEAD_NEW };

/* All zero: empty, or the agent was killed before it had written the head. */
static enum verdict
check_head (struct ring_file *file, const char *path, struct error *warning)
{
  struct head head = { .version = 0 };
  uint8_t sum[sizeof head.sum];

  if (pread (file->fd, &head, sizeof head, 0) < 0)
    return error_set (warning, "%s: %s; remove it", path, strerror (errno));
  if (sodium_is_zero ((const uint8_t *) &head, sizeof head))
    return HEAD_NEW;
  if (memcmp (head.magic, magic, sizeof magic) != 0)
    return error_set (warning, "%s is no ring of an agent; set [ring] path", path);
  if (head.version != VERSION)
    return error_set (warning, "%s is a ring of version %u, this agent knows %d; remove it or set [ring] path", path,
                      (unsigned) head.version, VERSION);
  head_sum (&head, sum);
  if (memcmp (sum, head.sum, sizeof sum) != 0) {
    error_set (warning, "%s: its head was broken, so it was begun anew and its frames are lost", path);
    return HEAD_NEW;
  }
  memcpy (file->key, head.key, sizeof file->key);
  return HEAD_GOOD;
}

/* Allocates all of its disk space now, so that none is missing later. */
static int
take_place (struct ring_file *file, const char *path, const struct stat *status, struct error *error)
{
  off_t length = (off_t) (RING_FILE_HEAD + file->size);
  int result;

  do
    result = posix_fallocate (file->fd, 0, length);
  while (result == EINTR);
  if (result == 0 && ftruncate (file->fd, length) == 0)
    return 0;
  error_set (error, "%s: %s; it needs %lld bytes: make room or set [ring] max_size", path,
             strerror (result ? result : errno), (long long) length);
  if (ftruncate (file->fd, status->st_size) < 0)
    error_prefix (error, "(it keeps what was taken) ");
  return -1;
}

int
ring_file_renew (struct ring_file *file)
{
  struct head head = { .version = VERSION };

  memcpy (head.magic, magic, sizeof magic);
  randombytes_buf (file->key, sizeof file->key);
  memcpy (head.key, file->key, sizeof head.key);
  head_sum (&head, head.sum);
  return file->memory ? 0 : write_whole (file->fd, &head, sizeof head, 0);
}

static int
ring_open_file (struct ring_file *file, const char *path, struct error *warning)
{
  struct stat status;
  enum verdict verdict;

  if (open_locked (file, path, &status, warning) < 0)
    return -1;
  verdict = check_head (file, path, warning);
  if (verdict == HEAD_REFUSED)
    return -1;
  if (verdict == HEAD_NEW && ftruncate (file->fd, 0) == 0)
    status.st_size = 0;
  if (take_place (file, path, &status, warning) < 0)
    return -1;
  if (verdict == HEAD_NEW && ring_file_renew (file) < 0)
    return error_set (warning, "%s: %s; set [ring] path", path, strerror (errno));
  if (verdict == HEAD_GOOD && status.st_size < (off_t) RING_FILE_HEAD)
    error_set (warning, "%s was truncated; its frames are lost", path);
  return 0;
}

int
ring_file_open (struct ring_file *file, const char *path, size_t size, struct error *warning)
{
  *file = (struct ring_file){ .fd = -1, .size = size };
  warning->text[0] = '\0';
  if (ring_open_file (file, path, warning) == 0)
    return 0;
  ring_file_close (file);
  return -1;
}

bool
ring_file_is_at (const struct ring_file *file, const char *path)
{
  struct stat ours, there;

  return fstat (file->fd, &ours) == 0 && stat (path, &there) == 0 && ours.st_dev == there.st_dev &&
         ours.st_ino == there.st_ino && ours.st_size >= (off_t) (RING_FILE_HEAD + file->size);
}
