/* See status.h. Tables name the counters, so that a new one is a row here. */
#include "aggregator/server/status.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/access/access_rows.h"
#include "aggregator/core/node.h"
#include "aggregator/core/schema_store.h"
#include "synop/clock.h"
#include "synop/report.h"
#include "synop/users.h"
#include "synop/version.h"

#define FACTS_MAX 65536 /* the largest facts of a node, as bytes of JSON */

#define COUNTER(part, member)                                                                                          \
  {                                                                                                                    \
#member, offsetof(struct status, part.member), true                                                                \
  }
#define LEVEL(part, member)                                                                                            \
  {                                                                                                                    \
#member, offsetof(struct status, part.member), false                                                               \
  }
#define CLUSTER(member)                                                                                                \
  {                                                                                                                    \
#member, offsetof(struct cluster_counts, member), true                                                             \
  }
#define CLUSTER_LEVEL(member)                                                                                          \
  {                                                                                                                    \
#member, offsetof(struct cluster_counts, member), false                                                            \
  }

struct counter {
  const char *name;
  size_t offset;
  bool total; /* it only grows */
};

static const struct counter cluster_counters[] = {
  CLUSTER (frames),
  CLUSTER (bytes),
  CLUSTER (lost),
  CLUSTER_LEVEL (missing),
  CLUSTER (replayed),
  CLUSTER (replay_requested),
  CLUSTER (replay_timeouts),
  CLUSTER (replay_refused),
  CLUSTER (duplicates),
  CLUSTER (duplicate_session),
  CLUSTER (frames_malformed),
  CLUSTER (frames_large),
  CLUSTER (wrong_node),
  CLUSTER (wrong_schema),
  CLUSTER (schema_refused),
  CLUSTER (schemas_over_share),
  CLUSTER (frames_held_dropped),
  CLUSTER (control),
  CLUSTER (control_malformed),
  CLUSTER (control_unknown),
  CLUSTER (unlisted),
  CLUSTER (lines_cut),
  CLUSTER (connections_refused),
};

static const struct counter counters[] = {
  COUNTER (link, accepted),          LEVEL (link, connections),   COUNTER (link, handshake_failed),
  COUNTER (link, key_refused),       COUNTER (link, key_revoked), COUNTER (link, dropped_full),
  COUNTER (link, dropped_user),      COUNTER (link, malformed),   COUNTER (link, zap_malformed),
  COUNTER (link, connections_ended), LEVEL (readers, clients),    COUNTER (readers, clients_refused),
  COUNTER (readers, lines_dropped),
};

#define COUNT_OF(array) (sizeof (array) / sizeof ((array)[0]))

static void
take_counters (const void *counts, const struct counter *table, size_t count, void *to, view_counter_fn *take)
{
  for (size_t i = 0; i < count; i++)
    take (to, table[i].name, table[i].total, *(const uint64_t *) ((const char *) counts + table[i].offset));
}

void
status_each_counter (const struct status *status, void *to, view_counter_fn *take)
{
  take_counters (cluster_counts (status->cluster), cluster_counters, COUNT_OF (cluster_counters), to, take);
  take_counters (status, counters, COUNT_OF (counters), to, take);
  if (status->views)
    views_count (status->views, to, take);
}

/* ---- JSON ---- */

static void
write_seconds (struct json *json, const char *key, int64_t ns)
{
  json_key (json, key);
  json_real (json, (double) ns / NS_PER_S);
}

static void
write_number (struct json *json, const char *key, uint64_t number)
{
  json_key (json, key);
  json_uint (json, number);
}

static void
write_text (struct json *json, const char *key, const char *text)
{
  json_key (json, key);
  json_text (json, text);
}

