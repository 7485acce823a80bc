/* A storm of frames that are asked for again: many simulated agents (agents.h), each with a full ring, that come to an
 * aggregator which has none of it; while they publish live.
 *
 *   bench_storm keys FOLDER COUNT                           as bench_load does
 *   bench_storm run FOLDER COUNT ENDPOINT SOCKET HELD       HELD frames are in each ring
 *
 * A thread tails the aggregator's node lines at SOCKET. A line of a frame that was published here tells how long that took,
 * from the call that sent it until its line was read; a line of one that was held is counted, each frame once. Each line on
 * standard input is answered by a JSON object; "delays" tells those since the one before. Its end ends the program. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "synop/clock.h"
#include "synop/local_socket.h"
#include "synop/memory.h"
#include "tests/bench/agents.h"

#define STEP (1 * NS_PER_MS)
#define READ_AT_ONCE (1024 * 1024)

struct storm {
  struct agents agents;
  int fd; /* of the tail */
  struct buffer lines;
  uint8_t *seen; /* how often a held frame's line came: by agent and number */
  pthread_mutex_t mutex;
  double *delays; /* ms, of live frames */
  size_t count, capacity;
  uint64_t live, again, twice;
};

/* ---- lines ---- */

/* The number behind a key, which stands near the beginning; -1: it is not there. */
static int64_t
find_number (const char *line, size_t length, const char *key)
{
  const char *found = memmem (line, length < 256 ? length : 256, key, strlen (key));

  return found ? strtoll (found + strlen (key), NULL, 10) : -1;
}

static void
take_line (struct storm *storm, const char *line, size_t length, int64_t now_ns)
{
  int64_t index = find_number (line, length, "\"node\":\"sim"), sequence = find_number (line, length, "\"seq\":");
  uint64_t held = storm->agents.options.held;

  if (index < 0 || index >= storm->agents.options.count || sequence < 1)
    return;
  if ((uint64_t) sequence <= held) {
    uint8_t *seen = &storm->seen[(uint64_t) index * held + (uint64_t) sequence - 1];
    storm->again += *seen == 0;
    storm->twice += *seen != 0;
    *seen = 1;
    return;
  }
  if (storm->count == storm->capacity) {
    storm->capacity = storm->capacity ? 2 * storm->capacity : 65536;
    storm->delays = memory_resize (storm->delays, storm->capacity, sizeof storm->delays[0]);
  }
  storm->delays[storm->count++] =
      (double) (now_ns - atomic_load (&storm->agents.list[index].sent_ns[sequence % AGENT_SENT])) / 1e6;
  storm->live++;
}

static void
take_lines (struct storm *storm)
{
  const char *line = storm->lines.data, *end = line + storm->lines.length, *next;
  int64_t now_ns = clock_monotonic ();

  pthread_mutex_lock (&storm->mutex);
  for (; (next = memchr (line, '\n', (size_t) (end - line))); line = next + 1)
    take_line (storm, line, (size_t) (next - line), now_ns);
  pthread_mutex_unlock (&storm->mutex);
  storm->lines.length = (size_t) (end - line);
  memmove (storm->lines.data, line, storm->lines.length);
}

static void *
read_lines (void *context)
{
  struct storm *storm = context;
  ssize_t got;

  while ((got = recv (storm->fd, buffer_reserve (&storm->lines, READ_AT_ONCE), READ_AT_ONCE, 0)) > 0) {
    storm->lines.length += (size_t) got;
    take_lines (storm);
  }
  return NULL;
}

/* ---- answers ---- */

static int
compare (const void *one, const void *other)
{
  double a = *(const double *) one, b = *(const double *) other;

  return (a > b) - (a < b);
}

static double
quantile (const struct storm *storm, double part)
{
  size_t at = (size_t) (part * (double) storm->count);

  return storm->count ? storm->delays[at < storm->count ? at : storm->count - 1] : 0;
}

static void
print_delays (struct storm *storm)
{
  qsort (storm->delays, storm->count, sizeof storm->delays[0], compare);
  printf ("{\"delays\": %zu, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f}\n", storm->count,
          quantile (storm, 0.5), quantile (storm, 0.99), quantile (storm, 1));
  storm->count = 0;
}

static void
answer_command (void *context, const char *line)
{
  struct storm *storm = context;

  pthread_mutex_lock (&storm->mutex);
  if (strcmp (line, "delays\n") == 0)
    print_delays (storm);
  else
    printf (
        "{\"sent\": %llu, \"dropped\": %llu, \"publishing\": %u, \"live\": %llu, \"again\": %llu, \"twice\": %llu}\n",
        (unsigned long long) storm->agents.frames, (unsigned long long) storm->agents.dropped, storm->agents.publishing,
        (unsigned long long) storm->live, (unsigned long long) storm->again, (unsigned long long) storm->twice);
  pthread_mutex_unlock (&storm->mutex);
  fflush (stdout);
}

static void
start_tail (struct storm *storm, const char *path)
{
  static const char request[] = "tail\ttype=node\n";
  struct error error;
  pthread_t thread;

  storm->fd = local_socket_connect (path, &error);
  if (storm->fd < 0)
    bench_fail (path, error.text);
  if (send (storm->fd, request, sizeof request - 1, 0) < 0 || pthread_create (&thread, NULL, read_lines, storm) != 0)
    bench_fail (path, "cannot be read");
}

int
main (int argc, char **argv)
{
  struct agents_options options = { .full = true, .ring = true };
  struct storm storm = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  int64_t now_ns;

  if (argc == 4 && strcmp (argv[1], "keys") == 0)
    return agents_make_keys (argv[2], (unsigned) strtoul (argv[3], NULL, 10));
  if (argc != 7 || strcmp (argv[1], "run") != 0 || (options.count = (unsigned) strtoul (argv[3], NULL, 10)) == 0) {
    fprintf (stderr, "usage: bench_storm keys FOLDER COUNT\n"
                     "       bench_storm run FOLDER COUNT ENDPOINT SOCKET HELD\n");
    return 2;
  }
  options.folder = argv[2];
  options.endpoint = argv[4];
  options.held = strtoul (argv[6], NULL, 10);
  storm.seen = memory_new (options.count, options.held + 1);
  agents_open (&storm.agents, &options);
  start_tail (&storm, argv[5]);
  now_ns = clock_monotonic ();
  while (agents_wait (now_ns + STEP, &storm, answer_command)) {
    now_ns = clock_monotonic ();
    agents_step (&storm.agents, now_ns);
  }
  _exit (0); /* the sockets and the thread go with the process */
}
