/* node_peaks: what this machine can do at most, from the file that "synop-agent bench-node" wrote, or as configured: the
 * roof that jobs are held against. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/peaks/peaks.h"
#include "agent/sampling/sampler.h"
#include "synop/clock.h"
#include "synop/memory.h"

enum column { MEMORY_BANDWIDTH, FLOPS_DOUBLE, FLOPS_SINGLE, VECTORS };

static const struct metric metrics[] = {
  [MEMORY_BANDWIDTH] = { "memory_bandwidth", GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .bound = { .most = 1e15 },
                         .help = "Bytes that all CPUs together read and write a second, at most: STREAM's triad." },
  [FLOPS_DOUBLE] = { "flops_double", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .bound = { .most = 1e18 },
                     .help = "Operations of double precision a second, at most; a fused multiply-add is two." },
  [FLOPS_SINGLE] = { "flops_single", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .bound = { .most = 1e18 },
                     .help = "Operations of single precision a second, at most." },
  [VECTORS] = { "vectors", TEXT, UNIT_NONE, FOLD_NONE, METRIC_OF_NODE,
                .help = "The instructions that were fastest: avx512, avx2, sse2, neon, scalar." },
};

static const struct group group = {
  .name = "node_peaks",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help =
      "What the node can do at most, measured once by `synop-agent bench-node` or configured. At most once a minute.",
  GROUP_METRICS (metrics),
};

struct peaks_options {
  char *file, *memory_bandwidth, *flops_double, *flops_single;
};

static int
check_number (const char *value, struct error *error)
{
  char *end;
  double number = strtod (value, &end);

  if (*end == '\0' && end != value && isfinite (number) && number > 0)
    return 0;
  return error_set (error, "\"%.64s\": expected a number above 0, as 3.1e11", value);
}

#define IN_PEAKS(member) offsetof (struct peaks_options, member)

static const struct option option_rows[] = {
  { "peaks", "file", "peaks-file", OPTION_PATH, IN_PEAKS (file), PEAKS_FILE,
    .help = "The file that synop-agent bench-node wrote, on this machine or one like it." },
  { "peaks", "memory_bandwidth", "peaks-memory-bandwidth", OPTION_TEXT, IN_PEAKS (memory_bandwidth), "",
    .check = check_number,
    .help = "Bytes a second that this machine reads and writes at most. Empty: as the file has it." },
  { "peaks", "flops_double", "peaks-flops-double", OPTION_TEXT, IN_PEAKS (flops_double), "", .check = check_number,
    .help = "Operations of double precision a second at most. Empty: as the file has it." },
  { "peaks", "flops_single", "peaks-flops-single", OPTION_TEXT, IN_PEAKS (flops_single), "", .check = check_number,
    .help = "Operations of single precision a second at most. Empty: as the file has it." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct peaks_options);

struct node_peaks {
  const struct peaks_options *options;
  char *path;
};

static void *
node_peaks_open (const struct sampler_context *context)
{
  struct node_peaks *state = memory_new (1, sizeof *state);

  state->options = context_options (context, &own_options);
  state->path = memory_format ("%s%s", context->root, state->options->file);
  return state;
}

static void
node_peaks_close (void *context)
{
  struct node_peaks *state = context;

  free (state->path);
  free (state);
}

static void
set (struct table *table, enum column column, const char *configured, double measured)
{
  double value = configured[0] ? strtod (configured, NULL) : measured;

  if (value > 0)
    table_set_real (table, TABLE_NODE, column, value);
}

static int
node_peaks_sample (void *context, struct table *table)
{
  const struct node_peaks *state = context;
  const struct peaks_options *options = state->options;
  struct peaks peaks;
  struct error error;

  if (peaks_read (&peaks, state->path, &error) < 0)
    table_complain (table, "%s", error.text);
  set (table, MEMORY_BANDWIDTH, options->memory_bandwidth, peaks.memory_bandwidth);
  set (table, FLOPS_DOUBLE, options->flops_double, peaks.flops_double);
  set (table, FLOPS_SINGLE, options->flops_single, peaks.flops_single);
  table_set_string (table, TABLE_NODE, VECTORS, peaks.vectors);
  return 0;
}

static void
node_peaks_absent (const struct sampler_context *context, char *text, size_t size)
{
  const struct peaks_options *options = context_options (context, &own_options);
  char *path = memory_format ("%s%s", context->root, options->file);
  struct peaks peaks;
  struct error error;
  int found = peaks_read (&peaks, path, &error);

  text[0] = '\0';
  if (found < 0)
    snprintf (text, size, "%s", error.text);
  else if (found == 0 && !options->memory_bandwidth[0] && !options->flops_double[0] && !options->flops_single[0])
    snprintf (text, size, "there is no %s: run synop-agent bench-node once, when nothing else runs", path);
  free (path);
}

const struct sampler sampler_node_peaks = {
  &group,
  NULL,
  node_peaks_open,
  node_peaks_sample,
  node_peaks_close,
  .optional = true,
  .period_ns = 60 * NS_PER_S,
  .options = &own_options,
  .absent = node_peaks_absent,
};
