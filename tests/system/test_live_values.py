"""What the agent reads of this machine, held against what others read: /proc through psutil, ip, df, /proc itself.

A counter must lie between two readings of it, one before and one after the sample: no clock is needed for that."""

import json
import os
import subprocess
import time

import psutil
import pytest
from lib.cluster import read_key
from lib.peers import AggregatorPeer
from lib.programs import parse_line, run


@pytest.fixture(scope="module")
def once():
    """One report with all groups."""
    done = run("agent", "--config", "/dev/null", "--once", "--period", "100ms")
    return parse_line(done.stdout)["report"]


def bracketed(cluster, read):
    """(read() before, a frame, read() after); the frame was sampled in between."""
    keys = cluster.keys_of("n1")
    secret, public = read_key(cluster.master / "aggregator.key"), read_key(cluster.master / "aggregator.pub")
    with AggregatorPeer(secret, public, {read_key(keys / "agent.pub"): "n1"}) as peer:
        cluster.endpoint = peer.endpoint
        cluster.start_agent("n1", period="100ms")
        peer.wait_frames(2)
        before, since = read(), time.monotonic_ns()

        def sampled():
            fitting = [frame for frame in peer.decoded() if frame.monotonic_ns > since]
            return fitting and fitting[0]

        frame = peer.wait(sampled, "a frame")
        return before, frame, read()


def between(name, before, value, after):
    assert before <= value <= after, (name, before, value, after)




def proc_stat():
    with open("/proc/stat", encoding="ascii") as stat:
        return {line.split()[0]: [int(number) for number in line.split()[1:]] for line in stat}


def test_cpu(cluster):
    before, frame, after = bracketed(cluster, proc_stat)
    table = frame.tables["cpu_usage"]
    between("ctxt", before["ctxt"][0], table.node["context_switch_count"], after["ctxt"][0])
    between("intr", before["intr"][0], table.node["interrupts"], after["intr"][0])
    between("forks", before["processes"][0], table.node["forks"], after["processes"][0])
    assert len(table.rows) == psutil.cpu_count() == len([name for name in before if name[3:].isdigit()])
    names = ["user", "nice", "system", "idle", "io_wait", "irq", "soft_irq", "steal", "guest", "guest_nice"]
    for cpu, row in table.rows.items():
        for column, name in enumerate(names):
            if name not in ("idle", "io_wait"):  # the kernel lets these fall now and then
                between((cpu, name), before[f"cpu{cpu}"][column], row[name], after[f"cpu{cpu}"][column])


def test_cpu_adds_up(once):
    """The shares of a CPU's time make about 100 percent of it. Times are in ticks of 10 ms, hence the wide margin."""
    for name, row in once["system_data"]["cpu_usage"]["usage_data"].items():
        parts = [value for key, value in row.items() if key not in ("guest", "guest_nice")]
        assert 0 <= sum(parts) <= 250, (name, row)


def test_network(cluster):
    before, frame, after = bracketed(cluster, lambda: psutil.net_io_counters(pernic=True, nowrap=False))
    rows = frame.tables["network"].rows
    assert set(rows) == set(before)
    pairs = {"rx_bytes": "bytes_recv", "tx_bytes": "bytes_sent", "rx_packets": "packets_recv",
             "tx_packets": "packets_sent", "rx_errors": "errin", "tx_errors": "errout", "rx_dropped": "dropin",
             "tx_dropped": "dropout"}
    for name, row in rows.items():
        for ours, theirs in pairs.items():
            between((name, ours), getattr(before[name], theirs), row[ours], getattr(after[name], theirs))


def test_network_as_ip_says(cluster):
    def read():
        text = subprocess.run(["ip", "-s", "-j", "link"], capture_output=True, check=True, timeout=60).stdout
        return {link["ifname"]: link.get("stats64", {}) for link in json.loads(text)}

    before, frame, after = bracketed(cluster, read)
    for name, row in frame.tables["network"].rows.items():
        if before.get(name):
            between(name, before[name]["rx"]["bytes"], row["rx_bytes"], after[name]["rx"]["bytes"])
            between(name, before[name]["tx"]["packets"], row["tx_packets"], after[name]["tx"]["packets"])


