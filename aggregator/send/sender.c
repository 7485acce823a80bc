/* See sender.h. */
#include "aggregator/send/sender.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/send/sender_private.h"
#include "synop/clock.h"
#include "synop/log.h"
#include "synop/memory.h"
#include "synop/thread.h"

#define LOOK_EVERY (NS_PER_S / 2)
#define OPEN_EVERY (5 * NS_PER_S)
#define REFUSED_LOG_EVERY (600 * NS_PER_S)

/* ---- a batch ---- */

/* One that was left may have another after it, whose place it is then. */
static int
save_place (struct sender *sender)
{
  struct error error;
  bool left;

  pthread_mutex_lock (&sender->mutex);
  left = sender->left;
  pthread_mutex_unlock (&sender->mutex);
  if (left)
    return -1;
  if (history_cursor_save (sender->cursor, &sender->place, &error) == 0)
    return 0;
  sender_begin_failing (sender, error.text);
  return -1;
}

static void
count_refused (struct sender *sender, uint64_t samples, const struct send_answer *answer)
{
  int64_t now_ns = clock_monotonic ();
  char text[512];

  send_answer_text (answer, text, sizeof text);
  sender_note_error (sender, text);
  pthread_mutex_lock (&sender->mutex);
  sender->counts.dropped += samples;
  sender->counts.late_dropped += sender->batch.late ? samples : 0;
  pthread_mutex_unlock (&sender->mutex);
  sender->refused_unlogged += samples;
  if (sender->refused_logged_ns && now_ns < sender->refused_logged_ns + REFUSED_LOG_EVERY)
    return;
  log_warning ("send %s: %s; %" PRIu64 " samples%s are dropped, and all that are refused are counted", sender->name,
               text, sender->refused_unlogged, sender->batch.late ? " that came late" : "");
  sender->refused_logged_ns = now_ns;
  sender->refused_unlogged = 0;
}

static void
count_taken (struct sender *sender, uint64_t samples)
{
  sender_end_failing (sender);
  pthread_mutex_lock (&sender->mutex);
  sender->counts.sent += samples;
  pthread_mutex_unlock (&sender->mutex);
}

static void
count_answer (struct sender *sender, size_t count, enum send_verdict verdict, const struct send_answer *answer)
{
  uint64_t taken = verdict == SEND_REFUSED ? 0 : verdict == SEND_PART && answer->taken < count ? answer->taken : count;

  if (taken)
    count_taken (sender, taken);
  if (taken < count)
    count_refused (sender, count - taken, answer);
}

/* Of the batch those from `from` until before `to`, in as many requests as they take. */
static int
send_items (struct sender *sender, size_t from, size_t to)
{
  while (from < to) {
    struct send_load load = send_batch_load (&sender->batch, from, to);
    enum send_verdict verdict = SEND_TAKEN;
    struct send_answer answer;
    size_t count, middle;
    if (sender_post (sender, &load, &count, &answer, &verdict) < 0)
      return -1;
    middle = verdict == SEND_REFUSED ? send_batch_middle (&sender->batch, from, from + count) : 0;
    if (!middle)
      count_answer (sender, count, verdict, &answer);
    else if (send_items (sender, from, middle) < 0 || send_items (sender, middle, from + count) < 0)
      return -1;
    from += count;
  }
  return 0;
}

static int
send_batch (struct sender *sender)
{
  const struct send_batch *batch = &sender->batch;

  if (!batch->part_count)
    return 0;
  if (send_items (sender, 0, batch->count) < 0)
    return -1;
  sender->place.time_ns = batch->parts[batch->part_count - 1].time_ns;
  sender->place.part = batch->parts[batch->part_count - 1].chunk;
  return 0;
}

/* ---- the window ---- */

static void
rest_all (struct sender *sender)
{
  if (sender->lines)
    send_lines_rest (sender->lines);
  else
    send_nodes_rest (sender->nodes);
}

static int
send_window (struct sender *sender)
{
  for (size_t at = 0; at < sender->window.count;) {
    at = sender_make_batch (sender, at);
    if (send_batch (sender) < 0)
      return -1;
    if (at < sender->window.count && save_place (sender) < 0)
      return -1;
  }
  sender->place.chunk = sender->place.until;
  sender->place.time_ns = INT64_MIN;
  sender->place.part = 0;
  rest_all (sender);
  return save_place (sender);
}

/* ---- nodes that are gone ---- */

static void
sender_end_node (void *context, const char *name, int64_t time_ns)
{
  struct sender *sender = context;
  struct send_node *node;

  if (!sender->type->stale || !globs_match (&sender->node_globs, name))
    return;
  node = send_nodes_find (sender->nodes, name, sender->place.chunk);
  send_nodes_end (sender->nodes, node, time_ns, send_batch_add, &sender->batch);
  send_batch_end_part (&sender->batch, node, INT64_MIN, 0);
}

/* Only when nothing waits: what they sent before they went has been sent. */
static int
send_gone (struct sender *sender, int64_t settled_ns)
{
  struct error error;
  int64_t before = sender->place.event;

  send_batch_begin (&sender->batch);
  if (history_file_nodes_gone (sender->file, &sender->place.event, settled_ns, sender, sender_end_node, &error) < 0) {
    sender_begin_failing (sender, error.text);
    return -1;
  }
  if (send_batch (sender) < 0)
    return -1;
  return sender->place.event != before ? save_place (sender) : 0;
}

/* ---- its turns ---- */

void
sender_close_file (struct sender *sender)
{
  send_nodes_destroy (sender->nodes);
  send_lines_destroy (sender->lines);
  history_cursor_close (sender->cursor);
  history_file_close (sender->file);
  sender->nodes = NULL;
  sender->lines = NULL;
  sender->cursor = NULL;
  sender->file = NULL;
}

