/* XIDs, the errors that the NVIDIA driver reports of a GPU: as events of its library, and for GPUs without events from the
 * kernel's log. Both are read in each sample, which costs a system call when there is nothing. */
#ifndef SYNOP_AGENT_GPU_EVENTS_H
#define SYNOP_AGENT_GPU_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_events;
struct gpus;
struct nvml;

struct gpu_events *gpu_events_create (const char *root);
void gpu_events_destroy (struct gpu_events *events);

/* Requests events of all GPUs, once for each list of them. */
void gpu_events_start (struct gpu_events *events, struct gpus *gpus);
void gpu_events_stop (struct gpu_events *events, const struct nvml *nvml);

/* XIDs of a GPU that are not logged yet. */
#define XID_LINE_MAX 8
struct xid_line {
  uint32_t numbers[XID_LINE_MAX]; /* the first different ones; the rest is counted */
  uint32_t count;
  uint64_t xids;     /* of the GPU at the last line */
  int64_t logged_ns; /* when it was written */
};

/* Adds new XIDs to the counts of the GPUs, and logs them, in at most a line each minute for a GPU. */
void gpu_events_take (struct gpu_events *events, struct gpus *gpus);

/* A record of /dev/kmsg: "4,1143,6178432,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.".
 * False: it is no XID. */
struct xid_record {
  uint32_t domain, bus, slot, xid;
};
bool xid_parse (struct xid_record *record, const char *text, size_t length);

#endif
