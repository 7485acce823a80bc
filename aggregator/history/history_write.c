/* The writes of the history's thread (history_writer.c): all closed chunks and events in one transaction, then the
 * deleting of old data. What could not be written is kept. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregator/history/history_private.h"
#include "aggregator/history/history_record.h"
#include "aggregator/history/tier_store.h"

#define TRIM_TIME NS_PER_S          /* as long as the time between two writes: deleting that much takes less */
#define TIERS_TIME (NS_PER_S / 5)   /* of each second, a transaction: the rest is left to who waits, */
#define TIERS_MOST (3 * TIERS_TIME) /* where little does */
#define SHRINK_EVERY (10 * NS_PER_S)
#define SHRINK_PAGES 2048

static void
set_problem (struct history *history, const char *text)
{
  pthread_mutex_lock (&history->mutex);
  strcpy (history->problem, text);
  pthread_mutex_unlock (&history->mutex);
}

static int
write_chunk (struct history *history, const struct ready *ready, const struct chunk_row *row,
             const struct buffer *packed, struct error *error)
{
  const struct history_schema *schema = ready->chunk->schema;

  return history_store_chunk (history->store, row, schema ? schema->hash : NULL, schema ? &schema->bytes : NULL, packed,
                              error);
}

/* A chunk with frames that are stored already: writes each of the others as a chunk of its own. */
static int
write_not_stored (struct history *history, const struct ready *ready, uint64_t *stored, struct error *error)
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
    result = write_chunk (history, ready, &part, &packed, error);
    ++*stored;
  }
  chunk_free (&whole);
  chunk_free (&one);
  buffer_free (&packed);
  return result;
}

/* Beside a chunk of ticks what they are in the tiers. */
static int
stage (struct history *history, const struct ready *ready, struct error *error)
{
  struct tier_list list = history_ticks_list (&ready->metrics);

  return tier_store_stage (history->store, ready->chunk->node, &list, &ready->folded, error);
}

static int
write_chunks (struct history *history, struct history_counts *counts, struct error *error)
{
  for (struct ready *ready = history->ready; ready; ready = ready->next) {
    const struct chunk_row *row = &ready->chunk->row;
    uint64_t frames = row->session ? row->last - row->first + 1 : 0, stored = 0;
    int result = write_chunk (history, ready, row, &ready->packed, error);
    if (result == 1) {
      result = write_not_stored (history, ready, &stored, error);
    } else if (result == 0) {
      stored = frames;
      result = ready->folded.count ? stage (history, ready, error) : 0;
    }
    if (result < 0)
      return -1;
    counts->frames_stored += stored;
    counts->chunks++;
    counts->bytes += ready->packed.length;
  }
  return 0;
}

/* Unpacks what history_put_job packed. */
static struct job_row
job_row_of (const struct item *item)
{
  const char *text = item->bytes + item->record_length, *end = text + item->length;
  struct job_row row;

  memcpy (&row, item->bytes, sizeof row);
  for (size_t i = 0; i < JOB_ROW_TEXTS; i++) {
    row.texts[i] = text < end ? text : NULL;
    text += text < end ? strlen (text) + 1 : 0;
  }
  return row;
}

static int
write_event (struct history *history, const struct item *item, struct error *error)
{
  if (item->kind == ITEM_JOB) {
    struct job_row row = job_row_of (item);
    return history_store_job (history->store, &row, error);
  }
  return history_store_event (history->store, item->number, item->time_ns, *item->node ? item->node : NULL, item->type,
                              item->bytes, item->length, error);
}

static int
write_events (struct history *history, struct error *error)
{
  for (const struct item *item = history->events.first; item; item = item->next)
    if (write_event (history, item, error) < 0)
      return -1;
  return 0;
}

void
ready_clear (struct history *history)
{
  while (history->ready) {
    struct ready *ready = history->ready;
    struct history_schema *schema = ready->chunk->schema;

    history->ready = ready->next;
    pthread_mutex_lock (&history->mutex);
    history_share_give (&history->shares, ready->share, ready->size);
    if (schema)
      schema->users -= ready->chunk->row.last - ready->chunk->row.first + 1;
    pthread_mutex_unlock (&history->mutex);
    open_chunk_destroy (ready->chunk);
    buffer_free (&ready->packed);
    tier_folded_free (&ready->folded);
    buffer_free (&ready->metrics.definitions);
    free (ready);
  }
  history->ready_end = &history->ready;
}

