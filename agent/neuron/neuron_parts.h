/* The groups of one kind of the runtimes that neuron-monitor has reported: found by the runtime's label, and in the order
 * in which they were seen. Runtimes may come and go by the thousand: at the limit the one that was unseen for longest is
 * forgotten. */
#ifndef SYNOP_AGENT_NEURON_PARTS_H
#define SYNOP_AGENT_NEURON_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "synop/hash_table.h"
#include "synop/table.h"

#define NEURON_PARTS_MAX 1024 /* runtimes of a node */

struct neuron_part { /* a group of one runtime, or of the node */
  char *runtime;     /* its label; "" for the node */
  int64_t seen_ns;   /* the last report that its runtime was in */
  int64_t updated_ns;
  double period; /* seconds, as reported; 0: not reported */
  struct table table;
  UT_hash_handle hh; /* by runtime; in order of seen_ns, those of one report in its order */
};

struct neuron_parts { /* `{0}` is an empty one */
  struct neuron_part *oldest;
  size_t left_out;    /* runtimes of the last report above the limit */
  struct table spare; /* the next table is made here */
};

void neuron_parts_free (struct neuron_parts *parts);

/* The part of that runtime, which the report of `now_ns` has; NULL: there is none. */
struct neuron_part *neuron_parts_see (struct neuron_parts *parts, const char *runtime, int64_t now_ns);
/* The same, or a new one. NULL: the limit is reached by runtimes of this report; it is counted as left out. */
struct neuron_part *neuron_parts_get (struct neuron_parts *parts, const struct group *group, const char *runtime,
                                      int64_t now_ns);
/* Forgets those that were last seen before that. */
void neuron_parts_forget (struct neuron_parts *parts, int64_t before_ns);

#endif
