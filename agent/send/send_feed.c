/* See send_feed.h.
 *
 *   start --ends, or says nothing for long--> pause of 0.5 s, 1 s, ... 30 s --> start */
#include "agent/send/send_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/send/send_child.h"
#include "synop/child.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/frame.h"
#include "synop/globs.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/send_retry.h"

#define FRAMES_MOST 1024
#define BYTES_MOST ((size_t) 8 * 1024 * 1024)
#define PAUSE_MOST (30 * NS_PER_S)
#define SILENCE_MOST (300 * NS_PER_S) /* a request takes 30 s, keys of roles some more */
#define END_PATIENCE (3 * NS_PER_S)
#define REAP_EVERY (20 * NS_PER_MS)
#define REAP_TRIES 100 /* at the end: one that hangs in the kernel is left to it */
#define DROPPED_LOG_EVERY (600 * NS_PER_S)

/* As it goes over the pipe, its length before it. */
struct kept_frame {
  uint64_t sequence;
  char *bytes;
  size_t length;
};

struct send_feed {
  struct send_feed_options options;
  const struct send_settings *settings;
  char *config;
  struct globs groups;
  struct table *facts; /* for each group of the schema, where it is sampled once */
  int64_t *sent_ns;    /* for each: when what was sent last was sampled, CLOCK_MONOTONIC */
  uint64_t sequence;
  struct buffer frame;

  struct kept_frame frames[FRAMES_MOST]; /* the oldest first */
  size_t count, bytes;
  size_t next, part; /* which one is sent next, and how much of it was */
  uint64_t dropped;  /* and not logged */
  int64_t dropped_logged_ns;

  struct child child;
  struct loop_watch *input, *output;
  struct loop_timer *timer;
  struct send_retry retry;
  int64_t start_ns, heard_ns, patience_ns; /* for how long it may say nothing */
  bool ends;                               /* it was killed, or has closed its output */
};

/* ---- frames that are kept ---- */

static void
forget (struct send_feed *feed, size_t at)
{
  feed->bytes -= feed->frames[at].length;
  free (feed->frames[at].bytes);
  feed->count--;
  memmove (&feed->frames[at], &feed->frames[at + 1], (feed->count - at) * sizeof feed->frames[0]);
  feed->next -= at < feed->next;
}

static void
count_dropped (struct send_feed *feed)
{
  int64_t now_ns = clock_monotonic ();

  feed->dropped++;
  if (feed->dropped_logged_ns && now_ns < feed->dropped_logged_ns + DROPPED_LOG_EVERY)
    return;
  log_warning ("send cloudwatch: %" PRIu64 " frames were dropped: more wait than are kept", feed->dropped);
  feed->dropped_logged_ns = now_ns;
  feed->dropped = 0;
}

/* One of which a part was sent stays. */
static void
make_room (struct send_feed *feed, size_t length)
{
  while (feed->count && (feed->count == FRAMES_MOST || feed->bytes + length > BYTES_MOST)) {
    size_t oldest = feed->next == 0 && feed->part ? 1 : 0;
    if (oldest == feed->count)
      return;
    if (oldest >= feed->next)
      count_dropped (feed);
    forget (feed, oldest);
  }
}

static void
keep (struct send_feed *feed)
{
  const uint32_t length = (uint32_t) feed->frame.length;
  struct kept_frame *kept;

  make_room (feed, sizeof length + length);
  kept = &feed->frames[feed->count++];
  *kept = (struct kept_frame){ feed->sequence, memory_new (1, sizeof length + length), sizeof length + length };
  memcpy (kept->bytes, &length, sizeof length);
  memcpy (kept->bytes + sizeof length, feed->frame.data, length);
  feed->bytes += kept->length;
}

/* ---- the pipe ---- */

