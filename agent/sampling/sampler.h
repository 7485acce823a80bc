/* A sampler fills one group's table. Each lives in a file of its own, group_NAME.c, and stands in the list of groups.c.
 *
 * Rules: files stay open and are pread; nothing is allocated once the rows are known; a value that cannot be read is
 * missing, never 0, and a complaint (table.h) says why, unless not every kernel and machine has it; garbage makes no
 * rows; when the whole source is gone `sample` returns -1 as well. All paths lie under `root` ("" is the live machine),
 * so that a recorded machine is read by the code that reads the kernel. */
#ifndef SYNOP_AGENT_SAMPLER_H
#define SYNOP_AGENT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/metric.h"
#include "synop/table.h"

struct gpus;
struct job_share;
struct neuron;

struct sampler_context {                /* outlives the samplers */
  const char *root;                     /* "" or a folder without a trailing '/' */
  const char *disk_exclude;             /* comma-separated globs of block devices */
  bool disk_partitions;                 /* show partitions, not only whole devices */
  const char *filesystem_exclude;       /* comma-separated globs of mount points */
  const char *filesystem_types_exclude; /* comma-separated globs of file system types, beside the pseudo ones */
  const char *network_exclude;          /* comma-separated globs of interfaces */
  bool instance_metadata;               /* may the cloud's metadata service be asked? */
  const char *instance_endpoint;        /* "http://169.254.169.254", or another for tests */
  const char *job_environment;          /* further variables that name a job, "A,B"; NULL: none */
  int64_t job_pss_period_ns;            /* 0: the default */
  const char *job_book;                 /* file with the totals of jobs; "" or NULL: in memory */
  const char *gpu_library;              /* NVIDIA's management library; "" or NULL: as the system has it */
  const char *dcgm;                     /* off, embedded, or where it listens; NULL: the default */
  struct gpus **gpus;                   /* where the GPU groups keep what they share; NULL: each has its own */
  const char *neuron_command;           /* neuron-monitor and its words; "" or NULL: as installed; "off" */
  struct neuron **neuron;               /* where the Neuron groups keep what they share; NULL: each has its own */
  struct job_share **job_share;         /* where the job groups keep what they share; NULL: each has its own */

  /* All samplers that there are, and the period of each: 0 for those that are not sampled; NULL: a second. */
  const struct sampler *const *samplers;
  const int64_t *periods_ns;
  size_t sampler_count;
};

struct sampler {
  const struct group *group;
  /* May the next sample block? Then it is taken in a thread, with a deadline (lane.h). NULL: never. Asked by the
   * sampling thread right before the sample, never while one is under way; must be quick and not block itself. What it
   * reads for the answer is kept for the sample. */
  bool (*may_block) (void *state);
  void *(*open) (const struct sampler_context *context); /* never fails: what is absent shows when sampling */
  int (*sample) (void *state, struct table *table);      /* the table is begun already */
  void (*close) (void *state);
  bool optional; /* for hardware that few nodes have: left out of frames until it has had a value or an error */
  size_t stack;  /* that its samples need in a thread; 0: as others */
  int64_t period_ns; /* the least unless the configuration has one for the group: for what is dear to read; 0: none */
};

#endif
