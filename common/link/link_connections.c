/* Whose connection is which, so that no key takes more than its share of them.
 *
 * libzmq tells of a connection in three ways, and never all of it at once: its monitor says the descriptor (it began, it
 * ended), ZAP says key and address (may it come in?), a message says key and descriptor (ZMQ_SRCFD). So an admission is
 * laid to the oldest connection of its address that has none yet. Where nodes have addresses of their own that is right.
 * Where several share one it is a guess, and the first message says for certain: then the two connections that were
 * mistaken for each other change their owners. And when one ends that never spoke, then rather one of those that were
 * refused, or said nothing at all, was taken for it: the admission goes on to such a one. Each admission has a serial
 * number, which comes with the messages of its connection in the User-Id, "KEY NUMBER".
 *
 * libzmq cannot end a connection. But its descriptor is ours: shut down, it reads as ended, and libzmq closes it. What is
 * ended so:
 * - what still has no owner when the handshake's time is long over;
 * - the one of a key that was silent for longest, for a new one of that key: what a cut cable left behind. Where all were
 *   heard lately it is the new one that is refused;
 * - the oldest without an owner, else the newest, where all together are over their bound: descriptors must be left for
 *   the history, the keys and those who ask for the status.
 *
 * No step takes longer the more connections there are. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/link/link_private.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define SILENT_NS (60 * NS_PER_S) /* longer than the pause between an agent's probes */
#define OWNER_SLACK_NS (2 * NS_PER_S)
#define SHAKING_MAX 512 /* handshakes */

/* libzmq may have closed the descriptor already, and it may be something else by now: so it is looked at through another
 * one, which nobody closes meanwhile, as long as there are any. */
int
link_connection_hold (const struct link_connection *connection)
{
  struct link_address address;
  int copy = dup (connection->fd), fd = copy < 0 ? connection->fd : copy;

  if (link_address_of_fd (fd, &address) && memcmp (&address, &connection->address, sizeof address) == 0)
    return fd;
  if (copy >= 0)
    close (copy);
  return -1;
}

void
link_connection_release (const struct link_connection *connection, int fd)
{
  if (fd >= 0 && fd != connection->fd)
    close (fd);
}

static struct link_connection *
connection_of (struct link_connections *connections, int fd)
{
  return fd >= 0 && (size_t) fd < connections->capacity ? connections->at[fd].connection : NULL;
}

/* ---- those without an owner ---- */

static void
unowned_add (struct link_connections *connections, struct link_connection *connection, int64_t now_ns)
{
  connection->unowned_ns = now_ns;
  TAILQ_INSERT_TAIL (&connections->unowned, connection, by_time);
  link_turn_add (connections, connection);
}

static void
unowned_remove (struct link_connections *connections, struct link_connection *connection)
{
  if (!connection->source)
    return;
  TAILQ_REMOVE (&connections->unowned, connection, by_time);
  link_turn_remove (connections, connection);
}

/* ---- owners ---- */

static void
give (struct link_connections *connections, struct link_connection *connection, struct link_user *user, uint64_t serial)
{
  struct link_user_share *share = &user->shares[connection->channel];

  unowned_remove (connections, connection);
  connection->user = user;
  connection->serial = serial;
  share->connections[share->count++] = connection;
}

static void
take_away (struct link_connection *connection)
{
  struct link_user_share *share;
  size_t i = 0;

  if (!connection->user)
    return;
  share = &connection->user->shares[connection->channel];
  while (share->connections[i] != connection)
    i++;
  share->connections[i] = share->connections[--share->count];
  connection->user = NULL;
  connection->serial = 0;
}

static struct link_connection *
with_serial (const struct link_user_share *share, uint64_t serial)
{
  for (size_t i = 0; i < share->count; i++)
    if (share->connections[i]->serial == serial)
      return share->connections[i];
  return NULL;
}

static struct link_connection *
silent_longest (const struct link_user_share *share)
{
  struct link_connection *found = share->connections[0];

  for (size_t i = 1; i < share->count; i++)
    if (share->connections[i]->heard_ns < found->heard_ns)
      found = share->connections[i];
  return found;
}

/* ---- ending ---- */

static void
end (struct link_connections *connections, struct link_connection *connection)
{
  int fd = link_connection_hold (connection);

  take_away (connection);
  unowned_remove (connections, connection);
  connections->ending += !connection->ending;
  connection->ending = true;
  if (fd >= 0)
    shutdown (fd, SHUT_RDWR); /* the monitor tells when it has ended */
  link_connection_release (connection, fd);
}

static void
make_room (struct link_server *link)
{
  struct link_connections *connections = &link->connections;

  if (connections->max == 0 || connections->count - connections->ending <= connections->max)
    return;
  end (connections, TAILQ_FIRST (&connections->unowned)); /* the newest is among them */
  link_count (&link->tally.connections_ended);
}

