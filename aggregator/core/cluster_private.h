/* What the files of the cluster's core share: cluster.c (states, sessions, events), cluster_frame.c (data channel),
 * cluster_control.c (control channel), cluster_missing.c (which frames are missing), cluster_replay.c (requests for
 * them), cluster_late.c (late frames), cluster_late_schema.c (their schemas), cluster_list.c (the list of nodes, and
 * those that were on it), cluster_groups.c (groups that fail), cluster_clock.c (clocks and ticks), cluster_schema.c
 * (schemas and the frames that wait for them). */
#ifndef SYNOP_AGGREGATOR_CLUSTER_PRIVATE_H
#define SYNOP_AGGREGATOR_CLUSTER_PRIVATE_H

#include <stdbool.h>

#include "aggregator/core/cluster.h"
#include "aggregator/core/node.h"
#include "aggregator/core/schema_store.h"
#include "synop/buffer.h"

struct cluster {
  struct cluster_options options;
  struct node **nodes; /* in order of names */
  size_t node_count;
  uint64_t lists;     /* that were set */
  struct node **gone; /* that were listed lately, in the order of removal */
  size_t gone_count, gone_capacity;
  struct schema_store schemas;
  struct cluster_counts counts;
  size_t held_bytes;                    /* of all nodes' held frames */
  uint8_t asked_hash[SCHEMA_HASH_SIZE]; /* the schema that was requested last, */
  int64_t asked_ns;                     /* and when: one node's answer serves all */
  int64_t epoch_ns;                     /* cluster time minus the aggregator's CLOCK_MONOTONIC */
  bool epoch_known;
  unsigned epoch_off; /* checks in a row at which the wall clock did not fit it */
  struct ticks *ticks;
  int64_t ticked_ns, awake_ns; /* last call of cluster_tick; end of the aggregator's last pause */
  struct cluster_replay replay;
  struct report_group groups[SCHEMA_GROUPS_MAX]; /* of the frame at hand */
  struct buffer answer;
};

/* cluster.c */
void cluster_event (struct cluster *cluster, const struct event *event);
void cluster_reject (struct cluster *cluster, struct node *node, enum node_rejection kind, const char *why,
                     struct instant now);
/* Report that a node came up, or its pending gaps, unless the last such event is less than a second ago: then a
 * later call does. */
void cluster_report_up (struct cluster *cluster, struct node *node, struct instant now);
void cluster_report_gap (struct cluster *cluster, struct node *node, struct instant now);
void cluster_report_run (struct cluster *cluster, struct node *node, struct instant now);
/* Frames are lost. Gaps that share an event have their sum in it; the range is that of the last session among them. */
void cluster_take_gap (struct cluster *cluster, struct node *node, uint64_t session, uint64_t from, uint64_t to,
                       struct instant now);
int64_t cluster_stale_ns (const struct cluster *cluster, const struct node *node);
/* The session of a frame or hello; it becomes the current one if it is new, or if the current one has fallen silent.
 * NULL: it is of a second agent while the first is alive; counted and reported. */
struct session *cluster_session (struct cluster *cluster, struct node *node, uint64_t id, struct instant received);

/* cluster_list.c */
struct node *cluster_find_node (const struct cluster *cluster, const char *name);
void cluster_free_nodes (struct cluster *cluster);
void cluster_tick_gone (struct cluster *cluster, struct instant now); /* forgets nodes that have been gone for long */

/* cluster_frame.c */
void cluster_take_frame (struct cluster *cluster, struct node *node, const struct cluster_message *message,
                         struct instant received);
void cluster_decode_frame (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
                           const struct frame_header *header, struct instant received);

/* Counts and reports when groups are left out of the frame's line, whether or not anybody reads the line. */
void cluster_watch_line (struct cluster *cluster, struct node *node, const struct cluster_frame *frame,
                         struct instant now);

/* Points cluster->groups to the tables of the current frame. */
void cluster_lay_out (struct cluster *cluster, struct node_group **groups, const struct schema *schema);

/* cluster_missing.c */
/* Notes frames that did not come: they are requested, or reported as lost. */
void cluster_miss (struct cluster *cluster, struct node *node, uint64_t session, uint64_t from, uint64_t to,
                   struct instant now);
/* A hello of the current session, the first one or a later one. */
void cluster_hello_replay (struct cluster *cluster, struct node *node, const struct control *hello, bool first,
                           struct instant now);
/* Gives up what is still missing of a node, or of a range: it is lost. */
void cluster_give_up_all (struct cluster *cluster, struct node *node, struct instant now);
void cluster_give_up (struct cluster *cluster, struct node *node, uint64_t session, uint64_t from, uint64_t to,
                      struct instant now);

/* cluster_replay.c */
void cluster_end_request (struct cluster *cluster, struct node *node);
void cluster_note_wait (struct cluster *cluster, int64_t ready_ns, int64_t now_ns); /* of a message, until now */
void cluster_take_replayed (struct cluster *cluster, struct node *node, const struct control *message,
                            struct instant now);
void cluster_end_replay (struct cluster *cluster, struct node *node, const struct control *end, struct instant now);
void cluster_tick_replay (struct cluster *cluster, struct instant now);
void cluster_forget_replay (struct cluster *cluster, struct node *node);

/* cluster_late.c */
/* Takes a missing frame. False: it stays missing, since its schema is unknown; that is requested. */
bool cluster_take_late (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
                        const struct frame_header *header, struct instant now);
