/* The state of all nodes: the pure core.
 *
 * It is given messages with the time at which they came, and the time itself (cluster_tick). It opens no socket and
 * reads no clock, so that tests and simulations can drive any number of nodes at any speed. Its output goes through
 * `struct cluster_output`: frames as tables for the views, events, answers on the control channel. */
#ifndef SYNOP_AGGREGATOR_CLUSTER_H
#define SYNOP_AGGREGATOR_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/event.h"
#include "aggregator/core/tick.h"
#include "synop/control.h"
#include "synop/frame.h"
#include "synop/keys.h"
#include "synop/report.h"
#include "synop/schema.h"

struct cluster;
struct node; /* node.h */

/* One moment of the aggregator, on both of its clocks. */
struct instant {
  int64_t monotonic_ns;
  int64_t wall_ns;
};

/* A message of a node as it was received; the core keeps no pointer to it. */
enum cluster_channel { CLUSTER_DATA, CLUSTER_CONTROL };
struct cluster_message {
  enum cluster_channel channel;
  const char *node;       /* the owner of the key that it came with */
  const uint8_t *routing; /* CLUSTER_CONTROL: where an answer goes */
  size_t routing_length;
  int64_t received_ns; /* CLOCK_MONOTONIC */
  int64_t ready_ns;    /* since when it waited for other nodes' messages alone */
  const void *bytes;
  size_t length;
};

/* A frame that was accepted; valid during the call only. */
struct cluster_frame {
  const struct node *node;
  const struct frame_header *header;
  const void *bytes; /* as it came */
  size_t length;
  struct instant received;
  int64_t time_ns;        /* cluster time at which it was sampled; of its receipt while the clock is unknown */
  int64_t bound_ns;       /* error bound of that; -1: unknown */
  int64_t wall_offset_ns; /* by which the node's wall clock is ahead of cluster time */
  int64_t drift_ppb;      /* of the node's CLOCK_MONOTONIC, positive when it is fast; INT64_MIN: unknown */
  int64_t probe_age_ms;   /* -1: never probed */
  bool late;              /* its tick was combined before it came */
  int64_t tick_period_ns; /* of the ticks, when it is part of the combined report of its tick; else 0 */
  const struct schema *schema;
  const struct report_group *groups; /* one for each group of the schema; `now` is NULL where the frame has none */
};

/* The limit for the line of a frame (report_cut); lines of agents take a tenth of it at most. */
static inline size_t
cluster_line_most (const struct cluster_frame *frame)
{
  return frame->length * 64 > 1024 * 1024 ? frame->length * 64 : 1024 * 1024;
}

struct cluster_tick_line {
  const struct tick_line *tick;
  size_t expected, stale, down; /* nodes that ever sent something; of them silent */
};

/* NULL functions are fine. */
struct cluster_output {
  void *context;
  void (*frame) (void *context, const struct cluster_frame *frame);
  void (*event) (void *context, const struct event *event);
  /* The combined report of a tick, and how many nodes are up, stale and down at its end. */
  void (*tick) (void *context, const struct cluster_tick_line *line);
  /* The node's session and clock (NULL: unknown) have changed; session 0: the node is gone. */
  void (*clock) (void *context, const char *node, uint64_t session, const struct control_clock *clock);
  void (*answer) (void *context, const uint8_t *routing, size_t routing_length, const void *bytes, size_t length);
  /* The bytes of a schema that the history has, valid until the next call of any function; NULL: it does not. */
  const struct buffer *(*schema) (void *context, const uint8_t hash[SCHEMA_HASH_SIZE]);
  /* The history has little room left for this node: replay waits. */
  bool (*nearly_full) (void *context, const char *node);
  /* An agent answers a request for traces. Valid during the call only. */
  void (*traced) (void *context, const struct node *node, const struct trace_answer *answer);
};

struct cluster_options {
  unsigned stale_periods, down_periods;  /* silence after which a node is called stale, down */
  int64_t tick_period_ns, tick_grace_ns; /* 0 < grace <= period */
  int64_t ticks_after_ns;                /* when this run began, in cluster time; 0: there was none before it */
  int64_t clock_limit_ns;                /* a wall clock that is off by more is reported */
  double replay_rate;                    /* frames a second that are requested from all nodes together; 0: no replay */
  bool backfill; /* frames from before this start are requested too, but for those of cluster_stored */
  size_t
      frame_bytes_max; /* the largest frame that is accepted, announced to agents; 0: FRAME_BYTES_MAX, not announced */
  struct cluster_output output;
};

