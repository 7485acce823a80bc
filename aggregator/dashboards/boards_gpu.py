"""Cluster View, GPU Device Counters, GPU Profiling Counters."""

from panels import (BUSY, DATASOURCE, GPU, JOB, JOB_ID, MEMORY, NICS, NODE_VARIABLES, OPERATION, PERCENT, SHARE, STATS,
                    TEMPERATURE, UP, gpu_graph, graph, nodes, rates, stat, table)

FROM_AGGREGATOR = " Of the combined report: all nodes at the same instant, whatever is chosen above."
DEVICES = " The devices of a node are taken together as chosen above."
GPU_VARIABLES = (DATASOURCE, JOB, JOB_ID, nodes("DCGM_FI_DEV_GPU_TEMP", "synop_job_gpu_gpus_used"), GPU)

CLUSTER = {
    "name": "cluster", "title": "Cluster View", "variables": (*NODE_VARIABLES, OPERATION),
    "help": "All nodes side by side: who is up, what is used, who stands out.",
    "rows": [
        ("Now", [
            stat("Nodes up", "short", "sum(synop_node_up)", "Nodes whose frames come."),
            stat("Nodes not up", "short", "count(synop_node_up == 0) or vector(0)", "Nodes that are late, silent, or were "
                 "never heard.", bounds=(1,)),
            stat("Batch jobs", "short", "count(count by (job_id) (synop_job_cpu_cpus{%node})) or vector(0)",
                 "Jobs with processes on these nodes."),
            stat("CPUs busy", "percentunit", "avg(" + BUSY + ")", "Mean over the nodes.", **SHARE),
            stat("Memory used", "percentunit", "avg(" + MEMORY + ")", "Mean over the nodes.", **SHARE),
            stat("GPUs", "short", "count(max by (instance, gpu) (DCGM_FI_DEV_GPU_TEMP{%node}))", "GPUs that answer."),
            stat("GPU utilization", "percent", "avg(DCGM_FI_DEV_GPU_UTIL{%node})", "Mean over all GPUs.", **PERCENT),
            stat("GPU power", "watt", "sum(max by (instance, gpu) (DCGM_FI_DEV_POWER_USAGE{%node}))", "Of all GPUs together."),
        ]),
        ("All nodes at one instant", [
            graph("CPUs busy", "percentunit", {"{{stat}}": "synop_cluster_cpu_usage_busy_ratio" + STATS},
                  "Lowest, mean, median, 95th percentile and highest of the nodes." + FROM_AGGREGATOR, **SHARE),
            graph("GPU utilization", "percentunit", {"{{stat}}": "synop_cluster_gpu_utilization_ratio" + STATS},
                  "The same of GPUs." + FROM_AGGREGATOR, **SHARE),
            graph("GPU power of all nodes", "watt", {"all": 'synop_cluster_gpu_power_watts{stat="sum"}'},
                  "Of all GPUs together." + FROM_AGGREGATOR, min=0),
        ]),
        ("CPUs and memory", [
            graph("CPUs busy", "percentunit", {"{{instance}}": BUSY}, "Time in which CPUs were not idle.", **SHARE),
            graph("Memory used", "percentunit", {"{{instance}}": MEMORY}, "What programs could not get without swapping.",
                  **SHARE),
            graph("Load of a minute", "short", {"{{instance}}": "max by (instance) (node_load1{%node})"},
                  "Tasks that run or wait, a mean of a minute.", min=0),
        ]),
        ("GPUs", [
            graph("GPU utilization", "percent", {"{{instance}}": "$operation by (instance) (DCGM_FI_DEV_GPU_UTIL{%node})"},
                  "Time in which a kernel ran." + DEVICES, **PERCENT),
            graph("GPU memory used", "mbytes", {"{{instance}}": "$operation by (instance) (DCGM_FI_DEV_FB_USED{%node})"},
                  "Memory that is allocated on the GPUs." + DEVICES, min=0),
            graph("GPU power", "watt", {"{{instance}}": "$operation by (instance) (DCGM_FI_DEV_POWER_USAGE{%node})"},
                  "What the GPUs draw." + DEVICES, min=0),
            graph("GPU temperature", "celsius", {"{{instance}}": "$operation by (instance) (DCGM_FI_DEV_GPU_TEMP{%node})"},
                  "Temperature of the GPUs." + DEVICES, **TEMPERATURE),
            graph("SM clock", "hertz", {"{{instance}}": "$operation by (instance) (DCGM_FI_DEV_SM_CLOCK{%node}) * 1e6"},
                  "Clock of the multiprocessors." + DEVICES, min=0),
            graph("SMs active", "percentunit", {"{{instance}}": "$operation by (instance) (DCGM_FI_PROF_SM_ACTIVE{%node})"},
                  "Time in which a multiprocessor had work: profiling counters." + DEVICES, **SHARE),
        ]),
        ("Network", [
            graph("InfiniBand received", "Bps", {"{{instance}}": rates("node_infiniband_port_data_received_bytes_total",
                                                                       "instance")}, "Of all ports.", min=0),
            graph("InfiniBand sent", "Bps", {"{{instance}}": rates("node_infiniband_port_data_transmitted_bytes_total",
                                                                   "instance")}, "Of all ports.", min=0),
            graph("Ethernet received and sent", "Bps",
                  {"{{instance}} received": rates("node_network_receive_bytes_total", "instance", NICS),
                   "{{instance}} sent": rates("node_network_transmit_bytes_total", "instance", NICS)},
                  "Of all interfaces but loopback and those of containers.", min=0),
        ]),
        ("Nodes", [
            table("Nodes", {"instance": "Node"}, [
                ("State", "short", 'max by (instance) (label_replace(synop_node_up{node=~"$instance"}, "instance", "$1", "node",'
                 ' "(.+)"))', (), UP),
                ("CPUs busy", "percentunit", BUSY, (0.9, 0.99)),
                ("Memory used", "percentunit", MEMORY, (0.8, 0.95)),
                ("GPU utilization", "percent", "avg by (instance) (DCGM_FI_DEV_GPU_UTIL{%node})"),
                ("Hottest GPU", "celsius", "max by (instance) (DCGM_FI_DEV_GPU_TEMP{%node})", (80, 90)),
                ("GPU power", "watt", "sum by (instance) (max by (instance, gpu) (DCGM_FI_DEV_POWER_USAGE{%node}))"),
                ("Batch jobs", "short", "count by (instance) (synop_job_cpu_cpus{%node})"),
                ("Clock off by", "s", 'max by (instance) (label_replace(abs(synop_node_clock_offset_seconds{node=~"$instance"}),'
                 ' "instance", "$1", "node", "(.+)"))', (0.05, 0.5)),
            ], "A click on a node opens its Node View.", height=12),
        ]),
    ],
}

