/* Which user of this host opened a connection to it: the row of the other end's socket in /proc/net/tcp and tcp6, where
 * addresses are 32-bit words in hexadecimal, as they lie in memory.
 *
 *   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
 *   12: 0100007F:A2C4 0100007F:15CC 01 00000000:00000000 00:00000000 00000000  1001        0 84172 ...
 *
 * Only what is established counts: a socket that its user has closed is nobody's any more, and shown as root's. */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "common/http/http_private.h"

#define ESTABLISHED 1
#define LINE_SIZE 512

struct end {
  bool six;
  uint32_t address[4]; /* of IPv4 the last */
  unsigned port;
};

/* IPv4 within IPv6 is IPv4. */
static bool
end_read (const struct sockaddr *from, struct end *end)
{
  *end = (struct end){ 0 };
  if (from->sa_family == AF_INET) {
    const struct sockaddr_in *four = (const struct sockaddr_in *) from;
    end->address[3] = four->sin_addr.s_addr;
    end->port = ntohs (four->sin_port);
  } else if (from->sa_family == AF_INET6) {
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *) from;
    memcpy (end->address, &six->sin6_addr, sizeof end->address);
    end->port = ntohs (six->sin6_port);
    end->six = !IN6_IS_ADDR_V4MAPPED (&six->sin6_addr);
    if (!end->six)
      end->address[0] = end->address[1] = end->address[2] = 0;
  } else {
    return false;
  }
  return true;
}

static bool
is_loopback (const struct end *end)
{
  struct in6_addr address;

  memcpy (&address, end->address, sizeof address);
  return end->six ? IN6_IS_ADDR_LOOPBACK (&address) : (ntohl (end->address[3]) >> 24) == 127;
}

static bool
same_address (const struct end *one, const struct end *other)
{
  return one->six == other->six && memcmp (one->address, other->address, sizeof one->address) == 0;
}

/* "0100007F:A2C4"; of IPv6 four words, of which the third of a mapped IPv4 is FFFF in network order. */
static void
end_text (const struct end *end, bool six, char text[48])
{
  if (!six)
    snprintf (text, 48, "%08" PRIX32 ":%04X", end->address[3], end->port);
  else
    snprintf (text, 48, "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 ":%04X", end->address[0], end->address[1],
              end->six ? end->address[2] : htonl (0xffff), end->address[3], end->port);
}

/* -1: it is not there. */
static int64_t
file_find (const char *path, const char *local, const char *remote)
{
  FILE *file = fopen (path, "re");
  char line[LINE_SIZE], one[48], other[48];
  unsigned state, uid;
  int64_t found = -1;

  while (file != NULL && found < 0 && fgets (line, sizeof line, file) != NULL)
    if (sscanf (line, " %*u: %47s %47s %x %*x:%*x %*x:%*x %*x %u", one, other, &state, &uid) == 4 &&
        state == ESTABLISHED && strcmp (one, local) == 0 && strcmp (other, remote) == 0)
      found = uid;
  if (file != NULL)
    fclose (file);
  return found;
}

int64_t
http_owner_find (const struct sockaddr *peer, const struct sockaddr *local)
{
  struct end theirs, ours;
  char from[48], to[48];
  int64_t owner = -1;

  if (!end_read (peer, &theirs) || !end_read (local, &ours) ||
      (!is_loopback (&theirs) && !same_address (&theirs, &ours)))
    return -1;
  if (!theirs.six) {
    end_text (&theirs, false, from);
    end_text (&ours, false, to);
    owner = file_find ("/proc/self/net/tcp", from, to);
  }
  if (owner < 0) {
    end_text (&theirs, true, from);
    end_text (&ours, true, to);
    owner = file_find ("/proc/self/net/tcp6", from, to);
  }
  return owner;
}

int64_t
http_request_owner (const struct http_request *request)
{
  struct http_connection *found = http_connection_find (request->http, request->connection);
  struct sockaddr_storage peer, local;
  socklen_t peer_size = sizeof peer, local_size = sizeof local;

  if (found == NULL)
    return -1;
  if (!found->owned && getpeername (found->fd, (struct sockaddr *) &peer, &peer_size) == 0 &&
      getsockname (found->fd, (struct sockaddr *) &local, &local_size) == 0)
    found->owner = http_owner_find ((struct sockaddr *) &peer, (struct sockaddr *) &local);
  else if (!found->owned)
    found->owner = -1;
  found->owned = true;
  return found->owner;
}
