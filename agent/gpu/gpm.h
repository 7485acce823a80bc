/* GPM: profiling counters of NVML, which Hopper and newer GPUs have. A value is of the time between two samples. */
#ifndef SYNOP_AGENT_GPM_H
#define SYNOP_AGENT_GPM_H

#include <stdint.h>

#include "agent/gpu/gpu_profile.h"
#include "agent/gpu/nvml.h"

struct gpm;
struct gpu;

struct gpm *gpm_create (void);
void gpm_destroy (struct gpm *gpm); /* stop it before */

/* Workers call the functions below under the lock of struct gpus. */

/* Sets the values for the time since the last call for that GPU or MIG device. NVML_OK: after the first call all values
 * are missing; a call that follows too fast gives the values of the last one. A result as of gpu_lacks: it has no GPM. */
int gpm_read (struct gpm *gpm, const struct nvml *nvml, const struct gpu *gpu, int64_t now_ns,
              struct gpu_profile *profile);
/* Frees data of devices that were not read since the last sweep. */
void gpm_sweep (struct gpm *gpm, const struct nvml *nvml);
void gpm_stop (struct gpm *gpm, const struct nvml *nvml); /* before the library is shut down */

#endif
