/* Many agents that only probe, to find what a probe costs the aggregator.
 *
 *   bench_probe FOLDER COUNT ENDPOINT RATE      the keys are those of `bench_load keys FOLDER COUNT`
 *
 * They say hello and begin RATE probes a second, all together and evenly spaced, as the probes of many nodes that are
 * jittered come; what else belongs to a probe follows as agents do it. Every message carries the times of the exchange
 * before, so that each also refits a model. A line on standard input is answered with {"welcomed", "probes", "answers"};
 * its end ends this. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/uplink/prober.h"
#include "synop/clock.h"
#include "synop/control.h"
#include "synop/link.h"
#include "synop/memory.h"
#include "tests/bench/bench_keys.h"

#define AT_ONCE 64

struct prober_node {
  char name[FRAME_NODE_MAX + 1];
  uint64_t session;
  void *socket;
  struct prober prober;
  bool welcomed;
};

struct crowd {
  struct prober_node *nodes;
  unsigned count, next;
  int epoll, timer;
  int64_t pause_ns, due_ns; /* pause 0: no probes */
  struct buffer message;
  unsigned welcomed;
  unsigned long long sent, answered;
};

static void
node_send (struct crowd *crowd, struct prober_node *node, struct control *message)
{
  message->session = node->session;
  buffer_clear (&crowd->message);
  control_write (&crowd->message, message);
  zmq_send (node->socket, crowd->message.data, crowd->message.length, ZMQ_DONTWAIT);
}

static void
node_probe (struct crowd *crowd, struct prober_node *node)
{
  struct control probe = { 0 };

  prober_send (&node->prober, clock_monotonic (), &probe);
  node_send (crowd, node, &probe);
}

/* libzmq's descriptor speaks up only after a receive that found nothing: one follows each send. */
static void
node_read (struct crowd *crowd, struct prober_node *node)
{
  struct control message;
  zmq_msg_t part;

  zmq_msg_init (&part);
  while (zmq_msg_recv (&part, node->socket, ZMQ_DONTWAIT) >= 0) {
    int64_t now_ns = clock_monotonic ();

    if (control_read (zmq_msg_data (&part), zmq_msg_size (&part), &message, NULL) != 0)
      continue;
    if (message.type == CONTROL_WELCOME && !node->welcomed) {
      node->welcomed = true;
      crowd->welcomed++;
    } else if (message.type == CONTROL_PROBE_ANSWER) {
      if (prober_take (&node->prober, &message, now_ns) && node->prober.next_ns <= now_ns)
        node_probe (crowd, node);
      crowd->answered++;
    }
  }
  zmq_msg_close (&part);
}

