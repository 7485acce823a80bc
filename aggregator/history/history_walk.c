/* See history_walk.h. The chunks of the interval are sorted by node, session and sequence; one is unpacked at a
 * time. */
#include "aggregator/history/history_walk.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/history/history_rebuild.h"
#include "synop/memory.h"

struct walking {
  struct history_file *file;
  const struct history_walk *walk;
  struct rebuild *rebuild; /* of the current node */
  struct chunk chunk;
  size_t broken;
};

static int
compare_name (const void *name, const void *node)
{
  return strcmp (name, *(const char *const *) node);
}

static int
compare_numbers (uint64_t one, uint64_t other)
{
  return one < other ? -1 : one > other;
}

static int
compare_sessions (const void *one, const void *other)
{
  const struct walk_chunk *a = one, *b = other;
  int order = compare_numbers (a->node, b->node);

  if (order == 0)
    order = compare_numbers (a->row->session, b->row->session);
  return order ? order : compare_numbers (a->row->first, b->row->first);
}

static int
compare_places (const void *one, const void *other)
{
  const struct walk_chunk *a = one, *b = other;
  int order = compare_numbers (a->node, b->node);

  if (order == 0)
    order = a->began < b->began ? -1 : a->began > b->began;
  return order ? order : compare_sessions (one, other);
}

/* The chunks of the walk's nodes, in order; the caller frees the list. */
static struct walk_chunk *
order_chunks (const struct history_walk *walk, const struct chunk_list *list, size_t *count)
{
  struct walk_chunk *places = memory_new (list->count, sizeof *places);

  *count = 0;
  for (size_t i = 0; i < list->count; i++) {
    const char *const *node = walk->node_count ? bsearch (list->rows[i].node, walk->nodes, walk->node_count,
                                                          sizeof walk->nodes[0], compare_name)
                                               : NULL;
    if (node)
      places[(*count)++] = (struct walk_chunk){ &list->rows[i], (size_t) (node - walk->nodes), 0, false };
  }
  qsort (places, *count, sizeof places[0], compare_sessions);
  for (size_t i = 0; i < *count; i++) {
    bool same = i && places[i].node == places[i - 1].node && places[i].row->session == places[i - 1].row->session;
    places[i].began = same ? places[i - 1].began : places[i].row->first_time;
  }
  qsort (places, *count, sizeof places[0], compare_places);
  return places;
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

int
history_walk (struct history_file *file, const struct history_walk *walk, size_t *broken, struct error *error)
{
  struct walking walking = { .file = file, .walk = walk };
  struct chunk_list list = { 0 };
  struct walk_chunk *places;
  size_t count;
  int result = 0;

  *broken = 0;
  if (history_file_chunks (file, walk->from_ns, walk->to_ns < INT64_MAX ? walk->to_ns + 1 : INT64_MAX, &list, error) <
      0) {
    free (list.rows);
    return -1;
  }
  places = order_chunks (walk, &list, &count);
  if (walk->choose)
    walk->choose (walk->into.state, places, count);
  for (size_t i = 0; i < count && result == 0; i++) {
    if (i == 0 || places[i].node != places[i - 1].node) {
      rebuild_destroy (walking.rebuild);
      walking.rebuild = rebuild_create (file);
    }
    if (!places[i].skipped)
      result = read_chunk (&walking, &places[i]);
    if (walk->into.progress)
      replay_progress_show (walk->into.progress, (double) (i + 1) / (double) count);
  }
  rebuild_destroy (walking.rebuild);
  chunk_free (&walking.chunk);
  free (places);
  free (list.rows);
  *broken = walking.broken;
  return result;
}
