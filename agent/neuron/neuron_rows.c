/* Rows of our tables from neuron-monitor's JSON; see neuron_rows.h. Where a metric lies stands in its `source`. All numbers
 * are reals here; those that may be counts become whole. */
#include "agent/neuron/neuron_rows.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53: whole numbers that a double holds */
#define VALUE_MAX 1e18               /* greater ones stand for "not available" */

const struct neuron_form neuron_forms[NEURON_FORMS] = {
  { NEURON_CORES, ROWS_BY_KEY, { "neuroncore_counters", "nc_counters" }, { "neuroncores_in_use", "neuron_cores" } },
  { NEURON_EXECUTIONS, ONE_ROW, { "execution_stats", "inference_stats" } },
  { NEURON_MEMORY, ONE_ROW, { "memory_used", "memory" } },
  { NEURON_CORE_MEMORY,
    ROWS_BY_KEY,
    { "memory_used", "memory" },
    { "neuron_runtime_used_bytes/usage_breakdown/neuroncore_memory_usage" } },
  { NEURON_MODELS, ROWS_OF_MODELS, { "memory_used", "memory" }, { "loaded_models", "models" } },
  { NEURON_VCPU, ONE_ROW, { "neuron_runtime_vcpu_usage", "runtime_cpu_usage" } },
  { NEURON_DEVICES,
    ROWS_BY_KEY,
    { "neuron_hw_counters", "hw_counters" },
    { "neuron_devices", "devices" },
    { "neuron_device_index", "device_index" } },
};

/* ---- finding values in the JSON ---- */

/* The value at a place, "a/b", of which `length` bytes count. NULL: absent, or null. */
static const json_t *
place_find (const json_t *object, const char *place, size_t length)
{
  char key[64];

  while (length > 0 && object) {
    size_t part = 0;

    for (; part < length && place[part] != '/'; part++)
      key[part] = place[part]; /* the places are ours, and short */
    key[part] = '\0';
    object = json_object_get (object, key);
    part += part < length;
    place += part;
    length -= part;
  }
  return json_is_null (object) ? NULL : object;
}

static const json_t *
source_find (const json_t *row, const json_t *around, const char *source)
{
  const json_t *found = NULL;

  while (*source && !found) {
    size_t length = strcspn (source, " ");
    bool outside = source[0] == '/';

    found = place_find (outside ? around : row, source + outside, length - outside);
    source += length + (source[length] == ' ');
  }
  return found;
}

const json_t *
neuron_either (const json_t *object, const char *const names[2])
{
  const json_t *found = names[0] ? place_find (object, names[0], strlen (names[0])) : NULL;

  return found || !names[1] ? found : place_find (object, names[1], strlen (names[1]));
}

bool
neuron_can_be (enum metric_kind kind, double number)
{
  return kind == COUNTER ? number >= 0 && number <= WHOLE_MAX : fabs (number) <= VALUE_MAX;
}

bool
neuron_number (const json_t *json, double *number)
{
  *number = json_number_value (json);
  return json_is_number (json) && neuron_can_be (GAUGE, *number);
}

/* ---- one value ---- */

/* Makes a label for tables from texts of others. */
static size_t
label_make (char label[TABLE_LABEL_MAX + 1], const char *runtime, const char *name)
{
  int length = snprintf (label, TABLE_LABEL_MAX + 1, "%s%s%s", runtime, runtime[0] && name[0] ? "/" : "", name);

  if (length > TABLE_LABEL_MAX)
    length = TABLE_LABEL_MAX;
  for (int i = 0; i < length; i++)
    if ((unsigned char) label[i] < ' ' || label[i] == 0x7f)
      label[i] = '?';
  return length < 0 ? 0 : (size_t) length;
}

static void
text_set (struct table *table, size_t row, size_t column, const json_t *json)
{
  char text[1024];
  size_t length = 0;

  if (json_is_array (json)) {
    for (size_t i = 0; i < json_array_size (json); i++) {
      const json_t *word = json_array_get (json, i);

      if (json_is_string (word) && length < sizeof text - 1)
        length += (size_t) snprintf (text + length, sizeof text - length, "%s%s", length ? "," : "",
                                     json_string_value (word));
    }
    length = length < sizeof text ? length : sizeof text - 1;
    if (length)
      table_set_text (table, row, column, text, length);
  } else if (json_string_length (json) > 0) {
    table_set_text (table, row, column, json_string_value (json), json_string_length (json));
  }
}

/* Without a value this time the count stays as it was. */
static void
count_set (struct table *table, size_t row, size_t column, const json_t *json, const struct value *before)
{
  bool known = before && before->type == VALUE_UINT;
  uint64_t count = known ? before->as.u : 0;
  double number;

  if (neuron_number (json, &number) && neuron_can_be (COUNTER, number) &&
      neuron_can_be (COUNTER, (double) count + number))
    table_set_uint (table, row, column, count + (uint64_t) number);
  else if (known)
    table_set_uint (table, row, column, count);
}

