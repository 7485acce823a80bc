/* Sends samples to the aggregator, and handles the protocol on the control channel: hello, schema, probes. */
#ifndef SYNOP_AGENT_PUBLISHER_H
#define SYNOP_AGENT_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/sampling/sampling.h"
#include "agent/uplink/ring.h"
#include "synop/error.h"
#include "synop/loop.h"
#include "synop/notify.h"
#include "synop/trace_message.h"

struct publisher_options {
  const char *node;
  uint64_t session; /* random, not 0 */
  const char *endpoint;
  const char *keys; /* the folder with agent.key and aggregator.pub */
  int queue_frames;
  struct ring *ring;     /* keeps the frames for replay; not owned; NULL: none */
  const char *frame_log; /* a file that every frame is appended to; "" or NULL: none */
  struct notify *notify; /* is notified when sampling begins, and of the connection; may be NULL */
  void (*sampled) (void *context, const struct sample *sample); /* of each; may be NULL */
  void *sampled_context;
  /* The aggregator asks for traces; NULL: that is passed over. */
  void (*trace) (void *context, const struct trace_request *request);
  void *trace_context;
  bool realtime; /* run the calling thread before ordinary processes, where the system permits it */
};

struct publisher;

/* Reads the keys and begins to connect. `loop` and `sampling` must outlive it. NULL and error: nothing is started. */
struct publisher *publisher_create (const struct publisher_options *options, struct loop *loop,
                                    struct sampling *sampling, struct error *error);
void publisher_destroy (struct publisher *publisher);

/* Between these two the sampling may be replaced, at once and in the same thread. The session goes on. */
void publisher_drop_sampling (struct publisher *publisher);
void publisher_use_sampling (struct publisher *publisher, struct sampling *sampling);

/* Answers a request for traces; dropped when nothing can be sent now. */
void publisher_send_traced (struct publisher *publisher, const struct trace_answer *answer);

/* Notifies the service manager of the connection's state. */
void publisher_notify_status (struct publisher *publisher);

/* Reads the keys again, and connects anew if they or these arguments have changed. Frames in the queue are then replayed
 * from the ring. -1 and error: all stays as it was. */
int publisher_connect (struct publisher *publisher, const char *endpoint, const char *keys, int queue_frames,
                       struct error *error);

#endif
