/* See trace_tool.h. */
#include "agent/traces/trace_tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/traces/trace_text.h"
#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/file.h"

#define FOLDERS                                                                                                        \
  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/cuda/bin:/opt/nvidia/nsight-systems/bin:"   \
  "/opt/rocm/bin"
#define USUAL_GROUPS "cpu_usage,memory_info,pressure,disk_io,network,infiniband,gpu"
#define USUAL_PERIOD "50ms"
#define PERIOD_MIN_NS (10 * NS_PER_MS)
#define PERIOD_MAX_NS (100 * NS_PER_MS)
#define WORDS_MAX 32
#define NAMES_MAX 1024

struct tool {
  const char *program, *suffix;
  bool per_process;
  bool until_input_ends;        /* rather than for a time: it ends with the agent, however that ends */
  const char *words[WORDS_MAX]; /* {seconds}, {ms}, {pids}, {path}, {folder}, {name} are filled in */
};

/* clang-format off */
static const struct tool tools[TRACES_TOOLS] = {
  [TRACES_PERF] = { "perf", "", false, true,
    { "perf", "record", "-q", "-g", "-F", "99", "-o", "{path}", "-p", "{pids}", "--", "cat" } },
  [TRACES_PY_SPY] = { "py-spy", "", true, false,
    { "py-spy", "record", "--nonblocking", "--pid", "{pids}", "--duration", "{whole}", "--format", "speedscope",
      "--output", "{path}" } },
  /* It cannot attach to a process: what it sees are the GPUs. */
  [TRACES_NSYS] = { "nsys", ".nsys-rep", false, false,
    { "nsys", "profile", "--trace=none", "--sample=none", "--cpuctxsw=none", "--gpu-metrics-devices=all", "--output",
      "{path}", "sleep", "{seconds}" } },
  [TRACES_ROCPROF] = { "rocprofv3", "_results.json", true, false,
    { "rocprofv3", "--attach", "{pids}", "--attach-duration-msec", "{ms}", "--sys-trace", "--output-format", "json",
      "--output-directory", "{folder}", "--output-file", "{name}" } },
};
/* clang-format on */

static char *const clean_environment[] = {
  (char[]){ "PATH=" FOLDERS },
  (char[]){ "LANG=C.UTF-8" },
  (char[]){ "HOME=/" },
  NULL,
};

bool
tool_is_per_process (enum traces_tool tool)
{
  return tool == TRACES_KINETO || tools[tool].per_process;
}

const char *
tool_suffix (enum traces_tool tool)
{
  return tools[tool].suffix ? tools[tool].suffix : "";
}

bool
tool_find (const char *name, const char *folders, char *path, size_t size)
{
  for (const char *at = folders; *at;) {
    size_t length = strcspn (at, ":");

    if ((size_t) snprintf (path, size, "%.*s/%s", (int) length, at, name) < size && access (path, X_OK) == 0)
      return true;
    at += length + (at[length] == ':');
  }
  return false;
}

/* ---- profilers ---- */

static size_t
fill (const char *word, const struct tool_run *run, char *to, size_t size)
{
  const char *name = strrchr (run->path, '/') + 1;
  size_t length = 0;

  if (strcmp (word, "{path}") == 0)
    return (size_t) snprintf (to, size, "%s", run->path);
  if (strcmp (word, "{folder}") == 0)
    return (size_t) snprintf (to, size, "%.*s", (int) (name - run->path), run->path);
  if (strcmp (word, "{name}") == 0)
    return (size_t) snprintf (to, size, "%s", name);
  if (strcmp (word, "{ms}") == 0)
    return (size_t) snprintf (to, size, "%" PRId64, run->duration_ns / NS_PER_MS);
  if (strcmp (word, "{whole}") == 0)
    return (size_t) snprintf (to, size, "%" PRId64, (run->duration_ns + NS_PER_S - 1) / NS_PER_S);
  if (strcmp (word, "{seconds}") == 0)
    return (size_t) snprintf (to, size, "%.3f", (double) run->duration_ns / (double) NS_PER_S);
  if (strcmp (word, "{pids}") != 0)
    return (size_t) snprintf (to, size, "%s", word);
  for (size_t i = 0; i < run->pid_count && length < size; i++)
    length += (size_t) snprintf (to + length, size - length, "%s%d", i ? "," : "", (int) run->pids[i]);
  return length;
}

