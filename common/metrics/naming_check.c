/* Which lines of names files give nothing with a schema. */
#include "common/metrics/naming_private.h"

#include <string.h>

#include "synop/config_suggest.h"

static void
add_suggestion (struct buffer *out, const struct suggestion *suggestion)
{
  if (suggestion->best[0])
    buffer_printf (out, "; did you mean %s?", suggestion->best);
  buffer_add (out, "\n", 1);
}

static void
check_group (const struct name_row *row, const struct schema *schema, struct buffer *out)
{
  struct suggestion suggestion = { .word = row->group };

  for (size_t i = 0; i < schema->group_count; i++)
    suggestion_consider (&suggestion, schema->groups[i]->name);
  buffer_printf (out, "%s:%u: there is no group %s", row->file, row->line, row->group);
  add_suggestion (out, &suggestion);
}

static void
check_metric (const struct name_row *row, const struct group *group, struct buffer *out)
{
  struct suggestion suggestion = { .word = row->metric };
  size_t column = group_find_metric (group, row->metric);

  if (column != SIZE_MAX) {
    bool of_node = (group->metrics[column].flags & METRIC_OF_NODE) != 0;
    buffer_printf (out, "%s:%u: %s.%s is a value of %s: expected it below [%s%s]\n", row->file, row->line, group->name,
                   row->metric, of_node ? "the node" : "rows", group->name, of_node ? "" : " *");
    return;
  }
  for (size_t i = 0; i < group->metric_count; i++)
    suggestion_consider (&suggestion, group->metrics[i].name);
  buffer_printf (out, "%s:%u: group %s has no metric %s", row->file, row->line, group->name, row->metric);
  add_suggestion (out, &suggestion);
}

/* Of the labels' texts. Returns how many are unknown. */
static size_t
check_labels (const struct name_row *row, const struct schema *schema, struct buffer *out)
{
  size_t found = 0;

  for (size_t i = 0; i < row->labels.count; i++)
    for (size_t j = 0; j < row->labels.list[i].part_count; j++) {
      const struct name_part *part = &row->labels.list[i].parts[j];
      const char *name = part->group != NULL ? part->group : row->group;
      size_t group = schema_find_group (schema, name);

      if (part->kind != PART_METRIC ||
          (group != SIZE_MAX && group_find_metric (schema->groups[group], part->text) != SIZE_MAX))
        continue;
      buffer_printf (out, "%s:%u: label %s is empty: there is no %s.%s\n", row->file, row->line,
                     row->labels.list[i].name, name, part->text);
      found++;
    }
  return found;
}

static size_t
check_row (const struct naming *naming, const struct name_row *row, const struct schema *schema, struct buffer *out)
{
  enum metric_family_type type = naming->families[row->family]->public.type;
  size_t group, column;

  if (!name_row_applies (row, schema, &group, &column)) {
    group = schema_find_group (schema, row->group);
    if (group == SIZE_MAX)
      check_group (row, schema, out);
    else
      check_metric (row, schema->groups[group], out);
    return 1;
  }
  if (group != GROUP_FRAME && column < COLUMN_TEXTS && schema->groups[group]->metrics[column].kind == TEXT &&
      type != FAMILY_INFO && row->number_count == 0) {
    buffer_printf (out, "%s:%u: %s.%s is a text: expected TEXT=N, or the type info\n", row->file, row->line, row->group,
                   row->metric);
    return 1;
  }
  if (row->rate &&
      (group == GROUP_FRAME || column >= COLUMN_TEXTS || schema->groups[group]->metrics[column].kind != COUNTER)) {
    buffer_printf (out, "%s:%u: %s.%s is no counter: it has no rate\n", row->file, row->line, row->group, row->metric);
    return 1;
  }
  if (row->over != NULL && (group == GROUP_FRAME || group_find_metric (schema->groups[group], row->over) == SIZE_MAX)) {
    buffer_printf (out, "%s:%u: group %s has no metric %s\n", row->file, row->line, row->group, row->over);
    return 1;
  }
  return check_labels (row, schema, out);
}

size_t
naming_check (const struct naming *naming, const struct schema *schema, struct buffer *out)
{
  size_t found = 0;

  for (size_t i = 0; i < naming->row_count; i++)
    found += check_row (naming, &naming->rows[i], schema, out);
  return found;
}
