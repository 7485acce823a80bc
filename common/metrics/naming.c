/* What names files said, and the families that came of it; see naming.h. */
#include "common/metrics/naming_private.h"

#include <stdlib.h>
#include <string.h>

#include "synop/memory.h"

struct naming *
naming_create (void)
{
  return memory_new (1, sizeof (struct naming));
}

static void
plan_destroy (struct naming_plan *plan)
{
  free (plan->entries);
  free (plan->first);
  free (plan);
}

static void
plans_destroy (struct naming *naming)
{
  for (size_t i = 0; i < naming->plan_count; i++)
    plan_destroy (naming->plans[i]);
  naming->plan_count = naming->plans_size = 0;
}

void
naming_forget_plans (struct naming *naming)
{
  if (naming->plan_count == 0)
    return;
  plans_destroy (naming);
  while (naming->family_count > naming->read_families) {
    struct naming_family *family = naming->families[--naming->family_count];
    HASH_DEL (naming->by_name, family);
  }
  for (size_t i = 0; i < naming->family_count; i++)
    naming->families[i]->public.help = naming->families[i]->help;
  while (naming->memory_count > naming->read_memory)
    free (naming->memory[--naming->memory_count]);
}

void
naming_destroy (struct naming *naming)
{
  if (naming == NULL)
    return;
  plans_destroy (naming);
  HASH_CLEAR (hh, naming->by_name);
  for (size_t i = 0; i < naming->memory_count; i++)
    free (naming->memory[i]);
  free (naming->plans);
  free (naming->memory);
  free (naming->families);
  free (naming->rows);
  free (naming);
}

void *
naming_keep (struct naming *naming, void *memory)
{
  if (naming->memory_count == naming->memory_room) {
    naming->memory_room = 2 * naming->memory_room + 64;
    naming->memory = memory_resize (naming->memory, naming->memory_room, sizeof *naming->memory);
  }
  naming->memory[naming->memory_count++] = memory;
  return memory;
}

bool
naming_has_rates (const struct naming *naming)
{
  for (size_t i = 0; i < naming->row_count; i++)
    if (naming->rows[i].rate)
      return true;
  return false;
}

size_t
naming_schema_size (const struct schema *schema)
{
  size_t size = 1 + schema->group_count;

  for (size_t i = 0; i < schema->group_count; i++)
    size += schema->groups[i]->metric_count;
  return size;
}

size_t
naming_plans_size (const struct naming *naming)
{
  return naming->plans_size;
}

size_t
naming_family_count (const struct naming *naming)
{
  return naming->family_count;
}

const struct metric_family *
naming_family (const struct naming *naming, size_t index)
{
  return &naming->families[index]->public;
}

size_t
naming_find_family (const struct naming *naming, const char *name)
{
  const struct naming_family *family;

  HASH_FIND (hh, naming->by_name, name, strlen (name), family);
  return family ? family->index : SIZE_MAX;
}

size_t
naming_add_family (struct naming *naming, const struct naming_family *family)
{
  struct naming_family *kept = naming_keep (naming, memory_new (1, sizeof *kept));

  *kept = *family;
  kept->help = kept->public.help;
  kept->index = naming->family_count;
  HASH_ADD_KEYPTR (hh, naming->by_name, kept->public.name, strlen (kept->public.name), kept);
  if (naming->family_count == naming->family_room) {
    naming->family_room = 2 * naming->family_room + 64;
    naming->families = memory_resize (naming->families, naming->family_room, sizeof (struct naming_family *));
  }
  naming->families[naming->family_count] = kept;
  return naming->family_count++;
}

int
naming_check_plain (const struct naming *naming, struct error *error)
{
  for (size_t i = 0; i < naming->family_count; i++) {
    const struct naming_family *family = naming->families[i];
    if (family->public.quoted)
      return error_set (error, "%s:%u: \"%s\" is no name for Prometheus", family->file, family->line,
                        family->public.name);
  }
  return 0;
}

void
naming_add_rule (struct naming *naming)
{
  naming->rule = true;
}

bool
text_ends_with (const char *text, const char *end)
{
  size_t length = strlen (text), tail = strlen (end);

  return length > tail && strcmp (text + length - tail, end) == 0;
}

enum metric_family_type
family_type_of (const char *name)
{
  return text_ends_with (name, "_total") ? FAMILY_COUNTER : text_ends_with (name, "_info") ? FAMILY_INFO : FAMILY_GAUGE;
}

/* ---- patterns of rows ---- */

size_t
pattern_captures (const char *pattern)
{
  size_t count = 0;

  for (; *pattern; pattern++)
    count += *pattern == '*' || *pattern == '#';
  return count;
}

/* A capture is as short as may be. Patterns are short, and labels too: trying all ends costs little. */
bool
pattern_match (const char *pattern, const char *label, size_t length, struct capture *captures)
{
  while (*pattern != '*' && *pattern != '#') {
    if (*pattern == '\0')
      return length == 0;
    if (length == 0 || *label != *pattern)
      return false;
    pattern++, label++, length--;
  }
  captures[0] = (struct capture){ label, length };
  if (pattern[0] == '*' && pattern[1] == '\0')
    return length > 0;
  for (size_t taken = 1; taken <= length; taken++) {
    if (*pattern == '#' && (label[taken - 1] < '0' || label[taken - 1] > '9'))
      return false;
    captures[0].length = taken;
    if (pattern_match (pattern + 1, label + taken, length - taken, captures + 1))
      return true;
  }
  return false;
}
