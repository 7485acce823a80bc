/* Keeps neuron-monitor running and reads it; see neuron_monitor.h.
 *
 *   start --reports--> it speaks --ends, or says nothing for long, or only babble--> pause of 1 s, 2 s, ... 60 s --> start
 *
 * A process that ends before its first report is started without our configuration the next time: an older one may not
 * know it, and ends then. One that cannot be reaped (it hangs in the driver) is waited for: there is never more than
 * one. */
#include "agent/neuron_monitor.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/neuron_child.h"
#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"

#define THREAD_STACK (1024 * 1024) /* JSON may be nested deep */
#define LINE_MAX_BYTES ((size_t) 4 * 1024 * 1024)
#define READ_BYTES ((size_t) 64 * 1024)
#define READS_AT_ONCE 4        /* then other things are looked at */
#define FLOOD (READ_BYTES / 2) /* after so much at once it rests for a while: who says too much waits */
#define REST 5                 /* ms */
#define BABBLE_MAX 100         /* lines in a row that are no reports */
#define FIRST_PAUSE NS_PER_S
#define LAST_PAUSE (60 * NS_PER_S)
#define GOOD_LIFE (60 * NS_PER_S)      /* who ran that long is started again after the first pause */
#define QUIET_MIN (5 * NS_PER_S)       /* the first report may take long */
#define CLOSED_PATIENCE (NS_PER_S / 2) /* output ends right before the process, mostly */
#define END_PATIENCE 500               /* ms, when the agent stops */
#define WORDS_PERIOD (60 * NS_PER_S)
#define WORDS_MAX 3 /* lines of its standard error in the log, in that time */

/* Lines of a stream that come in pieces. */
struct lines {
  struct buffer buffer;
  bool skipping; /* the rest of one that was too long */
};

struct neuron_monitor {
  char *command, *configuration;
  int64_t period_ns;
  int wake; /* eventfd: stop */
  pthread_t thread;
  bool running; /* the thread was made, and not joined */

  pthread_mutex_t lock; /* over what follows */
  pthread_cond_t told;
  struct neuron_reports reports;
  char reason[96]; /* why nothing is said; "" when all is well */
  bool quit;

  /* The thread's own. */
  struct neuron_child child;
  bool killed;       /* and not reaped yet */
  bool plain;        /* started without our configuration */
  bool reported;     /* this process has given a report */
  bool told_trouble; /* in the log, until it lives well */
  bool flooded;      /* much was read at once */
  unsigned babble;
  int64_t started_ns, start_ns, pause_ns;
  int64_t closed_ns; /* when its output ended */
  struct lines out, err;
  int64_t words_ns;
  unsigned words;
};

/* ---- what it says ---- */

static void
reason_set (struct neuron_monitor *monitor, const char *reason)
{
  pthread_mutex_lock (&monitor->lock);
  snprintf (monitor->reason, sizeof monitor->reason, "%s", reason);
  pthread_mutex_unlock (&monitor->lock);
}

/* Told once, until it has lived well for a while: one that fails again and again is no news. */
static void
trouble_tell (struct neuron_monitor *monitor, const char *trouble)
{
  if (monitor->told_trouble)
    log_debug ("neuron-monitor: %s", trouble);
  else
    log_warning ("neuron-monitor: %s", trouble);
  monitor->told_trouble = true;
  reason_set (monitor, trouble);
}

static void
child_kill (struct neuron_monitor *monitor, const char *why)
{
  if (monitor->killed)
    return;
  trouble_tell (monitor, why);
  neuron_child_kill (&monitor->child);
  monitor->killed = true;
}

static void
report_take (struct neuron_monitor *monitor, const char *line, size_t length)
{
  struct error error;
  json_t *report = neuron_report_parse (line, length, &error);
  int rc = -1;

  if (report) {
    pthread_mutex_lock (&monitor->lock);
    rc = neuron_reports_take (&monitor->reports, report, clock_monotonic (), &error);
    if (rc == 0) {
      monitor->reason[0] = '\0';
      pthread_cond_broadcast (&monitor->told);
    }
    pthread_mutex_unlock (&monitor->lock);
    json_decref (report);
  }
  if (rc == 0) {
    if (monitor->told_trouble && clock_monotonic () - monitor->started_ns > GOOD_LIFE) {
      log_info ("neuron-monitor: fine again");
      monitor->told_trouble = false;
    }
    monitor->reported = true;
    monitor->babble = 0;
    return;
  }
  log_debug ("neuron-monitor: %s", error.text);
  if (++monitor->babble == BABBLE_MAX)
    child_kill (monitor, "says what is no report");
}

