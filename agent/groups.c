/* The list of all groups, in the order of reports. A new group is a file group_NAME.c, its name in groups.h
 * and its place here. */
#include "agent/groups.h"

const struct sampler *const samplers[] = {
  &sampler_cpu_usage,
  &sampler_cpu_frequency,
  &sampler_thermal,
  &sampler_memory_info,
  &sampler_vm,
  &sampler_load,
  &sampler_pressure,
  &sampler_disk_io,
  &sampler_filesystem,
  &sampler_network,
  &sampler_infiniband,
  &sampler_gpu,
  &sampler_gpu_info,
  &sampler_gpu_nvlink,
  &sampler_gpu_processes,
  &sampler_gpu_profiling,
  &sampler_neuron_hw_counters,
  &sampler_hardware_info,
  &sampler_neuron_hardware_info,
  &sampler_instance_info,
  &sampler_runtime_info,
  &sampler_neuroncore_counters,
  &sampler_execution_stats,
  &sampler_memory_used,
  &sampler_neuroncore_memory_usage,
  &sampler_loaded_models,
  &sampler_neuron_runtime_vcpu_usage,
  &sampler_job_info,
  &sampler_job_cpu,
  &sampler_job_memory,
  &sampler_job_io,
  &sampler_job_processes,
  &sampler_job_gpu,
};

const size_t sampler_count = sizeof samplers / sizeof samplers[0];
