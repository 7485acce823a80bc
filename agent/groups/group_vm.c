/* vm: what the kernel's memory management did, from /proc/vmstat.
 *
 *   pgfault 1698047
 *
 * A value more is a row more below: its source is the kernel's key, or several whose values add up, since kernels
 * before 4.8 counted some of them by zone, and later ones split others. '?': kernels that are old, or made without NUMA,
 * swap or huge pages, lack it. */
#include <errno.h>
#include <stdlib.h>

#include "agent/sampling/sampler.h"
#include "agent/source/parse.h"
#include "agent/source/reader.h"
#include "synop/memory.h"

#define VM(NAME, KEYS, HELP)                                                                                           \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_COUNT, FOLD_SUM, METRIC_OF_NODE, .source = KEYS, .help = HELP                                  \
  }
#define VM_KIB(NAME, KEYS, HELP)                                                                                       \
  {                                                                                                                    \
    NAME, COUNTER, UNIT_BYTES, FOLD_SUM, METRIC_OF_NODE, .times = 1024, .source = KEYS, .help = HELP                   \
  }
#define BY_ZONE(KEY) "?" KEY " ?" KEY "_dma ?" KEY "_dma32 ?" KEY "_normal ?" KEY "_high ?" KEY "_movable"

static const struct metric metrics[] = {
  VM ("page_faults", "pgfault", "Page faults, major ones included."),
  VM ("major_faults", "pgmajfault", "Page faults that had to wait for a disk."),
  VM_KIB ("paged_in", "pgpgin", "Bytes read from block devices."),
  VM_KIB ("paged_out", "pgpgout", "Bytes written to block devices."),
  VM ("pages_swapped_in", "?pswpin", "Pages read from swap."),
  VM ("pages_swapped_out", "?pswpout", "Pages written to swap."),
  VM ("oom_kills", "?oom_kill", "Processes that the kernel killed for want of memory."),
  VM ("pages_scanned_kswapd", BY_ZONE ("pgscan_kswapd"), "Pages that kswapd looked at to reclaim them."),
  VM ("pages_scanned_direct", BY_ZONE ("pgscan_direct"), "Pages that allocating programs looked at themselves."),
  VM ("pages_scanned_khugepaged", "?pgscan_khugepaged", "Pages that khugepaged looked at."),
  VM ("pages_stolen_kswapd", BY_ZONE ("pgsteal_kswapd"), "Pages that kswapd reclaimed."),
  VM ("pages_stolen_direct", BY_ZONE ("pgsteal_direct"), "Pages that allocating programs reclaimed themselves."),
  VM ("pages_stolen_khugepaged", "?pgsteal_khugepaged", "Pages that khugepaged reclaimed."),
  VM ("allocation_stalls", BY_ZONE ("allocstall"), "Times that a program had to reclaim pages to get one."),
  VM ("compaction_stalls", "?compact_stall", "Times that a program had to compact memory to get a huge page."),
  VM ("compaction_failures", "?compact_fail", "Compactions that gave nothing."),
  VM ("compaction_successes", "?compact_success", "Compactions that gave what was asked for."),
  VM ("workingset_refaults", "?workingset_refault ?workingset_refault_anon ?workingset_refault_file",
      "Pages that were reclaimed and needed again soon."),
  VM ("pages_allocated", BY_ZONE ("pgalloc"), "Pages allocated."),
  VM ("pages_freed", "pgfree", "Pages freed."),
  VM ("pages_activated", "pgactivate", "Pages moved to the active list."),
  VM ("pages_deactivated", "pgdeactivate", "Pages moved to the inactive list."),
  VM ("pages_dirtied", "nr_dirtied", "Pages of files that became dirty."),
  VM ("pages_written", "nr_written", "Pages of files written back."),
  VM ("pages_migrated", "?pgmigrate_success", "Pages moved to another place."),
  VM ("migration_failures", "?pgmigrate_fail", "Pages that could not be moved."),
  VM ("numa_hits", "?numa_hit", "Pages got from the NUMA node that was wanted."),
  VM ("numa_misses", "?numa_miss", "Pages got from this NUMA node though another was wanted."),
  VM ("numa_foreign", "?numa_foreign", "Pages wanted from this NUMA node and got from another."),
  VM ("numa_local", "?numa_local", "Pages got from the NUMA node of the asking CPU."),
  VM ("numa_other", "?numa_other", "Pages got from another NUMA node than the asking CPU's."),
  VM ("numa_hint_faults", "?numa_hint_faults", "Faults taken to learn which NUMA node uses a page."),
  VM ("numa_pages_migrated", "?numa_pages_migrated", "Pages moved to the NUMA node that uses them."),
  VM ("huge_page_allocations", "?thp_fault_alloc", "Transparent huge pages got at a fault."),
  VM ("huge_page_fallbacks", "?thp_fault_fallback", "Faults that got small pages instead of a huge one."),
  VM ("huge_page_collapses", "?thp_collapse_alloc", "Small pages that were collapsed into huge ones."),
  VM ("huge_page_splits", "?thp_split_page", "Huge pages that were split."),
};

static const struct group group = {
  .name = "vm",
  .section = "system_data",
  .row = "",
  .rows_name = "",
  .fold_name = "",
  .help = "What the kernel's memory management did.",
  GROUP_METRICS (metrics),
};

struct vm {
  struct reader vmstat;
  struct buffer text;
  struct key_index keys;
};

static void *
vm_open (const struct sampler_context *context)
{
  struct vm *state = memory_new (1, sizeof *state);

  reader_init (&state->vmstat, context->root, "/proc/vmstat");
  key_index_init (&state->keys, &group, METRIC_OF_NODE);
  return state;
}

static int
vm_sample (void *context, struct table *table)
{
  struct vm *state = context;

  if (reader_read_lines (&state->vmstat, &state->text, table) < 0)
    return -1;
  if (parse_key_values (scan_buffer (&state->text), 0, &state->keys, table, TABLE_NODE) == 0)
    return reader_complain (&state->vmstat, -EBADMSG, table);
  key_index_check (&state->keys, "", state->vmstat.path, table, TABLE_NODE);
  return 0;
}

static void
vm_close (void *context)
{
  struct vm *state = context;

  reader_free (&state->vmstat);
  buffer_free (&state->text);
  key_index_free (&state->keys);
  free (state);
}

const struct sampler sampler_vm = { &group, NULL, vm_open, vm_sample, vm_close };