/* As in node lines, with the bound of now, on the aggregator's clock. */
static void
write_clock (struct json *json, const struct node *node, struct instant now)
{
  const struct clock_model *model = &node->clock.model;

  json_key (json, "clock");
  json_object (json);
  write_seconds (json, "wall_offset", node->clock.wall_offset_ns);
  json_key (json, "drift_ppm");
  if (model->frequency_known)
    json_real_places (json, -model->frequency * 1e6, 3);
  else
    json_null (json);
  if (clock_model_usable (model)) {
    write_seconds (json, "bound", clock_model_bound_ns (model, clock_model_node_ns (model, now.monotonic_ns)));
    write_seconds (json, "probe_age", now.monotonic_ns - node->clock.probed_ns);
  } else {
    write_text (json, "bound", NULL);
    write_text (json, "probe_age", NULL);
  }
  json_object_end (json);
}

/* The members that are null until the node has sent something. */
static void
write_seen (struct json *json, const struct node *node, struct instant now)
{
  const struct session *session = &node->sessions[0];
  char text[SESSION_TEXT_SIZE];

  if (node->state == NODE_NEVER) {
    static const char *const keys[] = { "session", "seq", "last_seen", "clock" };
    for (size_t i = 0; i < COUNT_OF (keys); i++)
      write_text (json, keys[i], NULL);
    return;
  }
  session_text (session->id, text);
  write_text (json, "session", text);
  write_number (json, "seq", session->sequence);
  write_seconds (json, "last_seen", now.monotonic_ns - node->seen_ns);
  write_clock (json, node, now);
}

/* The facts: groups that are sent once a session, by their names. Null if there are none yet, or if they are so
 * large that those of a few nodes would make the answer huge. */
static void
write_facts (struct json *json, const struct node *node)
{
  struct report_group groups[SCHEMA_GROUPS_MAX] = { 0 };
  const struct schema *schema;

  json_key (json, "facts");
  if (!node->schema) {
    json_null (json);
    return;
  }
  schema = node->schema->schema;
  for (size_t i = 0; i < schema->group_count; i++)
    if (schema->groups[i]->flags & GROUP_ONCE && node->groups[i])
      groups[i].now = node->groups[i]->now;

  const struct json before = *json;
  struct report_cut cut;
  json_object (json);
  report_write (json, report_cut (groups, schema->group_count, FACTS_MAX, &cut), schema->group_count, NULL, NULL);
  json_object_end (json);
  report_cut_free (&cut);
  if (json->out.length - before.out.length > FACTS_MAX) {
    json->out.length = before.out.length;
    json->comma = before.comma;
    json_null (json);
  }
}

static void
write_failing (struct json *json, const struct node *node, const struct viewer *viewer)
{
  json_key (json, "failing");
  json_array (json);
  for (const struct group_failure *failure = node->failures; failure; failure = failure->next)
    if (group_failure_error (failure)[0]) {
      json_object (json);
      write_text (json, "group", failure->name);
      write_text (json, "error",
                  viewer->all || !group_name_is_of_users (NULL, failure->name) ? group_failure_error (failure)
                                                                               : ACCESS_ERROR);
      json_object_end (json);
    }
  json_array_end (json);
}

void
status_write_node (struct json *json, const struct node *node, const struct viewer *viewer, struct instant now)
{
  const struct session *session = &node->sessions[0];
  char key[KEY_TEXT_SIZE];

  json_object (json);
  write_text (json, "node", node->name);
  write_text (json, "state", node_state_name (node->state));
  write_seen (json, node, now);
  write_number (json, "received", node->received);
  write_number (json, "lost", node->lost);
  write_number (json, "missing", node->replay.missing.frames);
  write_number (json, "rejected", node->rejected);
  if (session->hello) {
    write_seconds (json, "period", session->period_ns);
    write_text (json, "version", session->version);
  } else {
    write_text (json, "period", NULL);
    write_text (json, "version", NULL);
  }
  key_text (node->key, key);
  write_text (json, "public_key", key);
  write_failing (json, node, viewer);
  write_facts (json, node);
  json_object_end (json);
}

static void
json_counter (void *json, const char *name, bool total, uint64_t value)
{
  (void) total;
  write_number (json, name, value);
}

