/* The socket at which libkineto registers and asks. Who sends is known from the kernel; what it says of itself is a claim,
 * and a process speaks for itself alone. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/traces/kineto_messages.h"
#include "agent/traces/traces_private.h"
#include "synop/clock.h"
#include "synop/file.h"
#include "synop/log.h"

#define AGAIN_NS (10 * NS_PER_S) /* until a name is tried again that another program has */
#define TURN_MOST 64             /* datagrams before other events have their turn */
#define SLICE_NS (100 * NS_PER_MS)
#define SLICE_MOST 2000 /* in a slice; the rest of it no datagram is read */

struct sender {
  struct ucred who;
  struct asking_user *user;
  struct sockaddr_un address;
  socklen_t length;
};

/* ---- the socket ---- */

/* As libkineto spells it: an abstract name ends with a NUL that is a part of it. */
static socklen_t
make_address (struct sockaddr_un *address, const char *name, struct error *error)
{
  size_t length = strlen (name);
  bool abstract = name[0] == '@';

  *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
  if (length < 2 || length >= sizeof address->sun_path || (!abstract && name[0] != '/')) {
    error_set (error, "[traces] socket: \"%.100s\" is neither an absolute path nor @NAME, of at most %zu bytes", name,
               sizeof address->sun_path - 1);
    return 0;
  }
  memcpy (address->sun_path, name, length);
  if (abstract)
    address->sun_path[0] = 0;
  return (socklen_t) (offsetof (struct sockaddr_un, sun_path) + length + 1);
}

/* A socket of an agent that has ended may be left there. */
static int
clear_path (const struct sockaddr_un *address, socklen_t length, struct error *error)
{
  int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool lives = fd >= 0 && connect (fd, (const struct sockaddr *) address, length) == 0;
  struct stat status;

  file_close (&fd);
  if (lives)
    return error_set (error, "[traces] socket %s: another program listens there", address->sun_path);
  if (lstat (address->sun_path, &status) == 0 && S_ISSOCK (status.st_mode))
    unlink (address->sun_path);
  return 0;
}

