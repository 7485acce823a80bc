/* See send_nodes.h. */
#include "aggregator/send/send_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/core/node.h"
#include "aggregator/history/history_rebuild.h"
#include "synop/clock.h"
#include "synop/data_folder.h"
#include "synop/hash.h"
#include "synop/memory.h"
#include "synop/naming.h"
#include "synop/send_series.h"

#define PLACES 4096 /* of nodes; a power of two */
#define CHUNKS_BACK 8
#define BOOT_APART (30 * NS_PER_S)
#define PLANS_MOST                                                                                                     \
  100000 /* groups and metrics, of all schemas: nodes that come with ever other ones leave plans behind */

/* Which series were sent, in which order: two that are alike are the same ones. */
struct sent {
  uint64_t sum;
  size_t count;
};

struct sent_group {
  struct table table;
  bool made, has; /* it was sent */
  struct sent series;
};

struct send_node {
  struct send_node *next;
  char name[FRAME_NODE_MAX + 1];
  uint64_t session;
  const struct schema *schema; /* NULL: nothing was sent */
  struct sent_group *groups;   /* one for each of the schema's, and the frame's own time */
  int64_t newest_ns, late_ns;  /* of the last frame, and the last late one, that was sent */
  int64_t boot_ns;             /* about, but the same for as long as it is up; INT64_MIN: not known */
};

struct send_nodes {
  int64_t period_ns;
  bool stale; /* markers are given where series end */
  struct history_file *file;
  struct globs groups;
  struct naming *naming;
  struct rebuild *rebuild;
  struct send_cache *cache;
  struct send_window before; /* of a node that is read from the history */
  struct send_node *places[PLACES];
  struct series_table tables[SCHEMA_GROUPS_MAX];
  uint64_t *hashes;
  size_t hash_count, hash_room;
};

struct send_nodes *
send_nodes_create (const struct send_options *options, void *type_state, struct history_file *file, struct error *error)
{
  struct send_nodes *nodes = memory_new (1, sizeof *nodes);
  char folder[4096];

  nodes->period_ns = send_period (options);
  nodes->stale = send_type_of (options)->stale;
  nodes->file = file;
  globs_init (&nodes->groups, options->groups);
  nodes->cache = send_cache_create (
      &(struct send_cache_options){ options->job, options->labels, send_type_of (options)->wants, type_state });
  nodes->naming = naming_create ();
  data_folder ("aggregator", "names", folder, sizeof folder);
  if (naming_load (nodes->naming, send_names (options), folder, error) < 0) {
    send_nodes_destroy (nodes);
    return NULL;
  }
  send_nodes_rest (nodes);
  return nodes;
}

void
send_nodes_take_each (struct send_nodes *nodes)
{
  nodes->period_ns = 1;
}

void
send_nodes_rest (struct send_nodes *nodes)
{
  send_cache_trim (nodes->cache);
  rebuild_destroy (nodes->rebuild);
  nodes->rebuild = rebuild_create (nodes->file);
  if (!naming_has_rates (nodes->naming))
    rebuild_leave_before (nodes->rebuild);
}

static void
node_forget (struct send_node *node)
{
  for (size_t i = 0; node->schema && i < node->schema->group_count; i++)
    if (node->groups[i].made)
      table_free (&node->groups[i].table);
  free (node->groups);
  node->groups = NULL;
  node->schema = NULL;
}

void
send_nodes_destroy (struct send_nodes *nodes)
{
  if (!nodes)
    return;
  for (size_t i = 0; i < PLACES; i++)
    while (nodes->places[i]) {
      struct send_node *node = nodes->places[i];
      nodes->places[i] = node->next;
      node_forget (node);
      free (node);
    }
  rebuild_destroy (nodes->rebuild);
  naming_destroy (nodes->naming);
  globs_free (&nodes->groups);
  send_cache_destroy (nodes->cache);
  send_window_free (&nodes->before);
  free (nodes->hashes);
  free (nodes);
}

int64_t
send_node_newest (const struct send_node *node)
{
  return node->newest_ns;
}

/* ---- series ---- */