static void
node_open (struct crowd *crowd, struct prober_node *node, void *context, const struct key_pair *keys,
           const uint8_t *server, const char *endpoint)
{
  struct control hello = { .type = CONTROL_HELLO, .period_ns = NS_PER_S, .version = "bench" };
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = node };
  size_t size = sizeof event.data.fd;
  int fd, linger = 0;

  getrandom (&node->session, sizeof node->session, 0);
  node->session |= 1;
  prober_init (&node->prober, node->session);
  node->socket = zmq_socket (context, ZMQ_DEALER);
  zmq_setsockopt (node->socket, ZMQ_CURVE_SERVERKEY, server, KEY_SIZE);
  zmq_setsockopt (node->socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, KEY_SIZE);
  zmq_setsockopt (node->socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, KEY_SIZE);
  zmq_setsockopt (node->socket, ZMQ_LINGER, &linger, sizeof linger);
  if (zmq_connect (node->socket, endpoint) < 0 || zmq_getsockopt (node->socket, ZMQ_FD, &fd, &size) < 0 ||
      epoll_ctl (crowd->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
    bench_fail (endpoint, zmq_strerror (zmq_errno ()));
  strcpy (hello.node, node->name);
  node_send (crowd, node, &hello); /* goes when it is connected */
  node_read (crowd, node);
}

/* What is due by now; a rate that is too high for this machine is not made up for. */
static void
send_probes (struct crowd *crowd)
{
  struct itimerspec when = { 0 };
  int64_t now_ns = clock_monotonic ();

  for (int i = 0; i < AT_ONCE && crowd->due_ns <= now_ns; i++) {
    struct prober_node *node = &crowd->nodes[crowd->next++ % crowd->count];
    node_probe (crowd, node);
    node_read (crowd, node);
    crowd->sent++;
    crowd->due_ns += crowd->pause_ns;
  }
  if (crowd->due_ns <= now_ns)
    crowd->due_ns = now_ns + crowd->pause_ns;
  when.it_value = (struct timespec){ .tv_sec = crowd->due_ns / NS_PER_S, .tv_nsec = crowd->due_ns % NS_PER_S };
  timerfd_settime (crowd->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* False at the end of standard input. */
static bool
answer_command (const struct crowd *crowd)
{
  char line[256];

  if (read (STDIN_FILENO, line, sizeof line) <= 0)
    return false;
  printf ("{\"welcomed\": %u, \"probes\": %llu, \"answers\": %llu}\n", crowd->welcomed, crowd->sent, crowd->answered);
  fflush (stdout);
  return true;
}

static void
crowd_run (struct crowd *crowd)
{
  struct epoll_event events[AT_ONCE];

  for (;;) {
    int count = epoll_wait (crowd->epoll, events, AT_ONCE, -1);

    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr == &crowd->timer)
        send_probes (crowd);
      else if (events[i].data.ptr)
        node_read (crowd, events[i].data.ptr);
      else if (!answer_command (crowd))
        return;
    }
  }
}

int
main (int argc, char **argv)
{
  struct crowd crowd = { .epoll = epoll_create1 (EPOLL_CLOEXEC),
                         .timer = timerfd_create (CLOCK_MONOTONIC, TFD_CLOEXEC) };
  struct epoll_event input = { .events = EPOLLIN }, timer = { .events = EPOLLIN, .data.ptr = &crowd.timer };
  uint8_t seed[BENCH_SEED_SIZE], server[KEY_SIZE];
  char path[4096], control[LINK_ENDPOINT_MAX];
  void *context = zmq_ctx_new ();
  struct rlimit limit;
  struct error error;
  double rate;

  if (argc != 5 || (crowd.count = (unsigned) strtoul (argv[2], NULL, 10)) == 0) {
    fprintf (stderr, "usage: bench_probe FOLDER COUNT ENDPOINT RATE\n");
    return 2;
  }
  if (getrlimit (RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit (RLIMIT_NOFILE, &limit);
  }
  bench_seed_read (argv[1], seed);
  snprintf (path, sizeof path, "%s/aggregator.pub", argv[1]);
  if (key_public_read (path, server, &error) < 0 || link_control_endpoint (argv[3], control, &error) < 0)
    bench_fail (argv[3], error.text);
  zmq_ctx_set (context, ZMQ_MAX_SOCKETS, (int) crowd.count + 16);
  epoll_ctl (crowd.epoll, EPOLL_CTL_ADD, STDIN_FILENO, &input);
  epoll_ctl (crowd.epoll, EPOLL_CTL_ADD, crowd.timer, &timer);
  crowd.nodes = memory_new (crowd.count, sizeof *crowd.nodes);
  for (unsigned i = 0; i < crowd.count; i++) {
    struct key_pair keys;

    bench_keys (&keys, seed, i);
    bench_node_name (crowd.nodes[i].name, sizeof crowd.nodes[i].name, i);
    node_open (&crowd, &crowd.nodes[i], context, &keys, server, control);
  }
  rate = strtod (argv[4], NULL);
  if (rate > 0) {
    crowd.pause_ns = (int64_t) ((double) NS_PER_S / rate);
    crowd.due_ns = clock_monotonic () + NS_PER_S; /* most are welcomed by then */
    send_probes (&crowd);
  }
  crowd_run (&crowd);
  _exit (0); /* the sockets go with the process */
}