def test_tcp(cluster):
    def read():
        with open("/proc/net/snmp", encoding="ascii") as snmp:
            lines = [line.split() for line in snmp]
        return {head[0] + name: int(value) for head, values in zip(lines[::2], lines[1::2])
                for name, value in zip(head[1:], values[1:])}

    before, frame, after = bracketed(cluster, read)
    node = frame.tables["network"].node
    for ours, theirs in (("tcp_active_opens", "Tcp:ActiveOpens"), ("tcp_retransmits", "Tcp:RetransSegs"),
                         ("udp_in", "Udp:InDatagrams"), ("udp_receive_buffer_errors", "Udp:RcvbufErrors")):
        between(ours, before[theirs], node[ours], after[theirs])
    assert node["tcp_established"] >= 0


def test_vm(cluster):
    def read():
        with open("/proc/vmstat", encoding="ascii") as vmstat:
            return {line.split()[0]: int(line.split()[1]) for line in vmstat}

    before, frame, after = bracketed(cluster, read)
    node = frame.tables["vm"].node
    names = {metric.name: value for metric, value in zip(frame.tables["vm"].group.of_node(), node.values())}
    faults = next(name for name in names if "fault" in name and "major" not in name)
    between(faults, before["pgfault"], names[faults], after["pgfault"])


def test_disks(cluster):
    def read():
        with open("/proc/diskstats", encoding="ascii") as disks:
            return {line.split()[2]: [int(number) for number in line.split()[3:]] for line in disks}

    before, frame, after = bracketed(cluster, read)
    rows = frame.tables["disk_io"].rows
    blocks = {name for name in os.listdir("/sys/block") if not name.startswith(("loop", "ram", "fd", "sr"))}
    assert set(rows) <= blocks
    for name, row in rows.items():
        between((name, "reads"), before[name][0], row["reads"], after[name][0])
        between((name, "writes"), before[name][4], row["writes"], after[name][4])


def test_memory(once):
    """The sizes exactly; what moves all the time, within a quarter of the memory."""
    said, seen, swap = once["system_data"]["memory_info"], psutil.virtual_memory(), psutil.swap_memory()
    assert said["total"] == seen.total and said["swap_total"] == swap.total
    assert said["used"] == said["total"] - said["available"]
    for name in ("available", "free", "cached", "buffers"):
        assert abs(said[name] - getattr(seen, name)) < seen.total / 4, name


def test_load(once):
    said = once["system_data"]["load"]
    assert abs(said["uptime"] - time.clock_gettime(time.CLOCK_BOOTTIME)) < 120
    assert said["load_1"] >= 0 and said["tasks"] >= said["runnable"] >= 1


def test_filesystems_as_df_says(once):
    """Size and type of each, and used within a tenth of the size. Every real one is there."""
    table = subprocess.run(["df", "-B1", "--output=target,size,used,itotal,fstype"], capture_output=True, text=True,
                           check=False, timeout=60).stdout.splitlines()[1:]
    seen = {line.split()[0]: line.split()[1:] for line in table if len(line.split()) == 5}
    mounts = once["system_data"]["filesystem"]["mounts"]
    assert "/" in mounts
    for path, row in mounts.items():
        if path not in seen:
            continue
        size, used, inodes, kind = seen[path]
        assert row["size"] == int(size) and row["type"] == kind, path
        assert abs(row["used"] - int(used)) <= max(int(size) / 10, 2**26), path
        assert row["inodes_total"] in (None, int(inodes)) or inodes == "-"


def test_hardware(once):
    said = once["hardware_info"]
    text = json.dumps(said)
    assert os.uname().nodename in text and os.uname().release in text
    assert psutil.cpu_count() in said.values()
    assert psutil.virtual_memory().total in said.values()


def test_pressure(once):
    said = once["system_data"]["pressure"]
    assert (said["error"] == "") == os.path.exists("/proc/pressure/cpu"), said["error"]
