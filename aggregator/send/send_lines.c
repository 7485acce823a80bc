/* See send_lines.h. */
#include "aggregator/send/send_lines.h"

#include <stdlib.h>

#include "aggregator/history/history_rebuild.h"
#include "aggregator/stream/node_line.h"
#include "synop/memory.h"

struct send_lines {
  struct history_file *file;
  struct globs groups;
  int64_t period_ns;
  struct rebuild *rebuild;
  struct json json;
};

struct send_lines *
send_lines_create (const struct send_options *options, struct history_file *file)
{
  struct send_lines *lines = memory_new (1, sizeof *lines);

  lines->file = file;
  lines->period_ns = send_period (options);
  globs_init (&lines->groups, options->groups);
  lines->rebuild = rebuild_create (file);
  return lines;
}

void
send_lines_destroy (struct send_lines *lines)
{
  if (!lines)
    return;
  rebuild_destroy (lines->rebuild);
  globs_free (&lines->groups);
  json_free (&lines->json);
  free (lines);
}

void
send_lines_rest (struct send_lines *lines)
{
  rebuild_destroy (lines->rebuild);
  lines->rebuild = rebuild_create (lines->file);
}

/* What of the frame is shown: `shown` has room for all groups. False: nothing. */
static bool
choose_groups (const struct send_lines *lines, const struct cluster_frame *frame, struct report_group *shown)
{
  bool any = false;

  for (size_t i = 0; i < frame->schema->group_count; i++) {
    const struct group *group = frame->schema->groups[i];
    const struct table *now = frame->groups[i].now;
    bool due = now && (group->flags & GROUP_ONCE || send_is_due (frame->time_ns, now->period_ns, lines->period_ns));
    shown[i] = due && globs_match (&lines->groups, group->name) ? frame->groups[i] : (struct report_group){ 0 };
    any |= shown[i].now != NULL;
  }
  return any;
}

int
send_lines_take (struct send_lines *lines, const struct send_frame_parts *parts, struct send_batch *batch,
                 struct error *error)
{
  struct report_group shown[SCHEMA_GROUPS_MAX];
  struct cluster_frame frame;
  struct stream_line line;

  if (rebuild_frame (lines->rebuild, &parts->header, &parts->record, parts->bytes, parts->length, &frame, error) < 0)
    return -1;
  if (!choose_groups (lines, &frame, shown))
    return 0;
  frame.groups = shown;
  line = node_line (&frame);
  json_clear (&lines->json);
  line.write (line.context, &lines->json, NULL, &viewer_all);
  send_batch_add_line (batch, line.node, &lines->json.out);
  return 0;
}
