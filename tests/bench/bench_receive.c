/* What receiving alone costs: a SUB with CURVE that does nothing with what it gets. The measure for the aggregator.
 *
 *   bench_receive FOLDER each|batch      FOLDER is that of the aggregator's keys
 *
 * each: it blocks in every receive, so that it wakes for each message that comes alone. batch: it takes what is there,
 * then rests 5 ms, as the aggregator's receiving thread does. It prints its endpoint, and answers each line on standard
 * input by a JSON object with what came so far; its end ends the program. After the line "latency" it also notes how old
 * frames are, by their wall clock, when they come out of the socket. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>
#include <zmq.h>

#include "synop/clock.h"
#include "synop/frame.h"
#include "synop/memory.h"
#include "tests/bench/bench_keys.h"

#define REST_NS (5 * NS_PER_MS) /* these as in common/link/ */
#define IO_THREADS 2
#define BACKLOG 16384
#define ZERO_COPY_RECV 10
#define AGES_MAX 100000

struct receiver {
  void *context, *socket;
  _Atomic uint64_t messages, bytes;
  _Atomic bool noting;
  _Atomic size_t age_count;
  int64_t *ages;
};

static int
compare_ages (const void *one, const void *other)
{
  int64_t a = *(const int64_t *) one, b = *(const int64_t *) other;

  return a < b ? -1 : a > b;
}

static void
answer (const struct receiver *receiver)
{
  size_t count = atomic_load (&receiver->age_count);
  int64_t *ages = memory_new (count, sizeof *ages);

  memcpy (ages, receiver->ages, count * sizeof *ages);
  qsort (ages, count, sizeof *ages, compare_ages);
  printf ("{\"messages\": %llu, \"bytes\": %llu, \"ages\": %zu, \"p50_ms\": %.6f, \"p99_ms\": %.6f}\n",
          (unsigned long long) atomic_load (&receiver->messages), (unsigned long long) atomic_load (&receiver->bytes),
          count, count ? (double) ages[count / 2] / 1e6 : 0, count ? (double) ages[count * 99 / 100] / 1e6 : 0);
  fflush (stdout);
  free (ages);
}

/* A thread that is asleep while the receiving is measured. */
static void *
commands (void *context)
{
  struct receiver *receiver = context;
  char line[256];

  while (fgets (line, sizeof line, stdin)) {
    if (strncmp (line, "latency", 7) == 0)
      atomic_store (&receiver->noting, true);
    answer (receiver);
  }
  _exit (0);
}

static void
take (struct receiver *receiver, zmq_msg_t *message)
{
  size_t count = atomic_load_explicit (&receiver->age_count, memory_order_relaxed);
  struct frame_header header;

  atomic_fetch_add_explicit (&receiver->messages, 1, memory_order_relaxed);
  atomic_fetch_add_explicit (&receiver->bytes, zmq_msg_size (message), memory_order_relaxed);
  if (!atomic_load_explicit (&receiver->noting, memory_order_relaxed) || count == AGES_MAX)
    return;
  if (frame_read_header (zmq_msg_data (message), zmq_msg_size (message), &header, NULL) == 0) {
    receiver->ages[count] = clock_wall () - header.wall_ns;
    atomic_store (&receiver->age_count, count + 1);
  }
}

static void
receive (struct receiver *receiver, bool batch)
{
  struct timespec rest = { .tv_nsec = REST_NS };
  zmq_msg_t message;

  zmq_msg_init (&message);
  for (;;) {
    if (zmq_msg_recv (&message, receiver->socket, 0) >= 0)
      take (receiver, &message);
    if (!batch)
      continue;
    while (zmq_msg_recv (&message, receiver->socket, ZMQ_DONTWAIT) >= 0)
      take (receiver, &message);
    nanosleep (&rest, NULL);
  }
}

static void
bind_socket (struct receiver *receiver, const struct key_pair *keys)
{
  int one = 1, none = 0, backlog = BACKLOG;
  char endpoint[256];
  size_t size = sizeof endpoint;

  receiver->context = zmq_ctx_new ();
  zmq_ctx_set (receiver->context, ZMQ_IO_THREADS, IO_THREADS);
  zmq_ctx_set (receiver->context, ZERO_COPY_RECV, 0);
  receiver->socket = zmq_socket (receiver->context, ZMQ_SUB);
  zmq_setsockopt (receiver->socket, ZMQ_CURVE_SERVER, &one, sizeof one);
  zmq_setsockopt (receiver->socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, KEY_SIZE);
  zmq_setsockopt (receiver->socket, ZMQ_RCVHWM, &none, sizeof none);
  zmq_setsockopt (receiver->socket, ZMQ_BACKLOG, &backlog, sizeof backlog);
  zmq_setsockopt (receiver->socket, ZMQ_SUBSCRIBE, "", 0);
  if (zmq_bind (receiver->socket, "tcp://127.0.0.1:*") < 0)
    bench_fail ("zmq_bind", zmq_strerror (zmq_errno ()));
  zmq_getsockopt (receiver->socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
  printf ("{\"endpoint\": \"%s\"}\n", endpoint);
  fflush (stdout);
}

int
main (int argc, char **argv)
{
  struct receiver receiver = { .ages = memory_new (AGES_MAX, sizeof *receiver.ages) };
  struct key_pair keys;
  struct error error;
  char path[4096];
  pthread_t thread;

  if (argc != 3) {
    fprintf (stderr, "usage: bench_receive FOLDER each|batch\n");
    return 2;
  }
  snprintf (path, sizeof path, "%s/aggregator.key", argv[1]);
  if (key_pair_read (path, &keys, &error) < 0)
    bench_fail (path, error.text);
  bind_socket (&receiver, &keys);
  if (pthread_create (&thread, NULL, commands, &receiver) != 0)
    bench_fail ("pthread_create", "no thread");
  receive (&receiver, strcmp (argv[2], "batch") == 0);
}
