/* Groups that fail: the `error` of each group in a node's frames becomes an event when it begins, changes or ends.
 *
 * One sample is not enough, since any machine is too busy once: an error counts when two samples of its group in a row
 * have one, and it is over when two have none. A changed error is reported when it has lasted for a while, so that one
 * with a number in it, or two that alternate, make no flood.
 *
 * An event is always about the newest sample: the rate limit delays it, and what began and ended meanwhile is never
 * reported. Facts are left out: they are sampled once, so nothing would show that their error is over.
 *
 * A group that has had nothing but an error since the node's first frames may be one that this kernel or machine
 * lacks. Ten thousand such nodes would make ten thousand events at each start of the aggregator, so neither its
 * error nor its end is reported; `status` shows it. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/cluster_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define SAMPLES_STEADY 2
#define CHANGE_STEADY (10 * NS_PER_S)
#define FIRST_SEEN (10 * NS_PER_S)       /* plus a period of the group: an error from the start is suppressed */
#define EVENT_EVERY (10 * NS_PER_S)      /* between two events about a node, on average */
#define EVENTS_AHEAD (3 * EVENT_EVERY)   /* a burst: four at once after a quiet time */
#define FORGOTTEN_AFTER (600 * NS_PER_S) /* of silence, and after so many periods of the group */
#define FORGOTTEN_PERIODS 10

const char *
group_failure_error (const struct group_failure *failure)
{
  bool began = !failure->reported[0] && failure->samples >= SAMPLES_STEADY;

  return began || failure->same >= SAMPLES_STEADY ? failure->now : failure->reported;
}

/* ---- errors in frames ---- */

static void
failure_insert (struct group_failure **at, const struct group *group, size_t index)
{
  struct group_failure *failure = memory_new (1, sizeof *failure);

  strncpy (failure->name, group->name, SCHEMA_NAME_MAX);
  failure->group = index;
  failure->next = *at;
  *at = failure;
}

static void
failure_sample (struct group_failure *failure, const struct table *table, int64_t now_ns)
{
  if (strcmp (failure->now, table->error) != 0) {
    strcpy (failure->now, table->error);
    failure->since_ns = now_ns;
    failure->same = 0;
  }
  failure->same += failure->same < SAMPLES_STEADY;
  failure->samples += failure->samples < SAMPLES_STEADY;
  failure->seen_ns = now_ns;
  failure->period_ns = table->period_ns;
}

/* Has the group had nothing but an error so far? Even a long period has its first sample in this time. */
static bool
is_lacking (const struct node *node, const struct report_group *pair, struct instant now)
{
  int64_t seen_ns = now.monotonic_ns - node->groups_first_ns;

  return seen_ns - FIRST_SEEN < pair->now->period_ns && !pair->before && !table_has_values (pair->now);
}

void
cluster_watch_groups (struct cluster *cluster, struct node *node, const struct schema *schema, struct instant now)
{
  struct group_failure **at = &node->failures;

  if (node->groups_first_ns == 0)
    node->groups_first_ns = now.monotonic_ns;
  for (size_t i = 0; i < schema->group_count; i++) {
    const struct table *table = cluster->groups[i].now;
    bool known;

    while (*at && (*at)->group < i)
      at = &(*at)->next;
    known = *at && (*at)->group == i;
    if (!table || schema->groups[i]->flags & GROUP_ONCE || (!known && !table->error[0]))
      continue;
    if (!known)
      failure_insert (at, schema->groups[i], i);
    if (!known && is_lacking (node, &cluster->groups[i], now)) {
      strcpy ((*at)->reported, table->error);
      (*at)->suppressed = true;
    }
    failure_sample (*at, table, now.monotonic_ns);
  }
  cluster_report_groups (cluster, node, now);
}

static bool
find_group (const struct schema *schema, const char *name, size_t *index)
{
  for (size_t i = 0; i < schema->group_count; i++)
    if (strcmp (schema->groups[i]->name, name) == 0) {
      *index = i;
      return !(schema->groups[i]->flags & GROUP_ONCE);
    }
  return false;
}

void
cluster_carry_groups (struct node *node, const struct schema *schema)
{
  struct group_failure *failure = node->failures, *next;

  node->failures = NULL;
  for (; failure; failure = next) {
    struct group_failure **at = &node->failures;

    next = failure->next;
    if (!find_group (schema, failure->name, &failure->group)) {
      free (failure);
      continue;
    }
    while (*at && (*at)->group < failure->group)
      at = &(*at)->next;
    failure->next = *at;
    *at = failure;
  }
}

/* ---- events ---- */

static bool
failure_due (const struct group_failure *failure, struct instant now)
{
  const char *error = group_failure_error (failure);

  if (strcmp (error, failure->reported) == 0 || (failure->suppressed && !error[0]))
    return false;
  return !error[0] || !failure->reported[0] || now.monotonic_ns - failure->since_ns >= CHANGE_STEADY;
}

/* The failure that waits longest, so that a group which changes all the time delays no other. */
static struct group_failure *
first_due (const struct node *node, struct instant now)
{
  struct group_failure *first = NULL;

  for (struct group_failure *failure = node->failures; failure; failure = failure->next)
    if (failure_due (failure, now) && (!first || failure->since_ns < first->since_ns))
      first = failure;
  return first;
}

/* Reports this failure, together with those of all groups that have the same error. */
static void
groups_event (struct cluster *cluster, struct node *node, const struct group_failure *first, struct instant now)
{
  struct event event = { .type = first->now[0] ? EVENT_GROUP_FAILED : EVENT_GROUP_RECOVERED,
                         .wall_ns = now.wall_ns,
                         .node = node->name };
  const char *groups[SCHEMA_GROUPS_MAX];
  char error[sizeof first->now];
  bool fails = first->now[0];

  strcpy (error, fails ? first->now : first->reported);
  for (struct group_failure *failure = node->failures; failure; failure = failure->next)
    if (failure_due (failure, now) && (failure->now[0] != '\0') == fails &&
        strcmp (fails ? failure->now : failure->reported, error) == 0) {
      groups[event.group_count++] = failure->name;
      strcpy (failure->reported, failure->now);
      failure->suppressed = false;
    }
  event.groups = groups;
  event.text = error;
  cluster_event (cluster, &event);
}

/* The frames have long been without the group: another session of the agent, as a rule. */
static bool
failure_forgotten (const struct group_failure *failure, const struct node *node, struct instant now)
{
  int64_t seen_ns = failure->seen_ns > node->up_ns ? failure->seen_ns : node->up_ns;
  int64_t silence_ns = now.monotonic_ns - seen_ns;

  return silence_ns > FORGOTTEN_AFTER && silence_ns / FORGOTTEN_PERIODS > failure->period_ns;
}

void
cluster_report_groups (struct cluster *cluster, struct node *node, struct instant now)
{
  struct group_failure **at = &node->failures, *first;

  if (!node->failures || node->state != NODE_UP)
    return;
  while (node->groups_reported_ns - now.monotonic_ns <= EVENTS_AHEAD && (first = first_due (node, now))) {
    groups_event (cluster, node, first, now);
    node->groups_reported_ns =
        (node->groups_reported_ns > now.monotonic_ns ? node->groups_reported_ns : now.monotonic_ns) + EVENT_EVERY;
  }
  while (*at) {
    struct group_failure *failure = *at;

    if (failure->suppressed && !group_failure_error (failure)[0])
      failure->reported[0] = '\0';
    if ((failure->reported[0] || failure->now[0]) && !failure_forgotten (failure, node, now)) {
      at = &failure->next;
      continue;
    }
    *at = failure->next;
    free (failure);
  }
}
