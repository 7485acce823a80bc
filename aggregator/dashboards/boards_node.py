"""Network Counters, Node View, Jobs, Time."""

from panels import (BUSY, DATASOURCE, DISKS, GPU, JOB, JOB_ID, MEMORY, NICS, NODE_VARIABLES, PERCENT, SHARE, TEMPERATURE, UP,
                    gpu_graph, graph, nodes, rates, stat, table)

IB = "node_infiniband_"
PORT = "{{instance}} {{device}}:{{port}}"
NIC = "{{instance}} {{device}}"

# ---- Network Counters ----


def port(title, unit, family, about, **more):
    return graph(title, unit, {PORT: rates(f"{IB}{family}_total", "instance, device, port")}, about, min=0, **more)


def port_state(title, family, about, **more):
    return graph(title, "short", {PORT: f"max by (instance, device, port) ({IB}{family}{{%node}})"}, about, **more)


def nic(title, unit, received, sent, about, matcher=NICS):
    return graph(title, unit, {f"{NIC} received": rates(f"node_network_receive_{received}_total", more=matcher),
                               f"{NIC} sent": rates(f"node_network_transmit_{sent}_total", more=matcher)}, about, min=0)


def netstat(title, names, about):
    return graph(title, "cps", {f"{{{{instance}}}} {name}": rates(f"node_netstat_{family}", "instance")
                                for name, family in names.items()}, about, min=0)


NETWORK = {
    "name": "network", "title": "Network Counters", "variables": NODE_VARIABLES,
    "help": "InfiniBand and Ethernet: traffic, errors, states of links.",
    "rows": [
        ("InfiniBand", [
            port("Received", "Bps", "port_data_received_bytes", "Data of each port."),
            port("Sent", "Bps", "port_data_transmitted_bytes", "Data of each port."),
            graph("Use of the link", "percentunit", {
                f"{PORT} received": rates(f"{IB}port_data_received_bytes_total", "instance, device, port") +
                f" / (max by (instance, device, port) ({IB}rate_bytes_per_second{{%node}}) > 0)",
                f"{PORT} sent": rates(f"{IB}port_data_transmitted_bytes_total", "instance, device, port") +
                f" / (max by (instance, device, port) ({IB}rate_bytes_per_second{{%node}}) > 0)",
            }, "Of what it could carry in each direction.", **SHARE),
            port("Packets received", "pps", "port_packets_received", "Of each port."),
            port("Packets sent", "pps", "port_packets_transmitted", "Of each port."),
            port("Waiting to send", "cps", "port_transmit_wait", "Ticks in which a port had data and no credits: congestion."),
        ]),
        ("InfiniBand: states and errors", [
            port_state("State", "state_id", "1 down, 2 init, 3 armed, 4 active.", min=0, max=5, decimals=0),
            port_state("Physical state", "physical_state_id", "5 is LinkUp; 2 polling, 3 disabled, 6 recovery.", min=0, max=7,
                       decimals=0),
            graph("Links that went down", "short", {PORT: f"sum by (instance, device, port) (increase({IB}link_downed_total"
                                                          "{%node}[$__range]))"}, "In the time that is shown: flaps.", min=0),
            port("Errors received", "cps", "port_errors_received", "Packets with errors."),
            port("Sending discarded", "cps", "port_discards_transmitted", "Packets that could not be sent: the port was down or "
                 "congested."),
            port("Symbol errors", "cps", "symbol_error", "Of the physical link."),
            port("Link recoveries", "cps", "link_error_recovery", "Times that the link recovered by itself."),
            graph("Constraint errors", "cps", {
                f"{PORT} received": rates(f"{IB}port_constraint_errors_received_total", "instance, device, port"),
                f"{PORT} sent": rates(f"{IB}port_constraint_errors_transmitted_total", "instance, device, port"),
            }, "Packets that the switch's partitions refused.", min=0),
            graph("Congestion marks and order", "cps", {
                "{{instance}} {{device_port}} CNP sent": rates("synop_infiniband_np_cnp_sent_total", "instance, device_port"),
                "{{instance}} {{device_port}} out of order": rates("synop_infiniband_out_of_sequence_total",
                                                                   "instance, device_port"),
            }, "RoCE: notifications of congestion, and packets out of order.", min=0),
        ]),
        ("Ethernet", [
            nic("Bytes", "Bps", "bytes", "bytes", "Of all interfaces but loopback and those of containers."),
            nic("Packets", "pps", "packets", "packets", "Of the same interfaces."),
            nic("Errors", "cps", "errs", "errs", "Packets with errors."),
            nic("Dropped", "cps", "drop", "drop", "Packets that were dropped."),
            graph("Links", "short", {NIC: f"max by (instance, device) (node_network_up{{%node{NICS}}})"}, "1 while the state is up.",
                  **SHARE, decimals=0),
            graph("Carrier changes", "short", {NIC: f"sum by (instance, device) (increase(node_network_carrier_changes_total"
                                                    f"{{%node{NICS}}}[$__range]))"}, "In the time that is shown.", min=0),
        ]),
        ("TCP and UDP", [
            netstat("TCP segments", {"received": "Tcp_InSegs", "sent": "Tcp_OutSegs"}, "In a second."),
            netstat("TCP trouble", {"sent again": "Tcp_RetransSegs", "listen overflows": "TcpExt_ListenOverflows",
                                    "timeouts": "TcpExt_TCPTimeouts"}, "In a second."),
            graph("Connections", "short", {"{{instance}}": "max by (instance) (node_netstat_Tcp_CurrEstab{%node})"},
                  "TCP connections that are established.", min=0),
            netstat("UDP datagrams", {"received": "Udp_InDatagrams", "sent": "Udp_OutDatagrams"}, "In a second."),
            netstat("UDP errors", {"errors": "Udp_InErrors", "buffer full": "Udp_RcvbufErrors"}, "In a second."),
            graph("Softnet dropped", "cps", {"{{instance}}": rates("node_softnet_dropped_total", "instance")},
                  "Packets that a CPU could not take any more.", min=0),
        ]),
    ],
}

