/* What is measured of a GPU's engines, by NVML's GPM (gpm.h) or DCGM (dcgm.h). */
#ifndef SYNOP_AGENT_GPU_PROFILE_H
#define SYNOP_AGENT_GPU_PROFILE_H

enum gpu_profile_metric { /* percent of the time or of the most that could be, 0 to 100 */
                          PROFILE_GRAPHICS,
                          PROFILE_SM,
                          PROFILE_OCCUPANCY,
                          PROFILE_TENSOR,
                          PROFILE_TENSOR_HMMA,
                          PROFILE_TENSOR_IMMA,
                          PROFILE_TENSOR_DFMA,
                          PROFILE_FP64,
                          PROFILE_FP32,
                          PROFILE_FP16,
                          PROFILE_INTEGER,
                          PROFILE_DRAM,
                          PROFILE_PCIE_TX, /* from here on bytes a second */
                          PROFILE_PCIE_RX,
                          PROFILE_NVLINK_TX,
                          PROFILE_NVLINK_RX,
                          PROFILE_METRICS
};

struct gpu_profile {
  double values[PROFILE_METRICS]; /* NaN: missing. As the source has it, in the units above, unchecked */
};

#endif
