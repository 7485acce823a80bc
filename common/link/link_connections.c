/* Whose connection is which, so that no key takes more than its share of them.
 *
 * libzmq tells of a connection in three ways, and never all of it at once: its monitor says the descriptor (it began, it
 * ended), ZAP says key and address (may it come in?), a message says key and descriptor (ZMQ_SRCFD). So an admission is
 * laid to the oldest connection of its address that has none yet. Where nodes have addresses of their own that is right.
 * Where several share one it is a guess, and the first message says for certain: then the two connections that were
 * mistaken for each other change their owners. And when one ends that never spoke, then rather one of those that were
 * refused, or said nothing at all, was taken for it: the admission goes on to such a one. Each admission has a serial number, which comes with the messages of its
 * connection in the User-Id, "KEY NUMBER".
 *
 * libzmq cannot end a connection. But its descriptor is ours: shut down, it reads as ended, and libzmq closes it. What is
 * ended so:
 * - what still has no owner when the handshake's time is long over;
 * - the one of a key that was silent for longest, for a new one of that key: what a cut cable left behind. Where all were
 *   heard lately it is the new one that is refused;
 * - the oldest without an owner, else the newest, where all together are over their bound: descriptors must be left for
 *   the history, the keys and those who ask for the status. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/link/link_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define SILENT_NS (60 * NS_PER_S) /* longer than the pause between an agent's probes */
#define OWNER_SLACK_NS (2 * NS_PER_S)
#define NONE (-1)

static struct link_connection *
connection_of (struct link_connections *connections, int fd)
{
  return fd >= 0 && (size_t) fd < connections->capacity && connections->at[fd].used ? &connections->at[fd] : NULL;
}

static int
fd_of (const struct link_connections *connections, const struct link_connection *connection)
{
  return (int) (connection - connections->at);
}

/* ---- addresses ---- */

static bool
address_read (const struct sockaddr_storage *from, struct link_address *address)
{
  const struct sockaddr_in *four = (const struct sockaddr_in *) from;
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *) from;

  *address = (struct link_address){ .ip = { [10] = 0xff, [11] = 0xff } };
  if (from->ss_family == AF_INET) {
    memcpy (address->ip + 12, &four->sin_addr, 4);
    address->port = four->sin_port;
  } else if (from->ss_family == AF_INET6) {
    memcpy (address->ip, &six->sin6_addr, 16);
    address->port = six->sin6_port;
  }
  return from->ss_family == AF_INET || from->ss_family == AF_INET6;
}

static bool
address_of_fd (int fd, struct link_address *address)
{
  struct sockaddr_storage peer = { 0 };
  socklen_t length = sizeof peer;

  return getpeername (fd, (struct sockaddr *) &peer, &length) == 0 && address_read (&peer, address);
}

/* As getnameinfo writes it; what stands behind a '%' is of this host. */
static bool
address_of_text (const char *text, struct link_address *address)
{
  char plain[INET6_ADDRSTRLEN] = "";
  struct sockaddr_storage peer = { 0 };
  size_t length = strcspn (text, "%");

  if (length >= sizeof plain)
    return false;
  memcpy (plain, text, length);
  if (inet_pton (AF_INET, plain, &((struct sockaddr_in *) &peer)->sin_addr) == 1)
    peer.ss_family = AF_INET;
  else if (inet_pton (AF_INET6, plain, &((struct sockaddr_in6 *) &peer)->sin6_addr) == 1)
    peer.ss_family = AF_INET6;
  return address_read (&peer, address);
}

/* ---- those without an owner: a list, the oldest first ---- */

static void
unowned_append (struct link_connections *connections, struct link_connection *connection, int64_t now_ns)
{
  int fd = fd_of (connections, connection);

  connection->unowned = true;
  connection->unowned_ns = now_ns;
  connection->next = NONE;
  connection->previous = connections->newest;
  if (connections->newest == NONE)
    connections->oldest = fd;
  else
    connections->at[connections->newest].next = fd;
  connections->newest = fd;
}

static void
unowned_remove (struct link_connections *connections, struct link_connection *connection)
{
  if (!connection->unowned)
    return;
  connection->unowned = false;
  if (connection->previous == NONE)
    connections->oldest = connection->next;
  else
    connections->at[connection->previous].next = connection->next;
  if (connection->next == NONE)
    connections->newest = connection->previous;
  else
    connections->at[connection->next].previous = connection->previous;
}

/* ---- owners ---- */

