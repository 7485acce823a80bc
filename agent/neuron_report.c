/* Reads neuron-monitor's reports; see neuron_report.h. A report is an object on a line:
 *
 *   newer: {"neuron_runtime_data": [{"pid": 20843, "address": "", "neuron_runtime_tag": "1", "error": "", "report":
 *            {"neuroncore_counters": {"period": 5.0007, "error": "", "neuroncores_in_use": {"0": {...}}}, ...}}],
 *           "system_data": {"neuron_hw_counters": {"period": ..., "neuron_devices": [{"neuron_device_index": 0, ...}]}},
 *           "instance_info": {...}, "neuron_hardware_info": {...}}
 *   older: {"runtime_data": [{"runtime_index": 0, "error": "", "report": {"nc_counters": {"neuron_cores": {"0": {...}}},
 *            "hw_counters": {"devices": [{"device_index": 0, ...}]}, ...}}], "system_data": {...}, "instance_data": {...}}
 *
 * Anything may be null or absent. Its groups of the system that we have ourselves are not looked at. All numbers are
 * read as real ones: a whole number that no 64 bits hold must not cost the report. */
#include "agent/neuron_report.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/clock.h"
#include "synop/memory.h"

#define PARTS_MAX 1024               /* runtimes of a node */
#define WHOLE_MAX 9007199254740992.0 /* 2^53: whole numbers that a double holds */
#define VALUE_MAX 1e18               /* greater ones stand for something else */
#define FORGOTTEN (600 * NS_PER_S)   /* a part that is no longer shown */

