/* See top_model.h. */
#include "aggregator/top/top_model.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"
#include "synop/quantity.h"

const char *const model_expressions[MODEL_SLOTS] = {
  [SLOT_CPU] = "cpu_usage.busy",
  [SLOT_MEMORY] = "memory_info.used / memory_info.total",
  [SLOT_NETWORK] = "network.rx_bytes + network.tx_bytes",
  [SLOT_DISK] = "disk_io.read_bytes + disk_io.write_bytes",
  [SLOT_GPU] = "gpu.utilization",
  [SLOT_POWER] = "node_power.power",
};

static void
ask_slot (struct model *model, enum model_slot slot, const char *expression, struct buffer *request)
{
  model->asked[model->asked_count++] = slot;
  buffer_printf (request, "\tmetric=%s", expression);
}

/* The first word; of all that is asked here the second metric is of the same group. */
static bool
has_metric (const char *expression, bool (*has) (const void *context, const char *metric), const void *context)
{
  char first[128];
  size_t length = strcspn (expression, " ");

  if (length >= sizeof first)
    return false;
  memcpy (first, expression, length);
  first[length] = 0;
  return has (context, first);
}

void
model_ask (struct model *model, const char *chosen, bool (*has) (const void *context, const char *metric),
           const void *context, struct buffer *request)
{
  model->asked_count = 0;
  buffer_add_string (request, "watch");
  for (enum model_slot slot = 0; slot < SLOT_CHOSEN; slot++)
    if (has_metric (model_expressions[slot], has, context))
      ask_slot (model, slot, model_expressions[slot], request);
  if (model->asked_count == 0) /* none is up; the nodes and their states come with any */
    ask_slot (model, SLOT_CPU, model_expressions[SLOT_CPU], request);
  if (chosen)
    ask_slot (model, SLOT_CHOSEN, chosen, request);
  buffer_add_string (request, "\n");
}

/* ---- lines ---- */

static double
number (const json_t *object, const char *key)
{
  const json_t *value = json_object_get (object, key);

  return json_is_number (value) ? json_number_value (value) : (double) NAN;
}

static void
replace_text (char **text, const json_t *value)
{
  free (*text);
  *text = memory_string (json_is_string (value) ? json_string_value (value) : "");
}

static void
free_names (struct model *model)
{
  for (size_t i = 0; i < model->count; i++)
    free (model->names[i]);
  free (model->names);
  model->names = NULL;
  model->count = 0;
}

static void
take_nodes (struct model *model, const json_t *nodes)
{
  free_names (model);
  model->count = json_array_size (nodes);
  model->names = memory_new (model->count, sizeof model->names[0]);
  for (size_t i = 0; i < model->count; i++) {
    const char *name = json_string_value (json_array_get (nodes, i));
    model->names[i] = memory_string (name ? name : "");
  }
  model->states = memory_resize (model->states, model->count + 1, 1);
  for (size_t i = 0; i < MODEL_SLOTS; i++) {
    struct model_column *column = &model->columns[i];
    column->values = memory_resize (column->values, model->count + 1, sizeof column->values[0]);
    column->present = false;
  }
}

static void
take_states (struct model *model, const char *letters)
{
  memset (model->in_state, 0, sizeof model->in_state);
  for (size_t i = 0; i < model->count; i++) {
    char letter = !letters ? 'n' : *letters ? *letters++ : 'u'; /* behind the end all are up */
    model->states[i] = letter == 'u'   ? STATE_UP
                       : letter == 's' ? STATE_STALE
                       : letter == 'd' ? STATE_DOWN
                                       : STATE_NEVER;
    model->in_state[(size_t) model->states[i]]++;
  }
}

/* Percent have a whole scale; of others it goes to the highest value that there is. */
static void
set_scale (struct model_column *column, enum model_slot slot)
{
  if (slot == SLOT_CPU || slot == SLOT_GPU || quantity_is_percent (column->unit)) {
    column->low = 0;
    column->high = 100;
  } else if (slot == SLOT_MEMORY) {
    column->low = 0;
    column->high = 1;
  } else {
    column->low = column->min < 0 ? column->min : 0;
    column->high = column->max;
  }
}

static void
take_column (struct model *model, enum model_slot slot, const json_t *metric)
{
  struct model_column *column = &model->columns[slot];
  const json_t *values = json_object_get (metric, "values");
  const char *unit = json_string_value (json_object_get (metric, "unit"));

  column->present = true;
  strncpy (column->unit, unit ? unit : "", sizeof column->unit - 1);
  column->count = (size_t) (number (metric, "count") > 0 ? number (metric, "count") : 0);
  column->valued |= column->count > 0;
  column->sum = number (metric, "sum");
  column->mean = number (metric, "mean");
  column->min = number (metric, "min");
  column->max = number (metric, "max");
  replace_text (&column->min_node, json_object_get (metric, "min_node"));
  replace_text (&column->max_node, json_object_get (metric, "max_node"));
  for (size_t i = 0; i < model->count; i++) {
    const json_t *value = json_array_get (values, i);
    column->values[i] = json_is_number (value) ? json_number_value (value) : (double) NAN;
  }
  set_scale (column, slot);
}

int
model_take (struct model *model, const char *line, size_t length)
{
  json_t *root = json_loadb (line, length, 0, NULL);
  const json_t *nodes = json_object_get (root, "nodes"), *metrics = json_object_get (root, "metrics");
  const char *type = json_string_value (json_object_get (root, "type")),
             *time = json_string_value (json_object_get (root, "time"));
  long long list = json_integer_value (json_object_get (root, "list"));
  bool fits = type && strcmp (type, "now") == 0 && time && json_array_size (metrics) == model->asked_count &&
              (json_is_array (nodes) || list == model->list);

  if (fits) {
    if (json_is_array (nodes))
      take_nodes (model, nodes);
    model->list = list;
    take_states (model, json_string_value (json_object_get (root, "states")));
    for (size_t i = 0; i < MODEL_SLOTS; i++)
      model->columns[i].present = false;
    for (size_t i = 0; i < model->asked_count; i++)
      take_column (model, model->asked[i], json_array_get (metrics, i));
    strncpy (model->time, time, sizeof model->time - 1);
  }
  json_decref (root);
  return fits ? 0 : -1;
}

void
model_free (struct model *model)
{
  free_names (model);
  free (model->states);
  for (size_t i = 0; i < MODEL_SLOTS; i++) {
    free (model->columns[i].values);
    free (model->columns[i].min_node);
    free (model->columns[i].max_node);
  }
  *model = (struct model){ 0 };
}

size_t
model_find (const struct model *model, const char *name)
{
  for (size_t i = 0; i < model->count; i++)
    if (strcmp (model->names[i], name) == 0)
      return i;
  return SIZE_MAX;
}

double
model_share (const struct model_column *column, double value)
{
  double range = column->high - column->low;

  if (isnan (value))
    return value;
  return range > 0 ? (value - column->low) / range : 0;
}
