/* See history.h. This is the side of the core: items go into a queue that a thread (history_writer.c) empties.
 * Memory is bounded: an item counts in its node's share until it is written, and without room it is dropped and
 * counted. */
#include "aggregator/history/history.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/history/history_private.h"
#include "aggregator/history/history_record.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define RANGES_OF (86400 * NS_PER_S)

/* ---- items ---- */

void
item_list_init (struct item_list *list)
{
  list->first = NULL;
  list->end = &list->first;
}

void
item_list_add (struct item_list *list, struct item *item)
{
  item->next = NULL;
  *list->end = item;
  list->end = &item->next;
}

void
history_give_back (struct history *history, struct history_share *share, size_t size)
{
  pthread_mutex_lock (&history->mutex);
  history_share_give (&history->shares, share, size);
  pthread_mutex_unlock (&history->mutex);
}

void
item_free (struct history *history, struct item *item)
{
  pthread_mutex_lock (&history->mutex);
  history_share_give (&history->shares, item->share, item->size);
  if (item->schema)
    item->schema->users--;
  pthread_mutex_unlock (&history->mutex);
  free (item);
}

void
item_list_clear (struct history *history, struct item_list *list)
{
  while (list->first) {
    struct item *item = list->first;
    list->first = item->next;
    item_free (history, item);
  }
  item_list_init (list);
}

static void
refuse (struct history *history, const struct item *item, struct history_share *share)
{
  bool over = history_share_is_over (&history->shares, share);

  history->overflows += !over;
  if (item->kind == ITEM_FRAME) {
    history->counts.frames_not_stored++;
    history->counts.frames_over_share += over;
    share->held[HELD_FRAMES].count += over;
  }
}

/* Queues the item, or drops it if there is no room. */
static void
history_queue_put (struct history *history, struct item *item)
{
  struct history_shares *shares = &history->shares;
  struct history_share *share;
  bool room;

  pthread_mutex_lock (&history->mutex);
  share = history_share_of (shares, item->node);
  room = history_share_take (shares, share, item->size);
  if (room) {
    if (!shares->turn || shares->used > shares->room / 4)
      pthread_cond_signal (&history->wake);
    item->share = share;
    item->put = ++history->put;
    if (item->schema)
      item->schema->users++;
    history_share_put (shares, share, item);
  } else {
    refuse (history, item, share);
  }
  pthread_mutex_unlock (&history->mutex);
  if (!room)
    free (item);
}

static struct item *
item_create (enum item_kind kind, const char *node, const void *record, size_t record_length, const void *bytes,
             size_t length)
{
  struct item *item = memory_new (1, sizeof *item + record_length + length);

  item->kind = kind;
  item->size = sizeof *item + record_length + length;
  strncpy (item->node, node ? node : "", FRAME_NODE_MAX);
  item->record_length = record_length;
  item->length = length;
  if (record_length)
    memcpy (item->bytes, record, record_length);
  if (length)
    memcpy (item->bytes + record_length, bytes, length);
  return item;
}

void
history_put_frame (struct history *history, const struct cluster_frame *frame)
{
  const struct schema *schema = frame->schema;
  struct item *item;

  buffer_clear (&history->record);
  frame_record_write (&history->record, ++history->number, frame);
  item = item_create (ITEM_FRAME, frame->header->node, history->record.data, history->record.length, frame->bytes,
                      frame->length);
  item->schema = history_hold_schema (history, schema->hash, schema->encoded.data, schema->encoded.length);
  item->session = frame->header->session;
  item->sequence = frame->header->sequence;
  item->time_ns = frame->time_ns;
  item->number = history->number;
  history_queue_put (history, item);
}

void
history_put_tick (struct history *history, const struct cluster_tick_line *line)
{
  struct item *item;

  buffer_clear (&history->record);
  tick_record_write (&history->record, ++history->number, line);
  buffer_clear (&history->values);
  history_ticks_write (&history->values, line->tick->combine);
  item = item_create (ITEM_TICK, NULL, history->record.data, history->record.length, history->values.data,
                      history->values.length);
  item->sequence = ++history->ticks;
  item->time_ns = line->tick->time_ns;
  item->number = history->number;
  history_queue_put (history, item);
}

void
history_put_event (struct history *history, const struct event *event)
{
  struct item *item;

  json_clear (&history->json);
  event_write (&history->json, event);
  item = item_create (ITEM_EVENT, event->node, NULL, 0, history->json.out.data, history->json.out.length);
  strncpy (item->type, event_name (event->type), HISTORY_TYPE_MAX - 1);
  item->time_ns = event->wall_ns;
  item->number = ++history->number;
  history_queue_put (history, item);
}

void
history_put_job_line (struct history *history, const struct job_line *line)
{
  struct item *item;

  json_clear (&history->json);
  job_line_write (&history->json, line);
  item = item_create (ITEM_EVENT, line->event == JOB_NODE ? line->nodes[0] : NULL, NULL, 0, history->json.out.data,
                      history->json.out.length);
  strcpy (item->type, JOB_LINE_TYPE);
  item->time_ns = line->time_ns;
  item->number = ++history->number;
  history_queue_put (history, item);
}

