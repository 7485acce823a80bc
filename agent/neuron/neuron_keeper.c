/* Keeps neuron-monitor running; see neuron_keeper.h.
 *
 *   start --reports--> it speaks --ends, or says nothing for long, or only babble--> pause of 1 s, 2 s, ... 60 s --> start
 *
 * A process that ends before its first report is started without our configuration the next time: an older one may not
 * know it, and ends then. One that cannot be reaped (it hangs in the driver) is waited for: there is never more than
 * one. */
#include "agent/neuron/neuron_keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/neuron/neuron_child.h"
#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"

#define LINE_MAX_BYTES ((size_t) 4 * 1024 * 1024)
#define READ_BYTES ((size_t) 64 * 1024)
#define READS_AT_ONCE 4        /* then other things are looked at */
#define FLOOD (READ_BYTES / 2) /* after so much at once it rests for a while: who says too much waits */
#define REST 5                 /* ms */
#define BABBLE_MAX 100         /* lines in a row that are no reports */
#define FIRST_PAUSE NS_PER_S
#define LAST_PAUSE (60 * NS_PER_S)
#define GOOD_LIFE (60 * NS_PER_S)      /* who ran that long is started again after the first pause */
#define CLOSED_PATIENCE (NS_PER_S / 2) /* output ends right before the process, mostly */
#define END_PATIENCE 500               /* ms, when the agent stops */
#define WORDS_PERIOD (60 * NS_PER_S)
#define WORDS_MAX 3     /* lines of its standard error in the log, in that time */
#define WORDS_BYTES 256 /* of each */

/* Lines of a stream that come in pieces. */
struct lines {
  struct buffer buffer;
  bool skipping; /* the rest of one that was too long */
};

struct neuron_keeper {
  char *command, *configuration;
  struct neuron_ear ear;
  struct neuron_child child;
  bool killed;       /* and not reaped yet */
  bool plain;        /* started without our configuration */
  bool reported;     /* this process has given a report */
  bool told_trouble; /* in the log, until it lives well */
  bool flooded;      /* much was read at once */
  unsigned babble;
  int64_t started_ns, start_ns, pause_ns;
  int64_t heard_ns;  /* its start, or its last report */
  int64_t closed_ns; /* when its output ended */
  struct lines out, err;
  int64_t words_ns;
  unsigned words;
};

/* ---- what it says ---- */

/* Told once, until it has lived well for a while: one that fails again and again is no news. */
static void
trouble_tell (struct neuron_keeper *keeper, const char *trouble)
{
  if (keeper->told_trouble)
    log_debug ("neuron-monitor: %s", trouble);
  else
    log_warning ("neuron-monitor: %s", trouble);
  keeper->told_trouble = true;
  keeper->ear.trouble (keeper->ear.context, trouble);
}

static void
monitor_kill (struct neuron_keeper *keeper, const char *why)
{
  if (keeper->killed)
    return;
  trouble_tell (keeper, why);
  child_kill (&keeper->child.child);
  keeper->killed = true;
}

static void
line_take (struct neuron_keeper *keeper, const char *line, size_t length)
{
  if (keeper->ear.line (keeper->ear.context, line, length) < 0) {
    if (++keeper->babble == BABBLE_MAX)
      monitor_kill (keeper, "says what is no report");
    return;
  }
  keeper->heard_ns = clock_monotonic ();
  if (keeper->told_trouble && keeper->heard_ns - keeper->started_ns > GOOD_LIFE) {
    log_info ("neuron-monitor: fine again");
    keeper->told_trouble = false;
  }
  keeper->reported = true;
  keeper->babble = 0;
}

/* Words to its standard error, which stand in our log as long as they are few. */
static void
words_tell (struct neuron_keeper *keeper, const char *line, size_t length)
{
  int64_t now_ns = clock_monotonic ();

  if (length == 0)
    return;
  if (keeper->words_ns == 0 || now_ns - keeper->words_ns > WORDS_PERIOD) {
    keeper->words_ns = now_ns;
    keeper->words = 0;
  }
  if (keeper->words++ < WORDS_MAX)
    log_info ("neuron-monitor says: %.*s", (int) (length < WORDS_BYTES ? length : WORDS_BYTES), line);
}

static void
lines_split (struct neuron_keeper *keeper, struct lines *lines,
             void (*take) (struct neuron_keeper *, const char *, size_t))
{
  struct buffer *buffer = &lines->buffer;
  size_t from = 0;
  char *newline;

  while (from < buffer->length && (newline = memchr (buffer->data + from, '\n', buffer->length - from))) {
    size_t end = (size_t) (newline - buffer->data);

    if (!lines->skipping)
      take (keeper, buffer->data + from, end - from);
    lines->skipping = false;
    from = end + 1;
  }
  if (from > 0)
    memmove (buffer->data, buffer->data + from, buffer->length - from);
  buffer->length -= from;
  if (lines->skipping || buffer->length > LINE_MAX_BYTES) {
    if (!lines->skipping && take == line_take)
      monitor_kill (keeper, "says a line without an end");
    lines->skipping = true;
    buffer_clear (buffer);
  }
}

