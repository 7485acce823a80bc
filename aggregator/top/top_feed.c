/* See top_feed.h. */
#include "aggregator/top/top_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

#define READ_AT_ONCE (256 * 1024)
#define LINE_MAX_BYTES (256 * 1024 * 1024)
#define RETRY_FIRST (250 * NS_PER_MS)
#define RETRY_LAST (2 * NS_PER_S)

struct feed {
  struct feed_options options;
  char *request;
  int fd; /* -1: none */
  struct loop_watch *watch;
  struct loop_timer *timer;
  struct buffer lines;
  int64_t retry_ns;
  bool answered; /* a line came on this connection */
};

static void
feed_close (struct feed *feed)
{
  loop_watch_remove (feed->watch);
  feed->watch = NULL;
  file_close (&feed->fd);
  buffer_clear (&feed->lines);
}

/* After an answer the next one is due; without one it is tried again, less often each time. */
static void
feed_end (struct feed *feed, const char *why)
{
  int64_t wait = feed->answered && !*why ? feed->options.again_ns : feed->retry_ns;

  feed_close (feed);
  feed->retry_ns = feed->answered ? RETRY_FIRST : feed->retry_ns * 2 > RETRY_LAST ? RETRY_LAST : feed->retry_ns * 2;
  loop_timer_set (feed->timer, clock_monotonic () + wait);
  feed->options.end (feed->options.context, why);
}

/* Gives out the complete lines. False: the aggregator refused, and the feed has ended. */
static bool
feed_lines (struct feed *feed)
{
  char *at = feed->lines.data, *stop = at + feed->lines.length, *end;

  while ((end = memchr (at, '\n', (size_t) (stop - at)))) {
    if (end - at >= 6 && memcmp (at, "error ", 6) == 0) {
      char *why = memory_copy (at + 6, (size_t) (end - at - 6));
      feed->answered = false;
      feed_end (feed, why);
      free (why);
      return false;
    }
    feed->answered = true;
    feed->options.line (feed->options.context, at, (size_t) (end - at));
    at = end + 1;
  }
  feed->lines.length = (size_t) (stop - at);
  memmove (feed->lines.data, at, feed->lines.length);
  return true;
}

static void
feed_read (void *context, uint32_t events)
{
  struct feed *feed = context;
  ssize_t got;

  (void) events;
  do {
    got = recv (feed->fd, buffer_reserve (&feed->lines, READ_AT_ONCE), READ_AT_ONCE, MSG_DONTWAIT);
    if (got > 0)
      feed->lines.length += (size_t) got;
  } while (got == READ_AT_ONCE && feed->lines.length < LINE_MAX_BYTES);
  if (feed->lines.length && !feed_lines (feed))
    return;
  if (got == 0)
    feed_end (feed, "");
  else if (got < 0 && errno != EAGAIN && errno != EINTR)
    feed_end (feed, strerror (errno));
  else if (feed->lines.length >= LINE_MAX_BYTES)
    feed_end (feed, "a line is too long");
}

static void
feed_ask (void *context, int64_t due_ns)
{
  struct feed *feed = context;
  struct error error;

  (void) due_ns;
  feed->answered = false;
  feed->fd = reach_begin (feed->options.reach, feed->request, &error);
  if (feed->fd < 0)
    feed_end (feed, error.text);
  else
    feed->watch = loop_watch_add (feed->options.loop, feed->fd, EPOLLIN, feed_read, feed);
}

struct feed *
feed_create (const struct feed_options *options, const char *request)
{
  struct feed *feed = memory_new (1, sizeof *feed);

  feed->options = *options;
  feed->request = memory_string (request);
  feed->fd = -1;
  feed->retry_ns = RETRY_FIRST;
  feed->timer = loop_timer_add (options->loop, feed_ask, feed);
  loop_timer_set (feed->timer, clock_monotonic ());
  return feed;
}

void
feed_destroy (struct feed *feed)
{
  if (!feed)
    return;
  feed_close (feed);
  loop_timer_remove (feed->timer);
  buffer_free (&feed->lines);
  free (feed->request);
  free (feed);
}