/* Where a kind's rows are. */
enum shape { ONE_ROW, ROWS_BY_KEY, ROWS_OF_MODELS };
static const struct form {
  enum neuron_kind kind;
  enum shape shape;
  const char *groups[2]; /* the group's key in a runtime's report: newer, older */
  const char *rows[2];   /* path of an object or array in it */
  const char *index[2];  /* in an array: what numbers the row */
} forms[] = {
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
#define FORMS (sizeof forms / sizeof forms[0])

/* ---- looking into the JSON ---- */

/* One place, "a/b", of which `length` bytes count. NULL when there is no such thing, or null. */
static const json_t *
place_find (const json_t *object, const char *place, size_t length)
{
  char key[64];

  while (length > 0 && object) {
    size_t part = 0;

    for (; part < length && place[part] != '/'; part++)
      key[part] = place[part]; /* of ours: they are short */
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

static const json_t *
either (const json_t *object, const char *const names[2])
{
  const json_t *found = names[0] ? place_find (object, names[0], strlen (names[0])) : NULL;

  return found || !names[1] ? found : place_find (object, names[1], strlen (names[1]));
}

static bool
number_of (const json_t *json, double *number)
{
  *number = json_number_value (json);
  return json_is_number (json) && fabs (*number) <= VALUE_MAX;
}

/* ---- one value ---- */

/* The labels of tables, of what others wrote. */
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

static void
value_set (struct table *table, size_t row, size_t column, const json_t *json, const struct value *before)
{
  const struct metric *metric = &table->group->metrics[column];
  uint64_t count = before && before->type == VALUE_UINT ? before->as.u : 0;
  double number;

  if (metric->kind == TEXT)
    text_set (table, row, column, json);
  else if (json_is_boolean (json))
    table_set_uint (table, row, column, json_is_true (json));
  else if (!number_of (json, &number) || (metric->kind == COUNTER && (number < 0 || number > WHOLE_MAX))) {
    if (metric->kind == COUNTER && before && before->type == VALUE_UINT)
      table_set_uint (table, row, column, count); /* nothing was said this time */
  } else if (metric->kind == COUNTER)
    table_set_uint (table, row, column, count + (uint64_t) number);
  else if (number >= 0 && number <= WHOLE_MAX && fabs (number - floor (number)) <= 0)
    table_set_uint (table, row, column, (uint64_t) number);
  else
    table_set_real (table, row, column, number);
}

/* ---- rows ---- */

/* What is being made of a group of a runtime. */
struct making {
  struct table *table, *before;
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
    return; /* a name that is there twice */
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
rows_by_key (struct making *making, const struct form *form)
{
  const json_t *rows = either (making->around, form->rows);

  if (json_is_object (rows))
    for (void *at = json_object_iter ((json_t *) rows); at; at = json_object_iter_next ((json_t *) rows, at))
      row_take (making, json_object_iter_key (at), json_object_iter_value (at));
  for (size_t i = 0; json_is_array (rows) && i < json_array_size (rows); i++) {
    const json_t *row = json_array_get (rows, i);
    char name[24];
    double number;

    if (!number_of (either (row, form->index), &number) || number < 0)
      number = (double) i;
    snprintf (name, sizeof name, "%.0f", number);
    row_take (making, name, row);
  }
}

/* A row for each subgraph of each model; one for a model that tells of none. */
static void
rows_of_models (struct making *making, const struct form *form)
{
  const json_t *models = either (making->around, form->rows);
  char name[TABLE_LABEL_MAX + 1];
  double id;

  for (size_t i = 0; json_is_array (models) && i < json_array_size (models); i++) {
    const json_t *model = json_array_get (models, i), *graphs = json_object_get (model, "subgraphs");
    const char *uuid = json_string_value (json_object_get (model, "uuid"));
    struct making inside = { making->table, making->before, making->runtime, model };
    int length;

    if (number_of (json_object_get (model, "model_id"), &id))
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

/* ---- parts ---- */

static void
part_free (struct neuron_part *part)
{
  free (part->runtime);
  table_free (&part->table);
}

void
neuron_reports_free (struct neuron_reports *reports)
{
  for (size_t kind = 0; kind < NEURON_KINDS; kind++) {
    struct neuron_parts *parts = &reports->of[kind];

    for (size_t i = 0; i < parts->count; i++)
      part_free (&parts->list[i]);
    free (parts->list);
    if (parts->spare.group)
      table_free (&parts->spare);
  }
  *reports = (struct neuron_reports){ 0 };
}

/* NULL: there are too many. */
static struct neuron_part *
part_find (struct neuron_parts *parts, enum neuron_kind kind, const char *runtime)
{
  struct neuron_part *part;

  for (size_t i = 0; i < parts->count; i++)
    if (strcmp (parts->list[i].runtime, runtime) == 0)
      return &parts->list[i];
  if (parts->count == PARTS_MAX)
    return NULL;
  parts->list = memory_resize (parts->list, parts->count + 1, sizeof *parts->list);
  part = &parts->list[parts->count++];
  *part = (struct neuron_part){ .runtime = memory_string (runtime) };
  table_init (&part->table, &neuron_groups[kind]);
  return part;
}

static void
parts_forget (struct neuron_parts *parts, int64_t now_ns)
{
  size_t kept = 0;

  for (size_t i = 0; i < parts->count; i++)
    if (now_ns - parts->list[i].updated_ns > FORGOTTEN)
      part_free (&parts->list[i]);
    else
      parts->list[kept++] = parts->list[i];
  parts->count = kept;
}

/* A group that was told again as it was, with others that are new: its period is the same to the nanosecond, and has
 * not passed. */
static bool
is_repeated (const struct neuron_part *part, double period, int64_t now_ns)
{
  return period > 0 && fabs (period - part->period) <= 0 && part->updated_ns != 0 &&
         (double) (now_ns - part->updated_ns) < period / 2 * (double) NS_PER_S;
}

/* `around`: the group's object. `prefix`: what the labels of rows begin with. */
static void
part_take (struct neuron_reports *reports, enum neuron_kind kind, const struct form *form, const char *runtime,
           const char *prefix, const json_t *around, double period, int64_t now_ns)
{
  struct neuron_parts *parts = &reports->of[kind];
  struct neuron_part *part = part_find (parts, kind, runtime);
  const char *error = json_string_value (json_object_get (around, "error"));
  struct making making;

  if (!part || is_repeated (part, period, now_ns))
    return;
  if (!parts->spare.group)
    table_init (&parts->spare, &neuron_groups[kind]);
  table_begin (&parts->spare);
  making = (struct making){ &parts->spare, &part->table, prefix, around };
  if (!form || form->shape == ONE_ROW)
    row_take (&making, "", around);
  else if (form->shape == ROWS_BY_KEY)
    rows_by_key (&making, form);
  else
    rows_of_models (&making, form);
  if (parts->spare.rows == 0 && error && error[0])
    row_take (&making, "", around); /* has nothing but the error */
  table_swap (&part->table, &parts->spare);
  part->updated_ns = now_ns;
  part->period = period;
}

static void
runtime_label (char label[TABLE_LABEL_MAX + 1], const json_t *runtime, size_t place)
{
  double number;

  if (!number_of (json_object_get (runtime, "pid"), &number) &&
      !number_of (json_object_get (runtime, "runtime_index"), &number))
    number = (double) place;
  snprintf (label, TABLE_LABEL_MAX + 1, "%.0f", number);
}

static double
period_of (const json_t *group)
{
  double period;

  return number_of (json_object_get (group, "period"), &period) && period > 0 ? period : 0;
}

/* A runtime is as fresh as the slowest of its groups. */
static void
runtime_take (struct neuron_reports *reports, const json_t *runtime, size_t place, int64_t now_ns)
{
  const json_t *report = json_object_get (runtime, "report");
  char label[TABLE_LABEL_MAX + 1];
  double slowest = 0;

  runtime_label (label, runtime, place);
  for (size_t i = 0; i < FORMS; i++) {
    const json_t *group = either (report, forms[i].groups);
    double period = period_of (group);

    if (!json_is_object (group))
      continue;
    slowest = period > slowest ? period : slowest;
    part_take (reports, forms[i].kind, &forms[i], label, forms[i].kind == NEURON_DEVICES ? "" : label, group, period,
               now_ns);
  }
  part_take (reports, NEURON_RUNTIMES, NULL, label, label, runtime, slowest, now_ns);
}

static void
node_take (struct neuron_reports *reports, const json_t *report, int64_t now_ns)
{
  static const char *const hardware[] = { "neuron_hardware_info", NULL };
  static const char *const instance[] = { "instance_info", "instance_data" };
  const json_t *system = json_object_get (report, "system_data"), *found;
  const struct form *form = &forms[FORMS - 1]; /* NEURON_DEVICES */

  found = either (system, form->groups);
  if (json_is_object (found))
    part_take (reports, NEURON_DEVICES, form, "", "", found, period_of (found), now_ns);
  found = either (report, hardware);
  if (json_is_object (found))
    part_take (reports, NEURON_HARDWARE, NULL, "", "", found, 0, now_ns);
  found = either (report, instance);
  if (json_is_object (found))
    part_take (reports, NEURON_INSTANCE, NULL, "", "", found, 0, now_ns);
}

json_t *
neuron_report_parse (const char *line, size_t length, struct error *error)
{
  json_error_t why;
  json_t *report = json_loadb (line, length, JSON_DECODE_INT_AS_REAL, &why);

  if (!report) {
    error_set (error, "a line that is no JSON: %s", why.text);
  } else if (!json_is_object (report)) {
    json_decref (report);
    report = NULL;
    error_set (error, "a line that is no report");
  }
  return report;
}

int
neuron_reports_take (struct neuron_reports *reports, const json_t *report, int64_t now_ns, struct error *error)
{
  static const char *const runtimes_of[] = { "neuron_runtime_data", "runtime_data" };
  const json_t *runtimes = either (report, runtimes_of);

  if (!runtimes && !json_object_get (report, "system_data") && !json_object_get (report, "neuron_runtime_data"))
    return error_set (error, "a line that is no report");
  for (size_t kind = 0; kind < NEURON_KINDS; kind++)
    parts_forget (&reports->of[kind], now_ns);
  for (size_t i = 0; json_is_array (runtimes) && i < json_array_size (runtimes); i++)
    if (json_is_object (json_array_get (runtimes, i)))
      runtime_take (reports, json_array_get (runtimes, i), i, now_ns);
  node_take (reports, report, now_ns);
  reports->reported_ns = now_ns;
  return 0;
}

/* ---- for the samplers ---- */

/* What is told once need not be told again. */
static bool
part_is_fresh (const struct neuron_part *part, enum neuron_kind kind, int64_t now_ns)
{
  double period = part->period > 0 ? part->period : 1;

  return kind == NEURON_HARDWARE || kind == NEURON_INSTANCE ||
         (double) (now_ns - part->updated_ns) <= (2.5 * period + 1) * (double) NS_PER_S;
}

static bool
has_row_of (const struct table *table, const struct table *from, size_t row)
{
  size_t length;
  const char *label = table_label (from, row, &length);

  return table_find_row (table, label, length, row) != SIZE_MAX;
}

static void
row_copy (struct table *table, const struct table *from, size_t row)
{
  size_t length, added;
  const char *label = table_label (from, row, &length);

  added = table_add_row (table, label, length);
  for (size_t i = 0; added != SIZE_MAX && i < table->group->metric_count; i++) {
    const struct value *value = table_get (from, row, i);
    const char *text;

    if (value->type == VALUE_TEXT) {
      text = table_text (from, value, &length);
      table_set_text (table, added, i, text, length);
    } else {
      *table_value (table, added, i) = *value;
    }
  }
}

void
neuron_reports_fill (const struct neuron_reports *reports, enum neuron_kind kind, int64_t now_ns, struct table *table)
{
  const struct neuron_parts *parts = &reports->of[kind];

  for (size_t i = 0; i < parts->count; i++) {
    const struct neuron_part *part = &parts->list[i];

    if (!part_is_fresh (part, kind, now_ns))
      continue;
    for (size_t row = 0; row < part->table.rows; row++)
      if (kind != NEURON_DEVICES || !has_row_of (table, &part->table, row)) /* runtimes may share a device */
        row_copy (table, &part->table, row);
    for (size_t k = 0; k < table->group->metric_count; k++) /* no texts among them */
      if (table->group->metrics[k].flags & METRIC_OF_NODE)
        *table_value (table, TABLE_NODE, k) = *table_get (&part->table, TABLE_NODE, k);
  }
}

int64_t
neuron_reports_patience (const struct neuron_reports *reports)
{
  double shortest = 0;

  for (size_t kind = 0; kind < NEURON_KINDS; kind++)
    for (size_t i = 0; i < reports->of[kind].count; i++) {
      double period = reports->of[kind].list[i].period;

      if (period > 0 && (shortest <= 0 || period < shortest))
        shortest = period;
    }
  return shortest > 0 ? (int64_t) ((3 * fmin (shortest, 3600) + 1) * (double) NS_PER_S) : 0;
}
