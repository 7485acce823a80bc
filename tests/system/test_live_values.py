"""What the agent reads of this machine, held against what others read: /proc through psutil, ip, df, /proc itself.

A counter must lie between two readings of it, one before and one after the sample: no clock is needed for that."""

import json
import os
import socket
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
                         ("tcp_resets_sent", "Tcp:OutRsts"), ("tcp_in_segments", "Tcp:InSegs")):
        between(ours, before[theirs], node[ours], after[theirs])
    assert node["tcp_established"] >= 0


def exchange(family, address, count):
    """Sends that many datagrams to a socket of its own, one after the other."""
    with socket.socket(family, socket.SOCK_DGRAM) as receiver, socket.socket(family, socket.SOCK_DGRAM) as sender:
        receiver.settimeout(10)
        receiver.bind((address, 0))
        for _ in range(count):
            sender.sendto(b"x", receiver.getsockname()[:2])
            receiver.recv(16)


def test_udp_over_ipv4_and_ipv6(cluster):
    if not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("this kernel has no IPv6")

    def read():
        with open("/proc/net/snmp", encoding="ascii") as snmp:
            names, values = (line.split()[1:] for line in snmp if line.startswith("Udp: "))
        four = dict(zip(names, map(int, values)))
        with open("/proc/net/snmp6", encoding="ascii") as snmp6:
            six = {line.split()[0]: int(line.split()[1]) for line in snmp6}
        return {name: four[name] + six["Udp6" + name] for name in ("InDatagrams", "OutDatagrams", "RcvbufErrors")}

    start = read()
    exchange(socket.AF_INET6, "::1", 1000)
    exchange(socket.AF_INET, "127.0.0.1", 1000)
    before, frame, after = bracketed(cluster, read)
    node = frame.tables["network"].node
    assert frame.tables["network"].error == ""
    for ours, theirs in (("udp_in", "InDatagrams"), ("udp_out", "OutDatagrams"),
                         ("udp_receive_buffer_errors", "RcvbufErrors")):
        between(ours, before[theirs], node[ours], after[theirs])
    assert node["udp_in"] >= start["InDatagrams"] + 2000 and node["udp_out"] >= start["OutDatagrams"] + 2000


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


def lscpu_counts(*options):
    """(sockets, cores, threads): lscpu numbers the cores of all dies and packages through."""
    done = subprocess.run(["lscpu", "-p=SOCKET,CORE,CPU", *options], capture_output=True, text=True, check=True, timeout=60)
    rows = [line.split(",") for line in done.stdout.splitlines() if not line.startswith("#")]
    return tuple(len({row[column] for row in rows}) for column in range(3))


def hardware_counts(said):
    return said["sockets"], said["cores"], said["threads"]


def test_cores_as_lscpu_says(once):
    if once["hardware_info"]["sockets"] is None:
        pytest.skip("this machine does not tell which CPUs share a core")
    assert hardware_counts(once["hardware_info"]) == lscpu_counts()


def write_machine(root, threads, place):
    """A machine whose CPU n is at place(n): package, die, core id and the first CPU of its core."""
    def write(path, text):
        path = root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def mask(cpus):
        text = f"{sum(1 << cpu for cpu in cpus):0{(threads + 31) // 32 * 8}x}"
        return ",".join(text[at:at + 8] for at in range(0, len(text), 8))

    places = [place(cpu) for cpu in range(threads)]
    for name in ("online", "present", "possible"):
        write(f"sys/devices/system/cpu/{name}", f"0-{threads - 1}")
    write("sys/devices/system/cpu/kernel_max", threads - 1)
    for cpu, (package, die, core, first) in enumerate(places):
        shared = {"package": [n for n in range(threads) if places[n][0] == package],
                  "core": [n for n in range(threads) if places[n][3] == first]}
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology/"
        write(folder + "physical_package_id", package)
        write(folder + "die_id", die)
        write(folder + "core_id", core)
        for name, old, cpus in (("core", "thread", shared["core"]), ("package", "core", shared["package"])):
            write(f"{folder}{name}_cpus_list", ",".join(map(str, cpus)))
            write(f"{folder}{old}_siblings_list", ",".join(map(str, cpus)))
            write(f"{folder}{name}_cpus", mask(cpus))
            write(f"{folder}{old}_siblings", mask(cpus))
    write("proc/cpuinfo", "\n".join(
        f"processor\t: {cpu}\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\nmodel name\t: Test\nstepping\t: 0\n"
        f"physical id\t: {package}\ncore id\t\t: {core}\n"
        for cpu, (package, _, core, _) in enumerate(places)))


def test_cores_of_dies_as_lscpu_says(tmp_path):
    """Two packages of two dies with 8 cores of 2 threads each; each die numbers its cores from 0."""
    write_machine(tmp_path, 64, lambda cpu: (cpu // 16 % 2, cpu // 8 % 2, cpu % 8, cpu % 32))
    done = run("agent", "--config", "/dev/null", "--root", tmp_path, "--once", "--period", "50ms")
    assert lscpu_counts("-s", tmp_path) == (2, 32, 64)
    assert hardware_counts(parse_line(done.stdout)["report"]["hardware_info"]) == (2, 32, 64)


def test_pressure(once):
    said = once["system_data"]["pressure"]
    assert (said["error"] == "") == os.path.exists("/proc/pressure/cpu"), said["error"]
