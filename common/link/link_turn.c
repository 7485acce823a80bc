/* How many handshakes go on at a time. Each costs a thread of libzmq a fraction of a millisecond, one after the other, and
 * the frames of others wait as long: so no more than a certain number go on, and the rest are paused. When one is over the
 * next goes on, of each address in turn; and one that takes long is paused while others wait, so that those who say nothing
 * hold up nobody.
 *
 * libzmq reads whatever comes. But the descriptor is ours too: bytes below SO_RCVLOWAT wake nobody, and stay in the kernel
 * until that mark is lowered again. So nobody is refused only to come again: 4,000 agents of one process, which got in
 * within 11 s without a bound, had not within a minute where those over it were ended. */
#include <sys/socket.h>

#include "common/link/link_private.h"
#include "synop/clock.h"

#define TURN_NS (2 * NS_PER_S)
#define UNREAD 65536 /* bytes that a peer would have to send to be read all the same; a handshake has less than 1,000 */

static void
read_from (const struct link_connection *connection, int bytes)
{
  int fd = link_connection_hold (connection);

  if (fd >= 0)
    setsockopt (fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
  link_connection_release (connection, fd);
}

static void
go_on (struct link_connections *connections, struct link_connection *connection)
{
  connection->turn_ns = clock_monotonic ();
  TAILQ_INSERT_TAIL (&connections->shaking, connection, by_turn);
  connections->shaking_count++;
}

static void
stop (struct link_connections *connections, struct link_connection *connection)
{
  TAILQ_REMOVE (&connections->shaking, connection, by_turn);
  connections->shaking_count--;
}

/* The next ones, as far as there is room. */
static void
fill (struct link_connections *connections)
{
  struct link_connection *next;

  while (connections->shaking_count < connections->shaking_max && (next = link_source_next (&connections->sources))) {
    link_source_move (&connections->sources, next, STAGE_SHAKING);
    go_on (connections, next);
    read_from (next, 1);
  }
}

void
link_turn_add (struct link_connections *connections, struct link_connection *connection)
{
  connection->stage = connections->shaking_count < connections->shaking_max ? STAGE_SHAKING : STAGE_PAUSED;
  link_source_add (&connections->sources, connection);
  if (connection->stage == STAGE_SHAKING)
    go_on (connections, connection);
  else
    read_from (connection, UNREAD);
}

static void
leave (struct link_connections *connections, struct link_connection *connection)
{
  if (connection->stage == STAGE_SHAKING)
    stop (connections, connection);
  else if (connection->stage == STAGE_PAUSED)
    read_from (connection, 1);
}

void
link_turn_remove (struct link_connections *connections, struct link_connection *connection)
{
  leave (connections, connection);
  link_source_remove (&connections->sources, connection);
  fill (connections);
}

void
link_turn_refuse (struct link_connections *connections, struct link_connection *connection)
{
  leave (connections, connection);
  link_source_move (&connections->sources, connection, STAGE_REFUSED);
  fill (connections);
}

int64_t
link_turns_tidy (struct link_connections *connections, int64_t now_ns)
{
  struct link_connection *oldest;

  while (!TAILQ_EMPTY (&connections->sources.ring) && (oldest = TAILQ_FIRST (&connections->shaking))) {
    if (now_ns < oldest->turn_ns + TURN_NS)
      return oldest->turn_ns + TURN_NS;
    stop (connections, oldest);
    fill (connections);
    link_source_move (&connections->sources, oldest, STAGE_PAUSED);
    read_from (oldest, UNREAD);
  }
  return INT64_MAX;
}
