/* agent: what the agent itself costs, and how long each group takes to sample. It is this machine's: a recorded one has no
 * agent.
 *
 *   /proc/self/statm    "1523 1210 ..."       pages: of its address space, in memory
 *   /proc/self/fd       a name for each file that is open
 *   /proc/self/stat     "7 (synop-agent) S 1 7 ... 350735"     the 22nd word: when it was started, in ticks since boot */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/sampling/sampler.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

enum { CPU_TIME, RESIDENT, VIRTUAL, VIRTUAL_MAX, FILES, FILES_MAX, START_TIME, SAMPLE_TIME };

#define OWN(NAME, UNIT, HELP)                                                                                          \
  {                                                                                                                    \
    NAME, GAUGE, UNIT, FOLD_SUM, METRIC_OF_NODE, .help = HELP                                                          \
  }

static const struct metric metrics[] = {
  [CPU_TIME] = { "cpu_time", COUNTER, UNIT_SECONDS, FOLD_SUM, METRIC_OF_NODE, .per = 1000000,
                 .help = "Time on CPUs, of all its threads." },
  [RESIDENT] = OWN ("memory", UNIT_BYTES, "Its resident memory."),
  [VIRTUAL] = OWN ("virtual_memory", UNIT_BYTES, "Its address space."),
  [VIRTUAL_MAX] = { "virtual_memory_max", GAUGE, UNIT_BYTES, FOLD_NONE, METRIC_OF_NODE, .bound = { .most = 2e19 },
                    .help = "The most that its address space may be; 2^64 - 1 bytes: no limit." },
  [FILES] = OWN ("open_files", UNIT_COUNT, "Files, sockets and the like that it has open."),
  [FILES_MAX] = { "open_files_max", GAUGE, UNIT_COUNT, FOLD_NONE, METRIC_OF_NODE,
                  .help = "The most that it may have open." },
  [START_TIME] = { "start_time", GAUGE, UNIT_SECONDS, FOLD_NONE, METRIC_OF_NODE, .per = 100,
                   .help = "When it was started, in seconds since 1970." },
  [SAMPLE_TIME] = { "sample_time", GAUGE, UNIT_SECONDS, FOLD_SUM, .per = 1000000000,
                    .help = "How long the group's last sample took." },
};

static const struct group group = {
  .name = "agent",
  .section = "system_data",
  .row = "group",
  .rows_name = "groups",
  .fold_name = "total",
  .help = "What the agent itself costs, and how long its groups take to sample. At most every 30 s.",
  GROUP_METRICS (metrics),
};

struct agent_state {
  const struct sampler_context *context;
  struct reader statm;
  uint64_t start_time; /* hundredths of a second since 1970; 0: not known */
};

/* Ticks are hundredths of a second on all machines. */
static uint64_t
start_read (void)
{
  struct reader reader;
  struct buffer text = { 0 };
  struct timespec boot, wall;
  struct scan scan, word;
  uint64_t ticks = 0;
  const char *name_end;

  reader_init (&reader, "", "/proc/self/stat");
  if (reader_read (&reader, &text) == 0 && (name_end = strrchr (text.data, ')')) != NULL) {
    scan = scan_over (name_end + 1, strlen (name_end + 1));
    for (int i = 3; i < 22; i++)
      scan_word (&scan, &word);
    scan_uint (&scan, &ticks);
  }
  reader_free (&reader);
  buffer_free (&text);
  if (ticks == 0 || clock_gettime (CLOCK_BOOTTIME, &boot) < 0 || clock_gettime (CLOCK_REALTIME, &wall) < 0)
    return 0;
  return ticks + (uint64_t) (wall.tv_sec - boot.tv_sec) * 100 + (uint64_t) (wall.tv_nsec / 10000000) -
         (uint64_t) (boot.tv_nsec / 10000000);
}

static void *
agent_open (const struct sampler_context *context)
{
  struct agent_state *state = memory_new (1, sizeof *state);

  state->context = context;
  reader_init (&state->statm, "", "/proc/self/statm");
  state->start_time = start_read ();
  return state;
}

static void
memory_sample (struct agent_state *state, struct table *table)
{
  uint64_t page = (uint64_t) sysconf (_SC_PAGESIZE), virtual, resident;
  char text[64];
  int length = reader_read_value (&state->statm, text, sizeof text);
  struct scan scan = scan_over (text, strlen (text));

  if (length < 0 || !scan_uint (&scan, &virtual) || !scan_uint (&scan, &resident)) {
    reader_complain (&state->statm, length < 0 ? length : -EBADMSG, table);
    return;
  }
  table_set_uint (table, TABLE_NODE, VIRTUAL, virtual * page);
  table_set_uint (table, TABLE_NODE, RESIDENT, resident * page);
}

static void
files_sample (struct table *table)
{
  DIR *folder = opendir ("/proc/self/fd");
  uint64_t count = 0;

  if (!folder)
    return;
  for (const struct dirent *entry; (entry = readdir (folder)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir (folder);
  table_set_uint (table, TABLE_NODE, FILES, count - 1); /* the folder itself */
}

static void
limits_sample (struct table *table)
{
  struct rlimit limit;

  if (getrlimit (RLIMIT_AS, &limit) == 0)
    table_set_uint (table, TABLE_NODE, VIRTUAL_MAX, limit.rlim_cur);
  if (getrlimit (RLIMIT_NOFILE, &limit) == 0)
    table_set_uint (table, TABLE_NODE, FILES_MAX, limit.rlim_cur);
}

static void
cpu_sample (struct table *table)
{
  struct rusage use;

  if (getrusage (RUSAGE_SELF, &use) == 0)
    table_set_uint (table, TABLE_NODE, CPU_TIME,
                    (uint64_t) (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
                        (uint64_t) (use.ru_utime.tv_usec + use.ru_stime.tv_usec));
}

static void
groups_sample (const struct sampler_context *context, struct table *table)
{
  for (size_t i = 0; context->spent_ns && i < context->sampler_count; i++) {
    const char *name = context->samplers[i]->group->name;
    size_t row = context->spent_ns[i] > 0 ? table_add_row (table, name, strlen (name)) : SIZE_MAX;

    if (row != SIZE_MAX)
      table_set_uint (table, row, SAMPLE_TIME, (uint64_t) context->spent_ns[i]);
  }
}

static int
agent_sample (void *context, struct table *table)
{
  struct agent_state *state = context;

  if (state->context->root[0])
    return 0;
  cpu_sample (table);
  memory_sample (state, table);
  files_sample (table);
  limits_sample (table);
  if (state->start_time)
    table_set_uint (table, TABLE_NODE, START_TIME, state->start_time);
  groups_sample (state->context, table);
  return 0;
}

static void
agent_close (void *context)
{
  struct agent_state *state = context;

  reader_free (&state->statm);
  free (state);
}

const struct sampler sampler_agent = {
  &group, NULL, agent_open, agent_sample, agent_close, .optional = true, .period_ns = 30 * NS_PER_S,
};
