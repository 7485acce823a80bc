/* What was told of runtimes, by label and by age; see neuron_parts.h. A report of a thousand runtimes is taken under a lock
 * that samplers wait for: hence nothing is searched for one by one. */
#include "agent/neuron/neuron_parts.h"

#include <stdlib.h>
#include <string.h>

#include "synop/hash.h"
#include "synop/memory.h"

static struct neuron_part **
bucket_of (struct neuron_parts *parts, const char *runtime)
{
  return &parts->buckets[hash_text (runtime) % NEURON_BUCKETS];
}

static void
order_leave (struct neuron_parts *parts, struct neuron_part *part)
{
  *(part->older ? &part->older->newer : &parts->oldest) = part->newer;
  *(part->newer ? &part->newer->older : &parts->newest) = part->older;
}

static void
order_join (struct neuron_parts *parts, struct neuron_part *part)
{
  part->older = parts->newest;
  part->newer = NULL;
  *(part->older ? &part->older->newer : &parts->oldest) = part;
  parts->newest = part;
}

static void
part_drop (struct neuron_parts *parts, struct neuron_part *part)
{
  struct neuron_part **at = bucket_of (parts, part->runtime);

  while (*at != part)
    at = &(*at)->chained;
  *at = part->chained;
  order_leave (parts, part);
  parts->count--;
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
  struct neuron_part *part = *bucket_of (parts, runtime);

  while (part && strcmp (part->runtime, runtime) != 0)
    part = part->chained;
  if (part) {
    part->seen_ns = now_ns;
    order_leave (parts, part);
    order_join (parts, part);
  }
  return part;
}

struct neuron_part *
neuron_parts_get (struct neuron_parts *parts, const struct group *group, const char *runtime, int64_t now_ns)
{
  struct neuron_part *part = neuron_parts_see (parts, runtime, now_ns), **bucket;

  if (part)
    return part;
  if (parts->count == NEURON_PARTS_MAX) {
    if (parts->oldest->seen_ns == now_ns) {
      parts->left_out++;
      return NULL;
    }
    part_drop (parts, parts->oldest);
  }
  bucket = bucket_of (parts, runtime);
  part = memory_new (1, sizeof *part);
  *part = (struct neuron_part){ .runtime = memory_string (runtime), .seen_ns = now_ns, .chained = *bucket };
  table_init (&part->table, group);
  *bucket = part;
  order_join (parts, part);
  parts->count++;
  return part;
}

void
neuron_parts_forget (struct neuron_parts *parts, int64_t before_ns)
{
  while (parts->oldest && parts->oldest->seen_ns < before_ns)
    part_drop (parts, parts->oldest);
}