static struct series_node
series_node_of (struct send_nodes *nodes, const struct send_node *node, const struct schema *schema, int64_t time_ns)
{
  return (struct series_node){
    .name = node->name, .plan = naming_plan (nodes->naming, schema), .tables = nodes->tables, .time_ns = time_ns
  };
}

static size_t
slot_of (const struct schema *schema, const struct series *series)
{
  return series->group < schema->group_count ? series->group : schema->group_count;
}

/* All series of nodes->tables, and which they are: `sent`, for each group. */
static void
give_tables (struct send_nodes *nodes, const struct send_node *node, const struct schema *schema, int64_t time_ns,
             struct sent *sent, send_give_fn *give, void *context)
{
  struct series_node one = series_node_of (nodes, node, schema, time_ns);
  struct send_sample sample = { .node = send_symbol_find (nodes->cache, node->name, strlen (node->name)),
                                .time_ms = time_ns / NS_PER_MS,
                                .start_ms = node->boot_ns / NS_PER_MS };
  struct series_walk walk;
  struct series series;

  series_begin (&walk, nodes->naming, &one, 1);
  while (series_next (&walk, &series)) {
    struct sent *of = &sent[slot_of (schema, &series)];
    sample.series = send_series_find (nodes->cache, &series);
    of->sum = (of->sum ^ sample.series->hash) * UINT64_C (0x9e3779b97f4a7c15);
    of->count++;
    if (!give || !sample.series->wanted)
      continue;
    sample.value = series_number (&series);
    give (context, &sample);
  }
}

/* ---- series that ended ---- */

static int
compare_hashes (const void *one, const void *other)
{
  uint64_t a = *(const uint64_t *) one, b = *(const uint64_t *) other;

  return (a > b) - (a < b);
}

/* Which series nodes->tables has. */
static void
collect_hashes (struct send_nodes *nodes, const struct send_node *node, const struct schema *schema, int64_t time_ns)
{
  struct series_node one = series_node_of (nodes, node, schema, time_ns);
  struct series_walk walk;
  struct series series;

  nodes->hash_count = 0;
  series_begin (&walk, nodes->naming, &one, 1);
  while (series_next (&walk, &series)) {
    if (nodes->hash_count == nodes->hash_room) {
      nodes->hash_room = nodes->hash_room ? 2 * nodes->hash_room : 1024;
      nodes->hashes = memory_resize (nodes->hashes, nodes->hash_room, sizeof nodes->hashes[0]);
    }
    nodes->hashes[nodes->hash_count++] = send_series_find (nodes->cache, &series)->hash;
  }
  if (nodes->hash_count)
    qsort (nodes->hashes, nodes->hash_count, sizeof nodes->hashes[0], compare_hashes);
}

/* A marker for each series of what was sent, of the groups that are marked so, that is not among the hashes. */
static void
give_ended (struct send_nodes *nodes, const struct send_node *node, const bool *groups, int64_t time_ns,
            send_give_fn *give, void *context)
{
  size_t count = node->schema->group_count;
  struct series_node one = series_node_of (nodes, node, node->schema, groups[count] ? node->newest_ns : 0);
  struct send_sample sample = { .node = send_symbol_find (nodes->cache, node->name, strlen (node->name)),
                                .stale = true,
                                .time_ms = time_ns / NS_PER_MS,
                                .start_ms = node->boot_ns / NS_PER_MS };
  struct series_walk walk;
  struct series series;

  for (size_t i = 0; i < count; i++)
    nodes->tables[i] = (struct series_table){ .table = node->groups[i].has ? &node->groups[i].table : NULL,
                                              .time_ns = node->newest_ns,
                                              .hidden = !groups[i] || node->groups[i].series.count == 0 };
  series_begin (&walk, nodes->naming, &one, 1);
  while (series_next (&walk, &series)) {
    if (!groups[slot_of (node->schema, &series)])
      continue;
    sample.series = send_series_find (nodes->cache, &series);
    if (sample.series->wanted &&
        (!nodes->hash_count ||
         !bsearch (&sample.series->hash, nodes->hashes, nodes->hash_count, sizeof nodes->hashes[0], compare_hashes)))
      give (context, &sample);
  }
}

