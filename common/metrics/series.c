/* The walk over families, nodes, entries of their plans, and rows; see series.h. */
#include "synop/series.h"

#include <math.h>
#include <string.h>

#include "common/metrics/naming_private.h"
#include "common/metrics/series_private.h"
#include "synop/clock.h"
#include "synop/number.h"
#include "synop/report.h"

_Static_assert(sizeof ((struct series){ 0 }).captures == CAPTURES_MAX * sizeof (struct series_text),
               "a series has room for all captures");

void
series_begin (struct series_walk *walk, const struct naming *naming, const struct series_node *nodes, size_t count)
{
  *walk = (struct series_walk){ .naming = naming, .nodes = nodes, .node_count = count };
  for (size_t i = 0; i < count; i++)
    if (nodes[i].plan->family_count > walk->family_count)
      walk->family_count = nodes[i].plan->family_count;
}

/* ---- values ---- */

static const double powers_of_ten[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };

double
series_number (const struct series *series)
{
  const struct series_value *value = &series->value;

  if (value->real)
    return value->number;
  return (value->negative ? -1.0 : 1.0) * (double) value->digits / powers_of_ten[value->places];
}

static bool
value_whole (const struct plan_entry *entry, uint64_t raw, bool negative, struct series_value *value)
{
  value->negative = negative;
  value->places = entry->places;
  value->real = entry->digits == 0 || __builtin_mul_overflow (raw, entry->digits, &value->digits);
  if (value->real)
    value->number = (negative ? -1.0 : 1.0) * (double) raw * (double) entry->times / (double) entry->per;
  return true;
}

static bool
value_real (const struct plan_entry *entry, double raw, struct series_value *value)
{
  value->real = true;
  value->number = raw * (double) entry->times / (double) entry->per;
  return isfinite (value->number);
}

static bool
value_of_text (const struct plan_entry *entry, const char *text, size_t length, struct series_value *value)
{
  for (size_t i = 0; i < entry->number_count; i++) {
    const struct name_number *number = &entry->numbers[i];
    if (number->text == NULL || (strlen (number->text) == length && memcmp (number->text, text, length) == 0))
      return value_real (entry, number->number, value);
  }
  return false;
}

static bool
value_one (struct series_value *value)
{
  *value = (struct series_value){ .digits = 1 };
  return true;
}

static bool
has_texts (const struct series *series)
{
  for (size_t i = 0; i < series->entry->label_count; i++) {
    const struct plan_part *part = series->entry->labels[i].parts;
    if (series->entry->labels[i].part_count != 0 && part->kind == PART_METRIC &&
        table_get (series->table, series->row, part->column)->type == VALUE_TEXT)
      return true;
  }
  return false;
}

/* A counter's change since the table before, in a second. */
static bool
value_rate (struct series *series, const struct value *raw)
{
  const struct report_group pair = { series->table, series->node->tables[series->entry->group].before };
  const struct table *before = report_before (&pair);
  const struct value *old;
  size_t row = TABLE_NODE;
  uint64_t change;
  double seconds;

  if (before == NULL || raw->type != VALUE_UINT)
    return false;
  if (!series->entry->of_node)
    row = table_find_row (before, series->label.at, series->label.length, series->row);
  if (row == SIZE_MAX && !series->entry->of_node)
    return false;
  old = table_get (before, row, series->entry->column);
  seconds = (double) report_elapsed_ns (&pair) / (double) NS_PER_S;
  if (old->type != VALUE_UINT || seconds <= 0 ||
      !report_counter_change (&series->table->group->metrics[series->entry->column], raw->as.u, old->as.u, &change))
    return false;
  return value_real (series->entry, (double) change / seconds, &series->value);
}

/* Over another metric of the row. */
static bool
value_over (struct series *series)
{
  const struct plan_entry *entry = series->entry;
  bool of_node = (series->table->group->metrics[entry->over].flags & METRIC_OF_NODE) != 0;
  const struct value *over = table_get (series->table, of_node ? TABLE_NODE : series->row, entry->over);

  if (over->type == VALUE_MISSING)
    return false;
  series->value.number = series_number (series) / (value_number (over) * entry->over_factor);
  series->value.real = true;
  return isfinite (series->value.number);
}

static bool
number_value (struct series *series, const struct value *raw)
{
  const struct plan_entry *entry = series->entry;
  size_t length;
  const char *text;

  if (entry->rate)
    return value_rate (series, raw);
  switch (raw->type) {
  case VALUE_UINT:
    return value_whole (entry, raw->as.u, false, &series->value);
  case VALUE_INT:
    return value_whole (entry, raw->as.i < 0 ? -(uint64_t) raw->as.i : raw->as.u, raw->as.i < 0, &series->value);
  case VALUE_REAL:
    return value_real (entry, raw->as.d, &series->value);
  case VALUE_TEXT:
    text = table_text (series->table, raw, &length);
    return value_of_text (entry, text, length, &series->value);
  default:
    return false;
  }
}

/* False: it is missing. */
static bool
series_value (struct series *series)
{
  const struct plan_entry *entry = series->entry;
  const struct value *raw;

  if (entry->column == COLUMN_ERROR)
    return value_of_text (entry, series->table->error, strlen (series->table->error), &series->value);
  if (entry->column == COLUMN_TEXTS)
    return has_texts (series) && value_one (&series->value);
  raw = table_get (series->table, series->row, entry->column);
  if (entry->info)
    return raw->type != VALUE_MISSING && value_one (&series->value);
  return number_value (series, raw) && (entry->over_factor == 0 || value_over (series));
}

/* ---- the walk ---- */