# ---- Node View ----

NODE_CPU = 'sum by (mode) (rate(node_cpu_seconds_total{%node,mode!="idle"}[%rate])) / scalar(count(count by (cpu) ' \
           '(node_cpu_seconds_total{%node,mode="idle"})))'


def memory(name):
    return f"max(node_memory_{name}_bytes{{%node}})"


def disk(title, unit, read, written, about):
    return graph(title, unit, {"{{device}} read": rates(f"node_disk_{read}_total", "device", DISKS),
                               "{{device}} written": rates(f"node_disk_{written}_total", "device", DISKS)}, about, min=0)


def used(total, free):
    by = "max by (mountpoint) "
    return f"1 - {by}({free}{{%node}}) / ({by}({total}{{%node}}) > 0)"


NODE = {
    "name": "node", "title": "Node View", "help": "All of one node.",
    "variables": (DATASOURCE, JOB, JOB_ID, nodes("node_uname_info", name="node"), GPU),
    "rows": [
        ("Now", [
            stat("State", "short", 'max(synop_node_up{node=~"$instance"})', "Up while its frames come.", texts=UP),
            stat("Up for", "s", "max(node_time_seconds{%node} - node_boot_time_seconds{%node})", "Since it was booted."),
            stat("CPUs", "short", 'count(count by (cpu) (node_cpu_seconds_total{%node,mode="idle"}))', "CPUs that are online."),
            stat("CPUs busy", "percentunit", BUSY, "Time in which they were not idle.", **SHARE, bounds=(0.9, 0.99)),
            stat("Memory", "bytes", memory("MemTotal"), "All that there is."),
            stat("Memory used", "percentunit", MEMORY, "What programs could not get without swapping.", **SHARE,
                 bounds=(0.8, 0.95)),
            stat("GPUs", "short", "count(max by (gpu) (DCGM_FI_DEV_GPU_TEMP{%node})) or vector(0)", "GPUs that answer."),
            stat("Batch jobs", "short", "count(synop_job_cpu_cpus{%node}) or vector(0)", "Jobs with processes here."),
        ]),
        ("CPUs", [
            graph("CPU time", "percentunit", {"{{mode}}": NODE_CPU}, "Of all CPUs, by what they do.", stack=True, **SHARE),
            graph("Each CPU", "percentunit", {"CPU {{cpu}}": '1 - max by (cpu) (rate(node_cpu_seconds_total{%node,mode="idle"}'
                                                             '[%rate]))'}, "Time in which it was not idle.", **SHARE),
            graph("Load", "short", {"1 minute": "max(node_load1{%node})", "5 minutes": "max(node_load5{%node})",
                                    "15 minutes": "max(node_load15{%node})"}, "Tasks that run or wait.", min=0),
            graph("Pressure", "percentunit", {
                "CPU": "max(rate(node_pressure_cpu_waiting_seconds_total{%node}[%rate]))",
                "memory": "max(rate(node_pressure_memory_waiting_seconds_total{%node}[%rate]))",
                "input and output": "max(rate(node_pressure_io_waiting_seconds_total{%node}[%rate]))",
            }, "Share of the time in which some task waited for it.", **SHARE),
            graph("Clock frequency", "hertz", {"CPU {{cpu}}": "max by (cpu) (node_cpu_scaling_frequency_hertz{%node})"},
                  "At which each CPU runs.", min=0),
            graph("Temperature", "celsius", {"{{chip}} {{sensor}}": "max by (chip, sensor) (node_hwmon_temp_celsius{%node})"},
                  "Of all sensors of the machine.", **TEMPERATURE),
            graph("Switches and interrupts", "cps", {
                "context switches": "max(rate(node_context_switches_total{%node}[%rate]))",
                "interrupts": "max(rate(node_intr_total{%node}[%rate]))",
                "forks": "max(rate(node_forks_total{%node}[%rate]))",
            }, "In a second.", min=0),
        ]),
        ("Memory", [
            graph("Memory", "bytes", {
                "programs": f"{memory('MemTotal')} - {memory('MemFree')} - {memory('Buffers')} - {memory('Cached')} - "
                            f"{memory('SReclaimable')}",
                "cached": f"{memory('Cached')} + {memory('SReclaimable')}", "buffers": memory("Buffers"),
                "free": memory("MemFree"),
            }, "What it is used for.", stack=True, min=0),
            graph("Swap", "bytes", {"used": f"{memory('SwapTotal')} - {memory('SwapFree')}", "all": memory("SwapTotal")},
                  "Memory that is swapped out.", min=0),
            graph("Paging", "cps", {
                "major faults": "max(rate(node_vmstat_pgmajfault{%node}[%rate]))",
                "swapped in": "max(rate(node_vmstat_pswpin{%node}[%rate]))",
                "swapped out": "max(rate(node_vmstat_pswpout{%node}[%rate]))",
                "killed for want of memory": "max(rate(node_vmstat_oom_kill{%node}[%rate]))",
            }, "In a second.", min=0),
        ]),
        ("Disks and file systems", [
            disk("Disks", "Bps", "read_bytes", "written_bytes", "Bytes of each disk."),
            disk("Operations", "iops", "reads_completed", "writes_completed", "Of each disk in a second."),
            graph("Disks busy", "percentunit", {"{{device}}": rates("node_disk_io_time_seconds_total", "device", DISKS)},
                  "Time in which a disk had something to do.", **SHARE),
            graph("Space used", "percentunit", {"{{mountpoint}}": used("node_filesystem_size_bytes", "node_filesystem_avail_bytes")},
                  "Of each file system; what is kept for root counts as used.", **SHARE, bounds=(0.8, 0.95)),
            graph("Inodes used", "percentunit", {"{{mountpoint}}": used("node_filesystem_files", "node_filesystem_files_free")},
                  "Of file systems that have a fixed number.", **SHARE, bounds=(0.8, 0.95)),
            graph("Open files", "short", {"open": "max(node_filefd_allocated{%node})"}, "Of the whole node.", min=0),
        ]),
        ("Network", [
            graph("Ethernet", "Bps", {
                "{{device}} received": rates("node_network_receive_bytes_total", "device", NICS),
                "{{device}} sent": rates("node_network_transmit_bytes_total", "device", NICS),
            }, "Of all interfaces but loopback and those of containers.", min=0),
            graph("InfiniBand", "Bps", {
                "{{device}}:{{port}} received": rates(f"{IB}port_data_received_bytes_total", "device, port"),
                "{{device}}:{{port}} sent": rates(f"{IB}port_data_transmitted_bytes_total", "device, port"),
            }, "Data of each port.", min=0),
            graph("Errors", "cps", {
                "{{device}}": "sum by (device) (rate(node_network_receive_errs_total{%node}[%rate]) + "
                              "rate(node_network_transmit_errs_total{%node}[%rate]))",
                "{{device}}:{{port}}": rates(f"{IB}port_errors_received_total", "device, port"),
            }, "Of interfaces, and of InfiniBand's ports.", min=0),
        ]),
        ("GPUs", [
            gpu_graph("Utilization", "percent", "DCGM_FI_DEV_GPU_UTIL", "Time in which a kernel ran.", **PERCENT),
            gpu_graph("Memory used", "mbytes", "DCGM_FI_DEV_FB_USED", "Memory that is allocated.", min=0),
            gpu_graph("Power", "watt", "DCGM_FI_DEV_POWER_USAGE", "What it draws.", min=0),
            gpu_graph("Temperature", "celsius", "DCGM_FI_DEV_GPU_TEMP", "Of the GPU.", **TEMPERATURE),
            gpu_graph("SMs active", "percentunit", "DCGM_FI_PROF_SM_ACTIVE", "Time in which a multiprocessor had work.", **SHARE),
            graph("Processes' memory", "bytes", {"{{gpu_process}}": "max by (gpu_process) (synop_gpu_processes_memory_used_bytes"
                                                                    "{%node})"}, "Of each process (GPU/process).", min=0),
        ]),
        ("Batch jobs", [
            graph("CPUs of jobs", "short", {"{{job_id}}": rates("synop_job_cpu_user_time_seconds_total", "job_id") + " + " +
                                            rates("synop_job_cpu_system_time_seconds_total", "job_id")},
                  "CPUs that each job keeps busy.", min=0),
            graph("Memory of jobs", "bytes", {"{{job_id}}": "max by (job_id) (synop_job_memory_rss_bytes{%node})"},
                  "Memory resident for its processes.", min=0),
            graph("Groups that could not be read", "short", {"{{group}}": "max by (group) (synop_group_up{%node})"},
                  "1: all values of a group could be read; 0: some are missing.", **SHARE, decimals=0),
        ]),
    ],
}