static void
send_frames (struct send_feed *feed)
{
  while (feed->input && feed->next < feed->count) {
    const struct kept_frame *frame = &feed->frames[feed->next];
    ssize_t sent =
        send (feed->child.in, frame->bytes + feed->part, frame->length - feed->part, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
      break;
    feed->part += (size_t) sent;
    if (feed->part == frame->length) {
      feed->part = 0;
      feed->next++;
    }
  }
  if (feed->input)
    loop_watch_change (feed->input, feed->next < feed->count ? EPOLLOUT : 0);
}

static void
leave_input (struct send_feed *feed)
{
  loop_watch_remove (feed->input);
  feed->input = NULL;
}

static void
input_ready (void *context, uint32_t events)
{
  struct send_feed *feed = context;

  if (events & (EPOLLHUP | EPOLLERR))
    leave_input (feed); /* it reads no more */
  else
    send_frames (feed);
}

static void
end_child (struct send_feed *feed)
{
  child_kill (&feed->child);
  feed->ends = true;
  loop_timer_set (feed->timer, clock_monotonic ());
}

/* Which frames were taken. */
static void
output_ready (void *context, uint32_t events)
{
  struct send_feed *feed = context;
  uint64_t taken[64];
  ssize_t got = read (feed->child.out, taken, sizeof taken);

  (void) events;
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got < (ssize_t) sizeof taken[0]) {
    loop_watch_remove (feed->output);
    feed->output = NULL;
    end_child (feed);
    return;
  }
  feed->heard_ns = clock_monotonic ();
  while (feed->count && feed->next && feed->frames[0].sequence <= taken[(size_t) got / sizeof taken[0] - 1]) {
    forget (feed, 0);
    send_retry_done (&feed->retry);
  }
}

/* ---- the child ---- */

static int
options_open (const char *text)
{
  int fd = memfd_create ("synop-agent.ini", MFD_CLOEXEC);
  size_t length = strlen (text);

  if (fd >= 0 && write (fd, text, length) != (ssize_t) length)
    file_close (&fd);
  return fd;
}

static void
plan_start (struct send_feed *feed, const char *why)
{
  int64_t pause_ns = send_retry_pause (&feed->retry, 0);

  if (*why)
    log_warning ("send cloudwatch: the child %s; another one starts in %.1f s, and what was not taken goes once more",
                 why, (double) pause_ns / NS_PER_S);
  feed->start_ns = clock_monotonic () + pause_ns;
  loop_timer_set (feed->timer, feed->start_ns);
}

static void
start_child (struct send_feed *feed)
{
  static const char *const words[] = { "synop-agent", SEND_CHILD_WORD, NULL };
  struct child_program program = { .path = "/proc/self/exe", .words = words, .listens = true, .shares_error = true };
  int failed;

  program.extra = options_open (feed->config);
  failed = program.extra < 0 || child_start (&feed->child, &program) < 0 ? errno : 0;
  file_close (&program.extra);
  if (failed) {
    char why[128];
    snprintf (why, sizeof why, "cannot be started: %s", strerror (failed));
    plan_start (feed, why);
    return;
  }
  feed->ends = false;
  feed->patience_ns = SILENCE_MOST;
  feed->next = feed->part = 0;
  feed->heard_ns = clock_monotonic ();
  feed->input = loop_watch_add (feed->options.loop, feed->child.in, 0, input_ready, feed);
  feed->output = loop_watch_add (feed->options.loop, feed->child.out, EPOLLIN, output_ready, feed);
  send_frames (feed);
  loop_timer_set (feed->timer, feed->heard_ns + SILENCE_MOST);
}

static void
leave_pipes (struct send_feed *feed)
{
  leave_input (feed);
  loop_watch_remove (feed->output);
  feed->output = NULL;
}

static void
child_ended (struct send_feed *feed, int status)
{
  char why[64] = "";

  if (status >= 0 && WIFSIGNALED (status))
    snprintf (why, sizeof why, "was ended by signal %d", WTERMSIG (status));
  else if (status >= 0 && WEXITSTATUS (status))
    snprintf (why, sizeof why, "ended with exit code %d", WEXITSTATUS (status));
  plan_start (feed, why);
}

static void
feed_turn (void *context, int64_t due_ns)
{
  struct send_feed *feed = context;
  int64_t now_ns = clock_monotonic ();
  int status;

  (void) due_ns;
  if (!feed->child.pid) {
    start_child (feed);
    return;
  }
  if (!feed->ends && now_ns - feed->heard_ns >= feed->patience_ns)
    end_child (feed);
  if (!feed->ends) {
    loop_timer_set (feed->timer, feed->heard_ns + feed->patience_ns);
    return;
  }
  leave_pipes (feed);
  if (child_reap (&feed->child, &status))
    child_ended (feed, status);
  else
    loop_timer_set (feed->timer, now_ns + REAP_EVERY);
}

/* ---- samples ---- */

/* Has a period passed since it was sent, to the nearest sample? */
static bool
is_due (struct send_feed *feed, const struct table *table, size_t group, int64_t now_ns)
{
  int64_t *sent_ns = &feed->sent_ns[group];

  if (*sent_ns && now_ns - *sent_ns < feed->settings->period_ns - table->period_ns / 2)
    return false;
  *sent_ns = now_ns;
  return true;
}

