/* The history's thread: it takes items, a little of each node in turn, gathers them into chunks (history_gather.h),
 * and writes closed chunks and events (history_write.c), at most once a second. However much waits, after a moment
 * it goes on to write, delete old data, and check whether it is to end. What could not be written is kept and tried
 * again; its memory is released only when it is written. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/history/history_private.h"
#include "synop/memory.h"

#define TAKE_EVERY (NS_PER_S / 2)
#define WRITE_EVERY NS_PER_S
#define TAKE_TIME (NS_PER_S / 4)
#define FLUSH_PATIENCE                                                                                                 \
  (2 * NS_PER_S) /* how long a flush waits for a node with much in the queue: the others have had their turn */
#define EARLY_EVERY (10 * NS_PER_S) /* readers may have chunks closed early once in this time, */
#define EARLY_BURST 3               /* with a burst of so many */

/* ---- gathering ---- */

void
history_writer_whole (void *context, struct open_chunk *chunk)
{
  struct history *history = context;
  struct ready *ready = memory_new (1, sizeof *ready);
  size_t before = chunk->chunk.bytes.length;

  chunk_pack (&chunk->chunk, &ready->packed);
  if (!chunk->schema)
    history_ticks_fold (history->ticks_waiting, chunk->row.last, history->folds, &ready->metrics, &ready->folded);
  ready->packed.data = memory_resize (ready->packed.data, ready->packed.length, 1);
  ready->packed.capacity = ready->packed.length;
  ready->chunk = chunk;
  ready->size = sizeof *ready + sizeof *chunk + ready->packed.length;
  for (size_t i = 0; i < ready->folded.count; i++)
    ready->size += ready->folded.staged[i].data.length;
  chunk_free (&chunk->chunk);
  *history->ready_end = ready;
  history->ready_end = &ready->next;
  pthread_mutex_lock (&history->mutex);
  ready->share = history_share_of (&history->shares, chunk->node);
  history_share_add (&history->shares, ready->share, ready->size);
  history_share_give (&history->shares, ready->share, before);
  pthread_mutex_unlock (&history->mutex);
}

/* The bytes of an item stay in its chunk, and count until history_writer_whole; it uses its schema until
 * ready_clear. */
static void
gather_item (struct history *history, struct item *item, int64_t now_ns)
{
  struct gathered one = { .node = item->node,
                          .schema = item->schema,
                          .session = item->session,
                          .sequence = item->sequence,
                          .time_ns = item->time_ns,
                          .number = item->number,
                          .record = item->bytes,
                          .record_length = item->record_length,
                          .frame = item->kind == ITEM_FRAME ? item->bytes + item->record_length : NULL,
                          .frame_length = item->length };
  size_t stays = item->record_length + (item->kind == ITEM_FRAME ? item->length : 0);

  if (item->kind == ITEM_TICK)
    history_ticks_add (history->ticks_waiting, item->sequence, item->time_ns, item->bytes + item->record_length,
                       item->length);

  /* Before gather_add, which may close the chunk. */
  history_give_back (history, item->share, item->size - stays);
  item->size = stays;
  if (gather_add (history->gather, &one, now_ns))
    free (item);
  else
    item_free (history, item);
}

static void
sort_items (struct history *history, struct item *items, int64_t now_ns)
{
  while (items) {
    struct item *item = items;
    items = item->next;
    if (item->kind == ITEM_EVENT || item->kind == ITEM_JOB)
      item_list_add (&history->events, item);
    else
      gather_item (history, item, now_ns);
  }
}

/* Takes items of each node in turn, until the time is up. */
static void
take_items (struct history *history, int64_t until_ns)
{
  struct item *items;

  do {
    pthread_mutex_lock (&history->mutex);
    items = history_shares_next (&history->shares);
    pthread_mutex_unlock (&history->mutex);
    sort_items (history, items, history->taken_ns);
  } while (items && clock_monotonic () < until_ns);
  history->behind = items;
}

/* ---- turns ---- */

/* The tasks of a turn. */
struct turn {
  bool end;
  uint64_t flush; /* the last requested ticket; 0: none */
  uint64_t flush_put;
  int64_t flush_to_ns, flush_asked_ns;
  bool flush_at_once;
};

/* When a reader may have chunks closed early again. */
static int64_t
early_due (const struct history *history)
{
  return history->early_ns - (EARLY_BURST - 1) * EARLY_EVERY;
}

