/* What a schema's tables become: for each family the columns that it comes from, so that a frame is a walk of values. */
#include "common/metrics/naming_private.h"

#include <stdlib.h>
#include <string.h>

#include "synop/exposition.h"
#include "synop/memory.h"

size_t
schema_find_group (const struct schema *schema, const char *name)
{
  for (size_t i = 0; i < schema->group_count; i++)
    if (strcmp (schema->groups[i]->name, name) == 0)
      return i;
  return SIZE_MAX;
}

size_t
group_find_metric (const struct group *group, const char *name)
{
  for (size_t i = 0; i < group->metric_count; i++)
    if (strcmp (group->metrics[i].name, name) == 0)
      return i;
  return SIZE_MAX;
}

static bool
metric_is_of_node (const struct metric *metric)
{
  return (metric->flags & METRIC_OF_NODE) != 0;
}

/* ---- numbers ---- */

static uint64_t
common_divisor (uint64_t one, uint64_t other)
{
  while (other != 0) {
    uint64_t rest = one % other;
    one = other;
    other = rest;
  }
  return one;
}

/* Whole values stay whole, and those over hundredths, milliseconds or eighths have few digits: they are written without a
 * floating point number. */
static void
entry_scale (struct plan_entry *entry, uint64_t times, uint64_t per)
{
  uint64_t divisor = common_divisor (times, per), ten = 1;

  entry->times = times / divisor;
  entry->per = per / divisor;
  for (int places = 0; places <= 9; places++, ten *= 10)
    if (ten % entry->per == 0 && !__builtin_mul_overflow (entry->times, ten / entry->per, &entry->digits)) {
      entry->places = places;
      return;
    }
  entry->digits = 0;
}

static uint64_t
or_one (uint32_t factor)
{
  return factor == 0 ? 1 : factor;
}

struct plan_entry *
plan_add_entry (struct naming_plan *plan, size_t family, size_t group, size_t column, const struct metric *metric,
                uint32_t times, uint32_t per)
{
  struct plan_entry *entry;

  if (plan->entry_count == plan->entry_room) {
    plan->entry_room = plan->entry_room * 2 + 64;
    plan->entries = memory_resize (plan->entries, plan->entry_room, sizeof *plan->entries);
  }
  entry = &plan->entries[plan->entry_count++];
  *entry = (struct plan_entry){ .family = family, .group = group, .column = column };
  entry->of_node = metric == NULL || metric_is_of_node (metric);
  entry_scale (entry, or_one (times) * (metric ? or_one (metric->times) : 1),
               or_one (per) * (metric ? or_one (metric->per) : 1));
  return entry;
}

/* ---- labels ---- */

/* False: the schema has no such metric, and the part is empty. */
static bool
part_plan (const struct name_part *part, const struct schema *schema, const struct plan_entry *entry,
           struct plan_part *planned)
{
  *planned = (struct plan_part){ .kind = part->kind, .text = part->text, .length = part->length, .index = part->index };
  if (part->kind != PART_METRIC)
    return part->kind == PART_NODE || part->kind == PART_TEXT || !entry->of_node;
  planned->group = part->group != NULL ? schema_find_group (schema, part->group) : entry->group;
  if (planned->group >= schema->group_count)
    return false;
  planned->column = group_find_metric (schema->groups[planned->group], part->text);
  if (planned->column == SIZE_MAX)
    return false;
  planned->of_node = metric_is_of_node (&schema->groups[planned->group]->metrics[planned->column]);
  planned->elsewhere = planned->group != entry->group || part->index != 0;
  return planned->of_node || !entry->of_node;
}

