/* See outlet.h. Lines are shared, so the queue holds pointers: a ring that grows by doubling, bounded by the bytes. */
#include "aggregator/stream/outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "aggregator/core/event.h"
#include "synop/clock.h"
#include "synop/json.h"
#include "synop/memory.h"

#define LINES_AT_ONCE 64
#define LINE_MAX_BYTES ((size_t) 64 * 1024 * 1024)
#define LINE_COST 64 /* memory of a queued line beside its text, roughly */

struct outlet {
  int fd;
  enum outlet_kind kind;
  size_t queue_bytes, queued;
  struct line **lines; /* ring */
  size_t capacity, first, count;
  size_t written; /* bytes of the first line */
  uint64_t dropped, *dropped_total;
};

struct line *
line_create (const char *text, size_t length)
{
  struct line *line = memory_resize (NULL, 1, sizeof *line + length);

  line->users = 1;
  line->length = length;
  if (length)
    memcpy (line->text, text, length);
  return line;
}

void
line_release (struct line *line)
{
  if (line && --line->users == 0)
    free (line);
}

struct outlet *
outlet_create (int fd, enum outlet_kind kind, size_t queue_bytes, uint64_t *dropped)
{
  struct outlet *outlet = memory_new (1, sizeof *outlet);

  outlet->fd = fd;
  outlet->kind = kind;
  outlet->queue_bytes = queue_bytes;
  outlet->dropped_total = dropped;
  return outlet;
}

static struct line *
line_at (const struct outlet *outlet, size_t index)
{
  return outlet->lines[(outlet->first + index) & (outlet->capacity - 1)];
}

static void
remove_first (struct outlet *outlet)
{
  struct line *line = line_at (outlet, 0);

  outlet->queued -= line->length + LINE_COST;
  outlet->first = (outlet->first + 1) & (outlet->capacity - 1);
  outlet->count--;
  outlet->written = 0;
  line_release (line);
}

void
outlet_destroy (struct outlet *outlet)
{
  if (!outlet)
    return;
  while (outlet->count)
    remove_first (outlet);
  free (outlet->lines);
  free (outlet);
}

bool
outlet_empty (const struct outlet *outlet)
{
  return outlet->count == 0;
}

static void
grow (struct outlet *outlet)
{
  size_t capacity = outlet->capacity ? outlet->capacity * 2 : 16;
  struct line **lines = memory_new (capacity, sizeof lines[0]);

  for (size_t i = 0; i < outlet->count; i++)
    lines[i] = line_at (outlet, i);
  free (outlet->lines);
  outlet->lines = lines;
  outlet->capacity = capacity;
  outlet->first = 0;
}

static void
append (struct outlet *outlet, struct line *line)
{
  if (outlet->count == outlet->capacity)
    grow (outlet);
  outlet->lines[(outlet->first + outlet->count++) & (outlet->capacity - 1)] = line;
  outlet->queued += line->length + LINE_COST;
  line->users++;
}

/* A line that is larger than the whole queue would never fit: one such line may wait beside what is queued. */
void
outlet_put (struct outlet *outlet, struct line *line)
{
  size_t cost = line->length + LINE_COST;
  bool large = cost > outlet->queue_bytes;
  bool full = outlet->queued + (large ? 0 : cost) > outlet->queue_bytes || line->length > LINE_MAX_BYTES;

  if (full || outlet->dropped) { /* once lines are dropped, further ones are until the event about it is queued */
    outlet->dropped++;
    ++*outlet->dropped_total;
    return;
  }
  append (outlet, line);
}

static void
put_dropped_event (struct outlet *outlet)
{
  struct json json = { 0 };
  struct line *line;

  event_write (&json, &(struct event){ .type = EVENT_DROPPED, .wall_ns = clock_wall (), .count = outlet->dropped });
  line = line_create (json.out.data, json.out.length);
  append (outlet, line);
  line_release (line);
  json_free (&json);
  outlet->dropped = 0;
}

/* A pipe that polls as writable takes PIPE_BUF bytes without blocking; a non-blocking socket or file takes what it
 * can. */
static ssize_t
write_some (struct outlet *outlet, struct iovec *parts, int count)
{
  struct msghdr message = { .msg_iov = parts, .msg_iovlen = (size_t) count };

  if (outlet->kind == OUTLET_SOCKET)
    return sendmsg (outlet->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (outlet->kind == OUTLET_SHARED) {
    struct pollfd ready = { .fd = outlet->fd, .events = POLLOUT };
    if (poll (&ready, 1, 0) == 0) {
      errno = EAGAIN;
      return -1;
    }
    if (parts[0].iov_len > PIPE_BUF)
      parts[0].iov_len = PIPE_BUF;
    count = 1;
  }
  return writev (outlet->fd, parts, count);
}

static void
take_written (struct outlet *outlet, size_t written)
{
  while (outlet->count) {
    size_t left = line_at (outlet, 0)->length - outlet->written;
    if (written < left) {
      outlet->written += written;
      return;
    }
    written -= left;
    remove_first (outlet);
  }
}

int
outlet_flush (struct outlet *outlet)
{
  struct iovec parts[LINES_AT_ONCE];

  for (;;) {
    int count = 0;
    ssize_t written;
    if (outlet->dropped && outlet->queued <= outlet->queue_bytes / 2)
      put_dropped_event (outlet);
    if (outlet->count == 0)
      return 0;
    for (; count < LINES_AT_ONCE && (size_t) count < outlet->count; count++) {
      struct line *line = line_at (outlet, (size_t) count);
      size_t from = count == 0 ? outlet->written : 0;
      parts[count] = (struct iovec){ .iov_base = line->text + from, .iov_len = line->length - from };
    }
    written = write_some (outlet, parts, count);
    if (written >= 0)
      take_written (outlet, (size_t) written);
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return 1;
    else if (errno != EINTR)
      return -errno;
  }
}
