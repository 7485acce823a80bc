/* The thread that keeps neuron-monitor running (neuron_keeper.h), and its values for samplers; see neuron_monitor.h. */
#include "agent/neuron/neuron_monitor.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/neuron/neuron_keeper.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define THREAD_STACK (1024 * 1024) /* JSON may be nested deep */
#define QUIET_MIN (5 * NS_PER_S)   /* the first report may come late */

struct neuron_monitor {
  struct neuron_keeper *keeper; /* of the thread alone */
  int64_t period_ns;
  int wake; /* eventfd: stop */
  pthread_t thread;
  bool running; /* the thread was started, and not joined */

  pthread_mutex_t lock; /* for the members below */
  pthread_cond_t reported;
  struct neuron_reports reports;
  char reason[96]; /* why there are no reports; "" when all is well */
  int64_t begun_ns;
  bool quit;
};

/* ---- in the thread ---- */

static void
reason_set (void *context, const char *reason)
{
  struct neuron_monitor *monitor = context;

  pthread_mutex_lock (&monitor->lock);
  snprintf (monitor->reason, sizeof monitor->reason, "%s", reason);
  pthread_mutex_unlock (&monitor->lock);
}

static int
report_take (void *context, const char *line, size_t length)
{
  struct neuron_monitor *monitor = context;
  struct error error;
  json_t *report = neuron_report_parse (line, length, &error);
  int rc = -1;

  if (report) {
    pthread_mutex_lock (&monitor->lock);
    rc = neuron_reports_take (&monitor->reports, report, clock_monotonic (), &error);
    if (rc == 0) {
      monitor->reason[0] = '\0';
      pthread_cond_broadcast (&monitor->reported);
    }
    pthread_mutex_unlock (&monitor->lock);
    json_decref (report);
  }
  if (rc < 0)
    log_debug ("neuron-monitor: %s", error.text);
  return rc;
}

/* Called under the lock, or in the thread, which alone changes the reports. */
static int64_t
silence_max (const struct neuron_monitor *monitor)
{
  int64_t patience_ns = monitor->reports.patience_ns;

  return patience_ns > 0 ? patience_ns : 3 * monitor->period_ns + QUIET_MIN;
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

static void *
monitor_run (void *context)
{
  struct neuron_monitor *monitor = context;

  pthread_setname_np (pthread_self (), "neuron-monitor");
  while (!is_quit (monitor)) {
    neuron_keeper_step (monitor->keeper, silence_max (monitor));
    neuron_keeper_wait (monitor->keeper, monitor->wake);
  }
  neuron_keeper_end (monitor->keeper);
  return NULL;
}

/* ---- from outside ---- */

static void
monitor_start (struct neuron_monitor *monitor)
{
  monitor->running = thread_start (&monitor->thread, THREAD_STACK, monitor_run, monitor) == 0;
  if (!monitor->running)
    snprintf (monitor->reason, sizeof monitor->reason, "no thread to read it in");
}

/* The lock has PRIO_INHERIT: the sampling thread, of a higher priority, must not wait for a thread that others preempt. */
struct neuron_monitor *
neuron_monitor_create (const struct neuron_monitor_options *options)
{
  struct neuron_monitor *monitor = memory_new (1, sizeof *monitor);
  const struct neuron_listener listener = { .line = report_take, .trouble = reason_set, .context = monitor };
  pthread_mutexattr_t mutex;

  pthread_mutexattr_init (&mutex);
  pthread_mutexattr_setprotocol (&mutex, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init (&monitor->lock, &mutex);
  pthread_mutexattr_destroy (&mutex);
  thread_condition_init (&monitor->reported);
  monitor->keeper = neuron_keeper_create (options->command, options->configuration, &listener);
  monitor->period_ns = options->period_ns;
  monitor->begun_ns = clock_monotonic ();
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
  pthread_cond_broadcast (&monitor->reported);
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
  neuron_keeper_destroy (monitor->keeper);
  pthread_cond_destroy (&monitor->reported);
  pthread_mutex_destroy (&monitor->lock);
  file_close (&monitor->wake);
  free (monitor);
}

int
neuron_monitor_sample (struct neuron_monitor *monitor, enum neuron_kind kind, struct table *table)
{
  int64_t now_ns = clock_monotonic (), since_ns;
  const char *colon;
  bool spoke;
  int rc = -1;

  pthread_mutex_lock (&monitor->lock);
  spoke = monitor->reports.reported_ns != 0;
  since_ns = spoke ? monitor->reports.reported_ns : monitor->begun_ns;
  colon = monitor->reason[0] ? ": " : "";
  if (!spoke && (monitor->reason[0] || now_ns - since_ns > silence_max (monitor))) {
    snprintf (table->error, sizeof table->error, "no report of neuron-monitor yet%s%s", colon, monitor->reason);
  } else if (now_ns - since_ns > silence_max (monitor)) {
    snprintf (table->error, sizeof table->error, "no report for %lld s%s%s",
              (long long) ((now_ns - since_ns) / NS_PER_S), colon, monitor->reason);
  } else {
    neuron_reports_fill (&monitor->reports, kind, now_ns, table);
    rc = 0;
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
  while (!monitor->reports.of[kind].oldest && !monitor->quit)
    if (pthread_cond_timedwait (&monitor->reported, &monitor->lock, &deadline) != 0)
      break;
  there = monitor->reports.of[kind].oldest != NULL;
  pthread_mutex_unlock (&monitor->lock);
  return there;
}
