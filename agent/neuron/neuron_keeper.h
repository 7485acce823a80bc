/* neuron-monitor, kept running: started, read, killed when something is wrong with it, and restarted after a pause. All
 * in the thread of the caller, who interprets the lines. */
#ifndef SYNOP_AGENT_NEURON_KEEPER_H
#define SYNOP_AGENT_NEURON_KEEPER_H

#include <stddef.h>
#include <stdint.h>

struct neuron_listener { /* the caller's functions */
  /* A line of its output. -1: it is no report. */
  int (*line) (void *context, const char *line, size_t length);
  /* Why there are no reports. */
  void (*trouble) (void *context, const char *why);
  void *context;
};

struct neuron_keeper;

/* See neuron_child.h for the command and its configuration, which are copied. */
struct neuron_keeper *neuron_keeper_create (const char *command, const char *configuration,
                                            const struct neuron_listener *listener);
void neuron_keeper_destroy (struct neuron_keeper *keeper); /* end it before */

/* Does what is due now. A process without a report for 4 times `patience_ns` is restarted. */
void neuron_keeper_step (struct neuron_keeper *keeper, int64_t patience_ns);
/* Waits until something is due, or the descriptor `wake` is readable. */
void neuron_keeper_wait (struct neuron_keeper *keeper, int wake);
/* Kills the process and waits a limited time for its end. */
void neuron_keeper_end (struct neuron_keeper *keeper);

#endif