/* When the next task is due. */
static int64_t
next_due (const struct history *history)
{
  int64_t due = gather_due (history->gather), take = history->taken_ns + TAKE_EVERY;
  int64_t write = history->retry_ns ? history->retry_ns : history->written_ns + WRITE_EVERY;

  due = write < due ? write : due; /* also without anything to write: there is work for the tiers */
  if (history->shares.turn && !history->behind && history->shares.used <= history->shares.room / 4)
    due = take < due ? take : due;
  else if (history->shares.turn)
    due = 0;
  if (history->flush_asked != history->flush_done)
    due = early_due (history) < due ? early_due (history) : due;
  return history->end || history->flush_asked != history->flush_seen ? 0 : due;
}

/* Waits until a task is due; a single item is not one at once. */
static struct turn
wait_for_turn (struct history *history)
{
  struct turn turn = { 0 };
  int64_t due;

  pthread_mutex_lock (&history->mutex);
  while (clock_monotonic () < (due = next_due (history))) {
    struct timespec until = { due / NS_PER_S, due % NS_PER_S };
    if (due == INT64_MAX)
      pthread_cond_wait (&history->wake, &history->mutex);
    else
      pthread_cond_timedwait (&history->wake, &history->mutex, &until);
  }
  turn.end = history->end;
  if (history->flush_asked != history->flush_done) {
    turn.flush = history->flush_seen = history->flush_asked;
    turn.flush_put = history->flush_put;
    turn.flush_asked_ns = history->flush_asked_ns;
    turn.flush_to_ns = history->flush_to_ns;
    turn.flush_at_once = history->flush_at_once;
  }
  pthread_mutex_unlock (&history->mutex);
  history->taken_ns = clock_monotonic ();
  return turn;
}

/* Has everything been taken that was put before the flush? */
static bool
has_taken (struct history *history, const struct turn *turn)
{
  bool waits;

  if (!history->behind || (!turn->flush_at_once && history->taken_ns - turn->flush_asked_ns > FLUSH_PATIENCE))
    return true;
  pthread_mutex_lock (&history->mutex);
  waits = history_shares_wait (&history->shares, turn->flush_put);
  pthread_mutex_unlock (&history->mutex);
  return !waits;
}

/* Closes the chunks that a flush is about. False: the rate limit delays it. */
static bool
close_early (struct history *history, const struct turn *turn, int64_t now_ns)
{
  if (!has_taken (history, turn))
    return false;
  if (!turn->flush_at_once && gather_has_before (history->gather, turn->flush_to_ns)) {
    if (now_ns < early_due (history))
      return false;
    history->early_ns = (history->early_ns > now_ns ? history->early_ns : now_ns) + EARLY_EVERY;
  }
  gather_close_before (history->gather, turn->flush_to_ns);
  return true;
}

static void
end_flush (struct history *history, uint64_t ticket)
{
  const uint64_t one = 1;

  pthread_mutex_lock (&history->mutex);
  history->flush_done = ticket;
  (void) !write (history->flush_fd, &one, sizeof one); /* fails only when the counter is at its maximum */
  pthread_cond_broadcast (&history->idle);
  pthread_mutex_unlock (&history->mutex);
}

/* Closes the chunks that are old enough, until the time is up. */
static void
close_due (struct history *history, int64_t until_ns)
{
  while (gather_due (history->gather) <= history->taken_ns && gather_close_one (history->gather) &&
         clock_monotonic () < until_ns)
    ;
}

/* Writes all that waits, some at a time, until it is written, or cannot be, or the time is up. */
static void
write_until_empty (struct history *history)
{
  bool more;

  do {
    history->taken_ns = clock_monotonic ();
    take_items (history, history->taken_ns + TAKE_TIME);
    while (gather_close_one (history->gather) && clock_monotonic () < history->taken_ns + 2 * TAKE_TIME)
      ;
    more = history->behind || gather_due (history->gather) != INT64_MAX;
    history_write (history, history->taken_ns);
  } while (more && history->store && clock_monotonic () < history->end_ns);
}

void *
history_writer_run (void *context)
{
  struct history *history = context;
  struct turn turn;

  for (;;) {
    bool flush, write;
    int64_t now;
    turn = wait_for_turn (history);
    now = history->taken_ns;
    if (turn.end)
      break;
    take_items (history, now + TAKE_TIME);
    close_due (history, now + TAKE_TIME);
    flush = turn.flush && close_early (history, &turn, now);
    write = flush || (history->retry_ns ? now >= history->retry_ns : now >= history->written_ns + WRITE_EVERY);
    if (write)
      history_write (history, now);
    if (flush)
      end_flush (history, turn.flush);
    if (write)
      history_write_tiers (history, now);
  }
  write_until_empty (history);
  return NULL;
}
