/* What goes from thread to thread: received messages one way, answers the other. Both are lists under a lock with an
 * eventfd, and both are bounded, since libzmq has no bound (see link_server.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/link/link_private.h"
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
  queue->end = &queue->first;
  pthread_mutex_init (&queue->lock, NULL);
  queue->fd = link_eventfd (error);
  return queue->fd < 0 ? -1 : 0;
}

void
link_queue_free (struct link_queue *queue)
{
  if (!queue->end)
    return; /* was never begun */
  while (queue->first) {
    struct link_entry *entry = queue->first;
    queue->first = entry->next;
    link_entry_destroy (entry);
  }
  file_close (&queue->fd);
  pthread_mutex_destroy (&queue->lock);
}

static size_t
cost (struct link_entry *entry)
{
  return zmq_msg_size (&entry->message) + sizeof *entry;
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
    user->queued_messages++;
    user->queued_bytes += bytes;
    queue->messages++;
    queue->bytes += bytes;
    queue->loud |= !entry->quiet;
    entry->next = NULL;
    *queue->end = entry;
    queue->end = &entry->next;
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
  pthread_mutex_lock (&queue->lock);
  for (; max > 0 && queue->first; max--) {
    struct link_entry *entry = queue->first;
    size_t bytes = cost (entry);
    queue->first = entry->next;
    queue->messages--;
    queue->bytes -= bytes;
    entry->user->queued_messages--;
    entry->user->queued_bytes -= bytes;
    *end = entry;
    end = &entry->next;
  }
  *end = NULL;
  if (!queue->first) {
    queue->end = &queue->first;
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
