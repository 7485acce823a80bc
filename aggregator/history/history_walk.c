/* See history_walk.h. The chunks of one node at a time are sorted by session and sequence; one is unpacked at a time. */
#include "aggregator/history/history_walk.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_rebuild.h"
#include "synop/memory.h"

struct walking {
  struct history_file *file;
  const struct history_walk *walk;
  struct rebuild *rebuild;   /* of the current node */
  struct chunk_list list;    /* of the node, */
  struct walk_chunk *places; /* in order */
  size_t count;
  struct chunk chunk;
  size_t broken;
};

static int
compare_numbers (uint64_t one, uint64_t other)
{
  return one < other ? -1 : one > other;
}

static int
compare_sessions (const void *one, const void *other)
{
  const struct walk_chunk *a = one, *b = other;
  int order = compare_numbers (a->row->session, b->row->session);

  return order ? order : compare_numbers (a->row->first, b->row->first);
}

static int
compare_places (const void *one, const void *other)
{
  const struct walk_chunk *a = one, *b = other;

  return a->began != b->began ? (a->began < b->began ? -1 : 1) : compare_sessions (one, other);
}

static int
order_chunks (struct walking *walking, size_t node, struct error *error)
{
  const struct history_walk *walk = walking->walk;
  int64_t to_ns = walk->to_ns < INT64_MAX ? walk->to_ns + 1 : INT64_MAX;
  struct walk_chunk *places;

  walking->list.count = 0;
  if (history_file_node_chunks (walking->file, walk->nodes[node], walk->from_ns, to_ns, &walking->list, error) < 0)
    return -1;
  walking->count = walking->list.count;
  free (walking->places);
  walking->places = places = memory_new (walking->count, sizeof *places);
  for (size_t i = 0; i < walking->count; i++)
    places[i] = (struct walk_chunk){ .row = &walking->list.rows[i], .node = node };
  qsort (places, walking->count, sizeof *places, compare_sessions);
  for (size_t i = 0; i < walking->count; i++)
    places[i].began =
        i && places[i].row->session == places[i - 1].row->session ? places[i - 1].began : places[i].row->first_time;
  qsort (places, walking->count, sizeof *places, compare_places);
  return 0;
}

/* -1: the frame is broken. */
static int
walk_frame (struct walking *walking, const struct walk_chunk *place, size_t index, struct error *error)
{
  const struct history_walk *walk = walking->walk;
  struct frame_header header;
  struct frame_record record;
  struct cluster_frame frame;
  size_t length, frame_length;
  const void *bytes = chunk_message (&walking->chunk, 2 * index, &length);
  const void *message = chunk_message (&walking->chunk, 2 * index + 1, &frame_length);

  if (frame_read_header (message, frame_length, &header, error) < 0)
    return -1;
  if (frame_record_read (&record, bytes, length, header.monotonic_ns) < 0 ||
      header.sequence != place->row->first + index)
    return error_set (error, "a frame is broken");
  if (record.time_ns < walk->from_ns || record.time_ns > walk->to_ns)
    return 0;
  if (rebuild_frame (walking->rebuild, &header, &record, message, frame_length, &frame, error) < 0)
    return -1;
  if (walk->node)
    *walk->node = place->node;
  walk->into.view->frame (walk->into.state, &frame);
  return walk->into.ended && *walk->into.ended ? 1 : 0;
}

static int
read_chunk (struct walking *walking, const struct walk_chunk *place)
{
  const struct chunk_row *row = place->row;
  bool reported = false;
  struct error error;
  int result = history_file_read (walking->file, row->id, &walking->chunk, NULL, &error);

  if (result == 1) /* deleted meanwhile */
    return 0;
  if (result < 0 || walking->chunk.count != 2 * (row->last - row->first + 1)) {
    walking->broken++;
    history_file_log_broken (row, result < 0 ? error.text : "it does not hold what it should");
    return 0;
  }
  for (size_t i = 0; i < walking->chunk.count / 2; i++) {
    result = walk_frame (walking, place, i, &error);
    if (result > 0)
      return result;
    if (result < 0 && !reported) {
      walking->broken++;
      history_file_log_broken (row, error.text);
    }
    reported |= result < 0;
  }
  return 0;
}

static int
look (struct walking *walking, struct error *error)
{
  const struct history_walk *walk = walking->walk;

  for (size_t node = 0; node < walk->node_count; node++) {
    if (order_chunks (walking, node, error) < 0)
      return -1;
    walk->look (walk->into.state, node, walking->places, walking->count);
  }
  return 0;
}

static int
walk_node (struct walking *walking, size_t node, struct error *error)
{
  const struct history_walk *walk = walking->walk;
  int result = 0;

  if (order_chunks (walking, node, error) < 0)
    return -1;
  if (walk->choose)
    walk->choose (walk->into.state, node, walking->places, walking->count);
  walking->rebuild = rebuild_create (walking->file);
  for (size_t i = 0; i < walking->count && result == 0; i++) {
    if (!walking->places[i].skipped)
      result = read_chunk (walking, &walking->places[i]);
    if (walk->into.progress)
      replay_progress_show (walk->into.progress,
                            ((double) node + (double) (i + 1) / (double) walking->count) / (double) walk->node_count);
  }
  rebuild_destroy (walking->rebuild);
  return result;
}

int
history_walk (struct history_file *file, const struct history_walk *walk, size_t *broken, struct error *error)
{
  struct walking walking = { .file = file, .walk = walk };
  int result = walk->look ? look (&walking, error) : 0;

  for (size_t node = 0; node < walk->node_count && result == 0; node++)
    result = walk_node (&walking, node, error);
  chunk_free (&walking.chunk);
  free (walking.places);
  free (walking.list.rows);
  *broken = walking.broken;
  return result;
}
