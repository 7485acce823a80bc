/* Writing early, and the last write: see history.h. A caller gets a ticket; the thread (history_writer.c) writes,
 * marks tickets as done, and signals an eventfd to callers that wait in a loop. */
#include <string.h>
#include <unistd.h>

#include "aggregator/history/history_private.h"

static uint64_t
ask_flush (struct history *history, int64_t to_ns, bool at_once)
{
  if (history->flush_asked == history->flush_done) {
    history->flush_to_ns = to_ns;
    history->flush_at_once = at_once;
  }
  history->flush_to_ns = to_ns > history->flush_to_ns ? to_ns : history->flush_to_ns;
  history->flush_at_once |= at_once;
  history->flush_put = history->put;
  history->flush_asked_ns = clock_monotonic ();
  pthread_cond_signal (&history->wake);
  return ++history->flush_asked;
}

uint64_t
history_flush_begin (struct history *history, int64_t to_ns)
{
  uint64_t ticket;

  pthread_mutex_lock (&history->mutex);
  ticket = ask_flush (history, to_ns, false);
  pthread_mutex_unlock (&history->mutex);
  return ticket;
}

uint64_t
history_flush_done (struct history *history, struct error *problem)
{
  uint64_t done, sum;

  pthread_mutex_lock (&history->mutex);
  (void) !read (history->flush_fd, &sum, sizeof sum); /* fails when there was no signal */
  done = history->flush_done;
  strcpy (problem->text, history->problem);
  pthread_mutex_unlock (&history->mutex);
  return done;
}

bool
history_flush_is_written (struct history *history, uint64_t ticket)
{
  bool written;

  pthread_mutex_lock (&history->mutex);
  written = history->flush_done >= ticket && !*history->problem;
  pthread_mutex_unlock (&history->mutex);
  return written;
}

int
history_flush_fd (const struct history *history)
{
  return history->flush_fd;
}

bool
history_flush (struct history *history)
{
  uint64_t asked;
  bool fine;

  pthread_mutex_lock (&history->mutex);
  asked = ask_flush (history, INT64_MAX, true);
  while (history->flush_done < asked)
    pthread_cond_wait (&history->idle, &history->mutex);
  fine = !*history->problem;
  pthread_mutex_unlock (&history->mutex);
  return fine;
}

bool
history_identity (struct history *history, uint64_t *device, uint64_t *inode)
{
  pthread_mutex_lock (&history->mutex);
  *device = history->device;
  *inode = history->inode;
  pthread_mutex_unlock (&history->mutex);
  return *inode != 0;
}

/* Counts what was put and not written, after the thread has ended. */
static void
count_rest (const struct history *history, struct history_rest *rest)
{
  for (const struct history_share *share = history->shares.turn; share; share = share->behind)
    for (const struct item *item = share->items.first; item; item = item->next) {
      rest->frames += item->kind == ITEM_FRAME;
      rest->events += item->kind == ITEM_EVENT;
    }
  for (const struct ready *ready = history->ready; ready; ready = ready->next)
    rest->frames += ready->chunk->schema ? ready->chunk->row.last - ready->chunk->row.first + 1 : 0;
  for (const struct item *item = history->events.first; item; item = item->next)
    rest->events += item->kind == ITEM_EVENT;
  rest->frames += gather_frames (history->gather);
}

void
history_finish (struct history *history, struct history_rest *rest)
{
  int64_t patience = history->options.end_ns ? history->options.end_ns : HISTORY_END_DEFAULT;

  pthread_mutex_lock (&history->mutex);
  history->end = true;
  history->end_ns = clock_monotonic () + patience;
  pthread_cond_signal (&history->wake);
  pthread_mutex_unlock (&history->mutex);
  pthread_join (history->thread, NULL);

  *rest = (struct history_rest){ 0 };
  count_rest (history, rest);
  rest->failed = rest->frames || rest->events || history->ready || history->events.first;
  rest->frames += history->counts.frames_not_stored - history->not_stored_reported;
  strcpy (rest->problem.text, history->problem);
  if (rest->failed && !*history->problem)
    error_set (&rest->problem, "%s: not all could be written within %.0f s", history->path,
               (double) patience / NS_PER_S);
}