int64_t
link_connections_tidy (struct link_server *link, int64_t now_ns)
{
  struct link_connections *connections = &link->connections;
  int64_t turn_ns = link_turns_tidy (connections, now_ns), due_ns;
  struct link_connection *oldest;

  while ((oldest = TAILQ_FIRST (&connections->unowned))) {
    due_ns = oldest->unowned_ns + connections->handshake_ns + OWNER_SLACK_NS;
    if (now_ns < due_ns)
      return due_ns < turn_ns ? due_ns : turn_ns;
    end (connections, oldest);
    link_count (&link->tally.connections_ended);
  }
  return INT64_MAX;
}

/* ---- what libzmq tells ---- */

void
link_connections_init (struct link_connections *connections, size_t max, int64_t handshake_ns)
{
  *connections = (struct link_connections){ .max = max, .handshake_ns = handshake_ns, .shaking_max = SHAKING_MAX };
  TAILQ_INIT (&connections->unowned);
  TAILQ_INIT (&connections->shaking);
  link_sources_init (&connections->sources);
}

/* The oldest without an owner of an address, so far in its handshake, that began before the admission of that number; or
 * NULL. */
static struct link_connection *
oldest_of (struct link_connections *connections, enum link_channel channel, const struct link_address *address,
           enum link_stage stage, uint64_t serial)
{
  struct link_connection *oldest = link_source_oldest (&connections->sources, channel, address, stage);

  return oldest && oldest->first_serial <= serial ? oldest : NULL;
}

/* A connection has ended. */
static void
forget (struct link_connections *connections, struct link_connection *connection)
{
  static const enum link_stage taken_for[] = { STAGE_REFUSED, STAGE_SHAKING, STAGE_PAUSED };
  struct link_user *user = connection->certain ? NULL : connection->user;
  uint64_t serial = connection->serial;
  struct link_connection *rather = NULL;

  for (size_t i = 0; user && !rather && i < STAGES; i++)
    rather = oldest_of (connections, connection->channel, &connection->address, taken_for[i], serial);
  take_away (connection);
  if (rather)
    give (connections, rather, user, serial);
  unowned_remove (connections, connection);
  connections->ending -= connection->ending;
  connections->count--;
  connections->at[connection->fd].connection = NULL;
  free (connection);
}

void
link_connections_free (struct link_connections *connections)
{
  for (size_t fd = 0; fd < connections->capacity; fd++)
    if (connections->at[fd].connection)
      forget (connections, connections->at[fd].connection);
  free (connections->at);
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
    connections->capacity = capacity;
  }
  connections->at[fd].open[channel] += change;
  return connections->at[fd].open[channel] > 0;
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
  connection = connections->at[fd].connection = memory_new (1, sizeof *connection);
  *connection = (struct link_connection){
    .fd = fd, .channel = channel, .heard_ns = now_ns, .first_serial = connections->serial + 1
  };
  link_address_of_fd (fd, &connection->address);
  connections->count++;
  unowned_add (connections, connection, now_ns);
  make_room (link);
}

bool
link_connection_ended (struct link_server *link, enum link_channel channel, int fd)
{
  struct link_connections *connections = &link->connections;
  struct link_connection *connection = connection_of (connections, fd);

  told (connections, channel, fd, -1);
  if (connection && connection->channel == channel)
    forget (connections, connection);
  return fd < 0 || connections->at[fd].open[channel] >= 0;
}

/* The one that ZAP is asked about. */
static struct link_connection *
asks (struct link_connections *connections, enum link_channel channel, const char *text)
{
  struct link_connection *connection = NULL;
  struct link_address address;

  if (!link_address_of_text (text, &address))
    return NULL;
  connection = oldest_of (connections, channel, &address, STAGE_SHAKING, UINT64_MAX);
  return connection ? connection : oldest_of (connections, channel, &address, STAGE_PAUSED, UINT64_MAX);
}

void
link_connection_refused (struct link_server *link, enum link_channel channel, const char *address)
{
  struct link_connection *connection = asks (&link->connections, channel, address);

  if (connection)
    link_turn_refuse (&link->connections, connection); /* its peer ends it */
}

uint64_t
link_connection_admit (struct link_server *link, enum link_channel channel, const char *address, struct link_user *user)
{
  struct link_connections *connections = &link->connections;
  struct link_user_share *share = &user->shares[channel];
  struct link_connection *connection = asks (connections, channel, address);
  int64_t now_ns = clock_monotonic ();

  if (share->count == LINK_KEY_CONNECTIONS) {
    struct link_connection *silent = silent_longest (share);

    if (now_ns - silent->heard_ns < SILENT_NS) {
      if (connection)
        link_turn_refuse (&link->connections, connection);
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
  struct link_connection *mistaken = with_serial (&user->shares[connection->channel], serial);
  struct link_user *other = connection->user;
  uint64_t other_serial = connection->serial;

  take_away (connection);
  if (mistaken) {
    take_away (mistaken);
    if (other)
      give (connections, mistaken, other, other_serial);
    else
      unowned_add (connections, mistaken, clock_monotonic ());
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
