/* connections: TCP connections by state, and what waits in the sockets' queues, as the kernel lists its sockets (sock_diag(7)). It
 * lists those of this machine: a recorded one has none.
 *
 * A socket costs about a microsecond, so the group is sampled every 30 s, and where there are many in a thread. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/sampling/sampler.h"
#include "synop/clock.h"
#include "synop/memory.h"

#define MANY 1000
#define ANSWER_SIZE 16384
#define PATIENCE_S 1

/* The states stand at their kernel's numbers. */
enum { TCP_UNREAD, TCP_UNSENT = TCP_CLOSING + 1, UDP4_UNREAD, UDP4_UNSENT, UDP6_UNREAD, UDP6_UNSENT, COLUMNS };

#define CONNECTIONS(NAME, HELP)                                                                                        \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .help = HELP                                                    \
  }
#define QUEUE(NAME, HELP)                                                                                              \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .help = HELP                                                    \
  }

static const struct metric metrics[COLUMNS] = {
  [TCP_ESTABLISHED] = CONNECTIONS ("established", "TCP connections that are open."),
  [TCP_SYN_SENT] = CONNECTIONS ("syn_sent", "TCP connections that were asked for."),
  [TCP_SYN_RECV] = CONNECTIONS ("syn_received", "TCP connections that others asked for and that are not open yet."),
  [TCP_FIN_WAIT1] = CONNECTIONS ("fin_wait_1", "TCP connections closed here, not acknowledged yet."),
  [TCP_FIN_WAIT2] = CONNECTIONS ("fin_wait_2", "TCP connections closed here, not yet at the other end."),
  [TCP_TIME_WAIT] = CONNECTIONS ("time_wait", "TCP connections that are over, kept for late packets."),
  [TCP_CLOSE] = CONNECTIONS ("closed", "TCP sockets without a connection."),
  [TCP_CLOSE_WAIT] =
      CONNECTIONS ("close_wait", "TCP connections that the other end has closed, and the program here not."),
  [TCP_LAST_ACK] =
      CONNECTIONS ("last_ack", "TCP connections closed at both ends, the last one here; not acknowledged yet."),
  [TCP_LISTEN] = CONNECTIONS ("listening", "TCP sockets that wait for connections."),
  [TCP_CLOSING] = CONNECTIONS ("closing", "TCP connections closed at both ends at once."),
  [TCP_UNREAD] = QUEUE ("tcp_receive_queue", "Bytes of TCP connections that programs have not read yet."),
  [TCP_UNSENT] = QUEUE ("tcp_send_queue", "Bytes of TCP connections that are not acknowledged yet."),
  [UDP4_UNREAD] = QUEUE ("udp4_receive_queue", "Memory of UDP packets over IPv4 that programs have not read yet."),
  [UDP4_UNSENT] = QUEUE ("udp4_send_queue", "Memory of UDP packets over IPv4 that are not sent yet."),
  [UDP6_UNREAD] = QUEUE ("udp6_receive_queue", "Memory of UDP packets over IPv6 that programs have not read yet."),
  [UDP6_UNSENT] = QUEUE ("udp6_send_queue", "Memory of UDP packets over IPv6 that are not sent yet."),
};

static const struct group group = {
  .name = "connections",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help = "TCP connections by state, and what waits in the queues of sockets. At most every 30 s.",
  GROUP_METRICS (metrics),
};

struct connections {
  bool live;
  int fd; /* -1: not open */
  uint32_t request;
  uint64_t counts[COLUMNS];
  uint64_t sockets; /* in the last sample */
};

static void *
connections_open (const struct sampler_context *context)
{
  struct connections *state = memory_new (1, sizeof *state);

  state->live = context->root[0] == '\0';
  state->fd = -1;
  return state;
}

static bool
connections_may_block (void *context)
{
  const struct connections *state = context;

  return state->sockets > MANY;
}

