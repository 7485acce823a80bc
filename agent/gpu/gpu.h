/* The node's NVIDIA GPUs, which all GPU groups share: the library, the devices, and what is known of them.
 *
 * A call of the driver may hang, so each group makes its calls in its worker, between gpus_begin and gpus_end. Groups read
 * the list at the same time, and a call that hangs holds up its own group alone: the library is started, stopped and
 * listed anew only while no group reads, and nobody waits for that moment. (One that hangs in those, once a minute at
 * most, holds up all.) The sampling thread never takes that lock. A GPU keeps its label as long as the agent lives, also
 * when it is gone and others move up in the driver's order. */
#ifndef SYNOP_AGENT_GPU_H
#define SYNOP_AGENT_GPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/gpu/gpu_events.h"
#include "agent/gpu/nvml.h"
#include "agent/sampling/sampler.h"
#include "agent/sampling/service.h"
#include "synop/table.h"

#define GPU_DEVICES_MAX 512 /* 64 GPUs, each with 7 MIG devices: more than NVML knows */
#define GPU_TEXT 96

struct gpu {
  struct nvml_device *handle;
  struct nvml_device *parent; /* of a MIG device: its GPU; else NULL */
  char label[16];             /* "0"; of a MIG device "0:1" */
  char uuid[GPU_TEXT], name[GPU_TEXT], bus_id[NVML_BUS_ID];
  uint32_t domain, bus, slot;              /* PCI */
  uint32_t minor;                          /* /dev/nvidiaMINOR; UINT32_MAX: not known */
  uint32_t gpu_instance, compute_instance; /* of a MIG device; else UINT32_MAX */
  bool split;                              /* it has MIG devices */
  bool missing;                            /* it was there, and the driver does not list it any more */
  _Atomic int result;                      /* why it gives no values: NVML_GPU_IS_LOST, ...; else NVML_OK */
  atomic_bool lost;                        /* that it gives none is known: the list need not be made anew soon */
  bool events;                             /* XIDs come as the driver's events; else from the kernel's log */

  uint64_t unsupported; /* the group gpu's: a bit for each of its sources that this GPU does not have */
  uint64_t xids, xid;   /* the group gpu's: how many since the agent was started, and the last */
  struct xid_line xid_line;
  uint64_t use_seen_us; /* the group gpu_processes': newest use that was read */
};

struct amdgpus;
struct gpm;
struct gpu_processes;
struct gpu_seen;
struct gpus { /* does not change between gpus_begin and gpus_end, but for what is one group's own */
  struct nvml nvml;
  struct gpu list[GPU_DEVICES_MAX]; /* GPUs in the driver's order, each before its MIG devices; those gone last */
  size_t count;
  unsigned listing;                /* grows with each new list: places in it may be others */
  unsigned generation;             /* grows when handles were made anew; older ones are no longer valid */
  char driver[80];                 /* its version */
  struct gpu_events *events;       /* the group gpu's */
  struct gpu_processes *processes; /* the group gpu_processes' */
  struct gpm *gpm;                 /* the group gpu_profiling's */
  struct gpu_seen *seen;
  struct amdgpus *amd;     /* the second source of gpu and gpu_info, with a lock of its own */
  struct gpu_state *state; /* the rest is gpu.c's */
};

extern const struct service service_gpus; /* its state is a struct gpus */

/* For `may_block`, in the sampling thread: would gpus_begin load the library or call the driver? Where the library is the
 * default only if there is a sign of the driver, which is looked for each minute. */
bool gpus_may_block (struct gpus *gpus);

/* In the worker; `called` is what gpus_may_block said. Starts the library and lists the devices if need be. 1: they may be
 * used until gpus_end. 0: there is no driver, and never was. -1: it is gone, why is in table->error. */
int gpus_begin (struct gpus *gpus, bool called, struct table *table);
void gpus_end (struct gpus *gpus);

/* Looks at what a call of that GPU returned. False: nothing more can be asked of it in this sample. */
bool gpu_goes_on (struct gpus *gpus, struct gpu *gpu, int result);
/* What a sample found out of it. One that gives no values any more is looked for in a new list soon. */
void gpu_set_result (struct gpus *gpus, struct gpu *gpu, int result);
bool gpu_is_asked (const struct gpus *gpus, const struct gpu *gpu); /* in this sample */
bool gpu_lacks (int result);                                        /* it does not have that, and will not have it */

/* "ok", or what is wrong with it. */
const char *gpu_state_text (const struct gpu *gpu);
/* Names the GPUs that give no values. -1 if there are any. */
int gpus_tell_errors (struct gpus *gpus, struct table *table);

/* gpu_list.c, with the library started; for gpu.c. Makes the list anew; where the driver does not tell how many there are
 * it stays as it was, and what the driver said is returned. */
int gpus_list (struct gpus *gpus);
/* None can be asked until the next list. */
void gpus_lose (struct gpus *gpus, int result);

/* Why a sampler of these is absent: no GPU of NVIDIA; none of AMD either. They load and start the library. */
void nvidia_absent (const struct sampler_context *context, char *text, size_t size);
void gpus_absent (const struct sampler_context *context, char *text, size_t size);

#endif
