/* The thread that writes the history: it takes what was put, gathers it into chunks (history_gather.h), and writes what is
 * whole, all that waits in one transaction, at most once a second. What could not be written is kept and tried again; its
 * memory is given back only when it is written. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregator/history_private.h"
#include "aggregator/history_record.h"
#include "synop/memory.h"

#define TAKE_EVERY (NS_PER_S / 2)
#define WRITE_EVERY NS_PER_S
#define TRIM_EVERY (10 * NS_PER_S)

/* ---- the writer: gathering ---- */

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
  size_t stays = item->record_length + item->length; /* in its chunk, until take_whole */
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
forget_schemas (struct history *history)
{
  while (history->schemas_known_count > HISTORY_SCHEMAS_MAX) {
    struct item *item = history->schemas_known.first;
    history->schemas_known.first = item->next;
    history->schemas_known_count--;
    history_give_back (history, item->size);
    free (item);
  }
}

static void
sort_items (struct history *history, struct item *items, int64_t now_ns)
{
  while (items) {
    struct item *item = items;
    items = item->next;
    if (item->kind == ITEM_EVENT)
      item_list_add (&history->events, item);
    else if (item->kind == ITEM_SCHEMA)
      know_schema (history, item);
    else
      gather_item (history, item, now_ns);
  }
}

/* ---- the writer: writing ---- */

static void
set_problem (struct history *history, const char *text)
{
  pthread_mutex_lock (&history->mutex);
  strcpy (history->problem, text);
  pthread_mutex_unlock (&history->mutex);
}

/* A chunk with frames that are stored already: what is not goes in as chunks of its own. */
static int
write_rest (struct history *history, const struct ready *ready, uint64_t *stored, struct error *error)
{
  const struct chunk_row *row = &ready->chunk->row;
  struct chunk whole = { 0 }, one = { 0 };
  struct buffer packed = { 0 };
  int result = chunk_unpack (&whole, ready->packed.data, ready->packed.length, error);

  for (uint64_t i = 0; result == 0 && i <= row->last - row->first; i++) {
    struct chunk_row part = *row;
    struct frame_header header;
    struct frame_record record;
    size_t length, frame_length;
    const void *bytes = chunk_message (&whole, 2 * i, &length),
               *frame = chunk_message (&whole, 2 * i + 1, &frame_length);

    if (history_store_has (history->store, row->node, row->session, row->first + i) ||
        frame_read_header (frame, frame_length, &header, NULL) < 0 ||
        frame_record_read (&record, bytes, length, header.monotonic_ns) < 0)
      continue;
    part.first = part.last = row->first + i;
    part.first_time = part.last_time = record.time_ns;
    part.first_number = part.last_number = record.number;
    chunk_clear (&one);
    chunk_add (&one, bytes, length);
    chunk_add (&one, frame, frame_length);
    buffer_clear (&packed);
    chunk_pack (&one, &packed);
    result = history_store_chunk (history->store, &part, &packed, error);
    ++*stored;
  }
  chunk_free (&whole);
  chunk_free (&one);
  buffer_free (&packed);
  return result;
}

static int
write_chunks (struct history *history, struct history_counts *counts, struct error *error)
{
  for (struct ready *ready = history->ready; ready; ready = ready->next) {
    const struct chunk_row *row = &ready->chunk->row;
    uint64_t frames = row->session ? row->last - row->first + 1 : 0, stored = 0;
    int result = history_store_chunk (history->store, row, &ready->packed, error);
    if (result == 1)
      result = write_rest (history, ready, &stored, error);
    else
      stored = frames;
    if (result < 0)
      return -1;
    counts->frames_stored += stored;
    counts->chunks++;
    counts->bytes += ready->packed.length;
  }
  return 0;
}

static int
write_others (struct history *history, struct error *error)
{
  for (const struct item *item = history->schemas_known.first; item && !history->schemas_written; item = item->next)
    if (history_store_schema (history->store, item->hash, item->bytes, item->length, error) < 0)
      return -1;
  for (const struct item *item = history->events.first; item; item = item->next)
    if (history_store_event (history->store, item->number, item->time_ns, *item->node ? item->node : NULL, item->type,
                             item->bytes, item->length, error) < 0)
      return -1;
  return 0;
}

void
ready_clear (struct history *history)
{
  size_t size = 0;

  while (history->ready) {
    struct ready *ready = history->ready;
    history->ready = ready->next;
    size += ready->size;
    open_chunk_destroy (ready->chunk);
    buffer_free (&ready->packed);
    free (ready);
  }
  history->ready_end = &history->ready;
  history_give_back (history, size);
}

