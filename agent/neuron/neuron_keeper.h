/* neuron-monitor, kept running: started, read, killed when something is wrong with it, and started again after a pause.
 * All in the thread of who calls, which gives what is read a meaning. */
#ifndef SYNOP_AGENT_NEURON_KEEPER_H
#define SYNOP_AGENT_NEURON_KEEPER_H

#include <stddef.h>
#include <stdint.h>

struct neuron_ear { /* who is told */
  /* A line of its output. -1: it is no report. */
  int (*line) (void *context, const char *line, size_t length);
  /* Why nothing is said. */
  void (*trouble) (void *context, const char *why);
  void *context;
};

struct neuron_keeper;

/* See neuron_child.h for the command and its configuration, which are copied. */
struct neuron_keeper *neuron_keeper_create (const char *command, const char *configuration,
                                            const struct neuron_ear *ear);
void neuron_keeper_destroy (struct neuron_keeper *keeper); /* ended before */

/* What is to be done now. One that says nothing for 4 times `patience_ns` is started again. */
void neuron_keeper_look (struct neuron_keeper *keeper, int64_t patience_ns);
/* Waits until there is something to be done, or to be read from the descriptor `wake`. */
void neuron_keeper_wait (struct neuron_keeper *keeper, int wake);
/* Kills it and waits for its end, but not long. */
void neuron_keeper_end (struct neuron_keeper *keeper);

#endif
