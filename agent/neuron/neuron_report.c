/* Reads neuron-monitor's reports; see neuron_report.h. A report is an object on a line:
 *
 *   newer: {"neuron_runtime_data": [{"pid": 20843, "address": "", "neuron_runtime_tag": "1", "error": "", "report":
 *            {"neuroncore_counters": {"period": 5.0007, "error": "", "neuroncores_in_use": {"0": {...}}}, ...}}],
 *           "system_data": {"neuron_hw_counters": {"period": ..., "neuron_devices": [{"neuron_device_index": 0, ...}]}},
 *           "instance_info": {...}, "neuron_hardware_info": {...}}
 *   older: {"runtime_data": [{"runtime_index": 0, "error": "", "report": {"nc_counters": {"neuron_cores": {"0": {...}}},
 *            "hw_counters": {"devices": [{"device_index": 0, ...}]}, ...}}], "system_data": {...}, "instance_data": {...}}
 *
 * Anything may be null or absent. Groups of the system that are our own too are ignored. All numbers are read as reals: a
 * whole number that no 64 bits hold must not cost the report. */
#include "agent/neuron/neuron_report.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/neuron/neuron_rows.h"
#include "synop/clock.h"

#define FORGOTTEN (600 * NS_PER_S) /* then a part that is no longer shown is forgotten */

/* ---- parts ---- */

void
neuron_reports_free (struct neuron_reports *reports)
{
  for (size_t kind = 0; kind < NEURON_KINDS; kind++)
    neuron_parts_free (&reports->of[kind]);
  reports->reported_ns = 0;
  reports->patience_ns = 0;
}

/* Whether a group is repeated unchanged beside new ones: its period is the same to the nanosecond, and has not passed
 * since. */
static bool
is_repeated (const struct neuron_part *part, double period, int64_t now_ns)
{
  return period > 0 && fabs (period - part->period) <= 0 && part->updated_ns != 0 &&
         (double) (now_ns - part->updated_ns) < period / 2 * (double) NS_PER_S;
}

/* `around`: the group's object. `prefix`: the beginning of the rows' labels. */
static void
part_take (struct neuron_reports *reports, enum neuron_kind kind, const struct neuron_form *form, const char *runtime,
           const char *prefix, const json_t *around, double period, int64_t now_ns)
{
  struct neuron_parts *parts = &reports->of[kind];
  struct neuron_part *part = neuron_parts_get (parts, &neuron_groups[kind], runtime, now_ns);

  if (!part || is_repeated (part, period, now_ns))
    return;
  if (!parts->spare.group)
    table_init (&parts->spare, &neuron_groups[kind]);
  table_begin (&parts->spare);
  neuron_rows_make (&parts->spare, &part->table, form, prefix, around);
  table_swap (&part->table, &parts->spare);
  part->updated_ns = now_ns;
  part->period = period;
}

static void
runtime_label (char label[TABLE_LABEL_MAX + 1], const json_t *runtime, size_t place)
{
  double number;

  if (!neuron_number (json_object_get (runtime, "pid"), &number) &&
      !neuron_number (json_object_get (runtime, "runtime_index"), &number))
    number = (double) place;
  snprintf (label, TABLE_LABEL_MAX + 1, "%.0f", number);
}

static double
period_of (const json_t *group)
{
  double period;

  return neuron_number (json_object_get (group, "period"), &period) && period > 0 ? period : 0;
}

/* A runtime is as fresh as the slowest of its groups. */
static void
runtime_take (struct neuron_reports *reports, const json_t *runtime, size_t place, int64_t now_ns)
{
  const json_t *report = json_object_get (runtime, "report");
  char label[TABLE_LABEL_MAX + 1];
  double slowest = 0;

  runtime_label (label, runtime, place);
  for (size_t i = 0; i < NEURON_FORMS; i++) {
    const struct neuron_form *form = &neuron_forms[i];
    const json_t *group = neuron_either (report, form->groups);
    double period = period_of (group);

    if (!json_is_object (group))
      continue;
    slowest = period > slowest ? period : slowest;
    part_take (reports, form->kind, form, label, form->kind == NEURON_DEVICES ? "" : label, group, period, now_ns);
  }
  part_take (reports, NEURON_RUNTIMES, NULL, label, label, runtime, slowest, now_ns);
}

/* Marks runtimes of the report as seen before any is added, so that new ones do not displace them. Above the limit the
 * first ones stay. */
static void
runtimes_see (struct neuron_reports *reports, const json_t *runtimes, int64_t now_ns)
{
  char label[TABLE_LABEL_MAX + 1];

  for (size_t i = 0; i < json_array_size (runtimes) && i < NEURON_PARTS_MAX; i++)
    if (json_is_object (json_array_get (runtimes, i))) {
      runtime_label (label, json_array_get (runtimes, i), i);
      for (size_t kind = 0; kind < NEURON_KINDS; kind++)
        neuron_parts_see (&reports->of[kind], label, now_ns);
    }
}

static void
node_take (struct neuron_reports *reports, const json_t *report, int64_t now_ns)
{
  static const char *const hardware[] = { "neuron_hardware_info", NULL };
  static const char *const instance[] = { "instance_info", "instance_data" };
  const json_t *system = json_object_get (report, "system_data"), *found;
  const struct neuron_form *form = &neuron_forms[NEURON_FORMS - 1]; /* NEURON_DEVICES */

  found = neuron_either (system, form->groups);
  if (json_is_object (found))
    part_take (reports, NEURON_DEVICES, form, "", "", found, period_of (found), now_ns);
  found = neuron_either (report, hardware);
  if (json_is_object (found))
    part_take (reports, NEURON_HARDWARE, NULL, "", "", found, 0, now_ns);
  found = neuron_either (report, instance);
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

static int64_t
patience_of (const struct neuron_reports *reports)
{
  double shortest = 0;

  for (size_t kind = 0; kind < NEURON_KINDS; kind++)
    for (const struct neuron_part *part = reports->of[kind].oldest; part; part = part->hh.next)
      if (part->period > 0 && (shortest <= 0 || part->period < shortest))
        shortest = part->period;
  return shortest > 0 ? (int64_t) ((3 * fmin (shortest, 3600) + 1) * (double) NS_PER_S) : 0;
}

int
neuron_reports_take (struct neuron_reports *reports, const json_t *report, int64_t now_ns, struct error *error)
{
  static const char *const runtimes_of[] = { "neuron_runtime_data", "runtime_data" };
  const json_t *runtimes = neuron_either (report, runtimes_of);

  if (!runtimes && !json_object_get (report, "system_data") && !json_object_get (report, "neuron_runtime_data"))
    return error_set (error, "a line that is no report");
  for (size_t kind = 0; kind < NEURON_KINDS; kind++) {
    neuron_parts_forget (&reports->of[kind], now_ns - FORGOTTEN);
    reports->of[kind].left_out = 0;
  }
  runtimes_see (reports, runtimes, now_ns);
  for (size_t i = 0; json_is_array (runtimes) && i < json_array_size (runtimes); i++)
    if (json_is_object (json_array_get (runtimes, i)))
      runtime_take (reports, json_array_get (runtimes, i), i, now_ns);
  node_take (reports, report, now_ns);
  reports->reported_ns = now_ns;
  reports->patience_ns = patience_of (reports);
  return 0;
}

/* ---- for the samplers ---- */

/* Facts stay fresh. */
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

  if (parts->left_out)
    snprintf (table->error, sizeof table->error, "%zu runtimes above the limit of %d are left out", parts->left_out,
              NEURON_PARTS_MAX);
  for (const struct neuron_part *part = parts->oldest; part; part = part->hh.next) {
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
