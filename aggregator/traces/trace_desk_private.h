/* What trace_desk.c (orders), trace_choice.c (of how many processes) and trace_desk_line.c (lines and events) share. */
#ifndef SYNOP_AGGREGATOR_TRACE_DESK_PRIVATE_H
#define SYNOP_AGGREGATOR_TRACE_DESK_PRIVATE_H

#include "aggregator/traces/trace_desk.h"
#include "synop/json.h"

struct traced_process {
  int64_t pid, rank, uid, device; /* pid 0: the node as a whole */
  enum trace_state state;
  int64_t begun_ns, bound_ns; /* cluster time; 0: not begun. bound: -1: not known */
  uint64_t size;
  char *job, *path, *error;
};

/* Of a node, where only some of the job's processes are traced. */
struct trace_choice {
  uint32_t count, ranks[TRACE_RANKS_MAX];
  bool named; /* each has a rank */
};

enum traced_state { TRACED_ASKED, TRACED_GOES_ON, TRACED_DONE, TRACED_FAILED };

struct traced_node {
  char *name;
  enum traced_state state;
  int64_t asked_ns, heard_ns;
  char *error;
  struct traced_process *processes;
  size_t count;
  struct trace_choice *choice;
};

struct trace_reader {
  struct trace_order *order; /* NULL: it has ended */
  struct outlet *outlet;
  void (*ready) (void *context);
  void *context;
  bool fresh; /* lines were put into the outlet */
};

struct trace_order {
  struct trace_order *next;
  struct trace_request request;
  char *job, *user, *tool, *options, *output; /* of the request */
  int64_t start_ns, delay_ns;                 /* cluster time; from the asking to it */
  uint32_t limit;                             /* of processes; 0: none */
  bool choosing;                              /* nodes are asked what they have, to choose so many of it */
  struct traced_node *nodes;                  /* in order of names */
  size_t node_count, waiting, open;           /* nodes that have not listed what was found; that have not ended */
  bool begun;                                 /* event trace_begun was reported */
  struct trace_reader *reader;                /* NULL: who asked has left */
};

struct trace_sum {
  size_t processes, ended, failed, unregistered, nodes, nodes_failed; /* nodes: that have processes */
};
struct trace_sum trace_order_sum (const struct trace_order *order);

/* Each node of which something is chosen has a `choice` then. */
void trace_choose (struct trace_order *order);
void trace_choice_apply (const struct trace_choice *choice, struct trace_request *request);

void trace_line_order (struct trace_order *order);
void trace_line_node (struct trace_order *order, const struct traced_node *node);
void trace_line_process (struct trace_order *order, const struct traced_node *node,
                         const struct traced_process *process);
void trace_line_listed (struct trace_order *order); /* every node has answered or was given up */
void trace_line_end (struct trace_order *order);
void trace_event (const struct trace_desk_options *options, const struct trace_order *order, enum event_type type,
                  int64_t wall_ns);

#endif
