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
#include "synop/config.h"
#include "synop/metric.h"
#include "synop/table.h"

struct sampler;
struct services;

/* Options of a sampler or of a service: users see them as the agent's own, and their values are in a struct of its
 * own. */
struct own_options {
  const struct option *rows; /* `offset` is in that struct */
  size_t count, size;        /* of the rows; of the struct */
};
#define OWN_OPTIONS(ROWS, TYPE)                                                                                        \
  {                                                                                                                    \
    .rows = ROWS, .count = sizeof (ROWS) / sizeof (ROWS)[0], .size = sizeof (TYPE)                                     \
  }
struct own_values {
  const struct own_options *options;
  const void *values;
};

struct sampler_context {        /* outlives the samplers */
  const char *root;             /* "" or a folder without a trailing '/' */
  bool brief;                   /* for a report or a few: nothing is stored for the next start */
  const struct own_values *own; /* of each that has options */
  size_t own_count;
  struct services *services; /* what samplers share: service.h */

  /* All samplers that there are, and the period of each: 0 for those that are not sampled. */
  const struct sampler *const *samplers;
  const int64_t *periods_ns;
  int64_t *spent_ns; /* how long the last sample of each took; NULL: it is not kept */
  size_t sampler_count;
};

/* The values of these options; texts in them are valid until the sampler is closed, but not for one in a worker. */
const void *context_options (const struct sampler_context *context, const struct own_options *options);

struct sampler {
  const struct group *group;
  /* May the next sample block? If so it is taken in a thread, with a deadline (worker.h). NULL: never. Called by the
   * sampling thread right before the sample, never during one; must be quick and not block. What it reads may be
   * kept for the sample. */
  bool (*may_block) (void *state);
  void *(*open) (const struct sampler_context *context); /* never fails: what is absent shows when sampling */
  int (*sample) (void *state, struct table *table);      /* the table is begun already, with its time */
  void (*close) (void *state);
  bool optional;     /* for hardware that few nodes have: left out of frames until it has had a value or an error */
  size_t stack;      /* that its samples need in a thread; 0: as others */
  int64_t period_ns; /* shortest period unless the configuration sets one: for costly groups; 0: none */
  const struct own_options *options; /* NULL: only the options of all samplers */
  /* Why this machine lacks the group: "" when it may have it. For --list-groups, in a thread: it may block. Samplers
   * that share the function are listed together. NULL: every machine has it. */
  void (*absent) (const struct sampler_context *context, char *text, size_t size);
};

#endif
