/* The groups and their metrics as people read them; see list.h. All of it comes from the declarations. */
#include "agent/list.h"

#include <stdbool.h>
#include <string.h>

#include "agent/sampling/bounds.h"
#include "synop/derived.h"
#include "synop/json.h"

static bool
is_of_rows (const struct metric *metric)
{
  return !(metric->flags & METRIC_OF_NODE);
}

/* The unit of what a report shows. */
static const char *
shown_unit (const struct metric *metric)
{
  const char *unit = metric->flags & METRIC_SHARE ? "percent" : metric_unit_name (metric->unit);

  return unit[0] ? unit : "-";
}

static const char *
shown_kind (const struct metric *metric)
{
  return metric->kind == COUNTER && metric->flags & METRIC_SHARE ? "share" : metric_kind_name (metric->kind);
}

/* "system_data.network", "hardware_info" */
static void
add_place (struct buffer *out, const struct group *group)
{
  buffer_printf (out, "%s%s%s", group->section, group->section[0] ? "." : "", group->name);
}

static bool
has_fold (const struct group *group)
{
  return group->fold_name && group->fold_name[0];
}

/* ---- text ---- */

struct widths {
  int name, kind, unit, fold;
};

static void
widen (int *width, const char *text)
{
  int length = (int) strlen (text);

  if (length > *width)
    *width = length;
}

static struct widths
widths_of (const struct group *const *groups, size_t count)
{
  struct widths widths = { 0 };

  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < groups[i]->metric_count; k++) {
      const struct metric *metric = &groups[i]->metrics[k];

      widen (&widths.name, metric->name);
      widen (&widths.kind, shown_kind (metric));
      widen (&widths.unit, shown_unit (metric));
      widen (&widths.fold, metric_fold_name (metric->fold));
    }
  return widths;
}

static void
text_metric (struct buffer *out, const struct metric *metric, const struct widths *widths)
{
  buffer_printf (out, "  %c %-*s  %-*s  %-*s  %-*s  %s\n", is_of_rows (metric) ? '*' : ' ', widths->name, metric->name,
                 widths->kind, shown_kind (metric), widths->unit, shown_unit (metric), widths->fold,
                 metric_fold_name (metric->fold), metric->help);
}

static void
text_derived (struct buffer *out, const struct group *group, const struct widths *widths)
{
  struct derived_list list;

  derived_find (&list, group);
  for (size_t i = 0; i < list.count; i++)
    buffer_printf (out, "  * %-*s  %-*s  %-*s  %-*s  %s\n", widths->name, list.items[i].derived->name, widths->kind,
                   "derived", widths->unit, list.items[i].derived->unit, widths->fold, "-",
                   list.items[i].derived->help);
}

static void
text_list (struct buffer *out, const struct group *const *groups, size_t count)
{
  struct widths widths = widths_of (groups, count);

  buffer_printf (out, "    %-*s  %-*s  %-*s  %-*s  meaning\n", widths.name, "metric", widths.kind, "kind", widths.unit,
                 "unit", widths.fold, "fold");
  for (size_t i = 0; i < count; i++) {
    const struct group *group = groups[i];

    buffer_printf (out, "\n%s: %s\n", group->name, group->help);
    if (group->left_out)
      buffer_printf (out, "    Left out: %s\n", group->left_out);
    if (group->rows_name && group->rows_name[0])
      buffer_printf (out, "    *: for each %s, in \"%s\"%s%s%s\n", group->row, group->rows_name,
                     has_fold (group) ? "; all of them in \"" : "", has_fold (group) ? group->fold_name : "",
                     has_fold (group) ? "\"" : "");
    for (size_t k = 0; k < group->metric_count; k++)
      text_metric (out, &group->metrics[k], &widths);
    text_derived (out, group, &widths);
  }
  buffer_add_string (out,
                     "\nA counter shows its change in the period, a share the percentage of the period that it grew "
                     "by, a gauge its value.\n");
}

/* ---- JSON ---- */

static void
json_member (struct json *json, const char *key, const char *text)
{
  json_text (json_key (json, key), text ? text : "");
}

static void
json_group (struct json *json, const struct group *group)
{
  json_object (json);
  json_member (json, "name", group->name);
  json_member (json, "section", group->section);
  json_member (json, "row", group->row);
  json_member (json, "rows_name", group->rows_name);
  json_member (json, "fold_name", group->fold_name);
  json_bool (json_key (json, "once"), group->flags & GROUP_ONCE);
  json_bool (json_key (json, "by_rows"), group->flags & GROUP_ROWS);
  json_member (json, "help", group->help);
  json_member (json, "left_out", group->left_out);
  json_array (json_key (json, "metrics"));
  for (size_t k = 0; k < group->metric_count; k++) {
    const struct metric *metric = &group->metrics[k];

    json_object (json);
    json_member (json, "name", metric->name);
    json_member (json, "kind", metric_kind_name (metric->kind));
    json_member (json, "unit", metric_unit_name (metric->unit));
    json_member (json, "fold", metric_fold_name (metric->fold));
    json_bool (json_key (json, "share"), metric->flags & METRIC_SHARE);
    json_bool (json_key (json, "of_node"), !is_of_rows (metric));
    json_bool (json_key (json, "counts"), metric->flags & METRIC_COUNTS);
    json_bool (json_key (json, "shared"), metric->flags & METRIC_SHARED);
    json_member (json, "help", metric->help);
    json_object_end (json);
  }
  json_array_end (json);
  json_object_end (json);
}

