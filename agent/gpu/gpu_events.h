/* XIDs, the errors that the NVIDIA driver tells of a GPU: as events of its library, and of GPUs for which there are no
 * events from the kernel's log. Both are looked at in each sample, which costs a system call when there is nothing. */
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

/* Asks for events of all GPUs, once for each list of them. */
void gpu_events_start (struct gpu_events *events, struct gpus *gpus);
void gpu_events_stop (struct gpu_events *events, const struct nvml *nvml);

/* What the log has yet to be told of a GPU. */
#define XID_LINE_MAX 8
struct xid_line {
  uint32_t numbers[XID_LINE_MAX]; /* the first that differ; more are counted */
  uint32_t count;
  uint64_t xids;   /* of the GPU at the last line */
  int64_t told_ns; /* when that was */
};

/* Counts what came since the last time into the GPUs, and tells it in the log, at most a line each minute for a GPU. */
void gpu_events_take (struct gpu_events *events, struct gpus *gpus);

/* A record of /dev/kmsg: "4,1143,6178432,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.".
 * False: it tells of no XID. */
struct xid_record {
  uint32_t domain, bus, slot, xid;
};
bool xid_parse (struct xid_record *record, const char *text, size_t length);

#endif