/* Others may write into its folder, and put something else in its place meanwhile: no link is followed. */
static int
settle_path (const struct traces *traces, const char *path)
{
  int fd = open (path, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = -1;
  struct stat status;
  char place[64];

  snprintf (place, sizeof place, "/proc/self/fd/%d", fd);
  if (fd >= 0 && fstat (fd, &status) == 0 && S_ISSOCK (status.st_mode) &&
      (!traces->has_group || fchownat (fd, "", (uid_t) -1, traces->group, AT_EMPTY_PATH) == 0))
    rc = chmod (place, traces->has_group ? 0660 : 0666);
  file_close (&fd);
  return rc;
}

static int
open_at (struct traces *traces, const struct sockaddr_un *address, socklen_t length, struct error *error)
{
  const char *name = traces->settings.socket;
  int yes = 1;

  if (traces->is_path && clear_path (address, length, error) < 0)
    return -1;
  traces->socket = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (traces->socket >= 0 && setsockopt (traces->socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
      bind (traces->socket, (const struct sockaddr *) address, length) == 0 &&
      (!traces->is_path || settle_path (traces, name) == 0))
    return 0;
  error_set (error, "[traces] socket %s: %s%s", name, strerror (errno),
             errno == EADDRINUSE ? "; another program, such as dynolog's daemon, has that name" : "");
  file_close (&traces->socket);
  return -1;
}

int
traces_socket_open (struct traces *traces, struct error *error)
{
  struct sockaddr_un address;
  socklen_t length = make_address (&address, traces->settings.socket, error);
  bool known = traces->no_socket.text[0];

  if (!length)
    return -1;
  traces->is_path = traces->settings.socket[0] == '/';
  if (open_at (traces, &address, length, &traces->no_socket) == 0)
    traces->no_socket.text[0] = 0;
  else if (!known)
    log_error ("%s; tried again every 10 s", traces->no_socket.text);
  return 0;
}

void
traces_socket_close (struct traces *traces)
{
  if (traces->socket >= 0 && traces->is_path)
    unlink (traces->settings.socket);
  file_close (&traces->socket);
}

/* ---- who sends ---- */

/* Its length; -1: none is there; 0: it is not to be answered. Descriptors that come along find no room, and are dropped. */
static ssize_t
receive (const struct traces *traces, char bytes[KINETO_DATAGRAM_MAX], struct sender *sender)
{
  char control[CMSG_SPACE (sizeof (struct ucred))] __attribute__ ((aligned));
  struct iovec part = { bytes, KINETO_DATAGRAM_MAX };
  struct msghdr message = { .msg_name = &sender->address,
                            .msg_namelen = sizeof sender->address,
                            .msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof control };
  ssize_t got = recvmsg (traces->socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  const struct cmsghdr *header;

  if (got < 0)
    return -1;
  header = CMSG_FIRSTHDR (&message);
  if (message.msg_flags & MSG_TRUNC || !header || header->cmsg_level != SOL_SOCKET ||
      header->cmsg_type != SCM_CREDENTIALS || message.msg_namelen <= offsetof (struct sockaddr_un, sun_path))
    return 0;
  memcpy (&sender->who, CMSG_DATA (header), sizeof sender->who);
  sender->length = message.msg_namelen;
  return got;
}

/* An answer goes to an abstract name, or to the socket that the sender's user has made beside ours: processes in containers
 * may call that folder otherwise. Never through a link. */
static bool
settle_address (const struct traces *traces, struct sender *sender)
{
  char *path = sender->address.sun_path;
  const char *own = traces->settings.socket, *name;
  char beside[sizeof sender->address.sun_path];
  struct stat status;

  if (!path[0] || !traces->is_path)
    return !path[0];
  name = memchr (path, 0, sizeof sender->address.sun_path) ? strrchr (path, '/') : NULL;
  if (!name ||
      (size_t) snprintf (beside, sizeof beside, "%.*s%s", (int) (strrchr (own, '/') - own), own, name) >= sizeof beside)
    return false;
  strcpy (path, beside);
  sender->length = (socklen_t) (offsetof (struct sockaddr_un, sun_path) + strlen (path) + 1);
  return lstat (path, &status) == 0 && S_ISSOCK (status.st_mode) && status.st_uid == sender->who.uid;
}

static bool
send_by (int fd, const struct sender *sender, const void *bytes, size_t length)
{
  return sendto (fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *) &sender->address,
                 sender->length) >= 0;
}

/* Answers that a user does not read stay with the socket that they were sent by, until it has no room for those of others. It
 * has an abstract name, of the kernel's choice: libkineto takes no answer from a socket without one. */
static int
own_socket (struct asking_user *user)
{
  const struct sockaddr_un none = { .sun_family = AF_UNIX };
  int fd = user->socket;

  if (fd)
    return fd;
  fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && bind (fd, (const struct sockaddr *) &none, sizeof none.sun_family) < 0)
    file_close (&fd);
  user->socket = fd > 0 ? fd : 0;
  return fd;
}

/* False: it is lost. */
static bool
answer (const struct traces *traces, struct sender *sender, enum kineto_kind kind, const void *payload, size_t length)
{
  char bytes[KINETO_HEAD + KINETO_ANSWER_MAX];
  size_t size = kineto_write (bytes, kind, payload, length);

  if (!settle_address (traces, sender))
    return false;
  if (send_by (traces->socket, sender, bytes, size) ||
      (errno == EAGAIN && send_by (own_socket (sender->user), sender, bytes, size)))
    return true;
  log_debug ("traces: process %d cannot be answered: %s", (int) sender->who.pid, strerror (errno));
  return false;
}

/* ---- registering ---- */

static void
ask_rank (struct traces *traces, struct registered *registered)
{
  struct worker_query query = { .pid = registered->peer.pid, .start = registered->peer.start };

  if (registered->rank_asked || !job_worker_ask (traces->ranks, &query))
    return;
  registered->rank_asked = true;
  traces->ranks_open++;
  traces_tick_soon (traces);
}

static void
find_ancestors (struct traces *traces, struct registered *registered)
{
  struct traces_process *process = &registered->process;
  struct peer at = registered->peer;

  while (process->ancestor_count < TRACES_ANCESTORS && at.parent > 1 && peer_read (&traces->files, at.parent, &at) &&
         at.uid == process->uid)
    process->ancestors[process->ancestor_count++] = at.pid;
}

static struct registered *
add (struct traces *traces, const struct peer *peer)
{
  struct registered *added = registry_add (&traces->registry, peer);

  if (!added) {
    registry_prune (&traces->registry, &traces->files);
    added = registry_add (&traces->registry, peer);
  }
  if (added)
    find_ancestors (traces, added);
  return added;
}

/* NULL: it is not to be traced, or not what it says. */
static struct registered *
find_or_add (struct traces *traces, const struct sender *sender, const struct kineto_message *message)
{
  struct registered *known = registry_find (&traces->registry, sender->who.pid);
  struct peer peer;

  if (known && known->peer.uid == sender->who.uid && peer_is_alive (&traces->files, known->peer.pid, known->peer.start))
    return !message->pid || peer_calls_itself (&known->peer, message->pid) ? known : NULL;
  if (!peer_read (&traces->files, sender->who.pid, &peer) || peer.uid != sender->who.uid ||
      (message->pid && !peer_calls_itself (&peer, message->pid)) || !traces_permit (traces, &peer))
    return NULL;
  pthread_mutex_lock (&traces->lock);
  if (known)
    registry_prune (&traces->registry, &traces->files);
  known = registry_find (&traces->registry, peer.pid) ? NULL : add (traces, &peer);
  pthread_mutex_unlock (&traces->lock);
  if (known)
    log_debug ("traces: process %d (%s) of user %u has registered", (int) peer.pid, peer.command, (unsigned) peer.uid);
  return known;
}

static void
take (struct traces *traces, struct sender *sender, const struct kineto_message *message)
{
  struct registered *known = find_or_add (traces, sender, message);
  char text[KINETO_ANSWER_MAX];
  int32_t count;

  if (!known)
    return;
  ask_rank (traces, known);
  if (message->kind == KINETO_REQUEST) {
    struct trace_task *task = NULL;
    size_t length = message->activities ? trace_task_fetch (traces, &known->peer, text, &task) : 0;

    if (answer (traces, sender, KINETO_REQUEST, text, length) && length)
      task->fetched = true;
    return;
  }
  pthread_mutex_lock (&traces->lock);
  known->process.device = message->gpu;
  count = (int32_t) registry_count_device (&traces->registry, known->process.uid, message->gpu);
  pthread_mutex_unlock (&traces->lock);
  answer (traces, sender, KINETO_CONTEXT, &count, sizeof count);
}

/* ---- in the loop ---- */

/* False: enough for this slice. */
static bool
within_slice (struct traces *traces, int64_t now_ns)
{
  if (now_ns - traces->slice_ns >= SLICE_NS) {
    traces->slice_ns = now_ns;
    traces->slice_taken = 0;
  }
  return traces->slice_taken++ < SLICE_MOST;
}

static void
take_datagrams (void *context, uint32_t events)
{
  struct traces *traces = context;
  char bytes[KINETO_DATAGRAM_MAX];

  (void) events;
  for (int i = 0; i < TURN_MOST; i++) {
    int64_t now_ns = clock_monotonic ();
    struct kineto_message message;
    struct sender sender;
    ssize_t got;

    if (!within_slice (traces, now_ns)) {
      loop_watch_change (traces->socket_watch, 0);
      loop_timer_set (traces->resume, traces->slice_ns + SLICE_NS);
      return;
    }
    got = receive (traces, bytes, &sender);
    if (got < 0)
      return;
    if (kineto_read (&message, bytes, (size_t) got) &&
        (sender.user = registry_may_ask (&traces->registry, sender.who.uid, now_ns)))
      take (traces, &sender, &message);
  }
}

bool
traces_socket_there (struct traces *traces)
{
  struct error error;

  if (traces->socket < 0 && traces_socket_open (traces, &error) == 0 && traces->socket >= 0)
    log_info ("[traces] socket %s: processes can register now", traces->settings.socket);
  if (traces->socket >= 0 && !traces->socket_watch)
    traces->socket_watch = loop_watch_add (traces->loop, traces->socket, EPOLLIN, take_datagrams, traces);
  return traces->socket >= 0;
}

/* After a pause, or without a socket so far. */
static void
resume (void *context, int64_t due_ns)
{
  struct traces *traces = context;

  if (traces_socket_there (traces))
    loop_watch_change (traces->socket_watch, EPOLLIN);
  else
    loop_timer_set (traces->resume, due_ns + AGAIN_NS);
}

void
traces_socket_start (struct traces *traces)
{
  traces->resume = loop_timer_add (traces->loop, resume, traces);
  resume (traces, clock_monotonic ());
}

void
traces_socket_stop (struct traces *traces)
{
  loop_timer_remove (traces->resume);
  loop_watch_remove (traces->socket_watch);
}
