/* Groups as neuron-monitor nests them; see neuron_groups.h. A path such as "error_summary/generic" is a member of an object
 * in an object. */
#include "agent/compat/neuron_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_LENGTH 256

json_t *
number_or_zero (const json_t *number)
{
  return json_is_number (number) ? json_incref ((json_t *) number) : json_integer (0);
}

/* ---- members ---- */

/* Takes over the value. */
static void
put (json_t *to, const char *path, json_t *value)
{
  const char *slash = strchr (path, '/');

  if (slash) {
    char name[PATH_MAX_LENGTH];
    json_t *inner;

    snprintf (name, sizeof name, "%.*s", (int) (slash - path), path);
    inner = json_object_get (to, name);
    if (!inner)
      json_object_set_new (to, name, inner = neuron_object ());
    put (inner, slash + 1, value);
  } else {
    json_object_set_new (to, path, value);
  }
}

struct member {
  const char *from, *newer, *older; /* older NULL: as newer; "": not there */
};

static bool
members_put (const struct member *members, size_t count, bool older, const json_t *from, json_t *to)
{
  bool any = false;

  for (size_t i = 0; i < count; i++) {
    const char *path = older && members[i].older ? members[i].older : members[i].newer;
    const json_t *value = json_object_get (from, members[i].from);

    if (!*path)
      continue;
    any |= json_is_number (value);
    put (to, path, number_or_zero (value));
  }
  return any;
}
#define MEMBERS_PUT(members, older, from, to)                                                                          \
  members_put (members, sizeof (members) / sizeof (members)[0], older, from, to)

/* ---- NeuronCores ---- */

/* "MODEL:SUBGRAPH, MODEL:SUBGRAPH" */
static json_t *
words_list (const json_t *text)
{
  const char *at = json_string_value (text);
  json_t *list = neuron_list ();

  while (at && *at) {
    size_t length = strcspn (at, ",");

    json_array_append_new (list, json_stringn (at, length));
    at += length;
    at += strspn (at, ", ");
  }
  return list;
}

static bool
cores_put (bool older, const json_t *groups, json_t *to)
{
  static const struct member newer_members[] = { { "neuroncore_utilization", "neuroncore_utilization", NULL },
                                                 { "flops", "flops", NULL } };
  static const struct member older_members[] = { { "alignment_corrections", "alignment_corrections", NULL },
                                                 { "matmul_utilization", "matmul_utilization", NULL } };
  json_t *rows = json_object_get (json_object_get (groups, "neuroncore_counters"), "neuroncores_in_use"), *row;
  json_t *cores = neuron_object ();
  const json_t *cycles = NULL;
  const char *core;
  bool any = false;

  json_object_foreach (rows, core, row)
  {
    json_t *made = neuron_object ();

    if (older) {
      any |= MEMBERS_PUT (older_members, true, row, made);
      json_object_set_new (made, "active_models", words_list (json_object_get (row, "active_models")));
      cycles = json_object_get (row, "estimated_cycles");
    } else {
      const json_t *effective = json_object_get (row, "effective_flops"); /* of the newest releases alone */

      any |= MEMBERS_PUT (newer_members, false, row, made);
      if (json_is_number (effective))
        json_object_set (made, "effective_flops", (json_t *) effective);
    }
    json_object_set_new (cores, core, made);
  }
  json_object_set_new (to, older ? "neuron_cores" : "neuroncores_in_use", cores);
  if (older)
    json_object_set_new (to, "estimated_cycles", number_or_zero (cycles));
  return any || !rows;
}

/* ---- executions ---- */

static bool
latency_put (const char *name, const json_t *from, json_t *to)
{
  static const char *const parts[] = { "p0", "p1", "p25", "p50", "p75", "p99", "p100" };
  json_t *made = neuron_object ();
  bool any = false;

  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    char key[PATH_MAX_LENGTH];
    const json_t *value;

    snprintf (key, sizeof key, "%s_%s", name, parts[i]);
    value = json_object_get (from, key);
    any |= json_is_number (value);
    json_object_set_new (made, parts[i], number_or_zero (value));
  }
  if (!any) {
    json_decref (made);
    made = json_pack ("n");
  }
  json_object_set_new (to, name, made);
  return any;
}

