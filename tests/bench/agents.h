/* Many agents in one process: each has a CURVE key, a PUB and a DEALER of its own, says hello, sends its schema, probes
 * the clock, publishes one frame a second, and sends frames again that it is asked for, as a real one does. What they
 * publish is what this machine's samplers find, sampled once a second. */
#ifndef SYNOP_BENCH_AGENTS_H
#define SYNOP_BENCH_AGENTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "agent/sampling/sampling.h"
#include "agent/uplink/prober.h"
#include "synop/buffer.h"
#include "synop/frame.h"
#include "tests/bench/bench_keys.h"

#define AGENT_SENT 512 /* frames whose time is remembered */

struct agent {
  char node[FRAME_NODE_MAX + 1];
  uint64_t session, sequence; /* of the last frame */
  void *data, *control;       /* control: NULL when there is none */
  int64_t due_ns, listen_ns;
  struct prober prober;
  bool welcomed, asked_facts, publishing;
  _Atomic int64_t sent_ns[AGENT_SENT]; /* when a frame was sent, by its number */
};

struct agents_options {
  const char *folder; /* of the aggregator's keys: aggregator.pub, sim.seed */
  const char *endpoint;
  unsigned count;
  bool together; /* all at whole seconds; else evenly over the second, the most work for a receiver */
  bool full;     /* with the control channel */
  bool ring;     /* they can send frames again, */
  uint64_t held; /* and have so many of before */
};

struct agents {
  struct agents_options options;
  void *context;
  struct agent *list;
  unsigned publishing;        /* those that have begun */
  struct agent_options *node; /* what is sampled */
  struct sampling *sampling;
  struct schema *schema;
  struct sample sample;
  int64_t sampled_ns, begun_ns;
  struct buffer frame, message;
  uint64_t frames, bytes, dropped, replayed;
};

/* FOLDER/nodes/simN.pub, and sim.seed, from which their secret keys are made. */
int agents_make_keys (const char *folder, unsigned count);
void agents_open (struct agents *agents, const struct agents_options *options);
/* Sends what is due and reads what came; to be called each millisecond. */
void agents_step (struct agents *agents, int64_t now_ns);
/* Waits until then, and gives each line of standard input to `command` meanwhile. False at its end. */
bool agents_wait (int64_t due_ns, void *context, void (*command) (void *context, const char *line));

#endif