void
status_write_json (const struct status *status, struct json *json)
{
  json_object (json);
  write_text (json, "type", "status");
  json_key (json, "time");
  json_time (json, status->now.wall_ns);
  write_text (json, "version", SYNOP_VERSION);
  write_seconds (json, "uptime", status->uptime_ns);
  write_text (json, "listen", status->listen);
  json_key (json, "nodes");
  json_array (json);
  for (size_t i = 0; i < cluster_node_count (status->cluster); i++)
    status_write_node (json, cluster_node (status->cluster, i), status->viewer, status->now);
  json_array_end (json);
  if (status->views)
    views_status (status->views, json, NULL);
  json_key (json, "counters");
  json_object (json);
  status_each_counter (status, json, json_counter);
  json_object_end (json);
  json_object_end (json);
  json_newline (json);
}

/* ---- the table ---- */

/* "0.4 s", "3 m 10 s", "2 h 5 m", "4 d 1 h" */
static void
age_text (int64_t ns, char text[32])
{
  int64_t seconds = ns / NS_PER_S;

  if (seconds < 60)
    snprintf (text, 32, "%.1f s", (double) ns / NS_PER_S);
  else if (seconds < 3600)
    snprintf (text, 32, "%" PRId64 " m %" PRId64 " s", seconds / 60, seconds % 60);
  else if (seconds < 86400)
    snprintf (text, 32, "%" PRId64 " h %" PRId64 " m", seconds / 3600, seconds / 60 % 60);
  else
    snprintf (text, 32, "%" PRId64 " d %" PRId64 " h", seconds / 86400, seconds / 3600 % 24);
}

/* "gpu", "gpu +2": the first group that fails, and how many more do. */
static void
table_failing (const struct node *node, struct buffer *out)
{
  const char *first = NULL;
  size_t more = 0;

  for (const struct group_failure *failure = node->failures; failure; failure = failure->next)
    if (group_failure_error (failure)[0]) {
      more += first != NULL;
      first = first ? first : failure->name;
    }
  if (first)
    buffer_printf (out, "  %s", first);
  if (more)
    buffer_printf (out, " +%zu", more);
}

static void
table_row (const struct node *node, struct instant now, int width, struct buffer *out)
{
  char age[32] = "-", sequence[24] = "-", clock[32] = "-";

  if (node->state != NODE_NEVER) {
    age_text (now.monotonic_ns - node->seen_ns, age);
    snprintf (sequence, sizeof sequence, "%" PRIu64, node->sessions[0].sequence);
    snprintf (clock, sizeof clock, "%+.3f ms", (double) node->clock.wall_offset_ns / NS_PER_MS);
  }
  buffer_printf (out, "%-*s  %-5s  %9s  %10s  %8" PRIu64 "  %14s", width, node->name, node_state_name (node->state),
                 age, sequence, node->lost, clock);
  table_failing (node, out);
  buffer_add (out, "\n", 1);
}

static void
table_counter (void *out, const char *name, bool total, uint64_t value)
{
  (void) total;
  if (value)
    buffer_printf (out, "%-20s %" PRIu64 "\n", name, value);
}

void
status_write_table (const struct status *status, struct buffer *out)
{
  size_t nodes = cluster_node_count (status->cluster), states[NODE_STATES] = { 0 };
  int width = 4;
  char age[32];

  for (size_t i = 0; i < nodes; i++) {
    int length = (int) strlen (cluster_node (status->cluster, i)->name);
    width = length > width ? length : width;
  }
  buffer_printf (out, "%-*s  %-5s  %9s  %10s  %8s  %14s  %s\n", width, "NODE", "STATE", "LAST SEEN", "SEQUENCE", "LOST",
                 "CLOCK", "FAILING");
  for (size_t i = 0; i < nodes; i++) {
    const struct node *node = cluster_node (status->cluster, i);
    states[node->state]++;
    table_row (node, status->now, width, out);
  }
  age_text (status->uptime_ns, age);
  buffer_printf (out, "\n%zu nodes: %zu up, %zu stale, %zu down, %zu never seen\nlistening on %s for %s\n\n", nodes,
                 states[NODE_UP], states[NODE_STALE], states[NODE_DOWN], states[NODE_NEVER], status->listen, age);
  if (status->views)
    views_status (status->views, NULL, out);
  status_each_counter (status, out, table_counter);
}
