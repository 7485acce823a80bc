/* Messages of the control channel (agent DEALER, aggregator ROUTER): one msgpack array each, [1, type, ...].
 *
 *   1  hello           node, session, schema hash, first sequence held, last sequence held, period ns, version text
 *   2  schema          schema hash, schema (bin)
 *   3  probe           session, t1, last   (last: nil, or the four times [t1, t2, t3, t4] of the probe before)
 *  32  welcome         session, known (is the schema known), last sequence stored (0: none), version text
 *  33  probe answer    session, t1, t2, t3, known, clock
 *                      known: does the aggregator know this session; clock: nil, or [node ns, cluster ns, bound ns,
 *                      drift, soon]: when the agent's monotonic clock reads `node ns + x` cluster time is
 *                      `cluster ns + x * (1 + drift)`, to within the bound; soon: the agent shall probe in a burst again
 *  36  schema request  schema hash
 *
 * t1 and t4 are the agent's monotonic ns when a probe is sent and its answer comes, t2 and t3 the aggregator's when the
 * probe comes and its answer is sent. Cluster time is ns since 1970.
 *
 * `last` and `clock` may be left out.
 *
 * Left free for replay and commands: 4 (replayed frame), 34 (replay request), 35 (command). An unknown type is counted
 * and ignored, an unknown version too; trailing fields are ignored. The agent sends a hello whenever its connection
 * comes up, and when an answer says that the aggregator does not know the session. */
#ifndef SYNOP_CONTROL_H
#define SYNOP_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"
#include "synop/frame.h"
#include "synop/schema.h"

#define CONTROL_VERSION 1
#define CONTROL_BYTES_MAX (SCHEMA_BYTES_MAX + 1024)
#define CONTROL_TEXT_MAX 64
#define CONTROL_DRIFT_MAX 0.01                         /* s/s: far more than any clock's */
#define CONTROL_PERIOD_MIN_NS INT64_C (1000000)        /* 1 ms */
#define CONTROL_PERIOD_MAX_NS INT64_C (86400000000000) /* a day */

enum control_type {
  CONTROL_HELLO = 1,
  CONTROL_SCHEMA = 2,
  CONTROL_PROBE = 3,
  CONTROL_WELCOME = 32,
  CONTROL_PROBE_ANSWER = 33,
  CONTROL_SCHEMA_REQUEST = 36,
};

struct control_clock {
  int64_t node_ns, cluster_ns, bound_ns;
  double drift;
  bool soon;
};

struct control {
  enum control_type type;
  char node[FRAME_NODE_MAX + 1];
  uint64_t session;
  uint8_t schema_hash[SCHEMA_HASH_SIZE];
  uint64_t first_sequence, last_sequence;
  int64_t period_ns;
  char version[CONTROL_TEXT_MAX + 1];
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