void
send_nodes_end (struct send_nodes *nodes, struct send_node *node, int64_t time_ns, send_give_fn *give, void *context)
{
  bool all[SCHEMA_GROUPS_MAX + 1];

  if (!nodes->stale || !node->schema || time_ns <= node->newest_ns)
    return;
  memset (all, true, sizeof all);
  nodes->hash_count = 0;
  give_ended (nodes, node, all, time_ns, give, context);
  for (size_t i = 0; i <= node->schema->group_count; i++) {
    node->groups[i].series = (struct sent){ 0 };
    node->groups[i].has &= i < node->schema->group_count && node->schema->groups[i]->flags & GROUP_ONCE;
  }
}

/* ---- a frame ---- */

/* What of the frame is sent: its tables that are due, those facts that came before it, and the others for labels. False: it
 * has nothing. */
static bool
choose_tables (struct send_nodes *nodes, const struct send_node *node, const struct cluster_frame *frame, bool *due)
{
  const struct schema *schema = frame->schema;
  bool same = node->schema == schema && node->session == frame->header->session, any = false;

  for (size_t i = 0; i < schema->group_count; i++) {
    const struct table *now = frame->groups[i].now;
    bool once = schema->groups[i]->flags & GROUP_ONCE;
    due[i] = now && (once || send_is_due (frame->time_ns, now->period_ns, nodes->period_ns));
    any |= due[i] && !once;
  }
  for (size_t i = 0; i < schema->group_count; i++) {
    bool once = schema->groups[i]->flags & GROUP_ONCE;
    bool known = !due[i] && same && node->groups[i].has;
    nodes->tables[i] = (struct series_table){ .table = due[i]  ? frame->groups[i].now
                                                       : known ? &node->groups[i].table
                                                               : NULL,
                                              .before = due[i] ? frame->groups[i].before : NULL,
                                              .time_ns = frame->time_ns };
    nodes->tables[i].hidden = (!due[i] && !once) || !any || !globs_match (&nodes->groups, schema->groups[i]->name);
  }
  return any;
}

/* Series of groups that were sent are compared with those that are now; where a session or schema began, of all groups. */
static void
give_changes (struct send_nodes *nodes, const struct send_node *node, const struct cluster_frame *frame,
              const struct sent *sent, send_give_fn *give, void *context)
{
  bool same = node->schema == frame->schema && node->session == frame->header->session, any = false;
  bool changed[SCHEMA_GROUPS_MAX + 1] = { false };

  if (!node->schema)
    return;
  for (size_t i = 0; i <= node->schema->group_count; i++) {
    const struct sent *was = &node->groups[i].series;
    changed[i] =
        was->count &&
        (!same || (sent[i].count && (sent[i].count != was->count || sent[i].sum != was->sum)) ||
         (!sent[i].count && i < node->schema->group_count && nodes->tables[i].table && !nodes->tables[i].hidden));
    any |= changed[i];
  }
  if (!any)
    return;
  collect_hashes (nodes, node, frame->schema, frame->time_ns);
  give_ended (nodes, node, changed, frame->time_ns, give, context);
}

static void
note (struct send_node *node, const struct cluster_frame *frame, const bool *due, bool any, const struct sent *sent)
{
  size_t count = frame->schema->group_count;

  if (node->schema != frame->schema) {
    node_forget (node);
    node->schema = frame->schema;
    node->groups = memory_new (count + 1, sizeof node->groups[0]);
  } else if (node->session != frame->header->session) {
    for (size_t i = 0; i <= count; i++)
      node->groups[i].has = false, node->groups[i].series = (struct sent){ 0 };
  }
  node->session = frame->header->session;
  for (size_t i = 0; i <= count; i++) {
    struct sent_group *group = &node->groups[i];
    if (sent[i].count || (i < count && due[i] && any))
      group->series = sent[i];
    if (i == count || !due[i])
      continue;
    if (!group->made)
      table_init (&group->table, frame->schema->groups[i]);
    table_copy (&group->table, frame->groups[i].now);
    group->made = group->has = true;
  }
  node->newest_ns = any ? frame->time_ns : node->newest_ns;
}