static int
socket_open (struct connections *state)
{
  struct timeval patience = { .tv_sec = PATIENCE_S };

  if (state->fd < 0)
    state->fd = socket (AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (state->fd >= 0)
    setsockopt (state->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return state->fd;
}

static int
list_ask (struct connections *state, uint8_t family, uint8_t protocol)
{
  struct {
    struct nlmsghdr header;
    struct inet_diag_req_v2 wanted;
  } request = {
    .header = { .nlmsg_len = sizeof request,
                .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                .nlmsg_seq = ++state->request },
    .wanted = { .sdiag_family = family, .sdiag_protocol = protocol, .idiag_states = UINT32_MAX },
  };

  return send (state->fd, &request, sizeof request, 0) == sizeof request ? 0 : -1;
}

/* Of a listening socket the queues are connections, not bytes. */
static void
socket_count (struct connections *state, uint8_t protocol, const struct inet_diag_msg *found)
{
  size_t queue = protocol == IPPROTO_TCP ? TCP_UNSENT : found->idiag_family == AF_INET6 ? UDP6_UNSENT : UDP4_UNSENT;

  state->sockets++;
  if (protocol == IPPROTO_TCP) {
    if (found->idiag_state >= TCP_ESTABLISHED && found->idiag_state <= TCP_CLOSING)
      state->counts[found->idiag_state]++;
    if (found->idiag_state == TCP_LISTEN)
      return;
  }
  state->counts[queue] += found->idiag_wqueue;
  state->counts[protocol == IPPROTO_TCP ? TCP_UNREAD : queue - 1] += found->idiag_rqueue;
}

/* One answer of several messages. 1: there is more, 0: that was all, -1 with errno. */
static int
answer_take (struct connections *state, uint8_t protocol, const struct nlmsghdr *message, size_t length)
{
  for (; NLMSG_OK (message, length); message = NLMSG_NEXT (message, length)) {
    if (message->nlmsg_seq != state->request)
      continue;
    if (message->nlmsg_type == NLMSG_DONE)
      return 0;
    if (message->nlmsg_type == NLMSG_ERROR) {
      const struct nlmsgerr *failure = NLMSG_DATA (message);

      errno = message->nlmsg_len < NLMSG_LENGTH (sizeof *failure) ? EBADMSG : -failure->error;
      return -1;
    }
    if (message->nlmsg_len >= NLMSG_LENGTH (sizeof (struct inet_diag_msg)))
      socket_count (state, protocol, NLMSG_DATA (message));
  }
  return 1;
}

static int
list_read (struct connections *state, uint8_t family, uint8_t protocol)
{
  _Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
  int more = list_ask (state, family, protocol) < 0 ? -1 : 1;

  while (more > 0) {
    ssize_t length = recv (state->fd, answer, sizeof answer, 0);

    more = length < 0 ? -1 : answer_take (state, protocol, (const struct nlmsghdr *) answer, (size_t) length);
  }
  return more;
}

static void
columns_set (const struct connections *state, struct table *table, size_t from, size_t to)
{
  for (size_t i = from; i <= to; i++)
    table_set_uint (table, TABLE_NODE, i, state->counts[i]);
}

/* A kernel without IPv6 lists nothing. */
static int
protocol_sample (struct connections *state, uint8_t protocol, const char *name, struct table *table)
{
  if (list_read (state, AF_INET, protocol) == 0 && list_read (state, AF_INET6, protocol) == 0)
    return 0;
  table_complain (table, "%s sockets cannot be listed: %s", name, strerror (errno));
  close (state->fd);
  state->fd = -1;
  return -1;
}

static int
connections_sample (void *context, struct table *table)
{
  struct connections *state = context;

  if (!state->live)
    return 0;
  state->sockets = 0;
  memset (state->counts, 0, sizeof state->counts);
  if (socket_open (state) < 0)
    return table_complain (table, "sockets cannot be listed: %s", strerror (errno));
  if (protocol_sample (state, IPPROTO_TCP, "TCP", table) == 0)
    columns_set (state, table, 0, TCP_UNSENT);
  if (socket_open (state) >= 0 && protocol_sample (state, IPPROTO_UDP, "UDP", table) == 0)
    columns_set (state, table, UDP4_UNREAD, UDP6_UNSENT);
  return 0;
}

static void
connections_close (void *context)
{
  struct connections *state = context;

  if (state->fd >= 0)
    close (state->fd);
  free (state);
}

const struct sampler sampler_connections = {
  &group,           connections_may_block,      connections_open, connections_sample, connections_close,
  .optional = true, .period_ns = 30 * NS_PER_S,
};
