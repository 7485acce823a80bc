/* Messages of the control channel (agent DEALER, aggregator ROUTER): one msgpack array each, [1, type, ...].
 *
 *    1  hello           node, session, schema hash, first sequence held, last sequence, period ns, version text, held
 *                       held: earlier sessions of which frames are held, [[session, first, last], ...], the newest
 *   first
 *    2  schema          schema hash, schema (bin); of no bytes: the agent does not have it
 *    3  probe           session, t1, last   (last: nil, or the four times [t1, t2, t3, t4] of the probe before)
 *    4  replayed frame  frame (bin)
 *    5  replay end      session, from, to, sent: of all frames from `from` to `to`, `sent` were held and were sent
 *    6  trace answer    session, id, progress, error text, records (trace_message.h)
 *   32  welcome         session, known (is the schema known), last sequence stored (0: none), version text, bytes
 *                       bytes: of the largest frame that the aggregator takes; 0: not stated, so FRAME_BYTES_DEFAULT
 *   33  probe answer    session, t1, t2, t3, known, clock
 *                       known: does the aggregator know this session; clock: nil, or [node ns, cluster ns, bound ns,
 *                       drift, soon]: when the agent's monotonic clock reads `node ns + x` cluster time is
 *                       `cluster ns + x * (1 + drift)`, to within the bound; soon: the agent shall probe in a burst
 *   again
 *   34  replay request  session, from, to, frames, bytes: the frames from..to that are held, in order, at most so many
 *                       and of so many bytes together; a frame that is larger alone counts as not held
 *   35  trace request   session, id, kind, job, user, tool, options, output, ranks, limit, start ns, duration ns, iterations
 *   36  schema request  schema hash: that of the current frames, or of frames that are held
 *   37  wrong node      session, node: the owner of the key. The hello named another node, and nothing is taken
 *
 * t1 and t4 are the agent's monotonic ns when a probe is sent and its answer arrives, t2 and t3 the aggregator's when
 * the probe arrives and its answer is sent. Cluster time is ns since 1970.
 *
 * `held`, `last`, `clock`, and a welcome's `bytes` may be left out. The first sequence held is 0 for an agent that
 * cannot replay, else that of the oldest frame held, or of the next frame where none is held.
 *
 * An unknown type or version is counted and ignored; trailing fields are ignored.
 * The agent sends a hello whenever its connection comes up, and when an answer says that the aggregator does not
 * know the session. */
#ifndef SYNOP_CONTROL_H
#define SYNOP_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/frame.h"
#include "synop/schema.h"
#include "synop/trace_message.h"

#define CONTROL_VERSION 1
#define CONTROL_BYTES_MAX (FRAME_BYTES_MAX + 1024)
#define CONTROL_TEXT_MAX 64
#define CONTROL_HELD_MAX 128   /* enough for an agent that crashes soon after each start, for 15 minutes */
#define CONTROL_DRIFT_MAX 0.01 /* s/s: far more than any clock's */
#define CONTROL_PERIOD_MIN_NS INT64_C (1000000)        /* 1 ms */
#define CONTROL_PERIOD_MAX_NS INT64_C (86400000000000) /* a day */

enum control_type {
  CONTROL_HELLO = 1,
  CONTROL_SCHEMA = 2,
  CONTROL_PROBE = 3,
  CONTROL_REPLAYED = 4,
  CONTROL_REPLAY_END = 5,
  CONTROL_TRACE_ANSWER = 6,
  CONTROL_WELCOME = 32,
  CONTROL_PROBE_ANSWER = 33,
  CONTROL_REPLAY_REQUEST = 34,
  CONTROL_TRACE_REQUEST = 35,
  CONTROL_SCHEMA_REQUEST = 36,
  CONTROL_WRONG_NODE = 37,
};

struct control_clock {
  int64_t node_ns, cluster_ns, bound_ns;
  double drift;
  bool soon;
};

/* Frames of one session. */
struct control_held {
  uint64_t session, first, last;
};

struct control {
  enum control_type type;
  char node[FRAME_NODE_MAX + 1];
  uint64_t session;
  uint8_t schema_hash[SCHEMA_HASH_SIZE];
  uint64_t first_sequence, last_sequence;
  int64_t period_ns;
  char version[CONTROL_TEXT_MAX + 1];
  size_t held_count;
  union {
    struct control_held held[CONTROL_HELD_MAX];
    struct trace_request trace;
    struct trace_answer traced;
  };
  uint64_t from, to; /* of a replay request or its end */
  uint32_t frames, bytes;
  uint64_t sent;
  const uint8_t *frame; /* into the bytes read, or what to write */
  size_t frame_length;
  const uint8_t *schema; /* into the bytes read, or what to write */
  size_t schema_length;
  int64_t t1, t2, t3;
  bool has_last;
  int64_t last[4]; /* t1 to t4 */
  bool has_clock;
  struct control_clock clock;
  bool known;
};

void control_write (struct buffer *out, const struct control *message);
/* -1 for what is broken; 1 for a type or version that this program does not know; 0 when `message` is filled. */
int control_read (const void *bytes, size_t length, struct control *message, struct error *error);

#endif
