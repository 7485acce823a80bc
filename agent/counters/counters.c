/* What all groups of counters share; see counters.h.
 *
 * Others who count are left alone: likwid's users reserve the counters by a lock file of their own
 * (/var/run/likwid.lock), and a site may name times of the day in which nothing is counted here. */
#include "agent/counters/counters.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define LIKWID_LOCK "/var/run/likwid.lock"
#define REFERENCE_TIME (NS_PER_S * 9 / 10) /* of measuring the reference clock */
#define DAY_MINUTES (24 * 60)

struct counter_options {
  bool enabled;
  char *quiet;
};

/* ---- times of the day ---- */

/* Takes "02:30"; returns its minute of the day, or -1. */
static int
take_minute (const char **at)
{
  const char *text = *at;
  int hours, minutes, length = 0;

  if (sscanf (text, "%2d:%2d%n", &hours, &minutes, &length) != 2 || length < 4 || hours < 0 || hours > 24 ||
      minutes < 0 || minutes > 59 || hours * 60 + minutes > DAY_MINUTES)
    return -1;
  *at = text + length;
  return hours * 60 + minutes;
}

/* Takes "02:30-04:00". False: it is none. */
static bool
take_span (const char **at, int *from, int *to)
{
  *from = take_minute (at);
  if (*from < 0 || **at != '-')
    return false;
  ++*at;
  *to = take_minute (at);
  return *to >= 0 && (**at == '\0' || **at == ',');
}

static int
check_quiet (const char *value, struct error *error)
{
  int from, to;

  for (const char *at = value; *at; at += *at == ',')
    if (!take_span (&at, &from, &to))
      return error_set (error, "\"%s\" is no list of times of the day, as 02:00-03:30,12:00-13:00", value);
  return 0;
}

bool
counters_is_quiet (const char *list, int minute)
{
  int from, to;

  for (const char *at = list; *at && take_span (&at, &from, &to); at += *at == ',')
    if (from <= to ? minute >= from && minute < to : minute >= from || minute < to)
      return true;
  return false;
}

/* ---- manners ---- */

/* The owner of the file alone may count. One of root's reserves nothing: sites make it, and give it to a job's user. */
static bool
likwid_has_reserved (const struct counters *counters, char *text, size_t size)
{
  char path[512];
  struct stat lock;

  snprintf (path, sizeof path, "%s" LIKWID_LOCK, counters->root);
  if (stat (path, &lock) < 0 || lock.st_uid == 0 || lock.st_uid == geteuid ())
    return false;
  snprintf (text, size, "nothing is counted: user %u has reserved the counters (" LIKWID_LOCK ")",
            (unsigned) lock.st_uid);
  return true;
}

bool
counters_may_count (const struct counters *counters, int64_t wall_ns, char *text, size_t size)
{
  time_t seconds = (time_t) (wall_ns / NS_PER_S);
  struct tm local;

  if (!counters->enabled) {
    snprintf (text, size, "hardware and software counters are off: [counters] enabled");
    return false;
  }
  if (counters->root[0] && counters->kernel == &counter_kernel_live) {
    snprintf (text, size, "a recorded machine counts nothing");
    return false;
  }
  if (likwid_has_reserved (counters, text, size))
    return false;
  if (counters->quiet[0] && localtime_r (&seconds, &local) &&
      counters_is_quiet (counters->quiet, local.tm_hour * 60 + local.tm_min)) {
    snprintf (text, size, "nothing is counted at this time of the day: [counters] quiet");
    return false;
  }
  return true;
}

/* ---- the reference clock ---- */

uint64_t
counters_reference_hz (struct counters *counters)
{
  uint64_t now = counters->kernel->reference_clock (counters->kernel->context);
  int64_t elapsed_ns, now_ns = clock_monotonic ();

  if (counters->reference_start == 0) {
    counters->reference_start = now;
    counters->reference_start_ns = now_ns;
  }
  elapsed_ns = now_ns - counters->reference_start_ns;
  if (counters->reference_hz == 0 && elapsed_ns >= REFERENCE_TIME)
    counters->reference_hz = (uint64_t) ((double) (now - counters->reference_start) * NS_PER_S / (double) elapsed_ns);
  return counters->reference_hz;
}

