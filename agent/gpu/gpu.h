/* The node's NVIDIA GPUs, which all GPU groups share: the library, the devices, and their state.
 *
 * A call of the driver may hang, so each group makes its calls in its worker, between gpus_begin and gpus_end. Groups read
 * the list at the same time, and a call that hangs delays its own group alone: the library is started, stopped and listed
 * anew only while no group reads, and nobody waits for that moment. (A call that hangs in those, once a minute at most,
 * delays all.) The sampling thread never takes that lock. A GPU keeps its label as long as the agent lives, also when it is
 * gone and others move up in the driver's order. */
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
  bool missing;                            /* the driver does not list it any more */
  _Atomic int result;                      /* why it gives no values: NVML_GPU_IS_LOST, ...; else NVML_OK */
  atomic_bool lost;                        /* known to give no values: the list need not be made anew soon */
  bool events;                             /* XIDs are read as events of the driver; else from the kernel's log */

  uint64_t unsupported; /* of the group gpu: a bit for each source that this GPU lacks */
  uint64_t xids, xid;   /* of the group gpu: how many since the agent was started, and the last */
  struct xid_line xid_line;
  uint64_t use_seen_us; /* of the group gpu_processes: newest use that was read */
};

struct amdgpus;
struct gpm;
struct gpu_processes;
struct gpu_seen;
struct gpus { /* constant between gpus_begin and gpus_end, but for members of one group */
  struct nvml nvml;
  struct gpu list[GPU_DEVICES_MAX]; /* GPUs in the driver's order, each before its MIG devices; those gone last */
  size_t count;
  unsigned generation;             /* grows when handles were made anew: older ones are invalid */
  char driver[80];                 /* its version */
  struct gpu_events *events;       /* of the group gpu */
  struct gpu_processes *processes; /* of the group gpu_processes */
  struct gpm *gpm;                 /* of the group gpu_profiling */
  struct gpu_seen *seen;
  struct amdgpus *amd;     /* the second source of gpu and gpu_info, with a lock of its own */
  struct gpu_state *state; /* private to gpu.c */
};

extern const struct service service_gpus; /* its state is a struct gpus */

/* For `may_block`, in the sampling thread: whether gpus_begin would load the library or call the driver. For the default
 * library only if there is a sign of the driver, which is checked each minute. */
bool gpus_may_block (struct gpus *gpus);

/* In the worker; `called` is the answer of gpus_may_block. Starts the library and lists the devices if need be. 1: they may
 * be used until gpus_end. 0: there is no driver, and never was. -1: it is gone, table->error says why. */
int gpus_begin (struct gpus *gpus, bool called, struct table *table);
void gpus_end (struct gpus *gpus);

/* Evaluates the result of a call for that GPU. False: it cannot be queried any more in this sample. */
bool gpu_goes_on (struct gpus *gpus, struct gpu *gpu, int result);
/* Notes the result of a sample. A GPU that gives no values any more causes a new list soon. */
void gpu_set_result (struct gpus *gpus, struct gpu *gpu, int result);
bool gpu_is_queried (const struct gpus *gpus, const struct gpu *gpu); /* whether this sample queries it */
bool gpu_lacks (int result); /* the result means that the GPU lacks this for good */

/* "ok", or what is wrong. */
const char *gpu_state_text (const struct gpu *gpu);
/* Adds the GPUs that give no values to table->error. -1 if there are any. */
int gpus_add_errors (struct gpus *gpus, struct table *table);

/* gpu_list.c, for gpu.c, with the library started. Makes the list anew; if the driver does not give the number of GPUs it
 * keeps the old one, and returns the driver's result. */
int gpus_list (struct gpus *gpus);
/* No GPU can be queried until the next list. */
void gpus_lose (struct gpus *gpus, int result);

/* Why a sampler is absent: no GPU of NVIDIA; none of AMD either. They load and start the library. */
void nvidia_absent (const struct sampler_context *context, char *text, size_t size);
void gpus_absent (const struct sampler_context *context, char *text, size_t size);

#endif
