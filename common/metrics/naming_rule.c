/* Names of what stands in no file: synop_GROUP_METRIC_UNIT; see naming.h. */
#include "common/metrics/naming_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"
#include "synop/report.h"

#define PREFIX "synop"

/* Families of these are made by code, of what is no group. */
static const char *
group_prefix (const struct group *group)
{
  static const char *const taken[] = { "aggregator", "cluster", "node" };

  for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
    size_t length = strlen (taken[i]);
    if (strncmp (group->name, taken[i], length) == 0 && (group->name[length] == '_' || group->name[length] == '\0'))
      return PREFIX "_group";
  }
  return PREFIX;
}

struct unit_form {
  const char *suffix;
  uint32_t per; /* a value of the unit over this is one of the suffix */
};

static struct unit_form
unit_form (enum metric_unit unit)
{
  switch (unit) {
  case UNIT_PERCENT:
    return (struct unit_form){ "ratio", 100 };
  case UNIT_BITS_PER_SECOND:
    return (struct unit_form){ "bytes_per_second", 8 };
  case UNIT_BOOLEAN:
    return (struct unit_form){ "", 1 };
  default:
    return (struct unit_form){ metric_unit_name (unit), 1 };
  }
}

/* "block device" becomes block_device. Prometheus has labels of its own called job and instance. */
static char *
label_name (struct naming *naming, const char *text)
{
  char *name = naming_keep (naming, memory_copy (text, strnlen (text, SCHEMA_NAME_MAX)));

  for (char *at = name; *at; at++) {
    if (*at >= 'A' && *at <= 'Z')
      *at = (char) (*at - 'A' + 'a');
    if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9')))
      *at = '_';
  }
  if (name[0] == '\0' || (name[0] >= '0' && name[0] <= '9'))
    return naming_keep (naming, memory_format ("row%s", name));
  if (strcmp (name, "job") == 0 || strcmp (name, "instance") == 0)
    return naming_keep (naming, memory_format ("%s_id", name));
  return name;
}

/* ---- families ---- */

/* What a family of the rule is of: it has the same name in every schema. */
struct origin {
  const char *group, *metric; /* "": the group's texts, or whether it could be read */
};

static bool
origin_equal (const struct naming_family *family, const struct origin *origin)
{
  return family->group != NULL && strcmp (family->group, origin->group) == 0 &&
         strcmp (family->metric, origin->metric) == 0;
}

/* The family of that name, made if there is none. SIZE_MAX: the name is taken. */
static size_t
family_take (struct naming *naming, const char *name, enum metric_family_type type, const char *help,
             const struct origin *origin)
{
  size_t family = naming_find_family (naming, name);
  struct naming_family made = { .public = { name, NULL, type, false, UNIT_NONE } };

  if (family == SIZE_MAX) {
    made.public.help = naming_keep (naming, memory_string (help));
    made.group = naming_keep (naming, memory_string (origin->group));
    made.metric = naming_keep (naming, memory_string (origin->metric));
    return naming_add_family (naming, &made);
  }
  if (!origin_equal (naming->families[family], origin) || naming->families[family]->public.type != type)
    return SIZE_MAX;
  return family;
}

/* "total" and "count" at a metric's end say something else there, and a unit is not said twice. */
void
naming_rule_name (struct buffer *out, const char *prefix, const char *group, const char *metric, enum metric_kind kind,
                  enum metric_unit unit, double *factor)
{
  struct unit_form form = unit_form (unit);
  bool strip = (text_ends_with (metric, "_total") || text_ends_with (metric, "_count")) &&
               (kind == COUNTER || form.suffix[0] == '\0');
  bool flag = strip && unit == UNIT_BOOLEAN;
  size_t length = strlen (metric) - (strip && !flag ? strlen ("_total") : 0), end = strlen (form.suffix);
  bool said = length >= end && (length == end || metric[length - end - 1] == '_') &&
              strncmp (metric + length - end, form.suffix, end) == 0;

  buffer_printf (out, "%s_%s_%.*s%s", prefix, group, (int) length, metric, flag ? "_flag" : "");
  if (end > 0 && !said)
    buffer_printf (out, "_%s", form.suffix);
  *factor = 1.0 / form.per;
}

