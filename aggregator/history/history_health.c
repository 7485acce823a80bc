/* The history's reports about itself: counters, whether there is room, and events: why it cannot be written, that it
 * can be again, and which node is over its share, in memory or in the file. */
#include <string.h>

#include "aggregator/history/history_private.h"

/* Events about a node over its share: in memory that comes and goes; in the file it lasts for as long as the node
 * sends so much. */
static const struct {
  const char *reason, *text;
  int64_t every_ns;
} held[HISTORY_HELD] = {
  [HELD_FRAMES] = { "history_queue",
                    "it has more waiting to be written than its share: of its frames, what finds no room is not stored",
                    60 * NS_PER_S },
  [HELD_CHUNKS] = { "history_size",
                    "it has more than twice its share of the history: its own oldest chunks are deleted first",
                    86400 * NS_PER_S },
};

void
history_count (struct history *history, struct history_counts *counts)
{
  pthread_mutex_lock (&history->mutex);
  *counts = history->counts;
  pthread_mutex_unlock (&history->mutex);
}

bool
history_is_nearly_full (struct history *history, const char *node)
{
  bool nearly_full;

  pthread_mutex_lock (&history->mutex);
  nearly_full = history_share_is_nearly_full (&history->shares, history_share_of (&history->shares, node));
  pthread_mutex_unlock (&history->mutex);
  return nearly_full;
}

/* The next node to report, and what of it; it then counts as reported. */
static const struct history_share *
next_held (struct history *history, int64_t now_ns, enum history_held *kind, uint64_t *count)
{
  struct history_share *share;

  pthread_mutex_lock (&history->mutex);
  for (share = history->shares.all; share; share = share->older) {
    for (*kind = 0; *kind < HISTORY_HELD; ++*kind)
      if (share->held[*kind].count &&
          (share->held[*kind].reported_ns == 0 || now_ns - share->held[*kind].reported_ns >= held[*kind].every_ns))
        break;
    if (*kind < HISTORY_HELD)
      break;
  }
  if (share) {
    *count = share->held[*kind].count;
    share->held[*kind].count = 0;
    share->held[*kind].reported_ns = now_ns;
  }
  pthread_mutex_unlock (&history->mutex);
  return share;
}

static void
report_held (struct history *history, int64_t wall_ns, void *context,
             void (*report) (void *context, const struct event *event))
{
  const struct history_share *share;
  int64_t now_ns = clock_monotonic ();
  enum history_held kind;
  uint64_t count;

  while ((share = next_held (history, now_ns, &kind, &count)))
    report (context, &(struct event){ .type = EVENT_OVER_SHARE,
                                      .wall_ns = wall_ns,
                                      .node = share->node,
                                      .reason = held[kind].reason,
                                      .text = held[kind].text,
                                      .count = count });
}

static void
report_failure (struct history *history, int64_t wall_ns, void *context,
                void (*report) (void *context, const struct event *event))
{
  struct error error = { "" };
  struct history_counts counts;
  bool failed, over;

  pthread_mutex_lock (&history->mutex);
  strcpy (error.text, history->problem);
  over = history->overflows != history->overflow_seen ||
         (history->failing && history->shares.used > history->shares.room / 4);
  history->overflow_seen = history->overflows;
  counts = history->counts;
  pthread_mutex_unlock (&history->mutex);

  if (over && !*error.text)
    error_set (&error, "%s: its disk is too slow; frames that find no room in [history] queue are not stored",
               history->path);
  failed = *error.text;
  if (failed == history->failing && strcmp (error.text, history->reported) == 0)
    return;
  history->failing = failed;
  strcpy (history->reported, error.text);
  report (context, &(struct event){ .type = failed ? EVENT_HISTORY_FAILED : EVENT_HISTORY_RESUMED,
                                    .wall_ns = wall_ns,
                                    .text = failed ? error.text : NULL,
                                    .count = counts.frames_not_stored - history->not_stored_reported });
  if (!failed)
    history->not_stored_reported = counts.frames_not_stored;
}

void
history_poll (struct history *history, int64_t wall_ns, void *context,
              void (*report) (void *context, const struct event *event))
{
  report_failure (history, wall_ns, context, report);
  report_held (history, wall_ns, context, report);
}
