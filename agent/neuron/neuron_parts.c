/* The reported groups of runtimes; see neuron_parts.h. A report of a thousand runtimes is processed under a lock that
 * samplers wait for: hence no list is searched. */
#include "agent/neuron/neuron_parts.h"

#include <stdlib.h>

#include "synop/memory.h"

static void
part_drop (struct neuron_parts *parts, struct neuron_part *part)
{
  HASH_DEL (parts->oldest, part);
  free (part->runtime);
  table_free (&part->table);
  free (part);
}

void
neuron_parts_free (struct neuron_parts *parts)
{
  while (parts->oldest)
    part_drop (parts, parts->oldest);
  if (parts->spare.group)
    table_free (&parts->spare);
  *parts = (struct neuron_parts){ 0 };
}

struct neuron_part *
neuron_parts_see (struct neuron_parts *parts, const char *runtime, int64_t now_ns)
{
  struct neuron_part *part;

  HASH_FIND_STR (parts->oldest, runtime, part);
  if (part) { /* it becomes the newest */
    HASH_DEL (parts->oldest, part);
    HASH_ADD_STR (parts->oldest, runtime, part);
    part->seen_ns = now_ns;
  }
  return part;
}

struct neuron_part *
neuron_parts_get (struct neuron_parts *parts, const struct group *group, const char *runtime, int64_t now_ns)
{
  struct neuron_part *part = neuron_parts_see (parts, runtime, now_ns);

  if (part)
    return part;
  if (HASH_COUNT (parts->oldest) == NEURON_PARTS_MAX) {
    if (parts->oldest->seen_ns == now_ns) {
      parts->left_out++;
      return NULL;
    }
    part_drop (parts, parts->oldest);
  }
  part = memory_new (1, sizeof *part);
  part->runtime = memory_string (runtime);
  part->seen_ns = now_ns;
  table_init (&part->table, group);
  HASH_ADD_STR (parts->oldest, runtime, part);
  return part;
}

void
neuron_parts_forget (struct neuron_parts *parts, int64_t before_ns)
{
  while (parts->oldest && parts->oldest->seen_ns < before_ns)
    part_drop (parts, parts->oldest);
}
