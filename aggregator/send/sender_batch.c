/* Which frames of a window make the next batch; see sender_private.h. */
#include "aggregator/send/sender_private.h"
#include "synop/log.h"

static bool
is_done (const struct history_place *place, const struct send_frame *frame)
{
  return frame->time_ns < place->time_ns || (frame->time_ns == place->time_ns && frame->chunk <= place->part);
}

static void
leave_out (struct sender *sender, const struct send_frame_parts *parts, const struct error *error)
{
  log_warning ("send %s: a frame of %s is left out: %s", sender->name, parts->header.node, error->text);
  pthread_mutex_lock (&sender->mutex);
  sender->counts.broken++;
  pthread_mutex_unlock (&sender->mutex);
}

static void
take_frame (struct sender *sender, struct send_node *node, const struct send_frame_parts *parts, bool done)
{
  struct error error;

  if (send_nodes_take (sender->nodes, node, parts, done ? NULL : send_batch_add, &sender->batch, &error) < 0)
    leave_out (sender, parts, &error);
}

/* Frames of different nodes from `at` on, all late or all not. */
static size_t
make_samples (struct sender *sender, size_t at)
{
  for (; at < sender->window.count && !send_batch_is_full (&sender->batch); at++) {
    const struct send_frame *frame = &sender->window.frames[at];
    struct send_frame_parts parts;
    struct send_node *node;
    bool late, done = is_done (&sender->place, frame);
    if (send_window_frame (&sender->window, frame, &parts) < 0)
      continue;
    node = send_nodes_find (sender->nodes, parts.header.node, sender->place.chunk);
    late = frame->time_ns <= send_node_newest (node);
    if (!done && !send_batch_may (&sender->batch, node, late))
      break;
    take_frame (sender, node, &parts, done);
    if (!done)
      send_batch_end_part (&sender->batch, node, frame->time_ns, frame->chunk);
  }
  return at;
}

static size_t
make_lines (struct sender *sender, size_t at)
{
  for (; at < sender->window.count && !send_batch_is_full (&sender->batch); at++) {
    const struct send_frame *frame = &sender->window.frames[at];
    struct send_frame_parts parts;
    struct error error;
    if (is_done (&sender->place, frame) || send_window_frame (&sender->window, frame, &parts) < 0)
      continue;
    if (send_lines_take (sender->lines, &parts, &sender->batch, &error) < 0)
      leave_out (sender, &parts, &error);
    send_batch_end_part (&sender->batch, NULL, frame->time_ns, frame->chunk);
  }
  return at;
}

size_t
sender_make_batch (struct sender *sender, size_t at)
{
  send_batch_begin (&sender->batch);
  return sender->type->lines ? make_lines (sender, at) : make_samples (sender, at);
}
