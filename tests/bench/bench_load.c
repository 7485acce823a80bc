/* Many simulated agents (agents.h) that put a load on a receiver.
 *
 *   bench_load keys FOLDER COUNT                                        FOLDER/nodes/simN.pub and FOLDER/sim.seed
 *   bench_load run FOLDER COUNT ENDPOINT spread|together full|data      FOLDER is that of the aggregator's keys
 *
 * together: all at whole seconds of cluster time, as nodes do that know it; spread: evenly over the second. data: without
 * the control channel, for a bare receiver. Each line on standard input is answered by a JSON object of what was done so
 * far; its end ends the program. */
#include <unistd.h>

#include "synop/clock.h"
#include "tests/bench/agents.h"

#define STEP (1 * NS_PER_MS)

static void
answer_command (void *context, const char *line)
{
  const struct agents *agents = context;

  (void) line;
  printf ("{\"frames\": %llu, \"bytes\": %llu, \"dropped\": %llu, \"publishing\": %u}\n",
          (unsigned long long) agents->frames, (unsigned long long) agents->bytes, (unsigned long long) agents->dropped,
          agents->publishing);
  fflush (stdout);
}

int
main (int argc, char **argv)
{
  struct agents_options options = { 0 };
  struct agents agents;
  int64_t now_ns;

  if (argc == 4 && strcmp (argv[1], "keys") == 0)
    return agents_make_keys (argv[2], (unsigned) strtoul (argv[3], NULL, 10));
  if (argc != 7 || strcmp (argv[1], "run") != 0 || (options.count = (unsigned) strtoul (argv[3], NULL, 10)) == 0) {
    fprintf (stderr, "usage: bench_load keys FOLDER COUNT\n"
                     "       bench_load run FOLDER COUNT ENDPOINT spread|together full|data\n");
    return 2;
  }
  options.folder = argv[2];
  options.endpoint = argv[4];
  options.together = strcmp (argv[5], "together") == 0;
  options.full = strcmp (argv[6], "full") == 0;
  agents_open (&agents, &options);
  now_ns = clock_monotonic ();
  while (agents_wait (now_ns + STEP, &agents, answer_command)) {
    now_ns = clock_monotonic ();
    agents_step (&agents, now_ns);
  }
  _exit (0); /* the sockets go with the process */
}
