/* Keeps neuron-monitor running; see neuron_keeper.h.
 *
 *   start --reports--> runs --ends, no report for long, or only other lines--> pause of 1 s, 2 s, ... 60 s --> start
 *
 * A process that ends before its first report is started without our configuration the next time: an older version may
 * not know it, and ends then. The keeper waits for one that cannot be reaped (it hangs in the driver): there is never more
 * than one. */
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
#define READS_AT_ONCE 4        /* then the other descriptors are served */
#define FLOOD (READ_BYTES / 2) /* after so much at once reading pauses: a process that writes too much waits */
#define REST 5                 /* ms */
#define BABBLE_MAX 100         /* lines in a row that are no reports */
#define FIRST_PAUSE NS_PER_S
#define LAST_PAUSE (60 * NS_PER_S)
#define GOOD_LIFE (60 * NS_PER_S)      /* after a run of that length the pauses begin with the first again */
#define CLOSED_PATIENCE (NS_PER_S / 2) /* mostly the process ends right after its output */
#define END_PATIENCE 500               /* ms, when the agent stops */
#define STDERR_PERIOD (60 * NS_PER_S)
#define STDERR_LINES 3   /* lines of its standard error in the log, in that time */
#define STDERR_BYTES 256 /* of a line */

/* A stream in pieces, to be split into lines. */
struct lines {
  struct buffer buffer;
  bool skipping; /* the rest of one that was too long */
};

struct neuron_keeper {
  char *command, *configuration;
  struct neuron_listener listener;
  struct neuron_child child;
  bool killed;         /* but not reaped yet */
  bool plain;          /* started without our configuration */
  bool reported;       /* this process has given a report */
  bool trouble_logged; /* since it last ran well */
  bool flooded;        /* FLOOD was read at once */
  unsigned babble;
  int64_t started_ns, start_ns, pause_ns;
  int64_t active_ns; /* time of its start, or of its last report */
  int64_t closed_ns; /* when its output ended */
  struct lines out, err;
  int64_t stderr_ns;
  unsigned stderr_lines;
};

/* ---- its output ---- */

/* Warns once until it has run well for a while: repeated failures are no news. */
static void
trouble_log (struct neuron_keeper *keeper, const char *trouble)
{
  if (keeper->trouble_logged)
    log_debug ("neuron-monitor: %s", trouble);
  else
    log_warning ("neuron-monitor: %s", trouble);
  keeper->trouble_logged = true;
  keeper->listener.trouble (keeper->listener.context, trouble);
}

static void
monitor_kill (struct neuron_keeper *keeper, const char *why)
{
  if (keeper->killed)
    return;
  trouble_log (keeper, why);
  child_kill (&keeper->child.child);
  keeper->killed = true;
}

static void
line_take (struct neuron_keeper *keeper, const char *line, size_t length)
{
  if (keeper->listener.line (keeper->listener.context, line, length) < 0) {
    if (++keeper->babble == BABBLE_MAX)
      monitor_kill (keeper, "writes lines that are no reports");
    return;
  }
  keeper->active_ns = clock_monotonic ();
  if (keeper->trouble_logged && keeper->active_ns - keeper->started_ns > GOOD_LIFE) {
    log_info ("neuron-monitor: fine again");
    keeper->trouble_logged = false;
  }
  keeper->reported = true;
  keeper->babble = 0;
}

/* Lines of its standard error go into our log while they are few. */
static void
stderr_log (struct neuron_keeper *keeper, const char *line, size_t length)
{
  int64_t now_ns = clock_monotonic ();

  if (length == 0)
    return;
  if (keeper->stderr_ns == 0 || now_ns - keeper->stderr_ns > STDERR_PERIOD) {
    keeper->stderr_ns = now_ns;
    keeper->stderr_lines = 0;
  }
  if (keeper->stderr_lines++ < STDERR_LINES)
    log_info ("neuron-monitor says: %.*s", (int) (length < STDERR_BYTES ? length : STDERR_BYTES), line);
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
      monitor_kill (keeper, "writes a line without an end");
    lines->skipping = true;
    buffer_clear (buffer);
  }
}

/* Reads what is there now, within limits. False at the end of the stream. */
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

/* Plans the next start after a pause, which grows until it runs well. */
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

  keeper->started_ns = keeper->active_ns = now_ns;
  keeper->reported = keeper->killed = false;
  keeper->babble = 0;
  if (neuron_child_start (&keeper->child, keeper->command, keeper->plain ? NULL : keeper->configuration, &error) < 0) {
    trouble_log (keeper, error.text);
    start_plan (keeper, now_ns);
  }
}

static void
monitor_read (struct neuron_keeper *keeper)
{
  struct child *child = &keeper->child.child;

  if (child->err >= 0 && !pipe_read (keeper, child->err, &keeper->err, stderr_log)) {
    file_close (&child->err);
  }
  if (child->out >= 0 && !pipe_read (keeper, child->out, &keeper->out, line_take)) {
    file_close (&child->out);
    keeper->closed_ns = clock_monotonic ();
  }
}

static void
monitor_ended (struct neuron_keeper *keeper, const char *end, int64_t now_ns)
{
  lines_clear (&keeper->out);
  lines_clear (&keeper->err);
  if (!keeper->reported && keeper->configuration)
    keeper->plain = !keeper->plain;
  start_plan (keeper, now_ns);
  if (!keeper->killed)
    trouble_log (keeper, end);
}

void
neuron_keeper_step (struct neuron_keeper *keeper, int64_t patience_ns)
{
  int64_t now_ns = clock_monotonic ();
  char end[64];

  if (!keeper->child.child.pid) {
    if (now_ns >= keeper->start_ns)
      monitor_start (keeper, now_ns);
    return;
  }
  monitor_read (keeper);
  if (neuron_child_reap (&keeper->child, end, sizeof end))
    monitor_ended (keeper, end, now_ns);
  else if (keeper->child.child.out < 0 && now_ns - keeper->closed_ns > CLOSED_PATIENCE)
    monitor_kill (keeper, "has closed its output");
  else if (now_ns - keeper->active_ns > 4 * patience_ns)
    monitor_kill (keeper, "gives no reports; it is restarted");
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
  char end[64];

  child_kill (&keeper->child.child);
  for (int i = 0; keeper->child.child.pid && i < END_PATIENCE / 5; i++)
    if (!neuron_child_reap (&keeper->child, end, sizeof end))
      nanosleep (&(struct timespec){ .tv_nsec = 5 * NS_PER_MS }, NULL);
}

struct neuron_keeper *
neuron_keeper_create (const char *command, const char *configuration, const struct neuron_listener *listener)
{
  struct neuron_keeper *keeper = memory_new (1, sizeof *keeper);

  keeper->command = memory_string (command);
  keeper->configuration = memory_string (configuration);
  keeper->listener = *listener;
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