static int
start_profiler (struct child *child, const struct tool_run *run, struct error *error)
{
  const struct tool *tool = &tools[run->tool];
  struct child_program program = { .environment = clean_environment,
                                   .user = run->user,
                                   .listens = tool->until_input_ends };
  const char *words[WORDS_MAX + 1] = { NULL };
  char text[8192], path[256];
  size_t used = 0;

  if (!tool_find (tool->program, FOLDERS, path, sizeof path))
    return error_set (error, "%s is not installed on this node (looked in %s)", tool->program, FOLDERS);
  for (size_t i = 0; i < WORDS_MAX && tool->words[i]; i++) {
    words[i] = text + used;
    used += fill (tool->words[i], run, text + used, sizeof text - used) + 1;
    if (used >= sizeof text)
      return error_set (error, "the arguments of %s are too long", tool->program);
  }
  program.path = path;
  program.words = words;
  return child_start (child, &program) < 0 ? error_set (error, "%s: %s", path, strerror (errno)) : 0;
}

/* ---- counters: this program, with a configuration of its own ---- */

static bool
is_chosen (const char *chosen, const char *name)
{
  size_t length = strlen (name);

  for (const char *at = chosen; *at;) {
    size_t word = strcspn (at, ",");

    if (word == length && memcmp (at, name, length) == 0)
      return true;
    at += word + (at[word] == ',');
  }
  return false;
}

static void
read_options (const char *config, char chosen[NAMES_MAX], char period[32])
{
  if (!trace_config_find (config, "groups", chosen, NAMES_MAX) || !*chosen)
    strcpy (chosen, USUAL_GROUPS);
  if (!trace_config_find (config, "period", period, 32) || !*period)
    strcpy (period, USUAL_PERIOD);
}

int
tool_check_counters (const char *config, const char *const *groups, struct error *error)
{
  char chosen[NAMES_MAX], period[32];
  int64_t period_ns;

  read_options (config, chosen, period);
  if (duration_parse (period, &period_ns, error) < 0)
    return -1;
  if (period_ns < PERIOD_MIN_NS || period_ns > PERIOD_MAX_NS)
    return error_set (error, "the period of counters is 10ms to 100ms, not %s", period);
  for (const char *at = chosen; *at;) {
    size_t length = strcspn (at, ",");
    bool known = false;

    for (size_t i = 0; groups[i]; i++)
      known |= strlen (groups[i]) == length && memcmp (at, groups[i], length) == 0;
    if (!known)
      return error_set (error, "\"%.*s\" is no group (synop-agent --list-groups)", (int) (length < 64 ? length : 64),
                        at);
    at += length + (at[length] == ',');
  }
  return 0;
}

static int
make_configuration (const struct tool_run *run)
{
  char chosen[NAMES_MAX], period[32];
  struct buffer text = { 0 };
  int64_t period_ns = 0;
  int fd = memfd_create ("counters", MFD_CLOEXEC);

  read_options (run->config, chosen, period);
  if (duration_parse (period, &period_ns, NULL) < 0 || period_ns <= 0)
    period_ns = PERIOD_MAX_NS;
  buffer_printf (&text, "[agent]\nnode = %s\nperiod = %" PRId64 "us\ncount = %" PRId64 "\nrealtime = no\n", run->node,
                 period_ns / 1000, run->duration_ns / period_ns + 1);
  buffer_add_string (&text, "[ring]\nenabled = no\n");
  for (size_t i = 0; run->groups[i]; i++)
    if (is_chosen (chosen, run->groups[i]))
      buffer_printf (&text, "[group %s]\nperiod = %" PRId64 "us\n", run->groups[i], period_ns / 1000);
    else
      buffer_printf (&text, "[group %s]\nenabled = no\n", run->groups[i]);
  if (fd >= 0 && file_write (fd, text.data, text.length) < 0)
    file_close (&fd);
  buffer_free (&text);
  return fd;
}

static int
start_counters (struct child *child, const struct tool_run *run, struct error *error)
{
  static const char *const words[] = { "synop-agent", "--config", "/dev/fd/3", NULL };
  struct child_program program = {
    .path = run->program, .words = words, .environment = clean_environment, .user = run->user, .output = run->path
  };
  int rc;

  program.extra = make_configuration (run);
  if (program.extra < 0)
    return error_set (error, "a file in memory: %s", strerror (errno));
  rc = child_start (child, &program);
  if (rc < 0)
    error_set (error, "%s: %s", run->program, strerror (errno));
  close (program.extra);
  return rc;
}

int
tool_start (struct child *child, const struct tool_run *run, struct error *error)
{
  return run->tool == TRACES_COUNTERS ? start_counters (child, run, error) : start_profiler (child, run, error);
}
