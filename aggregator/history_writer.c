/* The history's thread: it takes what was put, gathers it into chunks (history_gather.h), and has what is whole written
 * (history_write.c), at most once a second. What could not be written is kept and tried again; its memory is given back
 * only when it is written. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/history_private.h"
#include "synop/memory.h"

#define TAKE_EVERY (NS_PER_S / 2)
#define WRITE_EVERY NS_PER_S
#define EARLY_EVERY (10 * NS_PER_S) /* readers may have chunks closed early so often, */
#define EARLY_BURST 3               /* or so many times at once */

/* ---- gathering ---- */

void
history_writer_whole (void *context, struct open_chunk *chunk)
{
  struct history *history = context;
  struct ready *ready = memory_new (1, sizeof *ready);
  size_t before = chunk->chunk.bytes.length;

  chunk_pack (&chunk->chunk, &ready->packed);
  ready->chunk = chunk;
  ready->size = sizeof *ready + sizeof *chunk + ready->packed.length;
  chunk_free (&chunk->chunk);
  *history->ready_end = ready;
  history->ready_end = &ready->next;
  pthread_mutex_lock (&history->mutex);
  history->used += ready->size;
  history->used -= before;
  pthread_mutex_unlock (&history->mutex);
}

static void
gather_item (struct history *history, struct item *item, int64_t now_ns)
{
  struct gathered one = { .node = item->node,
                          .session = item->session,
                          .sequence = item->sequence,
                          .time_ns = item->time_ns,
                          .number = item->number,
                          .record = item->bytes,
                          .record_length = item->record_length,
                          .frame = item->kind == ITEM_FRAME ? item->bytes + item->record_length : NULL,
                          .frame_length = item->length };
  size_t stays = item->record_length + item->length; /* in its chunk, until history_writer_whole */
  bool taken;

  /* First, since the chunk may be whole with it. */
  history_give_back (history, item->size - stays);
  taken = gather_add (history->gather, &one, now_ns);
  free (item);
  if (!taken)
    history_give_back (history, stays);
}

/* They are kept, since the file may be moved away, and a new one needs them too. */
static void
know_schema (struct history *history, struct item *item)
{
  item_list_add (&history->schemas_known, item);
  history->schemas_known_count++;
  history->schemas_written = false;
}

static void
sort_items (struct history *history, struct item *items, int64_t now_ns)
{
  while (items) {
    struct item *item = items;
    items = item->next;
    if (item->kind == ITEM_EVENT || item->kind == ITEM_JOB)
      item_list_add (&history->events, item);
    else if (item->kind == ITEM_SCHEMA)
      know_schema (history, item);
    else
      gather_item (history, item, now_ns);
  }
}

/* ---- its turns ---- */

/* What there is to do. */
struct turn {
  struct item *items;
  bool end;
  uint64_t flush; /* the ticket up to which is asked for; 0: none is */
  int64_t flush_to_ns;
  bool flush_at_once;
};

/* When a reader may have chunks closed early again. */
static int64_t
early_due (const struct history *history)
{
  return history->early_ns - (EARLY_BURST - 1) * EARLY_EVERY;
}

/* When the writer has something to do again. */
static int64_t
next_due (const struct history *history)
{
  int64_t due = gather_due (history->gather), take = history->taken_ns + TAKE_EVERY;

  if (history->ready || history->events.first || !history->store) {
    int64_t write = history->retry_ns ? history->retry_ns : history->written_ns + WRITE_EVERY;
    due = write < due ? write : due;
  }
  if (history->queue.first && history->used <= history->options.queue_bytes / 2)
    due = take < due ? take : due;
  else if (history->queue.first)
    due = 0;
  if (history->flush_asked != history->flush_done)
    due = early_due (history) < due ? early_due (history) : due;
  return history->end || history->flush_asked != history->flush_seen ? 0 : due;
}

/* Waits until there is something to do; takes the queue, not for every item that comes alone. */
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
  turn.items = history->queue.first;
  item_list_init (&history->queue);
  turn.end = history->end;
  if (history->flush_asked != history->flush_done) {
    turn.flush = history->flush_seen = history->flush_asked;
    turn.flush_to_ns = history->flush_to_ns;
    turn.flush_at_once = history->flush_at_once;
  }
  pthread_mutex_unlock (&history->mutex);
  history->taken_ns = clock_monotonic ();
  return turn;
}

/* Closes the chunks that a flush is about. False: it is not its turn yet. */
static bool
close_early (struct history *history, const struct turn *turn, int64_t now_ns)
{
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
  (void) !write (history->flush_fd, &one, sizeof one); /* fails only when it is raised to the brim */
  pthread_cond_broadcast (&history->idle);
  pthread_mutex_unlock (&history->mutex);
}

void *
history_writer_run (void *context)
{
  struct history *history = context;
  struct turn turn;
  sigset_t all;

  sigfillset (&all);
  pthread_sigmask (SIG_BLOCK, &all, NULL);
  do {
    bool flush;
    int64_t now;
    turn = wait_for_turn (history);
    now = history->taken_ns;
    sort_items (history, turn.items, now);
    gather_close (history->gather, turn.end ? INT64_MAX : now);
    flush = turn.flush && close_early (history, &turn, now);
    if (turn.end || flush || (history->retry_ns ? now >= history->retry_ns : now >= history->written_ns + WRITE_EVERY))
      history_write (history, now);
    if (flush)
      end_flush (history, turn.flush);
  } while (!turn.end);
  return NULL;
}
