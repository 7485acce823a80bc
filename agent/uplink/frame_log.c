/* See frame_log.h. The file is frames and nothing else, one msgpack message after the other, readable as a msgpack stream.
 * A frame is one write(2), so a kill leaves whole frames only; a frame that was written in part, for want of room, is cut
 * off again. */
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
  bool reported; /* it was logged that frames are missing */
};

static void
frame_log_report (struct frame_log *log, const char *why)
{
  if (!log->reported)
    log_error ("[agent] frame_log %s: %s; frames are missing in it", log->path, why);
  log->reported = true;
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
    frame_log_report (log, strerror (errno));
  else if (!S_ISREG (status.st_mode)) { /* a pipe could be full */
    frame_log_report (log, "it is not a regular file");
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
  frame_log_report (log, written < 0 ? strerror (errno) : "there was no room for a frame");
  if (written > 0 && (fstat (log->fd, &status) < 0 || ftruncate (log->fd, status.st_size - written) < 0)) {
    close (log->fd); /* data behind half a frame could not be read */
    log->fd = -1;
  }
}
