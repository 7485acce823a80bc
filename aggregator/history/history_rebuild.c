/* See history_rebuild.h. */
#include "aggregator/history/history_rebuild.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/core/node.h"
#include "synop/memory.h"

#define PLACES 1024 /* size of the hash table of sessions; a power of two */
#define FETCHED 2   /* chunks of a session that stay unpacked: live and late frames alternate */

struct rebuilt_group {
  struct table now, before;
  bool made, fresh;
};

struct fetched {
  struct chunk_row row; /* id 0: none */
  struct chunk chunk;
};

struct rebuilt_session {
  struct rebuilt_session *next;
  struct node *node;
  uint64_t session;
  const struct schema *schema;
  struct rebuilt_group *groups;
  struct fetched fetched[FETCHED];
  unsigned fetched_next;
};

struct rebuild {
  struct history_file *file;
  bool no_before;
  struct rebuilt_session *places[PLACES];
  struct report_group groups[SCHEMA_GROUPS_MAX];
};

struct rebuild *
rebuild_create (struct history_file *file)
{
  struct rebuild *rebuild = memory_new (1, sizeof *rebuild);

  rebuild->file = file;
  return rebuild;
}

void
rebuild_leave_before (struct rebuild *rebuild)
{
  rebuild->no_before = true;
}

static void
free_groups (struct rebuilt_session *session)
{
  for (size_t i = 0; session->schema && i < session->schema->group_count; i++)
    if (session->groups[i].made) {
      table_free (&session->groups[i].now);
      table_free (&session->groups[i].before);
    }
  free (session->groups);
  session->groups = NULL;
}

void
rebuild_destroy (struct rebuild *rebuild)
{
  if (!rebuild)
    return;
  for (size_t i = 0; i < PLACES; i++)
    while (rebuild->places[i]) {
      struct rebuilt_session *session = rebuild->places[i];
      rebuild->places[i] = session->next;
      free_groups (session);
      for (size_t k = 0; k < FETCHED; k++)
        chunk_free (&session->fetched[k].chunk);
      node_destroy (session->node);
      free (session);
    }
  free (rebuild);
}

static struct rebuilt_session *
find_session (struct rebuild *rebuild, const struct frame_header *header)
{
  static const uint8_t no_key[KEY_SIZE];
  struct rebuilt_session **place = &rebuild->places[(header->session ^ header->session >> 32) & (PLACES - 1)];
  struct rebuilt_session *session = *place;

  while (session && (session->session != header->session || strcmp (session->node->name, header->node) != 0))
    session = session->next;
  if (!session) {
    session = memory_new (1, sizeof *session);
    session->session = header->session;
    session->node = node_create (header->node, no_key, 0);
    session->next = *place;
    *place = session;
  }
  return session;
}

static struct rebuilt_group *
group_of (struct rebuilt_session *session, size_t index)
{
  struct rebuilt_group *group = &session->groups[index];

  if (!group->made) {
    table_init (&group->now, session->schema->groups[index]);
    table_init (&group->before, session->schema->groups[index]);
    group->made = true;
  }
  return group;
}

/* As in the core: a table with an error instead of values is no base for changes. */
static struct table *
rebuild_take_table (void *context, size_t index)
{
  struct rebuilt_group *group = group_of (context, index);

  if (table_is_comparable (&group->now))
    table_swap (&group->now, &group->before);
  table_begin (&group->now);
  group->fresh = true;
  return &group->now;
}

/* Its labels have been checked; most tables have the same. */
static const struct table *
last_table (void *context, size_t index)
{
  return &group_of (context, index)->now;
}

/* ---- the base table, from the file ---- */

struct wanted {
  size_t group;
  struct table *table;
  bool found;
};

static struct table *
take_wanted (void *context, size_t index)
{
  struct wanted *wanted = context;

  if (index != wanted->group)
    return NULL;
  wanted->found = true;
  table_begin (wanted->table);
  return wanted->table;
}