static void
give (struct link_connections *connections, struct link_connection *connection, struct link_user *user, uint64_t serial)
{
  struct link_user_share *share = &user->shares[connection->channel];

  unowned_remove (connections, connection);
  connection->user = user;
  connection->serial = serial;
  share->fds[share->count++] = fd_of (connections, connection);
}

static void
take_away (struct link_connections *connections, struct link_connection *connection)
{
  struct link_user_share *share;
  size_t i = 0;

  if (!connection->user)
    return;
  share = &connection->user->shares[connection->channel];
  while (share->fds[i] != fd_of (connections, connection))
    i++;
  share->fds[i] = share->fds[--share->count];
  connection->user = NULL;
  connection->serial = 0;
}

static struct link_connection *
with_serial (struct link_connections *connections, const struct link_user_share *share, uint64_t serial)
{
  for (size_t i = 0; i < share->count; i++)
    if (connections->at[share->fds[i]].serial == serial)
      return &connections->at[share->fds[i]];
  return NULL;
}

static struct link_connection *
silent_longest (struct link_connections *connections, const struct link_user_share *share)
{
  struct link_connection *found = &connections->at[share->fds[0]];

  for (size_t i = 1; i < share->count; i++)
    if (connections->at[share->fds[i]].heard_ns < found->heard_ns)
      found = &connections->at[share->fds[i]];
  return found;
}

/* ---- ending ---- */

/* libzmq may have closed the descriptor already, and it may be something else by now: so it is looked at through another
 * one, which nobody closes meanwhile, as long as there are any. Its end is told by the monitor. */
static void
end (struct link_connections *connections, struct link_connection *connection)
{
  struct link_address address;
  int copy = dup (fd_of (connections, connection)), fd = copy < 0 ? fd_of (connections, connection) : copy;

  take_away (connections, connection);
  unowned_remove (connections, connection);
  connections->ending += !connection->ending;
  connection->ending = true;
  if (address_of_fd (fd, &address) && memcmp (&address, &connection->address, sizeof address) == 0)
    shutdown (fd, SHUT_RDWR);
  if (copy >= 0)
    close (copy);
}

static void
make_room (struct link_server *link, struct link_connection *newest)
{
  struct link_connections *connections = &link->connections;
  struct link_connection *one = connections->oldest == NONE ? newest : &connections->at[connections->oldest];

  if (connections->max == 0 || connections->count - connections->ending <= connections->max)
    return;
  end (connections, one);
  link_count (&link->tally.connections_ended);
}

int64_t
link_connections_tidy (struct link_server *link, int64_t now_ns)
{
  struct link_connections *connections = &link->connections;

  while (connections->oldest != NONE) {
    struct link_connection *oldest = &connections->at[connections->oldest];
    int64_t due_ns = oldest->unowned_ns + connections->handshake_ns + OWNER_SLACK_NS;

    if (now_ns < due_ns)
      return due_ns;
    end (connections, oldest);
    link_count (&link->tally.connections_ended);
  }
  return INT64_MAX;
}

/* ---- what libzmq tells ---- */

void
link_connections_init (struct link_connections *connections, size_t max, int64_t handshake_ns)
{
  *connections = (struct link_connections){ .oldest = NONE, .newest = NONE, .max = max, .handshake_ns = handshake_ns };
}

void
link_connections_free (struct link_connections *connections)
{
  free (connections->at);
  free (connections->open);
}

/* The oldest without an owner of an address, refused or not, that began before the admission of that number; or NULL. */
static struct link_connection *
oldest_of (struct link_connections *connections, enum link_channel channel, const struct link_address *address,
           bool refused, uint64_t serial)
{
  for (int fd = connections->oldest; fd != NONE; fd = connections->at[fd].next) {
    struct link_connection *connection = &connections->at[fd];

    if (connection->channel == channel && connection->refused == refused && connection->first_serial <= serial &&
        memcmp (connection->address.ip, address->ip, sizeof address->ip) == 0)
      return connection;
  }
  return NULL;
}

/* A connection has ended. */
static void
forget (struct link_connections *connections, struct link_connection *connection)
{
  struct link_user *user = connection->certain ? NULL : connection->user;
  uint64_t serial = connection->serial;
  struct link_connection *rather = NULL;

  for (int i = 0; user && !rather && i < 2; i++)
    rather = oldest_of (connections, connection->channel, &connection->address, i == 0, serial);
  take_away (connections, connection);
  if (rather) {
    give (connections, rather, user, serial);
    rather->refused = false;
  }
  unowned_remove (connections, connection);
  connections->ending -= connection->ending;
  connections->count--;
  connection->used = false;
}

/* A connection of a descriptor began (1) or ended (-1). True when more began than ended: libzmq's threads may tell the end
 * first. */