/* The row itself as the record, then its texts. */
void
history_put_job (struct history *history, const struct job_row *row)
{
  struct item *item;

  buffer_clear (&history->record);
  for (size_t i = 0; i < JOB_ROW_TEXTS && row->texts[i]; i++)
    buffer_add (&history->record, row->texts[i], strlen (row->texts[i]) + 1);
  item = item_create (ITEM_JOB, NULL, row, sizeof *row, history->record.data, history->record.length);
  history_queue_put (history, item);
}

/* ---- start and end ---- */

struct history_store *
history_open_store (struct history *history, struct error *error)
{
  struct history_store *store = history_store_open (history->path, error);
  struct stat status;

  if (store && stat (history->path, &status) == 0) {
    pthread_mutex_lock (&history->mutex);
    history->device = status.st_dev;
    history->inode = status.st_ino;
    pthread_mutex_unlock (&history->mutex);
  }
  return store;
}

static void
take_range (void *context, const char *node, uint64_t session, uint64_t first, uint64_t last)
{
  struct history *history = context;
  struct range *range = memory_new (1, sizeof *range);

  strncpy (range->node, node, FRAME_NODE_MAX);
  range->session = session;
  range->first = first;
  range->last = last;
  *history->ranges_end = range;
  history->ranges_end = &range->next;
}

/* Numbers start at the current time, so that they grow from run to run even if the file could not be read. */
static void
open_first (struct history *history)
{
  struct error error = { "" };
  int64_t stored;

  history->number = clock_wall () / 1000;
  history->store = history_open_store (history, &error);
  if (history->store &&
      (history_store_ranges (history->store, clock_wall () - RANGES_OF, history, take_range, &error) < 0 ||
       history_load_schemas (history, &error) < 0)) {
    history_store_close (history->store);
    history->store = NULL;
  }
  if (history->store) {
    stored = history_store_number (history->store);
    history->number = stored > history->number ? stored : history->number;
    history_age_begin (&history->age, history_store_newest (history->store), clock_monotonic ());
  } else {
    history->retry_ns =
        clock_monotonic () + (history->options.retry_ns ? history->options.retry_ns : HISTORY_RETRY_DEFAULT);
  }
  strcpy (history->problem, error.text);
}

struct history *
history_create (const struct history_options *options)
{
  struct history *history = memory_new (1, sizeof *history);

  history->options = *options;
  history->path = memory_string (options->path);
  history->ranges_end = &history->ranges;
  history->ready_end = &history->ready;
  history_shares_init (&history->shares, options->queue_bytes);
  item_list_init (&history->events);
  history->folds = tier_writer_create (1);
  history->ticks_waiting = history_ticks_create ();
  history->gather = gather_create (&(struct gather_options){ .chunk_frames = options->chunk_frames,
                                                             .chunk_ns = options->chunk_ns,
                                                             .context = history,
                                                             .bytes_max = options->queue_bytes / 2,
                                                             .whole = history_writer_whole });
  history->flush_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  pthread_mutex_init (&history->mutex, NULL);
  open_first (history);
  thread_condition_init (&history->wake);
  pthread_cond_init (&history->idle, NULL);
  if (history->flush_fd < 0 || thread_start (&history->thread, 0, history_writer_run, history) != 0)
    abort ();
  return history;
}

static void
history_free (struct history *history)
{
  ready_clear (history);
  for (struct item *item; (item = history_shares_next (&history->shares));)
    for (struct item *next; item; item = next) {
      next = item->next;
      free (item);
    }
  while (history->ranges) {
    struct range *range = history->ranges;
    history->ranges = range->next;
    free (range);
  }
  history_free_schemas (history);
  item_list_clear (history, &history->events);
  history_store_close (history->store);
  gather_destroy (history->gather);
  tier_writer_destroy (history->folds);
  history_ticks_destroy (history->ticks_waiting);
  history_shares_free (&history->shares);
  buffer_free (&history->record);
  buffer_free (&history->values);
  json_free (&history->json);
  free (history->path);
  close (history->flush_fd);
  pthread_cond_destroy (&history->wake);
  pthread_cond_destroy (&history->idle);
  pthread_mutex_destroy (&history->mutex);
  free (history);
}

const char *
history_path (const struct history *history)
{
  return history->path;
}

void
history_set_limits (struct history *history, const struct history_options *limits)
{
  pthread_mutex_lock (&history->mutex);
  history->options.max_age_ns = limits->max_age_ns;
  history->options.minutes_max_age_ns = limits->minutes_max_age_ns;
  history->options.hours_max_age_ns = limits->hours_max_age_ns;
  history->options.max_size = limits->max_size;
  pthread_mutex_unlock (&history->mutex);
}

void
history_destroy (struct history *history)
{
  struct history_rest rest;

  if (!history)
    return;
  if (!history->end)
    history_finish (history, &rest);
  history_free (history);
}

void
history_each_range (const struct history *history, void *context,
                    void (*range) (void *context, const char *node, uint64_t session, uint64_t first, uint64_t last))
{
  for (const struct range *one = history->ranges; one; one = one->next)
    range (context, one->node, one->session, one->first, one->last);
}
