/* The samplers, each in a file of its own in the room of its subject; groups.c lists them. */
#ifndef SYNOP_AGENT_GROUPS_H
#define SYNOP_AGENT_GROUPS_H

#include "agent/sampling/sampler.h"

extern const struct sampler sampler_cpu_usage;
extern const struct sampler sampler_cpu_frequency;
extern const struct sampler sampler_memory_info;
extern const struct sampler sampler_vm;
extern const struct sampler sampler_load;
extern const struct sampler sampler_schedstat;
extern const struct sampler sampler_kernel;
extern const struct sampler sampler_timex;
extern const struct sampler sampler_pressure;
extern const struct sampler sampler_disk_io;
extern const struct sampler sampler_filesystem;
extern const struct sampler sampler_network;
extern const struct sampler sampler_sockets;
extern const struct sampler sampler_softnet;
extern const struct sampler sampler_infiniband;
extern const struct sampler sampler_thermal;
extern const struct sampler sampler_hwmon;
extern const struct sampler sampler_hardware_info;
extern const struct sampler sampler_instance_info;
extern const struct sampler sampler_gpu;
extern const struct sampler sampler_gpu_info;
extern const struct sampler sampler_gpu_nvlink;
extern const struct sampler sampler_gpu_processes;
extern const struct sampler sampler_gpu_profiling;
extern const struct sampler sampler_job_info;
extern const struct sampler sampler_job_cpu;
extern const struct sampler sampler_job_memory;
extern const struct sampler sampler_job_io;
extern const struct sampler sampler_job_processes;
extern const struct sampler sampler_job_gpu;
extern const struct sampler sampler_runtime_info;
extern const struct sampler sampler_neuroncore_counters;
extern const struct sampler sampler_execution_stats;
extern const struct sampler sampler_memory_used;
extern const struct sampler sampler_neuroncore_memory_usage;
extern const struct sampler sampler_loaded_models;
extern const struct sampler sampler_neuron_runtime_vcpu_usage;
extern const struct sampler sampler_neuron_hw_counters;
extern const struct sampler sampler_neuron_hardware_info;

extern const struct sampler *const samplers[]; /* in the order of reports */
extern const size_t sampler_count;

#endif