static void
value_set (struct table *table, size_t row, size_t column, const json_t *json, const struct value *before)
{
  const struct metric *metric = &table->group->metrics[column];
  double number;

  if (metric->kind == TEXT)
    text_set (table, row, column, json);
  else if (json_is_boolean (json))
    table_set_uint (table, row, column, json_is_true (json));
  else if (metric->kind == COUNTER)
    count_set (table, row, column, json, before);
  else if (!neuron_number (json, &number))
    return;
  else if (number >= 0 && number <= WHOLE_MAX && fabs (number - floor (number)) <= 0)
    table_set_uint (table, row, column, (uint64_t) number);
  else
    table_set_real (table, row, column, number);
}

/* ---- rows ---- */

/* The state while rows are made from a group of a runtime. */
struct making {
  struct table *table;
  const struct table *before;
  const char *runtime;  /* label; "" when rows need none */
  const json_t *around; /* the group's object */
};

static void
row_take (struct making *making, const char *name, const json_t *row_json)
{
  const struct group *group = making->table->group;
  char label[TABLE_LABEL_MAX + 1];
  size_t length = label_make (label, making->runtime, name), then, row;

  if (table_find_row (making->table, label, length, making->table->rows) != SIZE_MAX)
    return; /* the name occurs twice */
  row = table_add_row (making->table, label, length);
  if (row == SIZE_MAX)
    return;
  then = making->before ? table_find_row (making->before, label, length, row) : SIZE_MAX;
  for (size_t i = 0; i < group->metric_count; i++) {
    const struct metric *metric = &group->metrics[i];
    const struct value *before = then == SIZE_MAX ? NULL : table_get (making->before, then, i);

    if (metric->source && metric->source[0])
      value_set (making->table, metric->flags & METRIC_OF_NODE ? TABLE_NODE : row, i,
                 source_find (row_json, making->around, metric->source), before);
  }
}

static void
rows_by_key (struct making *making, const struct neuron_form *form)
{
  const json_t *rows = neuron_either (making->around, form->rows);

  if (json_is_object (rows))
    for (void *at = json_object_iter ((json_t *) rows); at; at = json_object_iter_next ((json_t *) rows, at))
      row_take (making, json_object_iter_key (at), json_object_iter_value (at));
  for (size_t i = 0; json_is_array (rows) && i < json_array_size (rows); i++) {
    const json_t *row = json_array_get (rows, i);
    char name[24];
    double number;

    if (!neuron_number (neuron_either (row, form->index), &number) || number < 0)
      number = (double) i;
    snprintf (name, sizeof name, "%.0f", number);
    row_take (making, name, row);
  }
}

/* A row for each subgraph of each model; one for a model without any. */
static void
rows_of_models (struct making *making, const struct neuron_form *form)
{
  const json_t *models = neuron_either (making->around, form->rows);
  char name[TABLE_LABEL_MAX + 1];
  double id;

  for (size_t i = 0; json_is_array (models) && i < json_array_size (models); i++) {
    const json_t *model = json_array_get (models, i), *graphs = json_object_get (model, "subgraphs");
    const char *uuid = json_string_value (json_object_get (model, "uuid"));
    struct making inside = { making->table, making->before, making->runtime, model };
    int length;

    if (neuron_number (json_object_get (model, "model_id"), &id))
      length = snprintf (name, sizeof name, "%.0f", id);
    else if (uuid)
      length = snprintf (name, sizeof name, "%s", uuid);
    else
      length = snprintf (name, sizeof name, "%zu", i);
    if (json_object_size (graphs) == 0 || length < 0 || (size_t) length >= sizeof name)
      row_take (&inside, name, model);
    else
      for (void *at = json_object_iter ((json_t *) graphs); at; at = json_object_iter_next ((json_t *) graphs, at)) {
        snprintf (name + length, sizeof name - (size_t) length, ":%s", json_object_iter_key (at));
        row_take (&inside, name, json_object_iter_value (at));
      }
  }
}

void
neuron_rows_make (struct table *table, const struct table *before, const struct neuron_form *form, const char *runtime,
                  const json_t *group)
{
  const char *error = json_string_value (json_object_get (group, "error"));
  struct making making = { table, before, runtime, group };

  if (!form || form->shape == ONE_ROW)
    row_take (&making, "", group);
  else if (form->shape == ROWS_BY_KEY)
    rows_by_key (&making, form);
  else
    rows_of_models (&making, form);
  if (table->rows == 0 && error && error[0])
    row_take (&making, "", group); /* there is nothing but the error */
}
