/* Lines of neuron-monitor's form; see neuron_lines.h. Objects of ours are read, and objects of theirs made, by a table for
 * each group. */
#include "agent/compat/neuron_lines.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/compat/neuron_groups.h"
#include "synop/memory.h"

#define NO_VALUE "no source on this node has values of this group"

struct neuron_lines {
  const struct neuron_config *config;
  json_t *instance, *hardware; /* facts, of the line that had them last */
  json_t *runtimes;            /* ours: those of the last line that had any group of theirs */
};

struct neuron_lines *
neuron_lines_create (const struct neuron_config *config)
{
  struct neuron_lines *lines = memory_new (1, sizeof *lines);

  lines->config = config;
  return lines;
}

void
neuron_lines_destroy (struct neuron_lines *lines)
{
  if (!lines)
    return;
  json_decref (lines->instance);
  json_decref (lines->hardware);
  json_decref (lines->runtimes);
  free (lines);
}

/* ---- facts ---- */

static json_t *
text_or_empty (const json_t *text)
{
  return json_string (json_is_string (text) ? json_string_value (text) : "");
}

static json_t *
instance_make (const struct neuron_lines *lines)
{
  static const char *const names[][2] = {
    { "instance_name", NULL },
    { "instance_id", "instance_id" },
    { "instance_type", "instance_type" },
    { "instance_availability_zone", "availability_zone" },
    { "instance_availability_zone_id", NULL },
    { "instance_region", "region" },
    { "ami_id", "ami_id" },
    { "subnet_id", NULL },
    { "error", "error" },
  };
  json_t *made = neuron_object ();

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char *name = names[i][0], *from = names[i][1];

    if (!lines->config->older || strcmp (name, "instance_id") == 0 || strcmp (name, "instance_type") == 0 ||
        strcmp (name, "ami_id") == 0)
      json_object_set_new (made, name, text_or_empty (from ? json_object_get (lines->instance, from) : NULL));
  }
  return made;
}

static json_t *
hardware_make (const struct neuron_lines *lines)
{
  static const char *const texts[] = { "neuron_device_type", "neuron_device_version", "neuroncore_version" };
  static const char *const numbers[] = { "neuroncore_per_device_count", "neuron_device_memory_size",
                                         "logical_neuroncore_config" };
  const json_t *devices = json_object_get (lines->hardware, "devices");
  const json_t *first = json_object_iter_value (json_object_iter ((json_t *) devices));
  json_t *made = neuron_object ();

  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    json_object_set_new (made, texts[i], text_or_empty (json_object_get (first, texts[i])));
  json_object_set_new (made, "neuron_device_count",
                       number_or_zero (json_object_get (lines->hardware, "neuron_device_count")));
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    json_object_set_new (made, numbers[i], number_or_zero (json_object_get (first, numbers[i])));
  json_object_set_new (made, "error",
                       devices ? text_or_empty (json_object_get (lines->hardware, "error"))
                               : json_string ("no Neuron device is found"));
  return made;
}

/* ---- groups ---- */

static json_t *
group_make (enum neuron_type type, bool older, const json_t *groups)
{
  const json_t *from = json_object_get (groups, neuron_type_groups (type)[0]);
  const char *error = json_string_value (json_object_get (from, "error"));
  json_t *made = neuron_object (), *period = json_object_get (from, "period");
  bool any = neuron_group_put (type, older, groups, made);

  json_object_set_new (made, "period", period ? json_incref (period) : json_integer (0));
  json_object_set_new (made, "error", json_string (error && *error ? error : any ? "" : NO_VALUE));
  return made;
}

/* Those of a runtime, or of the system. Hardware counters of the older generation are a runtime's, and ours the node's. */
static json_t *
groups_make (const struct neuron_lines *lines, const json_t *groups, const json_t *of_node, const bool *types)
{
  json_t *made = neuron_object ();

  for (enum neuron_type i = 0; i < NEURON_TYPES; i++) {
    const json_t *from = i == TYPE_HARDWARE ? of_node : groups;

    if (types[i] && json_object_get (from, neuron_type_groups (i)[0]))
      json_object_set_new (made, neuron_type_name (i, lines->config->older),
                           group_make (i, lines->config->older, from));
  }
  return made;
}