/* Writes all that is ready, or nothing. */
static int
write_waiting (struct history *history, struct error *error)
{
  struct history_counts counts = { 0 };

  if (!history->store)
    history->store = history_open_store (history, error);
  if (!history->store)
    return -1;
  if (!history->ready && !history->events.first)
    return 0;
  if (history_store_begin (history->store, error) < 0)
    return -1;
  if (write_events (history, error) < 0 || write_chunks (history, &counts, error) < 0 ||
      history_store_end (history->store, error) < 0) {
    history_store_undo (history->store);
    return -1;
  }
  item_list_clear (history, &history->events);
  ready_clear (history);
  pthread_mutex_lock (&history->mutex);
  history->counts.frames_stored += counts.frames_stored;
  history->counts.chunks += counts.chunks;
  history->counts.bytes += counts.bytes;
  pthread_mutex_unlock (&history->mutex);
  return 0;
}

static void
note_cut (void *context, const char *node, uint64_t chunks)
{
  struct history *history = context;

  pthread_mutex_lock (&history->mutex);
  history->counts.chunks_over_share += chunks;
  history_share_of (&history->shares, node)->held[HELD_CHUNKS].count += chunks;
  pthread_mutex_unlock (&history->mutex);
}

static int
trim_some (struct history *history, int64_t until_ns, struct error *error)
{
  const struct history_cut cut = { history, note_cut };
  int64_t now_ns = history_age_now (&history->age, clock_wall (), clock_monotonic ()), max_age_ns;
  uint64_t max_size;
  int more;

  pthread_mutex_lock (&history->mutex);
  max_age_ns = history->options.max_age_ns;
  max_size = history->options.max_size;
  pthread_mutex_unlock (&history->mutex);
  do
    more = history_store_trim (history->store, now_ns - max_age_ns, max_size, &cut, error);
  while (more == 1 && clock_monotonic () < until_ns);
  return more < 0 ? -1 : 0;
}

/* Deletes old data after each write, so that it keeps up with the writing. */
static int
trim (struct history *history, int64_t now_ns, struct error *error)
{
  struct history_store *store = history->store;

  if (history_store_begin (store, error) < 0)
    return -1;
  if (trim_some (history, clock_monotonic () + TRIM_TIME, error) < 0 || history_store_end (store, error) < 0) {
    history_store_undo (store);
    return -1;
  }
  if (now_ns < history->shrunk_ns + SHRINK_EVERY)
    return 0;
  history->shrunk_ns = now_ns;
  return history_store_shrink (store, SHRINK_PAGES, error);
}

/* If the file was removed or replaced, nobody would see what is written to it: that is an error. */
static int
check_place (const struct history *history, struct error *error)
{
  struct stat there;

  if (!history->store || (stat (history->path, &there) == 0 && (uint64_t) there.st_dev == history->device &&
                          (uint64_t) there.st_ino == history->inode))
    return 0;
  return error_set (error, "%s: it was removed or replaced; put it back, or a new one is made", history->path);
}

/* After a failure the file is closed, since somebody may move it away, and opened again at the next try. */
static void
failed (struct history *history, int64_t now_ns)
{
  history_store_close (history->store);
  history->store = NULL;
  history->retry_ns = now_ns + (history->options.retry_ns ? history->options.retry_ns : HISTORY_RETRY_DEFAULT);
}

void
history_write (struct history *history, int64_t now_ns)
{
  struct error error = { "" };

  history->written_ns = now_ns;
  history->retry_ns = 0;
  if (check_place (history, &error) < 0 || write_waiting (history, &error) < 0 || trim (history, now_ns, &error) < 0)
    failed (history, now_ns);
  set_problem (history, error.text);
}

/* Age 0 is none. */
static int64_t
before (int64_t now_ns, int64_t age_ns)
{
  return age_ns ? now_ns - age_ns : INT64_MIN;
}

static bool
little_waits (struct history *history)
{
  bool little;

  pthread_mutex_lock (&history->mutex);
  little =
      !history->end && history->flush_asked == history->flush_done && history->shares.used <= history->shares.room / 4;
  pthread_mutex_unlock (&history->mutex);
  return little;
}

void
history_write_tiers (struct history *history, int64_t now_ns)
{
  int64_t most_ns = clock_monotonic () + TIERS_MOST;
  int64_t now = history_age_now (&history->age, clock_wall (), clock_monotonic ());
  struct tier_limits limits = { .now_ns = clock_wall () };
  struct tier_counts counts;
  struct error error;
  int more;

  if (!history->store)
    return;
  pthread_mutex_lock (&history->mutex);
  limits.minutes_before_ns = before (now, history->options.minutes_max_age_ns);
  limits.hours_before_ns = before (now, history->options.hours_max_age_ns);
  limits.max_size = history->options.max_size;
  counts = tier_store_take_counts (history->store);
  history->counts.tiers_left_out += counts.left_out;
  history->counts.tiers_broken += counts.broken;
  pthread_mutex_unlock (&history->mutex);
  do
    more = tier_store_work (history->store, &limits, clock_monotonic () + TIERS_TIME, &error);
  while (more == 1 && clock_monotonic () < most_ns && little_waits (history));
  if (more < 0 || trim (history, now_ns, &error) < 0) {
    failed (history, now_ns);
    set_problem (history, error.text);
  }
}