static const struct fetched *
fetch_chunk (struct rebuild *rebuild, struct rebuilt_session *session, uint64_t sequence, struct error *error)
{
  struct fetched *to = &session->fetched[session->fetched_next];

  for (size_t i = 0; i < FETCHED; i++) {
    const struct fetched *one = &session->fetched[i];
    if (one->row.id && sequence >= one->row.first && sequence <= one->row.last)
      return one;
  }
  session->fetched_next = (session->fetched_next + 1) % FETCHED;
  to->row.id = 0;
  if (history_file_find (rebuild->file, session->node->name, session->session, sequence, &to->row, error) != 1 ||
      history_file_read (rebuild->file, to->row.id, &to->chunk, NULL, error) != 0 ||
      to->chunk.count != 2 * (to->row.last - to->row.first + 1)) {
    to->row.id = 0;
    return NULL;
  }
  return to;
}

static bool
fetch_before (struct rebuild *rebuild, struct rebuilt_session *session, size_t index, uint64_t sequence)
{
  struct wanted wanted = { .group = index, .table = &session->groups[index].before };
  struct frame_sink sink = { .context = &wanted, .take = take_wanted };
  struct frame_header header;
  struct error error;
  const struct fetched *fetched = fetch_chunk (rebuild, session, sequence, &error);
  const void *bytes;
  size_t length;

  if (!fetched)
    return false;
  bytes = chunk_message (&fetched->chunk, 2 * (size_t) (sequence - fetched->row.first) + 1, &length);
  return frame_read_header (bytes, length, &header, &error) == 0 && header.sequence == sequence &&
         memcmp (header.schema, session->schema->hash, SCHEMA_HASH_SIZE) == 0 &&
         frame_read_tables (bytes, length, &header, session->schema, &sink, &error) == 0 && wanted.found;
}

/* ---- */

static const struct table *
table_before (struct rebuild *rebuild, struct rebuilt_session *session, size_t index, uint64_t sequence,
              uint64_t distance)
{
  struct rebuilt_group *group = &session->groups[index];

  if (rebuild->no_before || distance == 0 || distance >= sequence)
    return NULL;
  if (group->before.sequence == sequence - distance || fetch_before (rebuild, session, index, sequence - distance))
    return &group->before;
  group->before.sequence = 0;
  return NULL;
}

int
rebuild_frame (struct rebuild *rebuild, const struct frame_header *header, const struct frame_record *record,
               const void *bytes, size_t length, struct cluster_frame *frame, struct error *error)
{
  const struct schema *schema = history_file_schema (rebuild->file, header->schema, error);
  struct rebuilt_session *session = find_session (rebuild, header);
  struct frame_sink sink = { .context = session, .take = rebuild_take_table, .last = last_table };
  size_t count = 0;

  if (!schema)
    return -1;
  if (session->schema != schema) {
    free_groups (session);
    session->schema = schema;
    session->groups = memory_new (schema->group_count, sizeof session->groups[0]);
  }
  if (frame_read_tables (bytes, length, header, schema, &sink, error) < 0)
    return -1;
  for (size_t i = 0; i < schema->group_count; i++) {
    struct rebuilt_group *group = &session->groups[i];
    uint64_t distance = group->fresh && count < record->count ? record->distances[count] : 0;
    count += group->fresh;
    rebuild->groups[i] = (struct report_group){ 0 };
    if (group->fresh) {
      rebuild->groups[i].now = &group->now;
      rebuild->groups[i].before = table_before (rebuild, session, i, header->sequence, distance);
    }
    group->fresh = false;
  }
  *frame =
      (struct cluster_frame){ .node = session->node,
                              .header = header,
                              .bytes = bytes,
                              .length = length,
                              .time_ns = record->time_ns,
                              .bound_ns = record->bound_ns,
                              .wall_offset_ns = (int64_t) ((uint64_t) header->wall_ns - (uint64_t) record->time_ns),
                              .drift_ppb = record->drift_ppb,
                              .probe_age_ms = record->probe_age_ms,
                              .late = record->late,
                              .tick_period_ns = record->tick_period_ns,
                              .schema = schema,
                              .groups = rebuild->groups };
  return 0;
}
