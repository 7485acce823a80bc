/* What the GPU groups cost the agent beyond the calls of NVIDIA's library, for which a stand-in is taken that answers at
 * once (SYNOP_NVML_SCRIPT says how many GPUs there are).
 *
 *   bench_gpu LIBRARY SAMPLES      one JSON object on standard output: CPU us of a sample, and of each group
 *
 * The samplers are called in one thread, as a worker does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/gpu/gpu.h"
#include "agent/groups.h"
#include "synop/clock.h"
#include "tests/lib/options_for.h"

static const struct sampler *const gpu_samplers[] = { &sampler_gpu, &sampler_gpu_info, &sampler_gpu_nvlink,
                                                      &sampler_gpu_processes, &sampler_job_gpu };
#define GROUPS (sizeof gpu_samplers / sizeof gpu_samplers[0])
#define WARM_UP 5

static int64_t
cpu_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int
main (int argc, char **argv)
{
  struct agent_options *options;
  void *states[GROUPS];
  struct table tables[GROUPS];
  int64_t spent_ns[GROUPS] = { 0 }, total_ns = 0;
  long samples = argc == 3 ? strtol (argv[2], NULL, 10) : 0;

  if (samples <= 0) {
    fputs ("bench_gpu LIBRARY SAMPLES\n", stderr);
    return 2;
  }
  options = options_for ("", "[gpu]\nlibrary = %s\n", argv[1]);
  for (size_t i = 0; i < GROUPS; i++) {
    states[i] = gpu_samplers[i]->open (&options->context);
    table_init (&tables[i], gpu_samplers[i]->group);
  }
  for (long round = -WARM_UP; round < samples; round++) {
    for (size_t i = 0; i < GROUPS; i++) {
      int64_t begin_ns = cpu_now ();

      table_begin (&tables[i]);
      if (gpu_samplers[i]->may_block)
        gpu_samplers[i]->may_block (states[i]);
      gpu_samplers[i]->sample (states[i], &tables[i]);
      if (round >= 0)
        spent_ns[i] += cpu_now () - begin_ns;
    }
    usleep (5000); /* caches go cold, as between the samples of an agent */
  }
  printf ("{\"gpus\": %zu, \"groups\": {", tables[0].rows);
  for (size_t i = 0; i < GROUPS; i++) {
    printf ("%s\"%s\": %.1f", i ? ", " : "", gpu_samplers[i]->group->name,
            (double) spent_ns[i] / 1e3 / (double) samples);
    total_ns += spent_ns[i];
    gpu_samplers[i]->close (states[i]);
    table_free (&tables[i]);
  }
  printf ("}, \"sample_us\": %.1f}\n", (double) total_ns / 1e3 / (double) samples);
  agent_options_destroy (options);
  return 0;
}