/* What is there now, but not for ever. False at its end. */
static bool
pipe_read (struct neuron_keeper *keeper, int fd, struct lines *lines,
           void (*take) (struct neuron_keeper *, const char *, size_t))
{
  for (int i = 0; i < READS_AT_ONCE; i++) {
    char *room = buffer_reserve (&lines->buffer, READ_BYTES);
    size_t before = lines->buffer.length;
    ssize_t got = read (fd, room, READ_BYTES);

    if (got <= 0)
      return got < 0 && (errno == EAGAIN || errno == EINTR);
    lines->buffer.length += (size_t) got;
    keeper->flooded |= (size_t) got >= FLOOD;
    if (lines->skipping || memchr (lines->buffer.data + before, '\n', (size_t) got) ||
        lines->buffer.length > LINE_MAX_BYTES)
      lines_split (keeper, lines, take);
  }
  return true;
}

static void
lines_clear (struct lines *lines)
{
  buffer_free (&lines->buffer);
  *lines = (struct lines){ 0 };
}

/* ---- its life ---- */

/* The next start, after a pause that grows as long as it does not live. */
static void
start_plan (struct neuron_keeper *keeper, int64_t now_ns)
{
  if (keeper->reported && now_ns - keeper->started_ns > GOOD_LIFE)
    keeper->pause_ns = FIRST_PAUSE;
  keeper->start_ns = now_ns + keeper->pause_ns;
  keeper->pause_ns = keeper->pause_ns * 2 < LAST_PAUSE ? keeper->pause_ns * 2 : LAST_PAUSE;
}

static void
monitor_start (struct neuron_keeper *keeper, int64_t now_ns)
{
  struct error error;

  keeper->started_ns = keeper->heard_ns = now_ns;
  keeper->reported = keeper->killed = false;
  keeper->babble = 0;
  if (neuron_child_start (&keeper->child, keeper->command, keeper->plain ? NULL : keeper->configuration, &error) < 0) {
    trouble_tell (keeper, error.text);
    start_plan (keeper, now_ns);
  }
}

static void
monitor_read (struct neuron_keeper *keeper)
{
  struct child *child = &keeper->child.child;

  if (child->err >= 0 && !pipe_read (keeper, child->err, &keeper->err, words_tell)) {
    file_close (&child->err);
  }
  if (child->out >= 0 && !pipe_read (keeper, child->out, &keeper->out, line_take)) {
    file_close (&child->out);
    keeper->closed_ns = clock_monotonic ();
  }
}

static void
monitor_ended (struct neuron_keeper *keeper, const char *how, int64_t now_ns)
{
  lines_clear (&keeper->out);
  lines_clear (&keeper->err);
  if (!keeper->reported && keeper->configuration)
    keeper->plain = !keeper->plain;
  start_plan (keeper, now_ns);
  if (!keeper->killed)
    trouble_tell (keeper, how);
}

void
neuron_keeper_look (struct neuron_keeper *keeper, int64_t patience_ns)
{
  int64_t now_ns = clock_monotonic ();
  char how[64];

  if (!keeper->child.child.pid) {
    if (now_ns >= keeper->start_ns)
      monitor_start (keeper, now_ns);
    return;
  }
  monitor_read (keeper);
  if (neuron_child_reap (&keeper->child, how, sizeof how))
    monitor_ended (keeper, how, now_ns);
  else if (keeper->child.child.out < 0 && now_ns - keeper->closed_ns > CLOSED_PATIENCE)
    monitor_kill (keeper, "has closed its output");
  else if (now_ns - keeper->heard_ns > 4 * patience_ns)
    monitor_kill (keeper, "says nothing; it is started again");
}

void
neuron_keeper_wait (struct neuron_keeper *keeper, int wake)
{
  const struct child *child = &keeper->child.child;
  int64_t wait_ns = child->pid ? NS_PER_S : keeper->start_ns - clock_monotonic ();
  struct pollfd fds[] = { { .fd = wake, .events = POLLIN },
                          { .fd = child->pid ? child->out : -1, .events = POLLIN },
                          { .fd = child->pid ? child->err : -1, .events = POLLIN },
                          { .fd = child->pid ? keeper->child.pidfd : -1, .events = POLLIN } };

  if (keeper->flooded)
    poll (fds, 1, REST);
  keeper->flooded = false;
  poll (fds, 4, wait_ns > 0 ? (int) (wait_ns / NS_PER_MS) + 1 : 0);
}

void
neuron_keeper_end (struct neuron_keeper *keeper)
{
  char how[64];

  child_kill (&keeper->child.child);
  for (int i = 0; keeper->child.child.pid && i < END_PATIENCE / 5; i++)
    if (!neuron_child_reap (&keeper->child, how, sizeof how))
      nanosleep (&(struct timespec){ .tv_nsec = 5 * NS_PER_MS }, NULL);
}

struct neuron_keeper *
neuron_keeper_create (const char *command, const char *configuration, const struct neuron_ear *ear)
{
  struct neuron_keeper *keeper = memory_new (1, sizeof *keeper);

  keeper->command = memory_string (command);
  keeper->configuration = memory_string (configuration);
  keeper->ear = *ear;
  keeper->child.pidfd = -1;
  keeper->pause_ns = FIRST_PAUSE;
  return keeper;
}

void
neuron_keeper_destroy (struct neuron_keeper *keeper)
{
  lines_clear (&keeper->out);
  lines_clear (&keeper->err);
  free (keeper->command);
  free (keeper->configuration);
  free (keeper);
}