static void
json_list (struct buffer *out, const struct group *const *groups, size_t count)
{
  struct json json = { 0 };

  json_object (&json);
  json_array (json_key (&json, "groups"));
  for (size_t i = 0; i < count; i++)
    json_group (&json, groups[i]);
  json_array_end (&json);
  json_object_end (&json);
  json_newline (&json);
  buffer_add (out, json.out.data, json.out.length);
  json_free (&json);
}

/* ---- Markdown ---- */

static void
add_text (struct buffer *out, const char *text)
{
  for (; *text; text++) {
    if (*text == '|' || *text == '*')
      buffer_add_string (out, "\\");
    buffer_add (out, text, 1);
  }
}

static void
markdown_metric (struct buffer *out, const struct group *group, const struct metric *metric)
{
  buffer_printf (out, "| `%s` | `", metric->name);
  add_place (out, group);
  if (is_of_rows (metric))
    buffer_printf (out, ".%s.<%s>", group->rows_name, group->row);
  buffer_printf (out, ".%s` | %s | %s | %s | ", metric->name, shown_kind (metric), shown_unit (metric),
                 metric_fold_name (metric->fold));
  add_text (out, metric->help);
  bounds_describe (out, metric);
  buffer_add_string (out, " |\n");
}

static void
markdown_derived (struct buffer *out, const struct group *group)
{
  struct derived_list list;

  derived_find (&list, group);
  for (size_t i = 0; i < list.count; i++) {
    const struct derived *derived = list.items[i].derived;

    buffer_printf (out, "| `%s` | `", derived->name);
    add_place (out, group);
    buffer_printf (out, ".%s.<%s>.%s` | derived | %s | - | %s `%s` ", group->rows_name, group->row, derived->name,
                   derived->unit, derived->help, derived->of);
    if (derived->over)
      buffer_printf (out, "over `%s`. |\n", derived->over);
    else
      buffer_add_string (out, "a second. |\n");
  }
}

static void
markdown_group (struct buffer *out, const struct group *group)
{
  buffer_printf (out, "\n## %s\n\n%s", group->name, group->help);
  if (group->flags & GROUP_ONCE)
    buffer_add_string (out, " Sent once a session, and again when the aggregator has begun anew.");
  if (has_fold (group)) {
    buffer_printf (out, " Each %s lies under `", group->row);
    add_place (out, group);
    buffer_printf (out, ".%s`, and all of them, combined by the fold of each metric, under `", group->rows_name);
    add_place (out, group);
    buffer_printf (out, ".%s`.", group->fold_name);
  }
  if (group->flags & GROUP_ROWS)
    buffer_add_string (out, " In combined reports `min` and `max` are over the rows of all nodes.");
  if (group->left_out) {
    buffer_add_string (out, "\n\nLeft out: ");
    add_text (out, group->left_out);
  }
  buffer_add_string (out, "\n\n| metric | key in the report | kind | unit | fold | meaning |\n"
                          "| --- | --- | --- | --- | --- | --- |\n");
  for (size_t k = 0; k < group->metric_count; k++)
    markdown_metric (out, group, &group->metrics[k]);
  markdown_derived (out, group);
}

static const char markdown_head[] =
    "# Metrics\n"
    "\n"
    "Made by `synop-agent --list-groups --markdown`: do not edit.\n"
    "\n"
    "Every metric is declared once, in the agent. The key is its place under `report` in a node line. A *counter* "
    "shows\n"
    "its change in the period, a *share* (a counter of time) the percentage of the period that it grew by, a *gauge*\n"
    "and a *text* their value; what is *derived* is made of a group's counters, in node lines and combined reports. "
    "The\n"
    "fold says how rows become the node, and nodes the cluster; a row whose `in_total` is 0 is in none, so that a "
    "total\n"
    "counts each byte once; one whose `shared` is 1 is in its node's and not in the cluster's. What a kernel does not\n"
    "have is `null`. Every group has two more keys: `period`, the seconds that the changes cover, and `error`, empty\n"
    "when all is well.\n"
    "\n"
    "Kernels count time in ticks, and are read a little after the clock: a share that is over 100 percent by no more\n"
    "than 10 ms or a twentieth of the period is shown as 100.\n"
    "\n"
    "Impossible values are `null` too: every number has a bound, so generous that no true value exceeds it. The\n"
    "group's `error` names the first that exceeded its bound (`impossible values are left out: ...`); the agent logs\n"
    "it once. A counter's bound is the most that it can grow by in a second. It is measured over the time that has\n"
    "really passed since its row last moved, and 2 seconds, since drivers report late (a share: 20 ms or a\n"
    "twentieth). After an impossible jump a counter's change is `null` twice, and goes on from there; from 2^63 on it\n"
    "is no counter at all. The table of a group states its own bounds; the others, also in place of a bound by a\n"
    "metric (`speed`) that is missing, are:\n"
    "\n";

static void
markdown_list (struct buffer *out, const struct group *const *groups, size_t count)
{
  buffer_add_string (out, markdown_head);
  bounds_describe_usual (out);
  for (size_t i = 0; i < count; i++)
    markdown_group (out, groups[i]);
}

void
list_groups (struct buffer *out, enum list_format format, const struct group *const *groups, size_t count)
{
  void (*const writers[]) (struct buffer *, const struct group *const *, size_t) = {
    [LIST_TEXT] = text_list, [LIST_JSON] = json_list, [LIST_MARKDOWN] = markdown_list
  };

  writers[format](out, groups, count);
}
