/* The list of all groups, in the order of reports. A new group is a file group_NAME.c, in the room of its subject, and a
 * line here. */
#ifndef SYNOP_AGENT_GROUPS_H
#define SYNOP_AGENT_GROUPS_H

#include "agent/sampling/sampler.h"
#include "agent/sampling/service.h"

/* clang-format off */
#define SAMPLERS(ADD) \
  ADD (cpu_usage) \
  ADD (cpu_frequency) \
  ADD (cpu_scaling) \
  ADD (cpu_counters) \
  ADD (cpu_flops) \
  ADD (memory_bandwidth) \
  ADD (thermal) \
  ADD (hwmon) \
  ADD (cooling_device) \
  ADD (power_supply) \
  ADD (energy_rapl) \
  ADD (memory_info) \
  ADD (edac) \
  ADD (vm) \
  ADD (load) \
  ADD (processes) \
  ADD (schedstat) \
  ADD (kernel) \
  ADD (timex) \
  ADD (clock_source) \
  ADD (node_peaks) \
  ADD (pressure) \
  ADD (disk_io) \
  ADD (md) \
  ADD (nvme_info) \
  ADD (filesystem) \
  ADD (network) \
  ADD (interfaces) \
  ADD (bonding) \
  ADD (sockets) \
  ADD (softnet) \
  ADD (conntrack) \
  ADD (connections) \
  ADD (infiniband) \
  ADD (infiniband_info) \
  ADD (gpu) \
  ADD (gpu_info) \
  ADD (gpu_nvlink) \
  ADD (gpu_processes) \
  ADD (gpu_profiling) \
  ADD (node_power) \
  ADD (neuron_hw_counters) \
  ADD (hardware_info) \
  ADD (cpu_info) \
  ADD (neuron_hardware_info) \
  ADD (instance_info) \
  ADD (runtime_info) \
  ADD (neuroncore_counters) \
  ADD (execution_stats) \
  ADD (memory_used) \
  ADD (neuroncore_memory_usage) \
  ADD (loaded_models) \
  ADD (neuron_runtime_vcpu_usage) \
  ADD (job_info) \
  ADD (job_cpu) \
  ADD (job_memory) \
  ADD (job_io) \
  ADD (job_processes) \
  ADD (job_gpu) \
  ADD (job_energy) \
  ADD (job_counters) \
  ADD (agent)
/* clang-format on */

#define DECLARE_SAMPLER(NAME) extern const struct sampler sampler_##NAME;
SAMPLERS (DECLARE_SAMPLER)
#undef DECLARE_SAMPLER

extern const struct sampler *const samplers[];
extern const size_t sampler_count;

/* What samplers share, in the order of their options. */
#define SERVICES(ADD) ADD (counters) ADD (jobs) ADD (neuron) ADD (gpus) ADD (dcgm) ADD (energy)

#define DECLARE_SERVICE(NAME) extern const struct service service_##NAME;
SERVICES (DECLARE_SERVICE)
#undef DECLARE_SERVICE

extern const struct service *const services[];
extern const size_t service_count;

#endif
