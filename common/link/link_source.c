/* Addresses, and the connections of each that have no owner yet: ZAP identifies a connection by its address alone.
 * Peers may choose among many addresses, so the table hashes with a random key. */
#include <arpa/inet.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/link/link_private.h"
#include "synop/memory.h"

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

bool
link_address_of_fd (int fd, struct link_address *address)
{
  struct sockaddr_storage peer = { 0 };
  socklen_t length = sizeof peer;

  return getpeername (fd, (struct sockaddr *) &peer, &length) == 0 && address_read (&peer, address);
}

bool
link_address_of_text (const char *text, struct link_address *address)
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

/* ---- the table ---- */

void
link_sources_init (struct link_sources *sources)
{
  *sources = (struct link_sources){ 0 };
  TAILQ_INIT (&sources->ring);
  if (sodium_init () < 0)
    abort ();
  randombytes_buf (sources->hash_key, sizeof sources->hash_key);
}

/* The place of an address' source in the table; NULL is stored there when it has none. */
static struct link_source **
source_place_of (struct link_sources *sources, const struct link_address *address)
{
  uint64_t hash;
  struct link_source **place;

  _Static_assert(sizeof hash == crypto_shorthash_BYTES, "the hash is one word");
  crypto_shorthash ((unsigned char *) &hash, address->ip, sizeof address->ip, sources->hash_key);
  place = &sources->buckets[hash % LINK_SOURCE_BUCKETS];
  while (*place && memcmp ((*place)->ip, address->ip, sizeof address->ip) != 0)
    place = &(*place)->next;
  return place;
}

static struct link_list *
list_of (struct link_connection *connection)
{
  return &connection->source->lists[connection->channel][connection->stage];
}

/* Sources with paused connections are in the ring. */
static void
link_source_insert (struct link_sources *sources, struct link_connection *connection)
{
  TAILQ_INSERT_TAIL (list_of (connection), connection, of_source);
  if (connection->stage == STAGE_PAUSED && connection->source->paused++ == 0)
    TAILQ_INSERT_TAIL (&sources->ring, connection->source, of_ring);
}

static void
take_out (struct link_sources *sources, struct link_connection *connection)
{
  TAILQ_REMOVE (list_of (connection), connection, of_source);
  if (connection->stage == STAGE_PAUSED && --connection->source->paused == 0)
    TAILQ_REMOVE (&sources->ring, connection->source, of_ring);
}

void
link_source_add (struct link_sources *sources, struct link_connection *connection)
{
  struct link_source **place = source_place_of (sources, &connection->address);

  if (!*place) {
    *place = memory_new (1, sizeof **place);
    memcpy ((*place)->ip, connection->address.ip, sizeof connection->address.ip);
    for (enum link_channel channel = 0; channel < LINK_CHANNELS; channel++)
      for (enum link_stage stage = 0; stage < STAGES; stage++)
        TAILQ_INIT (&(*place)->lists[channel][stage]);
  }
  connection->source = *place;
  connection->source->count++;
  link_source_insert (sources, connection);
}

void
link_source_remove (struct link_sources *sources, struct link_connection *connection)
{
  struct link_source *source = connection->source;

  take_out (sources, connection);
  connection->source = NULL;
  if (--source->count > 0)
    return;
  *source_place_of (sources, &connection->address) = source->next;
  free (source);
}

void
link_source_move (struct link_sources *sources, struct link_connection *connection, enum link_stage stage)
{
  take_out (sources, connection);
  connection->stage = stage;
  link_source_insert (sources, connection);
}

struct link_connection *
link_source_oldest (struct link_sources *sources, enum link_channel channel, const struct link_address *address,
                    enum link_stage stage)
{
  const struct link_source *source = *source_place_of (sources, address);

  return source ? TAILQ_FIRST (&source->lists[channel][stage]) : NULL;
}

struct link_connection *
link_source_next (struct link_sources *sources)
{
  struct link_source *source = TAILQ_FIRST (&sources->ring);
  struct link_connection *data, *control;

  if (!source)
    return NULL;
  TAILQ_REMOVE (&sources->ring, source, of_ring);
  TAILQ_INSERT_TAIL (&sources->ring, source, of_ring);
  data = TAILQ_FIRST (&source->lists[LINK_DATA][STAGE_PAUSED]);
  control = TAILQ_FIRST (&source->lists[LINK_CONTROL][STAGE_PAUSED]);
  return !data || (control && control->unowned_ns < data->unowned_ns) ? control : data;
}