void
plan_labels (struct naming *naming, struct plan_entry *entry, const struct name_labels *labels,
             const struct schema *schema)
{
  entry->labels = naming_keep (naming, memory_new (labels->count, sizeof *entry->labels));
  entry->label_count = labels->count;
  for (size_t i = 0; i < labels->count; i++) {
    const struct name_label *label = &labels->list[i];
    struct plan_part *parts = naming_keep (naming, memory_new (label->part_count, sizeof *parts));
    size_t count = 0;

    for (size_t j = 0; j < label->part_count; j++)
      count += part_plan (&label->parts[j], schema, entry, &parts[count]);
    entry->labels[i] = (struct plan_label){ label->name, strlen (label->name), parts, count };
  }
}

/* ---- the labels as text ---- */

struct pieces {
  struct buffer list; /* of struct plan_part */
  struct buffer text; /* up to the next that is not known yet */
};

static void
pieces_end_text (struct naming *naming, struct pieces *pieces)
{
  struct plan_part part = { .kind = PART_TEXT, .length = pieces->text.length };

  if (part.length == 0)
    return;
  part.text = naming_keep (naming, memory_copy (pieces->text.data, part.length));
  buffer_add (&pieces->list, &part, sizeof part);
  buffer_clear (&pieces->text);
}

static void
entry_pieces (struct naming *naming, struct plan_entry *entry)
{
  struct pieces pieces = { 0 };

  for (size_t i = 0; i < entry->label_count; i++) {
    const struct plan_label *label = &entry->labels[i];
    buffer_printf (&pieces.text, "%s%s=\"", i == 0 ? "" : ",", label->name);
    for (size_t j = 0; j < label->part_count; j++) {
      if (label->parts[j].kind == PART_TEXT) {
        exposition_escape (&pieces.text, label->parts[j].text, label->parts[j].length);
        continue;
      }
      pieces_end_text (naming, &pieces);
      buffer_add (&pieces.list, &label->parts[j], sizeof label->parts[j]);
    }
    buffer_add (&pieces.text, "\"", 1);
  }
  pieces_end_text (naming, &pieces);
  buffer_free (&pieces.text);
  entry->pieces = naming_keep (naming, pieces.list.data);
  entry->piece_count = pieces.list.length / sizeof (struct plan_part);
  entry->of_rows = true;
  for (size_t i = 0; i < entry->piece_count; i++) {
    entry->room += entry->pieces[i].kind == PART_TEXT ? entry->pieces[i].length : 2 * TABLE_LABEL_MAX;
    entry->of_rows &= entry->pieces[i].kind != PART_METRIC && entry->pieces[i].kind != PART_NODE;
  }
}

/* ---- rows of names files ---- */

struct name_place
name_row_place (const struct name_row *row, const struct schema *schema)
{
  struct name_place place = { .group = schema_find_group (schema, row->group) };
  const struct metric *metric;

  if (place.group == SIZE_MAX) {
    place.group = GROUP_FRAME;
    place.exists =
        strcmp (row->group, GROUP_OF_NODE) == 0 && strcmp (row->metric, METRIC_TIME) == 0 && row->rows == NULL;
    return place;
  }
  if (strcmp (row->metric, METRIC_ERROR) == 0) {
    place.column = COLUMN_ERROR;
    place.exists = row->rows == NULL && row->number_count > 0;
    return place;
  }
  place.column = group_find_metric (schema->groups[place.group], row->metric);
  if (place.column == SIZE_MAX)
    return place;
  metric = &schema->groups[place.group]->metrics[place.column];
  place.exists = metric_is_of_node (metric) == (row->rows == NULL);
  return place;
}

/* False: the group has no such metric, or that is of rows and the entry of the node. */
static bool
entry_over (struct plan_entry *entry, const struct group *group, const char *name)
{
  size_t column = group_find_metric (group, name);
  const struct metric *over = column != SIZE_MAX ? &group->metrics[column] : NULL;

  if (over == NULL || over->kind == TEXT || (entry->of_node && !metric_is_of_node (over)))
    return false;
  entry->over = column;
  entry->over_factor = (double) or_one (over->times) / (double) or_one (over->per);
  return true;
}