/* Where another metric has that name (gpu.nvlink_tx and gpu_nvlink.tx) what a row is stands between, or a number. */
static char *
metric_family_name (struct naming *naming, const struct group *group, const char *row_name, const struct metric *metric,
                    unsigned tries)
{
  struct buffer name = { 0 };
  char *between = memory_format ("%s%s%s", group->name, tries == 1 ? "_" : "", tries == 1 ? row_name : "");
  double factor;

  naming_rule_name (&name, group_prefix (group), between, metric->name, metric->kind, metric->unit, &factor);
  if (tries > 1)
    buffer_printf (&name, "_%u", tries);
  if (metric->kind == COUNTER)
    buffer_add_string (&name, "_total");
  buffer_add (&name, "", 1);
  free (between);
  return naming_keep (naming, name.data);
}

static size_t
metric_family (struct naming *naming, const struct group *group, const char *row_name, const struct metric *metric)
{
  enum metric_family_type type = metric->kind == COUNTER ? FAMILY_COUNTER : FAMILY_GAUGE;
  struct origin origin = { group->name, metric->name };
  size_t family = SIZE_MAX;

  for (unsigned tries = 0; family == SIZE_MAX; tries++)
    family =
        family_take (naming, metric_family_name (naming, group, row_name, metric, tries), type, metric->help, &origin);
  return family;
}

/* synop_GROUP_info, unless a group of facts has that name. */
static char *
texts_family_name (struct naming *naming, const struct schema *schema, const struct group *group, bool of_node,
                   unsigned tries)
{
  char *facts = naming_keep (naming, memory_format ("%s_info", group->name));
  const char *middle = of_node && group->rows_name[0]                  ? "_node"
                       : schema_find_group (schema, facts) != SIZE_MAX ? "_texts"
                                                                       : "";
  const char *end = middle[0] == '\0' && text_ends_with (group->name, "_info") ? "" : "_info";
  char number[16] = "";

  if (tries > 0)
    snprintf (number, sizeof number, "_%u", tries + 1);
  return naming_keep (naming, memory_format ("%s_%s%s%s%s", group_prefix (group), group->name, middle, number,
                                             tries > 0 ? "_info" : end));
}

static size_t
texts_family (struct naming *naming, const struct schema *schema, const struct group *group, bool of_node)
{
  struct origin origin = { group->name, of_node ? "of the node" : "" };
  size_t family = SIZE_MAX;

  for (unsigned tries = 0; family == SIZE_MAX; tries++)
    family = family_take (naming, texts_family_name (naming, schema, group, of_node, tries), FAMILY_INFO, group->help,
                          &origin);
  return family;
}

/* ---- what stands in files ---- */

/* What the rule is applied to. */
struct ruling {
  struct naming *naming;
  struct naming_plan *plan;
  const struct schema *schema;
  const struct name_place *places; /* of the naming's rows */
};

struct covered {
  bool whole;
  const char **patterns; /* of rows that do */
  size_t count;
};

static struct covered
metric_covered (const struct ruling *ruling, size_t group, size_t column)
{
  bool text = ruling->schema->groups[group]->metrics[column].kind == TEXT;
  struct naming *naming = ruling->naming;
  struct covered covered = { 0 };

  for (size_t i = 0; i < naming->row_count; i++) {
    const struct name_row *row = &naming->rows[i];

    const struct name_place *place = &ruling->places[i];

    if (!place->exists || place->group != group || place->column != column || (text && row->number_count == 0))
      continue;
    covered.whole = covered.whole || row->rows == NULL || strcmp (row->rows, "*") == 0;
    covered.patterns = memory_resize (covered.patterns, covered.count + 1, sizeof *covered.patterns);
    covered.patterns[covered.count++] = row->rows;
  }
  naming_keep (naming, covered.patterns);
  return covered;
}

/* ---- entries ---- */

static struct name_labels
labels_make (struct naming *naming, size_t room)
{
  return (struct name_labels){ naming_keep (naming, memory_new (room, sizeof (struct name_label))), 0 };
}

static void
label_add (struct naming *naming, struct name_labels *labels, const char *name, struct name_part part)
{
  struct name_part *kept = naming_keep (naming, memory_new (1, sizeof *kept));

  *kept = part;
  labels->list[labels->count++] = (struct name_label){ name, kept, 1 };
}