static bool
executions_put (bool older, const json_t *groups, json_t *to)
{
  static const struct member members[] = {
    { "errors_generic", "error_summary/generic", NULL },
    { "errors_numerical", "error_summary/numerical", NULL },
    { "errors_transient", "error_summary/transient", NULL },
    { "errors_model", "error_summary/model", "" },
    { "errors_runtime", "error_summary/runtime", NULL },
    { "errors_hardware", "error_summary/hardware", NULL },
    { "completed", "execution_summary/completed", "inference_summary/completed" },
    { "completed_with_err", "execution_summary/completed_with_err", "inference_summary/completed_with_err" },
    { "completed_with_num_err", "execution_summary/completed_with_num_err",
      "inference_summary/completed_with_num_err" },
    { "timed_out", "execution_summary/timed_out", "inference_summary/timed_out" },
    { "incorrect_input", "execution_summary/incorrect_input", "inference_summary/incorrect_input" },
    { "failed_to_queue", "execution_summary/failed_to_queue", "inference_summary/failed_to_queue" },
  };
  const json_t *from = json_object_get (groups, "execution_stats");
  json_t *latency = neuron_object ();
  bool any = MEMBERS_PUT (members, older, from, to);

  any |= latency_put ("total_latency", from, latency);
  any |= latency_put ("device_latency", from, latency);
  json_object_set_new (to, "latency_stats", latency);
  /* Counts are of a period: in the first line there is none yet. */
  return any || !json_object_get (from, "row_error");
}

/* ---- memory ---- */

#define USED "neuron_runtime_used_bytes/"
#define BREAKDOWN USED "usage_breakdown/"

static void
core_memory_put (const json_t *groups, json_t *to)
{
  static const char *const parts[] = { "constants", "model_code", "model_shared_scratchpad", "runtime_memory",
                                       "tensors" };
  json_t *rows = json_object_get (json_object_get (groups, "neuroncore_memory_usage"), "neuroncores"), *row;
  const char *core;

  put (to, BREAKDOWN "neuroncore_memory_usage", neuron_object ());
  json_object_foreach (rows, core, row) for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
  {
    char path[PATH_MAX_LENGTH];

    snprintf (path, sizeof path, BREAKDOWN "neuroncore_memory_usage/%.32s/%s", core, parts[i]);
    put (to, path, number_or_zero (json_object_get (row, parts[i])));
  }
}

static void
add_to (json_t *to, const char *name, const json_t *number)
{
  json_int_t sum = json_integer_value (json_object_get (to, name)) + (json_int_t) json_number_value (number);

  json_object_set_new (to, name, json_integer (sum));
}

/* A row is a subgraph, MODEL:SUBGRAPH; a model has the sum of its subgraphs. */
static json_t *
model_make (const char *label, size_t length, const json_t *row, bool older)
{
  json_t *made = neuron_object ();

  json_object_set_new (made, "name", json_string (json_string_value (json_object_get (row, "name"))));
  json_object_set_new (made, "uuid", json_string (json_string_value (json_object_get (row, "uuid"))));
  if (!older) {
    char id[32];

    snprintf (id, sizeof id, "%.*s", (int) length, label);
    json_object_set_new (made, "model_id", json_integer (strtoll (id, NULL, 10)));
    json_object_set_new (made, "is_running",
                         json_boolean (json_is_true (json_object_get (row, "is_running")) ||
                                       json_number_value (json_object_get (row, "is_running")) > 0));
  }
  json_object_set_new (made, older ? "memory_usage" : "memory_used_bytes", neuron_object ());
  json_object_set_new (made, "subgraphs", neuron_object ());
  return made;
}

static void
subgraph_put (json_t *model, const char *name, const json_t *row, bool older)
{
  static const struct member members[] = {
    { "host", "memory_used_bytes/host", "memory_usage/host" },
    { "neuron_device", "memory_used_bytes/neuron_device", "memory_usage/device" },
    { "neuroncore_index", "neuroncore_index", "neuron_core" },
    { "neuron_device_index", "neuron_device_index", "neuron_device" },
  };
  json_t *made = neuron_object (), *sum = json_object_get (model, older ? "memory_usage" : "memory_used_bytes");

  MEMBERS_PUT (members, older, row, made);
  add_to (sum, "host", json_object_get (row, "host"));
  add_to (sum, older ? "device" : "neuron_device", json_object_get (row, "neuron_device"));
  json_object_set_new (json_object_get (model, "subgraphs"), name, made);
}

static json_t *
models_make (const json_t *groups, bool older)
{
  json_t *rows = json_object_get (json_object_get (groups, "loaded_models"), "models"), *row;
  json_t *list = neuron_list (), *by_id = neuron_object ();
  const char *label;

  json_object_foreach (rows, label, row)
  {
    const char *colon = strrchr (label, ':');
    size_t length = colon ? (size_t) (colon - label) : strlen (label);
    char id[PATH_MAX_LENGTH];
    json_t *model;

    snprintf (id, sizeof id, "%.*s", (int) length, label);
    model = json_object_get (by_id, id);
    if (!model) {
      model = model_make (label, length, row, older);
      json_object_set_new (by_id, id, model);
      json_array_append (list, model);
    }
    subgraph_put (model, colon ? colon + 1 : label, row, older);
  }
  json_decref (by_id);
  return list;
}

