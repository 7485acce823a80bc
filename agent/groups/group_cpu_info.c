/* cpu_info: where each CPU sits. Sampled once a session.
 *
 *   /sys/devices/system/cpu/cpu7/topology/{physical_package_id,core_id}    "1", "3"
 *   /sys/devices/system/node/node1/cpulist                                 "4-7,12-15" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampling/sampler.h"
#include "agent/source/facts.h"
#include "agent/source/parse.h"
#include "synop/memory.h"

enum { PACKAGE, CORE, NUMA_NODE };

#define FACT(NAME, HELP)                                                                                               \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_NONE, .help = HELP                                                                   \
  }

static const struct metric metrics[] = {
  [PACKAGE] = FACT ("package", "The package that it is in, as the kernel numbers them."),
  [CORE] = FACT ("core", "Its core in the package; CPUs with the same one are its hardware threads."),
  [NUMA_NODE] = FACT ("numa_node", "The NUMA node whose memory is near."),
};

static const struct group group = {
  .name = "cpu_info",
  .section = "",
  .row = "CPU",
  .rows_name = "cpus",
  .fold_name = "",
  .flags = GROUP_ONCE,
  .help = "Where each CPU sits: package, core, NUMA node.",
  GROUP_METRICS (metrics),
  .left_out = "CPUs that are offline.",
};

struct cpu_info {
  char *root;
};

static void *
cpu_info_open (const struct sampler_context *context)
{
  struct cpu_info *info = memory_new (1, sizeof *info);

  info->root = memory_string (context->root);
  return info;
}

static void
cpu_add (const struct cpu_info *info, const char *name, struct table *table)
{
  const char *label = name + strlen ("cpu");
  uint64_t package, core;
  bool packed = fact_uint (&package, info->root, "/sys/devices/system/cpu/%s/topology/physical_package_id", name);
  bool cored = fact_uint (&core, info->root, "/sys/devices/system/cpu/%s/topology/core_id", name);
  size_t row = packed || cored ? table_add_row (table, label, strlen (label)) : SIZE_MAX;

  if (row == SIZE_MAX)
    return;
  if (packed)
    table_set_uint (table, row, PACKAGE, package);
  if (cored)
    table_set_uint (table, row, CORE, core);
}

/* "4-7,12-15" */
static void
node_set (struct table *table, uint64_t node, struct scan list)
{
  uint64_t first, last;
  char label[24];

  while (scan_list_next (&list, &first, &last))
    for (uint64_t cpu = first; cpu <= last && cpu - first < TABLE_ROWS_MAX; cpu++) {
      size_t row = table_find_row (table, label, (size_t) snprintf (label, sizeof label, "%lu", cpu), cpu);

      if (row != SIZE_MAX)
        table_set_uint (table, row, NUMA_NODE, node);
    }
}

static int
cpu_info_sample (void *state, struct table *table)
{
  const struct cpu_info *info = state;
  struct names names = { 0 };
  char list[4096];

  names_read (&names, "cpu", info->root, "/sys/devices/system/cpu");
  for (size_t i = 0; i < names.count; i++)
    if (names.list[i][3] >= '0' && names.list[i][3] <= '9')
      cpu_add (info, names.list[i], table);
  names_read (&names, "node", info->root, "/sys/devices/system/node");
  for (size_t i = 0; i < names.count; i++)
    if (fact_text (list, sizeof list, info->root, "/sys/devices/system/node/%s/cpulist", names.list[i]))
      node_set (table, strtoull (names.list[i] + strlen ("node"), NULL, 10), scan_over (list, strlen (list)));
  names_free (&names);
  return 0;
}

static void
cpu_info_close (void *state)
{
  struct cpu_info *info = state;

  free (info->root);
  free (info);
}

const struct sampler sampler_cpu_info = {
  &group, NULL, cpu_info_open, cpu_info_sample, cpu_info_close, .optional = true,
};
