/* The parsers of kernel files, and the samplers that stand on them, on arbitrary content: a container's imitation of
 * /proc or a recorded machine may hold anything.
 *
 * The parsers get a copy that ends where its memory ends, so that the sanitizer sees a look behind the end. The samplers
 * read one file in memory, whatever they open: each of their paths is a link to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/groups.h"
#include "agent/source/parse.h"
#include "synop/memory.h"
#include "tests/lib/options_for.h"

int LLVMFuzzerInitialize (int *argc, char ***argv);
int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

static const struct sampler *const fuzzed[] = {
  &sampler_cpu_usage, &sampler_cpu_frequency, &sampler_memory_info, &sampler_vm,
  &sampler_load,      &sampler_pressure,      &sampler_disk_io,
};
#define FUZZED (sizeof fuzzed / sizeof fuzzed[0])

static const char *const paths[] = {
  "/proc/stat",
  "/proc/cpuinfo",
  "/proc/meminfo",
  "/proc/vmstat",
  "/proc/loadavg",
  "/proc/uptime",
  "/proc/pressure/cpu",
  "/proc/pressure/memory",
  "/proc/pressure/irq",
  "/proc/diskstats",
  "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
  "/sys/devices/system/node/online",
  "/sys/devices/system/node/node0/meminfo",
};

static char root[128];
static int content;
static struct agent_options *options;
static void *states[FUZZED];
static struct table tables[FUZZED];

static void
make_link (const char *path)
{
  char full[256], target[32];

  snprintf (full, sizeof full, "%s%s", root, path);
  for (char *slash = strchr (full + strlen (root) + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
    *slash = '\0';
    mkdir (full, 0700);
    *slash = '/';
  }
  snprintf (target, sizeof target, "/proc/self/fd/%d", content);
  if (symlink (target, full) != 0)
    abort ();
}

static void
clean_up (void)
{
  char command[160];

  for (size_t i = 0; i < FUZZED; i++) {
    fuzzed[i]->close (states[i]);
    table_free (&tables[i]);
  }
  agent_options_destroy (options);
  snprintf (command, sizeof command, "rm -rf '%s'", root);
  if (system (command) != 0)
    perror (root);
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  (void) argc;
  (void) argv;
  snprintf (root, sizeof root, "%s/synop-fuzz-root-XXXXXX", getenv ("TMPDIR") ? getenv ("TMPDIR") : "/tmp");
  content = memfd_create ("content", 0);
  if (content < 0 || mkdtemp (root) == NULL)
    abort ();
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    make_link (paths[i]);
  options = options_for (root, "%s", "");
  for (size_t i = 0; i < FUZZED; i++) {
    states[i] = fuzzed[i]->open (&options->context);
    table_init (&tables[i], fuzzed[i]->group);
  }
  atexit (clean_up);
  return 0;
}

/* A value is of a type that its metric's kind allows. */
static void
check_row (const struct table *table, size_t row)
{
  for (size_t i = 0; i < table->group->metric_count; i++) {
    enum value_type type = table_get (table, row, i)->type;
    if (type == VALUE_TEXT || (table->group->metrics[i].kind == COUNTER && type > VALUE_UINT))
      abort ();
  }
}

static void
run_samplers (void)
{
  for (size_t i = 0; i < FUZZED; i++) {
    table_begin (&tables[i]);
    if (fuzzed[i]->sample (states[i], &tables[i]) != 0 && tables[i].error[0] == '\0')
      abort ();
    check_row (&tables[i], TABLE_NODE);
    for (size_t row = 0; row < tables[i].rows; row++)
      check_row (&tables[i], row);
  }
}

static void
run_parsers (const char *text, size_t size)
{
  struct scan rest = scan_over (text, size), line, word;
  struct value value;

  while (scan_line (&rest, &line)) {
    struct scan again = line;
    while (scan_word (&line, &word)) {
      struct scan one = word;
      scan_value (&one, GAUGE, &value);
    }
    while (scan_value (&again, COUNTER, &value))
      ;
  }
  for (size_t i = 0; i < FUZZED; i++) {
    struct key_index index;
    struct column_map map;
    size_t row;
    key_index_init (&index, fuzzed[i]->group, METRIC_OF_NODE);
    column_map_init (&map, fuzzed[i]->group);
    table_begin (&tables[i]);
    parse_key_values (scan_over (text, size), i % 3, &index, &tables[i], TABLE_NODE);
    row = table_add_row (&tables[i], "row", 3);
    parse_columns (scan_over (text, size), 1, &map, &tables[i], row);
    key_index_free (&index);
  }
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  char *copy = memory_new (size, 1);

  if (size > 0)
    memcpy (copy, bytes, size);
  run_parsers (copy, size);
  free (copy);
  if (ftruncate (content, 0) != 0 || pwrite (content, bytes, size, 0) != (ssize_t) size)
    abort ();
  run_samplers ();
  return 0;
}