# ---- GPU Device Counters ----


def held_down(why, reason):
    return gpu_graph(f"Clocks held down by {why}", "percentunit", f"DCGM_FI_DEV_{reason}_VIOLATION",
                     "Share of the time.", " / 1e6", rate=True, **SHARE)


GPU_DEVICE = {
    "name": "gpu", "title": "GPU Device Counters", "variables": GPU_VARIABLES,
    "help": "Each GPU: use, memory, power, heat, clocks, links and errors.",
    "rows": [
        ("Now", [
            stat("GPUs", "short", "count(max by (instance, gpu) (DCGM_FI_DEV_GPU_TEMP{%gpu}))", "GPUs that answer."),
            stat("Utilization", "percent", "avg(DCGM_FI_DEV_GPU_UTIL{%gpu})", "Mean of these GPUs.", **PERCENT),
            stat("Memory used", "percentunit", "sum(DCGM_FI_DEV_FB_USED{%gpu}) / sum(DCGM_FI_DEV_FB_TOTAL{%gpu})",
                 "Of all of their memory.", **SHARE),
            stat("Power", "watt", "sum(max by (instance, gpu) (DCGM_FI_DEV_POWER_USAGE{%gpu}))", "Together."),
            stat("Hottest", "celsius", "max(DCGM_FI_DEV_GPU_TEMP{%gpu})", "The highest temperature.", **TEMPERATURE),
            stat("XID errors", "short", "sum(increase(synop_gpu_xid_errors_total{%gpu}[$__range])) or vector(0)",
                 "Errors that the driver reported, in the time that is shown.", bounds=(1,), decimals=0),
            stat("Uncorrected ECC errors", "short", "sum(max by (instance, gpu) (DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{%gpu}))",
                 "Since the driver was loaded.", bounds=(1,)),
            stat("Energy", "joule", "sum(max by (instance, gpu) (increase(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{%gpu}"
                 "[$__range]))) / 1000", "Used in the time that is shown."),
        ]),
        ("Use", [
            gpu_graph("Utilization", "percent", "DCGM_FI_DEV_GPU_UTIL", "Time in which a kernel ran.", **PERCENT),
            gpu_graph("Memory copy utilization", "percent", "DCGM_FI_DEV_MEM_COPY_UTIL", "Time in which the GPU's memory was read "
                      "or written.", **PERCENT),
            gpu_graph("Memory used", "mbytes", "DCGM_FI_DEV_FB_USED", "Memory that is allocated.", min=0),
            gpu_graph("Encoder utilization", "percent", "DCGM_FI_DEV_ENC_UTIL", "Use of the video encoders.", **PERCENT),
            gpu_graph("Decoder utilization", "percent", "DCGM_FI_DEV_DEC_UTIL", "Use of the video decoders.", **PERCENT),
            gpu_graph("BAR1 memory used", "mbytes", "DCGM_FI_DEV_BAR1_USED", "Memory that is mapped for the host and for other "
                      "devices.", min=0),
        ]),
        ("Power and heat", [
            gpu_graph("Power", "watt", "DCGM_FI_DEV_POWER_USAGE", "What it draws.", min=0),
            gpu_graph("Power by energy", "watt", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "The mean over each interval, from the "
                      "counter of energy.", " / 1000", rate=True, min=0),
            gpu_graph("Temperature", "celsius", "DCGM_FI_DEV_GPU_TEMP", "Of the GPU.", **TEMPERATURE),
            gpu_graph("Memory temperature", "celsius", "DCGM_FI_DEV_MEMORY_TEMP", "Of the memory.", bounds=(85, 95)),
            gpu_graph("Fan", "percent", "DCGM_FI_DEV_FAN_SPEED", "Of its highest speed.", **PERCENT),
            gpu_graph("Power limit", "watt", "DCGM_FI_DEV_POWER_MGMT_LIMIT", "What holds now.", min=0),
        ]),
        ("Clocks", [
            gpu_graph("SM clock", "hertz", "DCGM_FI_DEV_SM_CLOCK", "Clock of the multiprocessors.", " * 1e6", min=0),
            gpu_graph("Memory clock", "hertz", "DCGM_FI_DEV_MEM_CLOCK", "Clock of the memory.", " * 1e6", min=0),
            gpu_graph("Performance state", "short", "DCGM_FI_DEV_PSTATE", "0 is the highest.", min=0, decimals=0),
            held_down("the power limit", "POWER"),
            held_down("heat", "THERMAL"),
            held_down("the board's limits", "BOARD_LIMIT"),
            table("Why clocks are held down now", {"instance": "Node", "gpu": "GPU", "reason": "Reason"}, [
                ("", "short", 'max by (instance, gpu, reason) (label_replace({__name__=~"synop_gpu_throttled_.+",%gpu} == 1, '
                 '"reason", "$1", "__name__", "synop_gpu_throttled_(.+)"))'),
            ], "Each reason that the driver gives; idle is one, too.", height=7),
        ]),
        ("PCIe and NVLink", [
            gpu_graph("PCIe sent", "Bps", "DCGM_FI_DEV_PCIE_TX_THROUGHPUT", "In a short moment, as the driver measures it.", " * 1000",
                      min=0),
            gpu_graph("PCIe received", "Bps", "DCGM_FI_DEV_PCIE_RX_THROUGHPUT", "In a short moment, as the driver measures it.",
                      " * 1000", min=0),
            gpu_graph("PCIe replays", "cps", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "Times in a second that data was sent again.",
                      rate=True, min=0),
            graph("NVLink sent", "Bps", {"{{instance}} GPU {{gpu}}": rates("synop_gpu_nvlink_tx_bytes_total", "instance, gpu",
                                                                           matcher="%gpu")}, "Over all of its links.", min=0),
            graph("NVLink received", "Bps", {"{{instance}} GPU {{gpu}}": rates("synop_gpu_nvlink_rx_bytes_total", "instance, gpu",
                                                                               matcher="%gpu")}, "Over all of its links.", min=0),
            graph("NVLink errors", "cps", {"{{instance}} link {{gpu_link}}":
                                           rates("synop_gpu_nvlink_crc_errors_total", "instance, gpu_link")},
                  "CRC errors of each link (GPU:link) in a second.", min=0),
        ]),
        ("Errors", [
            gpu_graph("Last XID", "short", "DCGM_FI_DEV_XID_ERRORS", "The last one since the agent was started; none: no series.",
                      min=0, decimals=0),
            gpu_graph("ECC errors corrected", "short", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "Since the driver was loaded.", min=0),
            gpu_graph("ECC errors not corrected", "short", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Since the driver was loaded.", min=0),
            gpu_graph("Rows remapped, correctable", "short", "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
                      "Rows of memory that were replaced after corrected errors.", min=0),
            gpu_graph("Rows remapped, uncorrectable", "short", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
                      "Rows of memory that were replaced after errors that were not corrected.", min=0),
            gpu_graph("Remapping failed", "short", "DCGM_FI_DEV_ROW_REMAP_FAILURE", "1: the GPU is to be replaced.", min=0, bounds=(1,)),
        ]),
    ],
}

# ---- GPU Profiling Counters ----


def active(title, family, about):
    return gpu_graph(title, "percentunit", f"DCGM_FI_PROF_{family}", about, **SHARE)


def traffic(title, family, about):
    return gpu_graph(title, "Bps", f"DCGM_FI_PROF_{family}_BYTES", about, min=0)


PROFILING = {
    "name": "profiling", "title": "GPU Profiling Counters", "variables": GPU_VARIABLES,
    "help": "How busy the parts of each GPU are, by NVML's GPM (Hopper and newer) or by DCGM. GPUs without either have no series.",
    "rows": [
        ("Multiprocessors", [
            active("Graphics or compute engine active", "GR_ENGINE_ACTIVE", "Time in which it had work."),
            active("SMs active", "SM_ACTIVE", "Time in which a multiprocessor had work, the mean of all."),
            active("SM occupancy", "SM_OCCUPANCY", "Warps that were resident, of the most that there can be."),
        ]),
        ("Pipes", [
            active("Tensor cores", "PIPE_TENSOR_ACTIVE", "Of any kind."),
            active("Tensor cores, half precision", "PIPE_TENSOR_HMMA_ACTIVE", "FP16, BF16 and the like."),
            active("Tensor cores, integers", "PIPE_TENSOR_IMMA_ACTIVE", "INT8 and the like."),
            active("Tensor cores, double precision", "PIPE_TENSOR_DFMA_ACTIVE", "FP64."),
            active("FP64", "PIPE_FP64_ACTIVE", "Double precision units."),
            active("FP32", "PIPE_FP32_ACTIVE", "Single precision units."),
            active("FP16", "PIPE_FP16_ACTIVE", "Half precision units."),
            active("Integers", "PIPE_INT_ACTIVE", "Integer units."),
            active("Memory", "DRAM_ACTIVE", "Use of the memory's bandwidth."),
        ]),
        ("Links", [
            traffic("PCIe sent", "PCIE_TX", "With headers."),
            traffic("PCIe received", "PCIE_RX", "With headers."),
            traffic("NVLink sent", "NVLINK_TX", "Over all of its links."),
            traffic("NVLink received", "NVLINK_RX", "Over all of its links."),
        ]),
    ],
}

BOARDS = [CLUSTER, GPU_DEVICE, PROFILING]
