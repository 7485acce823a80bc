/* The state of one node. Views may read it; only the core changes it. */
#ifndef SYNOP_AGGREGATOR_NODE_H
#define SYNOP_AGGREGATOR_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/core/clock_model.h"
#include "aggregator/core/node_replay.h"
#include "aggregator/core/schema_want.h"
#include "aggregator/core/tick.h"
#include "synop/control.h"
#include "synop/frame.h"
#include "synop/keys.h"
#include "synop/schema.h"
#include "synop/table.h"

#define NODE_ROUTING_MAX 64
enum node_state { NODE_NEVER, NODE_UP, NODE_STALE, NODE_DOWN, NODE_STATES };
const char *node_state_name (enum node_state state); /* "never", "up" */

/* One start of an agent. */
struct session {
  uint64_t id;                       /* 0: none */
  uint64_t sequence;                 /* of its last frame; 0: none yet */
  int64_t seen_ns;                   /* its last frame, or its first hello */
  unsigned strays;                   /* messages since another session took over */
  bool hello;                        /* it has sent a hello, */
  int64_t hello_ns;                  /* the last one then, */
  bool replays;                      /* and can replay frames */
  uint64_t base;                     /* of its last frame before the first hello; 0: none, or not known */
  uint64_t first;                    /* of the first frame that came on the data channel; 0: none yet */
  unsigned facts_asked;              /* welcomes that were sent again for the facts */
  int64_t facts_ask_ns;              /* when to send the next one; 0: nothing was missing yet */
  int64_t period_ns;                 /* shortest of its groups', from the hello */
  uint8_t routing[NODE_ROUTING_MAX]; /* where answers go */
  size_t routing_length;
  char version[CONTROL_TEXT_MAX + 1];
};

/* The current one first, then older ones: a second agent with the same key shows by messages of one of these. */
#define NODE_SESSIONS 4

/* The last tables of a group, made when it is first sent. */
struct node_group {
  struct table *now, *before; /* of `tables`; before: NULL: none yet */
  struct table tables[2];
  bool fresh; /* `now` is of the current frame */
};

/* A group whose last sample has an error, or whose failure was reported and has not ended; others are not kept. */
struct group_failure {
  struct group_failure *next; /* in order of their places in the node's schema: */
  size_t group;
  char name[SCHEMA_NAME_MAX + 1];
  char now[sizeof ((struct table *) NULL)->error];      /* in its last sample; "" is fine */
  char reported[sizeof ((struct table *) NULL)->error]; /* in the last event */
  unsigned samples,
      same;          /* samples since the first error, and samples with the same text; both stop at SAMPLES_STEADY */
  int64_t since_ns;  /* the first of the same */
  int64_t seen_ns;   /* its last sample, */
  int64_t period_ns; /* and the period of these */
  bool suppressed;   /* not really reported: the group failed from the node's first frames on */
};
/* The error that counts: one sample alone changes nothing. "": none. */
const char *group_failure_error (const struct group_failure *failure);

#define NODE_TABLES_MAX (64 * 1024 * 1024) /* bytes of all tables of a node: room for several of the largest frames */

/* A frame that waits for its schema. */
struct held_frame {
  struct held_frame *next;
  int64_t received_ns;
  size_t length;
  uint8_t bytes[];
};

/* A node's clocks. */
struct node_clock {
  struct clock_model model;                     /* of the current session's CLOCK_MONOTONIC */
  int64_t delay_ns;                             /* usual time from a frame's sample to its receipt */
  int64_t probed_ns;                            /* receipt of the last probe, on the aggregator's clock */
  bool soon;                                    /* the agent is to send a burst of probes */
  int64_t wall_offset_ns;                       /* by which its wall clock is ahead of cluster time */
  int64_t wall_at_ns;                           /* node time of that; 0: not known yet */
  int64_t boot_ns;                              /* its wall clock minus its CLOCK_MONOTONIC, in its last frame */
  bool off;                                     /* by more than the limit, and reported */
  int64_t step_reported_ns, offset_reported_ns; /* the last events about its clocks */
};

