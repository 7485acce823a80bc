/* A question to the history, answered again and again: how long the answer takes without the start of a process.
 *
 *   bench_query FILE TIMES KEY VALUE [KEY VALUE]...     one JSON object: the least time and CPU time of so many
 *
 * Keys and values are those of query_set. The history is opened, the question answered and written as JSON each time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "aggregator/query/query.h"
#include "synop/clock.h"

struct timed {
  int64_t best_ns, cpu_ns;
  size_t points, bytes;
};

static int64_t
cpu (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void
keep_least (int64_t *least, int64_t taken)
{
  if (!*least || taken < *least)
    *least = taken;
}

static int
answer_once (const char *path, const struct query *query, struct timed *timed, struct error *error)
{
  int64_t begin = clock_monotonic (), used = cpu ();
  struct history_file *file = history_file_open (path, error);
  struct query_answer answer;
  struct buffer out = { 0 };
  const char *key;
  int result = file ? query_answer (file, query, clock_wall (), &answer, &key, error) : -1;

  if (result == 0) {
    query_write_json (&out, &answer, NULL, NULL);
    keep_least (&timed->best_ns, clock_monotonic () - begin);
    keep_least (&timed->cpu_ns, cpu () - used);
    timed->bytes = out.length;
    timed->points = 0;
    for (size_t i = 0; i < answer.series_count; i++)
      timed->points += answer.steps - answer.series[i].missing;
    query_answer_free (&answer);
  }
  buffer_free (&out);
  history_file_close (file);
  return result;
}

int
main (int argc, char **argv)
{
  struct query query = { 0 };
  struct timed timed = { 0 };
  struct error error = { "" };
  int result = 0;

  if (argc < 5 || argc % 2 == 0) {
    fprintf (stderr, "usage: see %s\n", __FILE__);
    return 2;
  }
  for (int i = 3; i < argc && result == 0; i += 2)
    result = query_set (&query, argv[i], argv[i + 1], &error);
  for (long left = strtol (argv[2], NULL, 10); left > 0 && result == 0; left--)
    result = answer_once (argv[1], &query, &timed, &error);
  query_free (&query);
  if (result < 0)
    fprintf (stderr, "%s\n", error.text);
  else
    printf ("{\"ms\":%.3f,\"cpu_ms\":%.3f,\"points\":%zu,\"bytes\":%zu}\n", (double) timed.best_ns / 1e6,
            (double) timed.cpu_ns / 1e6, timed.points, timed.bytes);
  return result == 0 ? 0 : 1;
}
