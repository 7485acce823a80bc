/* Groups that fail: the `error` of each group in a node's frames, told when it comes, changes or goes away.
 *
 * One sample tells nothing: a machine that was too busy once is no news. An error counts when two samples of its group in a
 * row have one, and it is over when two have none. Another error instead of the one that was told is told when it has
 * stood for a while, so that one with a number in it, or two that take turns, are not told for ever.
 *
 * What is to be told is told from the newest sample or not at all: a brake delays it, and what came and went meanwhile is
 * never told. Facts are left out: they are sampled once, so nothing would tell that their error is over.
 *
 * A group that has nothing but an error when a node is first heard may be one that this kernel or machine does not have.
 * Ten thousand such nodes would be ten thousand events at each start of the aggregator, so it counts as told, and its end
 * is not told either; the status has it. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/cluster_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define SAMPLES_STEADY 2
#define CHANGE_STEADY (10 * NS_PER_S)
#define FIRST_SEEN (10 * NS_PER_S)       /* and a period of the group */
#define EVENT_EVERY (10 * NS_PER_S)      /* one event of a node */
#define EVENTS_AHEAD (3 * EVENT_EVERY)   /* so that a node which was quiet may tell four at once */
#define FORGOTTEN_AFTER (600 * NS_PER_S) /* and after so many periods of the group: */
#define FORGOTTEN_PERIODS 10

const char *
group_failure_error (const struct group_failure *failure)
{
  bool began = !failure->reported[0] && failure->samples >= SAMPLES_STEADY;

  return began || failure->same >= SAMPLES_STEADY ? failure->now : failure->reported;
}

/* ---- what the frames say ---- */

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

/* Nothing but an error, and never without one? Each group has a sample by then, be its period long. */
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

/* ---- what is told ---- */

static bool
failure_due (const struct group_failure *failure, struct instant now)
{
  const char *error = group_failure_error (failure);

  if (strcmp (error, failure->reported) == 0 || (failure->suppressed && !error[0]))
    return false;
  return !error[0] || !failure->reported[0] || now.monotonic_ns - failure->since_ns >= CHANGE_STEADY;
}

/* The one that waits longest, so that a group which changes all the time stands before no other. */
static struct group_failure *
first_due (const struct node *node, struct instant now)
{
  struct group_failure *first = NULL;

  for (struct group_failure *failure = node->failures; failure; failure = failure->next)
    if (failure_due (failure, now) && (!first || failure->since_ns < first->since_ns))
      first = failure;
  return first;
}

/* What this group has to report, of all groups that have the same. */
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

/* The group was left out of the frames for long, though they came: of another session of the agent, as a rule. */
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