static json_t *
system_make (const struct neuron_lines *lines, const json_t *groups)
{
  bool types[NEURON_TYPES];

  for (enum neuron_type i = 0; i < NEURON_TYPES; i++)
    types[i] = lines->config->periods_ns[i] && !neuron_type_is_of_runtimes (i, lines->config->older);
  return groups_make (lines, groups, groups, types);
}

/* ---- runtimes ---- */

/* Tags are process ids where an application has none. */
static const char *
runtime_tag (const json_t *runtime)
{
  const char *tag = json_string_value (json_object_get (runtime, "neuron_runtime_tag"));
  const char *label = json_string_value (json_object_get (runtime, "runtime"));

  return tag && *tag ? tag : label ? label : "";
}

static const struct neuron_filter *
filter_find (const struct neuron_config *config, const char *tag)
{
  for (size_t i = 0; i < config->filter_count; i++)
    if (!config->filters[i].has_tag || regexec (&config->filters[i].tag, tag, 0, NULL, 0) == 0)
      return &config->filters[i];
  return NULL;
}

static json_t *
runtime_make (const struct neuron_lines *lines, const json_t *runtime, size_t number, const json_t *system)
{
  const struct neuron_filter *filter = filter_find (lines->config, runtime_tag (runtime));
  json_t *made, *index;

  if (!filter)
    return NULL;
  made = neuron_object ();
  index = json_object_get (runtime, "runtime_index");
  if (lines->config->older) {
    json_object_set_new (made, "runtime_index",
                         json_is_number (index) ? json_incref (index) : json_integer ((json_int_t) number));
  } else {
    json_object_set_new (made, "pid", number_or_zero (json_object_get (runtime, "pid")));
    json_object_set_new (made, "address", text_or_empty (json_object_get (runtime, "address")));
    json_object_set_new (made, "neuron_runtime_tag", json_string (runtime_tag (runtime)));
  }
  json_object_set_new (made, "error", text_or_empty (json_object_get (runtime, "error")));
  /* The node's counters of hardware stand once: with its first runtime. */
  json_object_set_new (
      made, "report",
      groups_make (lines, json_object_get (runtime, "report"), number == 0 ? system : NULL, filter->types));
  return made;
}

/* A line without any group of theirs has the runtimes of the one before, without groups: none is not meant by it. */
static json_t *
runtimes_make (struct neuron_lines *lines, const json_t *report)
{
  json_t *made = neuron_list (), *now = json_object_get (report, "runtime_data"), *runtime;
  const json_t *system = json_object_get (report, "system_data");
  size_t i;

  if (now) {
    json_decref (lines->runtimes);
    lines->runtimes = neuron_list ();
  }
  json_array_foreach (now ? now : lines->runtimes, i, runtime)
  {
    json_t *item = runtime_make (lines, runtime, i, system);

    if (item)
      json_array_append_new (made, item);
    if (now) {
      json_t *kept = json_deep_copy (runtime);

      json_object_del (kept, "report");
      json_array_append_new (lines->runtimes, kept);
    }
  }
  return made;
}

/* ---- the line ---- */

static void
fact_take (json_t **kept, const json_t *report, const char *name)
{
  json_t *fact = json_object_get (report, name);

  if (!fact)
    return;
  json_decref (*kept);
  *kept = json_incref (fact);
}

static int
line_put (const char *bytes, size_t length, void *context)
{
  buffer_add (context, bytes, length);
  return 0;
}

void
neuron_lines_shape (void *context, struct buffer *line)
{
  struct neuron_lines *lines = context;
  json_t *root = json_loadb (line->data, line->length, JSON_DISABLE_EOF_CHECK, NULL);
  const json_t *report = json_object_get (root, "report");
  bool older = lines->config->older;
  json_t *made = neuron_object ();

  fact_take (&lines->instance, report, "instance_info");
  fact_take (&lines->hardware, report, "neuron_hardware_info");
  json_object_set_new (made, older ? "runtime_data" : "neuron_runtime_data", runtimes_make (lines, report));
  json_object_set_new (made, "system_data", system_make (lines, json_object_get (report, "system_data")));
  json_object_set_new (made, older ? "instance_data" : "instance_info", instance_make (lines));
  if (!older)
    json_object_set_new (made, "neuron_hardware_info", hardware_make (lines));
  buffer_clear (line);
  json_dump_callback (made, line_put, line, JSON_COMPACT | JSON_REAL_PRECISION (15));
  buffer_add_string (line, "\n");
  json_decref (made);
  json_decref (root);
}
