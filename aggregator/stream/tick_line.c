/* See tick_line.h. */
#include "aggregator/stream/tick_line.h"

#include "synop/clock.h"
#include "synop/users.h"

/* Which groups of a report are written: those that were asked for, and for who is no admin none that is of users, since of
 * a cluster with one user's jobs the sum is his. */
struct wanted {
  const struct globs *groups; /* NULL: all */
  bool all;
};

static bool
is_wanted (const void *context, const char *group)
{
  const struct wanted *wanted = context;

  return (!wanted->groups || globs_match (wanted->groups, group)) &&
         (wanted->all || !group_name_is_of_users (NULL, group));
}

static void
write_count (struct json *json, const char *key, size_t count)
{
  json_uint (json_key (json, key), count);
}

static void
write_line (const void *context, struct json *json, const struct globs *groups, const struct viewer *viewer)
{
  const struct wanted wanted = { groups, viewer->all };
  const struct cluster_tick_line *line = context;
  const struct tick_line *tick = line->tick;
  uint64_t left_out;

  json_object (json);
  json_text (json_key (json, "type"), "cluster");
  json_time (json_key (json, "time"), tick->time_ns);
  json_object (json_key (json, "nodes"));
  write_count (json, "expected", line->expected);
  write_count (json, "reporting", tick->reporting);
  write_count (json, "stale", line->stale);
  write_count (json, "down", line->down);
  json_object_end (json);
  json_real (json_key (json, "spread"), (double) tick->spread_ns / NS_PER_S);
  json_key (json, "bound");
  if (tick->bound_ns < 0)
    json_null (json);
  else
    json_real (json, (double) tick->bound_ns / NS_PER_S);
  json_object (json_key (json, "report"));
  combine_write (tick->combine, json, groups || !viewer->all ? is_wanted : NULL, &wanted, &left_out);
  json_object_end (json);
  write_count (json, "left_out", left_out);
  json_object_end (json);
  json_newline (json);
}

static bool
has_groups (const void *context, const struct globs *groups)
{
  const struct cluster_tick_line *line = context;

  return combine_has (line->tick->combine, is_wanted, &(struct wanted){ groups, true });
}

static bool
is_of_users (const void *context, const char *group)
{
  (void) context;
  return group_name_is_of_users (NULL, group);
}

static enum stream_share
share_line (const void *context, const struct viewer *viewer)
{
  const struct cluster_tick_line *line = context;

  return !viewer->all && combine_has (line->tick->combine, is_of_users, NULL) ? STREAM_BARE : STREAM_WHOLE;
}

struct stream_line
tick_line (const struct cluster_tick_line *line)
{
  return (struct stream_line){
    .type = "cluster", .write = write_line, .has = has_groups, .share = share_line, .context = line
  };
}
