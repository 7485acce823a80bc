/* Standard output for JSON lines; see output.h.
 *
 * The descriptor is shared with whoever started the agent, so it is not made non-blocking. A pipe that polls as
 * writable takes PIPE_BUF bytes without blocking, therefore pipes, terminals and sockets are written piece by piece, and
 * the loop waits while there is no room. Files and devices take everything at once. */
#include "agent/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/memory.h"

struct output {
  struct output_handler handler;
  struct loop_watch *watch; /* NULL: a file or a device, which never makes us wait */
  struct buffer bytes;
  size_t written;
  bool ended;
};

static void
output_end (struct output *output, int failure)
{
  output->ended = true;
  loop_watch_remove (output->watch);
  output->watch = NULL;
  output->handler.ended (output->handler.context, failure);
}

/* Writes while there is room. Returns 0 when all is written, 1 when there is more, or -errno. */
static int
output_write (struct output *output)
{
  if (!output->watch) {
    int rc = file_write (STDOUT_FILENO, output->bytes.data, output->bytes.length) < 0 ? -errno : 0;

    output->written = output->bytes.length;
    return rc;
  }
  while (output->written < output->bytes.length) {
    struct pollfd room = { .fd = STDOUT_FILENO, .events = POLLOUT };
    size_t left = output->bytes.length - output->written;

    if (poll (&room, 1, 0) <= 0)
      return 1;
    ssize_t written = write (STDOUT_FILENO, output->bytes.data + output->written, left < PIPE_BUF ? left : PIPE_BUF);

    if (written < 0 && errno != EINTR)
      return errno == EAGAIN ? 1 : -errno;
    output->written += written < 0 ? 0 : (size_t) written;
  }
  return 0;
}

static void
output_go_on (struct output *output)
{
  int rc = output_write (output);

  if (rc < 0) {
    output_end (output, -rc);
    return;
  }
  if (output->watch)
    loop_watch_change (output->watch, rc == 1 ? EPOLLOUT : 0);
  if (rc == 0)
    output->handler.drained (output->handler.context);
}

/* With nothing to write, only EPOLLERR and EPOLLHUP come: the reader has gone. */
static void
output_ready (void *context, uint32_t events)
{
  struct output *output = context;

  if (output_busy (output))
    output_go_on (output);
  else if (events & (EPOLLERR | EPOLLHUP))
    output_end (output, EPIPE);
}

struct output *
output_create (struct loop *loop, const struct output_handler *handler)
{
  struct output *output = memory_new (1, sizeof *output);

  output->handler = *handler;
  output->watch = loop_watch_add (loop, STDOUT_FILENO, 0, output_ready, output);
  return output;
}

void
output_destroy (struct output *output)
{
  if (!output)
    return;
  loop_watch_remove (output->watch);
  buffer_free (&output->bytes);
  free (output);
}

bool
output_busy (const struct output *output)
{
  return output->ended || output->written < output->bytes.length;
}

void
output_send (struct output *output, struct buffer *bytes)
{
  struct buffer empty = output->bytes;

  output->bytes = *bytes;
  output->written = 0;
  *bytes = empty;
  buffer_clear (bytes);
  output_go_on (output);
}