/* ---- CPUs ---- */

#define ONLINE "/sys/devices/system/cpu/online"

bool
counter_cpus_changed (const struct counter_cpus *cpus, const char *root)
{
  char now[sizeof cpus->online];

  fact_text (now, sizeof now, root, ONLINE);
  return strcmp (now, cpus->online) != 0;
}

static size_t
socket_index (struct counter_cpus *cpus, unsigned number)
{
  size_t at = 0;

  while (at < cpus->socket_count && cpus->sockets[at] < number)
    at++;
  return at;
}

static unsigned
socket_of (const char *root, int cpu)
{
  uint64_t number;

  return fact_uint (&number, root, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu)
             ? (unsigned) number
             : 0;
}

static void
socket_add (struct counter_cpus *cpus, unsigned number)
{
  size_t at = socket_index (cpus, number);

  if (at < cpus->socket_count && cpus->sockets[at] == number)
    return;
  cpus->sockets = memory_resize (cpus->sockets, cpus->socket_count + 1, sizeof *cpus->sockets);
  memmove (cpus->sockets + at + 1, cpus->sockets + at, (cpus->socket_count++ - at) * sizeof *cpus->sockets);
  cpus->sockets[at] = number;
}

void
counter_cpus_read (struct counter_cpus *cpus, const char *root)
{
  struct scan online;
  uint64_t first, last;
  size_t room = 0;

  counter_cpus_free (cpus);
  fact_text (cpus->online, sizeof cpus->online, root, ONLINE);
  online = scan_over (cpus->online, strlen (cpus->online));
  while (scan_list_next (&online, &first, &last))
    for (; first <= last; first++) {
      struct counter_cpu *cpu = array_add (cpus->list, cpus->count, room);

      *cpu = (struct counter_cpu){ .number = (int) first, .socket = socket_of (root, (int) first) };
      socket_add (cpus, (unsigned) cpu->socket);
    }
  for (size_t i = 0; i < cpus->count; i++)
    cpus->list[i].socket = socket_index (cpus, (unsigned) cpus->list[i].socket);
}

void
counter_cpus_free (struct counter_cpus *cpus)
{
  free (cpus->list);
  free (cpus->sockets);
  *cpus = (struct counter_cpus){ 0 };
}

/* ---- the service ---- */

#define IN_COUNTERS(member) offsetof (struct counter_options, member)
static const struct option option_rows[] = {
  { "counters", "enabled", "counters", OPTION_BOOLEAN, IN_COUNTERS (enabled), "no",
    .help = "Whether hardware and software counters are read (cpu_counters, cpu_flops, memory_bandwidth, "
            "job_counters). They take counters that profilers of users want too." },
  { "counters", "quiet", "counters-quiet", OPTION_LIST, IN_COUNTERS (quiet), "", .check = check_quiet,
    .help = "Times of the day, in the node's time zone, in which nothing is counted: 02:00-03:30,12:00-13:00." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct counter_options);

static void
counters_start (void *state, const struct sampler_context *context)
{
  const struct counter_options *options = context_options (context, &own_options);
  struct counters *counters = state;
  struct rlimit limit;

  counters->kernel = &counter_kernel_live;
  counters->root = memory_string (context->root);
  counters->enabled = options->enabled;
  counters->quiet = memory_string (options->quiet);
  counters->budget.most = getrlimit (RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 4 * 3 : 512;
}

static void
counters_stop (void *state)
{
  struct counters *counters = state;

  free (counters->root);
  free ((char *) counters->quiet);
}

const struct service service_counters = {
  .options = &own_options, .size = sizeof (struct counters), .start = counters_start, .stop = counters_stop
};