/* Words to its standard error, which stand in our log as long as they are few. */
static void
words_tell (struct neuron_monitor *monitor, const char *line, size_t length)
{
  int64_t now_ns = clock_monotonic ();
  char text[256];

  if (length == 0)
    return;
  if (length >= sizeof text)
    length = sizeof text - 1;
  for (size_t i = 0; i < length; i++)
    text[i] = (unsigned char) line[i] < ' ' || line[i] == 0x7f ? ' ' : line[i];
  text[length] = '\0';
  if (monitor->words_ns == 0 || now_ns - monitor->words_ns > WORDS_PERIOD) {
    monitor->words_ns = now_ns;
    monitor->words = 0;
  }
  if (monitor->words++ < WORDS_MAX)
    log_info ("neuron-monitor says: %s", text);
}

static void
lines_split (struct neuron_monitor *monitor, struct lines *lines,
             void (*take) (struct neuron_monitor *, const char *, size_t))
{
  struct buffer *buffer = &lines->buffer;
  size_t from = 0;
  char *newline;

  while (from < buffer->length && (newline = memchr (buffer->data + from, '\n', buffer->length - from))) {
    size_t end = (size_t) (newline - buffer->data);

    if (!lines->skipping)
      take (monitor, buffer->data + from, end - from);
    lines->skipping = false;
    from = end + 1;
  }
  if (from > 0)
    memmove (buffer->data, buffer->data + from, buffer->length - from);
  buffer->length -= from;
  if (lines->skipping || buffer->length > LINE_MAX_BYTES) {
    if (!lines->skipping && take == report_take)
      child_kill (monitor, "says a line without an end");
    lines->skipping = true;
    buffer_clear (buffer);
  }
}