static bool
row_is_meant (const struct plan_entry *entry, struct series *series)
{
  struct capture captures[CAPTURES_MAX];

  series->captures[0] = series->label;
  if (entry->pattern != NULL) {
    if (!pattern_match (entry->pattern, series->label.at, series->label.length, captures))
      return false;
    for (size_t i = 0, count = pattern_captures (entry->pattern); i < count; i++)
      series->captures[i] = (struct series_text){ captures[i].at, captures[i].length };
  }
  for (size_t i = 0; i < entry->except_count; i++)
    if (pattern_match (entry->except[i], series->label.at, series->label.length, captures))
      return false;
  return true;
}

/* The next value of an entry; the walk's row is the one to begin with. */
static bool
entry_next (struct series_walk *walk, struct series *series)
{
  const struct plan_entry *entry = series->entry;

  series->group = entry->group;
  if (entry->group == GROUP_FRAME) {
    if (walk->row++ > 0 || series->node->time_ns <= 0)
      return false;
    series->time_ns = series->node->untimed ? 0 : series->node->time_ns;
    return value_whole (entry, (uint64_t) series->node->time_ns, false, &series->value);
  }
  series->table = series->node->tables[entry->group].table;
  if (series->table == NULL || series->node->tables[entry->group].hidden)
    return false;
  series->time_ns = series->node->untimed ? 0 : series->node->tables[entry->group].time_ns;
  if (entry->of_node) {
    series->row = TABLE_NODE;
    return walk->row++ == 0 && series_value (series);
  }
  while (walk->row < series->table->rows) {
    series->row = walk->row++;
    series->label.at = table_label (series->table, series->row, &series->label.length);
    if (series_value (series) && row_is_meant (entry, series))
      return true;
  }
  return false;
}

/* The next value of the node in the family; the walk's entry counts from the first of them. */
static bool
node_next (struct series_walk *walk, struct series *series)
{
  const struct naming_plan *plan = series->node->plan;
  size_t first, count;

  if (walk->family >= plan->family_count)
    return false;
  first = plan->first[walk->family];
  count = plan->first[walk->family + 1] - first;
  for (; walk->entry < count; walk->entry++, walk->row = 0) {
    series->entry = &plan->entries[first + walk->entry];
    if (entry_next (walk, series))
      return true;
  }
  return false;
}

bool
series_next (struct series_walk *walk, struct series *series)
{
  for (; walk->family < walk->family_count; walk->family++, walk->node = 0) {
    series->family = &walk->naming->families[walk->family]->public;
    for (; walk->node < walk->node_count; walk->node++, walk->entry = walk->row = 0) {
      series->node = &walk->nodes[walk->node];
      if (node_next (walk, series))
        return true;
    }
  }
  return false;
}

/* ---- labels ---- */

static const struct value *
part_value (const struct series *series, const struct plan_part *part, const struct table **table)
{
  struct series_text label;
  size_t row;

  *table = part->elsewhere ? series->node->tables[part->group].table : series->table;
  if (*table == NULL)
    return NULL;
  if (part->of_node)
    return table_get (*table, TABLE_NODE, part->column);
  if (!part->elsewhere)
    return table_get (*table, series->row, part->column);
  label = part->index == 0 ? series->label : series->captures[part->index - 1];
  row = table_find_row (*table, label.at, label.length, series->row);
  return row != SIZE_MAX ? table_get (*table, row, part->column) : NULL;
}

struct series_text
series_part (const struct series *series, const struct plan_part *part, char number[NUMBER_SIZE])
{
  struct series_text text = { part->text, part->length };
  const struct table *table;
  const struct value *value;
  char *end = number;

  switch (part->kind) {
  case PART_TEXT:
    return text;
  case PART_ROW:
    return series->label;
  case PART_CAPTURE:
    return series->captures[part->index];
  case PART_NODE:
    return (struct series_text){ series->node->name, strlen (series->node->name) };
  default:
    break;
  }
  value = part_value (series, part, &table);
  if (value == NULL || value->type == VALUE_MISSING)
    return (struct series_text){ "", 0 };
  if (value->type == VALUE_TEXT) {
    text.at = table_text (table, value, &text.length);
    return text;
  }
  end = value->type == VALUE_UINT  ? number_put_uint (number, value->as.u)
        : value->type == VALUE_INT ? number_put_int (number, value->as.i)
                                   : number_put_real (number, value->as.d);
  return (struct series_text){ number, (size_t) (end - number) };
}

size_t
series_labels (const struct series *series, struct series_label *labels, struct buffer *texts)
{
  const struct plan_entry *entry = series->entry;
  char number[NUMBER_SIZE];

  buffer_clear (texts);
  for (size_t i = 0; i < entry->label_count; i++) {
    labels[i].name = entry->labels[i].name;
    labels[i].offset = texts->length;
    for (size_t j = 0; j < entry->labels[i].part_count; j++) {
      struct series_text text = series_part (series, &entry->labels[i].parts[j], number);
      buffer_add (texts, text.at, text.length);
    }
    labels[i].length = texts->length - labels[i].offset;
  }
  return entry->label_count;
}

struct series_text
series_key (const struct series *series, struct buffer *texts)
{
  const struct plan_entry *entry = series->entry;
  char number[NUMBER_SIZE];

  if (entry->of_rows)
    return entry->of_node ? (struct series_text){ "", 0 } : series->label;
  buffer_clear (texts);
  for (size_t i = 0; i < entry->label_count; i++) {
    for (size_t j = 0; j < entry->labels[i].part_count; j++) {
      struct series_text text = series_part (series, &entry->labels[i].parts[j], number);
      buffer_add (texts, text.at, text.length);
    }
    buffer_add (texts, "", 1);
  }
  return (struct series_text){ texts->data, texts->length };
}
