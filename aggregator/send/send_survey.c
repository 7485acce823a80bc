/* See send_survey.h. */
#include "aggregator/send/send_survey.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/send/send_nodes.h"
#include "synop/globs.h"
#include "synop/hash_table.h"
#include "synop/memory.h"

#define CHUNKS 8 /* of each node: its last ones */
#define EACH 1   /* ns: so often is each frame due */

/* A series of the node at hand. */
struct seen {
  const struct send_series *series;
  UT_hash_handle hh;
};

static void
see (void *context, const struct send_sample *sample)
{
  struct seen **seen = context, *one;

  if (sample->stale)
    return;
  HASH_FIND_PTR (*seen, &sample->series, one);
  if (one)
    return;
  one = memory_new (1, sizeof *one);
  one->series = sample->series;
  HASH_ADD_PTR (*seen, series, one);
}

static uint64_t
forget (struct seen *seen)
{
  uint64_t count = HASH_COUNT (seen);
  struct seen *one = NULL, *next;

  HASH_ITER (hh, seen, one, next)
  {
    HASH_DELETE (hh, seen, one);
    free (one);
  }
  return count;
}

static void
read_chunks (struct send_nodes *nodes, struct send_node *node, struct send_window *window, struct history_file *file,
             const struct chunk_list *list, struct seen **seen)
{
  send_window_read (window, file, list, EACH);
  for (size_t i = 0; i < window->count; i++) {
    struct send_frame_parts parts;
    if (send_window_frame (window, &window->frames[i], &parts) == 0)
      send_nodes_take (nodes, node, &parts, see, seen, NULL);
  }
}

/* The first chunk of its last session has its facts. */
static int
survey_node (struct send_nodes *nodes, const char *name, struct send_window *window, struct history_file *file,
             struct send_survey *survey, struct error *error)
{
  struct send_node *node = send_nodes_find (nodes, name, 0);
  struct chunk_list last = { 0 }, first = { 0 };
  struct seen *seen = NULL;
  int result = history_file_chunks_of (file, name, 0, INT64_MAX, CHUNKS, &last, error);

  if (result == 0 && last.count)
    result = history_file_chunks_of (file, name, last.rows[last.count - 1].session, INT64_MAX, 1, &first, error);
  if (result == 0) {
    read_chunks (nodes, node, window, file, &first, &seen);
    forget (seen);
    seen = NULL;
    read_chunks (nodes, node, window, file, &last, &seen);
    survey->nodes += seen != NULL;
    survey->series += forget (seen);
  }
  free (last.rows);
  free (first.rows);
  send_nodes_rest (nodes);
  return result;
}

static int
compare_nodes (const void *one, const void *other)
{
  return strcmp (((const struct chunk_row *) one)->node, ((const struct chunk_row *) other)->node);
}

static int
survey_nodes (const struct send_options *options, struct send_nodes *nodes, struct history_file *file, int64_t from_ns,
              struct send_survey *survey, struct error *error)
{
  struct send_window window = { 0 };
  struct chunk_list list = { 0 };
  struct globs globs;
  int result = history_file_chunks (file, from_ns, INT64_MAX, &list, error);

  globs_init (&globs, options->nodes);
  if (list.count > 1)
    qsort (list.rows, list.count, sizeof list.rows[0], compare_nodes);
  for (size_t i = 0; result == 0 && i < list.count; i++) {
    const char *name = list.rows[i].node;
    if (*name && (i == 0 || strcmp (list.rows[i - 1].node, name) != 0) && globs_match (&globs, name))
      result = survey_node (nodes, name, &window, file, survey, error);
  }
  globs_free (&globs);
  send_window_free (&window);
  free (list.rows);
  return result;
}

int
send_survey (const char *name, const struct send_options *options, struct history_file *file, int64_t from_ns,
             struct send_survey *survey, struct error *error)
{
  const struct send_type *type = send_type_of (options);
  struct send_setting setting = { name, options, send_own (options), -1 };
  struct send_nodes *nodes;
  void *state;
  int result = -1;

  *survey = (struct send_survey){ 0 };
  if (type->lines)
    return 0;
  state = type->open (&setting);
  nodes = send_nodes_create (options, state, file, error);
  if (nodes) {
    send_nodes_take_each (nodes);
    result = survey_nodes (options, nodes, file, from_ns, survey, error);
  }
  send_nodes_destroy (nodes);
  type->close (state);
  return result;
}