/* All that waits, or nothing of it. */
static int
write_waiting (struct history *history, struct error *error)
{
  struct history_counts counts = { 0 };

  if (!history->store) {
    history->store = history_store_open (history->path, error);
    history->schemas_written = false;
  }
  if (!history->store)
    return -1;
  if (!history->ready && !history->events.first && (history->schemas_written || !history->schemas_known.first))
    return 0;
  if (history_store_begin (history->store, error) < 0)
    return -1;
  if (write_others (history, error) < 0 || write_chunks (history, &counts, error) < 0 ||
      history_store_end (history->store, error) < 0) {
    history_store_undo (history->store);
    return -1;
  }
  history->schemas_written = true;
  forget_schemas (history);
  item_list_clear (history, &history->events);
  ready_clear (history);
  pthread_mutex_lock (&history->mutex);
  history->counts.frames_stored += counts.frames_stored;
  history->counts.chunks += counts.chunks;
  history->counts.bytes += counts.bytes;
  pthread_mutex_unlock (&history->mutex);
  return 0;
}

static int
trim (struct history *history, int64_t now_ns, struct error *error)
{
  int more = 1;

  if (now_ns < history->trimmed_ns + TRIM_EVERY)
    return 0;
  history->trimmed_ns = now_ns;
  for (int step = 0; step < 8 && more == 1; step++) {
    if (history_store_begin (history->store, error) < 0)
      return -1;
    more = history_store_trim (history->store, clock_wall () - history->options.max_age_ns, history->options.max_size,
                               error);
    if (more < 0 || history_store_end (history->store, error) < 0) {
      history_store_undo (history->store);
      return -1;
    }
  }
  return 0;
}

/* After a failure the file is closed: it may be moved away, and is opened anew. */
static void
write_now (struct history *history, int64_t now_ns)
{
  struct error error = { "" };

  history->written_ns = now_ns;
  history->retry_ns = 0;
  if (write_waiting (history, &error) < 0 || trim (history, now_ns, &error) < 0) {
    history_store_close (history->store);
    history->store = NULL;
    history->retry_ns = now_ns + (history->options.retry_ns ? history->options.retry_ns : HISTORY_RETRY_DEFAULT);
  }
  set_problem (history, error.text);
}

/* When the writer has something to do again. */
static int64_t
next_due (const struct history *history)
{
  int64_t due = gather_due (history->gather);

  if (history->ready || history->events.first || !history->store) {
    int64_t write = history->retry_ns ? history->retry_ns : history->written_ns + WRITE_EVERY;
    due = write < due ? write : due;
  }
  return due;
}

/* Waits until there is something to do; takes the queue, not for every item that comes alone. */
static struct item *
wait_for_items (struct history *history, bool *flush, bool *end)
{
  struct item *items;

  pthread_mutex_lock (&history->mutex);
  for (;;) {
    int64_t due = next_due (history), take = history->taken_ns + TAKE_EVERY;
    struct timespec until;
    if (history->queue.first && history->used <= history->options.queue_bytes / 2)
      due = take < due ? take : due;
    else if (history->queue.first)
      due = 0;
    if (history->end || history->flush_asked != history->flush_done || clock_monotonic () >= due)
      break;
    until = (struct timespec){ due / NS_PER_S, due % NS_PER_S };
    if (due == INT64_MAX)
      pthread_cond_wait (&history->wake, &history->mutex);
    else
      pthread_cond_timedwait (&history->wake, &history->mutex, &until);
  }
  items = history->queue.first;
  item_list_init (&history->queue);
  *end = history->end;
  *flush = *end || history->flush_asked != history->flush_done;
  pthread_mutex_unlock (&history->mutex);
  history->taken_ns = clock_monotonic ();
  return items;
}

void *
history_writer_run (void *context)
{
  struct history *history = context;
  bool flush, end;
  sigset_t all;

  sigfillset (&all);
  pthread_sigmask (SIG_BLOCK, &all, NULL);
  do {
    struct item *items = wait_for_items (history, &flush, &end);
    int64_t now = clock_monotonic ();
    sort_items (history, items, now);
    gather_close (history->gather, flush ? INT64_MAX : now);
    if (flush || (history->retry_ns ? now >= history->retry_ns : now >= history->written_ns + WRITE_EVERY))
      write_now (history, now);
    if (flush) {
      pthread_mutex_lock (&history->mutex);
      history->flush_done = history->flush_asked;
      pthread_cond_broadcast (&history->idle);
      pthread_mutex_unlock (&history->mutex);
    }
  } while (!end);
  return NULL;
}
