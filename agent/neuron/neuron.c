/* Which source shows the node's Neuron devices; see neuron.h. */
#include "agent/neuron/neuron.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/neuron/neuron_child.h"
#include "agent/neuron/neuron_monitor.h"
#include "agent/neuron/neuron_sysfs.h"
#include "agent/sampling/sampler.h"
#include "synop/buffer.h"
#include "synop/clock.h"
#include "synop/config.h"
#include "synop/memory.h"

#define CHECK_PERIOD (60 * NS_PER_S)
#define DEFAULT_PERIOD (5 * NS_PER_S) /* neuron-monitor's own */
#define COMMAND_OFF "off"

struct neuron {
  pthread_mutex_t lock;           /* for the members below */
  struct neuron_monitor *monitor; /* made once */
  bool given_up;

  char *root, *command;
  char *configuration; /* generated for neuron-monitor; NULL: the command names its own */
  int64_t period_ns;   /* the shortest of the groups */

  enum neuron_source source; /* of the sampling thread, as is the next */
  int64_t check_ns;
};

/* ---- neuron-monitor's configuration ---- */

static int64_t
period_of (const struct sampler_context *context, enum neuron_kind kind)
{
  for (size_t i = 0; i < context->sampler_count; i++)
    if (context->samplers[i]->group == &neuron_groups[kind])
      return context->periods_ns[i];
  return 0;
}

static void
period_take (int64_t *shortest_ns, int64_t period_ns)
{
  if (period_ns > 0 && (*shortest_ns == 0 || period_ns < *shortest_ns))
    *shortest_ns = period_ns;
}

/* Adds a group of neuron-monitor with the shortest period of those of our groups that it serves. */
static void
metric_add (struct buffer *out, const char *type, int64_t period_ns)
{
  if (period_ns == 0)
    return;
  if (out->length && out->data[out->length - 1] == '}')
    buffer_add_string (out, ", ");
  buffer_printf (out, "{\"type\": \"%s\", \"period\": \"%lldms\"}", type, (long long) (period_ns / NS_PER_MS));
}

/* {"period": "1000ms", "neuron_runtimes": [{"tag_filter": ".*", "metrics": [{"type": "memory_used", "period": ...}]}],
 *  "system_metrics": [{"type": "neuron_hw_counters", "period": "1000ms"}]} */
static char *
configuration_make (const struct sampler_context *context, int64_t *shortest_ns)
{
  struct buffer metrics = { 0 }, system = { 0 };
  int64_t memory_ns = 0;
  char *made;

  period_take (&memory_ns, period_of (context, NEURON_MEMORY));
  period_take (&memory_ns, period_of (context, NEURON_CORE_MEMORY));
  period_take (&memory_ns, period_of (context, NEURON_MODELS));
  metric_add (&metrics, "neuroncore_counters", period_of (context, NEURON_CORES));
  metric_add (&metrics, "execution_stats", period_of (context, NEURON_EXECUTIONS));
  metric_add (&metrics, "memory_used", memory_ns);
  metric_add (&metrics, "neuron_runtime_vcpu_usage", period_of (context, NEURON_VCPU));
  metric_add (&system, "neuron_hw_counters", period_of (context, NEURON_DEVICES));
  *shortest_ns = memory_ns;
  period_take (shortest_ns, period_of (context, NEURON_CORES));
  period_take (shortest_ns, period_of (context, NEURON_EXECUTIONS));
  period_take (shortest_ns, period_of (context, NEURON_VCPU));
  period_take (shortest_ns, period_of (context, NEURON_DEVICES));
  period_take (shortest_ns, DEFAULT_PERIOD);
  made =
      memory_format ("{\"period\": \"%lldms\", \"neuron_runtimes\": [{\"tag_filter\": \".*\", \"metrics\": [%.*s]}], "
                     "\"system_metrics\": [%.*s]}\n",
                     (long long) (*shortest_ns / NS_PER_MS), (int) metrics.length, metrics.data ? metrics.data : "",
                     (int) system.length, system.data ? system.data : "");
  buffer_free (&metrics);
  buffer_free (&system);
  return made;
}

/* ---- the source ---- */

/* The default command is for a live machine with devices alone. */
static enum neuron_source
source_find (const char *root, const char *command)
{
  bool sysfs = neuron_sysfs_exists (root);
  char path[512];

  if (strcmp (command, COMMAND_OFF) == 0)
    return sysfs ? NEURON_BY_SYSFS : NEURON_ABSENT;
  if (strcmp (command, NEURON_PROGRAM) != 0)
    return NEURON_BY_MONITOR;
  if (!sysfs && (root[0] || access ("/dev/neuron0", F_OK) < 0))
    return NEURON_ABSENT;
  if (!root[0] && neuron_program_find (NEURON_PROGRAM, path, sizeof path))
    return NEURON_BY_MONITOR;
  return sysfs ? NEURON_BY_SYSFS : NEURON_ABSENT;
}

struct neuron_options {
  char *command;
};