static bool
told (struct link_connections *connections, enum link_channel channel, int fd, int change)
{
  if (fd < 0)
    return false;
  if ((size_t) fd >= connections->capacity) {
    size_t before = connections->capacity, capacity = ((size_t) fd + 1) * 2;

    connections->at = memory_resize (connections->at, capacity, sizeof connections->at[0]);
    memset (connections->at + before, 0, (capacity - before) * sizeof connections->at[0]);
    connections->open = memory_resize (connections->open, capacity, sizeof connections->open[0]);
    memset (connections->open + before, 0, (capacity - before) * sizeof connections->open[0]);
    connections->capacity = capacity;
  }
  connections->open[fd][channel] += change;
  return connections->open[fd][channel] > 0;
}

void
link_connection_began (struct link_server *link, enum link_channel channel, int fd)
{
  struct link_connections *connections = &link->connections;
  struct link_connection *connection;
  int64_t now_ns = clock_monotonic ();

  if (!told (connections, channel, fd, 1))
    return; /* its end was told before */
  connection = connection_of (connections, fd);
  if (connection)
    forget (connections, connection); /* it ended on the other port, whose monitor was not read yet */
  connection = &connections->at[fd];
  *connection = (struct link_connection){
    .used = true, .channel = channel, .heard_ns = now_ns, .first_serial = connections->serial + 1
  };
  address_of_fd (fd, &connection->address);
  connections->count++;
  unowned_append (connections, connection, now_ns);
  make_room (link, connection);
}

bool
link_connection_ended (struct link_server *link, enum link_channel channel, int fd)
{
  struct link_connections *connections = &link->connections;
  struct link_connection *connection = connection_of (connections, fd);

  told (connections, channel, fd, -1);
  if (connection && connection->channel == channel)
    forget (connections, connection);
  return fd < 0 || connections->open[fd][channel] >= 0;
}

/* The one that ZAP is asked about. */
static struct link_connection *
asks (struct link_connections *connections, enum link_channel channel, const char *text)
{
  struct link_address address;

  return address_of_text (text, &address) ? oldest_of (connections, channel, &address, false, UINT64_MAX) : NULL;
}

void
link_connection_refused (struct link_server *link, enum link_channel channel, const char *address)
{
  struct link_connection *connection = asks (&link->connections, channel, address);

  if (connection)
    connection->refused = true; /* libzmq ends it */
}

uint64_t
link_connection_admit (struct link_server *link, enum link_channel channel, const char *address, struct link_user *user)
{
  struct link_connections *connections = &link->connections;
  struct link_user_share *share = &user->shares[channel];
  struct link_connection *connection = asks (connections, channel, address);
  int64_t now_ns = clock_monotonic ();

  if (share->count == LINK_KEY_CONNECTIONS) {
    struct link_connection *silent = silent_longest (connections, share);

    if (now_ns - silent->heard_ns < SILENT_NS) {
      if (connection)
        connection->refused = true;
      return 0;
    }
    end (connections, silent);
  }
  connections->serial++;
  if (connection) {
    connection->heard_ns = now_ns;
    give (connections, connection, user, connections->serial);
  }
  return connections->serial;
}

/* The connection is that of a message: it and the one that was taken for it change their owners. */
static void
mend (struct link_server *link, struct link_connection *connection, struct link_user *user, uint64_t serial)
{
  struct link_connections *connections = &link->connections;
  struct link_connection *mistaken = with_serial (connections, &user->shares[connection->channel], serial);
  struct link_user *other = connection->user;
  uint64_t other_serial = connection->serial;

  take_away (connections, connection);
  if (mistaken) {
    take_away (connections, mistaken);
    if (other)
      give (connections, mistaken, other, other_serial);
    else
      unowned_append (connections, mistaken, clock_monotonic ());
  }
  if (user->shares[connection->channel].count < LINK_KEY_CONNECTIONS) {
    give (connections, connection, user, serial);
    return;
  }
  end (connections, connection); /* what was taken for it ended, and others of this key came */
  link_count (&link->tally.connections_ended);
}

void
link_connection_heard (struct link_server *link, enum link_channel channel, int fd, struct link_user *user,
                       uint64_t serial, int64_t now_ns)
{
  struct link_connection *connection = connection_of (&link->connections, fd);

  /* A message may be of a connection that had the descriptor before. */
  if (!connection || connection->channel != channel || connection->ending || serial < connection->first_serial)
    return;
  if (connection->serial != serial) {
    if (connection->certain)
      return;
    mend (link, connection, user, serial);
  }
  connection->certain = true;
  connection->heard_ns = now_ns;
}