enum node_rejection {
  REJECTED_FRAME,
  REJECTED_LARGE, /* over the limit that the welcome announced */
  REJECTED_WRONG_NODE,
  REJECTED_WRONG_SCHEMA,
  REJECTED_SCHEMA,
  REJECTED_HELD,
  REJECTED_CONTROL,
  REJECTED_REPLAY,
  REJECTED_CONNECTION, /* over the limit of connections of a key */
  REJECTED_LINE,       /* groups were left out of the line of a frame */
  NODE_REJECTIONS
};

#define NODE_SCHEMAS_BEFORE 4

struct node {
  char name[FRAME_NODE_MAX + 1];
  uint8_t key[KEY_SIZE];
  int64_t since_ns; /* when it was listed with this key, or removed from the list */
  bool listed;      /* used while a new list is set */
  size_t place;     /* in the list: cluster_node */

  enum node_state state;
  const char *up_reason; /* reason of the event node_up that the next frame causes; NULL: it causes none */
  struct session sessions[NODE_SESSIONS];
  int64_t seen_ns;    /* receipt of its last frame */
  int64_t sampled_ns; /* that frame's time on the node's CLOCK_MONOTONIC */
  int64_t up_ns;      /* receipt of the first frame since it came up */
  struct node_clock clock;
  struct tick_member tick;
  uint64_t received, lost, rejected;
  int64_t duplicate_reported_ns;
  struct {
    const char *reason; /* pending; NULL: nothing is */
    uint64_t session;
    int64_t reported_ns;
  } up;
  struct {
    uint64_t session, from, to, lost; /* pending */
    int64_t reported_ns;
  } gap;
  struct {
    uint64_t pending;
    int64_t reported_ns;
  } rejections[NODE_REJECTIONS];
  uint64_t rejections_unreported; /* pending, of all kinds */

  struct shared_schema *schema; /* of the tables; NULL: none yet */
  /* Of missing frames: schemas that the node had when it got another one, and requested ones. The newest first, then
   * NULL. */
  struct shared_schema *schemas_before[NODE_SCHEMAS_BEFORE];
  struct node_group **groups; /* one for each of the schema's, NULL until sent */

  struct group_failure *failures;
  int64_t groups_first_ns;    /* when their errors were first checked; 0: never */
  int64_t groups_reported_ns; /* rate limit: when all reported events would have been, one each EVENT_EVERY */

  struct schema_want want; /* of its frames */
  struct {                 /* new schemas that came from it */
    int64_t due_ns;        /* rate limit: when all of them would have come, one each BRING_EVERY */
    bool held;             /* the wanted one is over the rate: it is counted in `pending`, or reported */
    uint64_t pending;
    int64_t reported_ns;
  } brought;
  struct held_frame *held, **held_end;
  size_t held_count, held_bytes;

  struct node_replay replay;
};

struct node *node_create (const char *name, const uint8_t key[KEY_SIZE], int64_t now_ns);
void node_forget_failures (struct node *node);
void node_destroy (struct node *node); /* release its schema and held frames first */

struct session *node_session (struct node *node, uint64_t id); /* NULL: unknown */
/* Makes `id` the current session, with empty state unless it is a known one. */
void node_take_session (struct node *node, uint64_t id, int64_t now_ns);

/* The table to fill for a group of the current frame; the last one becomes the base for changes. */
struct table *node_groups_table (struct node_group **groups, const struct schema *schema, size_t group);
/* Before a frame is read: since the last one of the node came those of all others. */
void node_groups_expect (struct node_group *const *groups, const struct schema *schema);
const struct table *node_groups_last (struct node_group *const *groups, size_t group); /* of its last frame, or NULL */
void node_groups_free (struct node_group **groups, const struct schema *schema);

void node_tables_create (struct node *node, const struct schema *schema);
void node_tables_free (struct node *node);
/* After a frame: -1 when the tables are over NODE_TABLES_MAX; those of the frame's groups are then dropped. */
int node_tables_check (struct node *node, struct error *error);

#endif
