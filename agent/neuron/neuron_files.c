/* The files of the Neuron driver; see neuron_files.h. */
#include "agent/neuron/neuron_files.h"

#define STATUS(METRIC, NAME)                                                                                           \
  {                                                                                                                    \
    METRIC, "stats/status/" NAME, OF_CORE                                                                              \
  }
#define DEVICE_MEMORY(METRIC, NAME)                                                                                    \
  {                                                                                                                    \
    METRIC, "stats/memory_usage/device_mem/" NAME, OF_CORE                                                             \
  }
#define HOST_MEMORY(METRIC, NAME)                                                                                      \
  {                                                                                                                    \
    METRIC, "stats/memory_usage/host_mem/" NAME, OF_DEVICE                                                             \
  }
#define HARDWARE(NAME)                                                                                                 \
  {                                                                                                                    \
    NAME, "stats/hardware/" NAME, OF_DEVICE                                                                            \
  }

static const struct neuron_file of_cores[] = {
  { "neuroncore_utilization", "stats/other_info/nc_time_in_use", OF_CORE, SHARE },
  { "flops", "stats/other_info/flop_count", OF_CORE, RATE },
  { NULL },
};
static const struct neuron_file of_executions[] = {
  STATUS ("completed", "success"),
  STATUS ("completed_with_err", "infer_completed_with_error"),
  STATUS ("completed_with_num_err", "infer_completed_with_num_error"),
  STATUS ("timed_out", "timeout"),
  STATUS ("incorrect_input", "exec_bad_input"),
  STATUS ("failed_to_queue", "infer_failed_to_queue"),
  STATUS ("errors_generic", "failure"),
  STATUS ("errors_generic", "generic_error"),
  STATUS ("errors_model", "unsupported_neff_version"),
  STATUS ("errors_runtime", "invalid_error"),
  STATUS ("errors_runtime", "oob_error"),
  STATUS ("errors_runtime", "resource_error"),
  STATUS ("errors_runtime", "resource_nc_error"),
  STATUS ("errors_hardware", "hw_error"),
  { NULL },
};
static const struct neuron_file of_memory[] = {
  HOST_MEMORY ("host", "application_memory"),
  HOST_MEMORY ("host", "constants"),
  HOST_MEMORY ("host", "dma_buffers"),
  HOST_MEMORY ("host", "dma_rings"),
  HOST_MEMORY ("host", "driver_memory"),
  HOST_MEMORY ("host", "notifications"),
  HOST_MEMORY ("host", "tensors"),
  HOST_MEMORY ("host", "uncategorized"),
  HOST_MEMORY ("host_application_memory", "application_memory"),
  HOST_MEMORY ("host_constants", "constants"),
  HOST_MEMORY ("host_dma_buffers", "dma_buffers"),
  HOST_MEMORY ("host_tensors", "tensors"),
  DEVICE_MEMORY ("neuron_device", "collectives"),
  DEVICE_MEMORY ("neuron_device", "constants"),
  DEVICE_MEMORY ("neuron_device", "dma_rings"),
  DEVICE_MEMORY ("neuron_device", "driver_memory"),
  DEVICE_MEMORY ("neuron_device", "model_code"),
  DEVICE_MEMORY ("neuron_device", "model_shared_scratchpad"),
  DEVICE_MEMORY ("neuron_device", "nonshared_scratchpad"),
  DEVICE_MEMORY ("neuron_device", "notifications"),
  DEVICE_MEMORY ("neuron_device", "runtime_memory"),
  DEVICE_MEMORY ("neuron_device", "tensors"),
  DEVICE_MEMORY ("neuron_device", "uncategorized"),
  { NULL },
};
static const struct neuron_file of_core_memory[] = {
  DEVICE_MEMORY ("constants", "constants"),
  DEVICE_MEMORY ("model_code", "model_code"),
  DEVICE_MEMORY ("model_shared_scratchpad", "model_shared_scratchpad"),
  DEVICE_MEMORY ("runtime_memory", "runtime_memory"),
  DEVICE_MEMORY ("tensors", "tensors"),
  { NULL },
};
static const struct neuron_file of_devices[] = {
  HARDWARE ("mem_ecc_corrected"),
  HARDWARE ("mem_ecc_uncorrected"),
  HARDWARE ("mem_ecc_repairable_uncorrected"),
  HARDWARE ("sram_ecc_corrected"),
  HARDWARE ("sram_ecc_uncorrected"),
  { "power_average", "stats/power/utilization", OF_DEVICE, POWER_MEAN },
  { "power_max", "stats/power/utilization", OF_DEVICE, POWER_MOST },
  { NULL },
};

const struct neuron_plan neuron_plans[NEURON_KINDS] = {
  [NEURON_RUNTIMES] = { ROW_OF_ALL, NULL },
  [NEURON_CORES] = { ROW_OF_CORE, of_cores },
  [NEURON_EXECUTIONS] = { ROW_OF_ALL, of_executions },
  [NEURON_MEMORY] = { ROW_OF_ALL, of_memory },
  [NEURON_CORE_MEMORY] = { ROW_OF_CORE, of_core_memory },
  [NEURON_DEVICES] = { ROW_OF_DEVICE, of_devices },
  [NEURON_HARDWARE] = { ROW_OF_DEVICE, NULL },
};