/* What is there now, but not for ever. False at its end. */
static bool
pipe_read (struct neuron_monitor *monitor, int fd, struct lines *lines,
           void (*take) (struct neuron_monitor *, const char *, size_t))
{
  for (int i = 0; i < READS_AT_ONCE; i++) {
    char *room = buffer_reserve (&lines->buffer, READ_BYTES);
    size_t before = lines->buffer.length;
    ssize_t got = read (fd, room, READ_BYTES);

    if (got <= 0)
      return got < 0 && (errno == EAGAIN || errno == EINTR);
    lines->buffer.length += (size_t) got;
    monitor->flooded |= (size_t) got >= FLOOD;
    if (lines->skipping || memchr (lines->buffer.data + before, '\n', (size_t) got) ||
        lines->buffer.length > LINE_MAX_BYTES)
      lines_split (monitor, lines, take);
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
start_plan (struct neuron_monitor *monitor, int64_t now_ns)
{
  if (monitor->reported && now_ns - monitor->started_ns > GOOD_LIFE)
    monitor->pause_ns = FIRST_PAUSE;
  monitor->start_ns = now_ns + monitor->pause_ns;
  monitor->pause_ns = monitor->pause_ns * 2 < LAST_PAUSE ? monitor->pause_ns * 2 : LAST_PAUSE;
}

static void
child_start (struct neuron_monitor *monitor, int64_t now_ns)
{
  struct error error;

  monitor->started_ns = now_ns;
  monitor->reported = monitor->killed = false;
  monitor->babble = 0;
  if (neuron_child_start (&monitor->child, monitor->command, monitor->plain ? NULL : monitor->configuration, &error) <
      0) {
    trouble_tell (monitor, error.text);
    start_plan (monitor, now_ns);
  }
}

static void
child_read (struct neuron_monitor *monitor)
{
  struct neuron_child *child = &monitor->child;

  if (child->err >= 0 && !pipe_read (monitor, child->err, &monitor->err, words_tell)) {
    close (child->err);
    child->err = -1;
  }
  if (child->out >= 0 && !pipe_read (monitor, child->out, &monitor->out, report_take)) {
    close (child->out);
    child->out = -1;
    monitor->closed_ns = clock_monotonic ();
  }
}

static void
child_ended (struct neuron_monitor *monitor, const char *how, int64_t now_ns)
{
  lines_clear (&monitor->out);
  lines_clear (&monitor->err);
  if (!monitor->reported && monitor->configuration)
    monitor->plain = !monitor->plain;
  start_plan (monitor, now_ns);
  if (!monitor->killed)
    trouble_tell (monitor, how);
}

/* Under the lock, or in the thread, which alone changes the reports. */
static int64_t
silence_max (const struct neuron_monitor *monitor)
{
  int64_t patience_ns = neuron_reports_patience (&monitor->reports);

  return patience_ns > 0 ? patience_ns : 3 * monitor->period_ns + QUIET_MIN;
}

static int64_t
last_word (const struct neuron_monitor *monitor)
{
  return monitor->reports.reported_ns > monitor->started_ns ? monitor->reports.reported_ns : monitor->started_ns;
}

/* Looks at the process after each wait. */
static void
child_look (struct neuron_monitor *monitor, int64_t now_ns)
{
  char how[64];

  child_read (monitor);
  if (neuron_child_reap (&monitor->child, how, sizeof how))
    child_ended (monitor, how, now_ns);
  else if (monitor->child.out < 0 && now_ns - monitor->closed_ns > CLOSED_PATIENCE)
    child_kill (monitor, "has closed its output");
  else if (now_ns - last_word (monitor) > 4 * silence_max (monitor))
    child_kill (monitor, "says nothing; it is started again");
}

static void
wait_for_more (struct neuron_monitor *monitor, int64_t now_ns)
{
  const struct neuron_child *child = &monitor->child;
  int64_t wait_ns = child->pid ? NS_PER_S : monitor->start_ns - now_ns;
  struct pollfd fds[] = { { .fd = monitor->wake, .events = POLLIN },
                          { .fd = child->pid ? child->out : -1, .events = POLLIN },
                          { .fd = child->pid ? child->err : -1, .events = POLLIN },
                          { .fd = child->pid ? child->pidfd : -1, .events = POLLIN } };

  if (monitor->flooded)
    poll (fds, 1, REST);
  monitor->flooded = false;
  poll (fds, 4, wait_ns > 0 ? (int) (wait_ns / NS_PER_MS) + 1 : 0);
}

static bool
is_quit (struct neuron_monitor *monitor)
{
  bool quit;

  pthread_mutex_lock (&monitor->lock);
  quit = monitor->quit;
  pthread_mutex_unlock (&monitor->lock);
  return quit;
}

static void
child_end (struct neuron_monitor *monitor)
{
  char how[64];

  neuron_child_kill (&monitor->child);
  for (int i = 0; monitor->child.pid && i < END_PATIENCE / 5; i++)
    if (!neuron_child_reap (&monitor->child, how, sizeof how))
      nanosleep (&(struct timespec){ .tv_nsec = 5 * NS_PER_MS }, NULL);
}

static void *
monitor_run (void *context)
{
  struct neuron_monitor *monitor = context;

  pthread_setname_np (pthread_self (), "neuron-monitor");
  while (!is_quit (monitor)) {
    int64_t now_ns = clock_monotonic ();

    if (monitor->child.pid)
      child_look (monitor, now_ns);
    else if (now_ns >= monitor->start_ns)
      child_start (monitor, now_ns);
    wait_for_more (monitor, now_ns);
  }
  child_end (monitor);
  return NULL;
}

/* ---- from outside ---- */

static void
monitor_start (struct neuron_monitor *monitor)
{
  pthread_attr_t attributes;
  sigset_t all, before;

  pthread_attr_init (&attributes);
  pthread_attr_setstacksize (&attributes, THREAD_STACK);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  monitor->running = pthread_create (&monitor->thread, &attributes, monitor_run, monitor) == 0;
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  pthread_attr_destroy (&attributes);
  if (!monitor->running)
    snprintf (monitor->reason, sizeof monitor->reason, "no thread to read it in");
}

/* The sampling thread, which goes before others, must not wait for one that others keep from running: hence PRIO_INHERIT. */
struct neuron_monitor *
neuron_monitor_create (const struct neuron_monitor_options *options)
{
  struct neuron_monitor *monitor = memory_new (1, sizeof *monitor);
  pthread_mutexattr_t mutex;
  pthread_condattr_t condition;

  pthread_mutexattr_init (&mutex);
  pthread_mutexattr_setprotocol (&mutex, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init (&monitor->lock, &mutex);
  pthread_mutexattr_destroy (&mutex);
  pthread_condattr_init (&condition);
  pthread_condattr_setclock (&condition, CLOCK_MONOTONIC);
  pthread_cond_init (&monitor->told, &condition);
  pthread_condattr_destroy (&condition);
  monitor->command = memory_string (options->command);
  monitor->configuration = memory_string (options->configuration);
  monitor->period_ns = options->period_ns;
  monitor->child = (struct neuron_child){ .pidfd = -1, .out = -1, .err = -1 };
  monitor->pause_ns = FIRST_PAUSE;
  monitor->wake = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  monitor_start (monitor);
  return monitor;
}

void
neuron_monitor_stop (struct neuron_monitor *monitor)
{
  uint64_t one = 1;
  bool join;

  pthread_mutex_lock (&monitor->lock);
  join = monitor->running;
  monitor->running = false;
  monitor->quit = true;
  pthread_cond_broadcast (&monitor->told);
  pthread_mutex_unlock (&monitor->lock);
  if (!join)
    return;
  if (write (monitor->wake, &one, sizeof one) < 0)
    log_debug ("neuron-monitor: %s", strerror (errno));
  pthread_join (monitor->thread, NULL);
}

void
neuron_monitor_destroy (struct neuron_monitor *monitor)
{
  if (!monitor)
    return;
  neuron_monitor_stop (monitor);
  neuron_reports_free (&monitor->reports);
  lines_clear (&monitor->out);
  lines_clear (&monitor->err);
  pthread_cond_destroy (&monitor->told);
  pthread_mutex_destroy (&monitor->lock);
  if (monitor->wake >= 0)
    close (monitor->wake);
  free (monitor->command);
  free (monitor->configuration);
  free (monitor);
}

int
neuron_monitor_sample (struct neuron_monitor *monitor, enum neuron_kind kind, struct table *table)
{
  int64_t now_ns = clock_monotonic (), patience_ns, last_ns;
  const char *colon;
  int rc = 0;

  pthread_mutex_lock (&monitor->lock);
  patience_ns = silence_max (monitor);
  last_ns = monitor->reports.reported_ns;
  colon = monitor->reason[0] ? ": " : "";
  if (last_ns == 0) {
    snprintf (table->error, sizeof table->error, "no report of neuron-monitor yet%s%s", colon, monitor->reason);
    rc = -1;
  } else if (now_ns - last_ns > patience_ns) {
    snprintf (table->error, sizeof table->error, "no report for %lld s%s%s",
              (long long) ((now_ns - last_ns) / NS_PER_S), colon, monitor->reason);
    rc = -1;
  } else {
    neuron_reports_fill (&monitor->reports, kind, now_ns, table);
  }
  pthread_mutex_unlock (&monitor->lock);
  return rc;
}

bool
neuron_monitor_wait (struct neuron_monitor *monitor, enum neuron_kind kind, int64_t deadline_ns)
{
  struct timespec deadline = { .tv_sec = (time_t) (deadline_ns / NS_PER_S),
                               .tv_nsec = (long) (deadline_ns % NS_PER_S) };
  bool there;

  pthread_mutex_lock (&monitor->lock);
  while (monitor->reports.of[kind].count == 0 && !monitor->quit)
    if (pthread_cond_timedwait (&monitor->told, &monitor->lock, &deadline) != 0)
      break;
  there = monitor->reports.of[kind].count != 0;
  pthread_mutex_unlock (&monitor->lock);
  return there;
}