/* Reads a known frame only as the base for the changes of the next one. */
void cluster_see_late (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
                       const struct frame_header *header, struct instant now);
/* Whether the frame before this one was just read. */
bool cluster_late_follows (const struct node *node, uint64_t session, uint64_t sequence);
void cluster_drop_late (struct cluster *cluster, struct node *node);                   /* its tables */
void cluster_end_run (struct cluster *cluster, struct node *node, struct instant now); /* of late frames */

/* cluster_late_schema.c */
/* Keeps a schema for late frames of this node, at most NODE_SCHEMAS_BEFORE of them. */
void cluster_keep_schema (struct cluster *cluster, struct node *node, struct shared_schema *shared);
void cluster_drop_schemas_before (struct cluster *cluster, struct node *node);
/* NULL: it is neither in memory nor in the history. */
struct shared_schema *cluster_late_schema (struct cluster *cluster, struct node *node,
                                           const uint8_t hash[SCHEMA_HASH_SIZE]);
/* Requests it from the node, until it answers or ASKED_MAX requests were in vain. False: the node does not have it. */
bool cluster_want_late_schema (struct cluster *cluster, struct node *node, const uint8_t hash[SCHEMA_HASH_SIZE]);
void cluster_ask_late_schema (struct cluster *cluster, struct node *node, struct instant now); /* if due */
void cluster_ask_late_anew (struct node *node);                                                /* it said hello */
/* Takes the answer to that; false: the message is another one. */
bool cluster_take_late_schema (struct cluster *cluster, struct node *node, const struct control *message,
                               struct instant now);

/* cluster_groups.c */
/* Takes the errors from the current frame's tables in cluster->groups. */
void cluster_watch_groups (struct cluster *cluster, struct node *node, const struct schema *schema, struct instant now);
/* Reports what is due of a node that is up, as far as its rate limit allows; a later frame or tick reports the rest. */
void cluster_report_groups (struct cluster *cluster, struct node *node, struct instant now);
/* The node has another schema: failures are kept by their groups' names, or dropped where the schema has no such
 * group. */
void cluster_carry_groups (struct node *node, const struct schema *schema);

/* cluster_control.c */
void cluster_take_control (struct cluster *cluster, struct node *node, const struct cluster_message *message,
                           struct instant received);
/* The facts come with the first frame after a welcome. That frame may be lost, since the data channel may be up
 * later than the control channel: while facts are missing the node is welcomed again, a few times. */
void cluster_ask_facts (struct cluster *cluster, struct node *node, int64_t now_ns);
void cluster_answer (struct cluster *cluster, const uint8_t *routing, size_t routing_length,
                     const struct control *message);

/* cluster_clock.c */
void cluster_keep_epoch (struct cluster *cluster, struct instant now); /* several times a second */
void cluster_take_probe (struct cluster *cluster, struct node *node, const struct control *probe,
                         struct instant received);
/* The node's current session began: its clock is unknown. */
void cluster_clock_begin (struct cluster *cluster, struct node *node);
void cluster_report_clock (struct cluster *cluster, const struct node *node);
/* The node's CLOCK_MONOTONIC at that cluster time. False: it is not known. */
bool cluster_node_time (const struct cluster *cluster, const struct node *node, int64_t time_ns, int64_t *node_ns);
/* Sets the times of a frame and checks the node's wall clock. */
void cluster_place_frame (struct cluster *cluster, struct node *node, struct cluster_frame *frame);
/* The same for a late frame, which changes nothing of the node's clock. */
void cluster_place_late (const struct cluster *cluster, const struct node *node, struct cluster_frame *frame);

/* cluster_schema.c */
/* True: it is known, and the node's schema from now on. */
bool cluster_use_schema (struct cluster *cluster, struct node *node, const uint8_t hash[SCHEMA_HASH_SIZE]);
void cluster_drop_schema (struct cluster *cluster, struct node *node);
void cluster_want_schema (struct cluster *cluster, struct node *node, const uint8_t hash[SCHEMA_HASH_SIZE]);
/* Whether a wanted schema is to be requested from the node now; if so, that counts as a request. */
bool cluster_ask_due (struct cluster *cluster, struct node *node, struct schema_want *want, struct instant now);
/* Requests it, if that is due. The request names this session, or none: 0. */
void cluster_ask_schema (struct cluster *cluster, struct node *node, struct schema_want *want, uint64_t session,
                         struct instant now);
/* NULL: it is broken or does not match its hash; or the agent has none. */
struct schema *cluster_read_schema (const struct control *message, struct error *error);
/* Whether the node may bring an unknown schema: a few at once, then one now and then. Frames of the others are not
 * lost if the node can replay them. Counted and reported once for each schema. */
bool cluster_may_bring (struct cluster *cluster, struct node *node, struct instant now);
void cluster_report_brought (struct cluster *cluster, struct node *node, struct instant now);
/* A valid schema came: all nodes that want it have it now. */
void cluster_new_schema (struct cluster *cluster, struct node *node, struct shared_schema *shared, struct instant now);
void cluster_take_schema (struct cluster *cluster, struct node *node, const struct control *message,
                          struct instant now);
void cluster_hold_frame (struct cluster *cluster, struct node *node, const void *bytes, size_t length,
                         struct instant received);
void cluster_drop_held (struct cluster *cluster, struct node *node);

#endif