/* Another file may have been put in the place of the one that is open. */
static bool
is_open (const struct sender *sender)
{
  struct stat status;

  return sender->file && stat (sender->path, &status) == 0 && status.st_dev == sender->device &&
         status.st_ino == sender->inode;
}

static int
sender_open_file (struct sender *sender, struct error *error)
{
  struct stat status;

  if (is_open (sender))
    return 0;
  sender_close_file (sender);
  if (stat (sender->path, &status) < 0)
    return error_set (error, "%s is not there yet", sender->path);
  if (status.st_dev != sender->device || status.st_ino != sender->inode)
    memset (sender->back, 0, sizeof sender->back);
  sender->device = status.st_dev;
  sender->inode = status.st_ino;
  sender->file = history_file_open (sender->path, error);
  sender->cursor = sender->file ? history_cursor_open (sender->path, sender->name, &sender->place, error) : NULL;
  if (sender->cursor && sender->type->lines)
    sender->lines = send_lines_create (sender->options, sender->file);
  else if (sender->cursor)
    sender->nodes = send_nodes_create (sender->options, sender->type_state, sender->file, error);
  if (sender->lines || sender->nodes)
    return 0;
  sender_close_file (sender);
  return -1;
}

static void
log_lost (struct sender *sender, uint64_t lost)
{
  int64_t now_ns = clock_monotonic ();

  if (!lost || (sender->lost_logged_ns && now_ns < sender->lost_logged_ns + REFUSED_LOG_EVERY))
    return;
  log_warning ("send %s: the history deleted %" PRIu64 " chunks before they were sent, and all such are counted: its "
               "max_age or max_size is less than what waits",
               sender->name, lost);
  sender->lost_logged_ns = now_ns;
}

static void
count_window (struct sender *sender)
{
  const struct chunk_list *list = &sender->window.list;
  int64_t first = list->count ? list->rows[0].id : sender->place.chunk + 1;
  uint64_t lost = (uint64_t) (first - sender->place.chunk - 1);

  log_lost (sender, lost);
  sender_count_waiting (sender);
  pthread_mutex_lock (&sender->mutex);
  sender->counts.broken += sender->window.broken;
  sender->counts.lost += lost;
  sender->counts.oldest_ns = list->count ? list->rows[0].first_time : 0;
  sender->counts.live = list->count == 0;
  pthread_mutex_unlock (&sender->mutex);
  sender->window.broken = 0;
}

static void
note_place (struct sender *sender, const struct history_place *place)
{
  int64_t now_ns = clock_monotonic ();

  if (sender->back[0].at_ns && now_ns < sender->back[0].at_ns + sender->options->repeat_ns)
    return;
  sender->back[1] = sender->back[0];
  sender->back[0].at_ns = now_ns;
  sender->back[0].place = *place;
  if (!sender->back[1].at_ns)
    sender->back[1] = sender->back[0];
}

/* A receiver that was killed may have lost what it took last. */
static int
go_back (struct sender *sender)
{
  if (!sender->gone || !sender->options->repeat_ns)
    return 0;
  sender->gone = false;
  sender->place = sender->back[1].place;
  sender->back[0] = sender->back[1];
  log_info ("send %s: what was taken in the last %.0f s is sent once more", sender->name,
            (double) sender->options->repeat_ns / NS_PER_S);
  return save_place (sender) < 0 ? -1 : 1;
}

/* Is what waits to be gathered on? Not when there is much of it. */
static bool
is_gathering (struct sender *sender)
{
  int64_t gather = send_gather (sender->options), now = gather ? clock_wall () / gather : 0;

  if (!gather || sender->window.list.count == SEND_WINDOW_CHUNKS || sender->place.time_ns != INT64_MIN)
    return false;
  if (now == sender->gathered)
    return true;
  sender->gathered = now;
  return false;
}

/* How long to rest now. */
static int64_t
take_turn (struct sender *sender)
{
  struct error error;
  struct history_place before;
  int64_t settled_ns;
  bool sent;

  pthread_mutex_lock (&sender->mutex);
  settled_ns = sender->settled_ns;
  pthread_mutex_unlock (&sender->mutex);
  if (sender_open_file (sender, &error) < 0 ||
      send_window_load (&sender->window, sender->file, &sender->node_globs, send_period (sender->options),
                        &sender->place, &error) < 0) {
    sender_begin_failing (sender, error.text);
    return OPEN_EVERY;
  }
  count_window (sender);
  if (sender->window.list.count == 0) {
    if (sender->type->rest)
      sender->type->rest (sender->type_state);
    return send_gone (sender, settled_ns) < 0 ? OPEN_EVERY : LOOK_EVERY;
  }
  before = sender->place;
  before.until = before.chunk;
  if (is_gathering (sender)) {
    sender->place = before;
    return LOOK_EVERY;
  }
  note_place (sender, &before);
  sent = save_place (sender) == 0 && send_window (sender) == 0;
  if (sent && go_back (sender) == 0)
    return 0;
  sender_close_file (sender); /* what was noted of nodes is not what was sent */
  return sent ? 0 : OPEN_EVERY;
}

void *
sender_run (void *context)
{
  struct sender *sender = context;
  bool left;

  while (sender_rest (sender, take_turn (sender)))
    ;
  sender->type->close (sender->type_state); /* here, since children end with the thread */
  pthread_mutex_lock (&sender->mutex);
  sender->ended = true;
  left = sender->left;
  pthread_cond_signal (&sender->over);
  pthread_mutex_unlock (&sender->mutex);
  if (left)
    sender_free (sender);
  return NULL;
}
