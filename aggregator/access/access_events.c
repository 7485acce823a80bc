/* Which events, and which lines about jobs, a viewer sees; see access_rows.h. Of what is read from a history only the line is
 * there. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/access/access_line.h"
#include "aggregator/access/access_rows.h"
#include "aggregator/views/job_line.h"
#include "synop/memory.h"
#include "synop/users.h"

/* ---- events ---- */

static void
look_at_group (void *open, const char *group)
{
  *(bool *) open &= !group_name_is_of_users (NULL, group);
}

/* Of groups of which none is of users; of a stored one the line says which they are. */
static bool
groups_are_open (const struct event *event)
{
  bool open = true;

  if (event->line)
    return access_line_each (event->line, event->line_length, "groups", &open, look_at_group) && open;
  for (size_t i = 0; i < event->group_count; i++)
    look_at_group (&open, event->groups[i]);
  return open;
}

static bool
is_of_no_user (const struct event *event)
{
  char *user = event->line ? access_line_text (event->line, event->line_length, "user") : memory_string (event->user);
  bool open = !user;

  free (user);
  return open;
}

bool
access_sees_event (const struct viewer *viewer, const struct event *event)
{
  if (viewer->all)
    return true;
  switch (event->type) {
  case EVENT_AGGREGATOR_STARTED:
  case EVENT_NODE_UP:
  case EVENT_NODE_STALE:
  case EVENT_NODE_DOWN:
  case EVENT_NODE_REVOKED:
  case EVENT_GAP:
  case EVENT_REPLAYED:
  case EVENT_DUPLICATE_NODE:
  case EVENT_SCHEMA_NEW:
  case EVENT_CONNECTIONS_ENDED:
  case EVENT_KEYS_RELOADED:
  case EVENT_DROPPED:
  case EVENT_CLOCK_OFFSET:
  case EVENT_CLOCK_STEP:
  case EVENT_HISTORY_FAILED:
  case EVENT_HISTORY_RESUMED:
  case EVENT_FAULT:
  case EVENT_FAULT_OVER:
    return true;
  case EVENT_GROUP_FAILED:
  case EVENT_GROUP_RECOVERED:
    return groups_are_open (event);
  case EVENT_OVER_SHARE:
    return is_of_no_user (event);
  default: /* they name jobs, users, what strangers sent; or are of another version */
    return false;
  }
}

/* ---- jobs ---- */

/* A line that names its user is his; another is whose its job was at that time. */
static bool
sees_stored (const struct viewer *viewer, const struct job_line *line)
{
  char *user = access_line_text (line->line, line->line_length, job_text_names[JOB_USER]);
  char *id = user ? NULL : access_line_text (line->line, line->line_length, "job_id");
  bool sees = user
                  ? viewer_sees (viewer, user, strlen (user))
                  : id && viewer->past &&
                        viewer->past (viewer, line->node_count ? line->nodes[0] : NULL, id, strlen (id), line->time_ns);

  free (user);
  free (id);
  return sees;
}

bool
access_sees_job (const struct viewer *viewer, const struct job_line *line)
{
  const char *user = line->texts[JOB_USER] ? line->texts[JOB_USER] : "";

  if (viewer->all)
    return true;
  return line->line ? sees_stored (viewer, line) : viewer_sees (viewer, user, strlen (user));
}
