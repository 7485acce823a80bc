/* What goes from thread to thread: received messages one way, answers the other. Both are lists under a lock with an
 * eventfd, and both are bounded, since libzmq has no bound (see link_server.c).
 *
 * Of the messages each user has a list, and users take turns: what one sends waits for one message of each other,
 * however many of theirs wait and however long each takes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/link/link_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/memory.h"

#define SHARE                                                                                                          \
  4 /* one user may fill this part of the queue: a flood of one agent does not displace the others' messages */
#define OUTBOX_MESSAGES 16384
#define OUTBOX_BYTES (8 * 1024 * 1024)

struct link_entry *
link_entry_create (void)
{
  struct link_entry *entry = memory_new (1, sizeof *entry);
  zmq_msg_init (&entry->message);
  return entry;
}

void
link_entry_destroy (struct link_entry *entry)
{
  if (!entry)
    return;
  zmq_msg_close (&entry->message);
  free (entry);
}

int
link_eventfd (struct error *error)
{
  int fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0)
    error_set (error, "eventfd: %s", strerror (errno));
  return fd;
}

void
link_eventfd_raise (int fd)
{
  uint64_t one = 1;
  ssize_t written = write (fd, &one, sizeof one); /* fails only at the counter's maximum */
  (void) written;
}

void
link_eventfd_lower (int fd)
{
  uint64_t sum;
  ssize_t got = read (fd, &sum, sizeof sum); /* fails when the counter is 0 */
  (void) got;
}

static size_t
at_least (size_t value, size_t least)
{
  return value > least ? value : least;
}

int
link_queue_init (struct link_queue *queue, size_t bytes, size_t messages, size_t message_max, struct error *error)
{
  size_t largest = message_max + sizeof (struct link_entry);
  *queue = (struct link_queue){ .messages_max = at_least (messages, 1), .bytes_max = at_least (bytes, largest) };
  queue->user_messages_max = at_least (queue->messages_max / SHARE, 1);
  queue->user_bytes_max = at_least (queue->bytes_max / SHARE, largest);
  TAILQ_INIT (&queue->users);
  pthread_mutex_init (&queue->lock, NULL);
  queue->fd = link_eventfd (error);
  return queue->fd < 0 ? -1 : 0;
}

static size_t
cost (struct link_entry *entry)
{
  return zmq_msg_size (&entry->message) + sizeof *entry;
}

static void
add (struct link_queue *queue, struct link_entry *entry)
{
  struct link_user *user = entry->user;

  entry->next = NULL;
  entry->ready_ns = entry->received_ns;
  if (user->queued_messages++ == 0) {
    user->queued_end = &user->queued;
    TAILQ_INSERT_TAIL (&queue->users, user, by_turn);
    queue->user_count++;
  }
  *user->queued_end = entry;
  user->queued_end = &entry->next;
  user->queued_bytes += cost (entry);
  queue->messages++;
  queue->bytes += cost (entry);
}

/* The first message of the user whose turn it is; the next turn is that of the others. */
static struct link_entry *
take_turn (struct link_queue *queue, int64_t now_ns)
{
  struct link_user *user = TAILQ_FIRST (&queue->users);
  struct link_entry *entry = user->queued;

  user->queued = entry->next;
  user->queued_bytes -= cost (entry);
  queue->messages--;
  queue->bytes -= cost (entry);
  TAILQ_REMOVE (&queue->users, user, by_turn);
  if (--user->queued_messages == 0) {
    queue->user_count--;
  } else {
    TAILQ_INSERT_TAIL (&queue->users, user, by_turn);
    user->queued->ready_ns = now_ns;
  }
  entry->next = NULL;
  return entry;
}

void
link_queue_free (struct link_queue *queue)
{
  if (queue->messages_max == 0)
    return; /* was never begun */
  while (!TAILQ_EMPTY (&queue->users))
    link_entry_destroy (take_turn (queue, 0));
  file_close (&queue->fd);
  pthread_mutex_destroy (&queue->lock);
}

enum link_pushed
link_queue_push (struct link_queue *queue, struct link_entry *entry)
{
  struct link_user *user = entry->user;
  size_t bytes = cost (entry);
  enum link_pushed result = LINK_PUSHED;
  pthread_mutex_lock (&queue->lock);
  if (user->queued_messages >= queue->user_messages_max || user->queued_bytes + bytes > queue->user_bytes_max)
    result = LINK_USER_FULL;
  else if (queue->messages >= queue->messages_max || queue->bytes + bytes > queue->bytes_max)
    result = LINK_FULL;
  else {
    queue->loud |= !entry->quiet;
    add (queue, entry);
  }
  pthread_mutex_unlock (&queue->lock);
  return result;
}

void
link_queue_wake (struct link_queue *queue)
{
  pthread_mutex_lock (&queue->lock);
  bool raise = queue->loud && !queue->raised;
  if (raise) {
    queue->raised = true;
    link_eventfd_raise (queue->fd);
  }
  pthread_mutex_unlock (&queue->lock);
}

struct link_entry *
link_queue_take (struct link_queue *queue, size_t max)
{
  struct link_entry *list = NULL, **end = &list;
  int64_t now_ns = clock_monotonic ();
  pthread_mutex_lock (&queue->lock);
  for (size_t left = queue->user_count < max ? queue->user_count : max; left > 0; left--) {
    *end = take_turn (queue, now_ns);
    end = &(*end)->next;
  }
  if (queue->user_count == 0) {
    if (queue->raised)
      link_eventfd_lower (queue->fd);
    queue->raised = queue->loud = false;
  }
  pthread_mutex_unlock (&queue->lock);
  return list;
}

void
link_outbox_init (struct link_outbox *outbox)
{
  *outbox = (struct link_outbox){ 0 };
  outbox->end = &outbox->first;
  pthread_mutex_init (&outbox->lock, NULL);
}

void
link_outbox_free (struct link_outbox *outbox)
{
  while (outbox->first) {
    struct link_answer *answer = outbox->first;
    outbox->first = answer->next;
    free (answer);
  }
  pthread_mutex_destroy (&outbox->lock);
}

int
link_outbox_push (struct link_outbox *outbox, const uint8_t *routing, size_t routing_length, const void *bytes,
                  size_t length)
{
  if (routing_length > LINK_ROUTING_MAX || length > OUTBOX_BYTES)
    return -1;
  struct link_answer *answer = memory_new (1, sizeof *answer + length);
  answer->routing_length = routing_length;
  memcpy (answer->routing, routing, routing_length);
  answer->length = length;
  memcpy (answer->bytes, bytes, length);

  pthread_mutex_lock (&outbox->lock);
  int result = outbox->first ? 0 : 1;
  if (outbox->messages >= OUTBOX_MESSAGES || outbox->bytes + length > OUTBOX_BYTES)
    result = -1;
  else {
    outbox->messages++;
    outbox->bytes += length;
    *outbox->end = answer;
    outbox->end = &answer->next;
  }
  pthread_mutex_unlock (&outbox->lock);
  if (result < 0)
    free (answer);
  return result;
}

struct link_answer *
link_outbox_take (struct link_outbox *outbox)
{
  pthread_mutex_lock (&outbox->lock);
  struct link_answer *list = outbox->first;
  outbox->first = NULL;
  outbox->end = &outbox->first;
  outbox->bytes = outbox->messages = 0;
  pthread_mutex_unlock (&outbox->lock);
  return list;
}
