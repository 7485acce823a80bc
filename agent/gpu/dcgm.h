/* DCGM: profiling counters of GPUs that have no GPM (Volta to Ampere, and Hopper where GPM is not permitted), by a running
 * host engine or by one in this process. Calls may hang, so they are made in a worker; DCGM keeps large structs on the
 * stack, DCGM_STACK bytes must be there. */
#ifndef SYNOP_AGENT_DCGM_H
#define SYNOP_AGENT_DCGM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/gpu/gpu_profile.h"
#include "agent/sampling/service.h"
#include "synop/error.h"

#define DCGM_STACK (8 << 20)
#define DCGM_DEFAULT "127.0.0.1:5555"
#define DCGM_UUID 96

struct dcgm;

struct dcgm_device {
  char uuid[DCGM_UUID];  /* of the GPU */
  uint32_t gpu_instance; /* a MIG instance of it; UINT32_MAX: the GPU itself */
};

extern const struct service service_dcgm; /* its state is a struct dcgm, for one sampler */

/* The newest values of each device, of the last second; missing where DCGM has none. Connects if need be, at first at
 * once, then after growing pauses. -1: DCGM is not there, is gone, or can profile none of these devices. */
int dcgm_read (struct dcgm *dcgm, const struct dcgm_device *devices, size_t count, struct gpu_profile *profiles,
               struct error *error);
bool dcgm_worked (const struct dcgm *dcgm);        /* at least once */
bool dcgm_is_configured (const struct dcgm *dcgm); /* by the option: then its absence is an error */

#endif
