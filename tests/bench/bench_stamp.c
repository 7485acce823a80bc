/* Says when lines came, for latencies that no clock of the programs under test has a part in:
 *
 *   PROGRAM | bench_stamp [INTERFACE PORT]      "AT WIRE LINE" for each line
 *
 * AT is when the line's end was read, WIRE when the last packet with at least FRAME_BYTES for TCP port PORT had come in
 * through INTERFACE (0: none yet), both in ns of CLOCK_REALTIME. WIRE is the kernel's own stamp of the packet. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "synop/buffer.h"
#include "synop/clock.h"

#define FRAME_BYTES 300 /* less is a heartbeat or a hello */
#define HEAD_BYTES 200  /* of Ethernet, IP and TCP, with room */

static void
fail (const char *what)
{
  fprintf (stderr, "bench_stamp: %s: %s\n", what, strerror (errno));
  exit (1);
}

static int
open_wire (const char *interface)
{
  struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons (ETH_P_IP) };
  int fd = socket (AF_PACKET, SOCK_RAW, htons (ETH_P_IP)), on = 1, size = 8 << 20;

  if (fd < 0)
    fail ("packet socket");
  address.sll_ifindex = (int) if_nametoindex (interface);
  setsockopt (fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
  if (setsockopt (fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) < 0 ||
      bind (fd, (struct sockaddr *) &address, sizeof address) < 0)
    fail (interface);
  return fd;
}

/* How many bytes the packet carries to the port; 0 for another one. */
static size_t
packet_load (const uint8_t *packet, size_t length, uint16_t port)
{
  struct iphdr ip;
  struct tcphdr tcp;

  if (length < ETH_HLEN + sizeof ip + sizeof tcp)
    return 0;
  memcpy (&ip, packet + ETH_HLEN, sizeof ip);
  memcpy (&tcp, packet + ETH_HLEN + ip.ihl * 4U, sizeof tcp);
  if (ip.protocol != IPPROTO_TCP || ntohs (tcp.dest) != port)
    return 0;
  return ntohs (ip.tot_len) - ip.ihl * 4U - tcp.doff * 4U;
}

static int64_t
packet_time (struct msghdr *message)
{
  struct timespec when = { 0 };

  for (struct cmsghdr *part = CMSG_FIRSTHDR (message); part; part = CMSG_NXTHDR (message, part))
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS)
      memcpy (&when, CMSG_DATA (part), sizeof when);
  return when.tv_sec * NS_PER_S + when.tv_nsec;
}

/* Reads all packets that are there; the time of the last frame among them, or `last`. */
static int64_t
read_wire (int fd, uint16_t port, int64_t last)
{
  uint8_t packet[HEAD_BYTES];
  char control[128];
  struct sockaddr_ll from;

  for (;;) {
    struct iovec part = { packet, sizeof packet };
    struct msghdr message = { .msg_name = &from,
                              .msg_namelen = sizeof from,
                              .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control,
                              .msg_controllen = sizeof control };
    ssize_t got = recvmsg (fd, &message, MSG_DONTWAIT);

    if (got < 0)
      return last;
    if (from.sll_pkttype != PACKET_OUTGOING && packet_load (packet, (size_t) got, port) >= FRAME_BYTES)
      last = packet_time (&message);
  }
}

int
main (int argc, char **argv)
{
  int wire = argc > 2 ? open_wire (argv[1]) : -1;
  uint16_t port = argc > 2 ? (uint16_t) atoi (argv[2]) : 0;
  struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = wire, .events = POLLIN } };
  struct buffer text = { 0 };
  int64_t last = 0;

  for (;;) {
    poll (fds, 2, -1);
    if (fds[1].revents)
      last = read_wire (wire, port, last);
    if (!fds[0].revents)
      continue;
    ssize_t got = read (STDIN_FILENO, buffer_reserve (&text, 65536), 65536);
    int64_t at = clock_wall ();
    if (got <= 0)
      break;
    text.length += (size_t) got;
    char *start = text.data, *end;
    while ((end = memchr (start, '\n', text.length - (size_t) (start - text.data)))) {
      printf ("%lld %lld %.*s\n", (long long) at, (long long) last, (int) (end - start), start);
      start = end + 1;
    }
    text.length -= (size_t) (start - text.data);
    memmove (text.data, start, text.length);
    fflush (stdout);
  }
  buffer_free (&text);
  return 0;
}
