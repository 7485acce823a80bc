/* See frame_log.h. The file is frames and nothing else, one msgpack message behind the other: what reads a stream of
 * msgpack reads it. A frame is one write(2), so what was written when the agent is killed is whole; one for which there
 * was room in part is cut off again. */
#include "agent/uplink/frame_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"

struct frame_log {
  char *path;
  int fd;
  bool told; /* that frames are missing in it */
};

static void
frame_log_tell (struct frame_log *log, const char *why)
{
  if (!log->told)
    log_error ("[agent] frame_log %s: %s; frames are missing in it", log->path, why);
  log->told = true;
}

struct frame_log *
frame_log_create (const char *path)
{
  struct frame_log *log;
  struct stat status;

  if (!path || !path[0])
    return NULL;
  log = memory_new (1, sizeof *log);
  log->path = memory_string (path);
  log->fd = open (path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (log->fd < 0 || fstat (log->fd, &status) < 0)
    frame_log_tell (log, strerror (errno));
  else if (!S_ISREG (status.st_mode)) { /* a pipe would be full at some time */
    frame_log_tell (log, "it is no file");
    close (log->fd);
    log->fd = -1;
  }
  return log;
}

void
frame_log_destroy (struct frame_log *log)
{
  if (!log)
    return;
  file_close (&log->fd);
  free (log->path);
  free (log);
}

void
frame_log_add (struct frame_log *log, const void *bytes, size_t length)
{
  struct stat status;
  ssize_t written;

  if (!log || log->fd < 0)
    return;
  written = write (log->fd, bytes, length);
  if (written == (ssize_t) length)
    return;
  frame_log_tell (log, written < 0 ? strerror (errno) : "there was no room for a frame");
  if (written > 0 && (fstat (log->fd, &status) < 0 || ftruncate (log->fd, status.st_size - written) < 0)) {
    close (log->fd); /* what comes behind half a frame could not be read */
    log->fd = -1;
  }
}
