/* memory_info: the node's memory from /proc/meminfo, and each NUMA node's from its own file.
 *
 *   /proc/meminfo                               "MemTotal:       24684084 kB"
 *   /sys/devices/system/node/node0/meminfo      "Node 0 MemTotal:        5073100 kB"
 *
 * A value more is a row more below: its source is the kernel's key, behind a '?' when not every kernel has it. */
#include <errno.h>
#include <stdlib.h>

#include "agent/sampling/bounds.h"
#include "agent/sampling/sampler.h"
#include "agent/source/numbered.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

enum { TOTAL, AVAILABLE, USED, SWAP_TOTAL, SWAP_FREE, SWAP_USED }; /* other values are computed from these */

#define NODE_BYTES(NAME, KEY, HELP)                                                                                    \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .times = 1024, .source = KEY, .help = HELP                      \
  }
/* At most the total memory. Not every kind of memory has that bound: in a container `total` may be the container's, and
 * other values the machine's (lxcfs). */
#define NODE_PART(NAME, KEY, HELP)                                                                                     \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .times = 1024, .source = KEY,                                   \
                                                       .bound = { BOUND_PART ("total") }, .help = HELP                 \
  }
/* The address space of all processes. */
#define PROMISED(NAME, KEY, HELP)                                                                                      \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .times = 1024, .source = KEY, .bound = { .most = 0x1p62 },      \
                                                       .help = HELP                                                    \
  }
#define NODE_COUNT(NAME, KEY, HELP)                                                                                    \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = KEY, .help = HELP                                     \
  }
#define NUMA_BYTES(NAME, KEY, HELP)                                                                                    \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, .times = 1024, .source = KEY, .help = HELP                                      \
  }
#define NUMA_PART(NAME, KEY, HELP)                                                                                     \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_BYTES, FOLD_SUM, .times = 1024, .source = KEY, .bound = { BOUND_PART ("numa_total") },           \
                                       .help = HELP                                                                    \
  }
#define NUMA_COUNT(NAME, KEY, HELP)                                                                                    \
  {                                                                                                                    \
    NAME, GAUGE, UNIT_COUNT, FOLD_SUM, .source = KEY, .help = HELP                                                     \
  }

