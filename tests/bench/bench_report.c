/* A history with one long job in it, whose report is measured:
 *
 *   bench_report FILE NODES HOURS PERIOD     job 123, until an hour ago, a sample each PERIOD seconds, chunks of a minute
 *
 * What a node does is made up; its frames are as small as those of an agent with the groups of jobs and network alone. */
#include "tests/unit/aggregator/report/job_history.h"

#define AT_ONCE 10 /* minutes that are put before they are written */

struct made {
  char name[32];
  struct job_chain chain;
  struct job_sample sample;
  uint32_t state;
};

static uint64_t
chance (struct made *made, uint32_t below)
{
  made->state = made->state * 1664525 + 1013904223;
  return (made->state >> 8) % below;
}

static void
put_next (struct scratch *scratch, struct made *made, double at, unsigned period)
{
  struct job_sample *sample = &made->sample;

  sample->chain = &made->chain;
  sample->at = at;
  sample->period_ns = period * SECOND_NS;
  sample->sequence++;
  sample->cpus = 8;
  sample->user_ms += period * (6000 + chance (made, 1500));
  sample->system_ms += period * chance (made, 400);
  sample->rss = UINT64_C (10) << 30 | chance (made, 1 << 20) << 8;
  sample->rss_peak = sample->rss > sample->rss_peak ? sample->rss : sample->rss_peak;
  sample->read += chance (made, 50) ? chance (made, 10000) : chance (made, 1 << 24) * period;
  sample->written += chance (made, 5) ? 0 : 4096;
  sample->received += period * chance (made, 1000000);
  sample->sent += period * chance (made, 900000);
  sample->source = sample->sequence == 1 ? "cgroup" : NULL;
  put_sample (scratch, made->name, "123", sample);
}

static void
put_job (struct scratch *scratch, const struct made *nodes, size_t count, int64_t ended_ns)
{
  struct job_row row = {
    JOB_ROW_JOB, scratch->start_ns, scratch->start_ns, 8 * (double) count, { "123", "slurm", "ana", "week", "", "" }
  };

  history_put_job (scratch->history, &row);
  for (size_t i = 0; i < count; i++) {
    row = (struct job_row){ JOB_ROW_NODE, scratch->start_ns, scratch->start_ns, nan (""), { nodes[i].name } };
    history_put_job (scratch->history, &row);
  }
  row = (struct job_row){ JOB_ROW_END, scratch->start_ns, ended_ns, nan (""), { "gone", "{}" } };
  history_put_job (scratch->history, &row);
}

int
main (int argc, char **argv)
{
  size_t count = argc == 5 ? strtoul (argv[2], NULL, 10) : 0;
  unsigned hours = count ? (unsigned) strtoul (argv[3], NULL, 10) : 0;
  unsigned period = count ? (unsigned) strtoul (argv[4], NULL, 10) : 0;
  struct scratch scratch = { .schema = schema_create (job_group_list, JOB_GROUPS) };
  struct history_options options = { .path = argv[1],
                                     .max_age_ns = 30 * 86400 * NS_PER_S,
                                     .max_size = UINT64_C (1) << 45,
                                     .chunk_ns = 86400 * NS_PER_S,
                                     .queue_bytes = UINT64_C (1) << 30 };
  struct made *nodes;

  if (period == 0 || hours == 0 || period > 60) {
    fprintf (stderr, "usage: bench_report FILE NODES HOURS PERIOD   (PERIOD: up to 60 s)\n");
    return 2;
  }
  options.chunk_frames = 60 / period;
  scratch.start_ns = (clock_wall () / NS_PER_S - (int64_t) (hours + 1) * 3600) * NS_PER_S;
  scratch.history = history_create (&options);
  nodes = memory_new (count, sizeof nodes[0]);
  for (size_t i = 0; i < count; i++) {
    nodes[i].state = (uint32_t) i;
    snprintf (nodes[i].name, sizeof nodes[i].name, "n%04zu", i + 1);
  }
  for (unsigned at = 0; at <= hours * 3600; at += period) {
    for (size_t i = 0; i < count; i++)
      put_next (&scratch, &nodes[i], at + 0.5 * (double) i / (double) count, period);
    if (at % (AT_ONCE * 60) + period >= AT_ONCE * 60 && !history_flush (scratch.history))
      return 1;
  }
  put_job (&scratch, nodes, count, scratch.start_ns + (int64_t) hours * 3600 * NS_PER_S);
  history_destroy (scratch.history);
  for (size_t i = 0; i < count; i++)
    job_chain_free (&nodes[i].chain);
  schema_destroy (scratch.schema);
  free (nodes);
  return 0;
}
