/* See group_list.h. Most nodes share a schema, and schemas share most groups: each schema is looked at once. */
#include "aggregator/server/group_list.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/core/node.h"
#include "aggregator/core/schema_store.h"
#include "synop/array.h"
#include "synop/json.h"

#define METRICS_MAX 50000 /* of all schemas together: of more those count that most nodes have */

struct use {
  const struct schema *schema;
  size_t nodes;
};

struct uses {
  struct use *list;
  size_t count, room;
};

/* A metric of a schema; NULL: its group alone, which stands before its metrics. */
struct entry {
  const struct group *group;
  const struct metric *metric;
  size_t nodes;
};

struct entries {
  struct entry *list;
  size_t count, room;
};

static int
by_schema (const void *one, const void *other)
{
  const struct use *a = one, *b = other;

  return (a->schema > b->schema) - (a->schema < b->schema);
}

static int
by_nodes (const void *one, const void *other)
{
  const struct use *a = one, *b = other;

  return (a->nodes < b->nodes) - (a->nodes > b->nodes);
}

/* Those of the nodes, each once; that of most nodes first. */
static struct uses
uses_of (const struct cluster *cluster, bool only_up)
{
  struct uses uses = { 0 };
  size_t kept = 0;

  for (size_t i = 0; i < cluster_node_count (cluster); i++) {
    const struct node *node = cluster_node (cluster, i);
    if (node->schema && (!only_up || node->state == NODE_UP))
      *array_add (uses.list, uses.count, uses.room) = (struct use){ node->schema->schema, 1 };
  }
  if (uses.count == 0)
    return uses;
  qsort (uses.list, uses.count, sizeof uses.list[0], by_schema);
  for (size_t i = 1; i < uses.count; i++)
    if (uses.list[i].schema == uses.list[kept].schema)
      uses.list[kept].nodes++;
    else
      uses.list[++kept] = uses.list[i];
  uses.count = kept + 1;
  qsort (uses.list, uses.count, sizeof uses.list[0], by_nodes);
  return uses;
}

static void
add_group (struct entries *entries, const struct group *group, size_t nodes)
{
  *array_add (entries->list, entries->count, entries->room) = (struct entry){ group, NULL, nodes };
  for (size_t k = 0; k < group->metric_count; k++)
    *array_add (entries->list, entries->count, entries->room) = (struct entry){ group, &group->metrics[k], nodes };
}

static int
same_group (const struct entry *one, const struct entry *other)
{
  int order = strcmp (one->group->name, other->group->name);

  return order ? order : strcmp (one->group->section, other->group->section);
}

static int
same_metric (const struct entry *one, const struct entry *other)
{
  int order = same_group (one, other);

  if (order || !one->metric || !other->metric)
    return order ? order : (one->metric != NULL) - (other->metric != NULL);
  return strcmp (one->metric->name, other->metric->name);
}

/* Equal ones: that of most nodes first, which says what it is. */
static int
by_name (const void *one, const void *other)
{
  const struct entry *a = one, *b = other;
  int order = same_metric (a, b);

  return order ? order : (a->nodes < b->nodes) - (a->nodes > b->nodes);
}

static struct entries
entries_of (const struct cluster *cluster, bool only_up)
{
  struct uses uses = uses_of (cluster, only_up);
  struct entries entries = { 0 };
  size_t kept = 0;

  for (size_t i = 0; i < uses.count && entries.count < METRICS_MAX; i++)
    for (size_t k = 0; k < uses.list[i].schema->group_count; k++)
      add_group (&entries, uses.list[i].schema->groups[k], uses.list[i].nodes);
  free (uses.list);
  if (entries.count == 0)
    return entries;
  qsort (entries.list, entries.count, sizeof entries.list[0], by_name);
  for (size_t i = 1; i < entries.count; i++)
    if (same_metric (&entries.list[i], &entries.list[kept]) == 0)
      entries.list[kept].nodes += entries.list[i].nodes;
    else
      entries.list[++kept] = entries.list[i];
  entries.count = kept + 1;
  return entries;
}

void
group_list_names (const struct cluster *cluster, struct buffer *out)
{
  struct entries entries = entries_of (cluster, false);
  const char *last = NULL;

  for (size_t i = 0; i < entries.count; i++)
    if (!entries.list[i].metric && (!last || strcmp (last, entries.list[i].group->name) != 0)) {
      last = entries.list[i].group->name;
      buffer_printf (out, "%s\n", last);
    }
  free (entries.list);
}

static void
write_group (struct json *json, const struct entry *entry)
{
  const struct group *group = entry->group;

  json_text (json_key (json, "name"), group->name);
  json_text (json_key (json, "section"), group->section);
  json_text (json_key (json, "row"), group->row);
  json_text (json_key (json, "rows_name"), group->rows_name);
  json_text (json_key (json, "fold_name"), group->fold_name);
  json_bool (json_key (json, "once"), group->flags & GROUP_ONCE);
  json_text (json_key (json, "help"), group->help);
  json_uint (json_key (json, "nodes"), entry->nodes);
}

static void
write_metric (struct json *json, const struct entry *entry)
{
  const struct metric *metric = entry->metric;

  json_object (json);
  json_text (json_key (json, "name"), metric->name);
  json_text (json_key (json, "kind"), metric_kind_name (metric->kind));
  json_text (json_key (json, "unit"), metric_unit_name (metric->unit));
  json_text (json_key (json, "fold"), metric_fold_name (metric->fold));
  json_bool (json_key (json, "share"), metric->flags & METRIC_SHARE);
  json_bool (json_key (json, "of_node"), metric->flags & METRIC_OF_NODE);
  json_text (json_key (json, "help"), metric->help);
  json_uint (json_key (json, "nodes"), entry->nodes);
  json_object_end (json);
}

void
group_list_json (const struct cluster *cluster, struct buffer *out)
{
  struct entries entries = entries_of (cluster, true);
  struct json json = { 0 };

  for (size_t i = 0; i < entries.count;) {
    const struct entry *group = &entries.list[i++];
    json_object (&json);
    write_group (&json, group);
    json_array (json_key (&json, "metrics"));
    for (; i < entries.count && entries.list[i].metric && same_group (group, &entries.list[i]) == 0; i++)
      write_metric (&json, &entries.list[i]);
    json_array_end (&json);
    json_object_end (&json);
    json_newline (&json);
  }
  buffer_add (out, json.out.data, json.out.length);
  json_free (&json);
  free (entries.list);
}
