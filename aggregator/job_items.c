/* See job_items.h. */
#include "aggregator/job_items.h"

const struct job_item job_items[JOB_ITEM_COUNT] = {
  [JOB_CPU_USER] = { "cpu_user", "CPU time in user space", "job_cpu", "user_time", true, JOB_SUM, "", NULL },
  [JOB_CPU_SYSTEM] = { "cpu_system", "CPU time in the kernel", "job_cpu", "system_time", true, JOB_SUM, "", NULL },
  [JOB_CPU_USAGE] = { "cpu_usage", "CPU use", "job_cpu", "usage", true, JOB_MEAN, "%", "CPU" },
  [JOB_MEMORY] = { "memory", "Memory", "job_memory", "rss", true, JOB_SUM, "B", "Memory" },
  [JOB_MEMORY_PEAK] = { "memory_peak", "Peak of memory", "job_memory", "rss_peak", true, JOB_MAXIMUM, "B", NULL },
  [JOB_CGROUP_PEAK] = { "cgroup_peak", "Peak of the cgroup", "job_memory", "cgroup_peak", true, JOB_MAXIMUM, "B",
                        NULL },
  [JOB_OOM_KILLS] = { "oom_kills", "Kills for want of memory", "job_memory", "oom_kills", true, JOB_SUM, "", NULL },
  [JOB_READ] = { "read", "Read from storage", "job_io", "read_bytes", true, JOB_SUM, "B/s", "Storage" },
  [JOB_WRITE] = { "write", "Written to storage", "job_io", "write_bytes", true, JOB_SUM, "B/s", "Storage" },
  [JOB_PROCESSES] = { "processes", "Processes", "job_processes", "processes", true, JOB_SUM, "", NULL },
  [JOB_THREADS] = { "threads", "Threads", "job_processes", "threads", true, JOB_SUM, "", NULL },
  [JOB_NETWORK_RECEIVED] = { "network_received", "Received", "network", "rx_bytes", false, JOB_SUM, "B/s", "Network" },
  [JOB_NETWORK_SENT] = { "network_sent", "Sent", "network", "tx_bytes", false, JOB_SUM, "B/s", "Network" },
  [JOB_INFINIBAND_RECEIVED] = { "infiniband_received", "Received", "infiniband", "port_rcv_data", false, JOB_SUM, "B/s",
                                "InfiniBand" },
  [JOB_INFINIBAND_SENT] = { "infiniband_sent", "Sent", "infiniband", "port_xmit_data", false, JOB_SUM, "B/s",
                            "InfiniBand" },
  [JOB_MEMORY_BANDWIDTH] = { "memory_bandwidth", "Memory bandwidth", "memory_bandwidth", "bytes", false, JOB_SUM, "B/s",
                             "Memory bandwidth" },
  [JOB_ENERGY] = { "energy", "Power", "energy", "energy", false, JOB_SUM, "W", "Power" },
  [JOB_GPU_USAGE] = { "gpu_usage", "GPU use", "gpu", "utilization", false, JOB_MEAN, "%", "GPU" },
  [JOB_GPU_MEMORY] = { "gpu_memory", "GPU memory", "gpu", "memory_used", false, JOB_SUM, "B", "GPU memory" },
  [JOB_GPU_ENERGY] = { "gpu_energy", "GPU power", "gpu", "energy", false, JOB_SUM, "W", "GPU power" },
};
