/* See node_line.h. */
#include "aggregator/stream/node_line.h"

#include "aggregator/access/access_rows.h"
#include "aggregator/core/node.h"
#include "synop/clock.h"
#include "synop/report.h"

static bool
only_groups (const void *groups, const char *group)
{
  return globs_match (groups, group);
}

/* drift: of the node's monotonic clock, positive when it is fast; null while it is unknown. */
static void
write_clock (struct json *json, const struct cluster_frame *frame)
{
  json_real (json_key (json, "wall_offset"), (double) frame->wall_offset_ns / NS_PER_S);
  json_key (json, "drift_ppm");
  if (frame->drift_ppb != INT64_MIN)
    json_real_places (json, (double) frame->drift_ppb / 1000, 3);
  else
    json_null (json);
  json_key (json, "bound");
  if (frame->bound_ns >= 0)
    json_real (json, (double) frame->bound_ns / NS_PER_S);
  else
    json_null (json);
  json_key (json, "probe_age");
  if (frame->probe_age_ms >= 0)
    json_real_places (json, (double) frame->probe_age_ms / 1000, 3);
  else
    json_null (json);
}

static void
write_line (const void *context, struct json *json, const struct globs *groups, const struct viewer *viewer)
{
  const struct cluster_frame *frame = context;
  const size_t count = frame->schema->group_count;
  struct access_cut seen;
  const struct report_group *tables = access_cut (viewer, frame, &seen);
  struct report_cut cut;
  char session[SESSION_TEXT_SIZE];

  session_text (frame->header->session, session);
  json_object (json);
  json_text (json_key (json, "type"), "node");
  json_time (json_key (json, "time"), frame->time_ns);
  json_text (json_key (json, "node"), frame->node->name);
  json_text (json_key (json, "session"), session);
  json_uint (json_key (json, "seq"), frame->header->sequence);
  json_object (json_key (json, "clock"));
  write_clock (json, frame);
  json_object_end (json);
  if (frame->late)
    json_bool (json_key (json, "late"), true);
  if (seen.others)
    json_bool (json_key (json, "others_left_out"), true);
  json_object (json_key (json, "report"));
  report_write (json, report_cut (tables, count, cluster_line_most (frame), &cut), count, groups ? only_groups : NULL,
                groups);
  report_cut_free (&cut);
  access_cut_free (&seen);
  json_object_end (json);
  json_object_end (json);
  json_newline (json);
}

static bool
has_groups (const void *context, const struct globs *groups)
{
  const struct cluster_frame *frame = context;

  for (size_t i = 0; i < frame->schema->group_count; i++)
    if (frame->groups[i].now && globs_match (groups, frame->schema->groups[i]->name))
      return true;
  return false;
}

static enum stream_share
share_line (const void *frame, const struct viewer *viewer)
{
  static const enum stream_share shares[] = {
    [ACCESS_WHOLE] = STREAM_WHOLE, [ACCESS_BARE] = STREAM_BARE, [ACCESS_OWN] = STREAM_OWN
  };

  return shares[access_share (viewer, frame)];
}

struct stream_line
node_line (const struct cluster_frame *frame)
{
  return (struct stream_line){ .type = "node",
                               .node = frame->node->name,
                               .write = write_line,
                               .has = has_groups,
                               .share = share_line,
                               .context = frame };
}
