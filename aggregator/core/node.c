/* A node's sessions and tables. Only groups that the node has sent take memory. */
#include "aggregator/core/node.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/core/schema_store.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define PERIOD_DEFAULT NS_PER_S /* until a hello has one */

const char *
node_state_name (enum node_state state)
{
  static const char *const names[NODE_STATES] = { "never", "up", "stale", "down" };
  return names[state];
}

struct node *
node_create (const char *name, const uint8_t key[KEY_SIZE], int64_t now_ns)
{
  struct node *node = memory_new (1, sizeof *node);

  strncpy (node->name, name, FRAME_NODE_MAX);
  memcpy (node->key, key, KEY_SIZE);
  node->since_ns = now_ns;
  node->sessions[0].period_ns = PERIOD_DEFAULT;
  node->held_end = &node->held;
  return node;
}

void
node_forget_failures (struct node *node)
{
  while (node->failures) {
    struct group_failure *next = node->failures->next;
    free (node->failures);
    node->failures = next;
  }
  node->groups_first_ns = node->groups_reported_ns = 0;
}

void
node_destroy (struct node *node)
{
  node_forget_failures (node);
  free (node);
}

struct session *
node_session (struct node *node, uint64_t id)
{
  for (size_t i = 0; i < NODE_SESSIONS; i++)
    if (node->sessions[i].id == id)
      return &node->sessions[i];
  return NULL;
}

void
node_take_session (struct node *node, uint64_t id, int64_t now_ns)
{
  struct session *old = node_session (node, id);
  struct session taken = { .id = id, .period_ns = PERIOD_DEFAULT };
  size_t behind = NODE_SESSIONS - 1; /* how many move one place back: all, or those before the session's old place */

  if (old) {
    taken = *old;
    behind = (size_t) (old - node->sessions);
  }
  node->up_reason = old ? "back" : node->sessions[0].id ? "restart" : "new";
  memmove (&node->sessions[1], &node->sessions[0], behind * sizeof node->sessions[0]);
  taken.seen_ns = now_ns;
  taken.strays = taken.facts_asked = 0;
  taken.facts_ask_ns = 0;
  node->sessions[0] = taken;
}

void
node_tables_create (struct node *node, const struct schema *schema)
{
  node->groups = memory_new (schema->group_count, sizeof node->groups[0]);
}

static void
group_free (struct node_group *group)
{
  if (!group)
    return;
  table_free (group->now);
  if (group->before)
    table_free (group->before);
  free (group);
}

void
node_tables_free (struct node *node)
{
  if (node->groups)
    node_groups_free (node->groups, node->schema->schema);
  node->groups = NULL;
}

void
node_groups_free (struct node_group **groups, const struct schema *schema)
{
  for (size_t i = 0; i < schema->group_count; i++)
    group_free (groups[i]);
  free (groups);
}

struct table *
node_groups_table (struct node_group **groups, const struct schema *schema, size_t index)
{
  const struct group *declared = schema->groups[index];
  struct node_group *group = groups[index];

  if (!group) {
    group = groups[index] = memory_new (1, sizeof *group);
    group->now = &group->tables[0];
    table_init (group->now, declared);
  } else if (!(declared->flags & GROUP_ONCE) && table_is_comparable (group->now)) {
    /* A table with an error instead of values is no base for changes: the last good one stays. */
    struct table *other = group->before;
    if (!other)
      table_init (other = &group->tables[1], declared);
    group->before = group->now;
    group->now = other;
  }
  table_begin (group->now);
  group->fresh = true;
  return group->now;
}

void
node_groups_expect (struct node_group *const *groups, const struct schema *schema)
{
  for (size_t i = 0; i < schema->group_count; i++)
    if (groups[i]) {
      table_expect (&groups[i]->tables[0]);
      table_expect (&groups[i]->tables[1]);
    }
}

const struct table *
node_groups_last (struct node_group *const *groups, size_t index)
{
  return groups[index] ? groups[index]->now : NULL;
}

int
node_tables_check (struct node *node, struct error *error)
{
  size_t count = node->schema->schema->group_count, bytes = 0;

  for (size_t i = 0; i < count; i++) {
    struct node_group *group = node->groups[i];
    if (group)
      bytes += table_bytes (group->now) + (group->before ? table_bytes (group->before) : 0);
  }
  if (bytes <= NODE_TABLES_MAX)
    return 0;
  for (size_t i = 0; i < count; i++)
    if (node->groups[i] && node->groups[i]->fresh) {
      group_free (node->groups[i]);
      node->groups[i] = NULL;
    }
  return error_set (error, "the node's tables would take %zu bytes, over the limit of %d", bytes, NODE_TABLES_MAX);
}
