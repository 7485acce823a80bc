/* See stream_view.h. */
#include "aggregator/stream/stream_view.h"

#include "aggregator/access/access_rows.h"
#include "aggregator/stream/node_line.h"
#include "aggregator/stream/tick_line.h"

static int
open_stream (const struct view_context *context, void **state, struct error *error)
{
  (void) context;
  (void) error;
  *state = stream_create ();
  return 0;
}

static int
close_stream (void *stream)
{
  stream_destroy (stream);
  return 0;
}

static void
stream_frame (void *stream, const struct cluster_frame *frame)
{
  struct stream_line line = node_line (frame);

  stream_put (stream, &line);
}

static void
stream_tick (void *stream, const struct cluster_tick_line *tick)
{
  struct stream_line line = tick_line (tick);

  stream_put (stream, &line);
}

static void
write_event (const void *event, struct json *json, const struct globs *groups, const struct viewer *viewer)
{
  (void) groups;
  (void) viewer;
  event_write (json, event);
}

static enum stream_share
share_event (const void *event, const struct viewer *viewer)
{
  return access_sees_event (viewer, event) ? STREAM_WHOLE : STREAM_HIDDEN;
}

static void
stream_event (void *stream, const struct event *event)
{
  stream_put (stream,
              &(struct stream_line){
                  .type = "event", .node = event->node, .write = write_event, .share = share_event, .context = event });
}

static void
write_job (const void *line, struct json *json, const struct globs *groups, const struct viewer *viewer)
{
  (void) groups;
  (void) viewer;
  job_line_write (json, line);
}

static enum stream_share
share_job (const void *line, const struct viewer *viewer)
{
  return access_sees_job (viewer, line) ? STREAM_WHOLE : STREAM_HIDDEN;
}

static void
stream_job (void *stream, const struct job_line *line)
{
  stream_put (stream, &(struct stream_line){ .type = JOB_LINE_TYPE,
                                             .node = line->event == JOB_NODE ? line->nodes[0] : NULL,
                                             .write = write_job,
                                             .share = share_job,
                                             .context = line });
}

static void
stream_view_flush (void *stream)
{
  stream_flush (stream);
}

const struct view stream_view = {
  .name = "stream",
  .open = open_stream,
  .frame = stream_frame,
  .tick = stream_tick,
  .event = stream_event,
  .job = stream_job,
  .flush = stream_view_flush,
  .close = close_stream,
};