static bool
memory_put (bool older, const json_t *groups, json_t *to)
{
  static const struct member members[] = {
    { "host", USED "host", "runtime_memory/host" },
    { "neuron_device", USED "neuron_device", "runtime_memory/device" },
    { "host_application_memory", BREAKDOWN "host/application_memory", "" },
    { "host_constants", BREAKDOWN "host/constants", "" },
    { "host_dma_buffers", BREAKDOWN "host/dma_buffers", "" },
    { "host_tensors", BREAKDOWN "host/tensors", "" },
  };
  bool any = MEMBERS_PUT (members, older, json_object_get (groups, "memory_used"), to);

  if (!older)
    core_memory_put (groups, to);
  json_object_set_new (to, older ? "models" : "loaded_models", models_make (groups, older));
  return any;
}

/* ---- the system ---- */

static bool
hardware_put (bool older, const json_t *groups, json_t *to)
{
  static const struct member members[] = {
    { "mem_ecc_corrected", "mem_ecc_corrected", NULL },
    { "mem_ecc_uncorrected", "mem_ecc_uncorrected", NULL },
    { "sram_ecc_corrected", "sram_ecc_corrected", "" },
    { "sram_ecc_uncorrected", "sram_ecc_uncorrected", NULL },
  };
  json_t *rows = json_object_get (json_object_get (groups, "neuron_hw_counters"), "neuron_devices"), *row;
  json_t *list = neuron_list ();
  const char *device;

  json_object_foreach (rows, device, row)
  {
    json_t *made = neuron_object ();

    json_object_set_new (made, older ? "device_index" : "neuron_device_index",
                         json_integer (strtoll (device, NULL, 10)));
    MEMBERS_PUT (members, older, row, made);
    json_array_append_new (list, made);
  }
  json_object_set_new (to, older ? "devices" : "neuron_devices", list);
  return json_array_size (list) > 0;
}

static bool
vcpu_put (const json_t *groups, json_t *to)
{
  static const struct member members[] = {
    { "user", "user", NULL },         { "nice", "nice", NULL },       { "system", "system", NULL },
    { "idle", "idle", NULL },         { "io_wait", "io_wait", NULL }, { "irq", "irq", NULL },
    { "soft_irq", "soft_irq", NULL },
  };
  const json_t *from = json_object_get (groups, "cpu_usage");
  json_t *average = neuron_object (), *usage = neuron_object (), *rows = json_object_get (from, "usage_data"), *row;
  const char *cpu;
  bool any = MEMBERS_PUT (members, false, json_object_get (from, "average_usage"), average);

  json_object_foreach (rows, cpu, row)
  {
    json_t *made = neuron_object ();

    MEMBERS_PUT (members, false, row, made);
    json_object_set_new (usage, cpu, made);
  }
  json_object_set_new (to, "average_usage", average);
  json_object_set_new (to, "usage_data", usage);
  json_object_set_new (to, "context_switch_count", number_or_zero (json_object_get (from, "context_switch_count")));
  return any;
}

bool
neuron_group_put (enum neuron_type type, bool older, const json_t *groups, json_t *to)
{
  static const struct member runtime_vcpu[] = { { "user", "vcpu_usage/user", "cpu_usage/user" },
                                                { "system", "vcpu_usage/system", "cpu_usage/system" } };
  static const struct member system_memory[] = { { "total", "memory_total_bytes", NULL },
                                                 { "used", "memory_used_bytes", NULL },
                                                 { "swap_total", "swap_total_bytes", NULL },
                                                 { "swap_used", "swap_used_bytes", NULL } };

  switch (type) {
  case TYPE_CORES:
    return cores_put (older, groups, to);
  case TYPE_EXECUTIONS:
    return executions_put (older, groups, to);
  case TYPE_MEMORY:
    return memory_put (older, groups, to);
  case TYPE_RUNTIME_VCPU:
    return MEMBERS_PUT (runtime_vcpu, older, json_object_get (groups, "neuron_runtime_vcpu_usage"), to);
  case TYPE_HARDWARE:
    return hardware_put (older, groups, to);
  case TYPE_VCPU:
    return vcpu_put (groups, to);
  case TYPE_SYSTEM_MEMORY:
    return MEMBERS_PUT (system_memory, older, json_object_get (groups, "memory_info"), to);
  case NEURON_TYPES:
    break;
  }
  return false;
}
