/* See made_nodes.h. Frames reach the history as from the core, whose rules say with which table each is compared. */
#include "tests/bench/made_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/node.h"
#include "aggregator/history/history.h"
#include "synop/array.h"
#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/memory.h"

#define DAY (86400 * NS_PER_S)
#define LABELS 6

static const struct metric widget_metrics[] = {
  { "turns", COUNTER, UNIT_COUNT, FOLD_SUM, .help = "Turns." },
  { "moved", COUNTER, UNIT_BYTES, FOLD_SUM, .times = 512, .help = "Moved." },
  { "narrow", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_WRAPS32, .help = "Narrow." },
  { "busy", COUNTER, UNIT_SECONDS, FOLD_MEAN, METRIC_SHARE, .per = 1000, .help = "Busy." },
  { "work", COUNTER, UNIT_SECONDS, FOLD_SUM, METRIC_SHARE, .per = 1000, .help = "Work." },
  { "heat", GAUGE, UNIT_CELSIUS, FOLD_MAX, .per = 1000, .help = "Heat." },
  { "cold", GAUGE, UNIT_CELSIUS, FOLD_MIN, .help = "Cold." },
  { "mode", TEXT, UNIT_NONE, FOLD_NONE, .help = "Mode." },
  { "active", GAUGE, UNIT_BOOLEAN, FOLD_NONE, METRIC_COUNTS, .help = "Active." },
  { "level", GAUGE, UNIT_COUNT, FOLD_MEAN, .help = "Level." },
  { "alone", COUNTER, UNIT_COUNT, FOLD_NONE, .help = "Alone." },
  { "alarms", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Alarms." },
};
static const struct metric plain_metrics[] = {
  { "count", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Count." },
  { "balance", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Balance." },
};
static const struct metric slow_metrics[] = {
  { "ticks", COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Ticks." },
  { "depth", GAUGE, UNIT_COUNT, FOLD_SUM, .help = "Depth." },
};
static const struct metric fact_metrics[] = {
  { "size", GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = "Size." },
};
static const struct group widgets = {
  "widgets", "system_data", "widget", "devices", "total", 0, "Widgets.", GROUP_METRICS (widget_metrics)
};
static const struct group plain = { "plain", "odd_data", "", "", "", 0, "Plain.", GROUP_METRICS (plain_metrics) };
static const struct group slow = {
  "slow", "system_data", "slot", "slots", "total", 0, "Slow.", GROUP_METRICS (slow_metrics)
};
static const struct group facts = { "facts", "", "", "", "", GROUP_ONCE, "Facts.", GROUP_METRICS (fact_metrics) };
static const struct group *const groups[] = { &widgets, &plain, &slow, &facts };
#define GROUPS (sizeof groups / sizeof groups[0])

struct held {
  struct buffer frame;
  int64_t time_ns;
};

/* Tables as the core keeps them: of live frames, or of late ones. */
struct chain {
  struct node_group **groups;
  uint64_t session, sequence;
};

struct made_node {
  char name[FRAME_NODE_MAX + 1];
  uint64_t session, sequence;
  int64_t began_ns; /* of CLOCK_MONOTONIC 0, in cluster time */
  uint64_t counters[LABELS + 1][16];
  struct chain live, late;
  struct held *held; /* frames that come late */
  size_t held_count, held_capacity;
  bool away;
};

struct making {
  uint64_t state;
  struct schema *schema;
  struct history *history;
  struct history_options options;
  struct made_node *nodes;
  size_t count;
  uint64_t put; /* frames */
};

static uint64_t
chance (struct making *making, uint64_t below)
{
  making->state = making->state * UINT64_C (6364136223846793005) + UINT64_C (1442695040888963407);
  return (making->state >> 33) % below;
}

/* ---- frames ---- */

static void
fill_counters (struct making *making, struct made_node *node, struct table *table, size_t row, size_t label,
               const struct metric *metrics, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    uint64_t *counter = &node->counters[label][i];
    if (metrics[i].kind != COUNTER || ((metrics[i].flags & METRIC_OF_NODE) != 0) != (row == TABLE_NODE))
      continue;
    *counter += chance (making, 8) ? chance (making, 5000) : chance (making, 1 << 30);
    if (chance (making, 60) == 0)
      *counter = chance (making, 100); /* it was reset */
    if (metrics[i].flags & METRIC_WRAPS32)
      *counter &= UINT32_MAX;
    if (chance (making, 20))
      table_set_uint (table, row, i, *counter);
  }
}

static void
make_widgets (struct making *making, struct made_node *node, struct table *table)
{
  static const char *const labels[LABELS] = { "w0", "w1", "w 2", "3", "w\"4", "w\xc3\xbc" };
  size_t first = chance (making, 10) ? 0 : chance (making, LABELS);

  fill_counters (making, node, table, TABLE_NODE, LABELS, widget_metrics, widgets.metric_count);
  if (chance (making, 30) == 0) {
    table_complain (table, "it cannot be read");
    return;
  }
  for (size_t i = 0; i < LABELS; i++) {
    size_t label = (first + i) % LABELS, row;
    if (chance (making, 12) == 0)
      continue;
    row = table_add_row (table, labels[label], strlen (labels[label]));
    fill_counters (making, node, table, row, label, widget_metrics, widgets.metric_count);
    if (chance (making, 20))
      table_set_int (table, row, 5, (int64_t) chance (making, 90000) - 20000);
    table_set_real (table, row, 6, (double) chance (making, 10000) / 100 - 30);
    table_set_string (table, row, 7, chance (making, 2) ? "on" : "off");
    if (chance (making, 3) == 0)
      table_set_uint (table, row, 8, chance (making, 2));
    if (chance (making, 20))
      table_set_uint (table, row, 9, chance (making, 50));
  }
}

static void
make_slow (struct making *making, struct made_node *node, struct table *table)
{
  size_t rows = 10 + chance (making, 3);
  char label[8];

  node->counters[LABELS][15] += chance (making, 100);
  table_set_uint (table, TABLE_NODE, 0, node->counters[LABELS][15]);
  for (size_t i = 0; i < rows; i++)
    table_set_uint (table, table_add_row (table, label, (size_t) snprintf (label, sizeof label, "%zu", i)), 1,
                    chance (making, 1000));
}

static void
make_frame (struct making *making, struct made_node *node, int64_t time_ns, struct buffer *out)
{
  struct frame_header header = {
    .session = node->session, .sequence = ++node->sequence, .monotonic_ns = time_ns - node->began_ns, .wall_ns = time_ns
  };
  struct table tables[GROUPS];
  const struct table *list[GROUPS];
  size_t count = 0;

  strcpy (header.node, node->name);
  memcpy (header.schema, making->schema->hash, SCHEMA_HASH_SIZE);
  for (size_t g = 0; g < GROUPS; g++)
    table_init (&tables[g], groups[g]);
  make_widgets (making, node, &tables[0]);
  fill_counters (making, node, &tables[1], TABLE_NODE, LABELS, plain_metrics, plain.metric_count);
  table_set_real (&tables[1], TABLE_NODE, 1, ((double) chance (making, 1000) - 500) / 8);
  make_slow (making, node, &tables[2]);
  table_set_uint (&tables[3], TABLE_NODE, 0, 7);
  for (size_t g = 0; g < GROUPS; g++) {
    tables[g].period_ns = NS_PER_S;
    if (g < 2 || (g == 2 && header.sequence % 3 == 0) || (g == 3 && header.sequence == 1))
      list[count++] = &tables[g];
  }
  frame_write (out, &header, making->schema, list, count);
  for (size_t g = 0; g < GROUPS; g++)
    table_free (&tables[g]);
}

/* ---- as the core does ---- */

struct taking {
  struct making *making;
  struct chain *chain;
};

static struct table *
take_table (void *context, size_t group)
{
  struct taking *taking = context;

  return node_groups_table (taking->chain->groups, taking->making->schema, group);
}

static void
chain_drop (struct making *making, struct chain *chain)
{
  if (chain->groups)
    node_groups_free (chain->groups, making->schema);
  chain->groups = NULL;
}

static void
put (struct making *making, struct made_node *node, struct chain *chain, const struct held *held)
{
  struct taking taking = { making, chain };
  struct frame_sink sink = { .context = &taking, .take = take_table };
  struct report_group pairs[GROUPS] = { { 0 } };
  struct frame_header header;
  struct cluster_frame frame = { .header = &header,
                                 .bytes = held->frame.data,
                                 .length = held->frame.length,
                                 .time_ns = held->time_ns,
                                 .bound_ns = 1000,
                                 .drift_ppb = INT64_MIN,
                                 .probe_age_ms = -1,
                                 .late = chain == &node->late,
                                 .schema = making->schema,
                                 .groups = pairs };

  if (frame_read_header (held->frame.data, held->frame.length, &header, NULL) < 0)
    abort ();
  if (chain->groups && (chain->session != header.session || chain->sequence >= header.sequence))
    chain_drop (making, chain);
  if (!chain->groups)
    chain->groups = memory_new (GROUPS, sizeof chain->groups[0]);
  chain->session = header.session;
  chain->sequence = header.sequence;
  if (frame_read_tables (held->frame.data, held->frame.length, &header, making->schema, &sink, NULL) < 0)
    abort ();
  for (size_t g = 0; g < GROUPS; g++) {
    struct node_group *group = chain->groups[g];
    if (!group || !group->fresh)
      continue;
    pairs[g] = (struct report_group){ group->now, group->before };
    group->fresh = false;
  }
  history_put_frame (making->history, &frame);
  making->put++;
}

/* ---- what befalls them ---- */

static void
begin_session (struct making *making, struct made_node *node, int64_t time_ns)
{
  node->session = 1 + chance (making, UINT64_C (1) << 30) * 1000003;
  node->sequence = 0;
  node->began_ns = time_ns - (int64_t) chance (making, 1 << 20) * NS_PER_S;
  memset (node->counters, 0, sizeof node->counters);
}

static void
put_late (struct making *making, struct made_node *node)
{
  for (size_t i = 0; i < node->held_count; i++) {
    put (making, node, &node->late, &node->held[i]);
    buffer_free (&node->held[i].frame);
  }
  node->held_count = 0;
}

static void
step (struct making *making, struct made_node *node, int64_t time_ns)
{
  struct held held = { .time_ns = time_ns + (int64_t) chance (making, 1000000) };

  if (chance (making, 150) == 0)
    begin_session (making, node, time_ns);
  if (chance (making, node->away ? 6 : 25) == 0)
    node->away = !node->away;
  make_frame (making, node, held.time_ns, &held.frame);
  if (node->away) {
    *array_add (node->held, node->held_count, node->held_capacity) = held;
    return;
  }
  put (making, node, &node->live, &held);
  buffer_free (&held.frame);
  if (node->held_count && chance (making, 4) == 0)
    put_late (making, node);
}

/* The aggregator ends, and begins again: it knows no tables. Prints after how many frames. */
static void
restart (struct making *making)
{
  printf ("%llu\n", (unsigned long long) making->put);
  history_destroy (making->history);
  making->history = history_create (&making->options);
  for (size_t i = 0; i < making->count; i++) {
    chain_drop (making, &making->nodes[i].live);
    chain_drop (making, &making->nodes[i].late);
  }
}

int
made_nodes (const char *path, uint64_t seed, size_t nodes, size_t frames)
{
  struct making making = { .state = seed, .count = nodes };
  int64_t time_ns = (clock_wall () / DAY - 1) * DAY - 3600 * NS_PER_S; /* to be over midnight */

  making.options = (struct history_options){ .path = path,
                                             .max_age_ns = 30 * DAY,
                                             .max_size = UINT64_C (1) << 40,
                                             .chunk_frames = 16,
                                             .chunk_ns = 3600 * NS_PER_S,
                                             .queue_bytes = UINT64_C (1) << 30 };
  making.schema = schema_create (groups, GROUPS);
  making.history = history_create (&making.options);
  making.nodes = memory_new (nodes, sizeof making.nodes[0]);
  for (size_t i = 0; i < nodes; i++) {
    snprintf (making.nodes[i].name, sizeof making.nodes[i].name, "n%zu", i + 1);
    begin_session (&making, &making.nodes[i], time_ns);
  }
  for (size_t i = 1; i <= frames; i++) {
    time_ns += (int64_t) (1 + chance (&making, i % 100 == 0 ? 900 : 20)) * NS_PER_S;
    for (size_t k = 0; k < nodes; k++)
      if (i > k * 20) /* they come one after the other */
        step (&making, &making.nodes[k], time_ns);
    if (chance (&making, 40) == 0)
      history_flush (making.history);
    if (i % 150 == 0)
      restart (&making);
  }
  for (size_t k = 0; k < nodes; k++) {
    put_late (&making, &making.nodes[k]);
    chain_drop (&making, &making.nodes[k].live);
    chain_drop (&making, &making.nodes[k].late);
    free (making.nodes[k].held);
  }
  history_destroy (making.history);
  schema_destroy (making.schema);
  free (making.nodes);
  return 0;
}
