/* processes: how many there are, by state.
 *
 *   /proc/7/stat     "7 (any) name)) S 1 7 7 ..."     the name ends at the last ')'
 *
 * A process costs 5 to 10 us, so they are counted once a minute, and where there are many in a thread. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

#define MANY 200

enum { ALL, RUNNING, SLEEPING, BLOCKED, IDLE, ZOMBIES, STOPPED, TRACED, COLUMNS };

#define PROCESSES(NAME, HELP)                                                                                          \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .bound = { BOUND_TASKS }, .help = HELP                          \
  }

static const struct metric metrics[COLUMNS] = {
  [ALL] = PROCESSES ("processes", "All processes, those of the kernel too."),
  [RUNNING] = PROCESSES ("running", "Processes that run or could run."),
  [SLEEPING] = PROCESSES ("sleeping", "Processes that wait for something, and can be interrupted."),
  [BLOCKED] =
      PROCESSES ("blocked", "Processes that cannot be interrupted: mostly they wait for a disk or a file server."),
  [IDLE] = PROCESSES ("idle", "Processes of the kernel that have nothing to do."),
  [ZOMBIES] = PROCESSES ("zombies", "Processes that have ended, and whose parent has not asked how."),
  [STOPPED] = PROCESSES ("stopped", "Processes that were stopped by a signal."),
  [TRACED] = PROCESSES ("traced", "Processes that a debugger holds."),
};

static const char letters[COLUMNS + 1] = "?RSDIZTt";

static const struct group group = {
  .name = "processes",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help = "How many processes there are, by state. At most once a minute.",
  GROUP_METRICS (metrics),
};

struct processes {
  char *path; /* a copy: see worker.h */
  uint64_t last;
};

static void *
processes_open (const struct sampler_context *context)
{
  struct processes *state = memory_new (1, sizeof *state);

  state->path = memory_format ("%s/proc", context->root);
  return state;
}

static bool
processes_may_block (void *context)
{
  const struct processes *state = context;

  return state->last > MANY;
}

/* The letter of its state; 0: it has ended. */
static char
state_read (int folder, const char *pid)
{
  char path[32], text[512], *name_end;
  ssize_t length;
  int fd;

  snprintf (path, sizeof path, "%.20s/stat", pid);
  fd = file_open_at (folder, path);
  if (fd < 0)
    return 0;
  length = read (fd, text, sizeof text - 1);
  close (fd);
  if (length <= 0)
    return 0;
  text[length] = '\0';
  name_end = strrchr (text, ')');
  return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

static int
processes_sample (void *context, struct table *table)
{
  struct processes *state = context;
  uint64_t counts[COLUMNS] = { 0 };
  DIR *folder = opendir (state->path);

  if (!folder)
    return table_complain (table, "%s: %s", state->path, strerror (errno));
  for (const struct dirent *entry; (entry = readdir (folder)) != NULL;) {
    char letter = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? state_read (dirfd (folder), entry->d_name) : 0;
    const char *known = letter ? strchr (letters, letter) : NULL;

    counts[ALL] += letter != 0;
    if (known > letters)
      counts[known - letters]++;
  }
  closedir (folder);
  state->last = counts[ALL];
  for (size_t i = 0; i < COLUMNS && counts[ALL] > 0; i++)
    table_set_uint (table, TABLE_NODE, i, counts[i]);
  return 0;
}

static void
processes_close (void *context)
{
  struct processes *state = context;

  free (state->path);
  free (state);
}

const struct sampler sampler_processes = {
  &group,           processes_may_block,        processes_open, processes_sample, processes_close,
  .optional = true, .period_ns = 60 * NS_PER_S,
};
