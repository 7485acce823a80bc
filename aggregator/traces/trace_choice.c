/* Which processes of a job are traced where no more than so many are asked for: those of the lowest ranks. See trace_desk.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/traces/trace_desk_private.h"
#include "synop/memory.h"

struct candidate {
  struct traced_node *node;
  int64_t rank, pid;
};

static bool
is_asked (const struct trace_request *request, int64_t rank)
{
  for (size_t i = 0; i < request->rank_count; i++)
    if (request->ranks[i] == rank)
      return true;
  return request->rank_count == 0;
}

/* Those without a rank come last. */
static int
compare_candidates (const void *a, const void *b)
{
  const struct candidate *one = a, *other = b;
  uint64_t rank = (uint64_t) one->rank, other_rank = (uint64_t) other->rank;
  int by = (rank > other_rank) - (rank < other_rank);

  if (by == 0)
    by = strcmp (one->node->name, other->node->name);
  return by ? by : (one->pid > other->pid) - (one->pid < other->pid);
}

static void
choose (struct traced_node *node, int64_t rank)
{
  struct trace_choice *choice = node->choice;

  if (!choice) {
    choice = node->choice = memory_new (1, sizeof *choice);
    choice->named = true;
  }
  choice->named = choice->named && rank >= 0 && choice->count < TRACE_RANKS_MAX;
  if (choice->named)
    choice->ranks[choice->count] = (uint32_t) rank;
  choice->count++;
}

void
trace_choose (struct trace_order *order)
{
  struct candidate *candidates = NULL;
  size_t count = 0, room = 0;

  for (size_t i = 0; i < order->node_count; i++)
    room += order->nodes[i].count;
  candidates = memory_new (room, sizeof *candidates);
  for (size_t i = 0; i < order->node_count; i++) {
    struct traced_node *node = &order->nodes[i];
    for (size_t j = 0; j < node->count; j++)
      if (node->processes[j].state == TRACE_FOUND && is_asked (&order->request, node->processes[j].rank))
        candidates[count++] = (struct candidate){ node, node->processes[j].rank, node->processes[j].pid };
  }
  if (count > 0)
    qsort (candidates, count, sizeof *candidates, compare_candidates);
  for (size_t i = 0; i < count && i < order->limit; i++)
    choose (candidates[i].node, candidates[i].rank);
  free (candidates);
}

void
trace_choice_apply (const struct trace_choice *choice, struct trace_request *request)
{
  request->limit = choice->count;
  if (!choice->named)
    return;
  request->rank_count = choice->count;
  memcpy (request->ranks, choice->ranks, choice->count * sizeof *choice->ranks);
}
