/* Sends what is sampled to the aggregator, and keeps the conversation with it: hello, schema, probes. */
#ifndef SYNOP_AGENT_PUBLISHER_H
#define SYNOP_AGENT_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/sampling/sampling.h"
#include "agent/uplink/ring.h"
#include "synop/error.h"
#include "synop/loop.h"
#include "synop/notify.h"

struct publisher_options {
  const char *node;
  uint64_t session; /* random, not 0 */
  const char *endpoint;
  const char *keys; /* the folder with agent.key and aggregator.pub */
  int queue_frames;
  struct ring *ring;     /* keeps the frames for replay; not owned; NULL: none */
  const char *frame_log; /* a file that every frame is appended to; "" or NULL: none */
  struct notify *notify; /* is told when samples are taken, and of the connection; may be NULL */
  void (*sampled) (void *context, const struct sample *sample); /* of each; may be NULL */
  void *sampled_context;
  bool realtime; /* the calling thread goes before ordinary work from now on, where the system permits it */
};

struct publisher;

/* Reads the keys and sets out to connect. `loop` and `sampling` must outlive it. NULL and error: nothing is started. */
struct publisher *publisher_create (const struct publisher_options *options, struct loop *loop,
                                    struct sampling *sampling, struct error *error);
void publisher_destroy (struct publisher *publisher);

/* Between them the sampling may be destroyed and another one made, in the same thread at once. The session goes on. */
void publisher_leave_sampling (struct publisher *publisher);
void publisher_use_sampling (struct publisher *publisher, struct sampling *sampling);

/* To the service manager: how the connection is. */
void publisher_tell_status (struct publisher *publisher);

/* Reads the keys again, and connects anew when they or something of this are others than before. What waits in the
 * queue is left to the ring. -1 and error: all stays as it was. */
int publisher_connect (struct publisher *publisher, const char *endpoint, const char *keys, int queue_frames,
                       struct error *error);

#endif
