/* Traces of jobs that run: what a user asks for is requested of the agents of the job's nodes, and their answers become lines
 * for him: what was found, when each trace began on cluster time, where its file is, or why there is none. Pure like cluster.h.
 *
 * Where only so many processes are asked for, nodes say first which they have.
 *
 * A node that does not answer is asked again and then given up, one that goes down too; so each order ends. It goes on when
 * who gave it has left, and what agents have begun goes on when the aggregator ends. */
#ifndef SYNOP_AGGREGATOR_TRACE_DESK_H
#define SYNOP_AGGREGATOR_TRACE_DESK_H

#include "aggregator/core/cluster.h"
#include "aggregator/stream/outlet.h"
#include "synop/error.h"
#include "synop/trace_message.h"

#define TRACE_ORDERS_MAX 32     /* at once, */
#define TRACE_USER_ORDERS_MAX 8 /* of one user */
#define TRACE_PROCESSES_MAX 512 /* of a node */

/* What is asked for. */
struct trace_question {
  bool list;                           /* who could be traced, rather than traces */
  const char *job, *user;              /* job: "": of all */
  const char *tool, *options, *output; /* options: KEY=VALUE words */
  const char *nodes;                   /* globs; "": all of the job's */
  uint32_t ranks[TRACE_RANKS_MAX];     /* rank_count 0: all */
  size_t rank_count;
  uint32_t limit;                /* processes of the whole job; 0: all */
  int64_t delay_ns, duration_ns; /* delay: from now to the start */
  uint32_t iterations;
};
/* Takes words apart, "begin\tjob=123\toutput=/x"; `question` points into them. -1 and error. */
int trace_question_read (struct trace_question *question, char *words, struct error *error);

struct trace_desk_options {
  const struct cluster *cluster;
  void *context;
  /* As cluster_request_trace. */
  int (*request) (void *context, const char *node, const struct trace_request *request, struct error *error);
  void (*event) (void *context, const struct event *event);
};

struct trace_desk;
struct trace_reader;

struct trace_desk *trace_desk_create (const struct trace_desk_options *options);
void trace_desk_destroy (struct trace_desk *desk); /* detach all readers first */

/* Asks these nodes. Lines go into the outlet; `ready` is called when there are some, and may detach this reader. NULL and error:
 * there are too many orders. */
struct trace_reader *trace_desk_ask (struct trace_desk *desk, const struct trace_question *question,
                                     const char *const *nodes, size_t count, struct outlet *outlet,
                                     void (*ready) (void *context), void *context, struct error *error);
void trace_detach (struct trace_reader *reader); /* NULL is fine */

void trace_desk_answer (struct trace_desk *desk, const struct node *node, const struct trace_answer *answer);
void trace_desk_poll (struct trace_desk *desk, struct instant now); /* several times a second */
size_t trace_desk_open (const struct trace_desk *desk);             /* orders that have not ended */

#endif