static const struct metric metrics[] = {
  [TOTAL] = NODE_BYTES ("total", "MemTotal", "Memory that the kernel manages."),
  [AVAILABLE] = NODE_PART ("available", "?MemAvailable",
                           "Memory that programs could get without swapping, as the kernel reckons."),
  [USED] = NODE_PART ("used", NULL, "total - available; missing on kernels before 3.14."),
  [SWAP_TOTAL] = NODE_BYTES ("swap_total", "SwapTotal", "Size of all swap areas."),
  [SWAP_FREE] = NODE_BYTES ("swap_free", "SwapFree", "Unused part of the swap areas."),
  [SWAP_USED] = NODE_BYTES ("swap_used", NULL, "swap_total - swap_free."),
  NODE_BYTES ("swap_cached", "SwapCached", "Memory that lies in swap as well."),
  NODE_PART ("free", "MemFree", "Memory that nothing uses, not even a cache."),
  NODE_PART ("buffers", "Buffers", "Cache of block devices."),
  NODE_PART ("cached", "Cached", "Cache of files, with shared memory and tmpfs."),
  NODE_PART ("shared", "Shmem", "Shared memory and tmpfs."),
  NODE_PART ("active", "Active", "Memory used lately."),
  NODE_PART ("inactive", "Inactive", "Memory not used lately, first to be reclaimed."),
  NODE_PART ("active_anonymous", "?Active(anon)", "Part of active that no file backs."),
  NODE_PART ("inactive_anonymous", "?Inactive(anon)", "Part of inactive that no file backs."),
  NODE_PART ("active_file", "?Active(file)", "Part of active that is cache of files."),
  NODE_PART ("inactive_file", "?Inactive(file)", "Part of inactive that is cache of files."),
  NODE_BYTES ("unevictable", "Unevictable", "Memory that cannot be reclaimed."),
  NODE_BYTES ("locked", "Mlocked", "Memory that programs locked."),
  NODE_BYTES ("dirty", "Dirty", "File data that waits to be written."),
  NODE_BYTES ("writeback", "Writeback", "File data that is being written."),
  NODE_BYTES ("writeback_temporary", "?WritebackTmp", "Buffers of FUSE for data that is being written."),
  NODE_BYTES ("nfs_unstable", "?NFS_Unstable", "Data sent to an NFS server that it has not written yet."),
  NODE_BYTES ("bounce", "?Bounce", "Bounce buffers of block devices."),
  NODE_PART ("anonymous", "AnonPages", "Memory of programs that no file backs."),
  NODE_BYTES ("mapped", "Mapped", "Files that programs map."),
  NODE_BYTES ("slab", "Slab", "The kernel's own objects."),
  NODE_BYTES ("slab_reclaimable", "SReclaimable", "Part of slab that can be reclaimed."),
  NODE_BYTES ("slab_unreclaimable", "SUnreclaim", "Part of slab that cannot be reclaimed."),
  NODE_BYTES ("kernel_reclaimable", "?KReclaimable",
              "Memory of the kernel that it can reclaim, slab_reclaimable included."),
  NODE_BYTES ("kernel_stack", "KernelStack", "Kernel stacks of all tasks."),
  NODE_BYTES ("page_tables", "PageTables", "Page tables of all programs."),
  NODE_BYTES ("per_cpu", "?Percpu", "Memory that the kernel holds for each CPU."),
  NODE_BYTES ("page_tables_secondary", "?SecPageTables", "Page tables of virtual machines and IOMMUs."),
  PROMISED ("vmalloc_total", "?VmallocTotal", "Address space for mappings of the kernel."),
  PROMISED ("vmalloc_chunk", "?VmallocChunk", "Largest free block of that; 0 on kernels since 4.4."),
  NODE_BYTES ("vmalloc_used", "VmallocUsed", "Memory that the kernel mapped for itself."),
  PROMISED ("committed", "Committed_AS", "Memory that programs asked for, used or not."),
  PROMISED ("commit_limit", "CommitLimit", "How much could be committed, if the limit is enforced."),
  NODE_BYTES ("anonymous_huge", "?AnonHugePages", "Part of anonymous in transparent huge pages."),
  NODE_BYTES ("shared_huge", "?ShmemHugePages", "Part of shared in transparent huge pages."),
  NODE_BYTES ("shared_huge_mapped", "?ShmemPmdMapped", "Part of shared_huge that programs map as huge pages."),
  NODE_BYTES ("file_huge", "?FileHugePages", "Cache of files in transparent huge pages."),
  NODE_BYTES ("file_huge_mapped", "?FilePmdMapped", "Part of file_huge that programs map as huge pages."),
  NODE_BYTES ("contiguous_total", "?CmaTotal", "Memory set aside for contiguous allocations (CMA)."),
  NODE_BYTES ("contiguous_free", "?CmaFree", "Part of contiguous_total that is free."),
  NODE_BYTES ("zswap", "?Zswap", "Memory of compressed swap (zswap)."),
  NODE_BYTES ("zswapped", "?Zswapped", "What zswap holds, before compression."),
  NODE_COUNT ("huge_pages_total", "?HugePages_Total", "Huge pages of the default size in the pool."),
  NODE_COUNT ("huge_pages_free", "?HugePages_Free", "Huge pages of the pool that are free."),
  NODE_COUNT ("huge_pages_reserved", "?HugePages_Rsvd", "Free huge pages that are promised."),
  NODE_COUNT ("huge_pages_surplus", "?HugePages_Surp", "Huge pages above the pool's size."),
  { "huge_page_size", GAUGE, UNIT_BYTES, FOLD_MAX, METRIC_OF_NODE, .times = 1024, .source = "?Hugepagesize",
    .help = "Default size of a huge page." },
  NODE_BYTES ("huge_pages", "?Hugetlb", "Memory in huge pages of all sizes."),
  NODE_BYTES ("hardware_corrupted", "?HardwareCorrupted", "Memory given up after hardware errors."),
  NODE_BYTES ("balloon", "?Balloon", "Memory that the hypervisor took back."),
  NODE_BYTES ("unaccepted", "?Unaccepted", "Memory that a confidential virtual machine has not accepted yet."),
  NODE_BYTES ("direct_map_4k", "?DirectMap4k", "Memory that the kernel maps in pages of 4 KiB."),
  NODE_BYTES ("direct_map_2m", "?DirectMap2M", "Memory that the kernel maps in pages of 2 MiB."),
  NODE_BYTES ("direct_map_4m", "?DirectMap4M", "Memory that the kernel maps in pages of 4 MiB."),
  NODE_BYTES ("direct_map_1g", "?DirectMap1G", "Memory that the kernel maps in pages of 1 GiB."),
  NUMA_BYTES ("numa_total", "MemTotal", "Memory of the NUMA node."),
  NUMA_PART ("numa_free", "MemFree", "Memory that nothing uses, not even a cache."),
  NUMA_PART ("numa_used", "MemUsed", "numa_total - numa_free, caches included."),
  NUMA_PART ("numa_file", "FilePages", "Cache of files, with shared memory and tmpfs."),
  NUMA_PART ("numa_anonymous", "AnonPages", "Memory of programs that no file backs."),
  NUMA_PART ("numa_mapped", "Mapped", "Files that programs map."),
  NUMA_PART ("numa_shared", "Shmem", "Shared memory and tmpfs."),
  NUMA_PART ("numa_dirty", "Dirty", "File data that waits to be written."),
  NUMA_PART ("numa_writeback", "Writeback", "File data that is being written."),
  NUMA_PART ("numa_slab", "Slab", "The kernel's own objects."),
  NUMA_PART ("numa_page_tables", "PageTables", "Page tables of programs."),
  NUMA_COUNT ("numa_huge_pages_total", "?HugePages_Total", "Huge pages of the default size in the pool."),
  NUMA_COUNT ("numa_huge_pages_free", "?HugePages_Free", "Huge pages of the pool that are free."),
};