/* Those that are asked for, once in each period; and all facts. */
static size_t
choose_tables (struct send_feed *feed, const struct sample *sample, const struct table **chosen)
{
  const struct schema *schema = feed->options.schema;
  size_t count = 0;

  for (size_t i = 0; i < sample->count; i++) {
    const struct table *table = sample->tables[i];
    size_t group = 0;
    while (schema->groups[group] != table->group)
      group++;
    if (table->group->flags & GROUP_ONCE) {
      table_copy (&feed->facts[group], table);
    } else if (globs_match (&feed->groups, table->group->name) && is_due (feed, table, group, sample->monotonic_ns)) {
      chosen[count++] = table;
    }
  }
  for (size_t i = 0; count && i < schema->group_count; i++)
    if (feed->facts[i].monotonic_ns)
      chosen[count++] = &feed->facts[i];
  return count;
}

void
send_feed_take (struct send_feed *feed, const struct sample *sample)
{
  const struct table *chosen[SCHEMA_GROUPS_MAX];
  struct frame_header header = { .session = feed->options.session,
                                 .monotonic_ns = sample->monotonic_ns,
                                 .wall_ns = sample->wall_ns };
  size_t count = choose_tables (feed, sample, chosen);

  if (!count)
    return;
  header.sequence = ++feed->sequence;
  snprintf (header.node, sizeof header.node, "%s", feed->options.node);
  memcpy (header.schema, feed->options.schema->hash, SCHEMA_HASH_SIZE);
  buffer_clear (&feed->frame);
  frame_write (&feed->frame, &header, feed->options.schema, chosen, count);
  keep (feed);
  send_frames (feed);
}

/* ---- its life ---- */

static void
set_config (struct send_feed *feed, const char *config)
{
  free (feed->config);
  feed->config = memory_string (config);
  globs_free (&feed->groups);
  globs_init (&feed->groups, feed->settings->groups);
}

struct send_feed *
send_feed_create (const struct send_feed_options *options, const struct send_settings *settings, const char *config)
{
  struct send_feed *feed = memory_new (1, sizeof *feed);

  feed->options = *options;
  feed->settings = settings;
  feed->retry.most_ns = PAUSE_MOST;
  feed->facts = memory_new (options->schema->group_count, sizeof *feed->facts);
  feed->sent_ns = memory_new (options->schema->group_count, sizeof *feed->sent_ns);
  for (size_t i = 0; i < options->schema->group_count; i++)
    table_init (&feed->facts[i], options->schema->groups[i]);
  set_config (feed, config);
  feed->timer = loop_timer_add (options->loop, feed_turn, feed);
  loop_timer_set (feed->timer, clock_monotonic ());
  return feed;
}

/* It posts what it has, and ends: its output says so. */
void
send_feed_change (struct send_feed *feed, const char *config)
{
  set_config (feed, config);
  send_retry_done (&feed->retry);
  if (!feed->child.pid)
    return;
  leave_input (feed);
  shutdown (feed->child.in, SHUT_WR);
  feed->heard_ns = clock_monotonic ();
  feed->patience_ns = END_PATIENCE;
  loop_timer_set (feed->timer, feed->heard_ns + feed->patience_ns);
}

static void
wait_for_end (struct send_feed *feed)
{
  int64_t until_ns = clock_monotonic () + END_PATIENCE, left_ns = END_PATIENCE;
  struct pollfd output = { .fd = feed->child.out, .events = POLLIN };

  shutdown (feed->child.in, SHUT_WR);
  while (feed->output && left_ns > 0) {
    if (poll (&output, 1, (int) (left_ns / NS_PER_MS) + 1) > 0)
      output_ready (feed, 0);
    left_ns = until_ns - clock_monotonic ();
  }
}

void
send_feed_destroy (struct send_feed *feed)
{
  int status;

  if (!feed)
    return;
  if (feed->child.pid)
    wait_for_end (feed);
  leave_pipes (feed);
  child_kill (&feed->child);
  for (int i = 0; i < REAP_TRIES && feed->child.pid && !child_reap (&feed->child, &status); i++)
    nanosleep (&(struct timespec){ .tv_nsec = REAP_EVERY }, NULL);
  loop_timer_remove (feed->timer);
  while (feed->count)
    forget (feed, 0);
  for (size_t i = 0; i < feed->options.schema->group_count; i++)
    table_free (&feed->facts[i]);
  globs_free (&feed->groups);
  buffer_free (&feed->frame);
  free (feed->config);
  free (feed->facts);
  free (feed->sent_ns);
  free (feed);
}