/* Before a node's clock is known its frames have the time at which they came, some at once: of one millisecond the first is
 * sent, since receivers take one sample of it. */
static bool
is_twice (const struct send_node *node, int64_t time_ns)
{
  int64_t ms = time_ns / NS_PER_MS;

  return (node->newest_ns != INT64_MIN && ms == node->newest_ns / NS_PER_MS) ||
         (node->late_ns != INT64_MIN && ms == node->late_ns / NS_PER_MS);
}

/* The clocks that it is reckoned from drift apart, by less than a node needs to boot. */
static void
note_boot (struct send_node *node, const struct cluster_frame *frame)
{
  int64_t boot_ns = frame->time_ns - frame->header->monotonic_ns, apart_ns;

  if (node->boot_ns != INT64_MIN && node->session == frame->header->session)
    return;
  apart_ns = node->boot_ns == INT64_MIN ? INT64_MAX : boot_ns - node->boot_ns;
  if (apart_ns > BOOT_APART || apart_ns < -BOOT_APART)
    node->boot_ns = boot_ns;
}

int
send_nodes_take (struct send_nodes *nodes, struct send_node *node, const struct send_frame_parts *parts,
                 send_give_fn *give, void *context, struct error *error)
{
  struct sent sent[SCHEMA_GROUPS_MAX + 1] = { 0 };
  bool due[SCHEMA_GROUPS_MAX], any;
  struct cluster_frame frame;

  if (rebuild_frame (nodes->rebuild, &parts->header, &parts->record, parts->bytes, parts->length, &frame, error) < 0)
    return -1;
  if (naming_plans_size (nodes->naming) > PLANS_MOST)
    naming_forget_plans (nodes->naming);
  note_boot (node, &frame);
  any = choose_tables (nodes, node, &frame, due) && !is_twice (node, frame.time_ns);
  if (any)
    give_tables (nodes, node, frame.schema, frame.time_ns, sent, give, context);
  if (frame.time_ns <= node->newest_ns) {
    node->late_ns = any ? frame.time_ns : node->late_ns;
    return 0;
  }
  if (give && nodes->stale)
    give_changes (nodes, node, &frame, sent, give, context);
  note (node, &frame, due, any, sent);
  return 0;
}

/* ---- what was sent before ---- */

static void
take_before (struct send_nodes *nodes, struct send_node *node, const struct chunk_list *list)
{
  send_window_read (&nodes->before, nodes->file, list, nodes->period_ns);
  for (size_t i = 0; i < nodes->before.count; i++) {
    struct send_frame_parts parts;
    if (send_window_frame (&nodes->before, &nodes->before.frames[i], &parts) == 0)
      send_nodes_take (nodes, node, &parts, NULL, NULL, NULL);
  }
}

/* Its last chunks, and the first of its session: there the facts are. */
static void
node_read (struct send_nodes *nodes, struct send_node *node, int64_t chunk)
{
  struct chunk_list last = { 0 }, first = { 0 };

  if (history_file_chunks_of (nodes->file, node->name, 0, chunk, CHUNKS_BACK, &last, NULL) == 0 && last.count) {
    if (history_file_chunks_of (nodes->file, node->name, last.rows[last.count - 1].session, chunk, 1, &first, NULL) ==
        0)
      take_before (nodes, node, &first);
    take_before (nodes, node, &last);
  }
  free (last.rows);
  free (first.rows);
}

struct send_node *
send_nodes_find (struct send_nodes *nodes, const char *name, int64_t chunk)
{
  struct send_node **place = &nodes->places[hash_text (name) & (PLACES - 1)], *node = *place;

  while (node && strcmp (node->name, name) != 0)
    node = node->next;
  if (node)
    return node;
  node = memory_new (1, sizeof *node);
  strncpy (node->name, name, FRAME_NODE_MAX);
  node->newest_ns = node->late_ns = node->boot_ns = INT64_MIN;
  node->next = *place;
  *place = node;
  node_read (nodes, node, chunk);
  return node;
}