static const struct group group = {
  .name = "memory_info",
  .section = "system_data",
  .row = "NUMA node",
  .rows_name = "numa_nodes",
  .fold_name = "",
  .help = "Memory of the node and of its NUMA nodes.",
  GROUP_METRICS (metrics),
};

struct memory_info {
  struct reader meminfo;
  struct numbered numa;
  struct buffer text;
  struct key_index keys, numa_keys;
};

static void *
memory_info_open (const struct sampler_context *context)
{
  struct memory_info *state = memory_new (1, sizeof *state);

  reader_init (&state->meminfo, context->root, "/proc/meminfo");
  numbered_init (&state->numa, context->root, "/sys/devices/system/node", "node", "meminfo");
  key_index_init (&state->keys, &group, METRIC_OF_NODE);
  key_index_init (&state->numa_keys, &group, 0);
  return state;
}

static void
set_difference (struct table *table, size_t column, size_t whole, size_t part)
{
  const struct value *from = table_get (table, TABLE_NODE, whole), *take = table_get (table, TABLE_NODE, part);

  if (from->type == VALUE_UINT && take->type == VALUE_UINT && from->as.u >= take->as.u)
    table_set_uint (table, TABLE_NODE, column, from->as.u - take->as.u);
}

static void
sample_numa (struct memory_info *state, struct table *table)
{
  numbered_refresh (&state->numa);
  for (size_t i = 0; i < state->numa.count; i++) {
    struct numbered_item *node = &state->numa.items[i];
    size_t row;
    if (reader_read_lines (&node->reader, &state->text, table) < 0)
      continue;
    row = table_add_row (table, node->label, (size_t) node->label_length);
    if (row == SIZE_MAX)
      return;
    parse_key_values (scan_buffer (&state->text), 2, &state->numa_keys, table, row);
    key_index_check (&state->numa_keys, "", node->reader.path, table, row);
  }
}

static int
sample_node (struct memory_info *state, struct table *table)
{
  if (reader_read_lines (&state->meminfo, &state->text, table) < 0)
    return -1;
  if (parse_key_values (scan_buffer (&state->text), 0, &state->keys, table, TABLE_NODE) == 0)
    return reader_complain (&state->meminfo, -EBADMSG, table);
  key_index_check (&state->keys, "", state->meminfo.path, table, TABLE_NODE);
  set_difference (table, USED, TOTAL, AVAILABLE);
  set_difference (table, SWAP_USED, SWAP_TOTAL, SWAP_FREE);
  return 0;
}

static int
memory_info_sample (void *context, struct table *table)
{
  struct memory_info *state = context;
  int result = sample_node (state, table);

  sample_numa (state, table);
  return result;
}

static void
memory_info_close (void *context)
{
  struct memory_info *state = context;

  reader_free (&state->meminfo);
  numbered_free (&state->numa);
  buffer_free (&state->text);
  key_index_free (&state->keys);
  key_index_free (&state->numa_keys);
  free (state);
}

const struct sampler sampler_memory_info = { &group, NULL, memory_info_open, memory_info_sample, memory_info_close };