static void
row_plan (struct naming *naming, struct naming_plan *plan, const struct name_row *row, const struct name_place *place,
          const struct schema *schema)
{
  struct naming_family *family = naming->families[row->family];
  const struct metric *metric = NULL;
  struct plan_entry *entry;
  size_t group = place->group, column = place->column;
  bool info = family->public.type == FAMILY_INFO;

  if (!place->exists)
    return;
  if (group != GROUP_FRAME && column < COLUMN_TEXTS)
    metric = &schema->groups[group]->metrics[column];
  if (metric != NULL &&
      ((metric->kind == TEXT && !info && row->number_count == 0) || (metric->kind != COUNTER && row->rate)))
    return;
  if (family->public.help == NULL && metric != NULL)
    family->public.help = naming_keep (naming, memory_string (metric->help));
  if (metric != NULL && !row->times && !row->per && !row->over && !row->rate && row->number_count == 0)
    family->public.unit = metric->unit;
  if (group == GROUP_FRAME)
    entry = plan_add_entry (plan, row->family, group, column, NULL, 1, 1000000000);
  else
    entry = plan_add_entry (plan, row->family, group, column, metric, row->times, row->per);
  if (metric != NULL && row->over != NULL && !entry_over (entry, schema->groups[group], row->over)) {
    plan->entry_count--;
    return;
  }
  entry->info = info;
  entry->rate = row->rate;
  entry->pattern = row->rows != NULL && strcmp (row->rows, "*") != 0 ? row->rows : NULL;
  entry->numbers = row->numbers;
  entry->number_count = row->number_count;
  plan_labels (naming, entry, &row->labels, schema);
}

/* ---- the plan ---- */

static int
entries_compare (const void *one, const void *other)
{
  const struct plan_entry *a = one, *b = other;

  if (a->family != b->family)
    return a->family < b->family ? -1 : 1;
  if (a->group != b->group)
    return a->group < b->group ? -1 : 1;
  return (a->column > b->column) - (a->column < b->column);
}

static void
plan_index (struct naming_plan *plan, size_t families)
{
  size_t entry = 0;

  plan->family_count = families;
  plan->first = memory_new (families + 1, sizeof *plan->first);
  for (size_t family = 0; family <= families; family++) {
    while (entry < plan->entry_count && plan->entries[entry].family < family)
      entry++;
    plan->first[family] = entry;
  }
}

static struct naming_plan *
plan_create (struct naming *naming, const struct schema *schema)
{
  struct naming_plan *plan = memory_new (1, sizeof *plan);
  struct name_place *places = memory_new (naming->row_count, sizeof *places);

  memcpy (plan->schema, schema->hash, sizeof plan->schema);
  for (size_t i = 0; i < naming->row_count; i++) {
    places[i] = name_row_place (&naming->rows[i], schema);
    row_plan (naming, plan, &naming->rows[i], &places[i], schema);
  }
  if (naming->rule)
    rule_add_entries (naming, plan, schema, places);
  free (places);
  if (plan->entry_count > 1)
    qsort (plan->entries, plan->entry_count, sizeof *plan->entries, entries_compare);
  for (size_t i = 0; i < plan->entry_count; i++)
    entry_pieces (naming, &plan->entries[i]);
  plan_index (plan, naming->family_count);
  return plan;
}

const struct naming_plan *
naming_plan (struct naming *naming, const struct schema *schema)
{
  for (size_t i = 0; i < naming->plan_count; i++)
    if (memcmp (naming->plans[i]->schema, schema->hash, sizeof schema->hash) == 0)
      return naming->plans[i];
  if (naming->plan_count == 0) {
    naming->read_families = naming->family_count;
    naming->read_memory = naming->memory_count;
  }
  naming->plans_size += naming_schema_size (schema);
  naming->plans = memory_resize (naming->plans, naming->plan_count + 1, sizeof (struct naming_plan *));
  naming->plans[naming->plan_count] = plan_create (naming, schema);
  return naming->plans[naming->plan_count++];
}