struct cluster_counts {
  uint64_t frames, bytes;       /* on the data channel, of whatever kind */
  uint64_t lost;                /* frames that never came, and that no agent holds any more */
  uint64_t missing;             /* now: frames that did not come, and are requested */
  uint64_t replayed;            /* frames that came late, nearly always by replay */
  uint64_t replay_requested;    /* requests for up to 64 frames */
  uint64_t replay_timeouts;     /* requests without an answer */
  uint64_t replay_refused;      /* replayed frames that were not requested */
  uint64_t duplicates;          /* frames that were no newer than the last of their session */
  uint64_t duplicate_session;   /* frames and hellos of a second agent with the same node's key */
  uint64_t frames_malformed;    /* truncated, mutated, hostile */
  uint64_t wrong_node;          /* frames and hellos that name another node than their key's */
  uint64_t wrong_schema;        /* frames of a schema that was refused */
  uint64_t schema_refused;      /* schemas that were not requested, do not match their hash, or break a rule */
  uint64_t schemas_over_share;  /* schemas that have to wait, since their node brought too many */
  uint64_t frames_held_dropped; /* frames whose schema did not come in time */
  uint64_t control;             /* messages on the control channel */
  uint64_t control_malformed, control_unknown;
  uint64_t frames_large;        /* over frame_bytes_max */
  uint64_t connections_refused; /* of keys at their limit of connections */
  uint64_t lines_cut;           /* frames of which groups are left out of the line: see cluster_line_most */
  uint64_t unlisted;            /* messages of a node that was revoked while they waited */
};

struct cluster *cluster_create (const struct cluster_options *options);
void cluster_destroy (struct cluster *cluster);
/* Changes what may change at run time: the periods of silence, the limit of clocks, the rate of replay. */
void cluster_set_limits (struct cluster *cluster, const struct cluster_options *options);

/* Sets the list of nodes: `each` calls `take` for every node that is allowed, with its key (key_set_each), in any
 * order. New nodes, and nodes with another key than before, begin as "never". Their sessions stay known, those of
 * removed nodes for a day: when they are back no frame is taken twice, and what they sampled meanwhile is requested,
 * as after a cut link. */
typedef void cluster_take_node_fn (void *context, const char *node, const uint8_t key[KEY_SIZE]);
typedef void cluster_each_node_fn (const void *list, cluster_take_node_fn *take, void *context);
void cluster_list (struct cluster *cluster, cluster_each_node_fn *each, const void *list, struct instant now);

/* Before a node's first hello: the history has these frames, so they are not requested. In order. */
void cluster_stored (struct cluster *cluster, const char *node, uint64_t session, uint64_t first, uint64_t last);

/* `now` is when the message is handled. */
void cluster_message (struct cluster *cluster, const struct cluster_message *message, struct instant now);

/* Connections of a node's key were refused: `most` is the limit. */
void cluster_connections_refused (struct cluster *cluster, const char *node, uint64_t count, unsigned most,
                                  struct instant now);

/* Housekeeping: finds silent nodes, requests missing frames, reports pending events. To be called several times a
 * second. After a pause of a second or more the aggregator itself was stopped, and the silence does not count
 * against the nodes. */
void cluster_tick (struct cluster *cluster, struct instant now);

/* Requests more missing frames, as far as the rate allows; to be called after each batch of messages, so that they
 * come evenly. */
void cluster_ask_replay (struct cluster *cluster, struct instant now);

/* Closes the ticks that are due; to be called after each batch of messages and at cluster_next_tick. */
void cluster_close_ticks (struct cluster *cluster, struct instant now);
int64_t cluster_next_tick (const struct cluster *cluster); /* CLOCK_MONOTONIC; INT64_MAX: none */
/* The aggregator's own CLOCK_MONOTONIC in cluster time. */
int64_t cluster_time (const struct cluster *cluster, int64_t monotonic_ns);

/* Sends the agent of the node a request for traces, whose start is cluster time here. -1 and error: it is not connected, or
 * its clock is not known. */
int cluster_request_trace (struct cluster *cluster, const char *node, const struct trace_request *request,
                           struct error *error);
/* Cluster time of an instant of the node's CLOCK_MONOTONIC, and its error bound. False: it is not known. */
bool cluster_time_of_node (const struct cluster *cluster, const struct node *node, int64_t node_ns, int64_t *time_ns,
                           int64_t *bound_ns);

size_t cluster_node_count (const struct cluster *cluster);
const struct node *cluster_node (const struct cluster *cluster, size_t index); /* in order of names */
uint64_t cluster_lists (const struct cluster *cluster); /* how often the list was set: then nodes may be gone */
const struct node *cluster_find (const struct cluster *cluster, const char *name);
size_t cluster_schema_count (const struct cluster *cluster);
const struct cluster_counts *cluster_counts (const struct cluster *cluster);

#endif