# ---- Jobs ----

JOB_NODE = "{{job_id}} on {{instance}}"


def of_job(title, unit, family, about, kind="max", factor="", **more):
    series = f"synop_job_{family}{{%job}}"
    text = f"sum by (instance, job_id) (rate({series}[%rate]))" if kind == "rate" else f"max by (instance, job_id) ({series})"
    return graph(title, unit, {JOB_NODE: text + factor}, about, min=0, **more)


def rate_of_job(title, unit, family, about, **more):
    return of_job(title, unit, f"{family}_total", about, "rate", **more)


JOB_CPUS = "sum by (instance, job_id) (rate(synop_job_cpu_user_time_seconds_total{%job}[%rate])) + " \
           "sum by (instance, job_id) (rate(synop_job_cpu_system_time_seconds_total{%job}[%rate]))"


def all_of_job(text):
    return f"sum by (job_id) ({text})"


JOBS = {
    "name": "jobs", "title": "Jobs", "variables": NODE_VARIABLES,
    "help": "Batch jobs: who runs what where, and what it uses. After its end: synop-aggregator report JOB.",
    "rows": [
        ("Running", [
            table("Jobs", {"job_id": "Job", "user": "User", "name": "Name", "scheduler": "Scheduler"}, [
                ("Nodes", "short", "count by (job_id, user, name, scheduler) (synop_job_info{%job})"),
                ("CPUs busy", "short", all_of_job(JOB_CPUS)),
                ("CPUs allocated", "short", all_of_job("synop_job_cpu_cpus{%job}")),
                ("Memory", "bytes", all_of_job("synop_job_memory_rss_bytes{%job}")),
                ("GPUs used", "short", all_of_job("synop_job_gpu_gpus_used{%job}")),
                ("GPUs idle", "short", all_of_job("synop_job_gpu_gpus_idle{%job}"), (1,)),
                ("GPU utilization", "percentunit", "avg by (job_id) (synop_job_gpu_utilization_ratio{%job})"),
                ("Energy of GPUs", "joule", all_of_job("synop_job_gpu_energy_joules_total{%job}")),
            ], "Each job, over all nodes that are chosen. GPUs idle: its own on which nothing runs.", height=9),
        ]),
        ("CPUs and memory", [
            graph("CPUs busy", "short", {JOB_NODE: JOB_CPUS}, "CPUs that the job keeps busy on each node.", min=0),
            graph("Share of its CPUs", "percentunit", {
                JOB_NODE: f"({JOB_CPUS}) / (max by (instance, job_id) (synop_job_cpu_cpus{{%job}}) > 0)",
            }, "Of the CPUs that are allocated to it, or that it may use.", min=0),
            of_job("Memory", "bytes", "memory_rss_bytes", "Resident for its processes; pages that they share count in each."),
            of_job("Memory of its cgroup", "bytes", "memory_cgroup_current_bytes", "With cached files; where it has a cgroup."),
            of_job("Share of the node's memory", "percentunit", "memory_percent_ratio", "Resident memory."),
            rate_of_job("Killed for want of memory", "cps", "memory_oom_kills", "Processes in a second."),
        ]),
        ("Input and output", [
            rate_of_job("Read from storage", "Bps", "io_read_bytes", "What came from disks."),
            rate_of_job("Written to storage", "Bps", "io_write_bytes", "What went to disks, or is on its way there."),
            graph("Calls", "Bps", {
                f"{JOB_NODE} read": rates("synop_job_io_read_chars_bytes_total", "instance, job_id", matcher="%job"),
                f"{JOB_NODE} written": rates("synop_job_io_write_chars_bytes_total", "instance, job_id", matcher="%job"),
            }, "Bytes of all read and write calls: of cached files and pipes, too.", min=0),
        ]),
        ("GPUs", [
            of_job("GPU utilization", "percentunit", "gpu_utilization_ratio", "Mean of its GPUs.", max=1),
            of_job("GPU memory", "bytes", "gpu_memory_used_bytes", "What its processes have."),
            rate_of_job("GPU power", "watt", "gpu_energy_joules", "Of its GPUs, from their energy."),
            of_job("GPUs used", "short", "gpu_gpus_used", "GPUs on which it has processes.", decimals=0),
            of_job("GPUs idle", "short", "gpu_gpus_idle", "Its GPUs on which nothing runs.", decimals=0, bounds=(1,)),
        ]),
        ("Processes", [
            of_job("Processes", "short", "processes_processes", "That run."),
            of_job("Threads", "short", "processes_threads", "Of all of its processes."),
            of_job("Open files", "short", "processes_open_files", "Files, sockets and pipes."),
        ]),
    ],
}

