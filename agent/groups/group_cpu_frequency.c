/* cpu_frequency: how fast each CPU runs now.
 *
 *   /sys/devices/system/cpu/cpu7/cpufreq/scaling_cur_freq    "2100000"                (kHz)
 *   /proc/cpuinfo                                            "processor : 7" ... "cpu MHz : 2000.000"
 *
 * The first is read where it exists: a file for each CPU, yet half the work of /proc/cpuinfo, which prints 1.5 KB for
 * each. But x86 kernels from 4.15 to 5.17 may sleep 10 ms in each of these reads, when the last one was over a second
 * ago: so where these files are a sample may block, and when one pass took long it turns to /proc/cpuinfo for good,
 * which does not sleep. Machines without frequency scaling, most virtual ones, have /proc/cpuinfo alone; there the
 * files are looked for now and then. A CPU that is in neither has no row. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/sampling/sampler.h"
#include "agent/source/numbered.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define PASS_MAX_NS (50 * NS_PER_MS)
#define FILES_ALWAYS_KEPT 64
#define LOOK_SAMPLES 60 /* samples until missing files are looked for again: a driver may load late */

static const struct metric metrics[] = {
  { "current", GAUGE, UNIT_HERTZ, FOLD_MEAN, .times = 1000, .help = "Frequency at which the CPU runs." },
};

static const struct group group = {
  .name = "cpu_frequency",
  .section = "system_data",
  .row = "CPU",
  .rows_name = "cpus",
  .fold_name = "average",
  .help = "The current frequency of each CPU.",
  GROUP_METRICS (metrics),
  .left_out = "CPUs that are offline, and those whose frequency the kernel does not show.",
};

struct cpu_frequency {
  struct numbered cpus;
  struct reader cpuinfo;
  struct buffer text;
  bool files;   /* the files in /sys have values */
  unsigned age; /* samples since they were looked for */
  bool looked;  /* which CPUs and files there are, for the sample to come */
  bool slow;    /* the files took too long */
};

static void *
cpu_frequency_open (const struct sampler_context *context)
{
  struct cpu_frequency *state = memory_new (1, sizeof *state);

  numbered_init (&state->cpus, context->root, "/sys/devices/system/cpu", "cpu", "cpufreq/scaling_cur_freq");
  reader_init (&state->cpuinfo, context->root, "/proc/cpuinfo");
  return state;
}

static bool
any_file (const struct numbered *cpus)
{
  for (size_t i = 0; i < cpus->count; i++)
    if (access (cpus->items[i].reader.path, F_OK) == 0)
      return true;
  return false;
}

static void
files_look (struct cpu_frequency *state)
{
  if (state->looked)
    return;
  state->looked = true;
  if (numbered_refresh (&state->cpus) || (!state->files && ++state->age == LOOK_SAMPLES)) {
    state->files = any_file (&state->cpus);
    state->age = 0;
  }
}

static bool
cpu_frequency_may_block (void *context)
{
  struct cpu_frequency *state = context;

  files_look (state);
  return state->files;
}

/* May that many files stay open? Half of what the process may have is for others. */
static bool
may_keep_open (size_t files)
{
  struct rlimit limit;

  return files <= FILES_ALWAYS_KEPT || (getrlimit (RLIMIT_NOFILE, &limit) == 0 && files <= limit.rlim_cur / 2);
}

/* A CPU that is offline reads "<unknown>", or has no file. */
static void
sample_file (struct cpu_frequency *state, struct numbered_item *cpu, struct table *table)
{
  char text[32];
  int result = reader_read_value (&cpu->reader, text, sizeof text);
  struct scan rest = scan_over (text, result > 0 ? (size_t) result : 0);
  struct value value;
  size_t row;

  if (!scan_value (&rest, COUNTER, &value) || value.type == VALUE_MISSING) {
    if (numbered_is_online (&state->cpus, cpu->number))
      reader_complain (&cpu->reader, result < 0 ? result : -EBADMSG, table);
    return;
  }
  row = table_add_row (table, cpu->label, (size_t) cpu->label_length);
  if (row != SIZE_MAX)
    *table_value (table, row, 0) = value;
}

static void
sample_files (struct cpu_frequency *state, struct table *table)
{
  int64_t begin = clock_monotonic ();
  bool keep = may_keep_open (state->cpus.count);

  for (size_t i = 0; i < state->cpus.count; i++) {
    sample_file (state, &state->cpus.items[i], table);
    if (!keep)
      reader_close (&state->cpus.items[i].reader);
  }
  state->slow = clock_monotonic () - begin > PASS_MAX_NS;
  state->files = table->rows > 0;
}

/* "processor\t: 7" and "cpu MHz\t\t: 2000.000": what stands behind the colon. */
static bool
cpuinfo_value (struct scan *line, const char *key, struct scan *word)
{
  return scan_prefix (line, key) && scan_word (line, word) && *word->at == ':' && scan_word (line, word);
}

/* Adds the row of a CPU whose "cpu MHz" is that word. False when that is no frequency. */
static bool
add_mhz (struct table *table, struct scan cpu, struct scan word)
{
  struct value value;
  double mhz;
  size_t row;

  scan_value (&word, GAUGE, &value);
  mhz = value.type == VALUE_REAL ? value.as.d : value.type == VALUE_UINT ? (double) value.as.u : 0;
  if (!(mhz > 0 && mhz < 1e6))
    return false;
  row = table_add_row (table, cpu.at, scan_length (&cpu));
  if (row != SIZE_MAX)
    table_set_uint (table, row, 0, (uint64_t) (mhz * 1000 + 0.5));
  return true;
}

static int
sample_cpuinfo (struct cpu_frequency *state, struct table *table)
{
  struct scan rest, line, cpu = { 0 }, word, ahead;
  size_t cpus = 0, found = 0;
  uint64_t number;

  if (reader_read_lines (&state->cpuinfo, &state->text, table) < 0)
    return -1;
  rest = scan_buffer (&state->text);
  while (scan_line (&rest, &line)) {
    if (cpuinfo_value (&line, "processor", &word)) {
      ahead = word;
      if (!scan_uint (&ahead, &number) || scan_length (&ahead) > 0)
        continue;
      cpu = word;
      cpus++;
    } else if (cpu.at < cpu.end && cpuinfo_value (&line, "cpu MHz", &word)) {
      found += add_mhz (table, cpu, word);
      cpu = (struct scan){ 0 };
    }
  }
  if (found > 0 && found < cpus)
    table_complain (table, "%s: no frequency of %zu CPUs", state->cpuinfo.path, cpus - found);
  return 0;
}

static int
cpu_frequency_sample (void *context, struct table *table)
{
  struct cpu_frequency *state = context;

  files_look (state);
  state->looked = false;
  if (state->slow && sample_cpuinfo (state, table) == 0 && table->rows > 0)
    return 0;
  table_begin (table);
  if (state->files)
    sample_files (state, table);
  if (table->rows > 0)
    return 0;
  table_begin (table);
  if (sample_cpuinfo (state, table) < 0)
    return -1;
  if (table->rows > 0)
    return 0;
  return table_complain (table, "neither %s nor %s has the CPUs' frequency", state->cpus.folder, state->cpuinfo.path);
}

static void
cpu_frequency_close (void *context)
{
  struct cpu_frequency *state = context;

  numbered_free (&state->cpus);
  reader_free (&state->cpuinfo);
  buffer_free (&state->text);
  free (state);
}

const struct sampler sampler_cpu_frequency = {
  &group, cpu_frequency_may_block, cpu_frequency_open, cpu_frequency_sample, cpu_frequency_close,
};
