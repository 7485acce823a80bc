"""One sample of all groups, encoded and published, against the bare preads of the same files (bench_sample.c)."""

import pathlib
import tempfile

from lib.programs import RECORDED
from measure import number, run_tool, say

AIM = ("ratio", 2)
PAUSE_MS = 20


def report(figures, result, what, aim):
    for kind, words in (("paused", f"every {PAUSE_MS} ms"), ("unpaused", "without pause")):
        agent, bare = result[kind]["agent"], result[kind]["bare"]
        held = aim if kind == "paused" else None
        against = f"{result['reads']} bare preads, {result['read_bytes']} bytes"
        figures.add(f"{what}, {words}", agent["total_us"], "us", against, bare["total_us"], held)
        parts = ("sample_us", "encode_us", "publish_us", "lanes_us", "transport_us")
        say("      " + ", ".join(f"{name[:-3]} {number(agent[name])}" for name in parts))
    if result["frames_arrived"] < result["frames_published"]:
        figures.note(what, f"only {result['frames_arrived']} of {result['frames_published']} frames arrived")
    say("      by group, sampled alone against its bare preads, us:")
    for name, group in result["groups"].items():
        say(f"        {name:<14} {number(group['sample_us']):>7} {number(group['bare_us']):>7}  {group['reads']} reads")


def samples(figures, cluster):
    """(a) This machine."""
    del cluster
    report(figures, run_tool("bench_sample", "", 300, PAUSE_MS), "sample, encode, publish", AIM)


def samples_480(figures, cluster):
    """(b) 480 CPUs: files on a disk cost a copy where the kernel's cost a computation, so the aim is not held here."""
    del cluster
    recorded = RECORDED / "big480"
    if recorded.is_dir():
        report(figures, run_tool("bench_sample", recorded, 100, PAUSE_MS), "recorded 480-CPU machine", None)
    else:
        figures.skip("recorded 480-CPU machine", f"{recorded} is not here")
    with tempfile.TemporaryDirectory(prefix="synop-bench.") as folder:
        write_root(pathlib.Path(folder), 480)
        report(figures, run_tool("bench_sample", folder, 100, PAUSE_MS), "synthetic 480-CPU machine", None)


COPIED = ("meminfo vmstat loadavg uptime diskstats net/dev net/snmp net/snmp6 net/netstat net/sockstat pressure/cpu "
          "pressure/memory")


def write_root(root, cpus):
    """A big machine in a folder: this one's files, and those that grow with CPUs made up."""

    def write(path, text):
        to = root / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)

    for name in COPIED.split():
        source = pathlib.Path("/proc") / name
        if source.exists():
            write(f"proc/{name}", source.read_text())
    columns = [lambda i, k=k: 1234567 * (k + 1) + 7919 * i for k in range(10)]
    rows = [f"cpu{i} " + " ".join(str(column(i)) for column in columns) for i in range(cpus)]
    total = "cpu  " + " ".join(str(sum(column(i) for i in range(cpus))) for column in columns)
    interrupts = "intr 987654321 " + " ".join(str(i * 37 % 5000) for i in range(4000))
    rest = "ctxt 123456789\nbtime 1700000000\nprocesses 456789\nprocs_running 481\nprocs_blocked 2\n"
    rest += "softirq 7654321 1 2 3 4 5 6 7 8 9 10\n"
    write("proc/stat", "\n".join([total, *rows, interrupts]) + "\n" + rest)
    write("sys/devices/system/cpu/online", f"0-{cpus - 1}\n")
    write("sys/devices/system/cpu/present", f"0-{cpus - 1}\n")
    for i in range(cpus):
        folder = f"sys/devices/system/cpu/cpu{i}"
        write(f"{folder}/cpufreq/scaling_cur_freq", f"{2400000 + 100 * i}\n")
        write(f"{folder}/thermal_throttle/core_throttle_count", f"{i % 3}\n")
        write(f"{folder}/thermal_throttle/package_throttle_count", f"{i % 2}\n")
        write(f"{folder}/topology/physical_package_id", f"{i // 240}\n")
        write(f"{folder}/topology/core_id", f"{i // 2}\n")
    for node in range(8):
        lines = (f"Node {node} {name}: {1000 * (node + 7)} kB" for name in ("MemTotal", "MemFree", "MemUsed", "Dirty"))
        write(f"sys/devices/system/node/node{node}/meminfo", "\n".join(lines) + "\n")
