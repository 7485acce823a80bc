/* The groups of AWS Neuron: runtime_info, neuroncore_counters, execution_stats, memory_used, neuroncore_memory_usage,
 * loaded_models, neuron_runtime_vcpu_usage of each runtime; neuron_hw_counters and neuron_hardware_info of the node. Their
 * metrics are declared in neuron_metrics.c, so that one code samples all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/job/job_group.h"
#include "agent/neuron/neuron.h"
#include "agent/neuron/neuron_sysfs.h"
#include "agent/sampling/sampler.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define FACTS_PATIENCE (15 * NS_PER_S) /* neuron-monitor's first report: its period may be 5 s, and it may start late */
#define DEVICES_MAX 256

struct neuron_state {
  struct neuron *neuron;
  enum neuron_kind kind;
  enum neuron_source source; /* as may_block found it */
  struct neuron_sysfs *sysfs;
  const struct sampler_context *context; /* not in workers */
};

static void *
state_open (const struct sampler_context *context, enum neuron_kind kind)
{
  struct neuron_state *state = memory_new (1, sizeof *state);

  state->kind = kind;
  state->context = context;
  state->neuron = service_take (context, &service_neuron);
  return state;
}

static void
state_close (void *context)
{
  struct neuron_state *state = context;

  neuron_sysfs_destroy (state->sysfs);
  service_leave (state->neuron);
  free (state);
}

/* The driver's files may hang; neuron-monitor's facts are waited for. */
static bool
state_may_block (void *context)
{
  struct neuron_state *state = context;

  state->source = neuron_source (state->neuron, true);
  return state->source == NEURON_BY_SYSFS || (state->source == NEURON_BY_MONITOR && state->kind == NEURON_HARDWARE);
}

static int
sysfs_sample (struct neuron_state *state, struct table *table)
{
  if (!state->sysfs)
    state->sysfs = neuron_sysfs_create (neuron_root (state->neuron), state->kind);
  return neuron_sysfs_sample (state->sysfs, table);
}

/* Adds the source and the job of each runtime. */
static void
runtimes_complete (const struct neuron_state *state, struct table *table)
{
  size_t pid = neuron_column (NEURON_RUNTIMES, "pid"), job = neuron_column (NEURON_RUNTIMES, "job");
  size_t source = neuron_column (NEURON_RUNTIMES, "source");

  for (size_t row = 0; row < table->rows; row++) {
    const struct value *value = table_get (table, row, pid);
    const char *label = NULL;

    table_set_text (table, row, source, NEURON_PROGRAM, strlen (NEURON_PROGRAM));
    if (value->type == VALUE_UINT && value->as.u <= INT32_MAX)
      label = job_group_label_of (state->context, (pid_t) value->as.u);
    if (label)
      table_set_text (table, row, job, label, strlen (label));
  }
}

/* neuron-monitor reports facts of all devices in one row. */
static void
facts_spread (struct table *table, const struct table *reported)
{
  const struct value *count = table_get (reported, TABLE_NODE, neuron_column (NEURON_HARDWARE, "neuron_device_count"));
  size_t devices = count->type == VALUE_UINT && count->as.u < DEVICES_MAX ? (size_t) count->as.u : 0;

  for (size_t i = table->rows; i < devices; i++) {
    char label[24];

    table_add_row (table, label, (size_t) snprintf (label, sizeof label, "%zu", i));
  }
  if (count->type == VALUE_UINT)
    *table_value (table, TABLE_NODE, neuron_column (NEURON_HARDWARE, "neuron_device_count")) = *count;
  for (size_t row = 0; row < table->rows; row++)
    for (size_t i = 0; i < table->group->metric_count; i++) {
      const struct value *value = table_get (reported, 0, i);
      size_t length;

      if (value->type == VALUE_TEXT) {
        const char *text = table_text (reported, value, &length);

        table_set_text (table, row, i, text, length);
      } else if (value->type != VALUE_MISSING) {
        *table_value (table, row, i) = *value;
      }
    }
}

static int
hardware_sample (struct neuron_state *state, struct table *table)
{
  struct table reported;
  int rc = 0;

  if (neuron_sysfs_exists (neuron_root (state->neuron)))
    sysfs_sample (state, table);
  if (!neuron_wait (state->neuron, NEURON_HARDWARE, clock_monotonic () + FACTS_PATIENCE)) {
    if (table->rows == 0)
      snprintf (table->error, sizeof table->error, "neuron-monitor has reported nothing");
    return table->error[0] ? -1 : 0;
  }
  table_init (&reported, table->group);
  rc = neuron_sample (state->neuron, NEURON_HARDWARE, &reported);
  if (rc == 0 && reported.rows)
    facts_spread (table, &reported);
  else
    memcpy (table->error, reported.error, sizeof table->error);
  table_free (&reported);
  return rc;
}

static int
state_sample (void *context, struct table *table)
{
  struct neuron_state *state = context;
  int rc;

  if (state->source == NEURON_ABSENT)
    return 0;
  if (state->source == NEURON_BY_SYSFS)
    return sysfs_sample (state, table);
  if (state->kind == NEURON_HARDWARE)
    return hardware_sample (state, table);
  rc = neuron_sample (state->neuron, state->kind, table);
  if (state->kind == NEURON_RUNTIMES)
    runtimes_complete (state, table);
  return rc;
}

#define NEURON_SAMPLER(NAME, KIND)                                                                                     \
  static void *NAME##_open (const struct sampler_context *context)                                                     \
  {                                                                                                                    \
    return state_open (context, KIND);                                                                                 \
  }                                                                                                                    \
  const struct sampler sampler_##NAME = { &neuron_groups[KIND],   state_may_block, NAME##_open,                        \
                                          state_sample,           state_close,     .optional = true,                   \
                                          .absent = neuron_absent }

NEURON_SAMPLER (runtime_info, NEURON_RUNTIMES);
NEURON_SAMPLER (neuroncore_counters, NEURON_CORES);
NEURON_SAMPLER (execution_stats, NEURON_EXECUTIONS);
NEURON_SAMPLER (memory_used, NEURON_MEMORY);
NEURON_SAMPLER (neuroncore_memory_usage, NEURON_CORE_MEMORY);
NEURON_SAMPLER (loaded_models, NEURON_MODELS);
NEURON_SAMPLER (neuron_runtime_vcpu_usage, NEURON_VCPU);
NEURON_SAMPLER (neuron_hw_counters, NEURON_DEVICES);
NEURON_SAMPLER (neuron_hardware_info, NEURON_HARDWARE);