static const struct option option_rows[] = {
  { "neuron", "command", "neuron-command", OPTION_TEXT, offsetof (struct neuron_options, command), NEURON_PROGRAM,
    .help =
        "The program that reports AWS Neuron devices, with its options. The default is started where there are such "
        "devices and it is installed; else the driver's files are read. Any other command is started always. Its "
        "configuration is made from the groups' periods unless a -c FILE stands here. off: the files alone." },
};
static const struct own_options own_options = OWN_OPTIONS (option_rows, struct neuron_options);

static const char *
command_of (const struct sampler_context *context)
{
  const struct neuron_options *options = context_options (context, &own_options);

  return options->command[0] ? options->command : NEURON_PROGRAM;
}

static void
neuron_start (void *state, const struct sampler_context *context)
{
  struct neuron *neuron = state;
  char *configuration = configuration_make (context, &neuron->period_ns);

  pthread_mutex_init (&neuron->lock, NULL);
  neuron->root = memory_string (context->root);
  neuron->command = memory_string (command_of (context));
  if (strstr (neuron->command, " -c ") || strstr (neuron->command, " --config-file "))
    free (configuration);
  else
    neuron->configuration = configuration;
}

static void
neuron_stop (void *state)
{
  struct neuron *neuron = state;

  neuron_monitor_destroy (neuron->monitor);
  pthread_mutex_destroy (&neuron->lock);
  free (neuron->root);
  free (neuron->command);
  free (neuron->configuration);
}

/* Before a reload: the next struct neuron starts a neuron-monitor of its own, with other periods. */
static void
neuron_give_up (void *state)
{
  struct neuron *neuron = state;
  struct neuron_monitor *monitor;

  pthread_mutex_lock (&neuron->lock);
  monitor = neuron->monitor;
  neuron->given_up = true;
  pthread_mutex_unlock (&neuron->lock);
  if (monitor)
    neuron_monitor_stop (monitor);
}

const struct service service_neuron = { .options = &own_options,
                                        .size = sizeof (struct neuron),
                                        .start = neuron_start,
                                        .give_up = neuron_give_up,
                                        .stop = neuron_stop };

static struct neuron_monitor *
monitor_of (struct neuron *neuron)
{
  struct neuron_monitor *monitor;

  pthread_mutex_lock (&neuron->lock);
  monitor = neuron->monitor;
  pthread_mutex_unlock (&neuron->lock);
  return monitor;
}

static void
monitor_begin (struct neuron *neuron)
{
  const struct neuron_monitor_options options = { .command = neuron->command,
                                                  .configuration = neuron->configuration,
                                                  .period_ns = neuron->period_ns };

  pthread_mutex_lock (&neuron->lock);
  if (!neuron->monitor && !neuron->given_up)
    neuron->monitor = neuron_monitor_create (&options);
  pthread_mutex_unlock (&neuron->lock);
}

enum neuron_source
neuron_source (struct neuron *neuron, bool begin)
{
  if (neuron->source == NEURON_ABSENT) {
    int64_t now_ns = clock_monotonic ();

    if (neuron->check_ns <= now_ns) {
      neuron->check_ns = now_ns + CHECK_PERIOD;
      neuron->source = source_find (neuron->root, neuron->command);
    }
  }
  if (begin && neuron->source == NEURON_BY_MONITOR)
    monitor_begin (neuron);
  return neuron->source;
}

const char *
neuron_root (const struct neuron *neuron)
{
  return neuron->root;
}

int
neuron_sample (struct neuron *neuron, enum neuron_kind kind, struct table *table)
{
  struct neuron_monitor *monitor = monitor_of (neuron);

  return monitor ? neuron_monitor_sample (monitor, kind, table) : 0;
}

bool
neuron_wait (struct neuron *neuron, enum neuron_kind kind, int64_t deadline_ns)
{
  struct neuron_monitor *monitor = monitor_of (neuron);

  return monitor && neuron_monitor_wait (monitor, kind, deadline_ns);
}

void
neuron_instance (struct neuron *neuron, int64_t deadline_ns, struct imds_facts *facts)
{
  const struct {
    const char *metric;
    char *text;
  } wanted[] = { { "instance_id", facts->instance_id },
                 { "instance_type", facts->instance_type },
                 { "ami_id", facts->image_id },
                 { "availability_zone", facts->availability_zone },
                 { "region", facts->region } };
  struct table table;

  if (!neuron_wait (neuron, NEURON_INSTANCE, deadline_ns))
    return;
  table_init (&table, &neuron_groups[NEURON_INSTANCE]);
  neuron_sample (neuron, NEURON_INSTANCE, &table);
  for (size_t i = 0; table.rows && i < sizeof wanted / sizeof wanted[0]; i++) {
    const struct value *value = table_get (&table, 0, neuron_column (NEURON_INSTANCE, wanted[i].metric));
    const char *text;
    size_t length;

    if (wanted[i].text[0] || value->type != VALUE_TEXT)
      continue;
    text = table_text (&table, value, &length);
    if (length < IMDS_TEXT_SIZE) {
      memcpy (wanted[i].text, text, length);
      wanted[i].text[length] = '\0';
    }
  }
  table_free (&table);
}

void
neuron_absent (const struct sampler_context *context, char *text, size_t size)
{
  bool absent = source_find (context->root, command_of (context)) == NEURON_ABSENT;

  snprintf (text, size, "%s", absent ? "no Neuron device: /sys/devices/virtual/neuron_device is absent" : "");
}
