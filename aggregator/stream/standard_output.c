/* See standard_output.h.
 *
 * A shell or other programs may share the file description of standard output, so its flags are not changed. A pipe
 * or terminal is opened once more through /proc, which gives a description of our own that is non-blocking. Where
 * that is not allowed (a terminal of another user), it is written in pieces that poll says will fit. */
#include "aggregator/stream/standard_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/stream/outlet.h"
#include "synop/clock.h"
#include "synop/memory.h"

struct standard_output {
  struct standard_output_options options;
  int fd;
  struct outlet *outlet;
  struct stream_reader *reader;
  struct loop_watch *watch; /* NULL: it never blocks, like a file */
  uint32_t events;
  bool ended;
};

static void
end (struct standard_output *output, int failure)
{
  if (output->ended)
    return;
  output->ended = true;
  loop_watch_remove (output->watch);
  output->watch = NULL;
  output->options.ended (output->options.context, failure);
}

static void
flush (void *context)
{
  struct standard_output *output = context;
  int result = output->ended ? 0 : outlet_flush (output->outlet);
  uint32_t events = result == 1 ? EPOLLOUT : 0;

  if (result < 0) {
    end (output, -result);
  } else if (output->watch && events != output->events) {
    output->events = events;
    loop_watch_change (output->watch, events);
  }
}

static void
fd_event (void *context, uint32_t events)
{
  struct standard_output *output = context;

  if (events & (EPOLLERR | EPOLLHUP))
    end (output, EPIPE);
  else
    flush (output);
}

static int
open_output (enum outlet_kind *kind)
{
  struct stat status;
  int fd = -1;

  *kind = OUTLET_OPEN;
  if (fstat (STDOUT_FILENO, &status) < 0)
    return STDOUT_FILENO;
  if (S_ISSOCK (status.st_mode)) {
    *kind = OUTLET_SOCKET;
  } else if (S_ISFIFO (status.st_mode) || S_ISCHR (status.st_mode)) {
    fd = open ("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
      *kind = OUTLET_SHARED;
  }
  return fd < 0 ? STDOUT_FILENO : fd;
}

struct standard_output *
standard_output_create (const struct standard_output_options *options)
{
  struct standard_output *output = memory_new (1, sizeof *output);
  struct stream_filter filter = { "", "", options->types };
  enum outlet_kind kind;

  output->options = *options;
  output->fd = open_output (&kind);
  output->outlet = outlet_create (output->fd, kind, options->queue_bytes, options->dropped);
  output->reader = stream_attach (options->stream, &filter, &viewer_all, output->outlet, flush, output);
  output->watch = loop_watch_add (options->loop, output->fd, 0, fd_event, output);
  return output;
}

int
standard_output_finish (struct standard_output *output, int64_t patience_ns)
{
  int64_t until = clock_monotonic () + patience_ns;

  for (;;) {
    int result = output->ended ? 0 : outlet_flush (output->outlet);
    int64_t left = until - clock_monotonic ();
    struct pollfd ready = { .fd = output->fd, .events = POLLOUT };
    if (result <= 0 || left <= 0)
      return result < 0 ? -result : 0;
    poll (&ready, 1, (int) (left / NS_PER_MS) + 1);
  }
}

void
standard_output_destroy (struct standard_output *output)
{
  if (!output)
    return;
  stream_detach (output->reader);
  outlet_destroy (output->outlet);
  loop_watch_remove (output->watch);
  if (output->fd != STDOUT_FILENO)
    close (output->fd);
  free (output);
}