# ---- Time ----

CLOCK = '{node=~"$instance"}'


def of_node(title, unit, family, about, **more):
    return graph(title, unit, {"{{node}}": f"max by (node) (synop_node_{family}{CLOCK})"}, about, **more)


TIME = {
    "name": "time", "title": "Time", "variables": NODE_VARIABLES,
    "help": "Cluster time: how far each node's clock is off, how exactly that is known, and how far apart nodes sample.",
    "rows": [
        ("Now", [
            stat("Spread of a tick", "s", "max(synop_aggregator_tick_spread_seconds)", "How far apart nodes sampled for the last "
                 "combined report.", width=4, bounds=(0.001, 0.01)),
            stat("Known to", "s", "max(synop_aggregator_tick_bound_seconds)", "How exactly that is known.", width=4),
            stat("Furthest clock", "s", f"max(abs(synop_node_clock_offset_seconds{CLOCK}))", "The wall clock that is off most.",
                 width=4, bounds=(0.05, 0.5)),
            stat("Worst bound", "s", f"max(synop_node_clock_bound_seconds{CLOCK})", "The clock that is known least.", width=4),
            stat("Nodes in the last tick", "short", "max(synop_aggregator_tick_nodes_reporting)", "Nodes of the last combined "
                 "report.", width=4),
            stat("Nodes late", "short", "max(synop_aggregator_tick_nodes_late)", "Nodes that it waited for in vain.", width=4,
                 bounds=(1,)),
        ]),
        ("Ticks", [
            graph("Spread and bound", "s", {"spread": "max(synop_aggregator_tick_spread_seconds)",
                                            "bound": "max(synop_aggregator_tick_bound_seconds)"},
                  "How far apart nodes sampled for one instant, and how exactly that is known.", min=0),
            graph("Nodes", "short", {"reporting": "max(synop_aggregator_tick_nodes_reporting)",
                                     "late": "max(synop_aggregator_tick_nodes_late)"},
                  "Nodes in each combined report, and those that were waited for in vain.", min=0),
            graph("Age of the last frame", "s", {"{{node}}": f"max(synop_aggregator_tick_timestamp_seconds) - on () group_right () "
                                                             f"max by (node) (synop_node_last_seen_timestamp_seconds{CLOCK})"},
                  "Of each node, when the last combined report was made."),
        ]),
        ("Clocks", [
            of_node("Wall clock against cluster time", "s", "clock_offset_seconds", "Samples are taken by cluster time, whatever a "
                    "node's own clock says."),
            of_node("Bound", "s", "clock_bound_seconds", "The offset is known to within this.", min=0),
            graph("Drift", "ppm", {"{{node}}": f"max by (node) (synop_node_clock_drift_ratio{CLOCK}) * 1e6"},
                  "Seconds that a clock gains in a million."),
            graph("Wall clocks of all nodes", "s", {
                "furthest ahead": f"max(synop_node_clock_offset_seconds{CLOCK})",
                "median": f"quantile(0.5, synop_node_clock_offset_seconds{CLOCK})",
                "furthest behind": f"min(synop_node_clock_offset_seconds{CLOCK})",
            }, "Against cluster time."),
            graph("Kernel's offset", "s", {"{{instance}}": "max by (instance) (node_timex_offset_seconds{%node})"},
                  "What chrony, ntpd or PTP still have to correct."),
            graph("Kernel's largest error", "s", {"{{instance}}": "max by (instance) (node_timex_maxerror_seconds{%node})"},
                  "As whoever keeps the clock says; 16 s while nobody does.", min=0),
            graph("Kept by somebody", "short", {"{{instance}}": "max by (instance) (node_timex_sync_status{%node})"},
                  "1 while chrony, ntpd or PTP keep the clock.", **SHARE, decimals=0),
        ]),
        ("Frames", [
            graph("Frames", "cps", {"{{node}}": f"sum by (node) (rate(synop_node_frames_total{CLOCK}[%rate]))"},
                  "That came of each node, in a second.", min=0),
            of_node("Lost", "short", "frames_lost_total", "Frames that no replay brought back.", min=0, bounds=(1,)),
            of_node("Missing", "short", "frames_missing", "Frames that are asked for again.", min=0),
            graph("Aggregator", "cps", {
                "frames": "sum(rate(synop_aggregator_frames_total[%rate]))",
                "replayed": "sum(rate(synop_aggregator_replayed_total[%rate]))",
                "duplicates": "sum(rate(synop_aggregator_duplicates_total[%rate]))",
            }, "Of all nodes, in a second.", min=0),
            graph("Bytes to the aggregator", "Bps", {"all": "sum(rate(synop_aggregator_bytes_total[%rate]))"}, "Of all nodes.", min=0),
            graph("Lines and samples dropped", "cps", {
                "lines": "sum(rate(synop_aggregator_lines_dropped_total[%rate]))",
                "samples": "sum(rate(synop_aggregator_samples_dropped_total[%rate]))",
            }, "By readers that were too slow, and receivers that refused.", min=0),
        ]),
    ],
}

BOARDS = [NETWORK, NODE, JOBS, TIME]
