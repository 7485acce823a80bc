/* All metrics by name; see query_names.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/query/query_names.h"
#include "synop/array.h"
#include "synop/config_suggest.h"
#include "synop/memory.h"
#include "synop/schema.h"
#include "synop/users.h"

#define PATH_MAX_BYTES 512
#define NAMED 6 /* metrics that an error lists */

/* ---- made ---- */

static int
compare_name (const struct catalog_entry *entry, const char *group, const char *name)
{
  int order = strcmp (entry->group, group);

  return order ? order : strcmp (entry->name, name);
}

/* Where the entry is, or would be. */
static size_t
entry_place (const struct catalog *catalog, const char *group, const char *name, bool *found)
{
  size_t low = 0, high = catalog->count;

  *found = false;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare_name (catalog->list[middle], group, name);
    *found = *found || order == 0;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static char *
text_of (const char *text)
{
  return memory_string (text ? text : "");
}

/* NULL: it is there already. */
static struct catalog_entry *
entry_add (struct catalog *catalog, const struct group *group, const char *name, size_t nodes)
{
  bool found;
  size_t place = entry_place (catalog, group->name, name, &found);
  struct catalog_entry *entry;

  if (found) {
    catalog->list[place]->nodes += nodes;
    catalog->list[place]->of_users |= group_is_of_users (group);
    return NULL;
  }
  entry = memory_new (1, sizeof *entry);
  *entry = (struct catalog_entry){ .group = text_of (group->name),
                                   .section = text_of (group->section),
                                   .rows_name = text_of (group->rows_name),
                                   .fold_name = text_of (group->fold_name),
                                   .name = text_of (name),
                                   .of_users = group_is_of_users (group),
                                   .nodes = nodes };
  array_add (catalog->list, catalog->count, catalog->room);
  memmove (catalog->list + place + 1, catalog->list + place, (catalog->count - 1 - place) * sizeof catalog->list[0]);
  catalog->list[place] = entry;
  return entry;
}

static void
add_derived (struct catalog *catalog, const struct group *group, size_t column, size_t nodes)
{
  struct derived_list derived;

  derived_find (&derived, group);
  for (size_t i = 0; i < derived.count; i++) {
    const struct derived *one = derived.items[i].derived;
    struct catalog_entry *entry = derived.items[i].of == column ? entry_add (catalog, group, one->name, nodes) : NULL;
    if (!entry)
      continue;
    entry->unit = text_of (strcmp (one->unit, "-") == 0 ? "" : one->unit);
    entry->help = text_of (one->help);
    entry->kind = GAUGE;
    entry->fold = group->metrics[column].fold;
    entry->derived = one;
  }
}

void
catalog_add (void *context, const struct group *group, const struct metric *metric, size_t nodes)
{
  struct catalog *catalog = context;
  struct catalog_entry *entry = entry_add (catalog, group, metric->name, nodes);
  bool share = metric->kind == COUNTER && metric->flags & METRIC_SHARE;

  if (entry) {
    entry->unit = text_of (metric_unit_name (share ? UNIT_PERCENT : metric->unit));
    entry->help = text_of (metric->help);
    entry->kind = metric->kind;
    entry->flags = metric->flags;
    entry->fold = metric->fold;
  }
  if (metric >= group->metrics && metric < group->metrics + group->metric_count)
    add_derived (catalog, group, (size_t) (metric - group->metrics), nodes);
}

void
catalog_free (struct catalog *catalog)
{
  for (size_t i = 0; i < catalog->count; i++) {
    struct catalog_entry *entry = catalog->list[i];
    char *const texts[] = { entry->group, entry->section, entry->rows_name, entry->fold_name,
                            entry->name,  entry->unit,    entry->help };
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
      free (texts[k]);
    free (entry);
  }
  free (catalog->list);
  *catalog = (struct catalog){ 0 };
}

bool
catalog_has_rows (const struct catalog_entry *entry)
{
  return !(entry->flags & METRIC_OF_NODE);
}

bool
catalog_has_node (const struct catalog_entry *entry)
{
  return entry->flags & METRIC_OF_NODE || entry->fold != FOLD_NONE;
}

/* ---- looked up ---- */

/* Is `path` the end of "SECTION.GROUP.[FOLD.]NAME", from the beginning of a word? */
static bool
is_end_of (const char *path, const struct catalog_entry *entry, bool fold)
{
  char full[PATH_MAX_BYTES];
  size_t length, wanted = strlen (path), name = strlen (entry->name);

  if ((fold && !*entry->fold_name) || strcmp (path + wanted - (wanted < name ? wanted : name), entry->name) != 0)
    return false;
  snprintf (full, sizeof full, ".%s.%s%s%s.%s", entry->section, entry->group, fold ? "." : "",
            fold ? entry->fold_name : "", entry->name);
  length = strlen (full);
  return wanted < length && full[length - wanted - 1] == '.' && strcmp (full + length - wanted, path) == 0;
}

static bool
is_group_and_name (const char *path, const struct catalog_entry *entry)
{
  size_t length = strlen (entry->group);

  return strncmp (path, entry->group, length) == 0 && path[length] == '.' &&
         strcmp (path + length + 1, entry->name) == 0;
}

/* "GROUP.ROWS.LABEL.NAME": the label, which may have dots itself; to be freed. */
static char *
label_in (const char *path, const struct catalog_entry *entry)
{
  char head[PATH_MAX_BYTES], tail[PATH_MAX_BYTES];
  size_t before, behind, length = strlen (path);

  if (!*entry->rows_name || strncmp (path, entry->group, strlen (entry->group)) != 0)
    return NULL;
  snprintf (head, sizeof head, "%s.%s.", entry->group, entry->rows_name);
  snprintf (tail, sizeof tail, ".%s", entry->name);
  before = strlen (head);
  behind = strlen (tail);
  if (length <= before + behind || strncmp (path, head, before) != 0 || strcmp (path + length - behind, tail) != 0)
    return NULL;
  return memory_copy (path + before, length - before - behind);
}

/* "report.system_data.load.load_1", ".report.load.load_1": lines begin so, and what shows their parts. */
static const char *
without_head (const char *path, const struct catalog *catalog)
{
  path += *path == '.';
  if (strncmp (path, "report.", 7) == 0)
    path += 7;
  for (size_t i = 0; i < catalog->count; i++) {
    size_t length = strlen (catalog->list[i]->section);
    if (length && strncmp (path, catalog->list[i]->section, length) == 0 && path[length] == '.')
      return path + length + 1;
  }
  return path;
}

/* Those that a path may mean: a group and a name mean one alone. Returns how many, the first `most` in `found`. */
static size_t
candidates (const struct catalog *catalog, const char *path, const struct catalog_entry **found, size_t most)
{
  size_t count = 0;

  for (size_t i = 0; i < catalog->count; i++)
    if (is_group_and_name (path, catalog->list[i])) {
      found[0] = catalog->list[i];
      return 1;
    }
  for (size_t i = 0; i < catalog->count; i++)
    if (is_end_of (path, catalog->list[i], false) || is_end_of (path, catalog->list[i], true)) {
      if (count < most)
        found[count] = catalog->list[i];
      count++;
    }
  return count;
}

static size_t
metrics_of_group (const struct catalog *catalog, const char *group, const struct catalog_entry **found, size_t most)
{
  size_t count = 0;

  for (size_t i = 0; i < catalog->count; i++)
    if (strcmp (catalog->list[i]->group, group) == 0) {
      if (count < most)
        found[count] = catalog->list[i];
      count++;
    }
  return count;
}

static int
ambiguous (const char *path, const char *what, const struct catalog_entry *const *found, size_t count,
           struct error *error)
{
  struct buffer list = { 0 };

  for (size_t i = 0; i < count && i < NAMED; i++)
    buffer_printf (&list, "%s%s.%s", i ? ", " : "", found[i]->group, found[i]->name);
  if (count > NAMED)
    buffer_printf (&list, " and %zu more", count - NAMED);
  error_set (error, "\"%.128s\" is %s: %s", path, what, buffer_text (&list));
  buffer_free (&list);
  return -1;
}

/* Names that are near: of the whole path, of the name alone in its group, and in any group. */
static int
unknown (const struct catalog *catalog, const char *path, struct error *error)
{
  const char *dot = strchr (path, '.'), *name = strrchr (path, '.') ? strrchr (path, '.') + 1 : path;
  struct suggestion whole = { .word = path }, last = { .word = name };
  struct buffer list = { 0 };
  size_t count = 0;

  for (size_t i = 0; error && i < catalog->count; i++) { /* it takes a while */
    const struct catalog_entry *entry = catalog->list[i];
    char full[PATH_MAX_BYTES];
    snprintf (full, sizeof full, "%s.%s", entry->group, entry->name);
    suggestion_consider (&whole, full);
    suggestion_consider (&last, entry->name);
  }
  if (*whole.best)
    buffer_printf (&list, "%s%s", count++ ? ", " : "", whole.best);
  for (size_t i = 0; error && i < catalog->count && count < NAMED; i++) {
    const struct catalog_entry *entry = catalog->list[i];
    size_t length = dot ? (size_t) (dot - path) : strlen (path);
    bool in_group = strlen (entry->group) == length && strncmp (entry->group, path, length) == 0;
    bool near = *last.best && strcmp (entry->name, last.best) == 0;
    char full[PATH_MAX_BYTES];
    snprintf (full, sizeof full, "%s.%s", entry->group, entry->name);
    if ((near || (in_group && !*last.best)) && strcmp (full, whole.best) != 0)
      buffer_printf (&list, "%s%s", count++ ? ", " : "", full);
  }
  error_set (error, "no node has a metric \"%.128s\"%s%s%s", path, count ? "; near are " : "",
             count ? buffer_text (&list) : "", catalog->count ? "" : ": there are none yet");
  buffer_free (&list);
  return -1;
}

const struct catalog_entry *
catalog_find (const struct catalog *catalog, const char *path, char **row, struct error *error)
{
  const struct catalog_entry *found[NAMED];
  const char *rest = without_head (path, catalog);
  size_t count = candidates (catalog, rest, found, NAMED);

  *row = NULL;
  if (count == 1)
    return found[0];
  if (count > 1) {
    ambiguous (path, "in several groups", found, count, error);
    return NULL;
  }
  for (size_t i = 0; i < catalog->count; i++)
    if ((*row = label_in (rest, catalog->list[i])))
      return catalog->list[i];
  count = metrics_of_group (catalog, rest, found, NAMED);
  if (count)
    ambiguous (path, "a group of metrics", found, count, error);
  else
    unknown (catalog, rest, error);
  return NULL;
}