static void
number_entry (const struct ruling *ruling, size_t group, size_t column, const char *row_name)
{
  const struct schema *schema = ruling->schema;
  struct naming_plan *plan = ruling->plan;
  struct naming *naming = ruling->naming;
  const struct metric *metric = &schema->groups[group]->metrics[column];
  struct covered covered = metric_covered (ruling, group, column);
  struct name_labels labels = labels_make (naming, 1);
  struct plan_entry *entry;
  size_t family;

  if (covered.whole)
    return;
  family = metric_family (naming, schema->groups[group], row_name, metric);
  entry = plan_add_entry (plan, family, group, column, metric, 1, unit_form (metric->unit).per);
  entry->except = covered.patterns;
  entry->except_count = covered.count;
  if (!entry->of_node)
    label_add (naming, &labels, row_name, (struct name_part){ .kind = PART_ROW });
  plan_labels (naming, entry, &labels, schema);
}

/* The texts of a group's node, or of its rows, are labels of one family. */
static void
texts_entry (const struct ruling *ruling, size_t group, bool of_node, const char *row_name)
{
  const struct schema *schema = ruling->schema;
  struct naming_plan *plan = ruling->plan;
  struct naming *naming = ruling->naming;
  const struct group *declared = schema->groups[group];
  struct name_labels labels = labels_make (naming, declared->metric_count + 1);
  size_t named = of_node ? 0 : 1;
  struct plan_entry *entry;

  if (!of_node)
    label_add (naming, &labels, row_name, (struct name_part){ .kind = PART_ROW });
  for (size_t i = 0; i < declared->metric_count; i++) {
    const struct metric *metric = &declared->metrics[i];
    char *name = label_name (naming, metric->name);

    if (metric->kind != TEXT || ((metric->flags & METRIC_OF_NODE) != 0) != of_node ||
        strcmp (metric->name, REPORT_ROW_ERROR) == 0 || metric_covered (ruling, group, i).whole)
      continue;
    if (!of_node && strcmp (name, row_name) == 0)
      name = naming_keep (naming, memory_format ("%s_text", name));
    label_add (naming, &labels, name, (struct name_part){ .kind = PART_METRIC, .text = metric->name });
  }
  if (labels.count == named)
    return;
  entry = plan_add_entry (plan, texts_family (naming, schema, declared, of_node), group, COLUMN_TEXTS, NULL, 1, 1);
  entry->of_node = of_node;
  entry->info = true;
  plan_labels (naming, entry, &labels, schema);
}

/* Whether a group's values could be read. */
static void
group_entry (struct naming *naming, struct naming_plan *plan, const struct schema *schema, size_t group, size_t family)
{
  static const struct name_number numbers[] = { { "", 1 }, { NULL, 0 } };
  const char *name = naming_keep (naming, memory_string (schema->groups[group]->name));
  struct name_labels labels = labels_make (naming, 1);
  struct plan_entry *entry = plan_add_entry (plan, family, group, COLUMN_ERROR, NULL, 1, 1);

  entry->numbers = numbers;
  entry->number_count = sizeof numbers / sizeof numbers[0];
  label_add (naming, &labels, "group", (struct name_part){ .kind = PART_TEXT, .text = name, .length = strlen (name) });
  plan_labels (naming, entry, &labels, schema);
}

void
rule_add_entries (struct naming *naming, struct naming_plan *plan, const struct schema *schema,
                  const struct name_place *places)
{
  const struct ruling ruling = { naming, plan, schema, places };
  static const struct origin up = { "", "" };
  size_t family = family_take (naming, PREFIX "_group_up", FAMILY_GAUGE,
                               "1 while all values of a group could be read, else 0.", &up);

  for (size_t i = 0; i < schema->group_count; i++) {
    const struct group *group = schema->groups[i];
    const char *row_name = label_name (naming, group->row);

    for (size_t column = 0; column < group->metric_count; column++)
      if (group->metrics[column].kind != TEXT)
        number_entry (&ruling, i, column, row_name);
    texts_entry (&ruling, i, true, row_name);
    texts_entry (&ruling, i, false, row_name);
    if (family != SIZE_MAX)
      group_entry (naming, plan, schema, i, family);
  }
}
